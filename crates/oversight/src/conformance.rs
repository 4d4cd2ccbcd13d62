//! What a call of a tool must look like: advice about malformed calls. Never a refusal.

use serde_json::Value;

/// Advice about one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// For the agent.
    pub text: String,
}

/// The contracts of a workspace's tools.
#[derive(Clone, Debug, Default)]
pub struct Contracts {}

impl Contracts {
    /// No contracts, no advice.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Advice about a call, in order.
    #[must_use]
    pub fn check(&self, _tool: &str, _input: &Value) -> Vec<Note> {
        Vec::new()
    }
}
