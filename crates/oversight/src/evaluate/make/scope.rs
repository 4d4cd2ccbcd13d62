//! Rules of make, what its automatic variables stand for, and what reading a file does besides.

/// What reading or expanding does besides.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// `$(shell …)` and `!=`.
    pub(super) shell: Vec<String>,
    /// `$(file >name,text)`.
    pub(super) writes: Vec<(String, String)>,
    /// `$(eval …)`.
    pub(super) evaluated: Vec<String>,
    pub(super) steps: usize,
}

pub(super) struct Rule {
    pub(super) target: String,
    pub(super) needs: Vec<String>,
    pub(super) lines: Vec<String>,
}

impl Rule {
    pub(super) fn fits(&self, target: &str) -> bool {
        self.target == target
            || (self.target.contains('%')
                && crate::evaluate::pattern::matches(&self.target.replace('%', "*"), target))
    }
}

/// What automatic variables stand for, and names that functions bind.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    pub(super) target: String,
    pub(super) needs: Vec<String>,
    stem: String,
    pub(super) way: usize,
    pub(super) bound: Vec<(String, String)>,
}

impl Scope {
    pub(super) fn of(rule: &Rule, target: &str) -> Self {
        let stem = rule.target.split_once('%').and_then(|(before, after)| {
            let rest = target.strip_prefix(before)?;
            rest.strip_suffix(after)
        });
        let stem = stem.unwrap_or_default().to_owned();
        let needs = rule.needs.iter().map(|need| need.replace('%', &stem));
        Self {
            target: target.to_owned(),
            needs: needs.collect(),
            stem,
            ..Self::default()
        }
    }

    pub(super) fn with_way(&self, way: usize) -> Self {
        Self {
            way,
            ..self.clone()
        }
    }

    pub(super) fn automatic(&self, name: &str) -> Option<String> {
        let (name, part) = match name {
            "@D" | "<D" | "*D" | "^D" => (name.trim_end_matches('D'), "D"),
            "@F" | "<F" | "*F" | "^F" => (name.trim_end_matches('F'), "F"),
            other => (other, ""),
        };
        let value = match name {
            "@" => self.target.clone(),
            "<" => self.needs.first().cloned().unwrap_or_default(),
            "^" | "+" | "?" | "|" => self.needs.join(" "),
            "*" => self.stem.clone(),
            "%" => String::new(),
            _ => return None,
        };
        Some(match part {
            "D" => crate::lookup::directory_of(&value).to_owned(),
            "F" => crate::lookup::base_name(&value).to_owned(),
            _ => value,
        })
    }
}
