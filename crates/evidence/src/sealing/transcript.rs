//! Extracts tokens, models and failures from an agent's own record of a session.
//!
//! Another program writes the record, and it may hold anything: it is read line by line with a limit, unknown content
//! is skipped, and unreadable content is reported.

mod claude;
mod codex;

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use base::prices::Usage;

pub use codex::Standing;

/// Longest line that is parsed.
const MAX_LINE: u64 = 64 * 1024 * 1024;

/// Most messages that are counted.
const MAX_MESSAGES: usize = 1_000_000;

/// Most records of subagents that are read.
const MAX_SUBAGENTS: usize = 1000;

/// One answer of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Its id, if the record has one.
    pub id: String,
    /// Time in nanoseconds since 1970; 0 if unknown.
    pub time_ns: u64,
    /// The model, as it calls itself.
    pub model: String,
    pub usage: Usage,
    /// Cost according to the agent, in millionths of a US dollar.
    pub cost: Option<u64>,
    /// Ids of the tool calls that it requested.
    pub calls: Vec<String>,
}

/// Content of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcript {
    /// Answers in the order of the record, each once.
    pub messages: Vec<Message>,
    /// Time and message of the last failure to reach the model.
    pub broke: Option<(u64, String)>,
    /// Lines that were skipped because they are too long or not JSON.
    pub skipped: u64,
}

impl Transcript {
    /// Returns the message of a failure to reach the model, if nothing followed and it is not older than `since`.
    #[must_use]
    pub fn broken_at_the_end(&self, since: u64) -> Option<String> {
        let (time, text) = self.broke.as_ref()?;
        let went_on = self.messages.iter().any(|message| message.time_ns > *time);
        let text: String = redact::text(text).text.chars().take(500).collect();
        (*time >= since && !went_on).then(|| format!("The agent broke: {text}"))
    }
}

/// Parser of one line of a record.
trait Reader {
    fn line(&mut self, line: &[u8]) -> Result<(), serde_json::Error>;

    fn finish(self: Box<Self>) -> Transcript;
}

/// Reason why nothing is known.
#[derive(Debug, thiserror::Error)]
pub enum Unknown {
    /// There is no reader for this agent's record.
    #[error("the record that {0} keeps is not read here")]
    Agent(String),
    /// The record cannot be read.
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
/// Records of this agent are not supported, or the file cannot be read.
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

/// Lists the files of an agent's record: its own first, then those of its subagents.
///
/// # Errors
/// Records of this agent are not supported.
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
    /// The answers in it. An answer that spans several parts is in each of them, by the same id.
    pub messages: Vec<Message>,
    /// Offset of the next part: behind the last whole line.
    pub end: u64,
}

/// Continues reading a file of an agent's record, for `most` bytes and to the end of a line.
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

/// Feeds the lines that begin in `most` bytes after `from`, and returns the end of the last whole one.
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

/// Parses a time as records write it.
fn time_ns(text: Option<&str>) -> u64 {
    text.and_then(|text| text.parse::<jiff::Timestamp>().ok())
        .and_then(|time| u64::try_from(time.as_nanosecond()).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;
