//! Checks of relations between arguments. A note is a proof that one does not hold; if it cannot be computed, there
//! is no note.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::constraint::{Addends, Condition, Op, Operand, Rule};
use super::script::{self, json, number_text};

/// Values of a relation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'a> {
    pub(super) call: &'a Map<String, Value>,
    pub(super) state: Option<&'a Map<String, Value>>,
}

impl<'a> Facts<'a> {
    /// Returns the violation, if it can be proved.
    pub(super) fn violation(self, rule: &Rule) -> Option<String> {
        match rule {
            Rule::Cmp { op, left, right } => self.cmp(*op, left, right),
            Rule::Sum { of, op, vs } => self.sum(of, *op, vs),
            Rule::Present { fields, count } => self.present(fields, *count),
            Rule::Requires { when, require } => self.requires(&when.field, &when.is, require),
            Rule::Distinct { fields } => self.distinct(fields),
            Rule::Member { field, list } => self.member(field, list),
            Rule::CharAt {
                string,
                index,
                equals,
                offset,
            } => self.char_at(string, index, equals, *offset),
        }
    }

    fn cmp(self, op: Op, left: &Operand, right: &Operand) -> Option<String> {
        let (a, b) = (self.value(left)?, self.value(right)?);
        let (a, b) = (a.get(), b.get());
        let (holds, a, b) = match op {
            Op::Eq => (script::equal(a, b), json(a), json(b)),
            Op::Ne => (!script::equal(a, b), json(a), json(b)),
            op => {
                let (a, b) = (script::number(a)?, script::number(b)?);
                (op.holds(a, b), number_text(a), number_text(b))
            }
        };
        let (l, r, op) = (left.label(), right.label(), op.name());
        (!holds).then(|| format!("{l}({a}) not {op} {r}({b})"))
    }

    fn sum(self, of: &Addends, op: Op, vs: &Operand) -> Option<String> {
        let addends: Vec<&Value> = match of {
            Addends::Of(name) => match self.call.get(name)? {
                Value::Array(items) => items.iter().collect(),
                Value::Object(object) => {
                    let entries = script::entries(object).into_iter();
                    entries.map(|(_, value)| value).collect()
                }
                _ => return None,
            },
            Addends::Fields(names) => {
                let values = names.iter().map(|name| self.call.get(name));
                values.collect::<Option<_>>()?
            }
        };
        let numbers: Option<Vec<f64>> = addends.into_iter().map(script::number).collect();
        // Added from the left and from zero, because the last digit depends on it.
        let sum = numbers?.into_iter().fold(0.0, |sum, number| sum + number);
        let vs = script::number(self.value(vs)?.get())?;
        let of = match of {
            Addends::Of(name) => name.clone(),
            Addends::Fields(names) => names.join(","),
        };
        let (total, op_name, limit) = (number_text(sum), op.name(), number_text(vs));
        (!op.holds(sum, vs)).then(|| format!("sum({of})={total} not {op_name} {limit}"))
    }

    fn present(self, fields: &[String], count: f64) -> Option<String> {
        let found = fields.iter().filter(|field| self.has(field)).count();
        let (wanted, list) = (number_text(count), fields.join(", "));
        (found as f64 != count)
            .then(|| format!("expected exactly {wanted} of [{list}] present, got {found}"))
    }

    fn requires(self, field: &str, is: &Condition, require: &[String]) -> Option<String> {
        let value = self.call.get(field)?;
        let applies = match is {
            Condition::Equals(wanted) => script::same(value, wanted),
            Condition::In(list) => list.iter().any(|wanted| script::same(value, wanted)),
            Condition::Present => true,
        };
        let complete = require.iter().all(|name| self.has(name));
        let list = require.join(", ");
        (applies && !complete)
            .then(|| format!("when {field}={} requires [{list}] present", json(value)))
    }

    fn distinct(self, fields: &[String]) -> Option<String> {
        let values = fields.iter().map(|field| self.call.get(field));
        let texts = values.map(|value| value.map(script::text));
        let texts: Vec<String> = texts.collect::<Option<_>>()?;
        let mut seen = BTreeSet::new();
        let twice = texts.iter().find(|text| !seen.insert(*text))?;
        let list = fields.join(", ");
        Some(format!(
            "fields [{list}] must be distinct (duplicate {twice})"
        ))
    }

    fn member(self, field: &str, list: &Operand) -> Option<String> {
        let value = self.call.get(field)?;
        let list = self.value(list)?;
        let found = list.get().as_array()?.iter();
        let mut found = found.filter(|item| script::same(item, value));
        let missing = found.next().is_none();
        missing.then(|| format!("'{field}'={} not in {}", json(value), json(list.get())))
    }

    fn char_at(
        self,
        string: &str,
        index: &Operand,
        equals: &Operand,
        offset: f64,
    ) -> Option<String> {
        let units: Vec<u16> = self.call.get(string)?.as_str()?.encode_utf16().collect();
        let index = script::number(self.value(index)?.get())? + offset;
        let equals = self.value(equals)?;
        let want = script::text(equals.get());
        let wanted: Vec<u16> = want.encode_utf16().collect();
        let start = start(index, units.len());
        let got: Vec<u16> = units.into_iter().skip(start).take(wanted.len()).collect();
        if equals.get().is_string() && got == wanted {
            return None;
        }
        let (index, got) = (number_text(index), String::from_utf16_lossy(&got));
        Some(format!("{string}[{index}..]='{got}' != expected '{want}'"))
    }

    fn has(self, name: &str) -> bool {
        self.call.contains_key(name)
    }

    /// Returns the value of an operand; `None` if there is none.
    fn value<'b>(self, operand: &'b Operand) -> Option<Resolved<'b>>
    where
        'a: 'b,
    {
        let found = match operand {
            Operand::Value(value) | Operand::Plain(value) | Operand::Enum(value, _) => value,
            Operand::State(key) => self.state?.get(key)?,
            Operand::Field(name) => self.call.get(name)?,
            Operand::Len(name) => {
                let length = match self.call.get(name)? {
                    Value::Array(items) => items.len(),
                    Value::Object(object) => object.len(),
                    _ => return None,
                };
                return Some(Resolved::Made(Value::from(length)));
            }
        };
        Some(Resolved::Found(found))
    }
}

/// A borrowed value, or a computed one.
enum Resolved<'a> {
    Found(&'a Value),
    Made(Value),
}

impl Resolved<'_> {
    fn get(&self) -> &Value {
        match self {
            Self::Found(value) => value,
            Self::Made(value) => value,
        }
    }
}

/// Returns the start of a slice: fractions are truncated, a negative index counts from the end, the result is inside.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is between zero and a length"
)]
fn start(index: f64, length: usize) -> usize {
    let (index, end) = (index.trunc(), length as f64);
    let from = if index < 0.0 { end + index } else { index };
    from.clamp(0.0, end) as usize
}
