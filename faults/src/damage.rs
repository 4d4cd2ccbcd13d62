//! Torn and flipped bytes in every file that Role OS stores. The gate must stay closed, and no reader may crash.

use std::fs;

use crate::Options;
use crate::place::{Place, Result, failed};
use crate::report::{Finding, Row};

/// Kind of damage to a file.
type Way = (&'static str, fn(&mut Vec<u8>));

/// All kinds of damage.
const WAYS: &[Way] = &[
    ("a bit flipped", |bytes| {
        let middle = bytes.len() / 2;
        if let Some(byte) = bytes.get_mut(middle) {
            *byte ^= 0x10;
        }
    }),
    ("cut in half", |bytes| bytes.truncate(bytes.len() / 2)),
    ("cut by one byte", |bytes| {
        bytes.pop();
    }),
    ("emptied", Vec::clear),
    ("zeros behind it", |bytes| bytes.extend([0; 512])),
    ("zeros in it", |bytes| {
        let half = bytes.len() / 2;
        bytes.iter_mut().skip(half).for_each(|byte| *byte = 0);
    }),
];

/// Commands that read damaged files.
const READERS: &[&[&str]] = &[
    &["--json", "ledger", "verify"],
    &["--json", "specialist", "status"],
    &["--json", "sessions", "list"],
    &["--json", "scorecard"],
    &["--json", "doctor"],
];

const REGISTRY: &str = "{\"schema\":\"roleos-specialist-registry/v1\",\"specialists\":[]}";

/// Damages every file in every way; with a stride only some of them.
pub(crate) fn damage(options: &Options) -> Result<Row> {
    let place = Place::new(&options.programs)?;
    let root = place.root().to_string_lossy().into_owned();
    let event = |command: &str| {
        format!(
            "{{\"hook_event_name\":\"PreToolUse\",\"session_id\":\"s1\",\"cwd\":\"{root}\",\"tool_name\":\"Bash\",\
             \"tool_use_id\":\"t\",\"tool_input\":{{\"command\":\"{command}\"}}}}"
        )
    };
    let hook = ["hook", "claude", "--root", &root];
    place.roleos(&["init", "--agent", "claude"], "")?;
    place.write(".role-os/specialists.json", REGISTRY.as_bytes())?;
    place.roleos(&["witness", "seal", "--outcome", "solved"], "")?;
    place.roleos(&hook, &event("ls"))?;
    place.roleos(&hook, &event("npm publish"))?;
    place.save()?;
    let mut row = Row::new("damage", "every file");
    let pairs = place.own_files();
    let pairs = pairs
        .iter()
        .flat_map(|file| WAYS.iter().map(move |way| (file, way)));
    for (file, (name, way)) in pairs.step_by(options.stride.div_ceil(4).max(1)) {
        place.restore()?;
        let mut bytes = failed("cannot read a file", fs::read(place.path(file)))?;
        way(&mut bytes);
        place.write(file, &bytes)?;
        row.tried += 1;
        let asked = place.roleos(&hook, &event("npm publish"))?;
        if !asked.is_denied() {
            let words = format!("{file} {name}: {}", asked.complaint());
            row.finds(Finding::FailedOpen, &words);
        }
        for words in READERS {
            let ran = place.roleos(words, "")?;
            if ran.is_crash() {
                let words = format!("{file} {name}: {words:?} {}", ran.complaint());
                row.finds(Finding::Crashed, &words);
            }
        }
    }
    Ok(row)
}
