//! Programs that are no launchers and still run a command when asked: `sed e`, `tar --to-command` and their kin.

use crate::value::Value;

use super::{Evaluator, Outcome};

impl Evaluator<'_> {
    /// GNU sed runs commands: `e command`, `s/…/…/e`, and `1e`.
    pub(crate) fn stream_editor(&mut self, arguments: &[String]) -> Option<Outcome> {
        let scripts: Vec<String> = arguments
            .iter()
            .filter(|word| !word.starts_with('-'))
            .take(1)
            .cloned()
            .collect();
        let given = super::wrapper::option_value(arguments, &["-e", "--expression"]);
        for script in given.into_iter().chain(scripts) {
            let after = script.trim_start_matches(|character: char| {
                character.is_ascii_digit() || matches!(character, '$' | ',' | ' ' | '!' | ';')
            });
            if let Some(command) = after.strip_prefix('e')
                && (command.is_empty() || command.starts_with(' '))
            {
                if command.trim().is_empty() {
                    let input = self.state.input.clone().unwrap_or_else(Value::unknown);
                    self.in_shell("sed e", input.first());
                } else {
                    self.in_shell("sed e", command.trim());
                }
            }
            let parts: Vec<&str> = script
                .strip_prefix('s')
                .and_then(|rest| {
                    let mark = rest.chars().next()?;
                    Some(rest.split(mark).collect())
                })
                .unwrap_or_default();
            if let [_, _, replacement, flags] = parts.as_slice()
                && flags.contains('e')
                && flags.chars().all(|flag| flag.is_ascii_alphanumeric())
            {
                let text = (*replacement).to_owned();
                self.in_shell("sed s///e", &text);
                if self
                    .state
                    .input
                    .as_ref()
                    .is_none_or(|input| input.known().is_none())
                {
                    self.opaque("sed runs a line that is not known", &script);
                }
            }
        }
        None
    }

    /// Programs with an option whose value is a command.
    pub(crate) fn command_escape(&mut self, name: &str, arguments: &[String]) {
        let options = [
            "--to-command",
            "--checkpoint-action",
            "--use-compress-program",
            "-I",
            "--info-script",
            "-F",
            "--new-volume-script",
            "-e",
            "--rsh",
            "--rsync-path",
            "-TT",
            "--unzip-command",
        ];
        for option in options {
            if let Some(text) = super::wrapper::option_value(arguments, &[option]) {
                let text = text.strip_prefix("exec=").unwrap_or(&text).to_owned();
                self.in_shell(&format!("{name} {option}"), &text);
            }
        }
    }

    /// Pagers and editors that run `!command`, from a word or from their input, and pagers that are named.
    pub(crate) fn shell_escape(&mut self, name: &str, arguments: &[String]) {
        if !matches!(
            name,
            "ed" | "less" | "more" | "man" | "mail" | "mutt" | "ftp" | "telnet" | "psql" | "mysql"
        ) {
            return;
        }
        if let Some(pager) = super::wrapper::option_value(arguments, &["-P", "--pager"])
            && name == "man"
        {
            self.in_shell("man -P", &pager);
        }
        let input = self.state.input.clone().unwrap_or_else(Value::empty);
        let words = arguments.iter().map(String::as_str);
        let lines: Vec<String> = words
            .chain(input.first().lines())
            .map(str::to_owned)
            .collect();
        for line in lines {
            let command = line.trim_start_matches('+').strip_prefix('!');
            if let Some(command) = command.or_else(|| line.strip_prefix("\\! ")) {
                self.in_shell(name, command);
            }
        }
    }
}
