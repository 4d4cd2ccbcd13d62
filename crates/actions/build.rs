//! Converts the table of actions to constants, so that a hook call parses nothing.

use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

use toml::{Table, Value};

const SOURCE: &str = "actions.toml";

#[expect(
    clippy::disallowed_methods,
    reason = "cargo tells a build script by variables where to write, and owns the folder"
)]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={SOURCE}");
    let table: Table = fs::read_to_string(SOURCE)?.parse()?;
    let target = PathBuf::from(env::var("OUT_DIR")?).join("actions.rs");
    fs::write(target, generated(&table)?)?;
    Ok(())
}

fn generated(table: &Table) -> Result<String, Box<dyn Error>> {
    let mut actions = String::new();
    let mut examples = String::new();
    let mut rules = Vec::new();
    let listed = table.get("action").and_then(Value::as_array);
    for (number, action) in listed.ok_or("no actions")?.iter().enumerate() {
        let text = |key: &str| action.get(key).and_then(Value::as_str);
        let list = |key: &str| {
            let items = action
                .get(key)
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            items.filter_map(Value::as_str)
        };
        let id = text("id").ok_or("an action without an id")?;
        let need = |key: &str| text(key).ok_or(format!("`{id}` has no `{key}`"));
        let (label, compensator) = (need("label")?, need("compensator")?);
        let set = match need("set")? {
            "gated" => "Gated",
            "extended" => "Extended",
            "destructive" => "Destructive",
            "secrets" => "Secrets",
            other => return Err(format!("`{id}`: `{other}` is no set").into()),
        };
        let requests: Vec<&str> = list("requests").collect();
        let sockets: Vec<&str> = list("sockets").collect();
        writeln!(
            actions,
            "Known {{ id: {id:?}, set: Set::{set}, label: {label:?}, compensator: {compensator:?}, requests: &{requests:?}, sockets: &{sockets:?} }},"
        )?;
        let harmless = text("harmless").unwrap_or_default().split_whitespace();
        let harmless: String = harmless.map(|one| format!(" !{one}")).collect();
        for rule in list("rules") {
            let (programs, rest) = rule.split_once(' ').unwrap_or((rule, ""));
            let rest = format!("{rest}{harmless}");
            rules.extend(
                programs
                    .split('|')
                    .map(|name| (name, id, rest.clone(), number)),
            );
        }
        for (key, is_match) in [("must_match", true), ("must_not_match", false)] {
            let mut given = list(key).peekable();
            given.peek().ok_or(format!("`{id}` has no `{key}`"))?;
            for example in given {
                writeln!(examples, "({id:?}, {is_match}, {example:?}),")?;
            }
        }
    }
    rules.sort();
    let rules: Vec<_> = rules
        .into_iter()
        .map(|(name, _, rest, number)| (name, number, rest))
        .collect();
    let words = |table: &Value, name: &str| {
        let text = table.get(name).and_then(Value::as_str).unwrap_or_default();
        format!("&{:?}", text.split_whitespace().collect::<Vec<_>>())
    };
    let part = |key: &str| table.get(key).ok_or(format!("no `{key}`"));
    let names = |table: &Value| {
        table
            .as_table()
            .into_iter()
            .flat_map(Table::keys)
            .cloned()
            .collect::<Vec<_>>()
    };
    let known = part("options")?;
    let options: String = names(known)
        .iter()
        .map(|name| format!("({name:?}, {}),", words(known, name)))
        .collect();
    let mut senders = String::new();
    for name in names(part("senders")?) {
        let sender = part("senders")?.get(&name).ok_or("no sender")?;
        let fields = ["programs", "method", "body", "upload", "address", "valued"];
        let fields: String = fields
            .iter()
            .map(|field| format!("{field}: {}, ", words(sender, field)))
            .collect();
        write!(senders, "request::Sender {{ {fields} }},")?;
    }
    let aliases = aliases(part("aliases")?)?;
    Ok(format!(
        "pub(crate) static ACTIONS: &[Known] = &[{actions}];\n\
         /// Program, number of the action and the rest of the rule, in the order of the programs.\n\
         pub(crate) static RULES: &[(&str, usize, &str)] = &{rules:?};\n\
         static OPTIONS: &[(&str, &[&str])] = &[{options}];\n\
         static SENDERS: &[request::Sender] = &[{senders}];\n\
         /// Where programs keep aliases that they resolve by themselves.\n\
         pub static ALIASES: &[AliasesOf] = &[{aliases}];\n\
         static SECRET: &[&str] = {};\nstatic PUBLIC: &[&str] = {};\n\
         /// Commands that must and must not match, with their action.\npub static EXAMPLES: &[(&str, bool, &str)] = &[{examples}];\n",
        words(part("paths")?, "secret"),
        words(part("paths")?, "public"),
    ))
}

/// Returns the constants for the location of each program's aliases.
fn aliases(table: &Value) -> Result<String, Box<dyn Error>> {
    let mut aliases = String::new();
    for (program, kept) in table.as_table().ok_or("`aliases` is no table")? {
        let text = |field: &str| kept.get(field).and_then(Value::as_str).unwrap_or_default();
        let words = |field: &str| text(field).split_whitespace().collect::<Vec<_>>();
        write!(
            aliases,
            "AliasesOf {{ program: {program:?}, key: {:?}, variables: {:?}, files: &{:?}, settings: &{:?} }},",
            text("key"),
            text("variables"),
            words("files"),
            words("settings"),
        )?;
    }
    Ok(aliases)
}
