//! Every target with difficult texts and with the shipped roles; every head is parsed again by a parser of its
//! format.

use std::path::Path;

use super::*;
use crate::browse::{self, Wanted};
use crate::catalog::Draft;
use crate::source::{File, INDEX, Sources};
use crate::yaml::{Document, Node};

fn role<'a>(slug: &'a str, fields: &'a Fields) -> Role<'a> {
    Role {
        slug,
        language: "en",
        version: 3.0,
        fields,
        hints: Hints {
            tools: Some(vec![Tool::Read, Tool::Run]),
            model: Some(Strength::Strong),
        },
        has_model: false,
    }
}

fn fields(text: &str) -> Fields {
    let some = || Some(text.to_owned());
    Fields {
        emoji: some(),
        auto_start: Some(true),
        name: text.to_owned(),
        description: some(),
        instructions: text.to_owned(),
        launch_message: some(),
    }
}

/// Parses description and instructions, as the agent would.
fn read(target: &Target, text: &str) -> (String, String) {
    if target.is_toml {
        let table: toml::Table = text.parse().unwrap_or_else(|_| panic!("{text}"));
        let text = |key: &str| table[key].as_str().unwrap().to_owned();
        return (text("description"), text("developer_instructions"));
    }
    let rest = text.strip_prefix("---\n").unwrap();
    let (head, body) = rest.split_once("\n---\n").unwrap();
    let document = Document::parse(head.as_bytes().to_vec()).unwrap_or_else(|_| panic!("{text}"));
    let description = document.root().get("description").and_then(Node::text);
    (description.unwrap().to_owned(), body.to_owned())
}

fn check(role: &Role<'_>) {
    for target in TARGETS {
        let files = export(target, role).unwrap();
        let own = files.first().unwrap();
        let (said, body) = read(target, &own.text);
        assert_eq!(said, cut(description(role), target), "{}", own.text);
        assert_eq!(
            body,
            format!("{}\n", role.fields.instructions),
            "{}",
            own.text
        );
        for file in files.iter().chain(&companions(target)) {
            let old = Some(file.text.as_str());
            assert_eq!(merge(file, old, false), Merge::Same, "{}", file.text);
            let newer = Exported {
                text: format!("{}x", file.text),
                ..file.clone()
            };
            assert!(matches!(merge(&newer, old, false), Merge::Write(_)));
            let edited = file
                .text
                .replacen(" 3", " 4", 1)
                .replacen("Role", "role", 1);
            assert_eq!(merge(&newer, Some(&edited), false), Merge::Kept, "{edited}");
            assert!(matches!(
                merge(&newer, Some(&edited), true),
                Merge::Write(_)
            ));
        }
    }
}

#[test]
fn every_target_holds_nasty_texts() {
    for text in [
        "",
        " ",
        "\n",
        "---",
        "\n---\n",
        "a\n---\nname: evil\n---\nb",
        "\"\"\"",
        "\\\"\"\"\" \\u",
        "'quoted' \"double\" \\ back",
        "key: value # no comment",
        "🏛️ émoji",
        "\u{feff}bom",
        "\u{1b}[2J\0\u{7f}",
        "trailing\n\n",
        "<!-- roleos end of a-role -->",
        NO_HASH,
    ] {
        check(&role("a-role", &fields(text)));
    }
    let long = Fields {
        description: Some("é".repeat(2000)),
        ..fields("x")
    };
    check(&role("a-role", &long));
}

#[test]
fn every_shipped_role_fits_every_target() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog");
    let file = |path: &str| File::of(std::fs::read(root.join(path)).unwrap());
    let mut sources = Sources::new(file(INDEX));
    for path in sources.wanted() {
        let read = file(&path);
        sources.add(path, read);
    }
    let draft = Draft::read(sources);
    let mut hinted = 0;
    for listed in draft.roles() {
        for language in ["ru", "en"] {
            let wanted = Wanted::Exactly(language);
            let card = browse::card(draft.claims(), &listed.slug, wanted).unwrap();
            let hints = Hints::of(draft.claims(), &card);
            hinted += usize::from(hints.tools.is_some());
            check(&Role {
                hints,
                ..role(&listed.slug, &card.fields)
            });
        }
    }
    assert_eq!((draft.roles().len(), hinted), (11, 10));
}

/// Compares the head below the mark, and the lost parts, per target.
#[test]
fn heads_and_losses_are_those_of_the_target() {
    let fields = Fields {
        description: Some("Does x.".to_owned()),
        launch_message: Some("Go.".to_owned()),
        ..fields("N")
    };
    let role = role("x", &fields);
    let mut seen = String::new();
    for target in TARGETS {
        let files = export(target, &role).unwrap();
        let own = files.first().unwrap();
        let head = own.text.split("# roleos-").nth(1).unwrap();
        let head = head.lines().skip(1).take_while(|line| *line != "---");
        let head = head.take_while(|line| !line.starts_with("developer"));
        let head: Vec<&str> = head.collect();
        seen.push_str(&format!(
            "{} {}\n  {}\n  lost: {}\n",
            target.name,
            own.path,
            head.join("\n  "),
            own.lost
                .join("; ")
                .replace("the ", "")
                .replace(" is not exported", "")
        ));
    }
    assert_eq!(seen, include_str!("heads.txt"));
}

#[test]
fn a_launch_message_is_an_initial_prompt_only_when_it_is_sent() {
    let mut fields = fields("x");
    let text = |fields: &Fields| {
        let target = TARGETS.first().unwrap();
        export(target, &role("a", fields)).unwrap().remove(0)
    };
    assert!(text(&fields).text.contains("\ninitialPrompt: \"x\"\n"));
    fields.auto_start = Some(false);
    let exported = text(&fields);
    assert!(!exported.text.contains("initialPrompt"));
    assert!(
        exported
            .lost
            .contains(&"the launch message is not exported")
    );
}

#[test]
fn names_must_fit_the_target() {
    let (fields, long) = (fields("x"), "x".repeat(65));
    let fits = |target: &Target, slug| export(target, &role(slug, &fields)).is_ok();
    for target in TARGETS {
        for slug in ["-a", "a-", "a--b", &long] {
            assert_eq!(fits(target, slug), target.name != "agent-skills", "{slug}");
        }
        assert!(!fits(target, "../a") && !fits(target, "A"));
    }
}

#[test]
fn a_section_leaves_the_rest_of_the_file_alone() {
    let codex = TARGETS.iter().find(|one| one.name == "codex").unwrap();
    let section = |slug, text: &str| export(codex, &role(slug, &fields(text))).unwrap().remove(1);
    let written = |old: &str, file: &Exported| match merge(file, Some(old), false) {
        Merge::Write(text) => text,
        other => panic!("{other:?}"),
    };
    let (one, two) = (section("one", "1 --> <!-- x"), section("two", "2"));
    let both = written(&written("# Mine", &one), &two);
    assert_eq!(both, format!("# Mine\n\n{}\n{}", one.text, two.text));
    let newer = section("one", "9");
    let updated = written(&format!("{both}tail"), &newer);
    assert_eq!(
        updated,
        format!("# Mine\n\n{}\n{}tail", newer.text, two.text)
    );
    let cut = both.replacen("<!-- roleos end of one -->", "", 1);
    assert_eq!(merge(&newer, Some(&cut), true), Merge::Kept);
}
