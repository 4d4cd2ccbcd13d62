//! Repairs of the demo: shell functions with a bug each, and the success of the scripted model.

use std::fmt::Write as _;
use std::ops::Range;

/// Number of repairs.
pub const COUNT: usize = 30;

/// Repairs that the model never solves.
const TOO_HARD: [usize; 3] = [3, 12, 21];

/// Number of wrong proposals before the right one, by the week of the repair: the model improves.
const MISSES: [usize; 6] = [2, 2, 1, 1, 0, 0];

pub const A_WEEK: usize = 5;

/// Bugs of the first week that come back in the fifth, so that the two can be compared: one is mended now and was not
/// then, one the other way round.
const BACK: Range<usize> = 20..25;

/// How `test.sh` begins: it prints a JUnit report. A case a line follows.
const TEST_HEAD: &str = r#"#!/bin/sh
# Tries every helper once and prints a JUnit report.
. ./text.sh
failed=0
check() {
  if [ "$3" = "$2" ]; then
    echo "  <testcase name=\"$1\"/>"
  else
    failed=1
    echo "  <testcase name=\"$1\"><failure message=\"expected $2, found $3\"/></testcase>"
  fi
}
echo '<testsuite name="text">'
"#;

/// End of `test.sh`.
const TEST_TAIL: &str = r#"echo '</testsuite>'
exit "$failed"
"#;

/// A function, its right body, three wrong ones with a user's report of each, and a test case.
struct Function {
    name: &'static str,
    right: &'static str,
    wrong: [(&'static str, &'static str); 3],
    case: (&'static str, &'static str),
}

const FUNCTIONS: [Function; 10] = [
    Function {
        name: "upper",
        right: "printf '%s' \"$1\" | tr a-z A-Z",
        wrong: [
            (
                "leaves the letter z alone",
                "printf '%s' \"$1\" | tr a-y A-Y",
            ),
            ("makes everything small", "printf '%s' \"$1\" | tr A-Z a-z"),
            ("prints nothing", ":"),
        ],
        case: ("lazy fox", "LAZY FOX"),
    },
    Function {
        name: "lower",
        right: "printf '%s' \"$1\" | tr A-Z a-z",
        wrong: [
            (
                "leaves the letter Z alone",
                "printf '%s' \"$1\" | tr A-Y a-y",
            ),
            ("makes everything large", "printf '%s' \"$1\" | tr a-z A-Z"),
            ("changes nothing", "printf '%s' \"$1\""),
        ],
        case: ("Lazy FOX Z", "lazy fox z"),
    },
    Function {
        name: "slug",
        right: "printf '%s' \"$1\" | tr A-Z a-z | tr -s ' ' '-'",
        wrong: [
            (
                "doubles dashes",
                "printf '%s' \"$1\" | tr A-Z a-z | tr ' ' '-'",
            ),
            ("keeps large letters", "printf '%s' \"$1\" | tr -s ' ' '-'"),
            (
                "uses underscores",
                "printf '%s' \"$1\" | tr A-Z a-z | tr -s ' ' '_'",
            ),
        ],
        case: ("Two  Words", "two-words"),
    },
    Function {
        name: "words",
        right: "printf '%s\\n' \"$1\" | wc -w | tr -d ' '",
        wrong: [
            (
                "counts letters",
                "printf '%s\\n' \"$1\" | wc -c | tr -d ' '",
            ),
            ("counts lines", "printf '%s\\n' \"$1\" | wc -l | tr -d ' '"),
            ("always says 0", "echo 0"),
        ],
        case: ("one two  three", "3"),
    },
    Function {
        name: "first",
        right: "printf '%s' \"${1%% *}\"",
        wrong: [
            ("prints all but the last word", "printf '%s' \"${1% *}\""),
            ("prints the last word", "printf '%s' \"${1##* }\""),
            ("prints every word", "printf '%s' \"$1\""),
        ],
        case: ("one two three", "one"),
    },
    Function {
        name: "last",
        right: "printf '%s' \"${1##* }\"",
        wrong: [
            ("prints all but the first word", "printf '%s' \"${1#* }\""),
            ("prints the first word", "printf '%s' \"${1%% *}\""),
            ("prints every word", "printf '%s' \"$1\""),
        ],
        case: ("one two three", "three"),
    },
    Function {
        name: "squeeze",
        right: "printf '%s' \"$1\" | tr -s ' '",
        wrong: [
            ("removes every space", "printf '%s' \"$1\" | tr -d ' '"),
            ("changes nothing", "printf '%s' \"$1\""),
            ("writes underscores", "printf '%s' \"$1\" | tr -s ' ' '_'"),
        ],
        case: ("far   away", "far away"),
    },
    Function {
        name: "digits",
        right: "printf '%s' \"$1\" | tr -cd 0-9",
        wrong: [
            ("loses zeros", "printf '%s' \"$1\" | tr -cd 1-9"),
            ("prints all but digits", "printf '%s' \"$1\" | tr -d 0-9"),
            ("changes nothing", "printf '%s' \"$1\""),
        ],
        case: ("a1b20", "120"),
    },
    Function {
        name: "size",
        right: "printf '%s' \"${#1}\"",
        wrong: [
            ("is ten times too large", "printf '%s' \"${#1}0\""),
            (
                "counts the line end",
                "printf '%s\\n' \"$1\" | wc -c | tr -d ' '",
            ),
            ("prints the text", "printf '%s' \"$1\""),
        ],
        case: ("seven", "5"),
    },
    Function {
        name: "extension",
        right: "printf '%s' \"${1##*.}\"",
        wrong: [
            ("prints both endings of a.tar.gz", "printf '%s' \"${1#*.}\""),
            (
                "prints the name without its ending",
                "printf '%s' \"${1%.*}\"",
            ),
            ("prints the whole name", "printf '%s' \"$1\""),
        ],
        case: ("a.tar.gz", "gz"),
    },
];

/// One reported bug.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    pub number: usize,
    /// Name of the function.
    pub function: &'static str,
    /// Report of a user.
    pub issue: String,
    /// `text.sh` with the bug.
    pub file: String,
}

/// Returns a bug by its number.
#[must_use]
pub fn repair(number: usize) -> Option<Repair> {
    let (function, variant) = place(number)?;
    let (complaint, body) = function.wrong.get(variant)?;
    Some(Repair {
        number,
        function: function.name,
        issue: format!("`{}` {complaint}.\n", function.name),
        file: with_body(function.name, body),
    })
}

fn place(number: usize) -> Option<(&'static Function, usize)> {
    let bug = match BACK.contains(&number) {
        true => number - BACK.start,
        false => number,
    };
    let function = FUNCTIONS.get(bug % FUNCTIONS.len())?;
    Some((function, bug / FUNCTIONS.len()))
}

/// Returns `text.sh` with every function right except this one, which has this body.
#[must_use]
pub fn with_body(name: &str, body: &str) -> String {
    let mut text = String::from("# Small helpers for text.\n");
    for function in &FUNCTIONS {
        let body = if function.name == name {
            body
        } else {
            function.right
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{}() {{\n  {body}\n}}", function.name);
    }
    text
}

/// Returns the proposal of the scripted model at an attempt, counted from 0.
#[must_use]
pub fn proposal(number: usize, attempt: usize) -> &'static str {
    let Some((function, variant)) = place(number) else {
        return ":";
    };
    let misses = MISSES.get(number / A_WEEK).copied().unwrap_or(0);
    if attempt >= misses && !TOO_HARD.contains(&number) {
        return function.right;
    }
    // A different wrong body than the reported one.
    let other = (variant + 1 + attempt % 2) % function.wrong.len();
    function.wrong.get(other).map_or(":", |(_, body)| *body)
}

/// Returns `test.sh`.
#[must_use]
pub fn test() -> String {
    let line = |Function { name, case, .. }: &Function| {
        let (input, expected) = case;
        format!("check {name} '{expected}' \"$({name} '{input}')\"\n")
    };
    let cases: String = FUNCTIONS.iter().map(line).collect();
    format!("{TEST_HEAD}{cases}{TEST_TAIL}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_different_bugs_as_it_says() {
        let all: std::collections::BTreeSet<String> = (0..COUNT)
            .map(|number| repair(number).unwrap().issue)
            .collect();
        assert_eq!(all.len(), COUNT - BACK.len());
        assert_eq!(repair(23).unwrap().issue, repair(3).unwrap().issue);
        let is_mended = |number: usize| !TOO_HARD.contains(&number);
        assert!(is_mended(1) && !is_mended(21) && !is_mended(3) && is_mended(23));
        assert_eq!(repair(COUNT), None);
    }

    #[test]
    fn proposals_get_better_and_some_never_do() {
        let right = |number: usize, attempt: usize| {
            let body = proposal(number, attempt);
            place(number).unwrap().0.right == body
        };
        assert!(!right(0, 0) && !right(0, 1) && right(0, 2));
        assert!(right(29, 0));
        assert!((0..9).all(|attempt| !right(3, attempt)));
    }
}
