//! The issue text for an agent, made from a commit message without hints about the fix.

use std::collections::BTreeSet;

use crate::task::{Issue, IssueSource, Tests};

/// Fewest words of a self-contained text.
const FEW_WORDS: usize = 8;
/// Consecutive words that must not occur in the fix as well.
const RUN: usize = 6;
/// Shortest identifier that can reveal a fix.
const LONG: usize = 6;
/// Names and lines of failing tests that are shown.
const SHOWN: usize = 20;

/// The content that the fix and its tests add.
#[derive(Clone, Debug, Default)]
pub struct Fix<'a> {
    /// Added lines of the source.
    pub source: Vec<&'a str>,
    /// Added lines of the tests.
    pub tests: Vec<&'a str>,
}

/// Writes the issue text of a task. `is_known` returns `true` if an identifier occurs in the base tree.
#[must_use]
pub fn write(
    message: &str,
    source: IssueSource,
    fix: &Fix<'_>,
    tests: &Tests,
    log: &str,
    is_known: impl Fn(&str) -> bool,
) -> (String, Issue) {
    let cleaned = clean(message);
    let in_source = identifiers(fix.source.iter().copied());
    let in_tests = identifiers(fix.tests.iter().copied());
    let in_text = identifiers([cleaned.as_str()].into_iter());
    let relevant = in_source
        .iter()
        .filter(|word| in_text.contains(*word) || in_tests.contains(*word));
    let new: BTreeSet<&&str> = relevant.filter(|word| !is_known(word)).collect();
    let interface: Vec<String> = new
        .iter()
        .filter(|word| in_tests.contains(**word))
        .map(|word| (**word).to_owned())
        .collect();
    let hidden: BTreeSet<&str> = new
        .iter()
        .filter(|word| !in_tests.contains(**word))
        .map(|word| **word)
        .collect();
    let kept = without_runs(&cleaned, &fix.source);
    let (mut text, masked) = mask(&kept, &hidden);
    let mut issue = Issue {
        source,
        masked,
        interface: interface.clone(),
    };
    if text.split_whitespace().count() < FEW_WORDS {
        issue.source = IssueSource::Tests;
        text.push_str("\n\n## Failing tests\n\n");
        for name in tests.fail_to_pass.iter().take(SHOWN) {
            text.push_str(&format!("- `{name}`\n"));
        }
        let lines: Vec<String> = log.lines().filter_map(steady).collect();
        let start = lines.len().saturating_sub(SHOWN);
        let (end, more) = mask(&lines.get(start..).unwrap_or_default().join("\n"), &hidden);
        issue.masked += more;
        text.push_str(&format!("\n```\n{end}\n```\n"));
    }
    if !interface.is_empty() {
        text.push_str("\n\n## Interface\n\nThe tests use these new names:\n\n");
        for name in &interface {
            text.push_str(&format!("- `{name}`\n"));
        }
    }
    let mut text = text.trim().to_owned();
    text.push('\n');
    (text, issue)
}

/// Removes the parts of a test run's line that differ in another run: durations, and the path of its report. Returns
/// `None` for an empty line, or one with only these.
fn steady(line: &str) -> Option<String> {
    let start = line.trim_start_matches(['#', ' ']).to_ascii_lowercase();
    let is_time = ["time=", "time:", "duration"]
        .iter()
        .any(|word| start.starts_with(word));
    if line.trim().is_empty() || is_time || line.contains("/w/out/") {
        return None;
    }
    let word = |word: &str| {
        // A horizontal rule across the terminal is shorter beside a longer duration.
        if word.chars().all(|letter| matches!(letter, '=' | '-' | '_')) {
            return word.chars().take(3).collect();
        }
        let core = word.trim_matches(|letter: char| !letter.is_alphanumeric());
        let number = core.trim_end_matches(char::is_alphabetic);
        let unit = core.strip_prefix(number).unwrap_or_default();
        let is_duration = matches!(unit, "s" | "ms" | "µs" | "ns") && number.parse::<f64>().is_ok();
        if is_duration {
            word.replace(core, "…s")
        } else {
            word.to_owned()
        }
    };
    Some(line.split(' ').map(word).collect::<Vec<_>>().join(" "))
}

/// Removes the parts of a commit message that an issue would not have.
fn clean(message: &str) -> String {
    let trailers = [
        "signed-off-by:",
        "co-authored-by:",
        "pr-url:",
        "reviewed-by:",
        "merge pull request",
        "cc:",
        "change-id:",
    ];
    let mut lines: Vec<String> = Vec::new();
    let mut fence: Option<Vec<String>> = None;
    for line in message.lines() {
        let low = line.trim().to_ascii_lowercase();
        if low.starts_with("```") {
            match fence.take() {
                // A fenced block with lines of a diff is the fix itself.
                Some(held) if held.iter().any(|line| line.starts_with(['+', '-'])) => {}
                Some(held) => lines.extend(held),
                None => fence = Some(Vec::new()),
            }
            continue;
        }
        if trailers.iter().any(|word| low.starts_with(word)) {
            continue;
        }
        let line = line
            .split(' ')
            .filter_map(clean_word)
            .collect::<Vec<_>>()
            .join(" ");
        match &mut fence {
            Some(held) => held.push(line),
            None => lines.push(line),
        }
    }
    if let Some(first) = lines.first_mut() {
        *first = without_prefix(first);
    }
    lines.join("\n").trim().to_owned()
}

/// Removes URLs, issue numbers and hashes.
fn clean_word(word: &str) -> Option<String> {
    let bare = word.trim_matches(|one: char| !one.is_alphanumeric() && one != '#');
    let is_hash = bare.len() >= 7
        && bare.chars().all(|one| one.is_ascii_hexdigit())
        && bare.chars().any(|one| one.is_ascii_digit());
    let is_number = bare
        .strip_prefix('#')
        .is_some_and(|rest| rest.chars().all(|one| one.is_ascii_digit()));
    let is_place = bare.rsplit_once(':').is_some_and(|(file, line)| {
        file.contains('.') && !line.is_empty() && line.chars().all(|one| one.is_ascii_digit())
    });
    let is_address = bare.starts_with("http://") || bare.starts_with("https://");
    (!is_hash && !is_number && !is_place && !is_address).then(|| word.to_owned())
}

/// Removes `fix(x): ` and `[Fix] ` at the beginning.
fn without_prefix(line: &str) -> String {
    let rest = match (line.strip_prefix('['), line.split_once(": ")) {
        (Some(tagged), _) => tagged.split_once("] ").map_or(line, |(_, rest)| rest),
        (None, Some((kind, rest)))
            if kind.len() < 24
                && kind
                    .chars()
                    .all(|one| one.is_ascii_lowercase() || "(),!-_".contains(one)) =>
        {
            rest
        }
        _ => line,
    };
    rest.to_owned()
}

/// Returns the identifiers in code with at least six letters.
fn identifiers<'a>(lines: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
    lines
        .flat_map(|line| line.split(|one: char| !one.is_alphanumeric() && one != '_'))
        .filter(|word| word.len() >= LONG && !word.starts_with(|one: char| one.is_ascii_digit()))
        .collect()
}

/// Removes sentences that share six consecutive words with the added source.
fn without_runs(text: &str, source: &[&str]) -> String {
    let words = |text: &str| -> Vec<String> {
        text.split(|one: char| !one.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_ascii_lowercase)
            .collect()
    };
    let added = words(&source.join("\n"));
    let runs: BTreeSet<&[String]> = added.windows(RUN).collect();
    let keeps = |sentence: &&str| !words(sentence).windows(RUN).any(|run| runs.contains(run));
    let lines = text
        .lines()
        .map(|line| line.split_inclusive(". ").filter(keeps).collect::<String>());
    lines.collect::<Vec<_>>().join("\n")
}

/// Replaces every hidden word by `…`; returns their number.
fn mask(text: &str, hidden: &BTreeSet<&str>) -> (String, u32) {
    let mut count = 0;
    let (mut masked, mut word) = (String::new(), String::new());
    for one in text.chars().chain(['\0']) {
        if one.is_alphanumeric() || one == '_' {
            word.push(one);
            continue;
        }
        if hidden.contains(word.as_str()) {
            masked.push('…');
            count += 1;
        } else {
            masked.push_str(&word);
        }
        word.clear();
        if one != '\0' {
            masked.push(one);
        }
    }
    (masked, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_of_the_same_tests_give_the_same_lines() {
        for (one, other, expected) in [
            (
                "==== 6 failed in 1.09s =====",
                "===== 6 failed in 13.22s ====",
                Some("=== 6 failed in …s ==="),
            ),
            ("finished (12ms)", "finished (7ms)", Some("finished (…s)")),
            ("xml file: /w/out/01a1 --", "xml file: /w/out/01a2 --", None),
            ("# time=12.5ms", "# time=1ms", None),
            ("  duration_ms: 3", "  duration_ms: 4", None),
            (" ", "", None),
            (
                "timeout of 2 items, 1.5 apples",
                "timeout of 2 items, 1.5 apples",
                Some("timeout of 2 items, 1.5 apples"),
            ),
        ] {
            assert_eq!(steady(one).as_deref(), expected, "{one}");
            assert_eq!(steady(other).as_deref(), expected, "{other}");
        }
    }

    #[test]
    fn a_message_becomes_an_issue_that_does_not_tell_the_fix() {
        let tests = Tests {
            fail_to_pass: ["t::it works".to_owned()].into(),
            ..Tests::default()
        };
        let fix = Fix {
            source: vec![
                "fn secretHelper() { publicName() }",
                "// keep the value when the list is empty here",
            ],
            tests: vec!["publicName()"],
        };
        let message = "[Fix] `parse`: publicName via secretHelper loses values of nested lists, see #12\n\n\
            We keep the value when the list is empty. It was wrong since 0123abc4 in all versions.\n\n\
            ```\n+ fn secretHelper()\n```\nFixes https://x.example/1\nSigned-off-by: A <a@b>";
        let (text, issue) = write(message, IssueSource::Commit, &fix, &tests, "", |_| false);
        assert_eq!(
            text,
            "`parse`: publicName via … loses values of nested lists, see\n\nIt was wrong since in all versions.\n\nFixes\n\n## Interface\n\nThe tests use these new names:\n\n- `publicName`\n"
        );
        assert_eq!((issue.masked, issue.source), (1, IssueSource::Commit));
        let (text, issue) = write(
            "fix(core): typo",
            IssueSource::Commit,
            &fix,
            &tests,
            "a\n\nboom",
            |_| true,
        );
        assert!(
            text.starts_with("typo\n\n## Failing tests\n\n- `t::it works`\n\n```\na\nboom\n```"),
            "{text}"
        );
        assert_eq!(issue.source, IssueSource::Tests);
    }
}
