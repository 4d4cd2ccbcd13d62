//! Any text ends quickly and without a panic, hostile ones as opaque; and wrapping a gated command keeps it gated.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use oversight::grants::Grants;
use oversight::lookup::Nothing;
use oversight::verdict::{Decision, Place, Policy, Verdict, decide_command};
use proptest::prelude::*;

fn decide(command: &str) -> Decision {
    let place = Place {
        directory: "/home/dev",
        home: "/home/dev",
    };
    let now = Timestamp::UNIX_EPOCH;
    decide_command(
        &Policy::default(),
        command,
        place,
        &Nothing,
        &Grants::none(),
        now,
    )
}

/// Words of the language, so that random texts reach deep into the analysis.
const PARTS: &[&str] = &[
    "git",
    "push",
    "npm",
    "publish",
    "bash",
    "-c",
    "eval",
    "env",
    "xargs",
    "find",
    "-exec",
    ";",
    "\n",
    "|",
    "&&",
    "||",
    "&",
    "(",
    ")",
    "{",
    "}",
    "$(",
    "`",
    "'",
    "\"",
    "\\",
    "$",
    "${",
    "x",
    "=",
    "[",
    "]",
    "[[",
    "]]",
    "((",
    "))",
    "<<E\n",
    "E\n",
    "<<<",
    "<",
    ">",
    "<(",
    "if",
    "then",
    "fi",
    "for",
    "in",
    "do",
    "done",
    "case",
    "esac",
    "while",
    "function",
    "f()",
    "f",
    "set",
    "--",
    "$@",
    "$1",
    "*",
    "?",
    "~",
    "#",
    "!",
    " ",
    " ",
    " ",
    ":-",
    "/",
    "%",
    "@P",
    "read",
    "printf",
    "%s",
    "-v",
    "echo",
    "base64",
    "-d",
    "é",
    "\u{ffff}",
    "\0",
    "{1..9}",
    "{a,b}",
    "alias",
    "trap",
    "python3",
    "import os",
    "os.system(",
    "sed",
    "s/a/b/e",
    "make",
    "source",
    "-",
    "1",
    "2>&1",
    "coproc",
    "select",
];

proptest! {
    #[test]
    fn any_text_is_decided(parts in prop::collection::vec(prop::sample::select(PARTS), 0..40)) {
        let text = parts.concat();
        let decision = decide(&text);
        for (start, end) in decision.spans {
            prop_assert!(start <= end && end <= text.len());
        }
    }

    #[test]
    fn any_characters_are_decided(text in any::<String>()) {
        decide(&text);
    }
}

#[test]
fn hostile_texts_end_quickly() {
    let doubling: String = (0..40).map(|_| "a=$a$a; ").collect();
    let deep_default: String = "${x:-".repeat(40) + "git" + &"}".repeat(40) + " push";
    let loops = "for i in {1..99}; do ".repeat(6) + "git status; " + &"done; ".repeat(6);
    let names: String = ('a'..'i')
        .zip('b'..)
        .map(|(name, next)| format!("{name}='{}'; ", vec![next.to_string(); 64].join("+")))
        .collect();
    let texts = [
        names + "i=1; echo $((a+z[0]))",
        "$(".repeat(20_000),
        format!("cat <<E\n{}\nE\n", "$((a".repeat(10)),
        format!("cat <<E\n{}\nE\n", "${a-$(b".repeat(10)),
        "((np(".repeat(14),
        "((np((np(\u{8}(np((np(np&d((np(~<np(np((np(np&n((npnp&n((np(n<np(np((np(np&n((np((".to_owned(),
        "(".repeat(20_000),
        "(".repeat(40) + &")".repeat(40),
        "((".repeat(20) + &"))".repeat(20),
        "a|".to_owned() + &"(".repeat(33) + "ias > x; git push",
        "((a|".repeat(20),
        "echo {1..99999999999999999999}".to_owned(),
        "echo $((99999999999999999999)) ${x:99999999999999999999}".to_owned(),
        "99999999999999999999=1; a[99999999999999999999]=1; echo ${99999999999999999999}".to_owned(),
        "test 99999999999999999999 -eq 1; [[ 1 -lt 99999999999999999999 ]]; shift 99999999999999999999".to_owned(),
        "cat << \"\" ".to_owned(),
        "$[$[$[>&]<<\r] ".to_owned(),
        "$[ $[ ]<<] ".to_owned(),
        "a[$(g < g<< '';it y ".to_owned(),
        "npm".to_owned() + &"{".repeat(19) + "}" + &"{".repeat(26) + " i -D gh-pages",
        "npm".to_owned() + &"{a,".repeat(12) + "}" + &"{a,".repeat(10) + " i",
        "ca sx ".to_owned() + &"7".repeat(36) + "<;  sxh x",
        "{".to_owned() + &"7".repeat(36) + "}> x",
        "echo {1..".to_owned() + &"7".repeat(36) + "}",
        "cd ~".to_owned() + &"7".repeat(36),
        "`".repeat(20_000),
        "\"$(".repeat(40),
        "if true; then ".repeat(5_000),
        "{a,b}".repeat(40),
        "{1..99999999}".to_owned(),
        "f() { f; f; }; f".to_owned(),
        "f() { eval f; }; f".to_owned(),
        "alias a=b; alias b=a; a".to_owned(),
        "eval 'eval '\"'eval git status'\"".repeat(50),
        "a=xxxxxxxxxxxxxxxx; ".to_owned() + &doubling + "echo $a",
        deep_default,
        loops,
        "echo hi; ".repeat(20_000),
        "echo ".to_owned() + &"x".repeat(400_000),
        "cat <<E\n".to_owned() + &"$(x) ".repeat(2_000) + "\nE\n",
        "x=$(cat x); eval \"$x\"; ".repeat(500),
        "echo *".repeat(3_000),
        "while :; do while :; do while :; do while :; do git status; done; done; done; done"
            .to_owned(),
        "${a[${a[${a[${a[0]}]}]}]}".repeat(100),
        "${a[".repeat(16) + &"]}".repeat(16),
        "${a[\"]${a[".repeat(8) + &"]}\"]}".repeat(8),
        "${a[$(echo ])${a[".repeat(8) + &"]}]}".repeat(8),
        "a[".to_owned() + &"${a[".repeat(8) + &"]}".repeat(8) + "]=1",
        "t0[%t".to_owned() + &"${t2[n[%t".repeat(7) + "}{X$z}{",
        "a=([".to_owned() + &"${a[".repeat(8) + &"]}".repeat(8) + "]=1)",
        "declare a[".to_owned() + &"${a[".repeat(8) + &"]}".repeat(8) + "]=1",
        "(( ".to_owned() + &"${a[".repeat(16) + &"]}".repeat(16) + " ))",
        "${!x".repeat(40) + &"}".repeat(40),
        "x='a[$((x))]'; echo $((x)) ${a[x]}; ((x)); unset \"$x\"".to_owned(),
        "declare -n a=b; declare -n b=a; a=1; declare -n c=c; c=2; echo $a$b$c".to_owned(),
        "f() { f; }; trap 'f; trap f DEBUG; x=$x$x' DEBUG; :; :".to_owned(),
    ];
    for text in texts {
        let start = Instant::now();
        let decision = decide(&text);
        let head: String = text.chars().take(40).collect();
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{head} took {:?}: {:?}",
            start.elapsed(),
            decision.verdict
        );
    }
}

/// Every text of four of these: unclosed openings of here-documents, substitutions and subscripts have made the
/// parser's tokenizer run for ever.
#[test]
fn every_short_text_of_openings_ends() {
    let parts = [
        "<<T", "<<(", "$(", "${", "$[", "(", "`", "\"", "\\", "<", "\u{b}", " ", "\n",
    ];
    let mut texts = vec![String::new()];
    for _ in 0..4 {
        let longer = |text: &String| parts.map(|part| format!("{text}{part}"));
        texts = texts.iter().flat_map(longer).collect();
    }
    for text in texts {
        decide(&text);
    }
}

const COMMANDS: &[&str] = &[
    "git push",
    "git push origin main",
    "git -C x push --force",
    "npm publish --tag next",
    "pnpm -r publish",
    "twine upload dist/a.whl",
    "uv publish",
    "gh release create v1",
    "gh pr create --fill",
    "gh repo delete a/b --yes",
    "gh api -X DELETE repos/a/b",
    "gh-pages -d dist",
    "wrangler pages deploy dist",
    "python3 -m twine upload x",
];

/// Wrappers before the words of a command.
const BEFORE: &[&str] = &[
    "env",
    "env A=1",
    "sudo",
    "sudo -u x --",
    "doas",
    "command",
    "exec",
    "nohup",
    "nice -n 5",
    "ionice -c 3",
    "time",
    "timeout 5",
    "timeout -k 1 5",
    "stdbuf -o0",
    "setsid",
    "flock /tmp/l",
    "xargs",
    "find . -exec",
    "watch",
    "ssh host",
    "docker exec c",
    "docker run img",
    "npx",
    "bunx",
    "uvx",
    "mise exec --",
    "direnv exec .",
    "poetry run",
    "some-unknown-launcher --flag",
    "A=1",
    "! ",
    "if",
    "cd x &&",
    "true;",
    "op run --",
];

/// Texts around a command, which replaces `%`.
const AROUND: &[&str] = &[
    "bash -c '%'",
    "sh -lc '%'",
    "eval '%'",
    "(%)",
    "{ %; }",
    "$(%)",
    "echo \"$(%)\"",
    "`%`",
    "cat <(%)",
    "% | cat",
    "true && %",
    "false || %",
    "% &",
    "f() { %; }; f",
    "for i in 1; do %; done",
    "while :; do %; break; done",
    "case x in x) % ;; esac",
    "if true; then %; fi",
    "bash <<< '%'",
    "bash <<'E'\n%\nE\n",
    "echo '%' | sh",
    "trap '%' EXIT",
    "source <(echo '%')",
    "echo '%' > s; sh s",
    "x='%'; $x",
    "x='%'; eval \"$x\"",
    "a=(%); \"${a[@]}\"",
    "set -- %; \"$@\"",
    "alias q='%'; q",
    "xargs -I@ sh -c '%' <<< x",
    "find . -exec sh -c '%' \\;",
    "python3 -c 'import os; os.system(\"%\")'",
    "perl -e 'system(\"%\")'",
    "awk 'BEGIN { system(\"%\") }'",
    "ssh host '%'",
    "docker run img sh -c '%'",
    "git -c alias.q='!%' q",
    "git bisect run %",
    "sh -c \"sh -c '%'\"",
    "printf '%%s' '%' | bash",
    "watch '%'",
    "su x -c '%'",
    "script -c '%'",
    "tmux new -d '%'",
    "coproc %",
];

#[test]
fn wrapping_a_gated_command_keeps_it_gated() {
    let mut open = Vec::new();
    for command in COMMANDS {
        let mut texts: Vec<String> = BEFORE
            .iter()
            .map(|before| format!("{before} {command}"))
            .collect();
        texts.extend(AROUND.iter().map(|around| {
            around
                .replace("%%", "\u{1}")
                .replace('%', command)
                .replace('\u{1}', "%")
        }));
        for text in &mut texts {
            if text.starts_with("find . -exec g")
                || text.starts_with("find . -exec") && !text.ends_with(';')
            {
                text.push_str(" \\;");
            }
            if text.starts_with("if ") && !text.ends_with("fi") {
                text.push_str("; then :; fi");
            }
        }
        open.extend(
            texts
                .into_iter()
                .filter(|text| decide(text).verdict < Verdict::Ask),
        );
    }
    assert!(open.is_empty(), "{open:#?}");
}

/// Commands that do many harmless things and then an act. `ITEMS` is replaced by words, and the part between `«` and
/// `»` is repeated.
const PADDED: &[&str] = &[
    "for x in ITEMS push; do git $x; done",
    "printf '%s\\n' ITEMS push | xargs -n1 git",
    "printf '%s\\n' ITEMS push | xargs -I@ git @",
    "printf '%s\\n' ITEMS push | while read x; do git $x; done",
    "printf '%s\\n' ITEMS push | tail -1 | xargs git",
    "git $(printf '%s\\n' ITEMS push | tail -1)",
    "git $(echo ITEMS push | tr ' ' '\\n' | tail -1)",
    "git $(for i in ITEMS push; do echo $i; done | tail -1)",
    "v=$(for i in ITEMS push; do echo $i; done); for x in $v; do git $x; done",
    "parallel git ::: ITEMS push",
    "parallel git {1} ::: ITEMS push",
    "parallel git {1} {2} ::: ITEMS push ::: -v -q",
    "x=(ITEMS push); for i in \"${x[@]}\"; do git $i; done",
    "x=(ITEMS push); git ${x[-1]}",
    "set -- ITEMS push; for i; do git $i; done",
    "set -- ITEMS push; while [ $# -gt 0 ]; do git $1; shift; done",
    "mapfile -t a < <(printf '%s\\n' ITEMS push); git ${a[-1]}",
    "f() { git $2; }; mapfile -t -c1 -C f a <<< \"$(printf '%s\\n' ITEMS push)\"",
    "i=0; while [ $i -lt COUNT ]; do i=$((i+1)); if [ $i = COUNT ]; then x=push; fi; done; git $x",
    "for ((i=0;i<=COUNT;i++)); do [ $i = COUNT ] && v=push; done; git $v",
    "for i in {1..COUNT}; do x=status; [ $i = COUNT ] && x=push; done; git $x",
    "while test -f x; do git $a; a=$b; b=$c; c=$d; d=push; done",
    "python3 -c 'import subprocess\n«subprocess.run([\"ls\"])\n»subprocess.run([\"git\", \"push\"])'",
    "node -e 'const c = require(\"child_process\"); «c.execSync(\"ls x\");»c.execSync(\"git push\")'",
    "perl -e '«system(\"ls x\");»system(\"git push\")'",
    "awk 'BEGIN{«print \"x\";»system(\"git push\")}'",
    "sed '«s/a/b/\n»1e git push' f",
    "«echo x; »git push",
    "case x in «a) ls;; »x) git push;; esac",
    "echo '«ls x\n»git push' | sh",
    "jq -r '.[]' <<< '[«\"ls\",»\"git push\"]' | sh",
    "some-launcher ITEMS git push",
    "hyperfine -L x ITEMS,push 'git {x}'",
];

#[test]
fn an_act_behind_many_harmless_ones_is_seen() {
    for count in [10, 20, 70, 300, 1200, 5000] {
        for template in PADDED {
            let items: Vec<String> = (0..count).map(|number| format!("s{number}")).collect();
            let joint = if template.starts_with("hyperfine") {
                ","
            } else {
                " "
            };
            let mut command = template
                .replace("ITEMS", &items.join(joint))
                .replace("COUNT", &count.to_string());
            if let Some((before, rest)) = template.split_once('«')
                && let Some((part, after)) = rest.split_once('»')
            {
                command = format!("{before}{}{after}", part.repeat(count));
            }
            let verdict = decide(&command).verdict;
            let seen = matches!(verdict, Verdict::Ask | Verdict::Deny);
            assert!(seen, "{count}: {template}");
        }
    }
}

/// Text that is grammar outside of a here-document.
const INSIDE: &[&str] = &[
    "fix: x (see a",
    "it's a `git push`",
    "don't (\"git push\"",
    "case x) git push",
    "cat <<B\ngit push\nB",
    "git push # and $(git push",
    "git push)",
];

#[test]
fn the_text_of_a_here_document_is_no_command() {
    let code = "if x {\n\tcase a:\n\t\tfor {\n\twhile (\n".repeat(200);
    let code = [format!("{code}git push"), code];
    for inside in INSIDE
        .iter()
        .copied()
        .chain(code.iter().map(String::as_str))
    {
        for text in [
            format!("git commit -m \"$(cat <<'EOF'\n{inside}\nEOF\n)\""),
            format!(
                "git add -A && git commit -m \"$(cat <<\\EOF\n{inside}\nEOF\n)\" && git log -1"
            ),
            format!("cat > x.go <<'EOF'\n{inside}\nEOF"),
            format!("cat > x.go <<\"EOF\"\n{inside}\nEOF\nwc -l < x.go"),
            format!("x=$((1 + 2)); cat > x.go <<-'END-X' > y\n{inside}\n\tEND-X\nls"),
        ] {
            let decision = decide(&text);
            assert_eq!(decision.verdict, Verdict::Allow, "{text}\n{decision:#?}");
        }
        for text in [
            format!("cat <<'EOF'; git push\n{inside}\nEOF"),
            format!("cat <<'EOF'\n{inside}\nEOF\ngit push"),
            format!("git commit -m \"$(cat <<'EOF'\n{inside}\nEOF\ngit push)\""),
            format!("git commit -m \"$(cat <<'EOF'\n{inside}\nEOF\n)\" && git push"),
            format!("bash <<'A' && cat <<'EOF'\ngit push\nA\n{inside}\nEOF"),
            format!("cat <<'EOF' | tee x; bash <<<'git push'\n{inside}\nEOF"),
        ] {
            let decision = decide(&text);
            assert_eq!(decision.verdict, Verdict::Deny, "{text}\n{decision:#?}");
        }
    }
}

/// If a shell reads the text of a here-document, or may do so, it is a command.
#[test]
fn the_text_of_a_here_document_that_is_run_is_a_command() {
    for text in [
        "bash <<'EOF'\ngit push\nEOF",
        "cat <<'EOF' | bash\ngit push\nEOF",
        "cat > x.sh <<'EOF'\ngit push\nEOF\nbash x.sh",
        "eval \"$(cat <<'EOF'\ngit push\nEOF\n)\"",
        "cat <<EOF\nit's (a $(git push)\nEOF",
        "cat <<EOF\nit's (a `git push`\nEOF",
        "x=$(cat <<'E'\nE git push)\nE\n)",
        "x=$(cat <<'E')\ngit push\nE",
        "cat <<E\nb \\\nE\nc\nE\ngit push",
        "bash <<'EOF'\ngit push\nEOF\nif",
        "cat <<'EOF'\nx\nEOF\nif\ngit push",
    ] {
        assert!(decide(text).verdict >= Verdict::Ask, "{text}");
    }
}

/// The reader marks positions with characters that no text has; a text with them is not parsed, because it could
/// imitate the marks.
#[test]
fn marks_of_the_reader_hide_nothing() {
    for text in [
        "bash -c 'echo \u{FDD1}\u{FDD1}E\ngit push\nE'",
        "bash -c 'cat \u{FDD1}\u{FDD1}E\n\u{FDD0}0\nE\ngit push'",
        "eval \"echo \u{FDD1}\u{FDD1}E\ngit push\nE\"",
        "x='\u{FDD1}\u{FDD1}E'; eval \"cat $x\ngit push\nE\"",
        "1$\u{FDD1}!@ 1$/np",
    ] {
        assert!(decide(text).verdict >= Verdict::Ask, "{text}");
    }
}

#[test]
fn what_is_shown_of_a_command_is_in_it() {
    for command in [
        "cat <<'E' ä; git push\nüüüü (\nE\nä; git push",
        "[\\\\ \\",
        "ä git push \\",
        "git push \\",
        "sh <<A\ngit push",
        "$x <<A\nä",
    ] {
        for (start, end) in decide(command).spans {
            assert!(
                command.get(start..end).is_some(),
                "{command}: {start}..{end}"
            );
        }
    }
}
