//! Searches for files that remove, copy or change their results.

use actions::lookup::base_name;
use shell::words::names;

use crate::Touch;
use crate::programs::{Touches, has_flag, value};

pub(crate) fn searched(arguments: &[String], found: &mut Touches) {
    const RUNS: &[&str] = names!("-exec -execdir -ok -okdir -x -X --exec --exec-batch");
    const REMOVERS: &[&str] = names!("rm unlink shred rmdir truncate trash srm");
    let removes = |pair: &[String]| {
        matches!(pair, [run, program] if RUNS.contains(&run.as_str())
            && REMOVERS.contains(&base_name(program)))
    };
    const CHANGERS: &[&str] = names!("cp mv install ln tee dd");
    const EDITORS: &[&str] = names!("sed gsed perl ruby");
    let changes = |pair: &[String]| {
        let [run, program] = pair else {
            return false;
        };
        let in_place = || has_flag(arguments, "i", &["--in-place"]);
        RUNS.contains(&run.as_str())
            && (CHANGERS.contains(&base_name(program))
                || (EDITORS.contains(&base_name(program)) && in_place()))
    };
    // A search that names our files and changes them counts as one that removes them.
    let names_ours = !value(arguments, BY_NAME).is_empty() && !picks_others(arguments);
    let deletes = arguments.iter().any(|word| word == "-delete")
        || arguments.windows(2).any(removes)
        || (names_ours && arguments.windows(2).any(changes));
    let runs = deletes || arguments.iter().any(|word| RUNS.contains(&word.as_str()));
    let roots = arguments
        .iter()
        .skip_while(|word| matches!(word.as_str(), "-L" | "-H" | "-P"))
        .take_while(|word| !word.starts_with(['-', '(', '!']));
    for root in roots.filter(|_| runs) {
        // A search that selects other files is ordinary outside of a protected directory.
        let touch = match (deletes, picks_others(arguments)) {
            (true, false) => Touch::Tree,
            (true, true) => Touch::Write,
            (false, _) => Touch::Named,
        };
        found.push((touch, root.clone()));
    }
    for path in value(arguments, &["-fprint", "-fprintf", "-fls", "-fprint0"]) {
        found.push((Touch::Write, path.to_owned()));
    }
}

/// Tests of a search for a name.
const BY_NAME: &[&str] = names!("-name -iname -path -ipath -wholename");

/// Returns `true` if the tests of a search exclude our files and the agents' settings: by a name that is not one of
/// theirs, or by an explicit exclusion.
fn picks_others(arguments: &[String]) -> bool {
    const BY_OTHER: &[&str] = names!("-regex -iregex -empty -lname -user");
    const OURS: &[&str] = names!(
        "./.role-os ./.role-os/capabilities.json ./.role-os/config.toml ./.role-os/journal.jsonl \
        ./.role-os/installed.json ./.role-os/ledger ./.role-os/ledger/leaves.jsonl ./.role-os/ledger/checkpoint \
        ./.role-os/ledger/origin ./.role-os/witness ./.role-os/witness/2026/01/x.rvww ./.role-os/keys/approval.key \
        ./.role-os/keys ./.claude ./.claude/settings.json ./.claude/settings.local.json \
        ./.codex/config.toml ./.codex/hooks.json ./.gemini/settings.json ./.cursor/hooks.json \
        ./.github/hooks/role-os.json ./.git/refs/roleos"
    );
    let excludes = arguments
        .windows(3)
        .any(|words| matches!(words, [not, _, path] if (not == "!" || not == "-not") && path.contains(".role-os")));
    if excludes || arguments.iter().any(|word| word == "-prune") {
        return true;
    }
    let by_other = arguments
        .iter()
        .any(|word| BY_OTHER.contains(&word.as_str()));
    let names = value(arguments, BY_NAME);
    let shallow = value(arguments, &["-maxdepth"])
        .iter()
        .any(|depth| matches!(*depth, "0" | "1"));
    let reached = |path: &&&str| !shallow || path.matches('/').count() == 1;
    let hits = |pattern: &&str| {
        OURS.iter().filter(reached).any(|path| {
            let matched = |text: &str| shell::pattern::matches(pattern, text);
            matched(path) || matched(base_name(path))
        })
    };
    by_other || (!names.is_empty() && !names.iter().any(hits))
}
