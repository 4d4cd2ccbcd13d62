//! The facts of a bundle as the database keeps them: the figures packed into a few bytes, so that a million of them are
//! read in a moment.

use witness::scorecard::Row;
use witness::wire::Outcome;

/// Bytes of packed figures.
pub(super) const LENGTH: usize = 37;

/// The layout; another one gets another number.
const VERSION: u8 = 1;

/// Packs the figures.
pub(super) fn pack(row: &Row) -> [u8; LENGTH] {
    let flags = [
        row.is_corrected,
        row.cost_known,
        row.evidence_complete,
        row.policy_known,
        row.is_task,
        row.by_agent,
    ];
    let flags = flags
        .iter()
        .enumerate()
        .fold(0, |all, (bit, flag)| all | (u8::from(*flag) << bit));
    let mut packed = [0; LENGTH];
    let numbers = [
        row.latency_ms,
        row.cost_microdollars,
        row.tokens,
        row.violations,
        row.rollbacks,
        row.restored,
    ];
    let bytes = [VERSION, row.outcome as u8, flags]
        .into_iter()
        .chain(row.retries.to_le_bytes())
        .chain(numbers.into_iter().flat_map(u32::to_le_bytes))
        .chain(row.policy_hash);
    for (place, byte) in packed.iter_mut().zip(bytes) {
        *place = byte;
    }
    packed
}

/// Reads what [`pack`] wrote; `None` for anything else.
pub(super) fn unpack(packed: &[u8]) -> Option<Row> {
    let ([version, outcome, flags, r0, r1], rest) = packed.split_first_chunk::<5>()?;
    if *version != VERSION {
        return None;
    }
    let (numbers, policy_hash) = rest.split_last_chunk::<8>()?;
    let (numbers, []) = numbers.as_chunks::<4>() else {
        return None;
    };
    let [latency_ms, cost, tokens, violations, rollbacks, restored] =
        *<&[[u8; 4]; 6]>::try_from(numbers).ok()?;
    let flag = |bit: u8| flags & (1 << bit) != 0;
    Some(Row {
        outcome: Outcome::from_wire(*outcome)?,
        is_corrected: flag(0),
        latency_ms: u32::from_le_bytes(latency_ms),
        cost_microdollars: u32::from_le_bytes(cost),
        cost_known: flag(1),
        tokens: u32::from_le_bytes(tokens),
        retries: u16::from_le_bytes([*r0, *r1]),
        evidence_complete: flag(2),
        violations: u32::from_le_bytes(violations),
        policy_known: flag(3),
        policy_hash: *policy_hash,
        rollbacks: u32::from_le_bytes(rollbacks),
        restored: u32::from_le_bytes(restored),
        is_task: flag(4),
        by_agent: flag(5),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_comes_back() {
        let mut row = Row {
            outcome: Outcome::Skipped,
            is_corrected: true,
            latency_ms: 1,
            cost_microdollars: u32::MAX,
            cost_known: false,
            tokens: 3,
            retries: u16::MAX - 1,
            evidence_complete: true,
            violations: 4,
            policy_known: false,
            policy_hash: *b"\x01\x02\x03\x04\x05\x06\x07\x08",
            rollbacks: 5,
            restored: 6,
            is_task: true,
            by_agent: false,
        };
        for _ in 0..2 {
            let packed = pack(&row);
            assert_eq!(unpack(&packed), Some(row));
            assert_eq!(unpack(&packed[1..]), None);
            row.is_corrected = !row.is_corrected;
            row.cost_known = !row.cost_known;
            row.evidence_complete = !row.evidence_complete;
            row.policy_known = !row.policy_known;
            row.is_task = !row.is_task;
            row.by_agent = !row.by_agent;
        }
        let mut other = pack(&row);
        other[0] = 2;
        assert_eq!(unpack(&other), None);
        other[..2].copy_from_slice(&[1, 9]);
        assert_eq!(unpack(&other), None);
    }
}
