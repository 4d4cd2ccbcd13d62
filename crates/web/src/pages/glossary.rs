//! The terms of the pages, each in a sentence or two: behind a `?` beside the term, and all of them on one page.

use std::fmt;
use std::sync::Arc;

use askama::Template;
use askama::filters::HtmlSafe;
use axum::extract::State;
use axum::response::Response;

use super::frame::{Frame, Visit, show};
use crate::api::Desk;
use present::topics::{TOPICS, Topic};

/// Name in templates, the term, its meaning. None of them contains a quote or an angle bracket.
const TERMS: &[(&str, &str, &str)] = &[
    (
        "acceptance",
        "Acceptance",
        "Four criteria over the verified tasks: how many are solved, policy violations, evidence coverage and rollback correctness. The evidence counts as accepted only when all hold, there are enough tasks, and the ledger misses nothing.",
    ),
    (
        "agreement",
        "Agreement",
        "A probe asks the general model the same question that an adapter has answered and compares both answers. Agreement is the share of probes in which they were the same.",
    ),
    (
        "approval",
        "Approval",
        "A refused act has an id. A person can allow exactly this act, once and for a short time; any other act, also a similar one, is refused again.",
    ),
    (
        "bundle",
        "Task and bundle",
        "When a session of an agent ends, its prompt, calls, diff and test log are sealed as one signed file, the bundle. One bundle is one task on these pages.",
    ),
    (
        "checkpoint",
        "Checkpoint",
        "A signed statement of how many bundles the ledger has and of their common hash. Keep one on another machine: it shows later whether the ledger was cut or rewritten.",
    ),
    (
        "contest",
        "Run",
        "Several candidates answer the same input. A verifier checks each answer; of those that pass, the one with the largest reward wins.",
    ),
    (
        "coverage",
        "Evidence coverage",
        "The share of solved tasks whose bundle holds a spec, a diff and a test log.",
    ),
    (
        "evidence",
        "Evidence against a version",
        "A running test over all probes. It grows with each disagreement beyond the allowed rate; at the limit the version is halted. It holds at any number of looks, so that checking often does no harm.",
    ),
    (
        "exam",
        "Exam",
        "A set of cases with known answers that a version has to pass before it may serve. The short code is the beginning of the hash of the exam.",
    ),
    (
        "gate",
        "Gate",
        "The rules that each tool call of an agent is put to before it runs: allow, ask a person, or refuse.",
    ),
    (
        "grant",
        "Grant",
        "A standing permission for one kind of act, with an end, a number of uses or a scope. An approval is for one act only.",
    ),
    (
        "halt",
        "Halt",
        "A halted version gets no more inputs; the general model answers instead until a person clears the halt.",
    ),
    (
        "ledger",
        "Ledger",
        "An append-only list of the hashes of all bundles, as a Merkle tree. A bundle that is removed or changed later no longer fits.",
    ),
    (
        "level",
        "Levels L0 to L3",
        "How far a version is proved. L0: registered only. L1: passed an exam. L2: also won contests against the general model. L3: also agreed with the general model in the field. Only L1 and above can be promoted.",
    ),
    (
        "lock",
        "Lock",
        "The catalog keeps a hash of the text of every role and version. Locked: the text is the one that was recorded. Changed: the text differs, and the version was not raised.",
    ),
    (
        "mode",
        "Mode",
        "How much freedom an agent has: off, restricted, approved or autonomous, each with its lists of tools and budgets.",
    ),
    (
        "proof",
        "Run of a suite",
        "An agent works on every task of a suite, each in a box of its own; what it made is graded in a fresh copy. The verdict says what the counts support, and for which tasks.",
    ),
    (
        "quota",
        "Quota",
        "The largest share of the latest inputs of a role that adapters may answer. The rest goes to the general model.",
    ),
    (
        "refused",
        "Refusals of a model",
        "Answers that decline the task, such as: I cannot help with that. Such an answer may still have the right format, so that the verifier passes it; the reward is lowered, and it does not win.",
    ),
    (
        "regression",
        "Retries and regressions",
        "A retry repeats a failed call without a change in between. A regression is a task that was solved before and is not solved when it is tried again.",
    ),
    (
        "reward",
        "Reward and cost of a run",
        "The reward is quality minus cost minus a penalty for refusals, by the metric of this workspace. The cost in a run is a number of that metric, made of time, tokens and price. It is not a sum of money.",
    ),
    (
        "rollback",
        "Rollback",
        "In autonomous mode a violation returns the files to their state at the start of the session. Correct means that everything compared was the same again.",
    ),
    (
        "session",
        "Session",
        "One conversation with an agent, as the hook saw it: prompts, calls, decisions, results. It is kept as a journal and sealed when it ends.",
    ),
    (
        "threshold",
        "Threshold",
        "The gate sends an input to a version only if the calibrated probability of an acceptable answer is at least this.",
    ),
    (
        "traffic",
        "Requests of the gateway",
        "Every request to the models below /v1 leaves one line: who was asked, who answered, how long it took, and the tokens.",
    ),
    (
        "verdict",
        "Verdicts",
        "allow: it ran. advise: it ran, with a note. watch: it ran under supervision. ask: a person was asked. deny: it was refused.",
    ),
    (
        "winners",
        "Winners",
        "How evenly the contests were won. If one model wins nearly all, the others teach little.",
    ),
];

/// A `?` that opens the meaning of a term. It needs no script.
pub(super) struct Help(&'static str);

impl Help {
    pub(super) fn of(name: &'static str) -> Self {
        Self(name)
    }
}

impl HtmlSafe for Help {}

impl fmt::Display for Help {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((name, term, meaning)) = TERMS.iter().find(|(name, ..)| *name == self.0) else {
            return Ok(());
        };
        write!(
            f,
            r#"<button type="button" class="help" popovertarget="about-{name}" aria-label="About: {term}">?</button><span popover id="about-{name}"><strong>{term}.</strong> {meaning}</span>"#
        )
    }
}

#[derive(Template)]
#[template(path = "pages/help.html")]
struct Page {
    frame: Frame,
    terms: &'static [(&'static str, &'static str, &'static str)],
    topics: &'static [Topic],
}

pub(super) async fn page(State(desk): State<Arc<Desk>>, visit: Visit) -> Response {
    show(&desk, visit, "", |_, visit| {
        Ok(Page {
            frame: visit.frame("", "Terms and documents"),
            terms: TERMS,
            topics: TOPICS,
        })
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every `frame.help("…")` of a template names a term, every name is unique, and every term is used.
    #[test]
    fn templates_and_terms_fit() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/templates/pages");
        let mut used = std::collections::BTreeSet::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let mut here = std::collections::BTreeSet::new();
            for part in text.split("frame.help(\"").skip(1) {
                let name = part.split('"').next().unwrap().to_owned();
                assert!(
                    TERMS.iter().any(|(known, ..)| *known == name),
                    "{name} in {path:?}"
                );
                assert!(here.insert(name.clone()), "{name} twice in {path:?}");
                used.insert(name);
            }
        }
        for (name, term, meaning) in TERMS {
            assert!(used.contains(*name), "no page explains {name}");
            assert!(
                !format!("{name}{term}{meaning}").contains(['<', '>', '"', '&']),
                "{name}"
            );
        }
    }
}
