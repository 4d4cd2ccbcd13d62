//! Any bytes as a request's body: the scan agrees with a full parser about what it finds, and edits touch nothing else.

#![no_main]

#[path = "../../crates/server/src/gateway/scan.rs"]
mod scan;

use libfuzzer_sys::fuzz_target;
use scan::{Edits, scan};
use serde_json::{Map, Value};

fuzz_target!(|body: &[u8]| {
    let parsed: Option<Map<String, Value>> = serde_json::from_slice(body).ok();
    let Ok(scanned) = scan(body) else {
        assert!(parsed.is_none(), "an object was not seen");
        return;
    };
    let mut edits = Edits::new(body, &scanned);
    edits.model("other\"model");
    edits.drop_models();
    edits.system_block("instructions");
    edits.system_message("instructions");
    let edited = edits.done();
    let Some(mut parsed) = parsed else { return };
    let model = parsed.get("model").and_then(Value::as_str);
    assert_eq!(scanned.model(body).as_deref(), model);
    let models: Option<Vec<String>> = parsed
        .get("models")
        .and_then(|models| serde_json::from_value(models.clone()).ok());
    assert_eq!(scanned.models(body), models);
    // A body with one member twice is read by the last, and an edit changes that one only.
    if twice(body, &parsed) {
        return;
    }
    let mut after: Map<String, Value> = serde_json::from_slice(&edited).expect("an object");
    assert_eq!(after.get("model").and_then(Value::as_str), Some("other\"model"));
    assert!(!after.contains_key("models"));
    for key in ["model", "models", "system", "messages"] {
        parsed.remove(key);
        after.remove(key);
    }
    assert_eq!(after, parsed);
});

/// Whether a name stands twice among the members; then the parsed object has fewer of them.
fn twice(body: &[u8], parsed: &Map<String, Value>) -> bool {
    struct Members(usize);
    impl<'de> serde::de::Visitor<'de> for Members {
        type Value = usize;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(mut self, mut map: A) -> Result<usize, A::Error> {
            while map.next_entry::<serde::de::IgnoredAny, serde::de::IgnoredAny>()?.is_some() {
                self.0 += 1;
            }
            Ok(self.0)
        }
    }
    let mut reader = serde_json::Deserializer::from_slice(body);
    let members = serde::Deserializer::deserialize_map(&mut reader, Members(0));
    members.is_ok_and(|members| members != parsed.len())
}
