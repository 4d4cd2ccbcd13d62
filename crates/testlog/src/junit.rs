//! JUnit XML reports, alone or in the middle of a log.
//!
//! A report starts with a line that starts with `<testsuites` or `<testsuite`, perhaps behind an XML declaration, and
//! is read up to the end of that element. Test cases are counted rather than the numbers in attributes, which are
//! taken only when there are no test cases; if they report failures that no test case shows, the report is not
//! complete. Entities and document types are never expanded: parsing starts behind them.

use memchr::memchr_iter;
use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event};

use super::run::{Counts, Groups, Names, Passed};
use super::text::{cut, number};
use super::{Part, Runner};

/// Limit of the depth of elements. Reports need five; more would only cost memory.
const MAX_DEPTH: usize = 64;
/// Limit of the attributes of an element that are read.
const MAX_ATTRIBUTES: usize = 64;
/// Limit of the bytes of an attribute that are read.
const MAX_VALUE: usize = 4096;
/// Limit of the bytes of a line that are searched for the root element.
const MAX_DECLARATION: usize = 1024;

/// Returns the position of the root element in a line, if there is one.
pub(super) fn root(line: &[u8]) -> Option<usize> {
    let line = line.get(..MAX_DECLARATION).unwrap_or(line);
    let mut rest = line.trim_ascii_start();
    rest = rest.strip_prefix(b"\xef\xbb\xbf").unwrap_or(rest);
    if rest.starts_with(b"<?xml ") {
        rest = cut(rest, b"?>")?.1.trim_ascii_start();
    }
    let tag = rest.strip_prefix(b"<testsuite")?;
    let tag = tag.strip_prefix(b"s").unwrap_or(tag);
    let is_root = matches!(tag, [] | [b' ' | b'\t' | b'\r' | b'>' | b'/', ..]);
    is_root.then(|| line.len() - rest.len())
}

/// All reports of a log.
#[derive(Debug, Default)]
pub(super) struct Junit {
    counts: Counts,
    names: Names,
    passed: Passed,
    seen: bool,
    broken: bool,
    summary_line: usize,
}

impl Junit {
    /// Reads one report from its root element; returns the number of bytes.
    pub(super) fn document(&mut self, xml: &[u8], line: usize) -> usize {
        let mut reader = Reader::from_reader(xml);
        reader.config_mut().allow_dangling_amp = true;
        let mut report = Report {
            passed: std::mem::take(&mut self.passed),
            ..Report::default()
        };
        let mut place = Place {
            xml,
            position: 0,
            line,
        };
        let whole = report.read(&mut reader, &mut place);
        let used = position(&reader).clamp(1, xml.len().max(1));
        self.seen = true;
        self.summary_line = line;
        self.broken |= whole.is_none() || report.contradicts_itself();
        self.counts.add(report.counts());
        self.names.append(report.names);
        self.passed = report.passed;
        used
    }

    /// Returns the results of all reports together.
    pub(super) fn finish(self) -> Option<Part> {
        self.seen.then(|| Part {
            groups: Groups::default(),
            runner: Runner::JunitXml,
            counts: self.counts,
            failures: self.names.into_failures(),
            passed: self.passed,
            complete: !self.broken,
            summary: self.summary_line,
            earlier_failed: false,
        })
    }
}

#[derive(Debug, Default)]
struct Report {
    /// Counts of test cases, and of errors outside of them.
    found: Counts,
    names: Names,
    passed: Passed,
    case: Option<Case>,
    has_cases: bool,
    /// Numbers on the root element.
    root: Option<Counts>,
    /// Sum of the numbers on its children.
    suites: Counts,
    /// Set if a number in an attribute reports a failure.
    claims_bad: bool,
}

/// A test case that is not yet over.
#[derive(Debug)]
struct Case {
    name: Vec<u8>,
    line: usize,
    outcome: Outcome,
}

/// Outcome of a test case; later variants win over earlier ones if it has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Passed,
    Skipped,
    Error,
    Failed,
}

impl Report {
    /// Reads up to the end of the root element; `None` if it is missing or the XML is broken.
    fn read(&mut self, reader: &mut Reader<&[u8]>, place: &mut Place<'_>) -> Option<()> {
        let mut depth = 0;
        loop {
            let start = position(reader);
            match reader.read_event().ok()? {
                Event::Start(element) => {
                    depth += 1;
                    self.open(&element, depth, || place.line_at(start));
                }
                Event::Empty(element) => {
                    self.open(&element, depth + 1, || place.line_at(start));
                    self.close(element.local_name().as_ref());
                }
                Event::End(element) => {
                    self.close(element.local_name().as_ref());
                    depth -= 1;
                }
                Event::Eof => return None,
                _ => continue,
            }
            match depth {
                0 => return Some(()),
                1..=MAX_DEPTH => {}
                _ => return None,
            }
        }
    }

    fn open(&mut self, element: &BytesStart<'_>, depth: usize, line: impl FnOnce() -> usize) {
        let outcome = match element.local_name().as_ref() {
            b"testsuites" | b"testsuite" => return self.suite(element, depth),
            b"testcase" => {
                self.end_case();
                self.has_cases = true;
                self.case = Some(Case {
                    name: case_name(element),
                    line: line(),
                    outcome: Outcome::Passed,
                });
                return;
            }
            b"failure" => Outcome::Failed,
            b"error" => Outcome::Error,
            b"skipped" => Outcome::Skipped,
            _ => return,
        };
        match &mut self.case {
            Some(case) => case.outcome = case.outcome.max(outcome),
            None if outcome == Outcome::Skipped => {}
            None => self.found.errors += 1,
        }
    }

    fn close(&mut self, name: &[u8]) {
        if name == b"testcase" {
            self.end_case();
        }
    }

    fn end_case(&mut self) {
        let Some(case) = self.case.take() else {
            return;
        };
        match case.outcome {
            Outcome::Passed => {
                self.found.passed += 1;
                self.passed.push(&case.name);
            }
            Outcome::Skipped => self.found.skipped += 1,
            Outcome::Error => self.found.errors += 1,
            Outcome::Failed => self.found.failed += 1,
        }
        if case.outcome >= Outcome::Error {
            self.names.push(&case.name, case.line);
        }
    }

    fn suite(&mut self, element: &BytesStart<'_>, depth: usize) {
        let Some(counts) = attribute_counts(element) else {
            return;
        };
        self.claims_bad |= counts.is_bad();
        match depth {
            1 => self.root = Some(counts),
            2 => self.suites.add(counts),
            _ => {}
        }
    }

    fn counts(&self) -> Counts {
        let mut counts = self.found;
        if !self.has_cases {
            counts.add(self.root.unwrap_or(self.suites));
        }
        counts
    }

    fn contradicts_itself(&self) -> bool {
        self.claims_bad && !self.counts().is_bad()
    }
}

/// Counter of lines for the reader's position.
#[derive(Debug)]
struct Place<'a> {
    xml: &'a [u8],
    position: usize,
    line: usize,
}

impl Place<'_> {
    fn line_at(&mut self, position: usize) -> usize {
        let passed = self.xml.get(self.position..position).unwrap_or_default();
        self.line += memchr_iter(b'\n', passed).count();
        self.position = position;
        self.line
    }
}

fn position(reader: &Reader<&[u8]>) -> usize {
    usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX)
}

/// Parses `tests="9" failures="2" errors="1" skipped="2"`.
fn attribute_counts(element: &BytesStart<'_>) -> Option<Counts> {
    let [tests, failures, errors, skipped] =
        attributes(element, [b"tests", b"failures", b"errors", b"skipped"])
            .map(|value| value.and_then(|value| number(&value)));
    let mut counts = Counts {
        passed: 0,
        failed: failures.unwrap_or(0),
        skipped: skipped.unwrap_or(0),
        errors: errors.unwrap_or(0),
    };
    counts.passed = tests?.saturating_sub(counts.total());
    Some(counts)
}

/// Returns class and test, if they are given.
fn case_name(element: &BytesStart<'_>) -> Vec<u8> {
    let [class, name] = attributes(element, [b"classname", b"name"]).map(Option::unwrap_or_default);
    let parts = [class, name];
    let parts: Vec<&[u8]> = parts
        .iter()
        .map(Vec::as_slice)
        .filter(|part| !part.is_empty())
        .collect();
    parts.join(b" ".as_slice())
}

/// Returns the values of some attributes, bounded and with the five entities of XML resolved.
fn attributes<const N: usize>(element: &BytesStart<'_>, keys: [&[u8]; N]) -> [Option<Vec<u8>>; N] {
    let mut values = [const { None }; N];
    let mut attributes = element.attributes();
    // Comparing every attribute with every other would take quadratic time.
    attributes.with_checks(false);
    for attribute in attributes.take(MAX_ATTRIBUTES).flatten() {
        let key = attribute.key.local_name();
        let slot = keys.iter().position(|known| *known == key.as_ref());
        if let Some(value) = slot.and_then(|slot| values.get_mut(slot)) {
            *value = Some(plain(&attribute.value));
        }
    }
    values
}

fn plain(value: &[u8]) -> Vec<u8> {
    let value = value.get(..MAX_VALUE).unwrap_or(value);
    let text = String::from_utf8_lossy(value);
    match unescape(&text) {
        Ok(plain) => plain.as_bytes().to_vec(),
        Err(_) => text.as_bytes().to_vec(),
    }
}
