//! Writing the state: sealed, with its halts in the user's trust store, and with a number that identifies older ones.

use ::specialist::state::{Halt, State};

use super::{STATE, Specialists, sealed};
use base::files::{self, FileError, Privacy};
use base::trust;

impl Specialists {
    /// Records the halted roles outside the workspace, so that no file in it can revoke the halts.
    fn record_halts(&self, state: &State) -> Result<(), FileError> {
        let record = |version: Option<&str>, halt: &Halt| trust::HaltRecord {
            version: version.map(str::to_owned),
            reason: halt.reason.clone(),
            since: halt.since.clone(),
        };
        let halts = state.roles().map(|(role, slot)| {
            let halts = slot
                .all_halts()
                .map(|(version, halt)| record(version, halt));
            (role.to_owned(), halts.collect::<Vec<_>>())
        });
        let halts = halts.filter(|(_, halts)| !halts.is_empty());
        trust::record_halts(&self.paths().workspace, halts.collect())
    }

    /// Writes a state with new results of probes; an older one does not count after that.
    pub(super) fn save_probes(&self, state: &mut State, durable: bool) -> Result<(), FileError> {
        let known = self.seals.marks(STATE).unwrap_or_default();
        let known = known.iter().filter_map(|mark| mark.parse().ok()).max();
        state.sequence = state.sequence.max(known.unwrap_or(0)).saturating_add(1);
        let mark = state.sequence.to_string();
        self.seals
            .replace(STATE, &mark, || self.save(state, durable))
    }

    /// Writes the state; with `durable`, it survives a power cut.
    pub(super) fn save(&self, state: &State, durable: bool) -> Result<(), FileError> {
        let (path, text) = (&self.paths().state, sealed(&self.seals, state.print()));
        if durable {
            self.record_halts(state)?;
            files::forget_older(path)?;
            files::write(path, text.as_bytes(), Privacy::Shared)
        } else {
            files::write_quickly(path, text.as_bytes())
        }
    }
}
