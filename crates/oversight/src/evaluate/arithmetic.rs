//! Integer arithmetic where it is constant. What is not constant is `None`, and its substitutions still run.

use crate::shell::ir::Word;
use crate::shell::lower;
use crate::value::Value;

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

/// More names in one expression than this are not looked at.
const MAX_WORDS: usize = 4096;

impl Evaluator<'_> {
    /// The number that an expression stands for.
    pub(crate) fn arithmetic(&mut self, word: &Word) -> Option<i64> {
        let value = self.value(word);
        let Some(text) = value.known().map(str::to_owned) else {
            let text = value.first().to_owned();
            self.forget_assigned(&text);
            return None;
        };
        self.number(&text, MAX_NAMES)
    }

    /// Evaluates text; a variable in it is evaluated in turn, as bash does.
    pub(crate) fn number(&mut self, text: &str, names: usize) -> Option<i64> {
        let text = text.trim();
        // A zero in front makes it octal.
        if let Ok(number) = text.parse::<i64>()
            && (text.len() == 1 || !text.starts_with('0'))
        {
            return Some(number);
        }
        if text.is_empty() {
            return Some(0);
        }
        self.expanded_again(text, names);
        if text.contains("$(") || text.contains('`') {
            // A subscript inside a value that arithmetic reads again is expanded again.
            self.value(&lower::single_word(text));
            self.forget_assigned(text);
            return None;
        }
        let number = self.computed_number(text, names);
        if number.is_none() {
            self.forget_assigned(text);
        }
        number
    }

    fn computed_number(&mut self, text: &str, names: usize) -> Option<i64> {
        let tokens = tokens(text)?;
        let mut parser = Parser {
            evaluator: self,
            tokens: &tokens,
            at: 0,
            names,
            skipped: 0,
        };
        let number = parser.comma()?;
        (parser.at == tokens.len()).then_some(number)
    }

    /// What an expression that cannot be computed assigns may be any number afterwards.
    fn forget_assigned(&mut self, text: &str) {
        if !text.contains('=') && !text.contains("++") && !text.contains("--") {
            return;
        }
        let is_name = |character: char| character.is_alphanumeric() || character == '_';
        for name in text.split(|character| !is_name(character)).take(MAX_WORDS) {
            if name.starts_with(|first: char| first.is_alphabetic() || first == '_')
                && self.state.get(name).is_some()
            {
                self.state.set(name, Value::environment(), false);
            }
        }
    }
}

impl Evaluator<'_> {
    /// Every variable in an expression is evaluated in turn, whatever the operators are.
    fn expanded_again(&mut self, text: &str, names: usize) {
        let Some(names) = names.checked_sub(1) else {
            return;
        };
        let is_name = |character: char| character.is_alphanumeric() || character == '_';
        for name in text.split(|character| !is_name(character)).take(MAX_WORDS) {
            let Some(value) = self.state.get(name).filter(|_| !name.is_empty()) else {
                continue;
            };
            if !self.step() {
                return;
            }
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
    /// `a[i]`: the array, and its subscript as it is written.
    Element(String, String),
    Sign(&'static str),
}

/// Longer ones first.
const SIGNS: &[&str] = &[
    "<<=", ">>=", "**", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=",
    "*=", "/=", "%=", "&=", "^=", "|=", "+", "-", "*", "/", "%", "<", ">", "!", "~", "&", "|", "^",
    "?", ":", "(", ")", "=", ",",
];

/// Operators that assign, with what they compute.
const ASSIGNING: &[(&str, &str)] = &[
    ("=", ""),
    ("+=", "+"),
    ("-=", "-"),
    ("*=", "*"),
    ("/=", "/"),
    ("%=", "%"),
    ("<<=", "<<"),
    (">>=", ">>"),
    ("&=", "&"),
    ("^=", "^"),
    ("|=", "|"),
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
            let mut one = token(word)?;
            rest = after.trim_start();
            if let Token::Name(name) = &one
                && let Some(inner) = after.strip_prefix('[')
            {
                let end = closing_bracket(inner)?;
                one = Token::Element(name.clone(), inner.get(..end)?.to_owned());
                rest = inner.get(end.checked_add(1)?..)?.trim_start();
            }
            all.push(one);
            continue;
        }
        let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign))?;
        all.push(Token::Sign(sign));
        rest = rest.strip_prefix(*sign)?.trim_start();
    }
    rest.is_empty().then_some(all)
}

/// Where the subscript ends that was opened before.
fn closing_bracket(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    text.bytes().position(|byte| {
        match byte {
            b'[' => depth = depth.saturating_add(1),
            b']' if depth == 0 => return true,
            b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        false
    })
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
    /// Within a part that is not evaluated, where nothing is assigned.
    skipped: usize,
}

impl Parser<'_, '_, '_> {
    fn take(&mut self, wanted: &str) -> bool {
        let found = matches!(self.tokens.get(self.at), Some(Token::Sign(sign)) if *sign == wanted);
        if found {
            self.at = self.at.saturating_add(1);
        }
        found
    }

    fn comma(&mut self) -> Option<i64> {
        let mut last = self.assigned()?;
        while self.take(",") {
            last = self.assigned()?;
        }
        Some(last)
    }

    fn assigned(&mut self) -> Option<i64> {
        let place = self.tokens.get(self.at).cloned();
        let sign = match self.tokens.get(self.at.saturating_add(1)) {
            Some(Token::Sign(sign)) => ASSIGNING.iter().find(|(known, _)| known == sign),
            _ => None,
        };
        if let (Some(place @ (Token::Name(_) | Token::Element(..))), Some((_, sign))) =
            (place, sign)
        {
            self.at = self.at.saturating_add(2);
            let right = self.assigned()?;
            let number = if sign.is_empty() {
                right
            } else {
                let left = self.value_of(&place)?;
                apply(sign, left, right)?
            };
            self.store(&place, number)?;
            return Some(number);
        }
        self.ternary()
    }

    fn ternary(&mut self) -> Option<i64> {
        let condition = self.binary(0)?;
        if !self.take("?") {
            return Some(condition);
        }
        let yes = self.unless(condition == 0, Self::assigned)?;
        if !self.take(":") {
            return None;
        }
        let no = self.unless(condition != 0, Self::assigned)?;
        Some(if condition != 0 { yes } else { no })
    }

    /// Reads a part, and assigns in it unless it is skipped.
    fn unless(
        &mut self,
        skipped: bool,
        read: impl FnOnce(&mut Self) -> Option<i64>,
    ) -> Option<i64> {
        let before = self.skipped;
        self.skipped = before.saturating_add(usize::from(skipped));
        let number = read(self);
        self.skipped = before;
        number
    }

    fn store(&mut self, place: &Token, number: i64) -> Option<()> {
        if self.skipped > 0 {
            return Some(());
        }
        let value = Value::text(number.to_string());
        match place {
            Token::Name(name) => self.evaluator.state.set(name, value, false),
            Token::Element(name, index) => {
                let key = self.evaluator.key_of(name, index);
                self.evaluator.set_element(name, key, value);
            }
            _ => return None,
        }
        Some(())
    }

    fn value_of(&mut self, place: &Token) -> Option<i64> {
        let names = self.names.checked_sub(1)?;
        let value = match place {
            Token::Number(number) => return Some(*number),
            Token::Name(name) => self.evaluator.state.get(name)?,
            Token::Element(name, index) => {
                let key = self.evaluator.key_of(name, index);
                self.evaluator.element(name, &key)?
            }
            Token::Sign(_) => return None,
        };
        let text = value.known()?.to_owned();
        self.evaluator.number(&text, names)
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
            let skipped = (*sign == "&&" && left == 0) || (*sign == "||" && left != 0);
            let right = self.unless(skipped, |this| this.binary(level.saturating_add(1)))?;
            left = apply(sign, left, right)?;
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<i64> {
        for (sign, step) in [("++", 1_i64), ("--", -1)] {
            if self.take(sign) {
                let place = self.tokens.get(self.at)?.clone();
                self.at = self.at.saturating_add(1);
                let number = self.value_of(&place)?.checked_add(step)?;
                self.store(&place, number)?;
                return Some(number);
            }
        }
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
            let inner = self.comma()?;
            return self.take(")").then_some(inner);
        }
        let place = self.tokens.get(self.at)?.clone();
        self.at = self.at.saturating_add(1);
        let number = self.value_of(&place)?;
        for (sign, step) in [("++", 1_i64), ("--", -1)] {
            if self.take(sign) {
                self.store(&place, number.checked_add(step)?)?;
            }
        }
        Some(number)
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
