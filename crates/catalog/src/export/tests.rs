//! Round trips: the shipped roles, nasty texts, and any text at all.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::browse::{self, Wanted};
use crate::catalog::Draft;
use crate::source::{File, INDEX, Sources};

const TARGETS: [Target; 2] = [Target::ClaudeAgents, Target::AgentSkills];

fn round_trip(slug: &str, fields: &Fields) {
    for target in TARGETS {
        let role = Role {
            slug,
            language: "en",
            version: 3.0,
            fields,
            has_model: false,
        };
        let exported = export(target, role).unwrap();
        let read = read_back(target, &exported.text).unwrap_or_else(|| panic!("{}", exported.text));
        assert_eq!(read.fields, *fields, "{}", exported.text);
        assert_eq!(
            (read.slug.as_str(), read.language.as_str(), read.version),
            (slug, "en", 3.0)
        );
        assert!(read.is_untouched);
        let touched = exported
            .text
            .replacen("\nname: ", "\ntools: Read\nname: ", 1);
        assert!(!read_back(target, &touched).unwrap().is_untouched);
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

#[test]
fn nasty_texts_come_back() {
    for text in [
        "",
        " ",
        "\n",
        "---",
        "---\n",
        "\n---\n",
        "a\n---\nname: evil\n---\nb",
        "\r\n",
        "a\r\n---\r\nb\r\n",
        "\"quoted\" 'single' \\ back",
        "key: value # no comment",
        "- list",
        "🏛️ émoji 🎭",
        "\u{feff}bom",
        "\u{2028}\u{85}",
        "\u{1b}[2J\0",
        "# roleos: {}",
        "trailing\n\n\n",
        "  leading",
        "0000000000000000000000000000000000000000000000000000000000000000",
    ] {
        round_trip("a-role", &fields(text));
    }
}

#[test]
fn absent_is_not_empty() {
    let full = fields("x");
    round_trip(
        "a",
        &Fields {
            emoji: None,
            ..full.clone()
        },
    );
    round_trip(
        "a",
        &Fields {
            auto_start: None,
            ..full.clone()
        },
    );
    round_trip(
        "a",
        &Fields {
            auto_start: Some(false),
            ..full.clone()
        },
    );
    round_trip(
        "a",
        &Fields {
            description: None,
            ..full.clone()
        },
    );
    round_trip(
        "a",
        &Fields {
            description: Some(String::new()),
            ..full.clone()
        },
    );
    round_trip(
        "a",
        &Fields {
            launch_message: None,
            ..full.clone()
        },
    );
    round_trip(
        "a",
        &Fields {
            launch_message: Some(" ".to_owned()),
            ..full.clone()
        },
    );
    round_trip(
        "a",
        &Fields {
            description: Some("é".repeat(2000)),
            ..full
        },
    );
}

#[test]
fn a_launch_message_is_an_initial_prompt_only_when_it_is_sent() {
    let mut fields = fields("x");
    let text = |fields: &Fields| {
        let role = Role {
            slug: "a",
            language: "en",
            version: 1.0,
            fields,
            has_model: true,
        };
        let exported = export(Target::ClaudeAgents, role).unwrap();
        (
            exported.text.contains("\ninitialPrompt: \"x\"\n"),
            exported.unused.len(),
        )
    };
    assert_eq!(text(&fields), (true, 2));
    fields.auto_start = Some(false);
    assert_eq!(text(&fields), (false, 3));
}

#[test]
fn names_must_fit_the_target() {
    let fields = fields("x");
    let fits = |target, slug| {
        export(
            target,
            Role {
                slug,
                language: "en",
                version: 1.0,
                fields: &fields,
                has_model: false,
            },
        )
        .is_ok()
    };
    let long = "x".repeat(65);
    for slug in ["-a", "a-", "a--b", long.as_str()] {
        assert!(
            fits(Target::ClaudeAgents, slug) && !fits(Target::AgentSkills, slug),
            "{slug}"
        );
    }
    assert!(!fits(Target::ClaudeAgents, "../a") && !fits(Target::ClaudeAgents, "A"));
}

#[test]
fn files_of_others_are_not_ours() {
    for text in [
        "",
        "---\nname: a\ndescription: b\n---\nbody\n",
        "# roleos: {}",
        "---\n# roleos: {}\nname: a\n---\n",
    ] {
        assert_eq!(read_back(Target::ClaudeAgents, text), None);
        assert_eq!(read_back(Target::AgentSkills, text), None);
    }
}

#[test]
fn every_shipped_role_comes_back_in_both_languages() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog");
    let file = |path: &str| File::of(std::fs::read(root.join(path)).unwrap());
    let mut sources = Sources::new(file(INDEX));
    for path in sources.wanted() {
        let read = file(&path);
        sources.add(path, read);
    }
    let draft = Draft::read(sources);
    let mut count = 0;
    for role in draft.roles() {
        for language in ["ru", "en"] {
            let card = browse::card(draft.claims(), &role.slug, Wanted::Exactly(language)).unwrap();
            round_trip(&role.slug, &card.fields);
            count += 1;
        }
    }
    assert_eq!(count, 12);
}

proptest! {
    #[test]
    fn every_role_comes_back(
        emoji in prop::option::of(".{0,4}"),
        auto_start in prop::option::of(any::<bool>()),
        name in ".{0,8}",
        description in prop::option::of("[-\"a:\\n\\r ]{0,12}"),
        instructions in "[-a\\n\\r:# ]{0,24}",
        launch_message in prop::option::of("[-\"a:\\n\\r ]{0,12}"),
    ) {
        round_trip("a", &Fields { emoji, auto_start, name, description, instructions, launch_message });
    }
}
