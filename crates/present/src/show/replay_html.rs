//! A replay as one self-contained page: no script, no request, no font.
//!
//! The template escapes every value, and every value from a bundle was cleaned before. The page's own policy forbids
//! everything that the template never does, in case both fail.

use std::borrow::Cow;
use std::collections::BTreeSet;

use askama::Template;
use witness::bundle::Contents;
use witness::policy::Check;
use witness::replay::DiffPart;
use witness::wire::Tag;

use super::clean;
use super::columns::cut;
use super::facts::{self, Banner, Fact, Shape, Tone};
use super::patch::{self, FilePatch};
use super::replay_view::ReplayView;
use super::syntax::{Language, Token};
use super::units::{call_cost, counted, duration, grouped};

/// Colours of all pages.
pub const PALETTE: &str = include_str!("../../templates/palette.css");

/// Style of a replay, for pages that include it.
pub const STYLE: &str = include_str!("../../templates/replay.css");

/// Number of lines above which a section starts folded.
const MAX_OPEN_LINES: u64 = 400;

/// Limits of the coloured lines of a diff and of their length; more would cost time and size without a benefit.
const MAX_COLOURED: usize = 2000;
const MAX_COLOURED_BYTES: usize = 400;

/// Limit of a tool's name, in columns.
const MAX_TOOL_COLUMNS: usize = 120;

/// Returns the whole page.
pub fn page(view: &ReplayView<'_>) -> Result<String, askama::Error> {
    render(view, true)
}

/// Returns the replay as a part of another page, which includes the style.
pub fn article(view: &ReplayView<'_>) -> Result<String, askama::Error> {
    render(view, false)
}

fn render(view: &ReplayView<'_>, whole: bool) -> Result<String, askama::Error> {
    let contents = view.contents;
    let page = Page {
        whole,
        file: clean::name(view.file.as_bytes()),
        task_id: contents.header().task_id.to_string(),
        outcome: contents.outcome().name(),
        signature: facts::signature_banner(view),
        signature_facts: facts::signature(view),
        fact_groups: fact_groups(view),
        spec: Prose::of(contents, Tag::Spec),
        plan: Prose::of(contents, Tag::Plan),
        calls: Calls::of(view),
        diff: Diff::of(contents),
        log: Log::of(view),
        postmortem: Prose::of(contents, Tag::Postmortem),
        closing: facts::closing_banner(view),
        failures: failures(view),
    };
    page.render()
}

/// Values of the template.
#[derive(Template)]
#[template(path = "replay.html")]
struct Page<'a> {
    /// Set for a whole page.
    whole: bool,
    file: Cow<'a, str>,
    task_id: String,
    outcome: &'static str,
    signature: Banner,
    signature_facts: Vec<Fact>,
    fact_groups: Vec<(&'static str, Vec<Fact>)>,
    spec: Option<Prose<'a>>,
    plan: Option<Prose<'a>>,
    calls: Option<Calls>,
    diff: Option<Diff<'a>>,
    log: Option<Log<'a>>,
    postmortem: Option<Prose<'a>>,
    closing: Banner,
    failures: Vec<Failure<'a>>,
}

fn fact_groups(view: &ReplayView<'_>) -> Vec<(&'static str, Vec<Fact>)> {
    let groups = [
        ("Task", facts::task(view)),
        ("Policy", facts::policy(view)),
        ("Provenance", facts::provenance(view)),
        ("Conduct", facts::conduct(view)),
    ];
    let groups = groups.into_iter();
    groups.filter(|(_, facts)| !facts.is_empty()).collect()
}

/// Returns how many columns of the grid a fact takes, by the length of its value.
fn room(fact: &Fact) -> &'static str {
    match (fact.shape, fact.value.chars().count()) {
        (Shape::Short | Shape::Code, 0..27) => "one",
        (Shape::Short | Shape::Code, 27..44) => "two",
        (Shape::Short | Shape::Code, 44..68) => "three",
        _ => "all",
    }
}

/// Size of a section, and whether it starts folded.
struct Extent {
    note: String,
    folded: bool,
}

impl Extent {
    fn of_lines(lines: u64) -> Self {
        Self {
            note: counted(lines, "line"),
            folded: lines > MAX_OPEN_LINES,
        }
    }
}

/// A section that is shown as written.
struct Prose<'a> {
    extent: Extent,
    text: Cow<'a, str>,
}

impl<'a> Prose<'a> {
    fn of(contents: &Contents<'a>, tag: Tag) -> Option<Self> {
        let bytes = contents.section(tag)?;
        Some(Self {
            extent: Extent::of_lines(clean::line_count(bytes)),
            text: clean::text(bytes),
        })
    }
}

struct Calls {
    extent: Extent,
    rows: Vec<CallRow>,
}

/// One call as text, and its position on a line as long as all calls together.
struct CallRow {
    number: u64,
    tool: String,
    check: &'static str,
    tone: Tone,
    latency: String,
    cost: String,
    tokens: String,
    args: String,
    result: String,
    /// Redacted command, if the journal of the session exists.
    command: Option<String>,
    start: String,
    length: String,
}

impl Calls {
    fn of(view: &ReplayView<'_>) -> Option<Self> {
        let contents = view.contents;
        contents.section(Tag::Trace)?;
        let known = witness::cost::is_known(&contents.extensions().provenance);
        let whole: u64 = contents
            .calls()
            .map(|call| u64::from(call.latency_ms))
            .sum();
        let mut before = 0;
        let rows: Vec<_> = (1..)
            .zip(contents.calls())
            .map(|(number, call)| {
                let latency = u64::from(call.latency_ms);
                let start = share(before, whole);
                before += latency;
                CallRow {
                    number,
                    tool: cut(&clean::name(call.action), MAX_TOOL_COLUMNS).into_owned(),
                    check: call.check.name(),
                    tone: tone_of(call.check),
                    latency: duration(latency),
                    cost: call_cost(call.cost_microdollars, known),
                    tokens: grouped(call.tokens),
                    args: hex::encode(call.args_hash),
                    result: hex::encode(call.result_hash),
                    command: view
                        .commands
                        .get(&hex::encode(call.args_hash))
                        .map(|command| clean::text(command.as_bytes()).into_owned()),
                    start,
                    length: share(latency, whole),
                }
            })
            .collect();
        let count = rows.len() as u64;
        Some(Self {
            extent: Extent {
                note: counted(count, "call"),
                folded: count > MAX_OPEN_LINES,
            },
            rows,
        })
    }
}

fn tone_of(check: Check) -> Tone {
    match check {
        Check::Allowed => Tone::Good,
        Check::Confirmed => Tone::Plain,
        Check::Denied => Tone::Bad,
    }
}

/// Returns a share in percent with two decimals, by whole numbers so that it is the same on every machine.
fn share(part: u64, whole: u64) -> String {
    let hundredths = part.saturating_mul(10_000) / whole.max(1);
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

struct Diff<'a> {
    note: String,
    files: Vec<FileDiff<'a>>,
}

struct FileDiff<'a> {
    path: Cow<'a, str>,
    added: String,
    removed: String,
    folded: bool,
    notes: Vec<Cow<'a, str>>,
    lines: Vec<DiffLine<'a>>,
}

/// Line of a hunk, in pieces with a class each.
struct DiffLine<'a> {
    class: &'static str,
    pieces: Vec<(&'static str, Cow<'a, str>)>,
}

impl<'a> Diff<'a> {
    fn of(contents: &Contents<'a>) -> Option<Self> {
        let files = patch::files(contents.section(Tag::Diff)?);
        let count = |part| -> u64 { files.iter().map(|file| file.count(part)).sum() };
        let (added, removed) = (count(DiffPart::Added), count(DiffPart::Removed));
        let named = files.iter().filter(|file| file.path().is_some()).count();
        let mut coloured = 0;
        Some(Self {
            note: format!(
                "{}, {} added, {} removed",
                counted(named as u64, "file"),
                grouped(added),
                grouped(removed)
            ),
            files: files
                .iter()
                .map(|file| FileDiff::of(file, &mut coloured))
                .collect(),
        })
    }
}

impl<'a> FileDiff<'a> {
    /// Creates the shown form of a file; `coloured` counts the lines with colours on the whole page.
    fn of(file: &FilePatch<'a>, coloured: &mut usize) -> Self {
        let lines = file.lines.iter();
        let path = file.path().map_or(Cow::Borrowed("Notes"), clean::name);
        let language = Language::of_path(&path).filter(|_| *coloured < MAX_COLOURED);
        *coloured += language.map_or(0, |_| file.lines.len());
        Self {
            added: grouped(file.count(DiffPart::Added)),
            removed: grouped(file.count(DiffPart::Removed)),
            folded: file.lines.len() as u64 > MAX_OPEN_LINES,
            notes: file.notes.iter().map(|note| clean::text(note)).collect(),
            lines: lines
                .map(|(part, line)| DiffLine::of(*part, clean::text(line), language))
                .collect(),
            path,
        }
    }
}

impl<'a> DiffLine<'a> {
    fn of(part: DiffPart, line: Cow<'a, str>, language: Option<Language>) -> Self {
        let is_code = part != DiffPart::Hunk && line.len() <= MAX_COLOURED_BYTES;
        let pieces = match language.filter(|_| is_code) {
            None => vec![("", line)],
            Some(language) => pieces(language, &line),
        };
        Self {
            class: class_of(part),
            pieces,
        }
    }
}

/// Splits a line into pieces; the sign at the start does not belong to the language.
fn pieces(language: Language, line: &str) -> Vec<(&'static str, Cow<'static, str>)> {
    let (sign, code) = line.split_at_checked(1).unwrap_or(("", line));
    let sign = (!sign.is_empty()).then_some((Token::Plain, sign));
    sign.into_iter()
        .chain(language.tokens(code))
        .map(|(token, text)| (token.class(), Cow::Owned(text.to_owned())))
        .collect()
}

fn class_of(part: DiffPart) -> &'static str {
    match part {
        DiffPart::File => "f",
        DiffPart::Hunk => "h",
        DiffPart::Added => "a",
        DiffPart::Removed => "r",
        DiffPart::Context => "c",
    }
}

struct Log<'a> {
    extent: Extent,
    lines: Vec<LogLine<'a>>,
}

struct LogLine<'a> {
    number: usize,
    text: Cow<'a, str>,
    failed: bool,
}

impl<'a> Log<'a> {
    fn of(view: &ReplayView<'a>) -> Option<Self> {
        let bytes = view.contents.section(Tag::TestLog)?;
        let reading = view.check.reading.iter();
        let failing: BTreeSet<usize> = reading
            .flat_map(|reading| &reading.failures)
            .map(|failure| failure.line)
            .collect();
        let lines = (1..).zip(clean::lines(bytes));
        Some(Self {
            extent: Extent::of_lines(clean::line_count(bytes)),
            lines: lines
                .map(|(number, text)| LogLine {
                    number,
                    text,
                    failed: failing.contains(&number),
                })
                .collect(),
        })
    }
}

/// A failed test and its line in the log.
struct Failure<'a> {
    name: Cow<'a, str>,
    line: usize,
}

fn failures<'a>(view: &ReplayView<'a>) -> Vec<Failure<'a>> {
    let reading = view.check.reading.iter();
    reading
        .flat_map(|reading| &reading.failures)
        .map(|failure| Failure {
            name: clean::name(failure.name.as_bytes()),
            line: failure.line,
        })
        .collect()
}
