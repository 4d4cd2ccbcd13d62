//! Parser of git's settings, and a list of those that git executes.

use shell::words::names;

/// Settings whose value git passes to a shell.
const RUN_SETTINGS: &[&str] = names!(
    "core.editor core.pager core.sshcommand core.fsmonitor core.askpass core.gitproxy diff.external sequence.editor \
    gpg.program credential.helper interactive.difffilter uploadpack.packobjectshook sendemail.smtpserver web.browser \
    init.templatedir gpg.ssh.program gpg.ssh.defaultkeycommand man.viewer sendemail.tocmd sendemail.cccmd \
    core.alternaterefscommand gc.recentobjectshook"
);

/// Suffixes of settings of the same kind, as in `filter.x.clean`.
const RUN_ENDINGS: &[&str] = names!(
    ".clean .smudge .process .cmd .command .textconv .driver .helper .editor .pager .program .sshcommand .uploadpack \
    .receivepack command cmd hook"
);

/// Returns the keys and values of a text of settings, keys in lower case.
#[must_use]
pub fn settings_of(text: &str) -> Vec<(String, String)> {
    let mut section = String::new();
    let mut all = Vec::new();
    for line in text.replace("\\\n", "").lines() {
        let line = line.trim();
        if let Some(head) = line.strip_prefix('[') {
            let (head, rest) = head.split_once(']').unwrap_or((head, ""));
            section = head
                .replacen(" \"", ".", 1)
                .trim_end_matches('"')
                .to_ascii_lowercase();
            if rest.trim().is_empty() {
                continue;
            }
        }
        let line = line
            .rsplit_once(']')
            .filter(|_| line.starts_with('['))
            .map_or(line, |(_, rest)| rest.trim());
        if line.starts_with(['#', ';']) || line.is_empty() {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, "true"));
        let value = unquoted(value.trim());
        all.push((
            format!("{section}.{}", key.trim().to_ascii_lowercase()),
            value,
        ));
    }
    all
}

fn unquoted(value: &str) -> String {
    let mut text = String::new();
    let mut characters = value.chars();
    let mut quoted = false;
    while let Some(character) = characters.next() {
        match character {
            '"' => quoted = !quoted,
            '\\' => text.push(match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some(other) => other,
                None => '\\',
            }),
            '#' | ';' if !quoted => break,
            other => text.push(other),
        }
    }
    text.trim_end().to_owned()
}

/// Returns `true` for a setting that names a file of further settings.
#[must_use]
pub fn is_include(key: &str) -> bool {
    key == "include.path" || (key.starts_with("includeif.") && key.ends_with(".path"))
}

/// Returns `true` if git runs the value of the setting.
#[must_use]
pub fn is_run(key: &str, value: &str) -> bool {
    // `submodule.x.update = !command` and similar ones; an alias runs only when it is called.
    if value.starts_with('!') && !key.starts_with("alias.") {
        return true;
    }
    let of_tool = ["difftool.", "mergetool.", "man.", "browser."];
    (key.starts_with("pager.") && key != "pager.branch")
        || RUN_SETTINGS.contains(&key)
        || (key.ends_with(".path") && of_tool.iter().any(|start| key.starts_with(start)))
        || RUN_ENDINGS.iter().any(|ending| key.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::settings_of;

    #[test]
    fn sections_comments_quotes_and_long_lines_are_read() {
        let text = "[Core] # no\n\tBare = false\n[remote \"Up.x\"]\n; no\nurl = \"a # b\" # c\n[alias] p = push \\\n -f\nflag\n";
        let found = settings_of(text);
        let expected = [
            ("core.bare", "false"),
            ("remote.up.x.url", "a # b"),
            ("alias.p", "push  -f"),
            ("alias.flag", "true"),
        ];
        let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(found, expected);
    }
}
