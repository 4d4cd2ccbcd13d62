//! Decides if code in another language changes a file that it names. Nothing here parses the code: it searches for
//! the calls that change files, at the name and anywhere.

use shell::words::names;

/// Functions that change the file that is their first argument.
const CHANGING: &[&str] = names!(
    "writefile writefilesync appendfile appendfilesync writetextfile writetextfilesync unlink unlinksync rmsync \
    rmdir rmdirsync rename renamesync copyfile copyfilesync rmtree remove_tree write_text write_bytes truncate \
    truncatesync chmod chmodsync symlink symlinksync makedirs mkdir mkdirsync createwritestream outputfile \
    outputfilesync writejson copy2 copytree file_put_contents cpsync rm_rf rm_f rm_r binwrite"
);

/// The same, by names that also have other meanings: `text.replace`, `list.remove`.
const AMBIGUOUS: &[&str] =
    names!("rm remove link copy move replace touch cp delete mv write put save");

/// Objects on which such a name means files.
const OF_FILES: &[&str] =
    names!("os fs fsp promises shutil path pathname file fileutils io dir deno bun");

/// Modes that open a file for writing.
const MODES: &[&str] = names!("w a x w+ a+ wb ab xb r+ rb+ r+b wb+ w+b wt at > >> +<");

/// Returns the words before a position: `File.write(` is `file` and `write`.
fn callee(before: &str) -> (String, String) {
    let name = last_word(before);
    let rest = before.get(..before.len().saturating_sub(name.len()));
    let of = rest.unwrap_or_default().trim_end_matches([':', '.']);
    (last_word(of).to_lowercase(), name.to_lowercase())
}

fn last_word(text: &str) -> &str {
    let is_part = |one: char| one.is_alphanumeric() || one == '_';
    let start = text.trim_end_matches(is_part).len();
    text.get(start..).unwrap_or_default()
}

fn first_word(text: &str) -> &str {
    let end = text.find(|one: char| !one.is_alphanumeric() && one != '_');
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}

/// Returns `true` if the call around a literal changes the file: `open("x", "w")`, `writeFile("x"`,
/// `Path("x").write_text(`.
pub fn changes(code: &str, at: usize, length: usize) -> bool {
    let before = code.get(..at).unwrap_or_default();
    let after = code.get(at.saturating_add(length)..).unwrap_or_default();
    if before.trim_end_matches(['"', '\'', ' ']).ends_with('>') {
        return true;
    }
    let (of, name) = callee(before.trim_end_matches(['"', '\'', '`', ' ', '(']));
    let plain = name != "write" && name != "put" && name != "save";
    let ambiguous = AMBIGUOUS.contains(&name.as_str());
    if CHANGING.contains(&name.as_str()) || ambiguous && (plain || OF_FILES.contains(&of.as_str()))
    {
        return true;
    }
    let opened = matches!(name.as_str(), "open" | "fopen" | "opensync" | "new");
    let rest = after.trim_start_matches(['"', '\'', '`', ' ']);
    let mode = rest.strip_prefix(',').unwrap_or_default().trim_start();
    let mode = mode.trim_start_matches("mode=");
    let mode = mode.trim_start_matches(['"', '\'']);
    let writes = ["w", "a", "x", ">", "r+", "rb+"]
        .iter()
        .any(|one| mode.starts_with(one));
    let method = rest.trim_start_matches(')').strip_prefix('.');
    let by_method = method.is_some_and(|rest| {
        let method = first_word(rest);
        CHANGING.contains(&method)
            || AMBIGUOUS.contains(&method)
            || (method == "open" && rest.starts_with("open(\"w"))
    });
    (opened && writes) || by_method
}

/// Returns `true` if code changes files at all: by a call, by the mode of an open file, or by `print > file` of awk.
pub fn may_change(code: &str) -> bool {
    let words = || {
        let words = code.split(|one: char| !one.is_alphanumeric() && one != '_');
        words.filter(|word| !word.is_empty()).map(str::to_lowercase)
    };
    let is_ambiguous = |(of, name): (String, String)| {
        OF_FILES.contains(&of.as_str()) && AMBIGUOUS.contains(&name.as_str())
    };
    let quoted: Vec<&str> = code.split(['"', '\'']).collect();
    let mut modes = quoted.iter().zip(quoted.iter().skip(1));
    let is_mode = |(before, text): (&&str, &&str)| {
        before.trim_end().ends_with([',', '=']) && MODES.contains(text)
    };
    let mut printed = code.split("print").skip(1);
    words().any(|word| CHANGING.contains(&word.as_str()))
        || words().zip(words().skip(1)).any(is_ambiguous)
        || code.contains("open") && modes.any(is_mode)
        || printed.any(|rest| {
            rest.split([';', '}', '\n'])
                .next()
                .is_some_and(|it| it.contains('>'))
        })
}
