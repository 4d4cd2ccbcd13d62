//! File of an installed role: one YAML file per role, with its source.
//!
//! `hash` is that of the imported content, so that a manual edit is detected. Unknown keys, the `specialist` block
//! among them, are kept byte for byte. No file is touched here.

use sha2::{Digest as _, Sha256};

use crate::contents::Field;
use crate::model_config::{self, ModelConfig};
use crate::strict::is_safe;
use crate::yaml::{Document, Node, Style, number_text};
use crate::yaml_text::{block, quoted};

/// Our keys; all others are kept as they are.
const KEYS: [&str; 10] = [
    "source",
    "hash",
    "enabled",
    "name",
    "emoji",
    "description",
    "autoStart",
    "launchMessage",
    "modelConfig",
    "instructions",
];

/// Source of a role.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Slug in the catalog.
    pub slug: String,
    /// Language of its text.
    pub language: String,
    /// Installed version.
    pub version: f64,
}

impl Source {
    /// Parses the source; `None` means that a person wrote the role. Text is decoded once.
    #[must_use]
    pub fn read(node: Node<'_>) -> Option<Self> {
        match node.text() {
            None => Self::of(node),
            Some(text) => {
                let document = Document::parse(text.as_bytes().to_vec()).ok()?;
                Self::of(document.root())
            }
        }
    }

    fn of(node: Node<'_>) -> Option<Self> {
        let text = |key: &str| node.get(key)?.text().filter(|text| !text.is_empty());
        Some(Self {
            slug: text("slug")?.to_owned(),
            language: text("language")?.to_owned(),
            version: node.get("version")?.number()?,
        })
    }

    /// Returns the name of the role's file; `None` if a part of it is not safe in a path.
    #[must_use]
    pub fn file_name(&self) -> Option<String> {
        let is_fine = is_safe(&self.slug) && is_safe(&self.language);
        is_fine.then(|| format!("{}.{}.yaml", self.slug, self.language))
    }
}

/// Texts and settings of a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Display name.
    pub name: String,
    /// Emoji of the role.
    pub emoji: Option<String>,
    /// Summary of the role.
    pub description: Option<String>,
    /// Prompt of the role.
    pub instructions: String,
    /// Set if the first message is sent at once.
    pub auto_start: bool,
    /// First message of the role.
    pub launch_message: Option<String>,
    /// Model that it requests.
    pub model_config: Option<ModelConfig>,
}

impl Content {
    /// Returns the SHA-256 over all values. Each part is preceded by its length, so that different contents have
    /// different encodings.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut hasher = Sha256::new();
        let model = self.model_config.as_ref();
        let parts = [
            Some(self.name.as_str()),
            self.emoji.as_deref(),
            self.description.as_deref(),
            Some(self.instructions.as_str()),
            Some(if self.auto_start { "true" } else { "false" }),
            self.launch_message.as_deref(),
            model.and_then(|model| model.driver.as_deref()),
            model.and_then(|model| model.chat_model.as_deref()),
        ];
        for part in parts {
            let length = part.map_or(u64::MAX, |part| part.len() as u64);
            hasher.update(length.to_be_bytes());
            hasher.update(part.unwrap_or_default());
        }
        hex::encode(hasher.finalize())
    }
}

/// An installed role, or one that a person wrote.
#[derive(Clone, Debug, PartialEq)]
pub struct Installed {
    /// Source; `None` if a person wrote it.
    pub source: Option<Source>,
    /// Hash of the imported content.
    pub hash: Option<String>,
    /// Set if the role may be used. Updates do not change it.
    pub enabled: bool,
    /// Texts and settings.
    pub content: Content,
    /// Unknown keys, as written.
    pub extras: String,
}

impl Installed {
    /// Returns `true` if a person changed the role after the import. Without a hash, it counts as changed.
    #[must_use]
    pub fn is_edited(&self) -> bool {
        self.hash.as_deref() != Some(self.content.hash().as_str())
    }

    /// Parses the file of a role.
    ///
    /// # Errors
    /// Fails if it is not a role; the error is in lower case, without a full stop.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, String> {
        let document = Document::parse(bytes).map_err(|broken| broken.error.what)?;
        let root = document.root();
        if !root.is_map() || root.style() != Style::Block {
            return Err("a role is written with one key a line".to_owned());
        }
        let value = |key: &str| root.get(key).filter(|node| !node.is_null());
        let text = |field: Field| match value(field.key()) {
            None => Ok(None),
            Some(node) => match node.text() {
                Some(text) => Ok(Some(text.to_owned())),
                None => Err(format!("`{}` must be text", field.key())),
            },
        };
        let truth = |key: &str| match value(key) {
            None => Ok(true),
            Some(node) => node
                .truth()
                .ok_or_else(|| format!("`{key}` must be true or false")),
        };
        let required = |field: Field| {
            let missing = || format!("`{}` is missing", field.key());
            text(field)?.ok_or_else(missing)
        };
        let model = value("modelConfig").map(model_config::read).transpose()?;
        Ok(Self {
            source: value("source").and_then(Source::read),
            hash: value("hash").and_then(Node::text).map(str::to_owned),
            enabled: truth("enabled")?,
            content: Content {
                name: required(Field::Name)?,
                emoji: text(Field::Emoji)?,
                description: text(Field::Description)?,
                instructions: required(Field::Instructions)?,
                auto_start: truth(Field::AutoStart.key())?,
                launch_message: text(Field::LaunchMessage)?,
                model_config: model.flatten(),
            },
            extras: extras(&document),
        })
    }

    /// Returns the text of the role's file.
    ///
    /// # Errors
    /// Fails if the kept parts of the old file do not fit into the new one, such as an alias to a removed value.
    pub fn print(&self) -> Result<String, String> {
        let text = self.text();
        let again = Self::parse(text.clone().into_bytes());
        match again {
            Ok(again) if again == *self => Ok(text),
            Ok(_) | Err(_) => {
                Err("the keys that are not ours cannot be kept as they are written".to_owned())
            }
        }
    }

    fn text(&self) -> String {
        let content = &self.content;
        let mut out = String::new();
        if let Some(source) = &self.source {
            out.push_str(&format!(
                "# Installed from a catalog. Edits are kept: `roleos catalog update` asks for --overwrite first.\n\
                 source:\n  slug: {}\n  language: {}\n  version: {}\n",
                quoted(&source.slug),
                quoted(&source.language),
                number_text(source.version)
            ));
        }
        let mut line = |key: &str, text: Option<String>| {
            if let Some(text) = text {
                out.push_str(&format!("{key}: {text}\n"));
            }
        };
        let some = |text: &Option<String>| text.as_deref().map(quoted);
        line("hash", some(&self.hash));
        line("enabled", Some(self.enabled.to_string()));
        line("name", Some(quoted(&content.name)));
        line("emoji", some(&content.emoji));
        line("description", some(&content.description));
        line("autoStart", Some(content.auto_start.to_string()));
        line("launchMessage", some(&content.launch_message));
        if let Some(model) = &content.model_config {
            line("modelConfig", Some(String::new()));
            line("  driver", some(&model.driver));
            line("  chatModel", some(&model.chat_model));
        }
        out.push_str(&format!(
            "instructions: {}",
            block(&content.instructions, 2)
        ));
        out.push_str(&self.extras);
        out
    }
}

/// Returns the text of a role's file with an unknown key set to `text` (with the key and the line's end), or without
/// the key. Everything else stays as written.
///
/// # Errors
/// Fails if the file is not a role, or the rest of it would change.
pub fn with_extra(bytes: &[u8], key: &str, text: Option<&str>) -> Result<String, String> {
    let before = Installed::parse(bytes.to_vec())?;
    let document = Document::parse(bytes.to_vec()).map_err(|broken| broken.error.what)?;
    let source = document.source().text();
    let keys: Vec<_> = document.root().entries().map(|(key, _)| key).collect();
    let starts = keys.iter().map(|key| key.span().start);
    let ends = starts.skip(1).chain([source.len()]);
    let mut places = keys.iter().zip(ends);
    let place = places.find(|(node, _)| node.text() == Some(key));
    let (start, end) = place.map_or((source.len(), source.len()), |(node, end)| {
        (node.span().start, end)
    });
    let mut out = source.get(..start).unwrap_or_default().to_owned();
    if text.is_some() && !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(text.unwrap_or_default());
    out.push_str(source.get(end..).unwrap_or_default());
    let after = Installed::parse(out.clone().into_bytes())?;
    let same = Installed {
        extras: before.extras.clone(),
        ..after
    };
    if same != before {
        return Err(format!(
            "`{key}` cannot be changed without changing the role"
        ));
    }
    Ok(out)
}

/// Returns the text from each unknown key to the next key.
fn extras(document: &Document) -> String {
    let root = document.root();
    let text = document.source().text();
    let keys: Vec<_> = root.entries().map(|(key, _)| key).collect();
    let ends = keys.iter().skip(1).map(|key| key.span().start);
    let ends = ends.chain([text.len()]);
    let mut out = String::new();
    for (key, end) in keys.iter().zip(ends) {
        let is_ours = key.text().is_some_and(|name| KEYS.contains(&name));
        if !is_ours {
            out.push_str(text.get(key.span().start..end).unwrap_or_default());
            if !out.ends_with('\n') {
                out.push('\n');
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_not_ours_is_set_changed_and_removed_in_place() {
        let role = "# mine\nname: N # the name\ninstructions: y\nother: 1\n";
        let block = "specialist:\n  adapter_id: \"a\"\n";
        let with = |text: &str, block| with_extra(text.as_bytes(), "specialist", block).unwrap();
        let set = with(role, Some(block));
        assert_eq!(set, format!("{role}{block}"));
        let changed = with(&format!("{set}last: 2\n"), Some("specialist: {}\n"));
        assert_eq!(changed, format!("{role}specialist: {{}}\nlast: 2\n"));
        assert_eq!(with(&set, None), role);
        assert_eq!(with(role.trim_end(), Some(block)), set);
        assert!(with_extra(b"- no role", "specialist", None).is_err());
    }

    fn source(text: &str) -> Option<(String, String, f64)> {
        let document = Document::parse(text.into()).unwrap();
        let source = Source::read(document.root())?;
        Some((source.slug, source.language, source.version))
    }

    #[test]
    fn a_source_is_whole_or_none() {
        let good = Some(("a".to_owned(), "en".to_owned(), 1.0));
        assert_eq!(source("{ slug: a, language: en, version: 1 }"), good);
        assert_eq!(
            source("{ slug: a, language: en, version: 1, more: 2 }"),
            good
        );
        assert_eq!(
            source(r#"'{"slug":"a","language":"en","version":1}'"#),
            good
        );
        for text in [
            "",
            "[]",
            "42",
            "'{'",
            "{}",
            "{ slug: 123, language: en, version: 1 }",
            "{ slug: a }",
            "{ slug: '', language: en, version: 1 }",
            "{ slug: a, language: '', version: 1 }",
            "{ slug: a, language: en, version: '1' }",
            r#""'{}'""#,
        ] {
            assert_eq!(source(text), None, "{text}");
        }
    }

    fn sample() -> Installed {
        let content = Content {
            name: "Name: \"x\"".to_owned(),
            emoji: Some("🏛️".to_owned()),
            description: None,
            instructions: "---\n# a\r\n\n  b: c\n".to_owned(),
            auto_start: false,
            launch_message: Some("go\nnow".to_owned()),
            model_config: Some(ModelConfig {
                driver: None,
                chat_model: Some("m".to_owned()),
            }),
        };
        Installed {
            source: Some(Source {
                slug: "a".to_owned(),
                language: "en".to_owned(),
                version: 3.0,
            }),
            hash: Some(content.hash()),
            enabled: false,
            content,
            extras: "specialist:   # kept\n  model: x\nother: [1,\n  2]\n".to_owned(),
        }
    }

    #[test]
    fn what_is_printed_reads_back() {
        let role = sample();
        let text = role.print().unwrap();
        let again = Installed::parse(text.into_bytes()).unwrap();
        assert_eq!(again, role);
        assert!(!again.is_edited());
    }

    #[test]
    fn an_edit_is_noticed() {
        let text = sample().print().unwrap();
        let edited = Installed::parse(text.replace("go\\nnow", "stop").into_bytes()).unwrap();
        assert!(edited.is_edited());
        let enabled =
            Installed::parse(text.replace("enabled: false", "enabled: true").into_bytes());
        assert!(!enabled.unwrap().is_edited());
        let unknown = Installed::parse(text.replace("hash: ", "hush: ").into_bytes());
        assert!(unknown.unwrap().is_edited());
    }

    #[test]
    fn a_role_that_a_person_wrote_needs_name_and_instructions() {
        let role = Installed::parse("name: a\ninstructions: b\n".into()).unwrap();
        assert_eq!((role.source, role.enabled), (None, true));
        let what = |text: &str| Installed::parse(text.into()).unwrap_err();
        assert_eq!(what("name: a\n"), "`instructions` is missing");
        assert_eq!(what("name: 3\ninstructions: b\n"), "`name` must be text");
        assert_eq!(
            what("{ name: a, instructions: b }"),
            "a role is written with one key a line"
        );
        assert_eq!(what("- a\n"), "a role is written with one key a line");
    }

    #[test]
    fn an_alias_to_what_is_gone_is_refused() {
        let text = "name: &n a\ninstructions: b\nspecialist: *n\n";
        let role = Installed::parse(text.into()).unwrap();
        role.print().unwrap_err();
    }

    #[test]
    fn a_file_name_is_safe_or_none() {
        let mut source = sample().source.unwrap();
        assert_eq!(source.file_name().as_deref(), Some("a.en.yaml"));
        source.slug = "../a".to_owned();
        assert_eq!(source.file_name(), None);
    }
}
