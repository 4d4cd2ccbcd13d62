//! Whether code in another language changes a file that it names. Nothing here understands the code: it looks for the
//! calls that change files, at the name and anywhere.

use shell::words::names;

/// Functions that change the file that is their first argument.
const CHANGING: &[&str] = names!(
    "writefile writefilesync appendfile appendfilesync writetextfile writetextfilesync unlink unlinksync rmsync \
    rmdir rmdirsync rename renamesync copyfile copyfilesync rmtree remove_tree write_text write_bytes truncate \
    truncatesync chmod chmodsync symlink symlinksync makedirs mkdir mkdirsync createwritestream outputfile \
    outputfilesync writejson copy2 copytree file_put_contents cpsync rm_rf rm_f rm_r binwrite"
);

/// The same, by names that also mean something else: `text.replace`, `list.remove`.
const AMBIGUOUS: &[&str] =
    names!("rm remove link copy move replace touch cp delete mv write put save");

/// What such a name is called on when it means files.
const OF_FILES: &[&str] =
    names!("os fs fsp promises shutil path pathname file fileutils io dir deno bun");

/// How a file is opened to be written.
const MODES: &[&str] = names!("w a x w+ a+ wb ab xb r+ rb+ r+b wb+ w+b wt at > >> +<");

/// So many bytes behind `open` are looked at for its mode.
const MAX_STATEMENT: usize = 400;

/// The words before a place: `File.write(` is `file` and `write`.
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

/// Whether the call around a literal changes the file: `open("x", "w")`, `writeFile("x"`, `Path("x").write_text(`.
pub(super) fn changes(code: &str, at: usize, length: usize) -> bool {
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

/// Whether a file is opened to be written: a mode behind a comma, in the statement that opens.
fn opens_to_write(code: &str) -> bool {
    code.match_indices("open").any(|(at, _)| {
        let end = code.floor_char_boundary(at.saturating_add(MAX_STATEMENT));
        let statement = code
            .get(at..end)
            .unwrap_or_default()
            .split([';', '\n'])
            .next();
        let mut given = statement.unwrap_or_default().split([',', '=']).skip(1);
        given.any(|text| {
            let text = text.trim_start();
            let quoted = text.strip_prefix(['"', '\'']);
            let mode = quoted.and_then(|rest| rest.split(['"', '\'']).next());
            mode.is_some_and(|mode| MODES.contains(&mode))
        })
    })
}

/// Whether code changes files at all.
pub(super) fn may_change(code: &str) -> bool {
    // `print "x" > file` of awk, with a comparison or an arrow now and then.
    let redirected = || {
        code.split("print").skip(1).any(|rest| {
            let statement = rest.split([';', '}', '\n']).next();
            statement.is_some_and(|statement| statement.contains('>'))
        })
    };
    let mut rest = code;
    let mut passed = 0_usize;
    while let Some(start) = rest.find(|one: char| one.is_alphabetic() || one == '_') {
        let word = first_word(rest.get(start..).unwrap_or_default());
        let end = start.saturating_add(word.len());
        let (of, name) = callee(code.get(..passed.saturating_add(end)).unwrap_or_default());
        let ambiguous = AMBIGUOUS.contains(&name.as_str()) && OF_FILES.contains(&of.as_str());
        if ambiguous || CHANGING.contains(&name.as_str()) {
            return true;
        }
        passed = passed.saturating_add(end);
        rest = rest.get(end..).unwrap_or_default();
    }
    redirected() || opens_to_write(code)
}
