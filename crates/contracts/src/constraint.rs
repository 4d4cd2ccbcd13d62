//! The seven kinds of relation between arguments. A malformed one is left out and reported; the others are not
//! affected.

use serde_json::{Map, Value};

use super::problem::{At, Problems, list_of_names};
use super::script;

/// Kinds of relation, as text.
const KINDS: &str = "`cmp`, `sum`, `present`, `requires`, `distinct`, `member`, `char_at`";

/// One relation with its hint.
#[derive(Clone, Debug)]
pub(super) struct Constraint {
    pub(super) rule: Rule,
    /// Right values, in the author's words.
    pub(super) hint: Option<String>,
}

/// Relation that must hold.
#[derive(Clone, Debug)]
pub(super) enum Rule {
    Cmp {
        op: Op,
        left: Operand,
        right: Operand,
    },
    Sum {
        of: Addends,
        op: Op,
        vs: Operand,
    },
    Present {
        fields: Vec<String>,
        count: f64,
    },
    Requires {
        when: When,
        require: Vec<String>,
    },
    Distinct {
        fields: Vec<String>,
    },
    Member {
        field: String,
        list: Operand,
    },
    CharAt {
        string: String,
        index: Operand,
        equals: Operand,
        offset: f64,
    },
}

/// Comparison of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
}

impl Op {
    fn parse(text: &str) -> Option<Self> {
        [Self::Lt, Self::Le, Self::Gt, Self::Ge, Self::Eq, Self::Ne]
            .into_iter()
            .find(|op| op.name() == text)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Lt => "lt",
            Self::Le => "le",
            Self::Gt => "gt",
            Self::Ge => "ge",
            Self::Eq => "eq",
            Self::Ne => "ne",
        }
    }

    /// Returns `true` if it holds between numbers. Rounding never breaks `le` and `ge`: a proof must not depend on
    /// it.
    pub(super) fn holds(self, a: f64, b: f64) -> bool {
        match self {
            Self::Lt => a < b,
            Self::Le => a <= b || script::close(a, b),
            Self::Gt => a > b,
            Self::Ge => a >= b || script::close(a, b),
            Self::Eq => script::close(a, b),
            Self::Ne => !script::close(a, b),
        }
    }
}

const OPS: &str = "`lt`, `le`, `gt`, `ge`, `eq`, `ne`";

/// Source of a value.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    Value(Value),
    State(String),
    Field(String),
    Len(String),
    /// A list, and the object that contains it.
    Enum(Value, Value),
    Plain(Value),
}

impl Operand {
    /// Returns the text for a note.
    pub(super) fn label(&self) -> String {
        match self {
            Self::Value(value) => script::json(value),
            Self::State(key) => format!("state.{key}"),
            Self::Field(name) => name.clone(),
            Self::Len(name) => format!("len({name})"),
            Self::Enum(_, whole) => script::json(whole),
            Self::Plain(value) => script::text(value),
        }
    }

    /// Returns a value that does not depend on the call.
    fn literal(&self) -> Option<&Value> {
        match self {
            Self::Value(value) | Self::Plain(value) | Self::Enum(value, _) => Some(value),
            Self::State(_) | Self::Field(_) | Self::Len(_) => None,
        }
    }
}

/// Addends of a sum.
#[derive(Clone, Debug)]
pub(super) enum Addends {
    /// The items of one argument.
    Of(String),
    /// Several arguments.
    Fields(Vec<String>),
}

/// Condition of a requirement.
#[derive(Clone, Debug)]
pub(super) struct When {
    pub(super) field: String,
    pub(super) is: Condition,
}

/// Required value of the field.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    Equals(Value),
    In(Vec<Value>),
    Present,
}

/// Keys that any constraint may have besides its own.
const COMMON: &[&str] = &["kind", "hint", "description"];

impl Constraint {
    /// Parses a constraint; `None` if it is invalid, which is then reported.
    pub(super) fn read(value: &Value, at: At<'_>, problems: &mut Problems) -> Option<Self> {
        let Value::Object(object) = value else {
            problems.error(at, "a constraint has to be an object with a `kind`");
            return None;
        };
        let (known, read): (&[&str], Read) = match object.get("kind").and_then(Value::as_str) {
            Some("cmp") => (&["op", "left", "right"], cmp),
            Some("sum") => (&["op", "of", "vs"], sum),
            Some("present") => (&["fields", "count"], present),
            Some("requires") => (&["when", "require"], requires),
            Some("distinct") => (&["fields"], distinct),
            Some("member") => (&["field", "in"], member),
            Some("char_at") => (&["string", "index", "equals", "offset"], char_at),
            Some(kind) => {
                let what = format!("there is no kind `{kind}`; there are {KINDS}");
                problems.error(At::Key(&at, "kind"), what);
                return None;
            }
            None => {
                problems.error(at, format!("has no `kind`; there are {KINDS}"));
                return None;
            }
        };
        problems.unknown(at, object, &[COMMON, known].concat());
        let hint = problems.text(at, object, "hint");
        read(object, at, problems).map(|rule| Self { rule, hint })
    }
}

type Read = fn(&Map<String, Value>, At<'_>, &mut Problems) -> Option<Rule>;

fn cmp(object: &Map<String, Value>, at: At<'_>, problems: &mut Problems) -> Option<Rule> {
    let op = problems.name(at, object, "op").and_then(|name| {
        let op = Op::parse(&name);
        if op.is_none() {
            let what = format!("there is no comparison `{name}`; there are {OPS}");
            problems.error(At::Key(&at, "op"), what);
        }
        op
    });
    let left = operand(object, "left", at, problems);
    let right = operand(object, "right", at, problems);
    let (op, left, right) = (op?, left?, right?);
    for (key, side) in [("left", &left), ("right", &right)] {
        if op == Op::Eq && side.literal().is_some_and(is_compound) {
            let what = "a list or an object equals nothing, so that every call is flagged";
            problems.error(At::Key(&at, key), what);
        }
    }
    Some(Rule::Cmp { op, left, right })
}

fn sum(object: &Map<String, Value>, at: At<'_>, problems: &mut Problems) -> Option<Rule> {
    let op = problems.text(at, object, "op").map_or(Op::Eq, |name| {
        Op::parse(&name).unwrap_or_else(|| {
            let what = format!("there is no comparison `{name}`, `eq` is taken; there are {OPS}");
            problems.error(At::Key(&at, "op"), what);
            Op::Eq
        })
    });
    let of = match object.get("of") {
        Some(Value::String(name)) => Some(Addends::Of(name.clone())),
        Some(list) => list_of_names(list).map(Addends::Fields),
        None => None,
    };
    if of.is_none() {
        problems.error(
            At::Key(&at, "of"),
            "has to be the name of an argument, or a list of such names",
        );
    }
    let vs = operand(object, "vs", at, problems)?;
    if vs
        .literal()
        .is_some_and(|value| script::number(value).is_none())
    {
        problems.error(At::Key(&at, "vs"), "has to be a number");
        return None;
    }
    Some(Rule::Sum { of: of?, op, vs })
}

fn present(object: &Map<String, Value>, at: At<'_>, problems: &mut Problems) -> Option<Rule> {
    let fields = problems.names(at, object, "fields");
    let count = object.get("count").map_or(Some(1.0), script::double);
    let most = fields.as_ref().map_or(usize::MAX, Vec::len);
    let possible =
        count.filter(|count| count.fract() == 0.0 && *count >= 0.0 && *count <= most as f64);
    if possible.is_none() {
        problems.error(
            At::Key(&at, "count"),
            "has to be a whole number, at most as many as there are `fields`",
        );
    }
    Some(Rule::Present {
        fields: fields?,
        count: possible?,
    })
}

fn requires(object: &Map<String, Value>, at: At<'_>, problems: &mut Problems) -> Option<Rule> {
    let require = problems.names(at, object, "require");
    let Some(Value::Object(when)) = object.get("when") else {
        let what = "has to be an object such as {\"field\": \"pay_by\", \"equals\": \"card\"}";
        problems.error(At::Key(&at, "when"), what);
        return None;
    };
    let place = At::Key(&at, "when");
    problems.unknown(place, when, &["field", "equals", "in"]);
    let field = problems.name(place, when, "field");
    let is = match (when.get("equals"), when.get("in")) {
        (Some(value), _) => Condition::Equals(value.clone()),
        (None, Some(Value::Array(list))) => Condition::In(list.clone()),
        (None, Some(_)) => {
            problems.error(At::Key(&place, "in"), "has to be a list of values");
            return None;
        }
        (None, None) => Condition::Present,
    };
    if matches!(&is, Condition::Equals(value) if is_compound(value)) {
        let what = "a list or an object equals nothing, so that this never applies";
        problems.error(At::Key(&place, "equals"), what);
    }
    let when = When { field: field?, is };
    Some(Rule::Requires {
        when,
        require: require?,
    })
}

fn distinct(object: &Map<String, Value>, at: At<'_>, problems: &mut Problems) -> Option<Rule> {
    let fields = problems.names(at, object, "fields")?;
    let mut seen = fields.clone();
    seen.sort_unstable();
    seen.dedup();
    if seen.len() < fields.len() {
        problems.error(At::Key(&at, "fields"), "names an argument twice");
        return None;
    }
    Some(Rule::Distinct { fields })
}

fn member(object: &Map<String, Value>, at: At<'_>, problems: &mut Problems) -> Option<Rule> {
    let field = problems.name(at, object, "field");
    let list = operand(object, "in", at, problems)?;
    if list.literal().is_some_and(|value| !value.is_array()) {
        problems.error(
            At::Key(&at, "in"),
            "has to be a list, or an operand such as {\"state\": \"free\"}",
        );
        return None;
    }
    Some(Rule::Member {
        field: field?,
        list,
    })
}

fn char_at(object: &Map<String, Value>, at: At<'_>, problems: &mut Problems) -> Option<Rule> {
    let string = problems.name(at, object, "string");
    let index = operand(object, "index", at, problems);
    let equals = operand(object, "equals", at, problems);
    let offset = object.get("offset").map_or(Some(0.0), script::double);
    if offset.is_none() {
        problems.error(At::Key(&at, "offset"), "has to be a number");
    }
    let (index, equals) = (index?, equals?);
    if index
        .literal()
        .is_some_and(|value| script::number(value).is_none())
    {
        problems.error(At::Key(&at, "index"), "has to be a number");
        return None;
    }
    if equals.literal().is_some_and(|value| !value.is_string()) {
        let what = "has to be a text such as {\"value\": \"x\"}; nothing else is found in a text, \
                    so that every call is flagged";
        problems.error(At::Key(&at, "equals"), what);
    }
    Some(Rule::CharAt {
        string: string?,
        index,
        equals,
        offset: offset?,
    })
}

type Named = fn(String) -> Operand;

/// Parses the source of a value. The first matching key decides.
fn operand(
    object: &Map<String, Value>,
    key: &str,
    at: At<'_>,
    problems: &mut Problems,
) -> Option<Operand> {
    let place = At::Key(&at, key);
    let Some(value) = object.get(key) else {
        problems.error(at, format!("has no `{key}`"));
        return None;
    };
    let source = match value {
        Value::String(name) => return Some(Operand::Field(name.clone())),
        Value::Object(source) => source,
        plain => return Some(Operand::Plain(plain.clone())),
    };
    if let Some(value) = source.get("value") {
        return Some(Operand::Value(value.clone()));
    }
    let named: [(&str, Named); 3] = [
        ("state", Operand::State),
        ("field", Operand::Field),
        ("len", Operand::Len),
    ];
    for (word, build) in named {
        if source.contains_key(word) {
            return problems.name(place, source, word).map(build);
        }
    }
    match source.get("enum") {
        Some(list @ Value::Array(_)) => Some(Operand::Enum(list.clone(), value.clone())),
        Some(_) => {
            problems.error(At::Key(&place, "enum"), "has to be a list of values");
            None
        }
        None => Some(Operand::Plain(value.clone())),
    }
}

fn is_compound(value: &Value) -> bool {
    value.is_array() || value.is_object()
}
