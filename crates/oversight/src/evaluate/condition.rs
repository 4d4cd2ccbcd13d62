//! What `[[ … ]]` tells, as far as it is known.

use crate::shell::ir::{Piece, Test, Word};
use crate::value::{HOLE, Value, has_hole};

use super::{Evaluator, pattern};

/// Where bash keeps what was found.
const MATCHED: &str = "BASH_REMATCH";

impl Evaluator<'_> {
    pub(super) fn test(&mut self, test: &Test) -> Option<bool> {
        match test {
            Test::And(left, right) => match (self.test(left), self.test(right)) {
                (Some(left), Some(right)) => Some(left && right),
                _ => None,
            },
            Test::Or(left, right) => match (self.test(left), self.test(right)) {
                (Some(left), Some(right)) => Some(left || right),
                _ => None,
            },
            Test::Not(inner) => self.test(inner).map(|holds| !holds),
            Test::Unary(operator, word) => {
                if operator == "-v" {
                    // The subscript of `-v a[…]` is evaluated as arithmetic.
                    self.arithmetic(word);
                }
                let value = self.value(word);
                let text = value.known()?;
                match operator.as_str() {
                    "-z" => Some(text.is_empty()),
                    "-n" => Some(!text.is_empty()),
                    _ => None,
                }
            }
            Test::Binary(operator, left, right) => {
                if operator.starts_with('-') && operator.len() == 3 {
                    let one = self.arithmetic(left);
                    let two = self.arithmetic(right);
                    return super::arithmetic::compare(operator, one?, two?);
                }
                if operator == "=~" {
                    self.matched_parts(left, right);
                    return None;
                }
                let left = self.value(left);
                let right = self.pattern(right);
                let (text, wanted) = (left.known()?, right.known()?);
                if self.state.any_case {
                    return None;
                }
                match operator.as_str() {
                    "==" | "=" => Some(pattern::matches(wanted, text)),
                    "!=" => Some(!pattern::matches(wanted, text)),
                    _ => None,
                }
            }
        }
    }

    /// `[[ x =~ y ]]`: the parts that were found.
    fn matched_parts(&mut self, left: &Word, right: &Word) {
        let left = self.value(left);
        let mut wanted = String::new();
        for piece in &right.pieces {
            let is_quoted = matches!(piece, Piece::Quoted(_) | Piece::Double(_));
            let word = Word {
                pieces: vec![piece.clone()],
                span: None,
            };
            match self.value(&word).known() {
                // `\w` means something to some.
                Some(text) if is_quoted && text.len() == 1 && text.is_ascii() && text >= "A" => {
                    wanted.push(HOLE);
                }
                Some(text) if is_quoted => wanted.push_str(&regex::escape(text)),
                Some(text) => wanted.push_str(text),
                None => wanted.push(HOLE),
            }
        }
        let text = left
            .known()
            .filter(|_| !has_hole(&wanted) && !self.state.any_case);
        let found = text.and_then(|text| super::filter::parts(&wanted, text));
        match found {
            Some(found) => {
                let parts = found.into_iter().enumerate();
                let parts = parts.map(|(at, part)| (at.to_string(), Value::text(part)));
                self.state.set_array(MATCHED, parts.collect());
            }
            // Nobody knows them.
            None if self.state.variables.contains_key(MATCHED) => {
                self.state.set(MATCHED, Value::unknown(), false);
            }
            None => {}
        }
    }
}
