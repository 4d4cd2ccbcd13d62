//! `roleos catalog show`: shows one role as its user will read it.

use std::io::{self, Write};

use ::catalog::browse::{self, Card, NoCard, Wanted};
use ::catalog::yaml::number_text;

use super::origin::From;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::clean;
use crate::ui::{BOLD, DIM, Ui};

/// Words of `catalog show`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roleos catalog show proofreader --lang en\n  roleos catalog show code-reviewer --from builtin"
)]
pub struct Args {
    /// The role.
    slug: String,
    /// Language of the text [default: en, else the first].
    #[arg(long, value_name = "LANGUAGE")]
    lang: Option<String>,
    #[command(flatten)]
    from: From,
}

/// Runs the command.
///
/// # Errors
/// There is no such role.
pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let origin = args.from.find(context)?;
    let draft = super::readable(origin.draft(ui, context)?)?;
    let wanted = Wanted::Rather(args.lang.as_deref());
    let card = browse::card(draft.claims(), &args.slug, wanted)
        .map_err(|reason| no_card(&args.slug, &reason))?;
    if ui.json {
        ui.json(&present::view::roles::card(&card))?;
        return Ok(Exit::Done);
    }
    let mut out = ui.out();
    show(&mut out, &card)?;
    out.flush()?;
    if let Some(lang) = args.lang.as_deref().filter(|lang| *lang != card.language) {
        ui.note(format_args!(
            "there is no text in `{lang}`; this is `{}`",
            card.language
        ));
    }
    Ok(Exit::Done)
}

/// Returns the same failure for every missing role.
pub(super) fn no_card(slug: &str, reason: &NoCard) -> Failure {
    let slug = clean::line(slug, 60);
    match reason {
        NoCard::UnknownSlug => Failure::input(
            "role_not_found",
            format!("the catalog has no role `{slug}`"),
        )
        .hint("`roleos catalog list` shows what it has"),
        NoCard::NoText => Failure::input(
            "role_without_text",
            format!("no file has a text of `{slug}`"),
        )
        .hint("`roleos catalog check` says what is missing"),
        NoCard::NoLanguage(codes) => Failure::input(
            "language_unavailable",
            format!("`{slug}` has no text in that language"),
        )
        .hint(format!("it is there in {}", codes.join(", "))),
        NoCard::WrongType => Failure::input(
            "role_malformed",
            format!("a value of `{slug}` is not of its type"),
        )
        .hint("`roleos catalog check --strict` says which"),
    }
}

fn show(out: &mut impl Write, card: &Card<'_>) -> io::Result<()> {
    let fields = &card.fields;
    let emoji = fields.emoji.as_deref().unwrap_or_default();
    let heading = format!("{emoji} {}", fields.name);
    writeln!(out, "{BOLD}{}{BOLD:#}", clean::line(heading.trim(), 200))?;
    writeln!(
        out,
        "{DIM}{} · {} · version {} · {} of {}{DIM:#}",
        clean::line(&card.bundle.id, 60),
        clean::line(&card.slug, 60),
        number_text(card.version),
        clean::line(card.language, 20),
        clean::line(&card.languages.join(", "), 60),
    )?;
    if let Some(text) = &fields.description {
        writeln!(out, "\n{}", clean::text(text.as_bytes()))?;
    }
    if let Some(model) = card
        .role
        .model_config()
        .and_then(::catalog::model_config::described)
    {
        writeln!(
            out,
            "\n{BOLD}Asks for a model{BOLD:#}  {}",
            clean::line(&model, 200)
        )?;
    }
    let when = match fields.auto_start {
        Some(false) => "Launch message (the user sends it)",
        _ => "Launch message (sent at once)",
    };
    match &fields.launch_message {
        Some(text) => writeln!(
            out,
            "\n{BOLD}{when}{BOLD:#}\n{}",
            clean::text(text.as_bytes())
        )?,
        None => writeln!(out, "\n{DIM}No launch message{DIM:#}")?,
    }
    writeln!(
        out,
        "\n{BOLD}Instructions{BOLD:#}\n{}",
        clean::text(fields.instructions.as_bytes())
    )
}
