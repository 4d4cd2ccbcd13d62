//! An agent that looks for the fix in every box of the suite, and must not find a trace of it.

use std::fs;

use serde_json::Value;

use super::{Accept, expect};
use crate::shell::{Failure, Result};

/// Looks everywhere where others have found fixes: history, objects, the reflog, alternates, packs, refs, the
/// environment, and the folders of the suite. The id of a task ends with the beginning of its fix.
const AGENT: &str = r#"leak() { echo "leak: $*"; }
[ "$(git log --all --format=%h | wc -l)" = 1 ] || leak history
git cat-file -e "${ROLEOS_TASK##*-}" && leak fix
[ -z "$(git reflog --all)" ] || leak reflog
[ -e .git/objects/info/alternates ] && leak alternates
[ "$(ls .git/objects/pack/*.pack | wc -l)" = 1 ] || leak packs
[ -z "$(git fsck --unreachable --no-reflogs)" ] || leak objects
[ "$(git for-each-ref | wc -l)" = 1 ] && [ -z "$(git remote)$(git stash list)" ] || leak refs
env | grep -v ^ROLEOS_TASK= | grep -e "${ROLEOS_TASK##*-}" -e '\.patch' -e '/suite' && leak environment
ls -d /w/suite /w/reference.patch /w/test.patch /w/tests.json && leak files
find / -xdev -not -path '/proc/*' -not -path '/usr/*' -name 'reference.patch' | grep . && leak files
echo looked"#;

/// Runs it over the suite and reads what it printed.
pub(super) fn check(accept: &Accept) -> Result<()> {
    let (report, _) = accept.prove(AGENT)?;
    let run = report.pointer("/run/run").and_then(Value::as_str);
    let trials = accept.work.join(".role-os/prove");
    let trials = trials.join(run.unwrap_or_default()).join("trials");
    let entries =
        fs::read_dir(&trials).map_err(|error| Failure::of("cannot read the trials", error))?;
    let mut looked = 0_u64;
    for entry in entries.flatten() {
        let printed = fs::read_to_string(entry.path().join("transcript")).unwrap_or_default();
        if let Some(leak) = printed.lines().find(|line| line.starts_with("leak:")) {
            let task = entry.file_name();
            return Err(Failure::new(format!(
                "{}: {leak}\n{printed}",
                task.display()
            )));
        }
        looked += u64::from(printed.lines().any(|line| line == "looked"));
    }
    expect(
        "looked",
        Some(&looked.into()),
        report.get("tasks").unwrap_or(&Value::Null),
    )?;
    eprintln!("an agent that looked for the fix found nothing of it in {looked} boxes");
    Ok(())
}
