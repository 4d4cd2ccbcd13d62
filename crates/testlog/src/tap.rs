//! TAP, which node's own runner, bats, prove and others print, and node's spec reporter.
//!
//! Takes `ok 1 - name` and `not ok 2 - name` at the start of a line, with `# SKIP` and `# TODO`, and the plan `1..2`; a
//! run is complete when as many tests were seen as planned. node adds `# tests 7` to `# duration_ms 12`, which its spec
//! reporter prints alone with `ℹ`: these numbers also count subtests, so they are taken instead.

use super::run::{Counts, Run};
use super::text::{Line, counted, cut, is_decimal, number, word};
use super::{Part, Reader, Runner};

/// State of the last run.
#[derive(Debug, Default)]
pub(super) struct Tap {
    run: Run,
    counts: Counts,
    plan: Option<u64>,
    /// Set if the version was printed, without which `ok 1` may be prose.
    is_announced: bool,
    /// Node's own numbers so far.
    node: Node,
    is_node: bool,
    /// Set inside node's list of failed tests.
    in_list: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    counts: Counts,
    tests: Option<u64>,
}

impl Reader for Tap {
    fn line(&mut self, line: &Line<'_>) {
        let text = line.text;
        if text.starts_with(b"TAP version ") {
            self.renew();
            self.is_announced = true;
            self.run.touch();
        } else if let Some(test) = test(text) {
            self.test(&test, line.number);
        } else if let Some(plan) = text.strip_prefix(b"1..").map(plan_end).and_then(number) {
            self.plan = Some(plan);
            self.close(line.number);
        } else if text.starts_with(b"Bail out!") {
            self.run.stop();
        } else if let Some(item) = node_item(text) {
            self.node_number(item, line.number);
        } else if text == "✖ failing tests:".as_bytes() {
            self.in_list = self.is_node;
        } else if self.in_list
            && let Some(name) = text.strip_prefix("✖ ".as_bytes())
        {
            let name = super::text::cut_last(name, b" (").map_or(name, |(name, _)| name);
            self.run.names.push(name, line.number);
        }
    }
}

impl Tap {
    /// Returns the result of the last run.
    pub(super) fn finish(mut self) -> Option<Part> {
        let is_whole = self.is_node || self.plan == Some(self.counts.total());
        if !is_whole {
            // A lone `1..4` or `ok 1` does not identify the format; a run that was cut off does.
            let is_tap = self.is_announced || self.plan.is_some();
            if self.counts.total() == 0 || !is_tap {
                return None;
            }
            self.run.close(self.counts, 0);
            self.run.stop();
        }
        let runner = if self.is_node {
            Runner::NodeTest
        } else {
            Runner::Tap
        };
        self.run.finish(runner)
    }

    fn renew(&mut self) {
        *self = Self {
            run: self.run.next(),
            ..Self::default()
        };
    }

    fn test(&mut self, test: &Test<'_>, line: usize) {
        if test.number == 1 && self.run.is_closed() {
            self.renew();
        }
        match (test.is_ok, test.directive) {
            (_, Directive::Skip) | (false, Directive::Todo) => self.counts.skipped += 1,
            (true, _) => {
                self.counts.passed += 1;
                self.run.passed.push(test.name);
            }
            (false, Directive::None) => {
                self.counts.failed += 1;
                self.run.names.push(test.name, line);
            }
        }
        self.run.touch();
        self.close(line);
    }

    /// Closes the run if plan and tests agree.
    fn close(&mut self, line: usize) {
        if self.plan == Some(self.counts.total())
            && self.counts.total() > 0
            && !self.run.is_closed()
        {
            self.run.close(self.counts, line);
        }
    }

    /// Reads `# pass 3`, up to `# duration_ms 12.5`, which comes last.
    fn node_number(&mut self, (key, value): (&[u8], &[u8]), line: usize) {
        let count = number(value).unwrap_or(0);
        let node = &mut self.node;
        match key {
            b"tests" => {
                *node = Node {
                    tests: Some(count),
                    ..Node::default()
                }
            }
            b"pass" => node.counts.passed = count,
            b"fail" | b"cancelled" => node.counts.failed += count,
            b"skipped" | b"todo" => node.counts.skipped += count,
            b"duration_ms" if node.tests == Some(node.counts.total()) && is_decimal(value) => {
                let counts = std::mem::take(node).counts;
                // The numbers of the same run are printed twice, by its lines and here.
                if self.run.is_closed() && !self.is_node {
                    self.run.amend(|found| *found = counts);
                } else {
                    self.run.close(counts, line);
                }
                self.is_node = true;
            }
            _ => {}
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Directive {
    None,
    Skip,
    Todo,
}

#[derive(Debug)]
struct Test<'a> {
    is_ok: bool,
    number: u64,
    name: &'a [u8],
    directive: Directive,
}

/// Parses `not ok 2 - name # TODO later`.
fn test(text: &[u8]) -> Option<Test<'_>> {
    let (is_ok, rest) = match text.strip_prefix(b"not ok ") {
        Some(rest) => (false, rest),
        None => (true, text.strip_prefix(b"ok ")?),
    };
    let (number, name) = match counted(rest) {
        Some(found) => found,
        None => (number(rest)?, b"".as_slice()),
    };
    let (name, note) = cut(name, b" # ").unwrap_or((name, b""));
    let (note, _) = word(note);
    let directive = if note.eq_ignore_ascii_case(b"SKIP") || note.starts_with(b"SKIP") {
        Directive::Skip
    } else if note.eq_ignore_ascii_case(b"TODO") {
        Directive::Todo
    } else {
        Directive::None
    };
    let name = name.strip_prefix(b"- ").unwrap_or(name);
    Some(Test {
        is_ok,
        number,
        name,
        directive,
    })
}

/// Returns the number of a plan, without a note behind it.
fn plan_end(rest: &[u8]) -> &[u8] {
    cut(rest, b" ").map_or(rest, |(number, _)| number)
}

/// Parses `# pass 3` or `ℹ pass 3`.
fn node_item(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let item = text
        .strip_prefix(b"# ")
        .or_else(|| text.strip_prefix("ℹ ".as_bytes()))?;
    let (key, value) = cut(item, b" ")?;
    let is_known = matches!(
        key,
        b"tests" | b"pass" | b"fail" | b"cancelled" | b"skipped" | b"todo" | b"duration_ms"
    );
    (is_known && value.first().is_some_and(u8::is_ascii_digit)).then_some((key, value))
}
