//! Counting in steps equals counting at once, reads only new bytes, and restarts if the record was replaced.

use std::fs::OpenOptions;
use std::io::Write as _;

use super::*;
use base::config::oversight::{Dollars, Price};

struct Scene {
    _guard: tempfile::TempDir,
    record: PathBuf,
    memory: PathBuf,
}

fn scene() -> Scene {
    let guard = tempfile::tempdir().unwrap();
    let session = SessionId::new("a.b");
    Scene {
        record: guard.path().join("t.jsonl"),
        memory: memory_in(guard.path(), &session),
        _guard: guard,
    }
}

impl Scene {
    fn add(&self, text: &str) {
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).open(&self.record);
        file.unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn so_far(&self, agent: &str) -> Option<Spent> {
        let price = Price {
            output: Dollars::of_microdollars(15_000_000),
            ..Price::default()
        };
        let models = ["claude-sonnet", "gpt-5"];
        let set = models.map(|model| (model.to_owned(), price)).into();
        let counted = so_far(agent, &self.record, Prices::new(&set), &self.memory);
        counted.ok().map(|so_far| so_far.spent)
    }

    fn tokens(&self) -> u64 {
        self.so_far("claude").unwrap().tokens
    }

    /// Counts as if nothing had been counted before.
    fn afresh(&self, agent: &str) -> Option<Spent> {
        forget(&self.memory);
        self.so_far(agent)
    }
}

fn answer(id: &str, output: u64) -> String {
    format!(
        "{{\"type\":\"assistant\",\"message\":{{\"id\":\"{id}\",\"model\":\"claude-sonnet-4-5\",\
         \"usage\":{{\"input_tokens\":10,\"output_tokens\":{output}}}}}}}\n"
    )
}

fn counts(total: u64) -> String {
    format!(
        "{{\"type\":\"event_msg\",\"payload\":{{\"type\":\"token_count\",\"info\":\
         {{\"total_token_usage\":{{\"input_tokens\":{total},\"output_tokens\":{total}}}}}}}}}\n"
    )
}

#[test]
fn counting_in_steps_comes_to_the_same_wherever_the_record_was_cut() {
    let claude = [
        answer("m1", 1),
        answer("m2", 5),
        answer("m1", 40),
        "{\"type\":\"user\",\"message\":{\"content\":\"no JSON follows\"}}\n{]\n".to_owned(),
        answer("m2", 7),
        answer("m3", 2),
    ];
    let model = "{\"type\":\"turn_context\",\"payload\":{\"model\":\"gpt-5\"}}\n".to_owned();
    let codex = [model, counts(10), counts(10), counts(35), counts(4)];
    for (agent, text, tokens) in [
        ("claude", claude.concat(), 30 + 40 + 7 + 2),
        ("codex", codex.concat(), 2 * (35 + 4)),
    ] {
        for cut in (1..text.len()).step_by(7) {
            let scene = scene();
            let (one, other) = text.split_at(cut);
            scene.add(one);
            scene.so_far(agent);
            scene.add(other);
            let spent = scene.so_far(agent);
            assert_eq!(
                spent.map(|spent| spent.tokens),
                Some(tokens),
                "{agent} {cut}"
            );
            assert!(spent.is_some_and(|spent| spent.cost_microdollars > 0));
            assert_eq!(spent, scene.afresh(agent), "{agent} {cut}");
        }
    }
}

#[test]
fn what_was_counted_is_not_read_again() {
    let scene = scene();
    scene.add(&answer("m1", 100));
    scene.add(&answer("m2", 1).repeat(10));
    assert_eq!(scene.tokens(), 110 + 11);
    // Agents do not do this to a record; here it shows which bytes are compared.
    let file = OpenOptions::new().write(true).open(&scene.record).unwrap();
    file.write_all_at(b"x", 0).unwrap();
    scene.add(&answer("m3", 5));
    assert_eq!(scene.tokens(), 110 + 11 + 15);
    assert_eq!(scene.afresh("claude").unwrap().tokens, 11 + 15);
}

#[test]
fn another_record_is_counted_from_its_beginning() {
    let scene = scene();
    scene.add(&answer("m1", 100));
    assert_eq!(scene.tokens(), 110);
    // Shorter.
    files::write(&scene.record, b"{}\n", files::Privacy::Shared).unwrap();
    assert_eq!(scene.tokens(), 0);
    // Longer, with something else in front.
    let file = OpenOptions::new().write(true).open(&scene.record).unwrap();
    file.write_all_at(answer("m1", 7).as_bytes(), 0).unwrap();
    assert_eq!(scene.tokens(), 17);
    // Gone.
    fs::remove_file(&scene.record).unwrap();
    assert_eq!(scene.so_far("claude"), None);
    // The stored count may hold any bytes.
    scene.add(&answer("m1", 3));
    files::write(&scene.memory, b"{\"agent\":", files::Privacy::Shared).unwrap();
    assert_eq!(scene.tokens(), 13);
    assert_eq!(scene.so_far("gemini"), None);
}

#[test]
fn subagents_count_and_go_on_in_their_own_records() {
    let scene = scene();
    scene.add(&answer("m1", 1));
    let folder = scene.record.with_extension("").join("subagents");
    fs::create_dir_all(&folder).unwrap();
    let own = Scene {
        record: folder.join("agent-1.jsonl"),
        ..self::scene()
    };
    own.add(&answer("s1", 2));
    assert_eq!(scene.tokens(), 11 + 12);
    own.add(&answer("s1", 9));
    scene.add(&answer("m2", 1));
    assert_eq!(scene.tokens(), 11 + 19 + 11);
}

#[test]
fn a_long_record_is_caught_up_with() {
    let scene = scene();
    let result = "x".repeat(1 << 20);
    let result = format!("{{\"type\":\"user\",\"message\":{{\"content\":\"{result}\"}}}}\n");
    for number in 0..70 {
        scene.add(&answer(&format!("m{number}"), 1));
        scene.add(&result);
    }
    let first = scene.tokens();
    assert!((60 * 11..70 * 11).contains(&first), "{first}");
    assert_eq!(scene.tokens(), 70 * 11);
    scene.add(&answer("last", 1));
    assert_eq!(scene.tokens(), 71 * 11);
}

#[test]
fn a_model_without_a_price_is_named_and_noted_once() {
    let scene = scene();
    let count = || {
        so_far(
            "claude",
            &scene.record,
            Prices::new(&BTreeMap::new()),
            &scene.memory,
        )
    };
    assert!(count().unwrap_err().contains("cannot be read"));
    assert!(is_first_note(&scene.memory, "x"));
    scene.add(&answer("m1", 1000));
    let counted = count().unwrap();
    assert_eq!(counted.unpriced, ["claude-sonnet-4-5"]);
    assert_eq!(
        (counted.spent.cost_microdollars, counted.spent.tokens),
        (0, 1010)
    );
    assert!(
        !is_first_note(&scene.memory, "x"),
        "a new count keeps the notes"
    );
    assert!(is_first_note(&scene.memory, "y"));
    let other = so_far(
        "gemini",
        &scene.record,
        Prices::new(&BTreeMap::new()),
        &scene.memory,
    );
    assert!(other.unwrap_err().contains("is not read here"));
}
