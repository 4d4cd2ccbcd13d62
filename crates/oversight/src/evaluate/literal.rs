//! Texts in the code of other languages, as far as they can be read without understanding it.

use crate::value::has_hole;

/// One text in quotes.
pub(crate) struct Literal {
    pub(crate) text: String,
    /// Only commas, brackets and blanks stand between it and the one before.
    pub(super) follows: bool,
}

/// The texts in quotes; texts joined by `+` or side by side are one.
pub(crate) fn literals(code: &str) -> Vec<Literal> {
    let mut found: Vec<Literal> = Vec::new();
    let mut between = String::new();
    let mut characters = code.chars();
    while let Some(character) = characters.next() {
        if !matches!(character, '\'' | '"') {
            between.push(character);
            continue;
        }
        let mut text = String::new();
        while let Some(inside) = characters.next() {
            match inside {
                '\\' => {
                    let (one, length) = super::tokens::unescape(characters.as_str());
                    text.extend(one);
                    let rest = characters.as_str().get(length..).unwrap_or_default();
                    characters = rest.chars();
                }
                close if close == character => break,
                other => text.push(other),
            }
        }
        let gap = between.trim();
        let joined = matches!(gap, "+" | ".") && !found.is_empty();
        if joined && let Some(last) = found.last_mut() {
            last.text.push_str(&text);
        } else {
            // `"git", ["push"]` and `"git", { args: ["push"] }`, but not the next statement.
            let follows = gap.starts_with([',', ']', ')'])
                && gap.contains(',')
                && gap.len() <= 16
                && !gap.contains([';', '=', '\n']);
            found.push(Literal { text, follows });
        }
        between.clear();
        if found.len() > 2000 {
            break;
        }
    }
    found
}

/// Commands that are written without quotes: backquotes, `qw(…)`, `exec git push` and `!git push`.
pub(super) fn bare_commands(name: &str, code: &str) -> Vec<String> {
    let mut found = Vec::new();
    if matches!(name, "perl" | "ruby" | "php" | "julia") {
        found.extend(code.split('`').skip(1).step_by(2).map(str::to_owned));
        for (open, close) in [
            ("qw(", ')'),
            ("qx(", ')'),
            ("qx{", '}'),
            ("%x(", ')'),
            ("qw/", '/'),
            ("qx/", '/'),
            ("q(", ')'),
            ("qq(", ')'),
            ("q{", '}'),
            ("qq{", '}'),
            ("%x{", '}'),
            ("%x[", ']'),
            ("%w[", ']'),
            ("%w(", ')'),
        ] {
            for part in code.split(open).skip(1) {
                found.extend(part.split(close).next().map(str::to_owned));
            }
        }
    }
    if matches!(
        name,
        "node" | "nodejs" | "tsx" | "ts-node" | "bun" | "deno" | "zx" | "mongosh"
    ) {
        found.extend(code.split('`').skip(1).step_by(2).map(str::to_owned));
    }
    let editor = matches!(
        name,
        "vim" | "vi" | "nvim" | "ex" | "view" | "vimdiff" | "gvim" | "rvim" | "vimx"
    );
    if editor {
        // `:%!cmd`, `r !cmd`, `silent !cmd | q`.
        for part in code.split(['\n', '\r', '|']) {
            found.extend(
                part.split_once('!')
                    .map(|(before, command)| unquoted(before, command.trim()).to_owned()),
            );
        }
        for option in ["term ", "terminal "] {
            let rest = code.split_once(option).map(|(_, rest)| rest);
            found.extend(rest.map(|rest| rest.trim_start_matches('+').to_owned()));
        }
        // `set makeprg=cmd` is run by `:make`.
        for option in ["makeprg=", "grepprg=", "mp=", "gp="] {
            let rest = code.split_once(option).map(|(_, rest)| rest);
            found.extend(rest.map(|rest| rest.replace("\\ ", " ")));
        }
        found.retain(|command| !command.is_empty());
    }
    if matches!(
        name,
        "tclsh" | "expect" | "wish" | "gdb" | "lldb" | "sqlite3"
    ) {
        // Bodies of procedures stand in braces; braces that quote words do as well.
        let bodies = code.split(['{', '}']).skip(1);
        for line in code.split(['\n', ';', '[', ']']).chain(bodies) {
            let line = line.trim().trim_start_matches(':');
            let words = [
                "exec ",
                "spawn ",
                "system ",
                "!",
                "shell ",
                "platform shell ",
                ".shell ",
                ".system ",
                ".sh ",
                ".sys ",
                "pipe ",
                "list ",
            ];
            let command = words.iter().find_map(|word| line.strip_prefix(word));
            found.extend(command.map(|command| command.replace(['{', '}'], "'")));
            if name == "gdb" && line.starts_with("make") {
                found.push(line.to_owned());
            }
            if matches!(name, "gdb" | "sqlite3") {
                found.extend(
                    line.rsplit_once('|')
                        .map(|(_, command)| command.trim_matches(['"', '\'']).to_owned()),
                );
            }
        }
    }
    found
}

/// Whether a one-liner makes other text of its texts.
pub(super) fn changes_text(code: &str) -> bool {
    [
        "tr/",
        "y/",
        "chr(",
        "unpack",
        "fromhex",
        "decode",
        "[::-1]",
        "reverse",
        "translate(",
    ]
    .iter()
    .any(|word| code.contains(word))
}

/// Whether the words of a start may be put together by the program.
pub(super) fn computed(name: &str, code: &str) -> bool {
    // A template of JavaScript is everywhere; it counts where it is what is started.
    let script = matches!(
        name,
        "node" | "nodejs" | "tsx" | "ts-node" | "bun" | "deno" | "zx"
    );
    let template = code.contains("`${")
        || ["exec", "spawn", "fork"].iter().any(|start| {
            code.match_indices(start).any(|(at, _)| {
                let segment = code.get(at..).unwrap_or_default().chars();
                let segment: String = segment.take(160).collect();
                segment
                    .split(')')
                    .next()
                    .is_some_and(|arguments| arguments.contains("${"))
            })
        });
    let code = &if script && !template {
        code.replace('$', "")
    } else {
        code.to_owned()
    };
    // What a command prints may be read; that computes nothing that is started.
    let code = &code.replace("popen(", "popen ").replace(").read(", ") ");
    let joins = [
        "+",
        "%",
        "join",
        "reverse",
        "replace",
        "format",
        "concat",
        "$",
        "chr(",
        "decode",
        "b64",
        "[::",
        "argv",
        "input(",
        "${",
        "atob",
        "fromCharCode",
        "open(",
        "read(",
        "f\"{",
        "f'{",
    ];
    let starts = [
        "system", "exec", "spawn", "run(", "call", "popen", "Popen", "qx", "`",
    ];
    has_hole(code)
        || (joins.iter().any(|word| code.contains(word))
            && starts.iter().any(|word| code.contains(word)))
}

/// The code with its texts taken out, to see what is code.
pub(super) fn without_literals(code: &str) -> String {
    let mut visible = String::with_capacity(code.len());
    let mut characters = code.chars();
    while let Some(character) = characters.next() {
        visible.push(character);
        if !matches!(character, '\'' | '"') {
            continue;
        }
        // The letter before it may make it a text with places to fill.
        while let Some(inside) = characters.next() {
            if inside == '\\' {
                characters.next();
            } else if inside == character {
                visible.push(character);
                break;
            } else if inside == '{' {
                visible.push('{');
            }
        }
    }
    visible
}

/// Adds what texts in base64 stand for.
pub(super) fn decode(found: &mut Vec<Literal>) {
    let decoded: Vec<Literal> = found
        .iter()
        .filter(|literal| literal.text.len() >= 8 && literal.text.len() < 4096)
        .filter_map(|literal| super::filter::decode::decode_base64(&literal.text))
        .filter(|text| text.is_ascii() && text.contains(' '))
        .map(|text| Literal {
            text,
            follows: false,
        })
        .collect();
    found.extend(decoded);
}

/// Whether a text of the code is the name of something that starts programs: `vars(os)["system"]`.
pub(super) fn names_a_start(code: &str) -> bool {
    const NAMES: &[&str] = &[
        "system",
        "exec",
        "popen",
        "passthru",
        "shell_exec",
        "proc_open",
        "execute",
        "child_process",
        "node:child_process",
        "subprocess",
        "spawn",
    ];
    // A long script holds any word somewhere; a name put together is a trick of short ones.
    (code.len() < 2048 || NAMES.iter().any(|name| code.contains(name)))
        && literals(code)
            .iter()
            .any(|literal| NAMES.contains(&literal.text.as_str()))
}

/// `exe "!command"`: without the quote that was opened before it.
fn unquoted<'t>(before: &str, command: &'t str) -> &'t str {
    let quote = before.chars().next_back();
    let quote = quote.filter(|quote| matches!(quote, '"' | '\''));
    let ends = quote.and_then(|quote| command.strip_suffix(quote));
    ends.unwrap_or(command)
}

/// Whether code names a word that starts programs; `push(` and `empty` do not name the short ones.
pub(super) fn names_start(code: &str, word: &str) -> bool {
    if !matches!(word, "sh " | "sh(" | "sh." | "pty") {
        return code.contains(word);
    }
    code.match_indices(word).any(|(at, _)| {
        let before = code.get(..at).and_then(|text| text.chars().next_back());
        !before.is_some_and(char::is_alphanumeric)
    })
}
