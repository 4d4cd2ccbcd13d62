//! `roleos catalog import`: installs roles of a bundle in the workspace.

use ::catalog::contents::{self, Contents};
use ::catalog::install::{Conflict, Import, Models, Request, Unavailable};
use ::catalog::{browse, model_config};
use clap::ValueEnum;
use roles::installed_roles::{Roles, RolesError};

use super::origin::From;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::clean;
use crate::ui::{BAD, DIM, GOOD, Ui, WARN};

/// Words of `catalog import`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos catalog import engineering --lang en --from builtin
  roleos catalog import editorial --lang en --from https://roles.example/catalog
  roleos catalog import editorial --lang ru --slug proofreader --conflict rename

Roles go to .role-os/roles/, one file each. A model that a role asks for is shown, and taken only with
--with-model-config.")]
pub struct Args {
    /// The bundle.
    bundle: String,
    /// The language.
    #[arg(long, value_name = "LANGUAGE")]
    lang: String,
    /// A role of it; may be repeated [default: all].
    #[arg(long, value_name = "SLUG")]
    slug: Vec<String>,
    /// What to do with a role whose name is taken.
    #[arg(long, value_name = "HOW", default_value = "skip")]
    conflict: How,
    /// Also take the model that a role asks for.
    #[arg(long)]
    with_model_config: bool,
    #[command(flatten)]
    from: From,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum How {
    /// Leave it out.
    Skip,
    /// Number it.
    Rename,
}

impl Args {
    fn request(&self) -> Request<'_> {
        Request {
            bundle: &self.bundle,
            language: &self.lang,
            slugs: &self.slug,
            conflict: match self.conflict {
                How::Skip => Conflict::Skip,
                How::Rename => Conflict::Rename,
            },
            models: models(self.with_model_config),
        }
    }
}

/// Returns the handling of models for the option.
pub(super) fn models(taken: bool) -> Models {
    if taken { Models::Take } else { Models::Ignore }
}

/// Runs the command.
///
/// # Errors
/// The bundle cannot be read, or the roles cannot be stored.
pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let file = contents::path(&args.bundle, &args.lang);
    let origin = args.from.find(context)?;
    let draft = origin.part(ui, context, &|path| path == file)?;
    has_language(draft.claims(), args)?;
    announce(ui, draft.claims(), args);
    let roles = Roles::new(context.workspace.roles_dir());
    let done = roles
        .import(draft.claims(), args.request())
        .map_err(|error| match error {
            RolesError::File(error) => error.into(),
            RolesError::Unavailable(reason) => unavailable(args, &reason),
            _ => Failure::refused("import", error.to_string()),
        })?;
    if ui.json {
        ui.json(&present::view::roles::imported(&done))?;
    } else {
        show(ui, &done)?;
    }
    Ok(Exit::of_check(done.errors.is_empty()))
}

/// Refuses a language that the index does not declare for the bundle, and names those that it does.
fn has_language(contents: &Contents, args: &Args) -> Result<(), Failure> {
    let Some(bundle) = contents.bundles().find(|one| one.id == args.bundle) else {
        return Ok(());
    };
    let codes: Vec<&str> = bundle
        .languages
        .iter()
        .map(|one| one.code.as_str())
        .collect();
    let is_name = |one: char| one.is_ascii_alphanumeric() || one == '-';
    let is_unsafe = !args.lang.chars().all(is_name);
    if is_unsafe || codes.is_empty() || codes.contains(&args.lang.as_str()) {
        return Ok(());
    }
    let (id, language) = (clean::line(&args.bundle, 60), clean::line(&args.lang, 60));
    let message = format!("bundle `{id}` has no texts in `{language}`");
    let there = clean::line(&codes.join(", "), 200);
    Err(Failure::input("language_unknown", message).hint(format!("it has: {there}")))
}

/// Shows models before anything is stored.
fn announce(ui: &Ui, contents: &Contents, args: &Args) {
    let bundle = contents.bundles().find(|bundle| bundle.id == args.bundle);
    let files = bundle
        .into_iter()
        .flat_map(|bundle| browse::translations(contents, bundle));
    for role in files
        .filter(|file| file.language.code == args.lang)
        .flat_map(|file| file.roles())
    {
        let slug = role.slug().unwrap_or_default();
        let is_wanted = args.slug.is_empty() || args.slug.contains(&slug);
        let model = role.model_config().and_then(model_config::described);
        if let Some(model) = model.filter(|_| is_wanted) {
            let what = if args.with_model_config {
                "is given"
            } else {
                "asks for"
            };
            ui.note(format_args!(
                "{WARN}{} {what} the model{WARN:#} {}",
                clean::line(&slug, 60),
                clean::line(&model, 200)
            ));
        }
    }
}

fn unavailable(args: &Args, reason: &Unavailable) -> Failure {
    let bundle = clean::line(&args.bundle, 60);
    let check = "`roleos catalog check --strict CATALOG` says where";
    match reason {
        Unavailable::UnknownBundle => Failure::input(
            "bundle_unknown",
            format!("the catalog has no bundle `{bundle}`"),
        )
        .hint("`roleos catalog list` shows the bundles"),
        Unavailable::File(path, refusal) => {
            let what = format!("`{path}` of the catalog is {}", super::said(*refusal));
            Failure::input("bad_catalog", what).hint(check)
        }
        Unavailable::Unsafe(part) => Failure::input(
            "unsafe_name",
            format!("`{part}` cannot be a bundle or a language"),
        )
        .hint("use a-z, 0-9 and -"),
        Unavailable::NoFreeName(name) => Failure::input(
            "no_free_name",
            format!("no number is free behind the name `{name}`"),
        )
        .hint("rename or remove roles; what was stored before stays"),
        _ => Failure::input("bad_catalog", "the catalog cannot be installed from").hint(check),
    }
}

fn show(ui: &Ui, done: &Import) -> Result<(), Failure> {
    for one in &done.created {
        let name = one.renamed_to.as_ref().unwrap_or(&one.name);
        let (slug, name) = (clean::line(&one.slug, 60), clean::line(name, 200));
        ui.line(format_args!("{GOOD}imported{GOOD:#}  {slug}  {name}"))?;
    }
    for one in &done.skipped {
        let (slug, reason) = (clean::line(&one.slug, 60), one.reason.name());
        ui.line(format_args!("{DIM}skipped{DIM:#}   {slug}  {reason}"))?;
    }
    for (slug, message) in &done.errors {
        let (slug, message) = (clean::line(slug, 60), clean::line(message, 400));
        ui.line(format_args!("{BAD}error{BAD:#}     {slug}  {message}"))?;
    }
    let (created, skipped) = (done.created.len(), done.skipped.len());
    ui.note(format_args!(
        "{created} imported, {} renamed, {skipped} skipped",
        done.renamed()
    ));
    Ok(())
}
