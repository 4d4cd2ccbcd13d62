//! Pagers, editors and clients that run a command behind `!`, from a word, a file or their input.

use crate::value::{HOLE, has_hole, without_holes};

use super::Evaluator;

impl Evaluator<'_> {
    /// Pagers and editors that run `!command`, from a word or from their input, and pagers that are named.
    pub(crate) fn shell_escape(&mut self, name: &str, arguments: &[String]) {
        if !matches!(
            name,
            "ed" | "less"
                | "more"
                | "man"
                | "mail"
                | "mailx"
                | "mutt"
                | "ftp"
                | "sftp"
                | "lftp"
                | "telnet"
                | "psql"
                | "mysql"
                | "mariadb"
                | "nmap"
        ) {
            return;
        }
        let mut texts: Vec<String> = arguments.to_vec();
        if let Some(input) = self.state.input.clone() {
            let only_text = matches!(name, "less" | "more" | "mail" | "mailx" | "mutt");
            if !only_text && input.possibilities().iter().any(|text| is_hidden(text)) {
                self.opaque(
                    "commands that nobody can know are given to a program that can run others",
                    name,
                );
            }
            texts.push(input.first().to_owned());
        }
        if let Some(flags) = self.state.get("LESS").filter(|_| name == "less") {
            texts.push(flags.first().to_owned());
        }
        let file =
            super::wrapper::option_value(arguments, &["-f", "--file"]).filter(|_| name == "psql");
        texts.extend(file.and_then(|path| self.known_file(&path)));
        let lines: Vec<String> = texts
            .iter()
            .flat_map(|text| text.lines())
            .map(str::to_owned)
            .collect();
        for line in lines {
            if name == "ed"
                && let Some((_, command)) = line.split_once("w !")
            {
                self.piped_text(command, arguments);
            } else if name == "ed"
                && let Some((range, path)) = line.split_once("w ")
                && range.len() <= 6
            {
                self.write(path.trim(), &crate::value::Value::unknown(), false);
            }
            for command in escaped(&line) {
                if command.starts_with("source ") {
                    continue;
                }
                self.in_shell(name, &command);
            }
            if let Some(path) = line
                .trim()
                .strip_prefix("source ")
                .or_else(|| line.trim().strip_prefix("\\i "))
                && let Some(text) = self.known_file(path.trim())
            {
                for command in text.lines().flat_map(escaped) {
                    self.in_shell(name, &command);
                }
            }
        }
    }
}

/// Whether commands may hide in a text: it comes from elsewhere, or nothing of it is known.
fn is_hidden(text: &str) -> bool {
    text.contains(HOLE) || (has_hole(text) && without_holes(text).trim().is_empty())
}

/// Commands behind `!`, `\\!`, `~!`, `r !`, `system` and a pipe of a client.
fn escaped(line: &str) -> Vec<String> {
    let line = line.trim();
    let mut found = Vec::new();
    if let Some((before, command)) = line.split_once('!')
        && before.len() <= 12
        && !before.contains(['\'', '"'])
    {
        found.push(command.trim().trim_end_matches("\\n\"").to_owned());
    }
    for word in ["system ", "pager ", "\\P "] {
        let rest = line.strip_prefix(word).map(|rest| rest.split(';').next());
        found.extend(rest.flatten().map(str::to_owned));
    }
    if line.starts_with('\\') || line.contains(" \\g ") {
        found.extend(line.split_once('|').map(|(_, command)| command.to_owned()));
    }
    found
}
