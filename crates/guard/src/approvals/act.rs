//! The act that an approval binds: its exact form, and the form without secrets that people see.

use std::path::Path;

use oversight::decide::Call;
use oversight::tools;
use redact::Known;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Id;
use base::repository::State;
use evidence::journal::capture;

/// Prefix of the hashed bytes, so that the hash cannot be used for anything else.
const CONTEXT: &[u8] = b"roleos act v2\n";
/// Prefix for the hash of the exact act.
const EXACT: &[u8] = b"roleos exact act v2\n";

/// Everything that identifies an act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Act {
    /// The tool, by the agent's name for it.
    pub tool: String,
    /// The command, or the arguments of another tool as JSON.
    pub command: String,
    /// Its effect, from [`oversight::act::Act::lines`]: each action, its program, its resolved words, and its
    /// directory.
    pub facts: Vec<String>,
    /// Ids of the gated actions, sorted.
    pub actions: Vec<String>,
    /// Directory in which it would run.
    pub directory: String,
    /// The repositories of all directories of the act, in order.
    pub repositories: Vec<State>,
}

impl Act {
    /// Returns the act of a call, with the state of every repository that it would affect.
    ///
    /// The whole command is bound beside the facts: `git commit -a && git push` contains the same push as `git push`,
    /// and sends something else.
    #[must_use]
    pub fn of(call: &Call<'_>, found: &oversight::act::Act) -> Self {
        let command = tools::shell_command(call.tool, call.input);
        let mut directories: Vec<&str> = vec![call.place.directory];
        directories.extend(found.facts.iter().map(|fact| fact.directory.as_str()));
        directories.sort_unstable();
        directories.dedup();
        let mut repositories: Vec<State> = directories
            .into_iter()
            .filter_map(|directory| State::read(Path::new(directory)))
            .collect();
        repositories.dedup();
        let mut actions: Vec<String> = found
            .facts
            .iter()
            .map(|fact| fact.action.clone())
            .filter(|action| action != "call")
            .collect();
        actions.sort();
        actions.dedup();
        Self {
            tool: call.tool.to_owned(),
            command: command.unwrap_or_else(|| capture::canonical(call.input)),
            facts: found.lines(),
            actions,
            directory: call.place.directory.to_owned(),
            repositories,
        }
    }

    /// Returns `true` if the repositories are unchanged, so that an approval would still apply.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.repositories.iter().all(State::is_current)
    }

    /// Returns the act without secrets, as it is stored and shown. Equal acts are shown equally.
    #[must_use]
    pub fn shown(&self) -> Self {
        let known = Known::of(&self.command);
        let command = match serde_json::from_str::<Value>(&self.command) {
            Ok(input @ (Value::Object(_) | Value::Array(_))) => {
                capture::canonical(&redact::value(&input).0)
            }
            _ => redact::text(&self.command).text.into_owned(),
        };
        Self {
            tool: self.tool.clone(),
            command,
            facts: self.facts.iter().map(|fact| known.out_of(fact)).collect(),
            actions: self.actions.clone(),
            directory: known.out_of(&self.directory),
            repositories: self.repositories.clone(),
        }
    }

    /// Returns the hash of everything, secrets included.
    pub(super) fn exact(&self) -> [u8; 32] {
        base::digest(&self.bytes(EXACT))
    }

    /// Returns the hash that an approval binds: see [`bind`].
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        bind(&self.shown(), &self.exact())
    }

    /// Returns the short id for people.
    #[must_use]
    pub fn id(&self) -> Id {
        Id::of(&self.digest())
    }

    fn bytes(&self, context: &[u8]) -> Vec<u8> {
        let mut bytes = context.to_vec();
        bytes.extend(serde_json::to_vec(self).unwrap_or_default());
        bytes
    }
}

/// Binds the shown act to the exact one: neither can be exchanged without changing the hash, so that a file with both
/// proves itself by its name.
pub(super) fn bind(shown: &Act, exact: &[u8; 32]) -> [u8; 32] {
    let mut bytes = shown.bytes(CONTEXT);
    bytes.push(b'\n');
    bytes.extend(exact);
    base::digest(&bytes)
}
