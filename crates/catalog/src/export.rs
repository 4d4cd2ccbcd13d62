//! Roles as the files that coding agents read, and back.
//!
//! Both targets are Markdown with front matter: one-line values between double quotes, then the instructions byte for
//! byte and one newline. What a target has no field for is kept where it does no harm, in a comment or in `metadata`,
//! so that [`read_back`] finds the same six hashed fields. Every file carries a hash of itself, so that one that a
//! person touched is not taken for ours.

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::browse::Fields;
use crate::strict::is_safe;
use crate::yaml::{Document, Node, number_text};
use crate::yaml_text::quoted;

/// Longest description of a skill, in characters.
const MAX_SKILL_DESCRIPTION: usize = 1024;
/// Longest name of a skill.
const MAX_SKILL_NAME: usize = 64;
/// Stands in the place of the hash while the file is hashed.
const NO_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// Begins the comment that carries what a subagent has no field for.
const MARK: &str = "# roleos: ";
const FENCE: &str = "---\n";

/// For whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Subagents: `.claude/agents/<slug>.md`.
    ClaudeAgents,
    /// The Agent Skills standard: `skills/<slug>/SKILL.md`.
    AgentSkills,
}

/// A role to export.
#[derive(Clone, Copy, Debug)]
pub struct Role<'a> {
    /// Its slug, which becomes its name there.
    pub slug: &'a str,
    /// The language of the text.
    pub language: &'a str,
    /// Its version.
    pub version: f64,
    /// What it says.
    pub fields: &'a Fields,
    /// Whether it asks for a model.
    pub has_model: bool,
}

/// A file for a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// From the folder of the export.
    pub path: String,
    /// All of it.
    pub text: String,
    /// What the target does not use, in lower case and without a full stop.
    pub unused: Vec<&'static str>,
}

/// A file that was exported.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadBack {
    /// The role's slug.
    pub slug: String,
    /// The language of the text.
    pub language: String,
    /// The version that was exported.
    pub version: f64,
    /// The six hashed fields.
    pub fields: Fields,
    /// Whether every byte is as we wrote it.
    pub is_untouched: bool,
}

/// Writes a role for a target.
///
/// # Errors
/// The slug cannot be a name there.
pub fn export(target: Target, role: Role<'_>) -> Result<Exported, String> {
    if !is_name(target, role.slug) {
        return Err(format!("`{}` cannot be a name there", role.slug));
    }
    let path = match target {
        Target::ClaudeAgents => format!(".claude/agents/{}.md", role.slug),
        Target::AgentSkills => format!("skills/{}/SKILL.md", role.slug),
    };
    let hash = digest(&file(target, role, NO_HASH));
    Ok(Exported {
        path,
        text: file(target, role, &hash),
        unused: unused(target, role),
    })
}

/// The whole file with this hash in it.
fn file(target: Target, role: Role<'_>, hash: &str) -> String {
    let head = match target {
        Target::ClaudeAgents => agent(role, hash),
        Target::AgentSkills => skill(role, hash),
    };
    format!("{FENCE}{head}{FENCE}{}\n", role.fields.instructions)
}

/// How the hash stands in a file. Only a line of the head can look like this, and the head comes first.
fn hash_line(target: Target, hash: &str) -> String {
    match target {
        Target::ClaudeAgents => format!("\n{MARK}{{\"hash\":\"{hash}\""),
        Target::AgentSkills => format!("\n  roleos-hash: \"{hash}\"\n"),
    }
}

fn is_name(target: Target, slug: &str) -> bool {
    let is_skill_name = slug.len() <= MAX_SKILL_NAME
        && !slug.starts_with('-')
        && !slug.ends_with('-')
        && !slug.contains("--");
    is_safe(slug) && (target == Target::ClaudeAgents || is_skill_name)
}

fn digest(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}

/// The first message, when it is sent without being asked for.
fn initial_prompt(fields: &Fields) -> Option<&str> {
    let message = fields.launch_message.as_deref()?;
    let is_sent = fields.auto_start != Some(false) && !message.trim().is_empty();
    is_sent.then_some(message)
}

/// What the role says it does; targets need something.
fn description(role: Role<'_>) -> &str {
    let is_there = |text: &&str| !text.trim().is_empty();
    let description = role.fields.description.as_deref().filter(is_there);
    let name = Some(role.fields.name.as_str()).filter(is_there);
    description.or(name).unwrap_or(role.slug)
}

fn agent(role: Role<'_>, hash: &str) -> String {
    let fields = role.fields;
    let mut kept = Map::new();
    let mut keep = |key: &str, value: Value| drop(kept.insert(key.to_owned(), value));
    keep("hash", json!(hash));
    keep("slug", json!(role.slug));
    keep("language", json!(role.language));
    keep("version", json!(number_text(role.version)));
    keep("name", json!(fields.name));
    keep("emoji", json!(fields.emoji));
    keep("autoStart", json!(fields.auto_start));
    if fields.description.as_deref() != Some(description(role)) {
        keep("description", json!(fields.description));
    }
    let prompt = initial_prompt(fields);
    if prompt.is_none() {
        keep("launchMessage", json!(fields.launch_message));
    }
    let prompt = prompt.map(|text| format!("initialPrompt: {}\n", quoted(text)));
    format!(
        "{MARK}{}\nname: {}\ndescription: {}\n{}",
        escaped(&Value::Object(kept)),
        role.slug,
        quoted(description(role)),
        prompt.unwrap_or_default()
    )
}

/// JSON on one line of printable characters: a comment ends where a reader sees the end of a line.
fn escaped(value: &Value) -> String {
    let mut out = String::new();
    for char in value.to_string().chars() {
        if char.is_control()
            || matches!(
                char,
                '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
            )
        {
            out.push_str(&format!("\\u{:04x}", u32::from(char)));
        } else {
            out.push(char);
        }
    }
    out
}

fn skill(role: Role<'_>, hash: &str) -> String {
    let fields = role.fields;
    let shown = cut(description(role));
    let mut metadata = vec![
        ("hash", hash.to_owned()),
        ("language", role.language.to_owned()),
        ("version", number_text(role.version)),
        ("name", fields.name.clone()),
    ];
    metadata.extend(fields.emoji.clone().map(|text| ("emoji", text)));
    metadata.extend(
        fields
            .auto_start
            .map(|value| ("auto-start", value.to_string())),
    );
    metadata.extend(
        fields
            .launch_message
            .clone()
            .map(|text| ("launch-message", text)),
    );
    match &fields.description {
        None => metadata.push(("no-description", "true".to_owned())),
        Some(text) if *text != shown => metadata.push(("description", text.clone())),
        Some(_) => {}
    }
    let mut out = format!(
        "name: {}\ndescription: {}\nmetadata:\n",
        role.slug,
        quoted(&shown)
    );
    for (key, value) in metadata {
        out.push_str(&format!("  roleos-{key}: {}\n", quoted(&value)));
    }
    out
}

fn cut(description: &str) -> String {
    if description.chars().count() <= MAX_SKILL_DESCRIPTION {
        return description.to_owned();
    }
    let kept = description.chars().take(MAX_SKILL_DESCRIPTION - 1);
    kept.chain(['…']).collect()
}

fn unused(target: Target, role: Role<'_>) -> Vec<&'static str> {
    let fields = role.fields;
    let has_message = fields.launch_message.is_some();
    let is_long = description(role).chars().count() > MAX_SKILL_DESCRIPTION;
    let notes = match target {
        Target::ClaudeAgents => [
            (true, "the display name and the emoji are kept in a comment"),
            (
                has_message && initial_prompt(fields).is_none(),
                "the launch message waits for the user and is kept in a comment",
            ),
            (false, ""),
        ],
        Target::AgentSkills => [
            (
                true,
                "the display name and the emoji are kept in `metadata`",
            ),
            (
                has_message,
                "the launch message is kept in `metadata` and never sent",
            ),
            (
                is_long,
                "the description is cut at 1024 characters, and whole in `metadata`",
            ),
        ],
    };
    let model = (
        role.has_model,
        "the model that the role asks for is not exported",
    );
    let notes = notes.into_iter().chain([model]);
    notes
        .filter(|(applies, _)| *applies)
        .map(|(_, note)| note)
        .collect()
}

/// Reads a file that was exported; `None` when it is none of ours.
#[must_use]
pub fn read_back(target: Target, text: &str) -> Option<ReadBack> {
    let rest = text.strip_prefix(FENCE)?;
    // Every value is on one line, so that the first fence ends the head whatever the instructions hold.
    let (head, body) = rest.split_once("\n---\n")?;
    let instructions = body.strip_suffix('\n').unwrap_or(body);
    let document = Document::parse(head.as_bytes().to_vec()).ok()?;
    let root = document.root();
    let (mut read, hash) = match target {
        Target::ClaudeAgents => read_agent(root, head)?,
        Target::AgentSkills => read_skill(root)?,
    };
    read.fields.instructions = instructions.to_owned();
    let (found, blank) = (hash_line(target, &hash), hash_line(target, NO_HASH));
    read.is_untouched = digest(&text.replacen(&found, &blank, 1)) == hash;
    Some(read)
}

fn read_agent(root: Node<'_>, head: &str) -> Option<(ReadBack, String)> {
    let mark = head.lines().find_map(|line| line.strip_prefix(MARK))?;
    let mark: Map<String, Value> = serde_json::from_str(mark).ok()?;
    let text = |key: &str| mark.get(key)?.as_str().map(str::to_owned);
    let field = |key: &str| root.get(key).and_then(Node::text).map(str::to_owned);
    let description = match mark.contains_key("description") {
        true => text("description"),
        false => field("description"),
    };
    let read = ReadBack {
        slug: field("name")?,
        language: text("language")?,
        version: text("version")?.parse().ok()?,
        fields: Fields {
            emoji: text("emoji"),
            auto_start: mark.get("autoStart").and_then(Value::as_bool),
            name: text("name")?,
            description,
            instructions: String::new(),
            launch_message: field("initialPrompt").or_else(|| text("launchMessage")),
        },
        is_untouched: false,
    };
    Some((read, text("hash")?))
}

fn read_skill(root: Node<'_>) -> Option<(ReadBack, String)> {
    let metadata = root.get("metadata")?;
    let kept = |key: &str| {
        let value = metadata.get(&format!("roleos-{key}"))?;
        value.text().map(str::to_owned)
    };
    let field = |key: &str| root.get(key).and_then(Node::text).map(str::to_owned);
    let description = match kept("no-description") {
        Some(_) => None,
        None => kept("description").or_else(|| field("description")),
    };
    let read = ReadBack {
        slug: field("name")?,
        language: kept("language")?,
        version: kept("version")?.parse().ok()?,
        fields: Fields {
            emoji: kept("emoji"),
            auto_start: kept("auto-start").map(|value| value == "true"),
            name: kept("name")?,
            description,
            instructions: String::new(),
            launch_message: kept("launch-message"),
        },
        is_untouched: false,
    };
    Some((read, kept("hash")?))
}

#[cfg(test)]
mod tests;
