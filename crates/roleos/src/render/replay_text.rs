//! A replay for the terminal, in the order of the format's own description: signature, facts, spec, plan, calls, diff,
//! test log, postmortem, and last the comparison of the outcome with the log.
//!
//! Colours are always written; the output stream strips them if needed. Nothing moves the cursor, so a pager shows
//! everything. Every section starts with its name in capitals at the left edge, where text of a bundle never appears:
//! its lines are wrapped behind a bar, so that a line of a test log cannot imitate our headings.

use std::collections::BTreeSet;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use witness::bundle::Contents;
use witness::policy::Check;
use witness::replay::{DiffPart, diff_lines};
use witness::trace::Call;
use witness::wire::Tag;

use super::clean;
use super::columns::{Side, WIDTH, fit, wrap};
use super::facts::{self, Banner, Fact, Tone};
use super::patch;
use super::replay_view::ReplayView;
use super::units::{call_cost, counted, duration, grouped};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GREEN: Style = AnsiColor::Green.on_default();
const RED: Style = AnsiColor::Red.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const CYAN: Style = AnsiColor::Cyan.on_default();

/// Columns before the value of a fact: two of indentation, then the name.
const NAME_COLUMNS: usize = 18;
/// Columns of the bar before a line of a bundle.
const BAR_COLUMNS: usize = 2;

/// The columns of a call: width, side, heading. With one space between they fill [`WIDTH`] but one.
const CALL_COLUMNS: [(usize, Side, &str); 8] = [
    (5, Side::Right, "#"),
    (20, Side::Left, "tool"),
    (9, Side::Left, "verdict"),
    (11, Side::Right, "latency"),
    (9, Side::Right, "cost"),
    (6, Side::Right, "tokens"),
    (16, Side::Left, "args"),
    (16, Side::Left, "result"),
];

/// Writes the whole replay, piece by piece.
pub fn write(view: &ReplayView<'_>, out: &mut dyn Write) -> io::Result<()> {
    let contents = view.contents;
    let file = clean::name(view.file.as_bytes());
    writeln!(out, "{DIM}Replay of{DIM:#} {BOLD}{file}{BOLD:#}")?;

    heading(out, "SIGNATURE", view.verdict.name())?;
    banner(out, &facts::signature_banner(view))?;
    facts(out, &facts::signature(view))?;

    heading(out, "FACTS", "")?;
    facts(out, &facts::task(view))?;
    for group in [
        facts::policy(view),
        facts::provenance(view),
        facts::conduct(view),
    ] {
        if !group.is_empty() {
            writeln!(out)?;
            facts(out, &group)?;
        }
    }

    prose(out, "SPEC", contents.section(Tag::Spec))?;
    prose(out, "PLAN", contents.section(Tag::Plan))?;
    calls(out, contents)?;
    diff(out, contents.section(Tag::Diff))?;
    test_log(out, view)?;
    if let Some(postmortem) = contents.section(Tag::Postmortem) {
        prose(out, "POSTMORTEM", Some(postmortem))?;
    }
    closing(out, view)
}

fn heading(out: &mut dyn Write, name: &str, note: &str) -> io::Result<()> {
    let gap = if note.is_empty() { "" } else { " " };
    let taken = name.len() + gap.len() + note.chars().count() + 1;
    let rule = "─".repeat(WIDTH.saturating_sub(taken));
    writeln!(out, "\n{BOLD}{name}{BOLD:#} {DIM}{rule}{gap}{note}{DIM:#}")
}

fn style_of(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Good => GREEN,
        Tone::Warn => YELLOW,
        Tone::Bad => RED.bold(),
    }
}

fn banner(out: &mut dyn Write, banner: &Banner) -> io::Result<()> {
    let style = style_of(banner.tone).bold();
    let (mark, headline) = (banner.tone.mark(), banner.headline);
    writeln!(out, "  {style}{mark} {headline}{style:#}")?;
    for piece in wrap(&banner.sentence, 4) {
        writeln!(out, "    {}", piece.trim_end())?;
    }
    Ok(())
}

fn facts(out: &mut dyn Write, facts: &[Fact]) -> io::Result<()> {
    facts.iter().try_for_each(|fact| one_fact(out, fact))
}

/// Writes a fact. A long value continues below itself, so that the names keep their own column.
fn one_fact(out: &mut dyn Write, fact: &Fact) -> io::Result<()> {
    let style = style_of(fact.tone);
    let name = fit(&fact.name, NAME_COLUMNS - 3, Side::Left);
    for (index, piece) in wrap(&fact.value, NAME_COLUMNS).enumerate() {
        let blank = " ".repeat(NAME_COLUMNS);
        match index {
            0 => write!(out, "  {DIM}{name}{DIM:#} ")?,
            _ => write!(out, "{blank}")?,
        }
        writeln!(out, "{style}{}{style:#}", piece.trim_end())?;
    }
    Ok(())
}

/// Writes one line of a bundle behind its bar; if it continues below, the bar is broken.
fn barred(out: &mut dyn Write, line: &str, style: Style) -> io::Result<()> {
    for (index, piece) in wrap(line, BAR_COLUMNS).enumerate() {
        let bar = if index == 0 { '│' } else { '┆' };
        writeln!(out, "{DIM}{bar}{DIM:#} {style}{piece}{style:#}")?;
    }
    Ok(())
}

fn absent(out: &mut dyn Write, name: &str) -> io::Result<()> {
    heading(out, name, "not in the bundle")
}

fn prose(out: &mut dyn Write, name: &str, section: Option<&[u8]>) -> io::Result<()> {
    let Some(bytes) = section else {
        return absent(out, name);
    };
    heading(out, name, &counted(clean::line_count(bytes), "line"))?;
    clean::lines(bytes).try_for_each(|line| barred(out, &line, Style::new()))
}

fn calls(out: &mut dyn Write, contents: &Contents<'_>) -> io::Result<()> {
    if contents.section(Tag::Trace).is_none() {
        return absent(out, "CALLS");
    }
    let count = contents.totals().calls as u64;
    heading(out, "CALLS", &counted(count, "call"))?;
    if count > 0 {
        let row = CALL_COLUMNS.map(|(columns, side, name)| fit(name, columns, side));
        writeln!(out, "{DIM}{}{DIM:#}", row.join(" ").trim_end())?;
    }
    let known = witness::cost::is_known(&contents.extensions().provenance);
    let numbered = (1_u64..).zip(contents.calls());
    numbered
        .into_iter()
        .try_for_each(|(number, call)| one_call(out, number, &call, known))
}

fn one_call(out: &mut dyn Write, number: u64, call: &Call<'_>, known: bool) -> io::Result<()> {
    let values = [
        number.to_string(),
        clean::name(call.action).into_owned(),
        call.check.name().to_owned(),
        duration(call.latency_ms),
        call_cost(call.cost_microdollars, known),
        call.tokens.to_string(),
        hex::encode(call.args_hash),
        hex::encode(call.result_hash),
    ];
    let styles = [
        DIM,
        BOLD,
        style_of_check(call.check),
        Style::new(),
        Style::new(),
        Style::new(),
        DIM,
        DIM,
    ];
    let cells = CALL_COLUMNS.into_iter().zip(values).zip(styles);
    for (index, (((columns, side, _), value), style)) in cells.enumerate() {
        let gap = if index == 0 { "" } else { " " };
        // Only names are cut; a number without a digit would be wrong.
        let cell = match side {
            Side::Left => fit(&value, columns, side),
            Side::Right => format!("{value:>columns$}"),
        };
        write!(out, "{gap}{style}{cell}{style:#}")?;
    }
    writeln!(out)
}

fn style_of_check(check: Check) -> Style {
    match check {
        Check::Allowed => GREEN,
        Check::Confirmed => CYAN,
        Check::Denied => RED.bold(),
    }
}

fn diff(out: &mut dyn Write, section: Option<&[u8]>) -> io::Result<()> {
    let Some(bytes) = section else {
        return absent(out, "DIFF");
    };
    let count = |wanted| {
        diff_lines(bytes)
            .filter(|(part, _)| *part == wanted)
            .count() as u64
    };
    let (added, removed) = (count(DiffPart::Added), count(DiffPart::Removed));
    let note = format!("{} added, {} removed", grouped(added), grouped(removed));
    heading(out, "DIFF", &note)?;
    for file in patch::files(bytes) {
        for note in &file.notes {
            barred(out, &clean::text(note), BOLD)?;
        }
        for (part, line) in &file.lines {
            let style = match part {
                DiffPart::File => BOLD,
                DiffPart::Hunk => CYAN,
                DiffPart::Added => GREEN,
                DiffPart::Removed => RED,
                DiffPart::Context => Style::new(),
            };
            barred(out, &clean::text(line), style)?;
        }
    }
    Ok(())
}

fn test_log(out: &mut dyn Write, view: &ReplayView<'_>) -> io::Result<()> {
    let Some(bytes) = view.contents.section(Tag::TestLog) else {
        return absent(out, "TEST LOG");
    };
    let failures = view
        .check
        .reading
        .iter()
        .flat_map(|reading| &reading.failures);
    let failing: BTreeSet<usize> = failures.map(|failure| failure.line).collect();
    heading(out, "TEST LOG", &counted(clean::line_count(bytes), "line"))?;
    for (number, line) in (1..).zip(clean::lines(bytes)) {
        let failed = failing.contains(&number);
        barred(out, &line, if failed { RED.bold() } else { Style::new() })?;
    }
    Ok(())
}

fn closing(out: &mut dyn Write, view: &ReplayView<'_>) -> io::Result<()> {
    heading(out, "OUTCOME CHECK", view.check.agreement.name())?;
    banner(out, &facts::closing_banner(view))?;
    let Some(reading) = &view.check.reading else {
        return Ok(());
    };
    for failure in &reading.failures {
        let name = clean::name(failure.name.as_bytes());
        let text = format!("{name} (line {})", grouped(failure.line as u64));
        for (index, piece) in wrap(&text, 6).enumerate() {
            let mark = if index == 0 { Tone::Bad.mark() } else { ' ' };
            writeln!(out, "    {RED}{mark} {piece}{RED:#}")?;
        }
    }
    Ok(())
}
