//! The library's answer to a catalog of bytes, in the format of the vectors.

use catalog::catalog::{Damaged, Draft, Records, Rigour};
use catalog::lock::Lock;
use catalog::problem::Problem;
use catalog::source::{File, INDEX, LOCK, Sources, TOMBSTONES};
use catalog::tombstones::Tombstones;
use catalog::yaml::number_text;
use serde_json::{Map, Value, json};

use crate::vectors::Files;

/// Returns the YAML files as sources for the library.
pub(crate) fn sources(files: &Files) -> Sources {
    let file = |path: &str| {
        files
            .get(path)
            .map_or(File::Missing, |bytes| File::of(bytes.clone()))
    };
    let mut sources = Sources::new(file(INDEX));
    for path in sources.wanted() {
        let read = file(&path);
        sources.add(path, read);
    }
    sources
}

pub(crate) fn records(files: &Files) -> Records {
    let bytes = |path: &str| files.get(path).map(Vec::as_slice);
    Records {
        lock: Lock::parse(bytes(LOCK)),
        tombstones: Tombstones::parse(bytes(TOMBSTONES)),
    }
}

/// Checks or refreshes, writes a new lock into `files`, and returns the answer in the format of the vectors.
pub(crate) fn run(files: &mut Files, refresh: bool, rigour: Rigour) -> Value {
    let draft = Draft::read(sources(files));
    let records = records(files);
    let served = draft.served().into_iter();
    let served: Map<_, _> = served
        .map(|(path, refusal)| (path, refusal.name().into()))
        .collect();
    if !refresh {
        let report = draft.check(&records, rigour);
        return json!({
            "exit": i32::from(!report.passed),
            "failures": failures(&report.problems),
            "served_files_not_valid": served,
        });
    }
    match draft.refresh(&records, rigour, Damaged::Refuse) {
        Err(problems) => json!({
            "exit": 1,
            "failures": failures(&problems),
            "lock_written": false,
            "served_files_not_valid": served,
        }),
        Ok(refreshed) => {
            files.insert(LOCK.to_owned(), refreshed.text.clone().into_bytes());
            if let Some(tombstones) = refreshed.tombstones {
                files.insert(TOMBSTONES.to_owned(), tombstones.into_bytes());
            }
            json!({
                "exit": 0,
                "failures": [],
                "lock_written": true,
                "added": refreshed.added,
                "updated": refreshed.updated,
                "pruned": refreshed.pruned,
                "served_files_not_valid": served,
            })
        }
    }
}

fn failures(problems: &[Problem]) -> Vec<Value> {
    problems.iter().map(failure).collect()
}

fn failure(problem: &Problem) -> Value {
    let mut entry = json!({ "class": problem.class.name() });
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            entry[key] = value;
        }
    };
    let number = |number: f64| serde_json::from_str(&number_text(number)).unwrap();
    set("bundle", problem.bundle.clone().map(Value::from));
    set("language", problem.language.clone().map(Value::from));
    set("field", problem.field.map(Value::from));
    set("slug", problem.slug.clone().map(|slug| json!(slug)));
    set(
        "slugs",
        (!problem.slugs.is_empty()).then(|| json!(problem.slugs)),
    );
    set("file", problem.file.clone().map(Value::from));
    set("version", problem.version.map(number));
    set("locked_version", problem.locked_version.map(number));
    set("first", problem.first.clone().map(Value::from));
    set("second", problem.second.clone().map(Value::from));
    entry
}
