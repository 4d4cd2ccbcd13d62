//! Integer arithmetic where it is constant. What is not constant is `None`, and its substitutions still run.

use crate::shell::ir::Word;
use crate::shell::lower;

use super::Evaluator;

/// Compares as `-eq` and its kin do.
pub(crate) fn compare(operator: &str, left: i64, right: i64) -> Option<bool> {
    Some(match operator {
        "-eq" => left == right,
        "-ne" => left != right,
        "-lt" => left < right,
        "-le" => left <= right,
        "-gt" => left > right,
        "-ge" => left >= right,
        _ => return None,
    })
}

/// Names that lead to names are not followed further than this.
const MAX_NAMES: usize = 8;

impl Evaluator<'_> {
    /// The number that an expression stands for.
    pub(crate) fn arithmetic(&mut self, word: &Word) -> Option<i64> {
        let value = self.value(word);
        let text = value.known()?.to_owned();
        self.number(&text, MAX_NAMES)
    }

    /// Evaluates text; a variable in it is evaluated in turn, as bash does.
    pub(crate) fn number(&mut self, text: &str, names: usize) -> Option<i64> {
        let text = text.trim();
        if let Ok(number) = text.parse::<i64>() {
            return Some(number);
        }
        if text.is_empty() {
            return Some(0);
        }
        self.expanded_again(text, names);
        if text.contains("$(") || text.contains('`') {
            // A subscript inside a value that arithmetic reads again is expanded again.
            self.value(&lower::single_word(text));
            return None;
        }
        let tokens = tokens(text)?;
        let mut parser = Parser {
            evaluator: self,
            tokens: &tokens,
            at: 0,
            names,
        };
        let number = parser.ternary()?;
        (parser.at == tokens.len()).then_some(number)
    }
}

impl Evaluator<'_> {
    /// Every variable in an expression is evaluated in turn, whatever the operators are.
    fn expanded_again(&mut self, text: &str, names: usize) {
        let Some(names) = names.checked_sub(1) else {
            return;
        };
        let is_name = |character: char| character.is_alphanumeric() || character == '_';
        for name in text.split(|character| !is_name(character)).take(64) {
            let Some(value) = self.state.get(name).filter(|_| !name.is_empty()) else {
                continue;
            };
            let value = value.first().to_owned();
            if value.contains("$(") || value.contains('`') {
                self.value(&lower::single_word(&value));
            } else if value != text
                && value.starts_with(|first: char| first.is_alphabetic() || first == '_')
            {
                self.expanded_again(&value, names);
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(i64),
    Name(String),
    Sign(&'static str),
}

const SIGNS: &[&str] = &[
    "**", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "%", "<", ">", "!",
    "~", "&", "|", "^", "?", ":", "(", ")",
];

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut rest = text.trim_start();
    let mut all = Vec::new();
    while !rest.is_empty() && all.len() < 512 {
        let is_word =
            |character: char| character.is_alphanumeric() || matches!(character, '_' | '#');
        let length = rest
            .find(|character| !is_word(character))
            .unwrap_or(rest.len());
        if length > 0 {
            let (word, after) = rest.split_at_checked(length)?;
            all.push(token(word)?);
            rest = after.trim_start();
            continue;
        }
        let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign))?;
        all.push(Token::Sign(sign));
        rest = rest.strip_prefix(*sign)?.trim_start();
    }
    rest.is_empty().then_some(all)
}

fn token(word: &str) -> Option<Token> {
    if !word.starts_with(|first: char| first.is_ascii_digit()) {
        return Some(Token::Name(word.to_owned()));
    }
    let number = if let Some((base, digits)) = word.split_once('#') {
        i64::from_str_radix(
            digits,
            base.parse().ok().filter(|base| (2..=36).contains(base))?,
        )
    } else if let Some(digits) = word.strip_prefix("0x") {
        i64::from_str_radix(digits, 16)
    } else if word.len() > 1 && word.starts_with('0') {
        i64::from_str_radix(word, 8)
    } else {
        word.parse()
    };
    number.ok().map(Token::Number)
}

struct Parser<'p, 'e, 'a> {
    evaluator: &'e mut Evaluator<'a>,
    tokens: &'p [Token],
    at: usize,
    names: usize,
}

impl Parser<'_, '_, '_> {
    fn take(&mut self, wanted: &str) -> bool {
        let found = matches!(self.tokens.get(self.at), Some(Token::Sign(sign)) if *sign == wanted);
        if found {
            self.at = self.at.saturating_add(1);
        }
        found
    }

    fn ternary(&mut self) -> Option<i64> {
        let condition = self.binary(0)?;
        if !self.take("?") {
            return Some(condition);
        }
        let yes = self.ternary()?;
        if !self.take(":") {
            return None;
        }
        let no = self.ternary()?;
        Some(if condition != 0 { yes } else { no })
    }

    fn binary(&mut self, level: usize) -> Option<i64> {
        const LEVELS: &[&[&str]] = &[
            &["||"],
            &["&&"],
            &["|"],
            &["^"],
            &["&"],
            &["==", "!="],
            &["<=", ">=", "<", ">"],
            &["<<", ">>"],
            &["+", "-"],
            &["*", "/", "%"],
            &["**"],
        ];
        let Some(signs) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.binary(level.saturating_add(1))?;
        while let Some(sign) = signs.iter().find(|sign| self.take(sign)) {
            let right = self.binary(level.saturating_add(1))?;
            left = apply(sign, left, right)?;
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<i64> {
        if self.take("-") {
            return self.unary()?.checked_neg();
        }
        if self.take("+") {
            return self.unary();
        }
        if self.take("!") {
            return Some(i64::from(self.unary()? == 0));
        }
        if self.take("~") {
            return Some(!self.unary()?);
        }
        if self.take("(") {
            let inner = self.ternary()?;
            return self.take(")").then_some(inner);
        }
        let token = self.tokens.get(self.at)?.clone();
        self.at = self.at.saturating_add(1);
        match token {
            Token::Number(number) => Some(number),
            Token::Name(name) => {
                let names = self.names.checked_sub(1)?;
                let value = self.evaluator.state.get(&name)?;
                let text = value.known()?.to_owned();
                self.evaluator.number(&text, names)
            }
            Token::Sign(_) => None,
        }
    }
}

fn apply(sign: &str, left: i64, right: i64) -> Option<i64> {
    Some(match sign {
        "+" => left.checked_add(right)?,
        "-" => left.checked_sub(right)?,
        "*" => left.checked_mul(right)?,
        "/" => left.checked_div(right)?,
        "%" => left.checked_rem(right)?,
        "**" => left.checked_pow(u32::try_from(right).ok()?)?,
        "<<" => left.checked_shl(u32::try_from(right).ok()?)?,
        ">>" => left.checked_shr(u32::try_from(right).ok()?)?,
        "<" => i64::from(left < right),
        ">" => i64::from(left > right),
        "<=" => i64::from(left <= right),
        ">=" => i64::from(left >= right),
        "==" => i64::from(left == right),
        "!=" => i64::from(left != right),
        "&&" => i64::from(left != 0 && right != 0),
        "||" => i64::from(left != 0 || right != 0),
        "&" => left & right,
        "|" => left | right,
        "^" => left ^ right,
        _ => return None,
    })
}
