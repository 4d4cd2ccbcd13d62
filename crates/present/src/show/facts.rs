//! Short facts of a replay, in words that text and page share. Every value is already clean.

use std::borrow::Cow;

use testlog::Reading;
use witness::bundle::{Contents, Reason, section_name};
use witness::cost::is_known as cost_is_known;
use witness::evidence::Verdict;
use witness::extension::{Chain, ExtensionTag, Rollback};
use witness::policy::Policy;
use witness::replay::Agreement;
use witness::wire::{Outcome, Tag};

use super::clean;
use super::replay_view::ReplayView;
use super::units::{cost, counted, dollars, duration, grouped, time};

/// Limit of unknown sections that are listed one by one.
const MAX_LISTED_SECTIONS: usize = 8;

/// Text for the largest number of a budget, which means no limit.
const NO_LIMIT: &str = "no limit";

/// Rating of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// No rating.
    Plain,
    /// The expected state.
    Good,
    /// A state that needs attention.
    Warn,
    /// A wrong state.
    Bad,
}

impl Tone {
    /// Returns the stable name, which is a class on the page.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Good => "good",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }

    /// Returns one character with the same meaning as the colour.
    #[must_use]
    pub fn mark(self) -> char {
        match self {
            Self::Plain => '·',
            Self::Good => '✔',
            Self::Warn => '!',
            Self::Bad => '✘',
        }
    }
}

/// A name and a value.
#[derive(Clone, Debug)]
pub struct Fact {
    pub name: Cow<'static, str>,
    /// Clean value, in one line.
    pub value: String,
    /// Rating of the fact.
    pub tone: Tone,
    /// Kind of the value.
    pub shape: Shape,
}

/// Kind of a fact's value, for the layout of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A word or a number.
    Short,
    /// A hash or similar, which is compared character by character.
    Code,
    Sentence,
}

impl Fact {
    fn new(name: impl Into<Cow<'static, str>>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
            tone: Tone::Plain,
            shape: Shape::Short,
        }
    }

    fn code(name: &'static str, value: impl Into<String>) -> Self {
        Self {
            shape: Shape::Code,
            ..Self::new(name, value)
        }
    }

    fn sentence(name: &'static str, value: impl Into<String>) -> Self {
        Self {
            shape: Shape::Sentence,
            ..Self::new(name, value)
        }
    }

    fn toned(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}

/// A prominent statement.
#[derive(Clone, Debug)]
pub struct Banner {
    /// Rating of the statement.
    pub tone: Tone,
    /// Headline of a few words.
    pub headline: &'static str,
    /// Explanation in one or two sentences.
    pub sentence: String,
}

/// Returns the banner about the signature of the bundle.
#[must_use]
pub fn signature_banner(view: &ReplayView<'_>) -> Banner {
    let (tone, headline) = match view.verdict {
        Verdict::Valid if view.warnings.is_empty() => (Tone::Good, "Valid signature"),
        Verdict::Valid => (Tone::Good, "Valid signature, with warnings"),
        Verdict::Unsigned { required: false } => (Tone::Warn, "Unsigned"),
        Verdict::Unsigned { required: true } => (Tone::Bad, "Signature missing"),
        Verdict::Unchecked => (Tone::Warn, "Signature not checked"),
        Verdict::BadSignature(_) => (Tone::Bad, "Bad signature"),
        Verdict::Malformed(_) => (Tone::Bad, "Malformed bundle"),
    };
    Banner {
        tone,
        headline,
        sentence: sentence(&clean::name(view.verdict.explain().as_bytes())),
    }
}

/// Returns the signers, the warnings, and the digest of the bundle in ledgers.
#[must_use]
pub fn signature(view: &ReplayView<'_>) -> Vec<Fact> {
    let signers = [
        ("HMAC-SHA256", view.signers.hmac),
        ("Ed25519", view.signers.ed25519),
    ];
    let mut facts: Vec<Fact> = signers
        .into_iter()
        .filter_map(|(scheme, key)| key.map(|key| (scheme, key)))
        .map(|(scheme, key)| Fact::code("signed by", format!("{scheme} key {key}")))
        .collect();
    if facts.is_empty() {
        let nobody = match view.verdict {
            Verdict::Unsigned { .. } => "nobody",
            _ => "nobody who is known here",
        };
        facts.push(Fact::new("signed by", nobody));
    }
    let warnings = view.warnings.iter();
    facts.extend(warnings.map(|reason| Fact::new("warning", warning(*reason)).toned(Tone::Warn)));
    facts.push(Fact::code("sha256", hex::encode(view.sha256)));
    facts
}

/// Returns the facts about the task: its id, outcome and resources.
#[must_use]
pub fn task(view: &ReplayView<'_>) -> Vec<Fact> {
    let contents = view.contents;
    let header = contents.header();
    let latency = u64::from(header.total_latency_ms);
    let known = cost_is_known(&contents.extensions().provenance);
    let mut facts = vec![
        Fact::code("task id", header.task_id.to_string()),
        outcome(contents),
        mode(contents),
        Fact::new("created", time(header.created_ns)),
        Fact::new("cost", cost(header.total_cost_microdollars, known)),
        Fact::new("tokens", grouped(header.total_tokens)),
        Fact::new("latency", duration(latency)),
        Fact::new("tool calls", grouped(contents.totals().calls as u64)),
        Fact::new("retries", grouped(header.retry_count)),
        evidence(contents),
    ];
    facts.extend(unknown_sections(contents));
    facts
}

/// Returns the facts about the policy of the agent.
#[must_use]
pub fn policy(view: &ReplayView<'_>) -> Vec<Fact> {
    let hash = view.contents.header().policy_hash;
    let mut facts = vec![Fact::code("policy hash", hex::encode(hash))];
    if let Some(policy) = &view.contents.extensions().policy {
        if let Ok(digest) = policy.digest() {
            facts.push(Fact::code("policy sha256", hex::encode(digest)));
        }
        facts.extend(policy_terms(policy));
    } else if let Some(policy) = Policy::published(hash) {
        let text = format!("the published one of {} mode", policy.mode.name());
        facts.push(Fact::new("policy", text));
        facts.extend(policy_terms(&policy));
    } else {
        facts.push(Fact::new(
            "policy",
            "not in the bundle, and none that is published",
        ));
    }
    facts
}

/// Returns the facts about the origin of the bundle; `call 9` comes before `call 10`.
#[must_use]
pub fn provenance(view: &ReplayView<'_>) -> Vec<Fact> {
    let facts = view.contents.extensions().provenance.iter();
    // The mode is among the facts of the task.
    let mut facts: Vec<_> = facts.filter(|(name, _)| **name != MODE).collect();
    facts.sort_by_cached_key(|(name, _)| natural_key(name));
    facts
        .into_iter()
        .map(|(name, value)| {
            let name = clean::name(name.as_bytes()).into_owned();
            Fact::new(name, clean::name(value.as_bytes()))
        })
        .collect()
}

/// Name of the fact with the mode of the session's governance.
const MODE: &str = "mode";

/// Returns the text with its runs of digits as numbers, so that names sort naturally.
fn natural_key(name: &str) -> Vec<(String, u64)> {
    let mut parts: Vec<(String, u64)> = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| letter.is_ascii_digit());
        let (text, behind) = rest.split_at(digits.unwrap_or(rest.len()));
        let end = behind.find(|letter: char| !letter.is_ascii_digit());
        let (number, behind) = behind.split_at(end.unwrap_or(behind.len()));
        parts.push((text.to_owned(), number.parse().unwrap_or(0)));
        rest = behind;
    }
    parts
}

/// Returns breaches, returns to an earlier state, and the position in the chain.
#[must_use]
pub fn conduct(view: &ReplayView<'_>) -> Vec<Fact> {
    let extensions = view.contents.extensions();
    let mut facts = violations(view.contents);
    if extensions.rollbacks.is_empty() {
        facts.push(Fact::new("rollbacks", "none"));
    }
    facts.extend(extensions.rollbacks.iter().map(rollback));
    match &extensions.chain {
        Some(chain) => facts.extend(chain_place(chain)),
        None => facts.push(Fact::new("chain", "not stated")),
    }
    facts
}

/// Returns the banner about the agreement of the outcome with the test log.
#[must_use]
pub fn closing_banner(view: &ReplayView<'_>) -> Banner {
    let outcome = view.contents.outcome().name();
    let (tone, headline) = match &view.check.agreement {
        Agreement::Agrees => (Tone::Good, "The outcome agrees with the test log"),
        Agreement::Contradicts => (Tone::Bad, "The outcome contradicts the test log"),
        Agreement::CannotTell(_) => (Tone::Warn, "Cannot tell whether the outcome is true"),
    };
    let shown = match (&view.check.reading, &view.check.agreement) {
        (Some(reading), _) => format!("{} shows {}", reading.runner.name(), counts(reading)),
        (None, Agreement::CannotTell(why)) => (*why).to_owned(),
        (None, _) => "there is no test log".to_owned(),
    };
    let mut sentence = format!("The bundle says {outcome}; {shown}.");
    if let (Some(_), Agreement::CannotTell(why)) = (&view.check.reading, &view.check.agreement) {
        sentence.push_str(&format!(" {}", self::sentence(why)));
    }
    if view
        .check
        .reading
        .as_ref()
        .is_some_and(|reading| !reading.complete)
    {
        sentence.push_str(" The log is not that of a whole run.");
    }
    // The author of the outcome also writes the log: without a valid signature, both may be made up.
    if *view.verdict != Verdict::Valid {
        sentence.push_str(" Nobody who is trusted here vouches for either.");
    }
    Banner {
        tone,
        headline,
        sentence,
    }
}

/// Returns the counts of a test log as text.
fn counts(reading: &Reading) -> String {
    let numbers = [
        (reading.passed, "passed"),
        (reading.failed, "failed"),
        (reading.errors, "broken"),
        (reading.skipped, "skipped"),
    ];
    let mut words: Vec<String> = numbers
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{} {what}", grouped(number)))
        .collect();
    if words.is_empty() {
        words.push("no test at all".to_owned());
    }
    words.join(", ")
}

fn outcome(contents: &Contents<'_>) -> Fact {
    let raw = contents.header().outcome;
    let tone = match Outcome::from_wire(raw) {
        Some(Outcome::Solved) => Tone::Good,
        Some(Outcome::Failed) | None => Tone::Bad,
        Some(Outcome::Skipped | Outcome::Error) => Tone::Warn,
    };
    let known = Outcome::from_wire(raw).map(|outcome| outcome.name().to_owned());
    let value = known.unwrap_or_else(|| format!("{raw}, a number without a meaning"));
    Fact::new("outcome", value).toned(tone)
}

fn mode(contents: &Contents<'_>) -> Fact {
    let raw = contents.header().mode;
    if contents
        .extensions()
        .provenance
        .get(MODE)
        .map(|mode| &**mode)
        == Some("off")
    {
        return Fact::new("mode", "off: no mode governed the session");
    }
    match contents.mode() {
        Some(mode) => Fact::new("mode", mode.name()),
        None => Fact::new("mode", format!("{raw}, a number without a meaning")).toned(Tone::Bad),
    }
}

fn evidence(contents: &Contents<'_>) -> Fact {
    let missing: Vec<&str> = [
        (Tag::Spec, "spec"),
        (Tag::Diff, "diff"),
        (Tag::TestLog, "test log"),
    ]
    .into_iter()
    .filter(|(tag, _)| contents.section(*tag).is_none())
    .map(|(_, name)| name)
    .collect();
    if missing.is_empty() {
        return Fact::new("evidence", "complete");
    }
    let value = format!("incomplete: no {}", missing.join(", no "));
    Fact::new("evidence", value).toned(Tone::Warn)
}

/// Returns the sections that a replay does not show, so that it is not mistaken for the whole bundle.
fn unknown_sections(contents: &Contents<'_>) -> Option<Fact> {
    let is_shown = |tag| Tag::from_wire(tag).is_some() || ExtensionTag::from_wire(tag).is_some();
    let unknown = || {
        contents
            .sections()
            .filter(move |section| !is_shown(section.tag))
    };
    let mut listed: Vec<String> = unknown()
        .take(MAX_LISTED_SECTIONS)
        .map(|section| {
            let length = counted(section.value.len() as u64, "byte");
            format!("{} ({length})", section_name(section.tag))
        })
        .collect();
    let rest = unknown().skip(MAX_LISTED_SECTIONS).count();
    if rest > 0 {
        listed.push(format!("and {} more", grouped(rest as u64)));
    }
    (!listed.is_empty()).then(|| Fact::sentence("not shown", listed.join(", ")).toned(Tone::Warn))
}

fn policy_terms(policy: &Policy) -> [Fact; 4] {
    let tools = |list: &[String], none: &str| match list {
        [] => none.to_owned(),
        list => {
            let names = list.iter().map(|tool| clean::name(tool.as_bytes()));
            names.collect::<Vec<_>>().join(", ")
        }
    };
    [
        Fact::new("allowed tools", tools(&policy.allowed_tools, "no list")),
        Fact::new("denied tools", tools(&policy.denied_tools, "none")),
        Fact::new(
            "most cost",
            match policy.max_cost_microdollars {
                u32::MAX => NO_LIMIT.to_owned(),
                cost => dollars(cost),
            },
        ),
        Fact::new(
            "most calls",
            match policy.max_tool_calls {
                u16::MAX => NO_LIMIT.to_owned(),
                calls => grouped(calls),
            },
        ),
    ]
}

fn violations(contents: &Contents<'_>) -> Vec<Fact> {
    let Some(violations) = &contents.extensions().violations else {
        return vec![Fact::new("violations", "not stated")];
    };
    if violations.count == 0 {
        return vec![Fact::new("violations", "none").toned(Tone::Good)];
    }
    let count = Fact::new("violations", grouped(violations.count)).toned(Tone::Bad);
    let listed = violations.listed.iter().map(|violation| {
        // Calls are numbered from 1.
        let call = grouped(u64::from(violation.call) + 1);
        let text = clean::name(violation.text.as_bytes());
        Fact::sentence("violation", format!("call {call}: {text}")).toned(Tone::Bad)
    });
    std::iter::once(count).chain(listed).collect()
}

fn rollback(rollback: &Rollback) -> Fact {
    let clean = |text: &str| clean::name(text.as_bytes()).into_owned();
    let (wanted, found) = (clean(&rollback.wanted), clean(&rollback.found));
    let (mut value, tone) = if rollback.restored {
        (format!("restored to {wanted}"), Tone::Good)
    } else {
        let value = format!("not restored: wanted {wanted}, found {found}");
        (value, Tone::Bad)
    };
    if !rollback.kept.is_empty() {
        value.push_str(&format!(
            "; the undone work is kept at {}",
            clean(&rollback.kept)
        ));
    }
    Fact::sentence("rollback", value).toned(tone)
}

fn chain_place(chain: &Chain) -> Vec<Fact> {
    if chain.sequence == 0 {
        return vec![Fact::new("chain", "first of its writer")];
    }
    let place = grouped(chain.sequence.saturating_add(1));
    vec![
        Fact::new("chain", format!("number {place} of its writer")),
        Fact::code("bundle before", hex::encode(chain.previous)),
    ]
}

/// Returns the meaning of a warning for people, after its stable name.
fn warning(reason: Reason) -> String {
    let meaning = match reason {
        Reason::TooShort => "fewer bytes than a header",
        Reason::BadMagic => "the file does not start like a bundle",
        Reason::UnsupportedVersion => "a version of the format that is not known here",
        Reason::SizeMismatch => "the stated size is larger than the file",
        Reason::TotalTooSmall => "the stated size has no room for header and signature",
        Reason::BadEnum => "an outcome or mode without a meaning",
        Reason::SectionOverflow => "a section runs past the end",
        Reason::StraySectionBytes => "bytes between the last section and the end",
        Reason::DuplicateSection => "the same section twice; the last one is shown",
        Reason::SectionCountMismatch => "the header states another number of sections",
        Reason::FlagMismatch => "the header announces other sections",
        Reason::TraceMalformed => "a tool call that cannot be read; the calls before it are shown",
        Reason::ToolCallCountMismatch => "the header states another number of tool calls",
        Reason::ExtensionMalformed => "a section of ours that cannot be read",
        Reason::PolicyMismatch => "the policy shown is not the one that the header names",
        Reason::TrailingBytes => "bytes after the end of the bundle, which nobody signed",
        Reason::TotalsMismatch => "cost, latency or tokens are not the sums of the calls",
        Reason::PadNonzero => "a pad byte that is not 0",
        Reason::ToolCallCountWrapped => "more calls than the header can count",
        Reason::UnknownSigner => "an Ed25519 signature by a key that is not known here",
        Reason::UncheckedHmac => "the HMAC tag was not checked, so anybody may have changed it",
    };
    format!("{}: {meaning}", reason.name())
}

/// Turns a fragment into a sentence.
fn sentence(fragment: &str) -> String {
    let mut chars = fragment.chars();
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    first.chain(chars).chain(['.']).collect()
}
