//! Words: braces first, then quotes, parameters and substitutions, in the order of the shell.

use std::rc::Rc;

use brush_parser::ast;
use brush_parser::word::{
    self, BraceExpressionMember, BraceExpressionOrText, ParameterExpr, ParameterTestType,
    ParameterTransformOp, SpecialParameter, SubstringMatchKind, TildeExpr, WordPiece,
    WordPieceWithSource,
};

use super::super::bodies::restored;
use super::super::ir::{Operation, Parameter, Piece, Place, Span, Subject, Word};
use super::super::{escape, limit};
use super::Lowering;

mod forms;

use forms::{grouped, single_quotes_as_text, toggles};

/// Limit of the words of one brace expansion.
const MAX_BRACES: usize = 512;

/// Returns `true` if a text has neither quotes nor expansions.
fn is_plain(text: &str) -> bool {
    let special = |byte: u8| {
        matches!(
            byte,
            b'\'' | b'"' | b'\\' | b'$' | b'`' | b'~' | b'{' | b'<' | b'>' | b'('
        )
    };
    !text.bytes().any(special)
}

impl Lowering {
    /// Lowers a word of the tree; brace expressions give several.
    pub(super) fn words(&self, word: &ast::Word) -> Vec<Word> {
        let span = self.span(word.loc.as_ref());
        let has_braces = word.value.contains('{') && word.value.contains('}');
        if !has_braces || !limit::is_bearable_word(&word.value) {
            return vec![self.word(&word.value, span)];
        }
        if !limit::is_bearable_braces(&word.value) {
            let pieces = vec![Piece::Opaque];
            return vec![Word { pieces, span }];
        }
        match word::parse_brace_expansions(&word.value, &self.options) {
            Ok(Some(parts)) => {
                // An empty member gives no word.
                let texts = texts(&parts);
                let texts = texts.iter().filter(|text| !text.is_empty());
                texts.map(|text| self.word(text, span)).collect()
            }
            _ => vec![self.word(&word.value, span)],
        }
    }

    /// Lowers a word of the tree at a position where braces are literal.
    pub(super) fn located(&self, word: &ast::Word) -> Word {
        self.word(&word.value, self.span(word.loc.as_ref()))
    }

    /// Lowers text inside an expansion, whose position is unknown.
    pub(super) fn inner(&self, text: &str) -> Word {
        self.word(text, None)
    }

    pub(super) fn word(&self, text: &str, span: Option<Span>) -> Word {
        if is_plain(text) {
            let pieces = vec![Piece::Text(restored(text.into()).into_owned())];
            return Word { pieces, span };
        }
        let parsed = limit::is_bearable_word(text).then(|| word::parse(text, &self.options));
        let mut pieces = match parsed {
            Some(Ok(pieces)) => self.pieces(pieces, false),
            _ => vec![Piece::Opaque],
        };
        if toggles(text) {
            pieces.push(Piece::Opaque);
        }
        if let Some(inner) = grouped(text) {
            pieces.push(
                self.nested(&inner)
                    .map_or(Piece::Opaque, |script| Piece::Command(Rc::new(script))),
            );
        }
        Word { pieces, span }
    }

    /// Lowers the body of a here-document with an unquoted delimiter.
    pub(super) fn here_document(&self, text: &str) -> Word {
        let bearable = limit::check_expanded(text).is_ok() && limit::is_bearable_word(text);
        let parsed = bearable.then(|| word::parse_heredoc(text, &self.options));
        let pieces = match parsed {
            Some(Ok(pieces)) => vec![Piece::Double(self.pieces(pieces, true))],
            _ => vec![Piece::Opaque],
        };
        Word { pieces, span: None }
    }

    fn pieces(&self, pieces: Vec<WordPieceWithSource>, quoted: bool) -> Vec<Piece> {
        let each = pieces
            .into_iter()
            .map(|piece| self.piece(piece.piece, quoted));
        each.collect()
    }

    fn piece(&self, piece: WordPiece, quoted: bool) -> Piece {
        let piece = self.read_piece(piece, quoted);
        match piece {
            Piece::Text(text) => Piece::Text(restored(text.into()).into_owned()),
            Piece::Quoted(text) => Piece::Quoted(restored(text.into()).into_owned()),
            piece => piece,
        }
    }

    fn read_piece(&self, piece: WordPiece, quoted: bool) -> Piece {
        match piece {
            // A form of `${…}` that the parser does not support.
            WordPiece::Text(text) if text.contains("${") => Piece::Opaque,
            WordPiece::Text(text) if quoted => Piece::Quoted(text.replace("\\\n", "")),
            WordPiece::Text(text) => Piece::Text(text),
            WordPiece::SingleQuotedText(text) => Piece::Quoted(text),
            WordPiece::AnsiCQuotedText(text) => Piece::Quoted(escape::ansi_c(&text)),
            WordPiece::DoubleQuotedSequence(pieces)
            | WordPiece::GettextDoubleQuotedSequence(pieces) => {
                Piece::Double(self.pieces(pieces, true))
            }
            WordPiece::TildeExpansion(tilde) => Piece::Tilde(tilde_name(&tilde)),
            WordPiece::ParameterExpansion(expression) => self.parameter(expression, quoted),
            WordPiece::CommandSubstitution(text)
            | WordPiece::BackquotedCommandSubstitution(text) => match self.nested(&text) {
                Some(script) => Piece::Command(Rc::new(script)),
                None => Piece::Opaque,
            },
            WordPiece::EscapeSequence(text) => {
                let text = text.strip_prefix('\\').unwrap_or(&text);
                Piece::Quoted(text.strip_prefix('\n').unwrap_or(text).to_owned())
            }
            WordPiece::ArithmeticExpression(expression) => {
                Piece::Arithmetic(Rc::new(self.inner(&expression.value)))
            }
        }
    }

    fn parameter(&self, expression: ParameterExpr, quoted: bool) -> Piece {
        let (parameter, indirect, operation) = match self.operation(expression, quoted) {
            Ok(parts) => parts,
            Err(piece) => return piece,
        };
        Piece::Parameter(Box::new(Parameter {
            subject: self.subject(parameter),
            indirect,
            operation,
        }))
    }

    fn operation(
        &self,
        expression: ParameterExpr,
        quoted: bool,
    ) -> Result<(word::Parameter, bool, Operation), Piece> {
        use ParameterExpr as Expr;
        let part = |text: Option<String>| {
            let text = text.unwrap_or_default();
            if quoted && text.contains('\'') {
                return self.inner(&single_quotes_as_text(&text));
            }
            self.inner(&text)
        };
        let colon = |test: &ParameterTestType| matches!(test, ParameterTestType::UnsetOrNull);
        Ok(match expression {
            Expr::Parameter {
                parameter,
                indirect,
            } => (parameter, indirect, Operation::Value),
            Expr::IndicateErrorIfNullOrUnset {
                parameter,
                indirect,
                error_message,
                ..
            } => (
                parameter,
                indirect,
                Operation::Required(part(error_message)),
            ),
            Expr::UseDefaultValues {
                parameter,
                indirect,
                test_type,
                default_value,
            } => {
                let word = part(default_value);
                let empty_counts = colon(&test_type);
                (
                    parameter,
                    indirect,
                    Operation::Default {
                        empty_counts,
                        assigns: false,
                        word,
                    },
                )
            }
            Expr::AssignDefaultValues {
                parameter,
                indirect,
                test_type,
                default_value,
            } => {
                let word = part(default_value);
                let empty_counts = colon(&test_type);
                (
                    parameter,
                    indirect,
                    Operation::Default {
                        empty_counts,
                        assigns: true,
                        word,
                    },
                )
            }
            Expr::UseAlternativeValue {
                parameter,
                indirect,
                test_type,
                alternative_value,
            } => {
                let word = part(alternative_value);
                let empty_counts = colon(&test_type);
                (
                    parameter,
                    indirect,
                    Operation::Alternative { empty_counts, word },
                )
            }
            Expr::ParameterLength {
                parameter,
                indirect,
            } => (parameter, indirect, Operation::Length),
            other => return self.cutting_operation(other),
        })
    }

    /// Lowers operations that remove or replace a part.
    fn cutting_operation(
        &self,
        expression: ParameterExpr,
    ) -> Result<(word::Parameter, bool, Operation), Piece> {
        use ParameterExpr as Expr;
        let part = |text: Option<String>| self.inner(text.as_deref().unwrap_or_default());
        let suffix = |longest, text| Operation::RemoveSuffix {
            longest,
            pattern: part(text),
        };
        let prefix = |longest, text| Operation::RemovePrefix {
            longest,
            pattern: part(text),
        };
        Ok(match expression {
            Expr::RemoveSmallestSuffixPattern {
                parameter,
                indirect,
                pattern,
            } => (parameter, indirect, suffix(false, pattern)),
            Expr::RemoveLargestSuffixPattern {
                parameter,
                indirect,
                pattern,
            } => (parameter, indirect, suffix(true, pattern)),
            Expr::RemoveSmallestPrefixPattern {
                parameter,
                indirect,
                pattern,
            } => (parameter, indirect, prefix(false, pattern)),
            Expr::RemoveLargestPrefixPattern {
                parameter,
                indirect,
                pattern,
            } => (parameter, indirect, prefix(true, pattern)),
            Expr::Substring {
                parameter,
                indirect,
                offset,
                length,
            } => {
                let offset = self.inner(&offset.value);
                let length = length.map(|length| self.inner(&length.value));
                (parameter, indirect, Operation::Substring { offset, length })
            }
            Expr::ReplaceSubstring {
                parameter,
                indirect,
                pattern,
                replacement,
                match_kind,
            } => {
                let pattern = self.inner(&pattern);
                let replacement = part(replacement);
                let place = place(&match_kind);
                (
                    parameter,
                    indirect,
                    Operation::Replace {
                        pattern,
                        replacement,
                        place,
                    },
                )
            }
            other => return self.rare_operation(other),
        })
    }

    fn rare_operation(
        &self,
        expression: ParameterExpr,
    ) -> Result<(word::Parameter, bool, Operation), Piece> {
        use ParameterExpr as Expr;
        let case = |upper, all| Operation::Case {
            upper,
            all,
            pattern: None,
        };
        let matched = |upper, all, pattern: Option<String>| Operation::Case {
            upper,
            all,
            pattern: pattern.map(|pattern| self.inner(&pattern)),
        };
        Ok(match expression {
            Expr::UppercaseFirstChar {
                parameter,
                indirect,
                pattern,
            } => (parameter, indirect, matched(true, false, pattern)),
            Expr::UppercasePattern {
                parameter,
                indirect,
                pattern,
            } => (parameter, indirect, matched(true, true, pattern)),
            Expr::LowercaseFirstChar {
                parameter,
                indirect,
                pattern,
            } => (parameter, indirect, matched(false, false, pattern)),
            Expr::LowercasePattern {
                parameter,
                indirect,
                pattern,
            } => (parameter, indirect, matched(false, true, pattern)),
            Expr::Transform {
                parameter,
                indirect,
                op,
            } => {
                let operation = match op {
                    ParameterTransformOp::PromptExpand => Operation::Prompt,
                    ParameterTransformOp::ExpandEscapeSequences => Operation::Escapes,
                    ParameterTransformOp::ToLowerCase => case(false, true),
                    ParameterTransformOp::ToUpperCase => case(true, true),
                    ParameterTransformOp::CapitalizeInitial => case(true, false),
                    ParameterTransformOp::Quoted => Operation::Quote,
                    ParameterTransformOp::ToAssignmentLogic => Operation::Declared,
                    ParameterTransformOp::PossiblyQuoteWithArraysExpanded { .. } => {
                        Operation::Pairs
                    }
                    ParameterTransformOp::ToAttributeFlags => Operation::Transform,
                };
                (parameter, indirect, operation)
            }
            Expr::VariableNames { prefix, .. } => {
                (word::Parameter::Named(prefix), false, Operation::Names)
            }
            Expr::MemberKeys { variable_name, .. } => (
                word::Parameter::Named(variable_name),
                true,
                Operation::Names,
            ),
            _ => return Err(Piece::Opaque),
        })
    }

    fn subject(&self, parameter: word::Parameter) -> Subject {
        use word::Parameter as Of;
        match parameter {
            Of::Positional(0) | Of::Special(SpecialParameter::ShellName) => Subject::ShellName,
            Of::Positional(number) => {
                Subject::Positional(usize::try_from(number).unwrap_or(usize::MAX))
            }
            Of::Special(SpecialParameter::AllPositionalParameters { concatenate }) => {
                Subject::All {
                    joined: concatenate,
                }
            }
            Of::Special(SpecialParameter::PositionalParameterCount) => Subject::Count,
            Of::Special(_) => Subject::Number,
            Of::Named(name) => Subject::Named(name),
            Of::NamedWithIndex { name, index } => Subject::Element(name, self.inner(&index)),
            Of::NamedWithAllIndices { name, concatenate } => Subject::Elements {
                name,
                joined: concatenate,
            },
        }
    }
}

fn place(kind: &SubstringMatchKind) -> Place {
    match kind {
        SubstringMatchKind::Prefix => Place::Start,
        SubstringMatchKind::Suffix => Place::End,
        SubstringMatchKind::FirstOccurrence => Place::First,
        SubstringMatchKind::Anywhere => Place::All,
    }
}

fn tilde_name(tilde: &TildeExpr) -> String {
    match tilde {
        TildeExpr::Home => String::new(),
        TildeExpr::WorkingDir => "+".to_owned(),
        TildeExpr::UserHome(name) => name.clone(),
        _ => "-".to_owned(),
    }
}

/// Returns all texts of a brace expression, in order.
fn texts(parts: &[BraceExpressionOrText]) -> Vec<String> {
    let mut all = vec![String::new()];
    for part in parts {
        let choices = match part {
            BraceExpressionOrText::Text(text) => vec![text.clone()],
            BraceExpressionOrText::Expr(members) => members.iter().flat_map(member).collect(),
        };
        let mut next = Vec::new();
        for head in &all {
            for choice in &choices {
                if next.len() >= MAX_BRACES {
                    break;
                }
                next.push(format!("{head}{choice}"));
            }
        }
        all = next;
    }
    all
}

fn member(member: &BraceExpressionMember) -> Vec<String> {
    match member {
        BraceExpressionMember::Child(parts) => texts(parts),
        BraceExpressionMember::NumberSequence {
            start,
            end,
            increment,
        } => sequence(*start, *end, *increment)
            .map(|number| number.to_string())
            .collect(),
        BraceExpressionMember::CharSequence {
            start,
            end,
            increment,
        } => sequence(
            i64::from(u32::from(*start)),
            i64::from(u32::from(*end)),
            *increment,
        )
        .filter_map(|code| char::from_u32(u32::try_from(code).ok()?))
        .map(String::from)
        .collect(),
    }
}

fn sequence(start: i64, end: i64, increment: i64) -> impl Iterator<Item = i64> {
    let size = increment.unsigned_abs().max(1);
    let step = i64::try_from(size).unwrap_or(i64::MAX);
    let step = if end < start {
        step.saturating_neg()
    } else {
        step
    };
    std::iter::successors(Some(start), move |number| number.checked_add(step))
        .take_while(move |number| {
            if step < 0 {
                *number >= end
            } else {
                *number <= end
            }
        })
        .take(MAX_BRACES)
}
