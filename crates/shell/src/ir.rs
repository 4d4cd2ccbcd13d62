//! Our own small picture of a shell program: what the evaluator walks.
//!
//! The parser's types end in [`super::lower`]; nothing here knows them, so the parser can be exchanged. Nothing here
//! decides.

use std::rc::Rc;

/// Bytes of the command that a person typed: start and end.
pub type Span = (usize, usize);

/// Commands that run one after the other.
#[derive(Debug, Default)]
pub struct Script {
    /// In order.
    pub items: Vec<Item>,
}

/// Pipelines joined by `&&` and `||`.
#[derive(Debug)]
pub struct Item {
    /// The first has [`Connector::First`].
    pub pipelines: Vec<(Connector, Pipeline)>,
    /// `&`: it runs beside the rest, in a shell of its own.
    pub beside: bool,
}

/// What has to be true of the pipeline before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connector {
    /// Nothing.
    First,
    /// It succeeded.
    And,
    /// It failed.
    Or,
}

/// Commands whose outputs feed the next one's input.
#[derive(Debug)]
pub struct Pipeline {
    /// `!` turns the status round.
    pub negated: bool,
    /// In order.
    pub commands: Vec<Command>,
}

/// One command with its redirections.
#[derive(Debug)]
pub struct Command {
    /// What it is.
    pub kind: Kind,
    /// Left to right.
    pub redirects: Vec<Redirect>,
    /// Where it stands in the text that was parsed.
    pub span: Option<Span>,
}

/// The kinds of commands.
#[derive(Debug)]
pub enum Kind {
    /// Assignments, then words.
    Simple {
        /// `X=1` in front.
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
        /// Condition and body.
        arms: Vec<(Script, Script)>,
        /// Without condition.
        otherwise: Option<Script>,
    },
    /// `while` and `until`.
    Loop {
        /// Checked before every round.
        condition: Script,
        /// Runs until the condition holds instead of while it does.
        until: bool,
        /// What is repeated.
        body: Script,
    },
    /// `for x in …` and `select`.
    For {
        /// The variable.
        variable: String,
        /// Absent means the positional parameters.
        words: Option<Vec<Word>>,
        /// What is repeated.
        body: Script,
    },
    /// `for ((…;…;…))`.
    ArithmeticFor {
        /// The three expressions, one after the other.
        expressions: Vec<Word>,
        /// What is repeated.
        body: Script,
    },
    /// `case`.
    Case {
        /// What is compared.
        subject: Word,
        /// With what.
        arms: Vec<Arm>,
    },
    /// A definition; nothing runs yet.
    Function {
        /// Its name.
        name: String,
        /// What runs when it is called.
        body: Rc<Command>,
    },
    /// `[[ … ]]`: the words in it are expanded.
    Test(Test),
    /// `(( … ))`.
    Arithmetic(Word),
    /// `coproc NAME command`.
    Coprocess {
        /// `COPROC` when absent.
        name: String,
        /// What runs beside us.
        body: std::rc::Rc<Command>,
    },
}

/// One arm of a `case`.
#[derive(Debug)]
pub struct Arm {
    /// Any of them may match.
    pub patterns: Vec<Word>,
    /// What runs.
    pub body: Script,
    /// What comes after it.
    pub end: ArmEnd,
}

/// How an arm of a `case` ends.
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
    /// Both.
    And(Box<Self>, Box<Self>),
    /// One of them.
    Or(Box<Self>, Box<Self>),
    /// Not.
    Not(Box<Self>),
    /// Operator and word.
    Unary(String, Word),
    /// Operator and two words.
    Binary(String, Word, Word),
}

/// What can stand among the words of a command.
#[derive(Debug)]
pub enum Argument {
    /// A word.
    Word(Word),
    /// `declare X=1`: a word that is an assignment.
    Assignment(Assignment),
    /// `<(…)` or `>(…)`.
    Process {
        /// `>(…)`: it reads what is written to it.
        writes: bool,
        /// What runs.
        script: Script,
        /// `--file=<(…)`: it is the end of the word before it.
        glued: bool,
    },
}

/// One assignment.
#[derive(Debug)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// `name[index]`.
    pub index: Option<Word>,
    /// `+=`.
    pub append: bool,
    /// What it gets.
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
    /// The descriptor in front, or what the operator means.
    pub descriptor: i32,
    /// What happens to it.
    pub target: Target,
}

/// Where a descriptor leads.
#[derive(Debug)]
pub enum Target {
    /// Reads a file.
    Read(Word),
    /// Writes a file.
    Write(Word),
    /// Writes at the end of a file.
    Append(Word),
    /// Another descriptor.
    Duplicate(Word),
    /// Text in the command, with its expansions.
    Here(Word),
    /// `<<<`, which adds a line end.
    HereString(Word),
    /// The output of a process.
    ReadProcess(Script),
    /// The input of a process.
    WriteProcess(Script),
}

/// A word before expansion.
#[derive(Clone, Debug, Default)]
pub struct Word {
    /// In order.
    pub pieces: Vec<Piece>,
    /// Where it stands in the text that was parsed.
    pub span: Option<Span>,
}

impl Word {
    /// A word that means itself.
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
    /// Text that means itself.
    Quoted(String),
    /// Expansions that are not split.
    Double(Vec<Self>),
    /// `~` and what follows up to the slash.
    Tilde(String),
    /// `$X` and `${…}`.
    Parameter(Box<Parameter>),
    /// `$(…)` and backquotes.
    Command(Rc<Script>),
    /// `$((…))`; the text may hold further expansions.
    Arithmetic(Rc<Word>),
    /// Something the parser gave up on.
    Opaque,
}

/// A parameter and what is done with it.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Whose value.
    pub subject: Subject,
    /// `${!X}`.
    pub indirect: bool,
    /// What is done with it.
    pub operation: Operation,
}

/// What a parameter expansion names.
#[derive(Clone, Debug)]
pub enum Subject {
    /// `$1`.
    Positional(usize),
    /// `$@` and `$*`.
    All {
        /// `$*`.
        joined: bool,
    },
    /// `$#`.
    Count,
    /// `$?`, `$$` and other numbers that only a run knows.
    Number,
    /// `$0`.
    ShellName,
    /// `$X`.
    Named(String),
    /// `${a[i]}`.
    Element(String, Word),
    /// `${a[@]}` and `${a[*]}`.
    Elements {
        /// The array.
        name: String,
        /// `[*]`.
        joined: bool,
    },
}

/// What `${…}` does.
#[derive(Clone, Debug)]
pub enum Operation {
    /// The value itself.
    Value,
    /// `:-`, `-`, `:=`, `=`.
    Default {
        /// With the colon: empty counts as unset.
        empty_counts: bool,
        /// `=`: the variable keeps it.
        assigns: bool,
        /// The default.
        word: Word,
    },
    /// `:+`, `+`.
    Alternative {
        /// With the colon.
        empty_counts: bool,
        /// Used when it is set.
        word: Word,
    },
    /// `:?`, `?`: the text is a message, which is expanded when it is not set.
    Required(Word),
    /// `#` in front.
    Length,
    /// `#`, `##`.
    RemovePrefix {
        /// Doubled.
        longest: bool,
        /// What is taken away.
        pattern: Word,
    },
    /// `%`, `%%`.
    RemoveSuffix {
        /// Doubled.
        longest: bool,
        /// What is taken away.
        pattern: Word,
    },
    /// `:offset:length`.
    Substring {
        /// Arithmetic.
        offset: Word,
        /// Arithmetic.
        length: Option<Word>,
    },
    /// `/pattern/replacement`.
    Replace {
        /// What is looked for.
        pattern: Word,
        /// What stands there then.
        replacement: Word,
        /// Where.
        place: Place,
    },
    /// `^`, `^^`, `,`, `,,`, `@U`, `@L`, `@u`.
    Case {
        /// To upper case.
        upper: bool,
        /// Every character, not only the first.
        all: bool,
        /// Characters that change, when they are named.
        pattern: Option<Word>,
    },
    /// `@P`: the value is expanded again like a prompt, substitutions included.
    Prompt,
    /// `@E`.
    Escapes,
    /// `@Q`: quoted, to be read again.
    Quote,
    /// `@A`: the command that sets it again.
    Declared,
    /// `@K`, `@k`: keys and values, quoted.
    Pairs,
    /// `@a`: not followed.
    Transform,
    /// `!prefix*` and `!array[@]`: names, not values.
    Names,
}

/// Where a replacement happens.
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
