//! Variables as the shell writes them down to be read again, and what it calls the functions that run.

use crate::value::Value;

use super::Evaluator;
use super::state::{Letters, Variable};
use super::stored::Stored;

impl Evaluator<'_> {
    /// `declare -p x`, `${x@A}`: the command that sets a variable again.
    pub(super) fn declared(&self, name: &str) -> Option<Value> {
        let variable = self.state.variables.get(name)?;
        if variable.perhaps {
            return None;
        }
        let head = Value::text(format!("declare -{} {name}=", attributes(variable)));
        Some(match &variable.stored {
            Stored::Scalar(value) => head.then(&value.map(|text| quoted(text))),
            Stored::Array(elements) => {
                let whole = elements.iter().fold(Value::text("("), |all, (key, value)| {
                    let key = Value::text(format!("[{}]=", quoted(key)));
                    let pair = key.then(&value.map(|text| quoted(text)));
                    all.then(&pair).then(&Value::text(" "))
                });
                head.then(&whole).then(&Value::text(")"))
            }
            Stored::Either(_) => return None,
        })
    }

    /// `${a[@]@K}`: every key and its value.
    pub(super) fn pairs(&self, name: &str) -> Option<Value> {
        let elements = self.state.elements(name)?;
        Some(elements.iter().fold(Value::empty(), |all, (key, value)| {
            let pair =
                Value::text(super::run::quote(key) + " ").then(&value.map(|one| quoted(one)));
            all.then(&pair).then(&Value::text(" "))
        }))
    }

    /// `FUNCNAME`: the function that runs, and those that called it.
    pub(super) fn function_name(&self, index: &str) -> Option<Value> {
        let names = self.chain.iter().rev();
        let mut names = names.filter_map(|link| link.strip_suffix("()"));
        names.nth(index.parse().ok()?).map(Value::text)
    }
}

fn attributes(variable: &Variable) -> String {
    let array = matches!(variable.stored, Stored::Array(_));
    let letters = [
        (array && !variable.associative, 'a'),
        (array && variable.associative, 'A'),
        (variable.integer, 'i'),
        (variable.letters == Some(Letters::Lower), 'l'),
        (variable.letters == Some(Letters::Upper), 'u'),
        (variable.reference, 'n'),
        (variable.constant, 'r'),
        (variable.exported, 'x'),
    ];
    let set = letters.iter().filter(|(set, _)| *set);
    let text: String = set.map(|(_, letter)| letter).collect();
    if text.is_empty() {
        "-".to_owned()
    } else {
        text
    }
}

/// Text in double quotes.
fn quoted(text: &str) -> String {
    let mut whole = String::from('"');
    for one in text.chars() {
        if matches!(one, '"' | '\\' | '$' | '`') {
            whole.push('\\');
        }
        whole.push(one);
    }
    whole.push('"');
    whole
}
