//! Histories that were rewritten, and proofs that were altered.

use proptest::prelude::*;

use super::{forged, key, leaf, ledger, origin, read_note, sign};
use crate::builder::Builder;
use crate::bundle::{Bundle, Strictness};
use crate::key::Keyring;
use crate::ledger::checkpoint::{BadCheckpoint, MAX_SIZE, Origin};
use crate::ledger::note::{BadNote, SignedCheckpoint};
use crate::ledger::proof::{CannotProve, ConsistencyProof, InclusionProof, MAX_HASHES, NotProven};
use crate::ledger::{Consistency, Leaf, Ledger, text};
use crate::policy::Policy;
use crate::wire::{Mode, TaskId};

/// Runs the whole way: a bundle, its proof as a file, and a reader with only the public key.
#[test]
fn a_bundle_is_found_again_by_its_proof() {
    let bundle = |spec: &str| {
        let policy = Policy::of_mode(Mode::Autonomous);
        let mut builder = Builder::new(TaskId([4; 16]), policy, 17);
        builder.spec(spec);
        builder.build(None, Some(&key())).unwrap()
    };
    let leaf_of = |bytes: &[u8]| {
        let bundle = Bundle::parse(bytes, Strictness::Strict).unwrap();
        Leaf::of(&bundle.verify(&Keyring::public(key().public())).unwrap())
    };
    let mut ledger = ledger(6);
    let index = ledger.push(leaf_of(&bundle("mend the roof")));
    ledger.push(leaf(7));
    let file = ledger.prove(index, sign(&ledger)).unwrap().to_text();

    let proof = InclusionProof::parse(&file).unwrap();
    let keys = [key().public()];
    let included = proof.verify(&leaf_of(&bundle("mend the roof")), &keys);
    let included = included.unwrap();
    assert_eq!((included.index(), index), (6, 6));
    assert_eq!(included.attested().checkpoint(), &ledger.checkpoint());
    let other = proof.verify(&leaf_of(&bundle("mend the door")), &keys);
    assert_eq!(other, Err(NotProven::Path));
}

#[test]
fn a_proof_needs_a_checkpoint_of_this_ledger() {
    let ledger = ledger(5);
    let check = |index, signed, expected| {
        assert_eq!(ledger.prove(index, signed), Err(expected));
    };
    let (index, size) = (5, 5);
    check(5, sign(&ledger), CannotProve::NoSuchLeaf { index, size });
    let older = sign(&Ledger::from_leaves(origin(), (0..3).map(leaf)));
    let (index, size) = (3, 3);
    check(3, older.clone(), CannotProve::NoSuchLeaf { index, size });
    let fork = CannotProve::OtherTree(Consistency::Forked);
    check(0, forged(3, [1; 32]), fork);
    let longer = CannotProve::OtherTree(Consistency::Truncated { missing: 2 });
    check(0, forged(7, [1; 32]), longer);
    let (old, size) = (4, 3);
    let smaller = CannotProve::Smaller { old, size };
    assert_eq!(ledger.prove_growth(4, older), Err(smaller));
}

#[test]
fn a_checkpoint_of_another_log_is_not_a_fork() {
    let name = Origin::parse("roleos.example/other").unwrap();
    let other = Ledger::from_leaves(name, (0..3).map(leaf));
    let found = ledger(3).compare(&other.checkpoint());
    assert_eq!(found, Consistency::OtherLog);
    let growth = ledger(4).prove_growth(3, sign(&ledger(4))).unwrap();
    let keys = [key().public()];
    let verified = growth.verify(&other.checkpoint(), &keys);
    assert_eq!(verified, Err(NotProven::OtherLog));
    let verified = growth.verify(&ledger(2).checkpoint(), &keys);
    assert_eq!(verified, Err(NotProven::OtherSize { old: 3 }));
}

#[test]
fn an_empty_log_has_the_root_of_nothing() {
    let keys = [key().public()];
    let growth = ledger(2).prove_growth(0, sign(&ledger(2))).unwrap();
    assert!(growth.verify(&ledger(0).checkpoint(), &keys).is_ok());
    let mut false_start = ledger(0).checkpoint();
    false_start.root = [1; 32];
    let verified = growth.verify(&false_start, &keys);
    assert_eq!(verified, Err(NotProven::Path));
    assert_eq!(ledger(0).compare(&false_start), Consistency::Forked);
    assert_eq!(
        ledger(0).compare(&ledger(0).checkpoint()),
        Consistency::Same
    );
}

/// Neither the smallest nor the largest sizes and indices may make the tree's arithmetic overflow.
#[test]
fn forged_sizes_do_not_panic() {
    let keys = [key().public()];
    let sizes = [0, 1, 2, 3, 1 << 32, MAX_SIZE - 1, MAX_SIZE];
    let indices = [
        0,
        1,
        1 << 31,
        MAX_SIZE - 2,
        MAX_SIZE - 1,
        MAX_SIZE,
        u64::MAX,
    ];
    for size in sizes {
        for index in indices {
            for hashes in [0, 1, 62, MAX_HASHES] {
                let path = vec![text::encode(&[5; 32]); hashes].join("\n");
                let gap = if hashes == 0 { "\n" } else { "\n\n" };
                let tail = format!("{path}{gap}{}", forged(size, [9; 32]));
                let head = "c2sp.org/tlog-proof@v1\nindex";
                let proof = InclusionProof::parse(&format!("{head} {index}\n{tail}")).unwrap();
                assert_eq!(proof.verify(&leaf(1), &keys), Err(NotProven::Path));
                let growth = ConsistencyProof::parse(&format!("old {index}\n{tail}")).unwrap();
                let earlier = forged(index, [5; 32]).claimed;
                assert_eq!(growth.verify(&earlier, &keys), Err(NotProven::Path));
            }
        }
    }
    let beyond = forged(MAX_SIZE + 1, [9; 32]).to_text();
    let size = BadNote::Text(BadCheckpoint::Size);
    assert_eq!(SignedCheckpoint::parse(&beyond), Err(size));
}

/// Alters every byte, and each of its bits, of the text from outside.
#[test]
fn every_altered_byte_is_noticed() {
    let keys = [key().public()];
    let ledger = ledger(11);
    let note = sign(&ledger).to_text();
    let inclusion = ledger.prove(6, sign(&ledger)).unwrap().to_text();
    let growth = ledger.prove_growth(6, sign(&ledger)).unwrap().to_text();
    let earlier = Ledger::from_leaves(origin(), (0..6).map(leaf)).checkpoint();
    let included = |text: &str| {
        InclusionProof::parse(text).is_ok_and(|proof| proof.verify(&leaf(6), &keys).is_ok())
    };
    let grown = |text: &str| {
        ConsistencyProof::parse(text).is_ok_and(|proof| proof.verify(&earlier, &keys).is_ok())
    };
    let check = |text: &str, accepts: &dyn Fn(&str) -> bool| {
        assert!(accepts(text));
        for position in 0..text.len() {
            for bit in 0..8 {
                let mut bytes = text.as_bytes().to_vec();
                bytes[position] ^= 1 << bit;
                let accepted = String::from_utf8(bytes).is_ok_and(|text| accepts(&text));
                assert!(!accepted, "byte {position}, bit {bit}");
            }
            let mut shorter = text.as_bytes().to_vec();
            shorter.remove(position);
            let accepted = String::from_utf8(shorter).is_ok_and(|text| accepts(&text));
            assert!(!accepted, "without byte {position}");
        }
    };
    check(&note, &|text| read_note(text).is_ok());
    check(&inclusion, &included);
    check(&growth, &grown);
}

/// One way to rewrite history.
#[derive(Clone, Debug)]
enum Cheat {
    Delete(usize),
    Swap(usize, usize),
    Edit(usize),
    Insert(usize),
    Truncate(usize),
}

impl Cheat {
    fn apply(&self, leaves: &mut Vec<Leaf>) {
        let size = leaves.len();
        let strange = leaf(1_000_000);
        match *self {
            Self::Delete(at) => drop(leaves.remove(at % size)),
            Self::Swap(a, b) => leaves.swap(a % size, b % size),
            Self::Edit(at) => leaves[at % size].created_ns ^= 1 << 40,
            Self::Insert(at) => leaves.insert(at % size, strange),
            Self::Truncate(to) => leaves.truncate(to % size),
        }
    }
}

fn cheats() -> impl Strategy<Value = Cheat> {
    prop_oneof![
        any::<usize>().prop_map(Cheat::Delete),
        any::<(usize, usize)>().prop_map(|(a, b)| Cheat::Swap(a, b)),
        any::<usize>().prop_map(Cheat::Edit),
        any::<usize>().prop_map(Cheat::Insert),
        any::<usize>().prop_map(Cheat::Truncate),
    ]
}

proptest! {
    #[test]
    fn every_leaf_and_every_prefix_can_be_proven(size in 1u64..70, at in 1u64..70) {
        let (ledger, keys) = (ledger(size), [key().public()]);
        let at = at.min(size);
        let prefix = Ledger::from_leaves(origin(), (0..at).map(leaf));
        prop_assert_eq!(ledger.root_at(at), Some(prefix.root()));
        for index in 0..at {
            let proof = ledger.prove(index, sign(&prefix)).unwrap();
            prop_assert_eq!(proof.verify(&leaf(index), &keys).unwrap().index(), index);
            prop_assert!(proof.verify(&leaf(index + 1), &keys).is_err());
        }
        let growth = ledger.prove_growth(at, sign(&ledger)).unwrap();
        prop_assert!(growth.verify(&prefix.checkpoint(), &keys).is_ok());
        let added = size - at;
        let expected = if added == 0 { Consistency::Same } else { Consistency::Extended { added } };
        prop_assert_eq!(ledger.compare(&prefix.checkpoint()), expected);
    }

    #[test]
    fn every_rewritten_history_is_noticed(size in 1u64..40, later in 0u64..5, cheat in cheats()) {
        let honest = ledger(size);
        let mut leaves = honest.leaves().to_vec();
        cheat.apply(&mut leaves);
        prop_assume!(leaves != honest.leaves());
        leaves.extend((0..later).map(|extra| leaf(2_000_000 + extra)));
        let rewritten = Ledger::from_leaves(origin(), leaves);
        let found = rewritten.compare(&honest.checkpoint());
        let missing = size.saturating_sub(rewritten.len());
        let expected = if missing > 0 { Consistency::Truncated { missing } } else { Consistency::Forked };
        prop_assert_eq!(found, expected);
        prop_assert!(!found.holds());
    }
}
