//! `roleos catalog diff`: what changed in a role since it was locked.

use std::path::PathBuf;

use ::catalog::browse::{self, Card, Fields, Wanted};
use ::catalog::contents::Contents;
use ::catalog::lock::Locked;
use ::catalog::yaml::number_text;
use roles::authoring::{self, Past};
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use crate::render::clean;
use crate::ui::{BAD, BOLD, DIM, GOOD, Ui};
use crate::{Context, Exit, Failure};

/// Lines that are shown around a change.
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
    /// The catalog's directory [default: `catalog` in the workspace, else the current directory].
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let directory = super::directory(context, args.from.as_deref())?;
    let draft = super::readable(directory.draft())?;
    let contents = draft.claims();
    let wanted = Wanted::Rather(args.lang.as_deref());
    let card = browse::card(contents, &args.slug, wanted)
        .map_err(|reason| super::show::no_card(&args.slug, &reason))?;
    let records = directory.records();
    let (locked, hash) = locked(&args.slug, records.lock.get(&args.slug))?;
    let past = authoring::locked_text(&directory, contents, &args.slug, hash).ok_or_else(|| {
        let what = format!("git has no commit with the locked text of `{}`", args.slug);
        Failure::input("no_locked_text", what)
            .hint("the lock and the text it records belong into one commit")
    })?;
    let changes = changes(contents, &past, &card, args.lang.as_deref());
    let version = locked.version.map_or_else(|| "?".to_owned(), number_text);
    if ui.json {
        ui.json(&json!({
            "slug": args.slug,
            "locked_version": locked.version.and_then(present::view::roles::number),
            "version": present::view::roles::number(card.version),
            "commit": past.commit,
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
        let commit: String = past.commit.chars().take(12).collect();
        let (slug, language) = (&args.slug, &change.language);
        let now = number_text(card.version);
        ui.line(format_args!(
            "{BOLD}--- {slug} {language}, version {version} as locked ({commit})\n+++ {slug} {language}, version {now}{BOLD:#}"
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

/// One language before and after.
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

fn changes(contents: &Contents, past: &Past, card: &Card<'_>, lang: Option<&str>) -> Vec<Change> {
    let then = browse::card(past.draft.claims(), &card.slug, Wanted::Rather(lang));
    let before = then.map(|card| card.languages).unwrap_or_default();
    let mut codes = card.languages.clone();
    codes.extend(before.iter().filter(|code| !card.languages.contains(code)));
    let text = |contents: &Contents, code: &str| {
        let card = browse::card(contents, &card.slug, Wanted::Exactly(code));
        card.map(|card| plain(&card.fields)).unwrap_or_default()
    };
    let codes = codes
        .into_iter()
        .filter(|code| lang.is_none_or(|lang| lang == *code));
    codes
        .map(|code| Change {
            language: code.to_owned(),
            before: text(past.draft.claims(), code),
            after: text(contents, code),
        })
        .collect()
}

/// A role as lines. Absent and empty look different.
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
