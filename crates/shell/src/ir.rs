//! Intermediate representation of a shell program, which the evaluator walks.
//!
//! The parser's types end in [`super::lower`]; nothing here depends on them, so the parser can be exchanged. Nothing
//! here decides.

use std::rc::Rc;

/// Range of bytes in the user's command: start and end.
pub type Span = (usize, usize);

/// Commands that run one after the other.
#[derive(Debug, Default)]
pub struct Script {
    pub items: Vec<Item>,
}

/// Pipelines joined by `&&` and `||`.
#[derive(Debug)]
pub struct Item {
    /// Pipelines with their connectors; the first has [`Connector::First`].
    pub pipelines: Vec<(Connector, Pipeline)>,
    /// Set for `&`: it runs in the background, in a separate shell.
    pub beside: bool,
}

/// Condition on the pipeline before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connector {
    /// No condition.
    First,
    /// The pipeline before succeeded.
    And,
    /// The pipeline before failed.
    Or,
}

/// Commands, each of which reads the output of the one before.
#[derive(Debug)]
pub struct Pipeline {
    /// Set for `!`, which inverts the status.
    pub negated: bool,
    pub commands: Vec<Command>,
}

/// One command with its redirections.
#[derive(Debug)]
pub struct Command {
    pub kind: Kind,
    /// Redirections, from left to right.
    pub redirects: Vec<Redirect>,
    /// Range in the parsed text.
    pub span: Option<Span>,
}

#[derive(Debug)]
pub enum Kind {
    /// Assignments, then words.
    Simple {
        /// Assignments `X=1` before the program.
        assignments: Vec<Assignment>,
        /// Program and arguments.
        words: Vec<Argument>,
    },
    /// `{ …; }`.
    Group(Script),
    /// `( … )`.
    Subshell(Script),
    /// `if`, `elif`, `else`.
    If {
        /// Pairs of condition and body.
        arms: Vec<(Script, Script)>,
        /// Body of `else`.
        otherwise: Option<Script>,
    },
    /// `while` and `until`.
    Loop {
        /// Condition before every round.
        condition: Script,
        /// Set if it runs until the condition holds instead of while it does.
        until: bool,
        /// Repeated body.
        body: Script,
    },
    /// `for x in …` and `select`.
    For {
        /// Name of the variable.
        variable: String,
        /// Items of the loop; `None` for the positional parameters.
        words: Option<Vec<Word>>,
        /// Repeated body.
        body: Script,
    },
    /// `for ((…;…;…))`.
    ArithmeticFor {
        /// The three expressions, one after the other.
        expressions: Vec<Word>,
        /// Repeated body.
        body: Script,
    },
    /// `case`.
    Case {
        /// Word that is compared.
        subject: Word,
        /// Arms with their patterns.
        arms: Vec<Arm>,
    },
    /// A definition; nothing runs yet.
    Function {
        name: String,
        /// Command that runs on a call.
        body: Rc<Command>,
    },
    /// `[[ … ]]`: the words in it are expanded.
    Test(Test),
    /// `(( … ))`.
    Arithmetic(Word),
    /// `coproc NAME command`.
    Coprocess {
        /// Name; `COPROC` if absent.
        name: String,
        /// Command that runs in the background.
        body: std::rc::Rc<Command>,
    },
}

/// One arm of a `case`.
#[derive(Debug)]
pub struct Arm {
    /// Patterns, any of which may match.
    pub patterns: Vec<Word>,
    /// Body of the arm.
    pub body: Script,
    /// Continuation after the arm.
    pub end: ArmEnd,
}

/// Continuation after an arm of a `case`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArmEnd {
    /// `;;`: the end of the `case`.
    Leave,
    /// `;&`: the next arm runs, whatever its patterns are.
    Next,
    /// `;;&`: the next arm that matches runs.
    Others,
}

/// A condition in double brackets.
#[derive(Debug)]
pub enum Test {
    /// Both conditions.
    And(Box<Self>, Box<Self>),
    /// One of the conditions.
    Or(Box<Self>, Box<Self>),
    /// The inverse of the condition.
    Not(Box<Self>),
    /// Operator and word.
    Unary(String, Word),
    /// Operator and two words.
    Binary(String, Word, Word),
}

/// Argument of a command.
#[derive(Debug)]
pub enum Argument {
    /// A word.
    Word(Word),
    /// An argument that is an assignment, as in `declare X=1`.
    Assignment(Assignment),
    /// A process substitution, `<(…)` or `>(…)`.
    Process {
        /// Set for `>(…)`, which reads the written data.
        writes: bool,
        /// Commands that run.
        script: Script,
        /// Set if it is the end of the argument before it, as in `--file=<(…)`.
        glued: bool,
    },
}

/// One assignment.
#[derive(Debug)]
pub struct Assignment {
    /// Name of the variable.
    pub name: String,
    /// Index in `name[index]`.
    pub index: Option<Word>,
    /// Set for `+=`.
    pub append: bool,
    /// Assigned value.
    pub value: Assigned,
}

/// The right side of an assignment.
#[derive(Debug)]
pub enum Assigned {
    /// One text.
    Scalar(Word),
    /// Elements, some with a key.
    Array(Vec<(Option<Word>, Vec<Word>)>),
}

/// A redirection.
#[derive(Debug)]
pub struct Redirect {
    /// Descriptor in front, or the default of the operator.
    pub descriptor: i32,
    /// Target of the descriptor.
    pub target: Target,
}

/// Target of a descriptor.
#[derive(Debug)]
pub enum Target {
    /// A file to read.
    Read(Word),
    /// A file to write.
    Write(Word),
    /// A file to append to.
    Append(Word),
    /// Another descriptor.
    Duplicate(Word),
    /// Text in the command, with its expansions.
    Here(Word),
    /// Text of `<<<`, which adds a line end.
    HereString(Word),
    /// The output of a process.
    ReadProcess(Script),
    /// The input of a process.
    WriteProcess(Script),
}

/// A word before expansion.
#[derive(Clone, Debug, Default)]
pub struct Word {
    pub pieces: Vec<Piece>,
    /// Range in the parsed text.
    pub span: Option<Span>,
}

impl Word {
    /// Creates a word without expansions.
    pub fn literal(text: &str) -> Self {
        Self {
            pieces: vec![Piece::Quoted(text.to_owned())],
            span: None,
        }
    }
}

/// A part of a word.
#[derive(Clone, Debug)]
pub enum Piece {
    /// Unquoted text; `*`, `?` and `[` are active.
    Text(String),
    /// Literal text.
    Quoted(String),
    /// Expansions that are not split.
    Double(Vec<Self>),
    /// `~` and the text up to the slash.
    Tilde(String),
    /// `$X` and `${…}`.
    Parameter(Box<Parameter>),
    /// `$(…)` and backquotes.
    Command(Rc<Script>),
    /// `$((…))`; the text may contain further expansions.
    Arithmetic(Rc<Word>),
    /// A part that the parser could not parse.
    Opaque,
}

/// A parameter and its operation.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Subject of the expansion.
    pub subject: Subject,
    /// Set for `${!X}`.
    pub indirect: bool,
    pub operation: Operation,
}

/// Subject of a parameter expansion.
#[derive(Clone, Debug)]
pub enum Subject {
    /// `$1`.
    Positional(usize),
    /// `$@` and `$*`.
    All {
        /// Set for `$*`.
        joined: bool,
    },
    /// `$#`.
    Count,
    /// `$?`, `$$` and other numbers that are only known at run time.
    Number,
    /// `$0`.
    ShellName,
    /// `$X`.
    Named(String),
    /// `${a[i]}`.
    Element(String, Word),
    /// `${a[@]}` and `${a[*]}`.
    Elements {
        /// Name of the array.
        name: String,
        /// Set for `[*]`.
        joined: bool,
    },
}

/// Operation of `${…}`.
#[derive(Clone, Debug)]
pub enum Operation {
    /// The value itself.
    Value,
    /// `:-`, `-`, `:=`, `=`.
    Default {
        /// Set for the form with a colon, in which an empty value counts as unset.
        empty_counts: bool,
        /// Set for `=`, which assigns the default.
        assigns: bool,
        /// The default.
        word: Word,
    },
    /// `:+`, `+`.
    Alternative {
        /// Set for the form with a colon.
        empty_counts: bool,
        /// Word that is used if the parameter is set.
        word: Word,
    },
    /// `:?`, `?`: the word is a message, which is expanded if the parameter is unset.
    Required(Word),
    /// `#` in front.
    Length,
    /// `#`, `##`.
    RemovePrefix {
        /// Set for the doubled form.
        longest: bool,
        /// Pattern that is removed.
        pattern: Word,
    },
    /// `%`, `%%`.
    RemoveSuffix {
        /// Set for the doubled form.
        longest: bool,
        /// Pattern that is removed.
        pattern: Word,
    },
    /// `:offset:length`.
    Substring {
        /// Offset, an arithmetic expression.
        offset: Word,
        /// Length, an arithmetic expression.
        length: Option<Word>,
    },
    /// `/pattern/replacement`.
    Replace {
        /// Pattern that is replaced.
        pattern: Word,
        /// Replacement text.
        replacement: Word,
        /// Position of the matches.
        place: Place,
    },
    /// `^`, `^^`, `,`, `,,`, `@U`, `@L`, `@u`.
    Case {
        /// Set for conversion to upper case.
        upper: bool,
        /// Set if every character is converted, not only the first.
        all: bool,
        /// Characters that are converted, if given.
        pattern: Option<Word>,
    },
    /// `@P`: the value is expanded again like a prompt, substitutions included.
    Prompt,
    /// `@E`.
    Escapes,
    /// `@Q`: quoted for the shell.
    Quote,
    /// `@A`: the command that would set the variable.
    Declared,
    /// `@K`, `@k`: keys and values, quoted.
    Pairs,
    /// `@a`: not followed.
    Transform,
    /// `!prefix*` and `!array[@]`: names, not values.
    Names,
}

/// Position of a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At the start.
    Start,
    /// At the end.
    End,
    /// The first match.
    First,
    /// Every match.
    All,
}
