//! The only module that uses brush-parser: its tree becomes our [`ir`](super::ir).
//!
//! Words are parsed here as well, nested commands included, so that a later stage never parses by accident. A text
//! that the parser refuses is an error of this file; it never guesses a meaning.

mod glued;
mod mended;
mod redirect;
mod word;

use std::borrow::Cow;
use std::rc::Rc;

use brush_parser::ast;
use brush_parser::{ParserOptions, Token, parse_tokens, uncached_tokenize_str};

use super::bodies::Bodies;
use super::ir::{
    Argument, Arm, ArmEnd, Assigned, Assignment, Command, Connector, Item, Kind, Pipeline,
    Redirect, Script, Span, Test, Word,
};
use super::limit;

/// Reason that a text is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The text is too deep or too long.
    #[error("{0}")]
    Limit(&'static str),
    /// The parser does not accept the text.
    #[error("the shell parser does not understand it")]
    Syntax,
}

/// Parses a whole program.
///
/// # Errors
/// Fails if it is too deep or too long, or not shell text.
pub fn program(text: &str) -> Result<Script, Refused> {
    Ok(read(text)?.0)
}

/// Parses a whole program. Also returns the parsed text, in which here-documents may have no text, or `None` if there
/// is only one way to read it.
///
/// # Errors
/// Fails if it is too deep or too long, or not shell text.
pub fn read(text: &str) -> Result<(Script, Option<Cow<'_, str>>), Refused> {
    limit::check_length(text).map_err(Refused::Limit)?;
    if let Some(script) = super::plain::read(text) {
        return Ok((script, None));
    }
    parsed(text).map(|(script, text)| (script, Some(text)))
}

/// Parses a whole program with the parser, however plain it is.
pub(super) fn parsed(text: &str) -> Result<(Script, Cow<'_, str>), Refused> {
    let bodies = Rc::new(Bodies::default());
    let (lowering, parsed) = Lowering::whole(text, &bodies)?;
    let script = caught(|| lowering.checked(&parsed))?;
    match bodies.agree() {
        true => Ok((script, super::bodies::restored(parsed))),
        false => Err(Refused::Syntax),
    }
}

/// Parses a whole program, one complete command after the other: a long one need not be held at once.
///
/// # Errors
/// Fails if the text is too deep or too long, or not shell text; a line fails if its words are invalid.
pub fn lines(text: &str) -> Result<impl Iterator<Item = Result<Script, Refused>>, Refused> {
    limit::check_length(text).map_err(Refused::Limit)?;
    let bodies = Rc::new(Bodies::default());
    let (lowering, text) = Lowering::whole(text, &bodies)?;
    limit::check(&text).map_err(Refused::Limit)?;
    let tree = caught(|| lowering.parse(&text))?;
    let lists = tree.complete_commands.into_iter();
    let lines = lists.map(move |list| caught(|| Ok(lowering.list(list))));
    let found = std::iter::once_with(move || match bodies.agree() {
        true => Ok(Script::default()),
        false => Err(Refused::Syntax),
    });
    Ok(lines.chain(found))
}

/// Runs the parser, which is third-party code: if it panics, the text counts as not understood.
fn caught<T>(parse: impl FnOnce() -> Result<T, Refused>) -> Result<T, Refused> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(parse)).unwrap_or(Err(Refused::Syntax))
}

/// Parses one word that is a value, for example the right side of an `export`.
pub fn single_word(text: &str) -> Word {
    let bodies = Rc::new(Bodies::default());
    let word = caught(|| {
        let (lowering, parsed) = Lowering::whole(text, &bodies)?;
        limit::check(&parsed).map_err(Refused::Limit)?;
        Ok(lowering.word(&parsed, None))
    });
    word.ok().filter(|_| bodies.agree()).unwrap_or(Word {
        pieces: vec![super::ir::Piece::Opaque],
        span: None,
    })
}

/// Limit of the depth of substitutions.
const MAX_DEPTH: usize = 24;

struct Lowering {
    options: ParserOptions,
    /// Byte offset of every character, if the text is not plain ASCII.
    bytes: Option<Vec<usize>>,
    /// Length of the text in bytes.
    length: usize,
    /// Positions where words and redirections touch.
    places: glued::Places,
    depth: usize,
    /// Removed texts of here-documents.
    bodies: Rc<Bodies>,
}

impl Lowering {
    /// Prepares a text that is not part of another. Also returns the text to parse.
    fn whole<'t>(text: &'t str, bodies: &Rc<Bodies>) -> Result<(Self, Cow<'t, str>), Refused> {
        if !text.is_ascii() && super::bodies::has_marks(text) {
            return Err(Refused::Syntax);
        }
        let Some(marked) = bodies.take_out(text)? else {
            let lowering = Self::new(text, 0, Rc::clone(bodies));
            return Ok((lowering, Cow::Borrowed(text)));
        };
        let lowering = Self {
            options: ParserOptions::default(),
            bytes: Some(marked.bytes),
            length: text.len(),
            places: glued::Places::new(&marked.text),
            depth: 0,
            bodies: Rc::clone(bodies),
        };
        Ok((lowering, Cow::Owned(marked.text)))
    }

    fn new(text: &str, depth: usize, bodies: Rc<Bodies>) -> Self {
        let bytes = (!text.is_ascii()).then(|| {
            let starts = text.char_indices().map(|(byte, _)| byte);
            starts.chain([text.len()]).collect()
        });
        Self {
            options: ParserOptions::default(),
            bytes,
            length: text.len(),
            places: glued::Places::new(text),
            depth,
            bodies,
        }
    }

    fn checked(&self, text: &str) -> Result<Script, Refused> {
        limit::check(text).map_err(Refused::Limit)?;
        self.program(text)
    }

    fn parse(&self, text: &str) -> Result<ast::Program, Refused> {
        match self.tree(text) {
            Err(Refused::Syntax) => {
                super::retry::otherwise(text).map_or(Err(Refused::Syntax), |text| self.tree(&text))
            }
            tree => tree,
        }
    }

    fn tree(&self, text: &str) -> Result<ast::Program, Refused> {
        let tokens = uncached_tokenize_str(text, &self.options.tokenizer_options())
            .map_err(|_| Refused::Syntax)?;
        let tokens = mended::mended(tokens, text);
        let unbearable = tokens.iter().any(|token| match token {
            Token::Word(word, _) => !limit::is_bearable_assignment(word),
            Token::Operator(..) => false,
        });
        if unbearable {
            return Err(Refused::Limit(
                "subscripts are nested too deeply to be analysed",
            ));
        }
        parse_tokens(&tokens, &self.options).map_err(|_| Refused::Syntax)
    }

    fn program(&self, text: &str) -> Result<Script, Refused> {
        let tree = self.parse(text)?;
        let mut items = Vec::new();
        for list in tree.complete_commands {
            items.extend(self.list(list).items);
        }
        Ok(Script { items })
    }

    /// Parses the text of a substitution, whose positions mean nothing in the outer text.
    fn nested(&self, text: &str) -> Option<Script> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        let marked = self.bodies.take_out(text).ok()?;
        let text = marked.as_ref().map_or(text, |marked| &marked.text);
        let depth = self.depth.saturating_add(1);
        let mut inner = Self::new(text, depth, Rc::clone(&self.bodies));
        inner.bytes = None;
        let mut script = inner.checked(text).ok()?;
        forget_spans(&mut script);
        Some(script)
    }

    fn list(&self, list: ast::CompoundList) -> Script {
        let items = list.0.into_iter().map(|item| {
            let beside = matches!(item.1, ast::SeparatorOperator::Async);
            self.item(item.0, beside)
        });
        Script {
            items: items.collect(),
        }
    }

    fn item(&self, list: ast::AndOrList, beside: bool) -> Item {
        let mut pipelines = vec![(Connector::First, self.pipeline(list.first))];
        for next in list.additional {
            pipelines.push(match next {
                ast::AndOr::And(pipeline) => (Connector::And, self.pipeline(pipeline)),
                ast::AndOr::Or(pipeline) => (Connector::Or, self.pipeline(pipeline)),
            });
        }
        Item { pipelines, beside }
    }

    fn pipeline(&self, pipeline: ast::Pipeline) -> Pipeline {
        let commands = pipeline
            .seq
            .into_iter()
            .map(|command| self.command(command));
        Pipeline {
            negated: pipeline.bang,
            commands: commands.collect(),
        }
    }

    fn command(&self, command: ast::Command) -> Command {
        match command {
            ast::Command::Simple(simple) => self.simple(simple),
            ast::Command::Compound(compound, redirects) => Command {
                kind: self.compound(compound),
                redirects: self.redirects(redirects),
                span: None,
            },
            ast::Command::Function(function) => {
                let name = function.fname.value;
                let ast::FunctionBody(body, redirects) = function.body;
                let body = Command {
                    kind: self.compound(body),
                    redirects: self.redirects(redirects),
                    span: None,
                };
                plain(Kind::Function {
                    name,
                    body: Rc::new(body),
                })
            }
            ast::Command::ExtendedTest(test, redirects) => Command {
                kind: Kind::Test(self.test(test.expr)),
                redirects: self.redirects(redirects),
                span: None,
            },
        }
    }

    fn compound(&self, compound: ast::CompoundCommand) -> Kind {
        use ast::CompoundCommand as Compound;
        match compound {
            Compound::Arithmetic(command) => Kind::Arithmetic(self.inner(&command.expr.value)),
            Compound::ArithmeticForClause(command) => {
                let parts = [command.initializer, command.condition, command.updater];
                let expressions = parts.into_iter().flatten();
                Kind::ArithmeticFor {
                    expressions: expressions.map(|part| self.inner(&part.value)).collect(),
                    body: self.list(command.body.list),
                }
            }
            Compound::BraceGroup(group) => Kind::Group(self.list(group.list)),
            Compound::Subshell(subshell) => Kind::Subshell(self.list(subshell.list)),
            Compound::ForClause(command) => Kind::For {
                variable: command.variable_name,
                words: command
                    .values
                    .map(|words| words.iter().flat_map(|word| self.words(word)).collect()),
                body: self.list(command.body.list),
            },
            Compound::CaseClause(command) => Kind::Case {
                subject: self.located(&command.value),
                arms: command.cases.into_iter().map(|arm| self.arm(arm)).collect(),
            },
            Compound::IfClause(command) => self.branches(command),
            Compound::WhileClause(clause) => self.repeat(clause, false),
            Compound::UntilClause(clause) => self.repeat(clause, true),
            Compound::Coprocess(command) => Kind::Coprocess {
                name: command
                    .name
                    .map_or_else(|| "COPROC".to_owned(), |name| name.value),
                body: std::rc::Rc::new(self.command(*command.body)),
            },
        }
    }

    fn branches(&self, command: ast::IfClauseCommand) -> Kind {
        let mut arms = vec![(self.list(command.condition), self.list(command.then))];
        let mut otherwise = None;
        for clause in command.elses.into_iter().flatten() {
            let body = self.list(clause.body);
            match clause.condition {
                Some(condition) => arms.push((self.list(condition), body)),
                None => otherwise = Some(body),
            }
        }
        Kind::If { arms, otherwise }
    }

    fn repeat(&self, clause: ast::WhileOrUntilClauseCommand, until: bool) -> Kind {
        let ast::WhileOrUntilClauseCommand(condition, body, _) = clause;
        Kind::Loop {
            condition: self.list(condition),
            until,
            body: self.list(body.list),
        }
    }

    fn arm(&self, arm: ast::CaseItem) -> Arm {
        Arm {
            patterns: arm.patterns.iter().map(|word| self.located(word)).collect(),
            body: arm.cmd.map_or_else(Script::default, |list| self.list(list)),
            end: match arm.post_action {
                ast::CaseItemPostAction::ExitCase => ArmEnd::Leave,
                ast::CaseItemPostAction::UnconditionallyExecuteNextCaseItem => ArmEnd::Next,
                ast::CaseItemPostAction::ContinueEvaluatingCases => ArmEnd::Others,
            },
        }
    }

    fn test(&self, test: ast::ExtendedTestExpr) -> Test {
        use ast::ExtendedTestExpr as Expr;
        match test {
            Expr::And(left, right) => {
                Test::And(Box::new(self.test(*left)), Box::new(self.test(*right)))
            }
            Expr::Or(left, right) => {
                Test::Or(Box::new(self.test(*left)), Box::new(self.test(*right)))
            }
            Expr::Not(inner) => Test::Not(Box::new(self.test(*inner))),
            Expr::Parenthesized(inner) => self.test(*inner),
            Expr::UnaryTest(operator, word) => {
                Test::Unary(operator.to_string(), self.located(&word))
            }
            Expr::BinaryTest(operator, left, right) => Test::Binary(
                operator.to_string(),
                self.located(&left),
                self.located(&right),
            ),
        }
    }

    fn simple(&self, simple: ast::SimpleCommand) -> Command {
        let mut assignments = Vec::new();
        let mut words = Vec::new();
        let mut redirects = Vec::new();
        let mut span: Option<Span> = None;
        for item in simple.prefix.into_iter().flat_map(|prefix| prefix.0) {
            match item {
                ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) => {
                    assignments.push(self.assignment(assignment));
                }
                other => self.suffix(other, &mut words, &mut redirects, &mut span),
            }
        }
        if let Some(name) = simple.word_or_name {
            self.push_word(&name, &mut words, &mut span);
        }
        for item in simple.suffix.into_iter().flat_map(|suffix| suffix.0) {
            self.suffix(item, &mut words, &mut redirects, &mut span);
        }
        Command {
            kind: Kind::Simple { assignments, words },
            redirects,
            span,
        }
    }

    fn suffix(
        &self,
        item: ast::CommandPrefixOrSuffixItem,
        words: &mut Vec<Argument>,
        redirects: &mut Vec<Redirect>,
        span: &mut Option<Span>,
    ) {
        use ast::CommandPrefixOrSuffixItem as Part;
        match item {
            Part::IoRedirect(redirect) => redirects.extend(self.redirect(redirect)),
            Part::Word(word) if self.places.is_descriptor(&word) => {}
            Part::Word(word) => self.push_word(&word, words, span),
            Part::AssignmentWord(assignment, word) => {
                self.places.passed(&word);
                widen(span, self.span(word.loc.as_ref()));
                words.push(Argument::Assignment(self.assignment(assignment)));
            }
            Part::ProcessSubstitution(kind, subshell) => words.push(Argument::Process {
                writes: matches!(kind, ast::ProcessSubstitutionKind::Write),
                glued: self.places.is_glued(),
                script: self.list(subshell.list),
            }),
        }
    }

    fn push_word(&self, word: &ast::Word, words: &mut Vec<Argument>, span: &mut Option<Span>) {
        self.places.passed(word);
        widen(span, self.span(word.loc.as_ref()));
        words.extend(self.words(word).into_iter().map(Argument::Word));
    }

    fn assignment(&self, assignment: ast::Assignment) -> Assignment {
        let (name, index) = match assignment.name {
            ast::AssignmentName::VariableName(name) => (name, None),
            ast::AssignmentName::ArrayElementName(name, index) => (name, Some(self.inner(&index))),
        };
        let value = match assignment.value {
            ast::AssignmentValue::Scalar(word) => Assigned::Scalar(self.located(&word)),
            ast::AssignmentValue::Array(elements) => Assigned::Array(
                elements
                    .into_iter()
                    .map(|(key, word)| {
                        let key = key.map(|key| self.inner(&key.value));
                        (key, self.words(&word))
                    })
                    .collect(),
            ),
        };
        Assignment {
            name,
            index,
            append: assignment.append,
            value,
        }
    }

    fn span(&self, place: Option<&brush_parser::SourceSpan>) -> Option<Span> {
        if self.depth > 0 {
            return None;
        }
        let place = place?;
        // A text that was added for another reading is not in it.
        let byte = |index: usize| match &self.bytes {
            None => index.min(self.length),
            Some(bytes) => bytes.get(index).copied().unwrap_or(self.length),
        };
        Some((byte(place.start.index), byte(place.end.index)))
    }
}

fn plain(kind: Kind) -> Command {
    Command {
        kind,
        redirects: Vec::new(),
        span: None,
    }
}

fn widen(span: &mut Option<Span>, more: Option<Span>) {
    *span = match (*span, more) {
        (Some((start, end)), Some((from, to))) => Some((start.min(from), end.max(to))),
        (one, other) => one.or(other),
    };
}

/// Removes the spans of a nested text, which would point into the wrong one. Only commands carry positions that are
/// shown.
fn forget_spans(script: &mut Script) {
    for (_, pipeline) in script.items.iter_mut().flat_map(|item| &mut item.pipelines) {
        for command in &mut pipeline.commands {
            command.span = None;
        }
    }
}
