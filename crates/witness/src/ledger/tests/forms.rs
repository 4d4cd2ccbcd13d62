//! Malformed text, and the verdict on it.

use proptest::prelude::*;

use super::{key, leaf, ledger, origin, read_note, sign};
use crate::key::SigningKey;
use crate::ledger::checkpoint::{BadCheckpoint, BadOrigin, Origin};
use crate::ledger::note::{
    BadNote, MAX_NOTE, MAX_SIGNATURES, SignedCheckpoint, Unverified, key_hash,
};
use crate::ledger::proof::{BadProof, ConsistencyProof, InclusionProof, MAX_HASHES, MAX_PROOF};
use crate::ledger::{Leaf, text};

#[test]
fn a_leaf_with_another_beginning_is_refused() {
    for position in 0..22 {
        let mut bytes = leaf(3).to_bytes();
        bytes[position] ^= 1;
        assert_eq!(Leaf::from_bytes(&bytes), None);
    }
}

#[test]
fn origins_are_visible_ascii_without_plus() {
    let check = |name: &str, expected: Option<BadOrigin>| {
        assert_eq!(Origin::parse(name).err(), expected, "{name:?}");
    };
    let forbidden = |character| Some(BadOrigin::Character { character });
    check("example.com/log42", None);
    check(&"a".repeat(255), None);
    check(&"a".repeat(256), Some(BadOrigin::TooLong { bytes: 256 }));
    check("", Some(BadOrigin::Empty));
    check("go.sum database tree", forbidden(' '));
    check("a\nb", forbidden('\n'));
    check("a\u{7f}", forbidden('\u{7f}'));
    check("a+b", forbidden('+'));
    check("a\u{202e}b", forbidden('\u{202e}'));
}

#[test]
fn unknown_key_bad_signature_and_nothing_verified_are_three_answers() {
    let note = sign(&ledger(3)).to_text();
    let signed = SignedCheckpoint::parse(&note).unwrap();
    let (ours, other) = (key().public(), SigningKey::new(&[8; 32]).public());
    let origin = origin();
    assert!(signed.verify(&[other, ours]).is_ok());
    let unknown = Err(Unverified::UnknownKey {
        origin: origin.clone(),
    });
    assert_eq!(signed.verify(&[other]), unknown);
    assert_eq!(signed.verify(&[]), unknown);

    let changed = SignedCheckpoint::parse(&note.replace("\n3\n", "\n4\n")).unwrap();
    let bad = Err(Unverified::BadSignature { key: ours.id() });
    assert_eq!(changed.verify(&[other, ours]), bad);

    let renamed = note.replace("\u{2014} roleos.example/ledger", "\u{2014} witness.example");
    let renamed = SignedCheckpoint::parse(&renamed).unwrap();
    let nothing = Err(Unverified::NothingVerified { origin });
    assert_eq!(renamed.verify(&[ours]), nothing);
}

#[test]
fn other_signature_lines_are_carried_along() {
    let mut note = sign(&ledger(3)).to_text();
    note.push_str("\u{2014} witness.example/w1 CMp+6LWBU0anHGH5\n");
    let signed = SignedCheckpoint::parse(&note).unwrap();
    assert_eq!(signed.to_text(), note);
    let ours = [key().public()];
    assert_eq!(signed.verify(&ours).unwrap().signers(), [ours[0].id()]);

    // A second line in the log's own name counts: one that fails takes the good one with it.
    let good = note.lines().nth(4).unwrap();
    let doubled = format!("{note}{good}\n");
    assert_eq!(read_note(&doubled).unwrap().signers().len(), 1);
    let hash = key_hash(origin().as_str(), &ours[0]);
    let short = text::encode(&[hash.as_slice(), &[0; 63]].concat());
    let spoiled = format!("{note}\u{2014} {} {short}\n", origin());
    assert!(read_note(&spoiled).unwrap_err().contains("BadSignature"));
}

#[test]
fn malformed_notes_are_named() {
    let note = sign(&ledger(3)).to_text();
    let (text, line) = note.split_once("\n\n").unwrap();
    let check = |note: String, expected: BadNote| {
        assert_eq!(SignedCheckpoint::parse(&note), Err(expected), "{note}");
    };
    let text_with = |from: &str, to: &str| note.replacen(from, to, 1);
    let root = text.lines().nth(2).unwrap();
    check(
        " ".repeat(MAX_NOTE + 1),
        BadNote::TooLong {
            bytes: MAX_NOTE + 1,
        },
    );
    check(String::new(), BadNote::NoSignatures);
    check(format!("{text}\n"), BadNote::NoSignatures);
    check(format!("{text}\n\n"), BadNote::NoSignatures);
    check(note.trim_end().to_owned(), BadNote::NoNewline);
    let count = MAX_SIGNATURES + 1;
    let many = format!("{text}\n\n{}", line.repeat(count));
    check(many, BadNote::TooManySignatures { count });
    assert!(read_note(&format!("{text}\n\n{}", line.repeat(MAX_SIGNATURES))).is_ok());

    for size in ["03", "+3", "-3", "", "3 ", "9223372036854775808", "0x3"] {
        let size = format!("\n{size}\n");
        check(
            text_with("\n3\n", &size),
            BadNote::Text(BadCheckpoint::Size),
        );
    }
    let unpadded = root.trim_end_matches('=');
    check(
        text_with(root, unpadded),
        BadNote::Text(BadCheckpoint::Root),
    );
    check(text_with(root, "AAAA"), BadNote::Text(BadCheckpoint::Root));
    let extended = format!("{root}\nextension");
    check(
        text_with(root, &extended),
        BadNote::Text(BadCheckpoint::Lines),
    );
    let blank = format!("{root}\n");
    check(text_with(root, &blank), BadNote::Text(BadCheckpoint::Lines));
    for bad in [
        "- a AAAAAAAA",
        "\u{2014} a",
        "\u{2014} a AAAA",
        "\u{2014}  AAAAAAA=",
    ] {
        check(format!("{note}{bad}\n"), BadNote::Signature { number: 2 });
    }
    for name in ["a+b", "a\tb", "a\u{a0}b", "a\rb"] {
        let bad = format!("{note}\u{2014} {name} AAAAAAAA\n");
        check(bad, BadNote::Signature { number: 2 });
    }
}

#[test]
fn malformed_proofs_are_named() {
    let ledger = ledger(5);
    let proof = ledger.prove(1, sign(&ledger)).unwrap().to_text();
    let check = |proof: &str, expected: BadProof| {
        assert_eq!(InclusionProof::parse(proof), Err(expected), "{proof}");
    };
    let bytes = MAX_PROOF + 1;
    check(&" ".repeat(bytes), BadProof::TooLong { bytes });
    check("", BadProof::FirstLine);
    check(&proof.replacen("@v1", "@v2", 1), BadProof::FirstLine);
    check(&proof.replacen("index 1", "index 01", 1), BadProof::Index);
    let extra = proof.replacen("index", "extra AAAA\nindex", 1);
    check(&extra, BadProof::Index);
    let hash = proof.lines().nth(2).unwrap();
    check(
        &proof.replacen(hash, "AAAA", 1),
        BadProof::Hash { number: 1 },
    );
    let unfinished: String = proof
        .lines()
        .take(4)
        .map(|line| format!("{line}\n"))
        .collect();
    check(&unfinished, BadProof::Hash { number: 3 });
    let long = format!("{}\n", vec![hash; MAX_HASHES].join("\n"));
    check(
        &proof.replacen(hash, &format!("{long}{hash}"), 1),
        BadProof::TooManyHashes,
    );
    let unsigned = proof.split_once("\n\n").unwrap().0;
    check(
        &format!("{unsigned}\n\n"),
        BadProof::Note(BadNote::NoSignatures),
    );
    assert_eq!(ConsistencyProof::parse(&proof), Err(BadProof::Old));
}

/// Pattern that is often a note, and sometimes nearly one.
const NOTE_SHAPE: &str = concat!(
    "[a-z.]{1,9}\n[0-9]{1,20}\n[A-Za-z0-9+/]{43}=\n\n",
    "(\u{2014} [a-z]{1,5} [A-Za-z0-9+/]{8}\n){0,3}"
);

proptest! {
    #[test]
    fn what_was_read_is_written_again(text in NOTE_SHAPE) {
        if let Ok(signed) = SignedCheckpoint::parse(&text) {
            prop_assert_eq!(signed.to_text(), text);
        }
    }

    #[test]
    fn any_text_is_answered(text in any::<String>()) {
        prop_assert!(SignedCheckpoint::parse(&text).is_err());
        let inclusion = format!("c2sp.org/tlog-proof@v1\nindex 0\n{text}");
        prop_assert!(InclusionProof::parse(&inclusion).is_err());
        let growth = format!("old 0\n{text}");
        prop_assert!(ConsistencyProof::parse(&growth).is_err());
    }
}
