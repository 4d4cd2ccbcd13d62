//! Export of roles to the files of coding agents: one table row per target, one writer for all of them.
//!
//! Every file carries a hash of itself, so that an edited file does not count as ours. A part of a role without a
//! field in the target is lost, and [`Exported::lost`] lists it.

use sha2::{Digest as _, Sha256};

use self::targets::Line;
use crate::browse::Fields;
use crate::hints::{Hints, Strength, Tool};
use crate::strict::is_safe;
use crate::yaml::number_text;
use crate::yaml_text::quoted;

pub use self::targets::{TARGETS, Target};

mod targets;

/// Limit of a name in the Agent Skills standard, in characters.
const MAX_NAME: usize = 64;
/// Prefix of the hash in a file.
const MARK: &str = "roleos-";
/// Placeholder of the hash while the file is hashed.
const NO_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// A role to export.
#[derive(Clone, Debug)]
pub struct Role<'a> {
    /// Slug, which becomes the name.
    pub slug: &'a str,
    /// Language of the text.
    pub language: &'a str,
    /// Version of the role.
    pub version: f64,
    /// Texts of the role.
    pub fields: &'a Fields,
    /// Hints for tools and model.
    pub hints: Hints,
    /// Set if the role has a `modelConfig`.
    pub has_model: bool,
}

/// A file, or a part of one, for a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Path relative to the directory of the export.
    pub path: String,
    /// Whole text.
    pub text: String,
    /// Name of the section, if the file belongs to the user and only a section of it is ours.
    pub section: Option<String>,
    /// Parts of the role that are lost or reduced, in lower case and without a full stop.
    pub lost: Vec<&'static str>,
}

/// Result of merging an exported file with the one on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merge {
    /// The file is already the same, byte for byte.
    Same,
    /// The file is not ours, or was edited.
    Kept,
    /// The whole file that must be written.
    Write(String),
}

/// Writes a role for a target: its file, and for some targets a section of `AGENTS.md`.
///
/// # Errors
/// Fails if the slug is not a valid name there.
pub fn export(target: &Target, role: &Role<'_>) -> Result<Vec<Exported>, String> {
    if !is_name(target, role.slug) {
        return Err(format!("`{}` cannot be a name there", role.slug));
    }
    let mut files = vec![Exported {
        path: target.path.replace("{}", role.slug),
        text: seal(&file(target, role)),
        section: None,
        lost: lost(target, role),
    }];
    files.extend(target.section.map(|path| Exported {
        path: path.to_owned(),
        text: seal(&section(target, role)),
        section: Some(role.slug.to_owned()),
        lost: Vec::new(),
    }));
    Ok(files)
}

/// Returns the files that a target needs once, beside those of the roles.
#[must_use]
pub fn companions(target: &Target) -> Vec<Exported> {
    let files = target.companions.iter();
    let files = files.map(|(path, text)| Exported {
        path: (*path).to_owned(),
        text: seal(&text.replace("{hash}", &format!("{MARK}{NO_HASH}"))),
        section: None,
        lost: Vec::new(),
    });
    files.collect()
}

/// Decides what to write over an existing file.
#[must_use]
pub fn merge(exported: &Exported, old: Option<&str>, overwrite: bool) -> Merge {
    let new = exported.text.as_str();
    let Some(old) = old else {
        return Merge::Write(new.to_owned());
    };
    let (before, mine, after) = match &exported.section {
        None => ("", old, ""),
        Some(name) => match find_section(old, name) {
            Found::Section(before, mine, after) => (before, mine, after),
            Found::Broken => return Merge::Kept,
            Found::Nothing => {
                let gap = if old.is_empty() { "" } else { "\n" };
                return Merge::Write(format!("{}{gap}{new}", with_newline(old)));
            }
        },
    };
    if mine == new {
        Merge::Same
    } else if is_untouched(mine) || overwrite {
        Merge::Write(format!("{before}{new}{after}"))
    } else {
        Merge::Kept
    }
}

enum Found<'t> {
    Nothing,
    Broken,
    Section(&'t str, &'t str, &'t str),
}

fn find_section<'t>(text: &'t str, name: &str) -> Found<'t> {
    let (opening, closing) = (format!("<!-- {MARK}"), closing(name));
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let names = |rest: &str| rest.split(' ').nth(1) == Some(name);
        if line.strip_prefix(&opening).is_some_and(names) {
            let (before, rest) = text.split_at_checked(start).unwrap_or_default();
            return match rest.split_once(&closing) {
                Some((inner, after)) => {
                    let (mine, _) = rest
                        .split_at_checked(inner.len() + closing.len())
                        .unwrap_or_default();
                    Found::Section(before, mine, after)
                }
                None => Found::Broken,
            };
        }
        start += line.len();
    }
    Found::Nothing
}

fn closing(name: &str) -> String {
    format!("<!-- roleos end of {name} -->\n")
}

fn with_newline(text: &str) -> String {
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{text}{end}")
}

/// Inserts the hash of the text into it.
fn seal(text: &str) -> String {
    let hash = hex::encode(Sha256::digest(text));
    text.replacen(NO_HASH, &hash, 1)
}

/// Returns `true` if the text carries its own hash.
fn is_untouched(text: &str) -> bool {
    let Some((_, rest)) = text.split_once(MARK) else {
        return false;
    };
    let hash = rest.get(..NO_HASH.len()).unwrap_or_default();
    let blank = text.replacen(hash, NO_HASH, 1);
    !hash.is_empty() && hex::encode(Sha256::digest(blank)) == hash
}

fn is_name(target: &Target, slug: &str) -> bool {
    let is_standard = slug.len() <= MAX_NAME
        && !slug.starts_with('-')
        && !slug.ends_with('-')
        && !slug.contains("--");
    is_safe(slug) && (!target.has_standard_names || is_standard)
}

fn file(target: &Target, role: &Role<'_>) -> String {
    let version = number_text(role.version);
    let mark = format!(
        "# {MARK}{NO_HASH} {} {} {version}\n",
        role.slug, role.language
    );
    let lines = target.lines.iter().map(|line| text_of(line, target, role));
    let head: String = lines.collect();
    let body = &role.fields.instructions;
    if target.is_toml {
        let body = toml_lines(body);
        return format!("{mark}{head}developer_instructions = \"\"\"\n{body}\n\"\"\"\n");
    }
    format!("---\n{mark}{head}---\n{body}\n")
}

fn text_of(line: &Line, target: &Target, role: &Role<'_>) -> String {
    let pair = |key: &str, text: &str| match target.is_toml {
        true => format!("{key} = {}\n", toml_line(text)),
        false => format!("{key}: {}\n", quoted(text)),
    };
    match line {
        Line::Fixed(text) => (*text).to_owned(),
        Line::Slug => pair("name", role.slug),
        Line::DisplayName => pair("name", &role.fields.name),
        Line::Description => pair("description", &cut(description(role), target)),
        Line::InitialPrompt => {
            initial_prompt(role.fields).map_or_else(String::new, |text| pair("initialPrompt", text))
        }
        Line::Tools(words) => match &role.hints.tools {
            None => String::new(),
            Some(tools) => words.text(tools),
        },
        Line::Model(strong, fast) => match role.hints.model {
            None => String::new(),
            Some(Strength::Strong) => format!("{strong}\n"),
            Some(Strength::Fast) => format!("{fast}\n"),
        },
    }
}

/// Returns a TOML basic string on one line. JSON escapes are TOML escapes, but TOML does not allow a raw DEL.
fn toml_line(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    json.replace('\u{7f}', "\\u007f")
}

/// Returns the inside of a TOML multi-line basic string.
fn toml_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.replace('\\', "\\\\").chars() {
        match c {
            '"' if out.ends_with('"') => out.push_str("\\\""),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// Returns a section that describes the use of this role to an agent without a list of roles.
fn section(target: &Target, role: &Role<'_>) -> String {
    let one_line = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        words
            .join(" ")
            .replace("<!--", "<! --")
            .replace("-->", "-- >")
    };
    let (slug, path) = (role.slug, target.path.replace("{}", role.slug));
    let version = number_text(role.version);
    format!(
        "<!-- {MARK}{NO_HASH} {slug} {} {version} -->\n## Role: {}\n\n{}\nFor such a task spawn the agent `{slug}`, or follow the instructions in `{path}`.\n{}",
        role.language,
        one_line(&role.fields.name),
        one_line(description(role)),
        closing(slug),
    )
}

/// Returns the first message, if it is sent without a user's request.
fn initial_prompt(fields: &Fields) -> Option<&str> {
    let message = fields.launch_message.as_deref()?;
    let is_sent = fields.auto_start != Some(false) && !message.trim().is_empty();
    is_sent.then_some(message)
}

/// Returns the description, else the name, else the slug: targets need one.
fn description<'r>(role: &'r Role<'_>) -> &'r str {
    let is_there = |text: &&str| !text.trim().is_empty();
    let description = role.fields.description.as_deref().filter(is_there);
    let name = Some(role.fields.name.as_str()).filter(is_there);
    description.or(name).unwrap_or(role.slug)
}

fn cut(description: &str, target: &Target) -> String {
    if description.chars().count() <= target.max_description {
        return description.to_owned();
    }
    let kept = description
        .chars()
        .take(target.max_description.saturating_sub(1));
    kept.chain(['…']).collect()
}

fn lost(target: &Target, role: &Role<'_>) -> Vec<&'static str> {
    let has = |wanted: fn(&Line) -> bool| target.lines.iter().any(wanted);
    let message = role.fields.launch_message.as_deref().unwrap_or_default();
    let is_sent =
        has(|line| matches!(line, Line::InitialPrompt)) && initial_prompt(role.fields).is_some();
    let tools = role.hints.tools.is_some();
    let words = target.lines.iter().find_map(|line| match line {
        Line::Tools(words) => Some(words),
        _ => None,
    });
    let notes = [
        (
            !has(|line| matches!(line, Line::DisplayName)) && !role.fields.name.is_empty(),
            "the display name is not exported",
        ),
        (role.fields.emoji.is_some(), "the emoji is not exported"),
        (
            !message.trim().is_empty() && !is_sent,
            "the launch message is not exported",
        ),
        (
            description(role).chars().count() > target.max_description,
            "the description is cut at the target's limit",
        ),
        (
            tools && words.is_none(),
            "the list of tools is not exported",
        ),
        (
            tools && words.is_some_and(|words| !words.names_all()),
            "the list of tools is reduced to what is denied",
        ),
        (
            role.hints.model.is_some() && !has(|line| matches!(line, Line::Model(..))),
            "the hint at a model is not exported",
        ),
        (
            role.has_model,
            "the model that the role asks for is not exported",
        ),
    ];
    let applying = notes.into_iter().filter(|(applies, _)| *applies);
    applying.map(|(_, note)| note).collect()
}

/// Names of a target for tools: per kind, in the order of [`Tool::ALL`], for wanted and for other ones.
#[derive(Debug)]
pub(crate) struct Words {
    before: &'static str,
    wanted: [&'static str; 4],
    denied: [&'static str; 4],
    between: &'static str,
    after: &'static str,
}

impl Words {
    fn names_all(&self) -> bool {
        self.wanted.iter().all(|word| !word.is_empty())
    }

    fn text(&self, tools: &[Tool]) -> String {
        let columns = Tool::ALL.iter().zip(self.wanted).zip(self.denied);
        let words = columns.map(|((tool, wanted), denied)| match tools.contains(tool) {
            true => wanted,
            false => denied,
        });
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        match words.is_empty() {
            true => String::new(),
            false => format!("{}{}{}", self.before, words.join(self.between), self.after),
        }
    }
}

#[cfg(test)]
mod tests;
