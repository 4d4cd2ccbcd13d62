//! Fields while they are built: what the pieces of a word add to them, and how text is split.

use crate::value::Value;

/// One field while it is built: its text, and the same text as a pattern.
#[derive(Clone, Debug, Default)]
pub(super) struct Field {
    pub(super) text: String,
    pub(super) pattern: String,
}

/// One way to read a word.
#[derive(Clone, Debug, Default)]
pub(super) struct Way {
    pub(super) done: Vec<Field>,
    pub(super) open: Option<Field>,
}

/// What a piece adds to a word.
pub(super) enum Part {
    /// Text that stays together; active when its stars are.
    Text { text: String, active: bool },
    /// Text that is split.
    Split(String),
    /// Several fields, as of `"$@"`.
    Many(Vec<String>),
}

impl Part {
    pub(super) fn into_text(self) -> Option<String> {
        match self {
            Self::Text { text, .. } => Some(text),
            Self::Split(_) | Self::Many(_) => None,
        }
    }
}

impl Way {
    pub(super) fn add(&mut self, part: &Part, separators: &str) {
        match part {
            Part::Text { text, active } => {
                let field = self.open.get_or_insert_default();
                field.text.push_str(text);
                escape_into(&mut field.pattern, text, *active);
            }
            Part::Split(text) => self.split(text, separators),
            Part::Many(texts) => {
                for (index, text) in texts.iter().enumerate() {
                    if index > 0 {
                        self.done.extend(self.open.take());
                    }
                    let field = self.open.get_or_insert_default();
                    field.text.push_str(text);
                    escape_into(&mut field.pattern, text, false);
                }
            }
        }
    }

    pub(super) fn split(&mut self, text: &str, separators: &str) {
        if separators.is_empty() {
            if !text.is_empty() {
                let field = self.open.get_or_insert_default();
                field.text.push_str(text);
                escape_into(&mut field.pattern, text, true);
            }
            return;
        }
        let mut pieces = text
            .split(|character| separators.contains(character))
            .peekable();
        while let Some(piece) = pieces.next() {
            if !piece.is_empty() {
                let field = self.open.get_or_insert_default();
                field.text.push_str(piece);
                escape_into(&mut field.pattern, piece, true);
            }
            if pieces.peek().is_some() {
                self.done.extend(self.open.take());
            }
        }
    }

    pub(super) fn finish(mut self) -> Vec<Field> {
        self.done.extend(self.open.take());
        self.done
    }
}

pub(super) fn escape_into(pattern: &mut String, text: &str, active: bool) {
    for character in text.chars() {
        if !active && matches!(character, '*' | '?' | '[' | '\\' | ']' | '(') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
}

pub(super) fn separated(fields: &[String]) -> Vec<Part> {
    let mut parts = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            parts.push(Part::Split(" ".to_owned()));
        }
        parts.push(Part::Split(field.clone()));
    }
    parts
}

pub(super) fn copy(parts: &[Part]) -> Vec<Part> {
    parts
        .iter()
        .map(|part| match part {
            Part::Text { text, active } => Part::Text {
                text: text.clone(),
                active: *active,
            },
            Part::Split(text) => Part::Split(text.clone()),
            Part::Many(texts) => Part::Many(texts.clone()),
        })
        .collect()
}

/// Quoted text after quoted text is one.
pub(super) fn add_text(parts: &mut Vec<Part>, more: String) {
    match parts.last_mut() {
        Some(Part::Text {
            text,
            active: false,
        }) => text.push_str(&more),
        _ => parts.push(Part::Text {
            text: more,
            active: false,
        }),
    }
}

pub(super) fn split_all(value: &Value, together: bool) -> Vec<Vec<Part>> {
    let texts = value.possibilities().iter();
    texts
        .map(|text| {
            vec![if together {
                Part::Text {
                    text: text.clone(),
                    active: true,
                }
            } else {
                Part::Split(text.clone())
            }]
        })
        .collect()
}
