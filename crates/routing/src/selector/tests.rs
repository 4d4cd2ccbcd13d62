//! A selector is trained from the two logs, classifies inputs for the gate, and is not replaced by a worse one.

use ::specialist::level::Level;
use ::specialist::registry::{DEFAULT_AUDIT_WINDOW, NO_EXAM};
use selection::metric::{Metric, Parts};
use selection::run_log::More;
use serde_json::json;

use super::*;
use base::environment::Environment;
use base::trust;

const TOPICS: [(&str, [&str; 6]); 2] = [
    (
        "rivers",
        ["river", "bank", "flood", "stream", "water", "bridge"],
    ),
    (
        "music",
        ["chord", "tempo", "melody", "drum", "scale", "rhythm"],
    ),
];

struct Place {
    _guard: tempfile::TempDir,
    workspace: Workspace,
    log: PathBuf,
    features: PathBuf,
    selector: PathBuf,
}

fn text(number: usize) -> (&'static str, String) {
    let (topic, words) = &TOPICS[number % 2];
    let words: Vec<&str> = (0..6)
        .map(|at| words[(number * 5 + at * (1 + number % 3)) % 6])
        .collect();
    (topic, words.join(" "))
}

impl Place {
    fn new() -> Self {
        let guard = tempfile::tempdir().unwrap();
        let root = guard.path().join("repository");
        std::fs::create_dir_all(root.join(".role-os")).unwrap();
        let environment = Environment {
            state: Some(guard.path().join("state")),
            ..Environment::default()
        };
        let workspace = Workspace::find(Some(&root), &environment).unwrap();
        Self {
            log: runs::path(&workspace),
            features: features_path(&workspace),
            selector: path(&workspace),
            workspace,
            _guard: guard,
        }
    }

    /// Adds contests in which the model of the topic does well, or badly.
    fn learn(&self, contests: usize, well: bool) {
        for number in 0..contests {
            let (topic, text) = text(number);
            let prompt_hash = hex::encode(base::digest(format!("{number} {text}").as_bytes()));
            let run_id = format!("run-{number}-{well}");
            let records = TOPICS.iter().enumerate().map(|(index, (model, _))| {
                let q1 = if (*model == topic) == well { 0.9 } else { 0.1 };
                record(&run_id, index, model, &prompt_hash, q1)
            });
            runs::append(&base::seals::Seals::default(), &self.log, records.collect()).unwrap();
            let line = Line {
                run_id,
                role: "writer".to_owned(),
                prompt_hash,
                features: Features::of(&text, &[]),
            };
            append_features(&self.features, &line).unwrap();
        }
    }

    fn lessons(&self) -> Lessons {
        lessons(&self.log, &self.features).unwrap()
    }

    fn train(&self, insist: bool) -> Result<usize, SelectorError> {
        let lessons = self.lessons();
        replace(
            &self.workspace,
            &Book::train(&lessons.roles),
            &lessons,
            insist,
        )
    }
}

fn record(run_id: &str, index: usize, model: &str, prompt_hash: &str, q1: f64) -> Record {
    let parts = Parts {
        passed: true,
        q1: Some(q1),
        cost: 0.1,
        refusal_penalty: 0.0,
    };
    Record {
        timestamp: "2026-03-04T05:06:07Z".to_owned(),
        prompt_hash: prompt_hash.to_owned(),
        model_id: model.to_owned(),
        metric_version: "metric_v1".to_owned(),
        verifier_result: "PASS".to_owned(),
        q0: 1,
        q1: Some(q1),
        cost: 0.1,
        refusal_penalty: 0.0,
        reward: Metric::v1().reward(parts).unwrap(),
        winner_model_id: None,
        more: More {
            run_id: Some(run_id.to_owned()),
            candidate_index: u32::try_from(index).ok(),
            role: Some("writer".to_owned()),
            mode: Some("learn".to_owned()),
            version: Some(model.to_owned()),
            ..More::default()
        },
    }
}

fn version(model: &str) -> Version {
    Version {
        id: model.to_owned(),
        adapter_id: model.to_owned(),
        model_id: model.to_owned(),
        backend_url: None,
        backend_urls: Vec::new(),
        base_model: "Qwen/Qwen3-8B".to_owned(),
        weights: None,
        gate_threshold: 0.75,
        certified_level: Level::parse("L2").unwrap(),
        claimed: false,
        certified_by: None,
        certified_for: None,
        exam_hash: NO_EXAM.to_owned(),
        field_audit_window: DEFAULT_AUDIT_WINDOW,
        created_at: "2026-09-02T09:00:00Z".to_owned(),
        exam_centroid: None,
        ood_floor: None,
        withdrawn: None,
    }
}

#[test]
fn the_gate_asks_the_selector_where_there_is_one() {
    let place = Place::new();
    let judge = Judge::of(&place.workspace);
    let input = json!("river bank flood water stream bridge");
    let (rivers, music) = (version("rivers"), version("music"));
    let verdict = |role: &str, version: &Version| judge.judge(role, &input, &[version]).remove(0);
    assert!(
        matches!(verdict("writer", &rivers), Verdict::NotTrained(what) if what.contains("roleos selector train"))
    );
    assert!(judge.missing("writer", &rivers).is_some());
    place.learn(200, true);
    place.train(false).unwrap();
    assert_eq!(judge.is_ood("writer", &input, &rivers), Ok(false));
    assert!(judge.score("writer", &input, &rivers).unwrap() > 0.8);
    assert!(judge.score("writer", &input, &music).unwrap() < 0.2);
    let strange = json!({ "text": "quantum chromodynamics lattice gauge hadron" });
    assert_eq!(judge.is_ood("writer", &strange, &rivers), Ok(true));
    for (role, version) in [("another role", &rivers), ("writer", &version("newcomer"))] {
        assert!(
            matches!(verdict(role, version), Verdict::NotTrained(_)),
            "{role}"
        );
        assert!(judge.missing(role, version).is_some());
    }
    assert_eq!(judge.missing("writer", &rivers), None);
    let both = judge.judge("writer", &input, &[&music, &rivers]);
    assert_eq!(both[1], verdict("writer", &rivers), "rivals change nothing");
}

#[test]
fn an_older_selector_fails_open_and_is_replaced_without_a_word() {
    let place = Place::new();
    let old = br#"{"format":"roleos-selector/v1","roles":{}}"#;
    files::write(&place.selector, old, Privacy::Shared).unwrap();
    let judge = Judge::of(&place.workspace);
    let why = judge
        .is_ood("writer", &json!("river"), &version("rivers"))
        .unwrap_err();
    assert!(why.contains("run `roleos selector train`"), "{why}");
    place.learn(40, true);
    place.train(false).unwrap();
    assert_eq!(judge.missing("writer", &version("rivers")), None);
}

#[test]
fn what_a_version_needs_next_is_what_is_missing() {
    let place = Place::new();
    let judge = Judge::of(&place.workspace);
    let missing = |version: &Version| judge.missing("writer", version).unwrap_or_default();
    let mut version = version("rivers");
    assert!(missing(&version).contains("has no training data"));
    place.learn(40, true);
    assert_eq!(
        missing(&version),
        "`rivers` was in 40 contests of which the selector knows nothing yet: run `roleos selector train`"
    );
    place.train(true).unwrap();
    assert_eq!(missing(&version), "");
    version.gate_threshold = 0.9999;
    let low = missing(&version);
    assert!(low.contains("at most, and its threshold is 1.00"), "{low}");
    assert!(
        low.contains("`roleos selector calibrate \"writer\"`"),
        "{low}"
    );
}

#[test]
fn a_callers_embedding_comes_first() {
    let judge = Judge::of(&Place::new().workspace);
    let mut version = version("rivers");
    version.exam_centroid = Some(vec![1.0, 0.0]);
    let input = json!({ "text": "anything", "embedding": [1.0, 0.0] });
    assert_eq!(judge.is_ood("writer", &input, &version), Ok(false));
    assert_eq!(judge.score("writer", &input, &version), Ok(1.0));
}

#[test]
fn a_damaged_selector_is_an_error_and_never_a_score() {
    let place = Place::new();
    files::write(
        &place.selector,
        b"{\"format\":\"roleos-selector/v2\"",
        Privacy::Shared,
    )
    .unwrap();
    let judge = Judge::of(&place.workspace);
    let input = json!("river");
    assert!(judge.is_ood("writer", &input, &version("rivers")).is_err());
    assert!(judge.score("writer", &input, &version("rivers")).is_err());
    place.learn(40, true);
    assert!(matches!(
        place.train(false),
        Err(SelectorError::Content { .. })
    ));
    place.train(true).unwrap();
    assert_eq!(
        judge.is_ood("writer", &json!("river bank flood"), &version("rivers")),
        Ok(false)
    );
}

/// Regression: a selector of another program, or a restored older one, was trusted.
#[test]
#[expect(clippy::disallowed_methods, reason = "plays who puts files back")]
fn only_the_newest_selector_of_roleos_is_used_in_an_initialised_workspace() {
    let place = Place::new();
    place.learn(40, true);
    place.train(true).unwrap();
    let older = std::fs::read(&place.selector).unwrap();
    trust::initialise(&place.workspace).unwrap();
    let judged =
        |judge: &Judge| judge.score("writer", &json!("river bank flood"), &version("rivers"));
    assert!(judged(&Judge::of(&place.workspace)).unwrap() > 0.5);
    place.learn(80, true);
    place.train(true).unwrap();
    let newest = std::fs::read(&place.selector).unwrap();
    let edited = String::from_utf8(newest.clone())
        .unwrap()
        .replacen("rivers", "music", 1);
    for (name, content, is_used) in [
        ("put back", older, false),
        ("edited", edited.into_bytes(), false),
        ("the newest", newest, true),
    ] {
        std::fs::write(&place.selector, content).unwrap();
        let found = judged(&Judge::of(&place.workspace));
        assert_eq!(found.is_ok(), is_used, "{name}: {found:?}");
        if let Err(why) = found {
            assert!(
                why.contains("is not used: it was changed outside of `roleos`"),
                "{why}"
            );
            assert!(
                why.ends_with("`roleos selector train` makes a new one"),
                "{why}"
            );
        }
    }
    std::fs::write(&place.selector, "{}").unwrap();
    place.train(false).unwrap();
    judged(&Judge::of(&place.workspace)).unwrap();
}

#[test]
fn a_better_one_is_not_replaced_by_a_worse_one() {
    let place = Place::new();
    place.learn(200, true);
    place.train(false).unwrap();
    let good = std::fs::read(&place.selector).unwrap();
    place.train(false).unwrap();
    assert_eq!(
        std::fs::read(&place.selector).unwrap(),
        good,
        "the same log gives the same file"
    );
    let lessons = place.lessons();
    let turned = Place::new();
    turned.learn(200, false);
    let bad = Book::train(&turned.lessons().roles);
    let refused = replace(&place.workspace, &bad, &lessons, false);
    assert!(
        matches!(refused, Err(SelectorError::Worse(_))),
        "{refused:?}"
    );
    assert_eq!(std::fs::read(&place.selector).unwrap(), good);
    replace(&place.workspace, &bad, &lessons, true).unwrap();
    assert_ne!(std::fs::read(&place.selector).unwrap(), good);
}
