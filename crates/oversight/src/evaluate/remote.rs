//! Other machines, other sessions, later times: `ssh`, `su`, `tmux`, `at`, `crontab`, `socat`.

use crate::value::{ENVIRONMENT, HOLE, LISTED, Value};

use super::launch::letter_value;
use super::run::quote;
use super::wrapper::{option_value, skip_options};
use super::{Evaluator, Outcome};

/// Options of `ssh` whose value runs, here or there.
const LOCAL: &[&str] = &[
    "proxycommand",
    "localcommand",
    "knownhostscommand",
    "remotecommand",
];

impl Evaluator<'_> {
    /// Options in the words of `ssh` and its kin whose value runs here.
    pub(crate) fn local_commands(&mut self, arguments: &[String]) {
        let mut options: Vec<String> = Vec::new();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if word == "-o" {
                options.extend(words.next().cloned());
            } else {
                options.extend(word.strip_prefix("-o").map(str::to_owned));
            }
        }
        for option in options {
            if let Some((key, value)) = option.split_once(['=', ' '])
                && LOCAL.contains(&key.to_ascii_lowercase().as_str())
            {
                self.in_shell("ssh -o", value);
            }
        }
    }

    pub(crate) fn remote(&mut self, name: &str, arguments: &[String]) -> Outcome {
        self.local_commands(arguments);
        let rest = skip_options(arguments, "BbcDEeFIiJLlmOopQRSWw", &[]);
        let words = rest.get(1..).unwrap_or_default();
        // `ssh host -p 22 cmd`: options may follow the host.
        let words = skip_options(words, "BbcDEeFIiJLlmOopQRSWw", &[]);
        if words.is_empty() {
            return match self.state.input.clone() {
                Some(input) => self.in_shell(name, input.first()),
                None => Outcome::unknown(),
            };
        }
        let text = words.join(" ");
        let mut state = self.state.child();
        state.directory = ENVIRONMENT.to_string().into();
        self.apart(state, |this| {
            this.linked(name, |this| this.evaluated(&text))
        });
        // The project may lie there as it lies here: its scripts are read as what they may be.
        if self.starts_in(&text) {
            self.perhaps(|this| this.linked(name, |this| this.shell_text(&text)));
        }
        Outcome::unknown()
    }

    pub(crate) fn switch_user(&mut self, arguments: &[String]) -> Outcome {
        // Behind the name of the user stand words of its shell.
        let words: Vec<String> = arguments
            .iter()
            .filter(|word| *word != "--")
            .cloned()
            .collect();
        let arguments = words.as_slice();
        match letter_value(arguments, 'c')
            .or_else(|| option_value(arguments, &["--command", "--session-command"]))
        {
            Some(text) => self.in_shell("su -c", &text),
            None => self.session_input("su"),
        }
    }

    /// A shell that is started without a command reads its input.
    pub(crate) fn session_input(&mut self, name: &str) -> Outcome {
        match self.state.input.clone() {
            Some(input) => self.in_shell(name, input.first()),
            None => Outcome::unknown(),
        }
    }

    pub(crate) fn session(&mut self, name: &str, arguments: &[String]) -> Outcome {
        if name == "screen" {
            let rest = skip_options(arguments, "cehpsStT", &[]);
            if let Some(at) = rest.iter().position(|word| word == "stuff") {
                let keys = rest.iter().skip(at.saturating_add(1)).cloned();
                let text = keys.collect::<Vec<_>>().join(" ");
                let text = text
                    .replace("\\n", "\n")
                    .replace("^M", "\n")
                    .replace("\\r", "\n");
                return self.in_shell("screen stuff", &text);
            }
            return self.session_words(name, rest);
        }
        let rest = skip_options(arguments, "LSf", &[]);
        for part in rest.split(|word| word == ";") {
            let Some((verb, after)) = part.split_first() else {
                continue;
            };
            let letters = if verb.starts_with("send") {
                "tN"
            } else {
                "cnsxytFe"
            };
            let after = skip_options(after, letters, &[]);
            if verb.starts_with("send") {
                let text: Vec<&str> = after
                    .iter()
                    .map(|key| match key.as_str() {
                        "Space" => " ",
                        "Enter" | "C-m" | "C-j" | "KPEnter" => "\n",
                        key => key,
                    })
                    .collect();
                self.in_shell("tmux send-keys", &text.concat());
                self.in_shell("tmux send-keys", &text.join(" "));
            } else if self.session_buffer(verb, after) {
            } else if shows_text(verb) {
                for word in part {
                    self.glance_inside(name, word);
                }
            } else {
                let words = if verb.contains(' ') { part } else { after };
                self.session_words(name, words);
                for word in part.iter().filter(|word| word.contains(' ')) {
                    self.unknown_text(name, word);
                }
            }
        }
        Outcome::unknown()
    }

    /// Text that `tmux` keeps, and types when it is pasted.
    fn session_buffer(&mut self, verb: &str, words: &[String]) -> bool {
        let kept = match verb {
            "set-buffer" | "setb" => Value::text(words.last().map_or("", String::as_str)),
            "load-buffer" | "loadb" => match words.last().map(String::as_str) {
                None | Some("-") => self.state.input.clone().unwrap_or_else(Value::empty),
                Some(path) => self.content_value(path),
            },
            "paste-buffer" | "pasteb" => {
                if let Some(text) = self.written.get(SESSION_BUFFER).cloned() {
                    self.in_shell("tmux paste-buffer", text.first());
                }
                return true;
            }
            _ => return false,
        };
        self.written.insert(SESSION_BUFFER.to_owned(), kept);
        true
    }

    fn session_words(&mut self, name: &str, words: &[String]) -> Outcome {
        match words {
            [] => Outcome::unknown(),
            [text] => self.in_shell(name, text),
            words => {
                let text: Vec<String> = words.iter().map(|word| quote(word)).collect();
                let outcome = self.in_shell(name, &text.join(" "));
                for word in words.iter().filter(|word| word.contains(' ')) {
                    self.unknown_text(name, word);
                }
                outcome
            }
        }
    }

    /// `at`, `batch` and `crontab`.
    pub(crate) fn scheduled(&mut self, name: &str, arguments: &[String]) -> Outcome {
        let file = option_value(arguments, &["-f"]);
        if name != "crontab" {
            let text = match file {
                Some(path) => Some(self.content_value(&path)),
                None => self.state.input.clone(),
            };
            return text.map_or_else(Outcome::unknown, |text| self.in_shell(name, text.first()));
        }
        let only_shows = arguments
            .iter()
            .any(|word| matches!(word.as_str(), "-l" | "-r"));
        if only_shows {
            return Outcome::quiet(None);
        }
        let user = option_value(arguments, &["-u"]);
        let operand = arguments
            .iter()
            .filter(|word| user.as_ref() != Some(word))
            .find(|word| !word.starts_with('-') || *word == "-");
        let table = match operand.map(String::as_str) {
            Some("-") | None => self.state.input.clone().unwrap_or_else(Value::empty),
            Some(path) => self.content_value(path),
        };
        for line in table.first().to_owned().lines() {
            if line.contains([HOLE, LISTED]) && !line.contains(' ') {
                self.opaque("a table of commands that nobody can know", line);
                continue;
            }
            let fields = if line.trim_start().starts_with('@') {
                1
            } else {
                5
            };
            let command: Vec<&str> = line.split_whitespace().skip(fields).collect();
            self.in_shell("crontab", &command.join(" "));
        }
        Outcome::quiet(None)
    }

    /// `socat - EXEC:'git push',pty`.
    pub(crate) fn relay(&mut self, arguments: &[String]) -> Outcome {
        for word in arguments {
            let Some((kind, rest)) = word.split_once(':') else {
                continue;
            };
            if matches!(
                kind.to_ascii_uppercase().as_str(),
                "EXEC" | "SYSTEM" | "SHELL"
            ) {
                let command = rest
                    .split(',')
                    .next()
                    .unwrap_or(rest)
                    .trim_matches(['"', '\''])
                    .to_owned();
                if super::shells::is_shell(&super::run::program_name(&command)) {
                    self.opaque("a shell is offered to the network", word);
                }
                self.in_shell("socat", &command);
            }
        }
        Outcome::unknown()
    }
}

/// Where the text stands that `tmux` keeps to paste it.
const SESSION_BUFFER: &str = "tmux.buffer";

/// Commands of `tmux` that only show a text; `#(…)` in it is run.
fn shows_text(verb: &str) -> bool {
    matches!(
        verb,
        "display" | "display-message" | "rename-window" | "renamew" | "rename-session" | "rename"
    )
}
