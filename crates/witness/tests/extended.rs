//! The bytes of our own sections, pinned: a sealed bundle must always be read, and written, the same way.
//!
//! The files beside this one are golden: they are never edited; a new layout gets a new version byte and new files.

#![expect(clippy::expect_used, reason = "a missing golden fails its test")]

use std::path::Path;

use witness::builder::Builder;
use witness::bundle::{Bundle, Strictness};
use witness::evidence::{Verdict, judge};
use witness::extension::{Chain, Rollback, field};
use witness::key::{HmacKey, Keyring, SigningKey};
use witness::policy::{Check, Policy};
use witness::trace::Call;
use witness::wire::{Mode, Outcome, TaskId};

const SECRET: &[u8] = b"golden bundles of our extensions";
const SEED: [u8; 32] = [0xE0; 32];

#[test]
fn golden_bundles_of_ours_are_written_and_read_for_good() {
    let (hmac, signer) = (HmacKey::new(SECRET), SigningKey::new(&SEED));
    check_golden("e01-hmac-and-ed25519.rvww", Some(&hmac), Some(&signer));
    check_golden("e02-hmac-only.rvww", Some(&hmac), None);
    check_golden("e03-ed25519-only.rvww", None, Some(&signer));
    check_golden("e04-unsigned.rvww", None, None);
}

fn check_golden(file: &str, hmac: Option<&HmacKey>, signer: Option<&SigningKey>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/extended");
    let golden = std::fs::read(folder.join(file)).expect("the golden file is in place");
    let written = builder().build(hmac, signer).expect("a small bundle");
    assert_eq!(hex::encode(&written), hex::encode(&golden), "{file}");
    let keyring = Keyring::known(
        hmac.into_iter().cloned().collect(),
        signer.into_iter().map(SigningKey::public).collect(),
    );
    let expected = if hmac.is_some() || signer.is_some() {
        Verdict::Valid
    } else {
        Verdict::Unsigned { required: false }
    };
    assert_eq!(
        judge(&golden, Strictness::Strict, &keyring),
        expected,
        "{file}"
    );
}

/// Compares each section in hex: marker and version, then the fields in the order of the format's document.
#[test]
fn our_sections_have_these_bytes() {
    let hmac = HmacKey::new(SECRET);
    let bytes = builder().build(Some(&hmac), None).expect("a small bundle");
    let bundle = Bundle::parse(&bytes, Strictness::Strict).expect("what was written can be read");
    let ours = bundle
        .claims()
        .sections()
        .filter(|section| section.tag >= 0x8000);
    let found: Vec<String> = ours
        .map(|section| format!("{:04x} {}", section.tag, hex::encode(section.value)))
        .collect();
    let name = |text: &str| format!("{:02x}00{}", text.len(), hex::encode(text));
    let expected = [
        format!(
            "8a01 524f53010200{}{}{}{}",
            name("agent"),
            name("a-1"),
            name("model"),
            name("m")
        ),
        format!(
            "8a02 524f530100102700003200{}{}",
            [
                "0500",
                &["Read", "Glob", "Grep", "WebFetch", "WebSearch"]
                    .map(name)
                    .concat()
            ]
            .concat(),
            ["0300", &["Bash", "Write", "Edit"].map(name).concat()].concat(),
        ),
        format!(
            "8a03 524f5301010000000100{}{}",
            "01000000",
            name("denied tool: Bash")
        ),
        format!(
            "8a04 524f53010200{}{}",
            ["01", &["aa", "aa", ""].map(name).concat()].concat(),
            ["00", &["aa", "bb", "refs/kept"].map(name).concat()].concat(),
        ),
        format!("8a05 524f53010807060504030201{}", "cc".repeat(32)),
        format!("8a06 524f5301{}", hmac.id()),
    ];
    assert_eq!(found, expected);
}

fn builder() -> Builder {
    let mut builder = Builder::new(
        TaskId(*b"golden-extension"),
        Policy::of_mode(Mode::Restricted),
        1_760_000_000_000_000_000,
    );
    builder
        .outcome(Outcome::Failed)
        .spec("spec")
        .plan("plan")
        .diff("+line\n")
        .test_log("0 passed; 1 failed")
        .postmortem("the shell was not allowed")
        .provenance(field::MODEL, "m")
        .provenance(field::AGENT, "a-1")
        .chain(Chain {
            sequence: 0x0102_0304_0506_0708,
            previous: [0xCC; 32],
        });
    for action in [&b"Read"[..], b"Bash"] {
        let call = Call {
            action,
            check: Check::Allowed,
            args_hash: *b"argument",
            result_hash: *b"resulted",
            latency_ms: 3,
            cost_microdollars: 5,
            tokens: 7,
        };
        builder.record(&call).expect("there is room");
    }
    builder.retry();
    builder.rollback(rollback(true, "aa", ""));
    builder.rollback(rollback(false, "bb", "refs/kept"));
    builder
}

fn rollback(restored: bool, found: &str, kept: &str) -> Rollback {
    Rollback {
        restored,
        wanted: "aa".into(),
        found: found.into(),
        kept: kept.into(),
    }
}
