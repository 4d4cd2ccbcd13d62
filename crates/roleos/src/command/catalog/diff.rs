//! `roleos catalog diff`: changes of a role since it was locked, or since it was installed.

use std::collections::BTreeMap;

use ::catalog::browse::{self, Card, Fields, Wanted};
use ::catalog::contents::Contents;
use ::catalog::lock::Locked;
use ::catalog::yaml::number_text;
use roles::authoring;
use roles::catalog::Directory;
use roles::installed_roles::Roles;
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use super::origin::{From, Origin};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::clean;
use crate::ui::{BAD, BOLD, DIM, GOOD, Ui};

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// Words of `catalog diff`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  roleos catalog diff proofreader --lang ru")]
pub struct Args {
    /// The role.
    slug: String,
    /// One language only.
    #[arg(long, value_name = "LANGUAGE")]
    lang: Option<String>,
    #[command(flatten)]
    from: From,
}

/// Runs the command.
///
/// # Errors
/// There is no such role, it was never locked, or git does not have its locked text.
pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let origin = args.from.find(context)?;
    let draft = super::readable(origin.draft(ui, context)?)?;
    let contents = draft.claims();
    let wanted = Wanted::Rather(args.lang.as_deref());
    let card = browse::card(contents, &args.slug, wanted)
        .map_err(|reason| super::show::no_card(&args.slug, &reason))?;
    let before = match &origin {
        Origin::Directory(directory) => Before::locked(directory, contents, &args.slug)?,
        // A catalog elsewhere has no lock and no history: the installed text is the old one.
        _ => Before::installed(context, &args.slug)?,
    };
    let changes = changes(contents, &before, &card, args.lang.as_deref());
    let version = before.version.map_or_else(|| "?".to_owned(), number_text);
    if ui.json {
        ui.json(&json!({
            "slug": args.slug,
            "locked_version": before.version.and_then(present::view::roles::number),
            "version": present::view::roles::number(card.version),
            "commit": before.commit,
            "languages": changes.iter().map(Change::json).collect::<Vec<_>>(),
        }))?;
        return Ok(Exit::Done);
    }
    if changes.iter().all(|change| change.before == change.after) {
        ui.line(format_args!("no difference from version {version}"))?;
    }
    for change in changes
        .iter()
        .filter(|change| change.before != change.after)
    {
        let since = match &before.commit {
            Some(commit) => format!("as locked ({})", commit.get(..12).unwrap_or(commit)),
            None => "as installed".to_owned(),
        };
        let (slug, language) = (&args.slug, &change.language);
        let now = number_text(card.version);
        ui.line(format_args!(
            "{BOLD}--- {slug} {language}, version {version} {since}\n+++ {slug} {language}, version {now}{BOLD:#}"
        ))?;
        ui.line(coloured(&change.unified()))?;
    }
    Ok(Exit::Done)
}

fn locked<'l>(slug: &str, locked: Option<&'l Locked>) -> Result<(&'l Locked, &'l str), Failure> {
    let found = locked.and_then(|locked| Some((locked, locked.hash.as_deref()?)));
    found.ok_or_else(|| {
        Failure::input("not_in_lock", format!("`{slug}` was never locked"))
            .hint("`roleos catalog check --update-hashes` records it")
    })
}

/// The old text of a role.
struct Before {
    version: Option<f64>,
    /// The commit that contains it; `None` for the installed one.
    commit: Option<String>,
    /// Texts by language.
    texts: BTreeMap<String, String>,
}

impl Before {
    fn locked(directory: &Directory, contents: &Contents, slug: &str) -> Result<Self, Failure> {
        let records = directory.records();
        let (locked, hash) = locked(slug, records.lock.get(slug))?;
        let past = authoring::locked_text(directory, contents, slug, hash).ok_or_else(|| {
            let what = format!("git has no commit with the locked text of `{slug}`");
            Failure::input("no_locked_text", what)
                .hint("the lock and the text it records belong into one commit")
        })?;
        let claims = past.draft.claims();
        let then = browse::card(claims, slug, Wanted::Rather(None));
        let codes = then.map(|card| card.languages).unwrap_or_default();
        let texts = codes
            .into_iter()
            .map(|code| (code.to_owned(), text(claims, slug, code)));
        Ok(Self {
            version: locked.version,
            commit: Some(past.commit),
            texts: texts.collect(),
        })
    }

    fn installed(context: &Context, slug: &str) -> Result<Self, Failure> {
        let stored = Roles::new(context.workspace.roles_dir()).list()?;
        let roles = stored.iter().filter_map(|one| one.role.as_ref().ok());
        let sourced = roles.filter_map(|role| Some((role.source.as_ref()?, role)));
        let found: Vec<_> = sourced.filter(|(source, _)| source.slug == slug).collect();
        let Some((first, _)) = found.first() else {
            let what = format!("no catalog role `{slug}` is installed");
            return Err(Failure::input("not_installed", what)
                .hint("`roleos catalog show` prints the text of the catalog"));
        };
        let texts = found.iter();
        let texts = texts.map(|(source, role)| {
            let content = &role.content;
            let fields = Fields {
                emoji: content.emoji.clone(),
                auto_start: Some(content.auto_start),
                name: content.name.clone(),
                description: content.description.clone(),
                instructions: content.instructions.clone(),
                launch_message: content.launch_message.clone(),
            };
            (source.language.clone(), plain(&fields))
        });
        Ok(Self {
            version: Some(first.version),
            commit: None,
            texts: texts.collect(),
        })
    }
}

/// Old and new text of one language.
struct Change {
    language: String,
    before: String,
    after: String,
}

impl Change {
    fn unified(&self) -> String {
        let diff = TextDiff::from_lines(&self.before, &self.after);
        let mut out = String::new();
        for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
            out.push_str(&format!("{}\n", hunk.header()));
            for change in hunk.iter_changes() {
                let sign = match change.tag() {
                    ChangeTag::Delete => '-',
                    ChangeTag::Insert => '+',
                    ChangeTag::Equal => ' ',
                };
                let line = change.value();
                out.push_str(&format!(
                    "{sign}{}\n",
                    line.strip_suffix('\n').unwrap_or(line)
                ));
            }
        }
        out
    }

    fn json(&self) -> Value {
        let changed = self.before != self.after;
        json!({ "language": self.language, "changed": changed, "diff": self.unified() })
    }
}

fn changes(
    contents: &Contents,
    before: &Before,
    card: &Card<'_>,
    lang: Option<&str>,
) -> Vec<Change> {
    let mut codes: Vec<&str> = match before.commit {
        Some(_) => card.languages.clone(),
        None => Vec::new(),
    };
    for code in before.texts.keys().map(String::as_str) {
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    let codes = codes
        .into_iter()
        .filter(|code| lang.is_none_or(|lang| lang == *code));
    codes
        .map(|code| Change {
            language: code.to_owned(),
            before: before.texts.get(code).cloned().unwrap_or_default(),
            after: text(contents, &card.slug, code),
        })
        .collect()
}

/// Returns a role in one language as lines; empty if there is none.
fn text(contents: &Contents, slug: &str, code: &str) -> String {
    let card = browse::card(contents, slug, Wanted::Exactly(code));
    card.map(|card| plain(&card.fields)).unwrap_or_default()
}

/// Formats a role as lines. Absent and empty fields look different.
fn plain(fields: &Fields) -> String {
    let line = |key: &str, text: Option<&str>| match text {
        Some(text) => format!("{key}: {text}\n"),
        None => format!("{key} absent\n"),
    };
    let auto_start = fields.auto_start.map(|value| value.to_string());
    [
        line("emoji", fields.emoji.as_deref()),
        line("name", Some(&fields.name)),
        line("description", fields.description.as_deref()),
        line("autoStart", auto_start.as_deref()),
        line("launchMessage", fields.launch_message.as_deref()),
        format!("instructions:\n{}\n", fields.instructions),
    ]
    .concat()
}

fn coloured(diff: &str) -> String {
    let line = |line: &str| {
        let shown = clean::name(line.as_bytes());
        match line.chars().next() {
            Some('+') => format!("{GOOD}{shown}{GOOD:#}\n"),
            Some('-') => format!("{BAD}{shown}{BAD:#}\n"),
            Some('@') => format!("{DIM}{shown}{DIM:#}\n"),
            _ => format!("{shown}\n"),
        }
    };
    let text: String = diff.lines().map(line).collect();
    text.trim_end_matches('\n').to_owned()
}
