//! An act as an approval binds it: exactly, and without its secrets as people see it.

use std::path::Path;

use oversight::decide::Call;
use oversight::tools;
use redact::Known;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Id;
use base::repository::State;
use evidence::journal::capture;

/// What an act's hash covers is preceded by this text, so that it can mean nothing else.
const CONTEXT: &[u8] = b"roleos act v2\n";
/// The same for the hash of the exact act.
const EXACT: &[u8] = b"roleos exact act v2\n";

/// Everything that makes an act this act and no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Act {
    /// The tool, by the agent's name for it.
    pub tool: String,
    /// The command, or the arguments of another tool as JSON.
    pub command: String,
    /// What it comes down to, as [`oversight::act::Act::lines`] says it: each action, its program, its words after
    /// everything was resolved, and its directory.
    pub facts: Vec<String>,
    /// Ids of the gated actions, sorted.
    pub actions: Vec<String>,
    /// Where it would run.
    pub directory: String,
    /// The repositories of all these directories, in order.
    pub repositories: Vec<State>,
}

impl Act {
    /// The act of a call, with the state of every repository in which something of it would happen.
    ///
    /// The whole text binds beside the facts: `git commit -a && git push` comes down to the same push as `git push`, and
    /// sends something else.
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

    /// Whether the repositories are as they were, so that an approval would still fit.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.repositories.iter().all(State::is_current)
    }

    /// The act as it is kept and shown: without secrets. Equal acts are shown equally.
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

    /// Hash of everything, secrets included.
    pub(super) fn exact(&self) -> [u8; 32] {
        base::digest(&self.bytes(EXACT))
    }

    /// The hash that an approval binds: see [`bind`].
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        bind(&self.shown(), &self.exact())
    }

    /// The short name, for people.
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

/// Binds what a person is shown to the exact act: neither can be exchanged without another hash, so that a file with the
/// one and the hash of the other proves itself by its name.
pub(super) fn bind(shown: &Act, exact: &[u8; 32]) -> [u8; 32] {
    let mut bytes = shown.bytes(CONTEXT);
    bytes.push(b'\n');
    bytes.extend(exact);
    base::digest(&bytes)
}
