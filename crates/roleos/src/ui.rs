//! The object for all output: data to standard output, notes for people to standard error.

use std::fmt;
use std::fs::File;
use std::io::{self, IsTerminal as _, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use base::config::trust::Ignored;
use base::trust::review;
use serde::Serialize;

use crate::render::clean;
use crate::{Context, Failure};

/// Duration of work from which a bar is shown.
const BAR_AFTER: Duration = Duration::from_secs(1);
/// Time between two updates of a bar.
const BAR_EVERY: Duration = Duration::from_millis(50);

/// Success.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// Failure.
pub const BAD: Style = AnsiColor::Red.on_default();
/// Warning.
pub const WARN: Style = AnsiColor::Yellow.on_default();
/// Heading.
pub const BOLD: Style = Style::new().bold();
/// Less important text.
pub const DIM: Style = Style::new().dimmed();

/// Output options.
#[derive(Clone, Copy, Debug)]
pub struct Ui {
    /// Set for one JSON value instead of text.
    pub json: bool,
    quiet: bool,
    color: ColorChoice,
}

impl Ui {
    /// Uses the global options.
    #[must_use]
    pub fn new(json: bool, quiet: bool, color: ColorChoice) -> Self {
        Self { json, quiet, color }
    }

    /// Returns standard output, without colours if they are not wanted. It must be flushed at the end.
    #[must_use]
    pub fn out(&self) -> impl Write + use<> {
        let stream = AutoStream::new(io::stdout(), self.color);
        io::BufWriter::with_capacity(1 << 16, stream)
    }

    /// Returns another stream, with colours if they are wanted.
    #[must_use]
    pub fn on(&self, file: File) -> AutoStream<File> {
        AutoStream::new(file, self.color)
    }

    /// Prints one line of data.
    pub fn line(&self, line: impl fmt::Display) -> io::Result<()> {
        let mut out = self.out();
        writeln!(out, "{line}")?;
        out.flush()
    }

    /// Prints one JSON value on one line.
    pub fn json(&self, value: &impl Serialize) -> io::Result<()> {
        self.line(serde_json::to_string(value)?)
    }

    /// Prints a note for people that is not the result.
    pub fn note(&self, note: impl fmt::Display) {
        if !self.quiet && !self.json {
            self.stderr(format_args!("{note}"));
        }
    }

    /// Warns about ignored settings of an unconfirmed file. On standard error, for people.
    pub fn warn_of_ignored(&self, ignored: &[Ignored]) {
        if ignored.is_empty() || self.quiet || self.json {
            return;
        }
        let keys: Vec<String> = ignored.iter().map(|one| format!("`{}`", one.key)).collect();
        let doubt = ignored.first().map(|one| one.doubt.to_string());
        self.stderr(format_args!(
            "{WARN}warning{WARN:#}: ignored {} of the settings file: {}; `roleos trust` shows it and asks",
            keys.join(", "),
            doubt.unwrap_or_default()
        ));
    }

    /// Prints, once per workspace, that its files count without a confirmation.
    pub fn tell_not_initialised(&self, context: &Context) {
        if self.quiet || self.json {
            return;
        }
        let told = review::not_initialised(&context.workspace, &context.environment);
        if let Some(told) = told {
            self.stderr(format_args!("{WARN}note{WARN:#}: {told}"));
        }
    }

    /// Prints an error in one line, with the remedy.
    pub fn fail(&self, failure: &Failure) {
        if failure.is_closed_pipe() {
            return;
        }
        if self.json {
            let mut value = serde_json::to_value(failure).unwrap_or_default();
            if let (false, Some(message)) = (failure.details.is_empty(), value.get_mut("message")) {
                *message = format!("{}: {}", failure.message, failure.details.join("; ")).into();
            }
            self.stderr(value);
            return;
        }
        // A file's name can contain any bytes; an error stays on one line and moves no cursor.
        let message = clean::name(failure.message.as_bytes());
        self.stderr(format_args!("{BAD}error{BAD:#}: {message}"));
        for detail in &failure.details {
            self.stderr(format_args!(" - {}", clean::name(detail.as_bytes())));
        }
        if let Some(hint) = &failure.hint {
            self.stderr(format_args!("{DIM}hint{DIM:#}: {hint}"));
        }
    }

    /// Returns a progress bar that appears on a terminal if the work takes longer than a second.
    #[must_use]
    pub fn progress(&self, length: usize, what: &'static str) -> Progress {
        let wanted = !self.quiet && !self.json && io::stderr().is_terminal();
        let bar = Bar {
            what,
            total: length as u64,
            since: Instant::now(),
            drawn: None,
        };
        Progress(wanted.then(|| Mutex::new(bar)))
    }

    fn stderr(&self, line: impl fmt::Display) {
        let mut stream = AutoStream::new(io::stderr(), self.color);
        // If standard error is closed, there is no reader.
        writeln!(stream, "{line}").ok();
    }
}

/// See [`Ui::progress`].
#[derive(Debug)]
pub struct Progress(Option<Mutex<Bar>>);

#[derive(Debug)]
struct Bar {
    what: &'static str,
    total: u64,
    since: Instant,
    drawn: Option<Instant>,
}

impl Progress {
    /// Shows the progress, with a total that may change.
    pub fn set_of(&self, done: u64, total: u64) {
        self.draw(done, Some(total));
    }

    /// Shows the progress.
    pub fn set(&self, done: usize) {
        self.draw(done as u64, None);
    }

    fn draw(&self, done: u64, total: Option<u64>) {
        let Some(bar) = &self.0 else { return };
        let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
        bar.total = total.unwrap_or(bar.total).max(done);
        let elapsed = bar.since.elapsed();
        let is_fresh = bar.drawn.is_some_and(|drawn| drawn.elapsed() < BAR_EVERY);
        if elapsed > BAR_AFTER && !is_fresh {
            bar.drawn = Some(Instant::now());
            let columns = terminal_size::terminal_size_of(io::stderr());
            let line = bar.line(done, columns.map_or(80, |(width, _)| usize::from(width.0)));
            write!(io::stderr(), "\r\x1b[2K{line}").ok();
        }
    }
}

impl Bar {
    fn line(&self, done: u64, columns: usize) -> String {
        let left = (self.total - done) as f64 / (done.max(1)) as f64;
        let seconds = self.since.elapsed().mul_f64(left).as_secs();
        let end = format!(" {done}/{} {seconds}s", self.total);
        let room = columns.saturating_sub(self.what.len() + end.len() + 2);
        let full = room as u64 * done / self.total.max(1);
        let full = usize::try_from(full).unwrap_or(room);
        let bar = "█".repeat(full) + &"░".repeat(room - full);
        format!("{} {bar}{end}", self.what)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let bar = self.0.take().and_then(|bar| bar.into_inner().ok());
        if bar.is_some_and(|bar| bar.drawn.is_some()) {
            write!(io::stderr(), "\r\x1b[2K").ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_fills_its_line_but_the_last_column() {
        let bar = Bar {
            what: "bundles",
            total: 10,
            since: Instant::now(),
            drawn: None,
        };
        for (done, columns, expected) in [
            (0, 24, "bundles ░░░░░░░ 0/10 0s"),
            (5, 24, "bundles ███░░░░ 5/10 0s"),
            (10, 24, "bundles ██████ 10/10 0s"),
            (5, 9, "bundles  5/10 0s"),
        ] {
            assert_eq!(bar.line(done, columns), expected);
        }
    }
}
