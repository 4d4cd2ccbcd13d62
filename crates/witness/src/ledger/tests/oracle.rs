//! Bytes that another implementation computed.
//!
//! `tests/ledger/oracle.json` was computed in Python from the texts of RFC 6962 and C2SP alone (`hashlib` and
//! `cryptography`), with a tree written as the recursion of the RFC. Never edited, only added to.

use ct_merkle::mem_backed_tree::MemoryBackedTree;
use serde_json::Value;
use sha2::Sha256;

use crate::key::{PublicKey, SigningKey};
use crate::ledger::checkpoint::Origin;
use crate::ledger::note::{SignedCheckpoint, verifier_key};
use crate::ledger::proof::{ConsistencyProof, InclusionProof};
use crate::ledger::{LEAF_LEN, Leaf, Ledger, empty_root, text};
use crate::wire::TaskId;

struct Oracle(Value);

impl Oracle {
    fn load() -> Self {
        let text = include_str!("../../../tests/ledger/oracle.json");
        Self(serde_json::from_str(text).unwrap())
    }

    fn texts(&self, field: &str) -> Vec<&str> {
        let list = self.0[field].as_array().unwrap();
        list.iter().map(|text| text.as_str().unwrap()).collect()
    }

    fn leaves(&self) -> Vec<(Leaf, [u8; LEAF_LEN])> {
        let read = |entry: &Value| {
            let leaf = Leaf {
                task_id: TaskId(unhex(&entry["task_id"])),
                created_ns: entry["created_ns"].as_u64().unwrap(),
                bundle_sha256: unhex(&entry["bundle_sha256"]),
            };
            (leaf, unhex(&entry["bytes"]))
        };
        let list = self.0["leaves"].as_array().unwrap();
        list.iter().map(read).collect()
    }

    fn ledger(&self, size: u64) -> Ledger {
        let leaves = self.leaves().into_iter().map(|(leaf, _)| leaf);
        let origin = Origin::parse(self.0["origin"].as_str().unwrap()).unwrap();
        Ledger::from_leaves(origin, leaves.zip(0..size).map(|(leaf, _)| leaf))
    }

    fn key(&self) -> SigningKey {
        SigningKey::new(&unhex(&self.0["seed"]))
    }

    fn sign(&self, size: u64) -> SignedCheckpoint {
        SignedCheckpoint::sign(&self.ledger(size).checkpoint(), &self.key())
    }
}

fn unhex<const N: usize>(text: &Value) -> [u8; N] {
    let bytes = hex::decode(text.as_str().unwrap()).unwrap();
    bytes.try_into().unwrap()
}

fn number_after(label: &str, text: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(label));
    line.unwrap().parse().unwrap()
}

/// Returns the tree size in the checkpoint at the end of a proof.
fn size_in(proof: &str) -> u64 {
    let (_, checkpoint) = proof.split_once("\n\n").unwrap();
    checkpoint.lines().nth(1).unwrap().parse().unwrap()
}

#[test]
fn the_tree_crate_gives_the_published_roots() {
    let leaves = [
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    ];
    let roots = [
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];
    let mut tree = MemoryBackedTree::<Sha256, Vec<u8>>::new();
    assert_eq!(hex::encode(tree.root().as_bytes()), roots[0]);
    assert_eq!(hex::encode(empty_root()), roots[0]);
    for (leaf, root) in leaves.iter().zip(&roots[1..]) {
        tree.push(hex::decode(leaf).unwrap());
        assert_eq!(hex::encode(tree.root().as_bytes()), *root);
    }
}

/// Compares with keys that Go's module proxy and its documentation publish.
#[test]
fn key_hashes_are_the_published_ones() {
    let known = [
        "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8",
        "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
    ];
    for known in known {
        let (name, rest) = known.split_once('+').unwrap();
        let (_, encoded) = rest.split_once('+').unwrap();
        let typed = text::decode(encoded).unwrap();
        let key = PublicKey::parse(typed[1..].try_into().unwrap()).unwrap();
        assert_eq!(verifier_key(&Origin::parse(name).unwrap(), &key), known);
    }
}

#[test]
fn leaves_and_roots_are_those_of_the_second_implementation() {
    let oracle = Oracle::load();
    let roots = oracle.texts("roots");
    let ledger = oracle.ledger(13);
    for (leaf, bytes) in oracle.leaves() {
        assert_eq!(leaf.to_bytes(), bytes);
        assert_eq!(Leaf::from_bytes(&bytes), Some(leaf));
    }
    for (size, root) in (0..).zip(&roots) {
        assert_eq!(hex::encode(ledger.root_at(size).unwrap()), *root);
        assert_eq!(hex::encode(oracle.ledger(size).root()), *root);
    }
    assert_eq!(ledger.root_at(14), None);
    assert_eq!(ledger.root_at(u64::MAX), None);
}

#[test]
fn notes_are_those_of_the_second_implementation() {
    let oracle = Oracle::load();
    let public = oracle.key().public();
    let origin = oracle.ledger(0).origin().clone();
    assert_eq!(
        verifier_key(&origin, &public),
        oracle.0["verifier_key"].as_str().unwrap()
    );
    for note in oracle.texts("checkpoints") {
        let size = note.lines().nth(1).unwrap().parse().unwrap();
        let signed = SignedCheckpoint::parse(note).unwrap();
        assert_eq!(signed, oracle.sign(size));
        assert_eq!(signed.to_text(), note);
        let attested = signed.verify(&[public]).unwrap();
        assert_eq!(attested.checkpoint(), &oracle.ledger(size).checkpoint());
        assert_eq!(attested.signers(), [public.id()]);
    }
}

#[test]
fn proofs_are_those_of_the_second_implementation() {
    let oracle = Oracle::load();
    let (ledger, keys) = (oracle.ledger(13), [oracle.key().public()]);
    for expected in oracle.texts("inclusion") {
        let index = number_after("index ", expected);
        let signed = oracle.sign(size_in(expected));
        let proof = ledger.prove(index, signed).unwrap();
        assert_eq!(proof.to_text(), expected);
        assert_eq!(InclusionProof::parse(expected).as_ref(), Ok(&proof));
        let leaf = ledger.leaves()[usize::try_from(index).unwrap()];
        assert_eq!(proof.verify(&leaf, &keys).unwrap().index(), index);
    }
    for expected in oracle.texts("consistency") {
        let old = number_after("old ", expected);
        let signed = oracle.sign(size_in(expected));
        let proof = ledger.prove_growth(old, signed).unwrap();
        assert_eq!(proof.to_text(), expected);
        assert_eq!(ConsistencyProof::parse(expected).as_ref(), Ok(&proof));
        let earlier = oracle.ledger(old).checkpoint();
        let attested = proof.verify(&earlier, &keys).unwrap();
        assert_eq!(attested.checkpoint().size(), size_in(expected));
    }
}
