//! Any bytes as a shipment, also behind a good signature, and as what the archive answers: no panic; what is read is packed
//! to the same bytes again.

#![no_main]

use std::sync::{Arc, LazyLock};

use ed25519_dalek::{Signer as _, SigningKey};
use evidence::archive::shipment::{Frame, Packer, Shipment};
use evidence::shipping::ShipAnswer;
use libfuzzer_sys::fuzz_target;
use sha2::{Digest as _, Sha256};
use witness::ledger::note::SignedCheckpoint;
use witness::ledger::proof::{ConsistencyProof, InclusionProof};

const SEED: [u8; 32] = [7; 32];

static KEY: LazyLock<SigningKey> = LazyLock::new(|| SigningKey::from_bytes(&SEED));

fuzz_target!(|bytes: &[u8]| {
    assert!(Shipment::parse(&Arc::from(bytes)).is_err() || bytes.starts_with(b"roleos shipment v1\n"));
    let signed: Arc<[u8]> = signed(bytes).into();
    if let Ok(shipment) = Shipment::parse(&signed) {
        assert_eq!(packed(&shipment).as_slice(), &*signed);
    }
    if let Ok(answer) = serde_json::from_slice::<ShipAnswer>(bytes) {
        read(&answer);
    }
});

/// The bytes as the part of a shipment that its signature covers, made without the code under test.
fn signed(bytes: &[u8]) -> Vec<u8> {
    let mut message = b"roleos shipment ed25519 v1\n".to_vec();
    message.extend(Sha256::digest(bytes));
    [
        b"roleos shipment v1\n".as_slice(),
        KEY.verifying_key().as_bytes(),
        &KEY.sign(&message).to_bytes(),
        bytes,
    ]
    .concat()
}

fn packed(shipment: &Shipment) -> Vec<u8> {
    let mut packer = Packer::new(shipment.seen);
    for frame in &shipment.frames {
        let fits = match frame {
            Frame::Bundle(bundle) => packer.bundle(bundle.bytes()),
            Frame::Line { log, number, text } => packer.line(log, *number, text.bytes()),
        };
        assert!(fits, "what came in one shipment fits into one");
    }
    packer.sign(&witness::key::SigningKey::new(&SEED))
}

fn read(answer: &ShipAnswer) {
    let texts = answer.items.iter().filter_map(|item| item.proof.as_deref());
    for text in texts.chain(answer.growth.as_deref()).chain(answer.checkpoint.as_deref()) {
        if let Ok(checkpoint) = SignedCheckpoint::parse(text) {
            assert_eq!(SignedCheckpoint::parse(&checkpoint.to_text()).as_ref(), Ok(&checkpoint));
        }
        if let Ok(proof) = ConsistencyProof::parse(text) {
            assert_eq!(ConsistencyProof::parse(&proof.to_text()).as_ref(), Ok(&proof));
        }
        if let Ok(proof) = InclusionProof::parse(text) {
            assert_eq!(InclusionProof::parse(&proof.to_text()).as_ref(), Ok(&proof));
        }
    }
}
