//! Generates `docs/actions.md`: the table of actions for people, with the commands that it must recognise.

use std::fmt::Write as _;

use toml::{Table, Value};

const SOURCE: &str = include_str!("../../crates/actions/actions.toml");

const SETS: &[(&str, &str)] = &[
    (
        "gated",
        "Denied without a grant, while the gate is on: what leaves under a name and cannot be taken back.",
    ),
    (
        "extended",
        "The same for those that `[oversight] extended` switches on: what another deployment or a revert replaces.",
    ),
    (
        "destructive",
        "Asked about while the gate is on, or what `[oversight] destructive` says: `allow`, `ask` or `deny`.",
    ),
    (
        "secrets",
        "Asked about while the gate is on, or what `[oversight] secrets` says: `allow`, `ask` or `deny`.",
    ),
];

/// Returns the text of the page.
pub(crate) fn text() -> String {
    let table: Table = SOURCE.parse().unwrap_or_default();
    let actions = table.get("action").and_then(Value::as_array);
    let actions: Vec<&Value> = actions.into_iter().flatten().collect();
    let mut text =
        "# Actions\n\n<!-- `cargo xtask codegen` writes this from crates/actions/actions.toml. -->\n"
            .to_owned();
    for (set, what) in SETS {
        let head = "| action | what it is | how it is undone, as far as possible | examples |\n|---|---|---|---|";
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n## `{set}`\n\n{what}\n\n{head}");
        let is_in = |action: &&&Value| action.get("set").and_then(Value::as_str) == Some(set);
        for action in actions.iter().filter(is_in) {
            let field = |key: &str| {
                let text = action.get(key).and_then(Value::as_str);
                text.unwrap_or_default().replace('<', "&lt;")
            };
            let examples = action.get("must_match").and_then(Value::as_array);
            let examples = examples.into_iter().flatten().filter_map(Value::as_str);
            let examples: Vec<String> = examples
                .map(|example| format!("`{}`", example.replace('|', "\\|")))
                .collect();
            let _ = writeln!(
                text,
                "| `{}` | {} | {} | {} |",
                field("id"),
                field("label"),
                field("compensator"),
                examples.join(", ")
            );
        }
    }
    text
}
