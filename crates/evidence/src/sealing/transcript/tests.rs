//! Records as the agents write them, and damaged ones.

use std::fs;

use super::*;
use base::files::{Privacy, write};

fn record(agent: &str, lines: &str) -> Transcript {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.jsonl");
    write(&path, lines.as_bytes(), Privacy::Shared).unwrap();
    read(agent, &path).unwrap()
}

fn counts(transcript: &Transcript) -> Vec<(u64, u64, u64, u64)> {
    transcript
        .messages
        .iter()
        .map(|message| {
            let usage = message.usage;
            (
                usage.input,
                usage.output,
                usage.cache_read,
                usage.cache_write,
            )
        })
        .collect()
}

#[test]
fn an_answer_of_claude_in_several_lines_counts_once() {
    let transcript = record(
        "claude",
        r#"{"type":"summary","summary":"x"}
{"type":"user","timestamp":"2026-11-01T10:00:00.000Z","message":{"role":"user","content":"hello"}}
{"type":"assistant","timestamp":"2026-11-01T10:00:01.000Z","requestId":"r1","message":{"id":"m1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"hi"}],"usage":{"input_tokens":10,"cache_creation_input_tokens":100,"cache_read_input_tokens":1000,"output_tokens":1,"service_tier":"standard"}}}
{"type":"assistant","timestamp":"2026-11-01T10:00:02.000Z","requestId":"r1","message":{"id":"m1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}],"usage":{"input_tokens":10,"cache_creation_input_tokens":100,"cache_read_input_tokens":1000,"output_tokens":50}}}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"ok"}]},"toolUseResult":{"stdout":"x"}}
{"type":"assistant","timestamp":"2026-11-01T10:00:05.000Z","message":{"id":"m2","model":"claude-sonnet-4-5","content":[{"type":"text","text":"done"}],"usage":{"input_tokens":5,"output_tokens":7,"cache_creation_input_tokens":30,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":20}}}}
{"type":"assistant","timestamp":"2026-11-01T10:00:06.000Z","message":{"id":"x","model":"<synthetic>","content":[{"type":"text","text":"no response requested"}],"usage":{"input_tokens":9,"output_tokens":9}}}
"#,
    );
    assert_eq!(counts(&transcript), [(10, 50, 1000, 100), (5, 7, 0, 10)]);
    let [first, second] = transcript.messages.as_slice() else {
        panic!("two answers");
    };
    assert_eq!(first.calls, ["toolu_1"]);
    assert_eq!(first.model, "claude-sonnet-4-5");
    assert_eq!(first.time_ns, 1_793_527_201_000_000_000);
    assert_eq!(second.usage.cache_write_hour, 20);
    assert_eq!(transcript.broke, None);
    assert_eq!(transcript.skipped, 0);
}

#[test]
fn a_model_that_could_not_be_reached_is_noticed() {
    let transcript = record(
        "claude",
        r#"{"type":"assistant","timestamp":"2026-11-01T10:00:01Z","isApiErrorMessage":true,"message":{"id":"e","model":"<synthetic>","content":[{"type":"text","text":"API Error: 529 overloaded"}],"usage":{"input_tokens":0,"output_tokens":0}}}"#,
    );
    assert!(transcript.messages.is_empty());
    assert_eq!(
        transcript.broke,
        Some((
            1_793_527_201_000_000_000,
            "API Error: 529 overloaded".to_owned()
        ))
    );
}

#[test]
fn subagents_count_as_well() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.jsonl");
    let folder = directory.path().join("s/subagents");
    fs::create_dir_all(&folder).unwrap();
    let line = |id: &str, output: u64| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"{id}","model":"m","content":[],"usage":{{"output_tokens":{output}}}}}}}"#
        )
    };
    write(&path, line("a", 1).as_bytes(), Privacy::Shared).unwrap();
    let both = format!("{}\n{}", line("b", 2), line("a", 1));
    write(
        &folder.join("agent-1.jsonl"),
        both.as_bytes(),
        Privacy::Shared,
    )
    .unwrap();
    let transcript = read("claude", &path).unwrap();
    assert_eq!(counts(&transcript), [(0, 1, 0, 0), (0, 2, 0, 0)]);
}

#[test]
fn the_counts_of_codex_are_sums_and_are_repeated() {
    let transcript = record(
        "codex",
        r#"{"timestamp":"2026-11-01T10:00:00.000Z","type":"session_meta","payload":{"id":"s","cwd":"/x","cli_version":"0.166.0"}}
{"timestamp":"2026-11-01T10:00:00.100Z","type":"turn_context","payload":{"cwd":"/x","model":"gpt-5-codex"}}
{"timestamp":"2026-11-01T10:00:01.000Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{}","call_id":"call_1"}}
{"timestamp":"2026-11-01T10:00:01.100Z","type":"event_msg","payload":{"type":"token_count","info":null}}
{"timestamp":"2026-11-01T10:00:01.200Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":100,"cached_input_tokens":40,"output_tokens":10,"reasoning_output_tokens":5,"total_tokens":110},"last_token_usage":{"input_tokens":100,"output_tokens":10}}}}
{"timestamp":"2026-11-01T10:00:01.300Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":100,"cached_input_tokens":40,"output_tokens":10}}}}
{"timestamp":"2026-11-01T10:00:02.000Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":250,"cached_input_tokens":140,"output_tokens":30}}}}
{"timestamp":"2026-11-01T10:00:03.000Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":7,"cached_input_tokens":0,"output_tokens":3}}}}
"#,
    );
    assert_eq!(
        counts(&transcript),
        [(60, 10, 40, 0), (50, 20, 100, 0), (7, 3, 0, 0)]
    );
    let first = transcript.messages.first().unwrap();
    assert_eq!(
        (&*first.model, first.calls.as_slice()),
        ("gpt-5-codex", &["call_1".to_owned()][..])
    );
}

#[test]
fn what_is_not_understood_is_passed_over_and_counted() {
    let transcript = record(
        "claude",
        "no json\n{\"type\":\"assistant\",\"message\":7}\n\n[1]\n{\"type\":\"assistant\",\"message\":{\"id\":\"a\",\"model\":\"m\",\"usage\":{\"input_tokens\":-1}}}\n{\"type\":\"assistant\",\"message\":{\"id\":\"b\",\"usage\":{\"output_tokens\":3}}}",
    );
    assert_eq!(counts(&transcript), [(0, 3, 0, 0)]);
    assert_eq!(transcript.skipped, 4);
}

#[test]
fn no_record_is_no_zero() {
    let directory = tempfile::tempdir().unwrap();
    let missing = read("claude", &directory.path().join("missing.jsonl")).unwrap_err();
    assert!(
        missing
            .to_string()
            .contains("missing.jsonl` cannot be read")
    );
    let folder = read("claude", directory.path()).unwrap_err();
    assert!(folder.to_string().contains("it is not a file"));
    let other = read("cursor", directory.path()).unwrap_err();
    assert_eq!(
        other.to_string(),
        "the record that cursor keeps is not read here"
    );
}
