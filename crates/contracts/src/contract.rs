//! The contract of one tool, with its parameters, its constraints and its JSON Schema. A malformed part is left out
//! and reported; all others work as if it were absent.

use std::sync::OnceLock;

use regex_lite::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use super::constraint::Constraint;
use super::problem::{At, Problem, Problems, Weight, list_of_names};
use super::schema;
use super::script;

/// Limit of parameters or constraints of one tool.
const MAX_PARTS: usize = 1000;

/// Limit of the size of a compiled pattern, in bytes.
const MAX_PATTERN: usize = 1 << 20;

/// Limit of the nesting of a pattern.
const MAX_NESTING: u32 = 64;

/// Contract of one tool.
#[derive(Clone, Debug, Default)]
pub(super) struct Contract {
    pub(super) params: Vec<Param>,
    pub(super) constraints: Vec<Constraint>,
    pub(super) state: Option<Map<String, Value>>,
    pub(super) schema: Option<Value>,
    pub(super) problems: Vec<Problem>,
}

/// Contract of one argument.
#[derive(Clone, Debug)]
pub(super) struct Param {
    /// Position in the catalogue.
    at: String,
    pub(super) name: String,
    pub(super) required: bool,
    pub(super) shape: Option<Shape>,
    pub(super) choices: Option<Vec<Value>>,
    pub(super) max: Option<f64>,
    pub(super) min: Option<f64>,
    pub(super) max_length: Option<usize>,
    pub(super) min_length: Option<usize>,
    pub(super) pattern: Option<Pattern>,
    pub(super) path: Option<PathRule>,
    /// Right values, in the author's words.
    pub(super) hint: Option<String>,
}

/// Types with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    String,
    Integer,
    Number,
    Boolean,
    Array,
    Object,
}

impl Shape {
    const ALL: [Self; 6] = [
        Self::String,
        Self::Integer,
        Self::Number,
        Self::Boolean,
        Self::Array,
        Self::Object,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    pub(super) fn fits(self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Integer => script::double(value).is_some_and(|number| number.fract() == 0.0),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Array => value.is_array(),
            Self::Object => value.is_object(),
        }
    }
}

/// Regular expression that is compiled on first use.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) source: String,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    fn new(source: String) -> Self {
        Self {
            source,
            compiled: OnceLock::new(),
        }
    }

    /// Returns `true` if the text contains a match; `None` if the pattern is invalid.
    pub(super) fn finds(&self, text: &str) -> Option<bool> {
        let compile = || compile(&self.source).ok();
        let regex = self.compiled.get_or_init(compile).as_ref()?;
        Some(regex.is_match(text))
    }
}

fn compile(source: &str) -> Result<Regex, regex_lite::Error> {
    RegexBuilder::new(source)
        .size_limit(MAX_PATTERN)
        .nest_limit(MAX_NESTING)
        .build()
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathRule {
    pub(super) absolute: Option<bool>,
    pub(super) within: Vec<String>,
    pub(super) exists: Option<bool>,
}

impl Contract {
    /// Parses the contract. Expensive parts are compiled when they are needed.
    pub(super) fn read(tool: &str, value: &Value) -> Self {
        let mut problems = Problems::default();
        let at = At::Key(&At::Root, tool);
        let Value::Object(entry) = value else {
            problems.error(at, "the contract of a tool has to be an object");
            return Self {
                problems: problems.0,
                ..Self::default()
            };
        };
        let known = [
            "contract",
            "params",
            "constraints",
            "state_struct",
            "schema",
            "description",
        ];
        problems.unknown(at, entry, &known);
        let params: Vec<Param> = parts(entry, "params", at, &mut problems, Param::read);
        for (index, param) in params.iter().enumerate() {
            if params
                .iter()
                .take(index)
                .any(|other| other.name == param.name)
            {
                let what = format!("`{}` is described twice; the first counts", param.name);
                problems.error(At::Key(&at, "params"), what);
            }
        }
        let constraints = parts(entry, "constraints", at, &mut problems, Constraint::read);
        let state = match entry.get("state_struct") {
            None | Some(Value::Null) => None,
            Some(Value::Object(state)) => Some(state.clone()),
            Some(_) => {
                problems.error(At::Key(&at, "state_struct"), "has to be an object");
                None
            }
        };
        if entry.get("contract").is_some_and(|text| !text.is_string()) {
            problems.error(At::Key(&at, "contract"), "has to be a text");
        }
        Self {
            params,
            constraints,
            state,
            schema: entry.get("schema").cloned(),
            problems: problems.0,
        }
    }

    /// Returns all problems, including those of compilation.
    pub(super) fn all_problems(&self, tool: &str) -> Vec<Problem> {
        let mut problems = Problems(self.problems.clone());
        let at = At::Key(&At::Root, tool);
        for param in &self.params {
            let Some(pattern) = &param.pattern else {
                continue;
            };
            if let Err(error) = compile(&pattern.source) {
                let error = one_line(&error.to_string());
                problems.0.push(Problem {
                    path: format!("{}.pattern", param.at),
                    what: format!("is no pattern that can be used: {error}"),
                    weight: Weight::Error,
                });
            }
        }
        if let Some(error) = self.schema.as_ref().and_then(schema::error) {
            problems.error(At::Key(&at, "schema"), error);
        }
        problems.0
    }
}

/// Returns the last line of a multi-line error, which contains the reason.
fn one_line(error: &str) -> String {
    let last = error.lines().map(str::trim).rfind(|line| !line.is_empty());
    let last = last.unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

/// Parses a list of parts independently.
fn parts<T>(
    entry: &Map<String, Value>,
    key: &str,
    at: At<'_>,
    problems: &mut Problems,
    read: fn(&Value, At<'_>, &mut Problems) -> Option<T>,
) -> Vec<T> {
    let at = At::Key(&at, key);
    let list = match entry.get(key) {
        None => return Vec::new(),
        Some(Value::Array(list)) => list,
        Some(_) => {
            problems.error(at, "has to be a list");
            return Vec::new();
        }
    };
    if list.len() > MAX_PARTS {
        let what = format!("only the first {MAX_PARTS} of {} are read", list.len());
        problems.error(at, what);
    }
    list.iter()
        .take(MAX_PARTS)
        .enumerate()
        .filter_map(|(index, value)| read(value, At::Index(&at, index), problems))
        .collect()
}

impl Param {
    fn read(value: &Value, at: At<'_>, problems: &mut Problems) -> Option<Self> {
        let Value::Object(object) = value else {
            problems.error(at, "a parameter has to be an object with a `name`");
            return None;
        };
        let known = [
            "name",
            "type",
            "required",
            "enum",
            "max",
            "min",
            "maxLength",
            "minLength",
            "pattern",
            "path",
            "hint",
            "description",
        ];
        problems.unknown(at, object, &known);
        let name = problems.name(at, object, "name")?;
        let param = Self {
            at: at.to_string(),
            name,
            required: object.get("required").is_some_and(script::truthy),
            shape: shape(object, at, problems),
            choices: choices(object, at, problems),
            max: limit(object, "max", at, problems),
            min: limit(object, "min", at, problems),
            max_length: length(object, "maxLength", at, problems),
            min_length: length(object, "minLength", at, problems),
            pattern: problems.text(at, object, "pattern").map(Pattern::new),
            path: path_rule(object, at, problems),
            hint: problems.text(at, object, "hint"),
        };
        param.contradictions(at, problems);
        Some(param)
    }

    /// Reports conditions that no value can fulfil.
    fn contradictions(&self, at: At<'_>, problems: &mut Problems) {
        if let (Some(min), Some(max)) = (self.min, self.max)
            && min > max
        {
            problems.error(at, "`min` is above `max`, so that every number is flagged");
        }
        if let (Some(min), Some(max)) = (self.min_length, self.max_length)
            && min > max
        {
            problems.error(
                at,
                "`minLength` is above `maxLength`, so that every text is flagged",
            );
        }
        let (Some(shape), Some(choices)) = (self.shape, &self.choices) else {
            return;
        };
        for (index, choice) in choices.iter().enumerate() {
            if !shape.fits(choice) {
                let list = At::Key(&at, "enum");
                let what = format!("is no {}, which the parameter has to be", shape.name());
                problems.error(At::Index(&list, index), what);
            }
        }
    }
}

fn shape(object: &Map<String, Value>, at: At<'_>, problems: &mut Problems) -> Option<Shape> {
    let name = problems.text(at, object, "type")?;
    let shape = Shape::ALL.into_iter().find(|shape| shape.name() == name);
    if shape.is_none() {
        let names = Shape::ALL.map(Shape::name).join("`, `");
        let what = format!("there is no type `{name}`; there are `{names}`");
        problems.error(At::Key(&at, "type"), what);
    }
    shape
}

fn choices(object: &Map<String, Value>, at: At<'_>, problems: &mut Problems) -> Option<Vec<Value>> {
    match object.get("enum")? {
        Value::Array(list) => {
            if list.is_empty() {
                let what = "holds nothing, so that every value is flagged";
                problems.error(At::Key(&at, "enum"), what);
            }
            Some(list.clone())
        }
        _ => {
            problems.error(At::Key(&at, "enum"), "has to be a list of values");
            None
        }
    }
}

fn limit(
    object: &Map<String, Value>,
    key: &str,
    at: At<'_>,
    problems: &mut Problems,
) -> Option<f64> {
    let limit = script::double(object.get(key)?);
    if limit.is_none() {
        problems.error(At::Key(&at, key), "has to be a number");
    }
    limit
}

fn length(
    object: &Map<String, Value>,
    key: &str,
    at: At<'_>,
    problems: &mut Problems,
) -> Option<usize> {
    let length = object.get(key)?.as_u64();
    if length.is_none() {
        problems.error(At::Key(&at, key), "has to be a whole number, 0 or more");
    }
    usize::try_from(length?).ok()
}

fn path_rule(object: &Map<String, Value>, at: At<'_>, problems: &mut Problems) -> Option<PathRule> {
    let at = At::Key(&at, "path");
    let Value::Object(rule) = object.get("path")? else {
        problems.error(at, "has to be an object such as {\"absolute\": true}");
        return None;
    };
    problems.unknown(at, rule, &["absolute", "within", "exists"]);
    let mut flag = |key: &str| {
        let value = rule.get(key)?;
        if !value.is_boolean() {
            problems.error(At::Key(&at, key), "has to be `true` or `false`");
        }
        value.as_bool()
    };
    let (absolute, exists) = (flag("absolute"), flag("exists"));
    let within = match rule.get("within") {
        None => Vec::new(),
        Some(Value::String(one)) => vec![one.clone()],
        Some(list) => list_of_names(list).unwrap_or_else(|| {
            let what = "has to be a directory, or a list of directories";
            problems.error(At::Key(&at, "within"), what);
            Vec::new()
        }),
    };
    Some(PathRule {
        absolute,
        within,
        exists,
    })
}
