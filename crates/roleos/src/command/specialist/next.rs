//! Obstacles that stop the versions of a role from answering, one sentence each with a remedy. Used by `status` and
//! `promote`.

use base::config::Config;
use base::config::specialist::Kind;
use routing::selector::Judge;
use specialist::registry::Entry;
use specialist::state::State;

/// Returns the next steps, the most important first. `can_go_back` is set if another version was active before.
pub(super) fn steps(
    config: &Config,
    judge: &Judge,
    state: &State,
    entry: &Entry,
    can_go_back: bool,
) -> Vec<String> {
    if entry.is_retired() {
        return Vec::new();
    }
    let mut steps = halts(state, entry, can_go_back);
    if entry.active_version.is_none() {
        steps.push(activate(entry));
    } else if let Some(lapsed) = lapsed(entry) {
        steps.push(lapsed);
    } else {
        let canary = entry.canary.as_ref();
        let canary = canary.and_then(|canary| entry.version(&canary.version));
        let serving = entry.serving().chain(canary);
        for missing in serving.filter_map(|version| judge.missing(&entry.role, version)) {
            // A damaged selector affects all versions.
            if !steps.contains(&missing) {
                steps.push(missing);
            }
        }
    }
    let ignored = config.ignored.iter();
    let mut ignored = ignored.filter(|one| one.key.starts_with("fallback"));
    if config.fallback.claude.kind != Kind::None {
        return steps;
    }
    if let Some(one) = ignored.next() {
        steps.push(format!(
            "the general model that `.role-os/config.toml` sets is not used: {}; `roleos trust` shows it and asks",
            one.doubt
        ));
    } else {
        steps.push(
            "no general model is set: no probes are bought without one, so a version that drifts is not halted, and what no version may answer is refused; set `kind` under `[fallback.claude]` in `.role-os/config.toml`"
                .to_owned(),
        );
    }
    steps
}

fn halts(state: &State, entry: &Entry, can_go_back: bool) -> Vec<String> {
    let role = &entry.role;
    let serves = |id: &str| entry.serving().any(|version| version.id == id);
    let step = |(version, _): (Option<&str>, _)| {
        match version {
        None => Some(format!(
            "the role is halted: `roleos specialist clear-halt {role:?}` lifts it"
        )),
        Some(id) => serves(id).then(|| {
            let back = match can_go_back {
                true => format!("`roleos specialist rollback {role:?}` goes back, or, "),
                false => String::new(),
            };
            format!("`{id}` is halted by its probes: {back}once it is mended, `roleos specialist clear-halt {role:?} {id}` lifts it")
        }),
    }
    };
    state.halts(role).filter_map(step).collect()
}

fn activate(entry: &Entry) -> String {
    let role = &entry.role;
    let is_certified = entry
        .versions
        .iter()
        .any(|version| version.withdrawn.is_none() && version.certified_level.is_certified());
    if is_certified {
        format!("no version is active: run `roleos specialist promote {role:?} VERSION`")
    } else {
        format!(
            "no version is certified: run `roleos audit run {role:?}/VERSION --set SET`, then `roleos specialist certify {role:?} VERSION`"
        )
    }
}

fn lapsed(entry: &Entry) -> Option<String> {
    let active = entry.active().ok().flatten();
    let active = active.filter(|one| entry.has_lapsed(one))?;
    let (role, id) = (&entry.role, &active.id);
    Some(format!(
        "`{id}` was certified with another backend: run `roleos audit run {role:?}/{id} --set SET`, then `roleos specialist certify {role:?} {id}`"
    ))
}
