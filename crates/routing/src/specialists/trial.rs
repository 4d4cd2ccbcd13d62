//! A canary: a version that is tried on a share of the inputs until its probes decide it.
//!
//! The test is the one for halts, in both directions: proved below the required agreement, it is withdrawn; proved
//! above, it becomes active. Neither needs a person, and both leave a receipt with the numbers.

use ::specialist::event::{Event, Kind};
use ::specialist::shadow::Judgement;
use serde_json::{Value, json};
use statistics::sequence;

use super::pointing::Change;
use super::{Moved, OperateError, Operator, Specialists};

/// Operator name if the probes decide.
const OPERATOR: &str = "(canary)";

impl Specialists {
    /// Returns `true` if this version is the role's canary.
    pub(super) fn is_canary(&self, role: &str, version: &str) -> bool {
        let registry = self.registry().ok();
        let entry = registry.as_ref().and_then(|registry| registry.entry(role));
        let canary = entry.and_then(|entry| entry.canary.as_ref());
        canary.is_some_and(|canary| canary.version == version)
    }

    /// Ends the canary of a role by an operator's command, undecided; `None` if there is none.
    pub(super) fn end_canary(
        &self,
        role: &str,
        operator: Operator<'_>,
    ) -> Result<Option<Moved>, OperateError> {
        let mut ended = None;
        let block_error = self.change(role, operator, |entry| {
            let Some((canary, active)) = entry.canary.as_ref().zip(entry.active().ok().flatten())
            else {
                return Ok(None);
            };
            ended = Some(Moved {
                from: Some(active.id.clone()),
                to: active.id.clone(),
                level: active.certified_level.to_string(),
                claimed: active.claimed,
                halted: Vec::new(),
                exam_hash: active.exam_hash.clone(),
                share: None,
                ended_canary: Some(canary.version.clone()),
                compared: None,
                block_error: None,
            });
            let data = json!({ "version_id": canary.version, "outcome": "ended" });
            let keys = vec![("canary", Value::Null)];
            Ok(Some(Change::of(Kind::Canary, keys, data)))
        })?;
        Ok(ended.map(|moved| Moved {
            block_error,
            ..moved
        }))
    }

    /// Ends the canary of a role if its probes decide it. The caller holds no lock.
    pub(super) fn decide_canary(
        &self,
        role: &str,
        judgement: &Judgement,
        now: &str,
    ) -> Result<(), OperateError> {
        let settings = &self.settings().shadow;
        let required = 1.0 - settings.tau;
        // It rises only by different inputs, and falls by all drawn ones.
        let earned = (judgement.inputs_agreed, judgement.inputs);
        let is_good = sequence::is_above(earned.0, earned.1, required, settings.error);
        let (agreed, total) = match is_good {
            true => earned,
            false => (judgement.total_agreed, judgement.total),
        };
        if !is_good && !sequence::is_below(agreed, total, required, settings.error) {
            return Ok(());
        }
        let held = self.hold_registry()?;
        let Some(entry) = held.registry.entry(role) else {
            return Ok(());
        };
        let Some(canary) = &entry.canary else {
            return Ok(());
        };
        let reason = format!(
            "{agreed} of {total} probes {}agreed; {:.0} % are required, decided at an error of {}",
            if is_good { "of different inputs " } else { "" },
            100.0 * required,
            settings.error
        );
        let (kind, keys, data) = if is_good {
            let keys = vec![
                ("active_version", json!(canary.version)),
                ("canary", Value::Null),
            ];
            let data = json!({
                "from_version": entry.active_version, "to_version": canary.version,
                "operator": OPERATOR, "reason": reason, "probes": total, "agreed": agreed,
            });
            (Kind::Promote, keys, data)
        } else {
            let data = json!({
                "version_id": canary.version, "outcome": "withdrawn",
                "operator": OPERATOR, "reason": reason, "probes": total, "agreed": agreed,
            });
            (Kind::Canary, vec![("canary", Value::Null)], data)
        };
        let after = held.registry.with_role_keys(role, &keys);
        if !after.is_valid() {
            return Err(OperateError::WouldBeInvalid(after.problems().to_vec()));
        }
        let event = Event::new(kind, role, now, data);
        self.replace_registry(held, &event, &after)?;
        let operator = Operator {
            name: OPERATOR,
            reason: &reason,
            now,
        };
        let entry = after.entry(role);
        match entry.and_then(|entry| self.sync_block(entry, operator)) {
            None => Ok(()),
            Some(why) => Err(OperateError::RoleBlock(why)),
        }
    }
}
