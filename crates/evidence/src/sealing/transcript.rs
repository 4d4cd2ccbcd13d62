//! Tokens, models and breakdowns out of an agent's own record of a session.
//!
//! The record is another program's and may be anything: it is read line by line with a limit, what is not understood
//! is passed over, and what could not be read is said.

mod claude;
mod codex;

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use base::prices::Usage;

pub use codex::Standing;

/// Longer lines are passed over.
const MAX_LINE: u64 = 64 * 1024 * 1024;

/// More messages than this are not counted.
const MAX_MESSAGES: usize = 1_000_000;

/// More records of subagents than this are not read.
const MAX_SUBAGENTS: usize = 1000;

/// One answer of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Its id, where the record gives it one.
    pub id: String,
    /// When, in nanoseconds since 1970; 0 when that is not known.
    pub time_ns: u64,
    /// The model, as it calls itself.
    pub model: String,
    /// What it used.
    pub usage: Usage,
    /// What the agent says that it cost, in millionths of a US dollar.
    pub cost: Option<u64>,
    /// Tool calls that it asked for, by their ids.
    pub calls: Vec<String>,
}

/// What a record says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcript {
    /// Answers in the order of the record, each once.
    pub messages: Vec<Message>,
    /// When the model could last not be reached, and what was said.
    pub broke: Option<(u64, String)>,
    /// Lines that were passed over because they are too long or no JSON.
    pub skipped: u64,
}

impl Transcript {
    /// What was said when the model could not be reached, when nothing came after that and it is no older than `since`.
    #[must_use]
    pub fn broken_at_the_end(&self, since: u64) -> Option<String> {
        let (time, text) = self.broke.as_ref()?;
        let went_on = self.messages.iter().any(|message| message.time_ns > *time);
        let text: String = redact::text(text).text.chars().take(500).collect();
        (*time >= since && !went_on).then(|| format!("The agent broke: {text}"))
    }
}

/// Takes one line of a record.
trait Reader {
    fn line(&mut self, line: &[u8]) -> Result<(), serde_json::Error>;

    fn finish(self: Box<Self>) -> Transcript;
}

/// Why nothing is known.
#[derive(Debug, thiserror::Error)]
pub enum Unknown {
    /// There is no reader for this agent's record.
    #[error("the record that {0} keeps is not read here")]
    Agent(String),
    /// It cannot be read.
    #[error("`{path}` cannot be read: {source}")]
    Read {
        /// The record.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Reads the record of an agent, those of its subagents included.
///
/// # Errors
/// The agent's record is not known here, or cannot be read.
pub fn read(agent: &str, path: &Path) -> Result<Transcript, Unknown> {
    let mut reader: Box<dyn Reader> = match agent {
        "claude" => Box::<claude::Claude>::default(),
        _ => Box::<codex::Codex>::default(),
    };
    let mut skipped = 0;
    for path in records(agent, path)? {
        let fed = feed(&path, (0, u64::MAX), reader.as_mut(), &mut skipped);
        fed.map_err(|source| Unknown::Read { path, source })?;
    }
    let mut transcript = reader.finish();
    transcript.skipped = skipped;
    Ok(transcript)
}

/// The files of an agent's record: its own first, then those of its subagents.
///
/// # Errors
/// The agent's record is not known here.
pub fn records(agent: &str, path: &Path) -> Result<Vec<PathBuf>, Unknown> {
    let mut records = vec![path.to_owned()];
    match agent {
        "claude" => records.extend(claude::subagents(path).into_iter().take(MAX_SUBAGENTS)),
        "codex" => {}
        other => return Err(Unknown::Agent(other.to_owned())),
    }
    Ok(records)
}

/// A part of a file of an agent's record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The answers in it. One that spans several parts is in each of them, by the same id.
    pub messages: Vec<Message>,
    /// Where the next part begins: behind the last whole line.
    pub end: u64,
}

/// Reads on in a file of an agent's record, for `most` bytes and to the end of a line.
///
/// # Errors
/// It cannot be read.
pub fn read_on(
    agent: &str,
    path: &Path,
    from: u64,
    most: u64,
    standing: &mut Standing,
) -> io::Result<Step> {
    if agent == "claude" {
        let mut reader = Box::<claude::Claude>::default();
        let end = feed(path, (from, most), reader.as_mut(), &mut 0)?;
        let messages = reader.finish().messages;
        return Ok(Step { messages, end });
    }
    let mut reader = Box::new(codex::Codex::at(std::mem::take(standing)));
    let end = feed(path, (from, most), reader.as_mut(), &mut 0)?;
    *standing = reader.standing();
    let messages = reader.finish().messages;
    Ok(Step { messages, end })
}

/// Feeds the lines that begin in `most` bytes after `from`, and says where the last whole one ends.
fn feed(
    path: &Path,
    (from, most): (u64, u64),
    reader: &mut dyn Reader,
    skipped: &mut u64,
) -> io::Result<u64> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a file",
        ));
    }
    let mut file = BufReader::new(File::open(path)?);
    file.seek(SeekFrom::Start(from))?;
    let mut line = Vec::new();
    let mut end = from;
    while end - from < most {
        line.clear();
        (&mut file).take(MAX_LINE).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            break;
        }
        if line.len() as u64 >= MAX_LINE && !line.ends_with(b"\n") {
            *skipped += 1;
            end += line.len() as u64 + skip_line(&mut file)?;
            continue;
        }
        let is_whole = line.ends_with(b"\n");
        if is_whole {
            end += line.len() as u64;
        }
        let text = line.trim_ascii();
        if !text.is_empty() && reader.line(text).is_err() {
            *skipped += 1;
        }
        if !is_whole {
            break;
        }
    }
    Ok(end)
}

fn skip_line(file: &mut impl io::BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let buffer = file.fill_buf()?;
        let (used, is_end) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        file.consume(used);
        skipped += used as u64;
        if is_end {
            return Ok(skipped);
        }
    }
}

/// A time as records write it.
fn time_ns(text: Option<&str>) -> u64 {
    text.and_then(|text| text.parse::<jiff::Timestamp>().ok())
        .and_then(|time| u64::try_from(time.as_nanosecond()).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;
