//! A second opinion on a call that broke no rule of its contract. A caller with network access gives it; this module
//! only gathers its input.

use ::contracts::{Level, Note, advice};
use serde_json::Value;
use specialist::conformance::question;

use super::desk::Desk;
use crate::agents::{Answer, Event};
use crate::contracts;
use base::config::Config;
use base::environment::Environment;
use base::workspace::Workspace;
use evidence::journal::capture;

/// Longest part of a contract that is quoted.
const MAX_QUOTE: usize = 300;

/// A call for a second opinion.
#[derive(Clone, Debug)]
pub struct Consultation {
    pub workspace: Workspace,
    /// Settings of the workspace.
    pub config: Config,
    /// The environment variables.
    pub environment: Environment,
    /// Question for the specialist.
    pub question: Value,
}

/// Gives a second opinion: the name of the specialist that considers the call a breach of contract, or `None`. It has
/// to be quick.
pub type Ceiling<'a> = &'a dyn Fn(Consultation) -> Option<String>;

/// Asks about a call that may proceed, and converts an objection into advice. It never blocks.
pub(super) fn consult(desk: &Desk<'_>, event: &Event, ceiling: Ceiling<'_>) -> Answer {
    let Some((consultation, contract)) = gather(desk, event) else {
        return Answer::Proceed;
    };
    let objection = ceiling(consultation).map(|version| Note {
        level: Level::Contract,
        text: format!("the specialist `{version}` says that it breaks its contract: {contract}"),
    });
    let advice = objection.and_then(|note| advice(&event.tool, &[note]));
    advice.map_or(Answer::Proceed, Answer::Advise)
}

/// Gathers the input. Returns `None` for a tool without a contract, and for a call that could not be shown whole.
/// Secrets are not included.
fn gather(desk: &Desk<'_>, event: &Event) -> Option<(Consultation, String)> {
    let source = contracts::Source::of(&desk.workspace).ok()?;
    let contract = source.written(&event.tool)?;
    let call = capture::input(&event.input);
    if call.capped {
        return None;
    }
    let prose = contract.get("contract").and_then(Value::as_str);
    let quoted = prose.unwrap_or("see its catalogue").trim_end_matches('.');
    let quoted = quoted.chars().take(MAX_QUOTE).collect();
    let consultation = Consultation {
        workspace: desk.workspace.clone(),
        config: desk.config.clone(),
        environment: desk.environment.clone(),
        question: question(&event.tool, &contract, &call.value, None),
    };
    Some((consultation, quoted))
}
