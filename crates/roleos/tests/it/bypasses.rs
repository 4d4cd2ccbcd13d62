//! Known ways past the gate, each by its name: the verdict on the text, and the programs that really run under `roleos
//! run`, with recorders in place of programs that act. Each is also run without supervision, to prove that it acts.
//!
//! Tools that may not be installed have stand-ins that start what the tool would start from its file.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::Value;

use crate::terminal::Terminal;
use crate::workspace::{Ran, Workspace, ran};

/// A command, the reason why it is refused, and the files of the project.
type Project<'a> = (&'a str, &'a str, Vec<(String, String)>);

/// A name, a command, `true` if it may be opaque, and the files beside it.
type Row<'a> = (&'a str, String, bool, &'a [(&'a str, &'a str)]);

/// Records the words of its call.
const RECORDER: &str = "#!/bin/sh\necho \"${0##*/} $*\" >> \"$RECORD\"\n";

/// Stand-ins with the features that these files need.
const STAND_INS: [(&str, &str); 4] = [
    ("tox", "#!/bin/sh\nsed -n '/^    /p' tox.ini | sh\n"),
    ("just", "#!/bin/sh\nsed -n '/^    /p' Justfile | sh\n"),
    (
        "task",
        "#!/bin/sh\nsed -n 's/.*for: \\[\\(.*\\)\\]/\\1/p' Taskfile.yml | tr , '\\n' | while read -r item; do git $item; done\n",
    ),
    (
        "mvn",
        "#!/bin/sh\nsed 's/<executable>/\\n/g; s/<[^>]*>/ /g' pom.xml | sh\n",
    ),
];

/// A workspace with recorders in place of the programs in the gate's table.
struct Place {
    workspace: Workspace,
}

impl Place {
    fn new(opaque: &str, files: &[(&str, String)]) -> Self {
        let config = format!("[oversight]\ncapability_gate = true\nopaque = \"{opaque}\"\n");
        let workspace = Workspace::with_config(&config);
        let recorders =
            ["git", "npm", "gh", "gh-pages", "cargo", "jj"].map(|name| (name, RECORDER));
        for (name, text) in recorders.into_iter().chain(STAND_INS) {
            let file = workspace.write(&format!("bin/{name}"), text);
            fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        for (name, text) in files {
            workspace.write(name, text);
        }
        Self { workspace }
    }

    fn with_recorders(&self, mut command: Command) -> Ran {
        let path = std::env::var("PATH").unwrap();
        let bin = self.workspace.path("bin");
        command
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("RECORD", self.workspace.path("record"))
            .env("CMD", "x git push");
        ran(command)
    }

    /// Returns the recorded programs, and clears the record.
    fn recorded(&self) -> String {
        let file = self.workspace.path("record");
        let recorded = fs::read_to_string(&file).unwrap_or_default();
        fs::remove_file(file).ok();
        recorded
    }

    /// Returns the verdict on the text, with the detected actions.
    fn explained(&self, text: &str) -> (String, Vec<String>) {
        let answer = self.workspace.roleos(&["--json", "explain", text]).json();
        let actions = answer["actions"].as_array().unwrap();
        let actions = actions.iter().map(|one| one.as_str().unwrap().to_owned());
        (
            answer["verdict"].as_str().unwrap().to_owned(),
            actions.collect(),
        )
    }

    fn plainly(&self, text: &str) -> (Ran, String) {
        let mut command = Command::new("bash");
        command
            .args(["-c", text])
            .current_dir(self.workspace.root());
        (self.with_recorders(command), self.recorded())
    }

    /// Runs the text under supervision: returns the run, the recorded programs, and the refused actions.
    fn supervised(&self, text: &str) -> (Ran, String, Vec<String>) {
        let report = self.workspace.home().join("report.json");
        let words = ["run", "--report", report.to_str().unwrap(), "--shell", text];
        let ran = self.with_recorders(self.workspace.command(&words));
        let report: Value = serde_json::from_str(&fs::read_to_string(report).unwrap()).unwrap();
        let refused = report["refused"].as_array().unwrap().iter();
        let refused = refused.flat_map(|one| one["actions"].as_array().unwrap());
        let refused = refused.map(|one| one.as_str().unwrap().to_owned());
        (ran, self.recorded(), refused.collect())
    }
}

/// Returns `true` if one of the recorded programs is the act.
fn acts(recorded: &str) -> bool {
    let is_act = |line: &str| line.starts_with("git push") || line == "npm publish";
    recorded.lines().any(is_act)
}

fn numbered(from: &str, count: usize, behind: &str) -> String {
    let each = (1..=count).map(|number| format!("{from}{number}{behind}"));
    each.collect()
}

/// The act is behind a limit of a removed parser: the text is opaque, and the act itself is refused.
#[test]
fn an_act_behind_a_cap_of_a_reader_that_is_gone_is_opaque_and_refused_when_it_begins() {
    let included = numbered(" i", 40, ".mk");
    let mut makefiles: Vec<(String, String)> = (1..40)
        .map(|number| (format!("i{number}.mk"), format!("x{number}:\n\techo\n")))
        .collect();
    makefiles.push(("i40.mk".to_owned(), "all::\n\t@git push\n".to_owned()));
    makefiles.push(("Makefile".to_owned(), format!("include{included}\n")));
    let one = |name: &str, text: String| vec![(name.to_owned(), text)];
    let python = "import os\nn=[103,105,116,32,112,117,115,104]\ngetattr(os,\"sys\"+\"tem\")(\"\".join(map(chr,n)))\n";
    let rows: Vec<Project<'_>> = vec![
        (
            "tox: line 4,204 of its file",
            "tox",
            one(
                "tox.ini",
                format!(
                    "[testenv]\ncommands =\n{}    git push\n",
                    numbered("    : ", 4200, "\n")
                ),
            ),
        ),
        (
            "just: recipe 301",
            "just all",
            one(
                "Justfile",
                format!(
                    "all: last{}\n{}last:\n    git push\n",
                    numbered(" t", 300, ""),
                    numbered("t", 300, ":\n    :\n")
                ),
            ),
        ),
        (
            "task: item 71 of a loop",
            "task up",
            one(
                "Taskfile.yml",
                format!(
                    "version: \"3\"\ntasks:\n  up:\n    cmds:\n      - for: [{}push]\n        cmd: git {{{{.ITEM}}}}\n",
                    numbered("log", 70, ", ")
                ),
            ),
        ),
        (
            "make: word 71 of foreach",
            "make -s -f FE.mk all",
            one(
                "FE.mk",
                format!(
                    "W :={} push\nall:\n\t@$(foreach w,$(W),git $(w);)\n",
                    numbered(" log", 70, "")
                ),
            ),
        ),
        ("make: include 40", "make -s all", makefiles),
        (
            "maven: block 71",
            "mvn exec:exec",
            one(
                "pom.xml",
                format!(
                    "<project>{}<executable>git</executable><arguments><argument>push</argument></arguments></project>\n",
                    numbered("<executable>: ", 70, "</executable>")
                ),
            ),
        ),
        (
            "code that computes its words",
            "python3 calc.py",
            one("calc.py", python.to_owned()),
        ),
        (
            "words that shift leaves",
            "set -- $CMD; shift; \"$@\"",
            Vec::new(),
        ),
    ];
    for (name, text, files) in rows {
        let files: Vec<(&str, String)> = files
            .iter()
            .map(|(name, text)| (name.as_str(), text.clone()))
            .collect();
        let place = Place::new("ask", &files);
        let (verdict, _) = place.explained(text);
        assert_eq!(verdict, "ask", "{name}");
        let (plain, recorded) = place.plainly(text);
        assert!(acts(&recorded), "{name} does not act: {plain:#?}");
        let (ran, recorded, refused) = place.supervised(text);
        assert!(!acts(&recorded), "{name}: {recorded} {ran:#?}");
        assert!(refused.contains(&"git:push".to_owned()), "{name}: {ran:#?}");
    }
}

#[test]
fn the_act_behind_256_granted_ones_is_not_forgotten() {
    let place = Place::new("ask", &[]);
    let mut terminal = Terminal::roleos(&place.workspace, &["grant", "git:push"]);
    terminal.expects("[y/N] ").types("y");
    terminal.ends().exits(0);
    let text = format!("{} npm publish", numbered("git push r", 300, " main; "));
    let (verdict, actions) = place.explained(&text);
    assert_eq!(verdict, "deny");
    assert!(actions.contains(&"npm:publish".to_owned()), "{actions:?}");
    let (_, recorded) = place.plainly(&text);
    assert!(recorded.contains("npm publish"), "{recorded}");
    let (ran, recorded, refused) = place.supervised(&text);
    assert_eq!(refused, ["npm:publish"], "{ran:#?}");
    assert_eq!(recorded.matches("git push").count(), 300, "{ran:#?}");
    assert!(!recorded.contains("publish"), "{recorded}");
}

#[test]
fn the_write_to_our_own_settings_behind_64_questions_is_denied() {
    let place = Place::new("ask", &[]);
    let last = "echo x > .role-os/config.toml";
    let text = format!("{}{last}", numbered("echo x > .git/hooks/h", 70, "; "));
    assert_eq!(place.explained(last).0, "deny");
    assert_eq!(place.explained(&text).0, "deny");
}

/// The body of a pull request as agents write it, with files of the checkout in backticks.
const BODY: &str = "gh pr create --title x --body \"$(cat <<'EOF'\n## What\nIt isn't `docs/plan.md` that's wrong, it's `src/App.tsx`.\nSee `npm publish` and docs/plan.md (the user's).\nEOF\n)\"";

#[test]
fn friction_4_1_an_act_is_not_lost_because_something_else_is_opaque() {
    for opaque in ["watch", "ask", "allow"] {
        let files = [
            (
                "docs/plan.md",
                "Don't run `src/App.tsx` (yet\nif it's\n$(\n".to_owned(),
            ),
            (
                "src/App.tsx",
                "export const x = `${'<div'}`; // git push\n".to_owned(),
            ),
        ];
        let place = Place::new(opaque, &files);
        for text in [
            BODY.to_owned(),
            format!("make all; {BODY}"),
            format!("eval \"$CMD\"; {BODY}; ./a.out"),
        ] {
            let (verdict, actions) = place.explained(&text);
            assert_eq!(verdict, "deny", "{opaque}: {text}");
            assert_eq!(actions, ["gh:pr-create"], "{opaque}: {text}");
        }
        let (ran, recorded, refused) = place.supervised(BODY);
        assert_eq!(refused, ["gh:pr-create"], "{ran:#?}");
        assert_eq!(recorded, "", "{ran:#?}");
    }
}

/// Text is not a command: none of these is an act, none needs a confirmation if supervision is available, and
/// supervision refuses none. A program that runs recipes or scripts is opaque, so it needs a confirmation without
/// supervision.
#[test]
fn friction_4_2_to_4_6_text_that_is_no_command_is_left_alone() {
    let lines = "if x {\n\tcase a:\n\t\tfor {\n";
    let code = lines.repeat(200);
    let rows: [Row<'_>; 7] = [
        (
            "4.2 a commit message with an open bracket",
            "git commit -m \"$(cat <<'EOF'\nfix: x (see a\nEOF\n)\"".to_owned(),
            true,
            &[],
        ),
        (
            "4.2 a commit message with quotes and an act in backquotes",
            "git commit -m \"$(cat <<'EOF'\nfix: don't `git push` \"x\nEOF\n)\"".to_owned(),
            true,
            &[],
        ),
        (
            "4.3 a comment in a file of settings",
            "npm run build".to_owned(),
            false,
            &[
                (
                    "package.json",
                    "{\"scripts\":{\"build\":\"vite build\",\"deploy\":\"gh-pages -d dist\"}}",
                ),
                ("vite.config.ts", "// before running `npm run deploy`.\n"),
            ],
        ),
        (
            "4.4 the name of a file",
            "find . -name package.json".to_owned(),
            true,
            &[(
                "package.json",
                "{\"scripts\":{\"deploy\":\"gh-pages -d dist\"}}",
            )],
        ),
        (
            "4.5 a file of another language",
            "make -s check".to_owned(),
            false,
            &[
                ("Makefile", "check:\n\t@sh generate-check.sh\n"),
                ("generate-check.sh", "python3 generate.py\n"),
                (
                    "generate.py",
                    "\"\"\"Generate committed Go and Python (git push\"\"\"\nprint('made')\n",
                ),
            ],
        ),
        (
            "4.6 long code in a heredoc",
            format!("cat > x.go <<'EOF'\n{code}EOF"),
            true,
            &[],
        ),
        (
            "4.6 long code that names an act, then a look at it",
            format!("cat > x.go <<'EOF'\n{code}git push\nEOF\nwc -l < x.go"),
            true,
            &[],
        ),
    ];
    for (name, text, is_read, files) in rows {
        let files: Vec<(&str, String)> = files
            .iter()
            .map(|(name, text)| (*name, (*text).to_owned()))
            .collect();
        let place = Place::new("watch", &files);
        let (verdict, actions) = place.explained(&text);
        let expected = if is_read { "allow" } else { "watch" };
        assert_eq!((verdict.as_str(), actions.len()), (expected, 0), "{name}");
        let (plain, recorded) = place.plainly(&text);
        assert!(!acts(&recorded), "{name}: {recorded}");
        let (watched, also, refused) = place.supervised(&text);
        assert_eq!(refused, Vec::<String>::new(), "{name}: {watched:#?}");
        assert_eq!(
            (watched.stdout, watched.code, also),
            (plain.stdout, plain.code, recorded),
            "{name}"
        );
    }
}

#[test]
fn an_alias_that_a_program_resolves_by_itself_is_refused_when_it_begins() {
    let files = [
        (
            ".cargo/config.toml",
            "[alias]\nship = \"publish --no-verify\"\nlint = \"clippy\"\n".to_owned(),
        ),
        (
            ".jj/repo/config.toml",
            "[aliases]\nup = [\"git\", \"push\"]\n".to_owned(),
        ),
        (
            "other/config.yml",
            "aliases:\n  mk: release create\n".to_owned(),
        ),
    ];
    let place = Place::new("ask", &files);
    for (text, action) in [
        ("V=ship; sh -c \"cargo $V\"", "cargo:publish"),
        (
            "CARGO_ALIAS_OUT=publish sh -c 'cargo \"$0\"' out",
            "cargo:publish",
        ),
        ("mkdir -p a/b && cd a/b && cargo ship", "cargo:publish"),
        ("V=up; sh -c \"jj $V\"", "jj:push"),
        (
            "GH_CONFIG_DIR=$PWD/other sh -c 'gh \"$0\" v1' mk",
            "gh:release",
        ),
    ] {
        let (plain, recorded) = place.plainly(text);
        assert!(!recorded.is_empty(), "{text}: {plain:#?}");
        let (ran, recorded, refused) = place.supervised(text);
        assert_eq!(
            (recorded.as_str(), refused.as_slice()),
            ("", [action.to_owned()].as_slice()),
            "{text}: {ran:#?}"
        );
    }
    let (ran, recorded, refused) = place.supervised("cargo lint; cargo build; jj log");
    assert!(refused.is_empty(), "{ran:#?}");
    assert_eq!(recorded.lines().count(), 3, "{ran:#?}");
}
