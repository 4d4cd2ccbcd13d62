//! Programs that start the command in their arguments: one table of the position of that command.

use shell::escape::{quote, with_words};
use shell::words::{Shapes, names};

use super::{Evaluator, Outcome};
use protection::Touch;

/// Form of the arguments behind a wrapper.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Program and arguments.
    Words,
    /// Program and arguments; `X=1` may come first.
    Assignments,
    /// Arguments that are joined and passed to a shell.
    Text,
    /// One argument is a text, several are program and arguments.
    Either,
}

/// Names, options that take a value (letters together, then long ones), own arguments before the command, and the
/// form of the command.
type Wrapper = (
    &'static [&'static str],
    &'static [&'static str],
    usize,
    Form,
);

macro_rules! wrappers {
    ($($names:literal, $options:literal, $own:literal, $form:ident;)*) => {
        /// Shapes of the names in the table.
        static SHAPES: Shapes = Shapes::none()$(.with_all(names!($names)))*;

        const WRAPPERS: &[Wrapper] =
            &[$((names!($names), names!($options), $own, Form::$form)),*];
    };
}

wrappers! {
    "env", "uC unset chdir", 0, Assignments;
    "sudo", "ugpCrhtTUDR user group prompt host role type chdir chroot close-from other-user", 0, Assignments;
    "doas cross-env", "uC", 0, Assignments;
    "nohup setsid builtin setpriv torify unbuffer catchsegv chronic ifne softlimit linux64 linux32 i386 eatmydata \
     firejail bwrap dbus-run-session valgrind corepack busybox toybox command nocorrect noglob - -- setarch proot \
     box64 spawn ts cgexec start-stop-daemon", "- group-dir", 0, Words;
    "nice", "n adjustment", 0, Words;
    "ionice", "cnpPu class classdata", 0, Words;
    "time", "fo format output", 0, Words;
    "timeout", "ks kill-after signal", 1, Words;
    "stdbuf", "ioe input output error", 0, Words;
    "flock", "wE timeout wait conflict-exit-code", 1, Either;
    "watch", "nqs interval equexit", 0, Text;
    "exec", "a", 0, Words;
    "chrt", "TPD", 1, Words;
    "taskset chroot gosu su-exec", "-", 1, Words;
    "choom", "np adjust pid", 0, Words;
    "strace", "abeEIoOpPsSuUX output trace expr env user", 0, Words;
    "ltrace", "aAbDeFlnopsuw output", 0, Words;
    "numactl", "iNmCpP interleave cpunodebind membind physcpubind", 0, Words;
    "unshare", "RGSw root wd setuid setgid", 0, Words;
    "nsenter", "tSGW target setuid setgid", 0, Words;
    "prlimit", "p pid", 0, Words;
    "systemd-inhibit", "- what who why mode", 0, Words;
    "fakeroot", "slibfu", 0, Words;
    "runuser", "ugGs user group shell supp-group", 0, Words;
    "proxychains proxychains4", "f", 0, Words;
    "torsocks", "aPpu", 0, Words;
    "caffeinate", "tw", 0, Words;
    "daemonize", "acepuEl", 0, Words;
    "xvfb-run", "efnpsw error-file auth-file server-num server-args xauth-protocol", 0, Words;
    "rlwrap", "abcCDfgHlOpPqSsAIMtw", 0, Words;
    "dotenv", "efpcv", 0, Words;
    "env-cmd", "frx", 0, Words;
    "cross-env-shell", "-", 0, Text;
    "entr", "-", 0, Either;
    "ssh-agent", "aEtPO", 0, Words;
    "hyperfine", "-", 0, Text;
}

/// Returns `true` if a program is in the table.
pub(crate) fn is_wrapper(name: &str) -> bool {
    find(name).is_some()
}

fn find(name: &str) -> Option<&'static Wrapper> {
    let mut table = WRAPPERS.iter();
    SHAPES
        .may_hold(name)
        .then(|| table.find(|(names, ..)| names.contains(&name)))
        .flatten()
}

impl Evaluator<'_> {
    /// Evaluates the command inside a wrapper.
    pub(crate) fn wrapped(&mut self, name: &str, arguments: &[String]) -> Option<Outcome> {
        let (_, options, own, form) = find(name)?;
        let first = arguments.first().map_or("", String::as_str);
        if name == "command" && (first.starts_with("-v") || first.starts_with("-V")) {
            return Some(super::text::path_of(arguments));
        }
        if name == "start-stop-daemon" {
            let program = option_value(arguments, &["--exec", "-x", "--startas", "-a"]);
            let after = arguments.iter().skip_while(|word| *word != "--").skip(1);
            let words: Vec<String> = program.into_iter().chain(after.cloned()).collect();
            return Some(self.linked(name, |this| this.run(&words)));
        }
        let texts: &[&str] = match name {
            "env" => &["-S", "--split-string"],
            "entr" => &["-s"],
            "flock" | "runuser" => &["-c", "--command", "-s"],
            _ => &[],
        };
        let split = (name == "env")
            .then(|| super::launch::letter_value(arguments, 'S'))
            .flatten();
        let given = option_value(arguments, texts).or(split);
        if let Some(text) = given {
            let text = match name {
                "entr" => arguments.last().cloned().unwrap_or_default(),
                // The remaining arguments follow the text.
                "env" => {
                    let rest = arguments
                        .iter()
                        .skip_while(|word| !word.contains(text.as_str()))
                        .skip(1);
                    let rest: Vec<String> = rest.cloned().collect();
                    with_words(&text.replace("\\_", " "), &rest)
                }
                _ => text,
            };
            let outcome = self.in_shell(name, &text);
            return Some(outcome);
        }
        if name == "hyperfine" {
            for text in arguments {
                let value = text
                    .split_once('=')
                    .filter(|(option, _)| option.starts_with("--"));
                match value {
                    Some((_, value)) => self.in_shell(name, value),
                    None if !text.starts_with('-') => self.in_shell(name, text),
                    None => continue,
                };
            }
            return Some(Outcome::unknown());
        }
        let (letters, long) = options.split_first()?;
        let mut inner = skip_options(arguments, letters, long);
        for _ in 0..*own {
            inner = inner.get(1..).unwrap_or_default();
            // `timeout 5 -- cmd`, `flock file -- cmd`.
            inner = inner.strip_prefix(&["--".to_owned()]).unwrap_or(inner);
        }
        if name == "env" {
            inner = inner.strip_prefix(&["-".to_owned()]).unwrap_or(inner);
        }
        let had_words = inner.len() != arguments.len();
        if !matches!(name, "env" | "sudo" | "doas" | "chroot" | "unshare") {
            // Its own arguments, such as the file of a lock or a log.
            let own = arguments.len().saturating_sub(inner.len());
            for word in arguments.iter().take(own) {
                let path = word.rsplit('=').next().unwrap_or(word);
                self.touch(Touch::Given, path);
            }
        }
        let state = self.state.clone();
        Some(self.apart(state, |this| {
            if name == "env" {
                this.cleared(arguments);
            }
            this.inner(name, *form, inner, had_words)
        }))
    }

    /// Evaluates `env -i`, `env -u X`: the program does not see these variables.
    fn cleared(&mut self, arguments: &[String]) {
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "-i" | "-" | "--ignore-environment" => {
                    std::rc::Rc::make_mut(&mut self.state.variables).retain(|_, one| !one.exported);
                }
                "-u" | "--unset" => {
                    let name = words.next().map_or("", String::as_str);
                    self.state.unset(name);
                }
                word if word.starts_with("--unset=") => {
                    self.state.unset(word.trim_start_matches("--unset="));
                }
                _ => {}
            }
        }
    }

    fn inner(&mut self, name: &str, form: Form, inner: &[String], had_words: bool) -> Outcome {
        let mut rest = inner;
        while form == Form::Assignments
            && let Some((first, after)) = rest.split_first()
            && let Some((variable, value)) = first.split_once('=')
            && !variable.is_empty()
            && !variable.starts_with('-')
        {
            self.state.set(variable, value.to_owned(), true);
            if value.starts_with("() {") || variable.starts_with("BASH_FUNC_") {
                self.opaque("a function is passed to a shell", first);
            }
            self.assigned(variable);
            rest = after;
        }
        if rest.is_empty() {
            // `sudo -s`, `unshare -r`, `chroot dir`: without a program they start a shell, which reads its input.
            let starts_shell = had_words && !matches!(name, "env" | "entr" | "command" | "time");
            if starts_shell && let Some(input) = self.state.input().cloned() {
                return self.in_shell(name, &input);
            }
            return Outcome::unknown();
        }
        let as_text = match form {
            Form::Text => true,
            Form::Either => rest.len() == 1,
            Form::Words | Form::Assignments => false,
        };
        if as_text {
            let quoted: Vec<String> = match rest {
                [only] => vec![only.clone()],
                words if words.iter().any(|word| word.contains(' ')) => {
                    words.iter().map(|word| quote(word)).collect()
                }
                words => words.to_vec(),
            };
            return self.in_shell(name, &quoted.join(" "));
        }
        // A wrapper starts a program: it does not see functions and aliases of the shell.
        match name {
            "time" => {}
            "command" | "builtin" | "exec" => self.state.functions = std::rc::Rc::default(),
            _ => {
                let variables = self.state.variables.clone();
                self.state = super::Shell {
                    variables,
                    ..self.state.child()
                };
            }
        }
        let version = rest
            .first()
            .and_then(|first| first.split_once('@'))
            .filter(|_| name == "corepack");
        let rest = match version {
            Some((program, _)) => {
                [&[program.to_owned()], rest.get(1..).unwrap_or_default()].concat()
            }
            None => rest.to_vec(),
        };
        self.linked(name, |this| this.run(&rest))
    }

    /// Evaluates text for a separate shell.
    pub(crate) fn in_shell(&mut self, name: &str, text: &str) -> Outcome {
        let state = self.state.child();
        self.apart(state, |this| this.linked(name, |this| this.evaluated(text)))
    }
}

/// Returns the value of the first of these options, glued with `=` or in the next argument.
pub(crate) fn option_value(arguments: &[String], options: &[&str]) -> Option<String> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            return None;
        }
        if options.contains(&word.as_str()) {
            return words.next().cloned();
        }
        let glued = options
            .iter()
            .find_map(|option| word.strip_prefix(option)?.strip_prefix('='));
        if let Some(value) = glued {
            return Some(value.to_owned());
        }
    }
    None
}

/// Returns the builtin behind `builtin read x`, `command eval …`: the shell runs it in itself, behind these words
/// too.
pub(crate) fn of_the_shell<'w>(
    program: &str,
    arguments: &'w [String],
) -> Option<(&'w String, &'w [String])> {
    let rest = match program {
        "builtin" => skip_options(arguments, "", &[]),
        "command" if arguments.first().is_some_and(|word| word == "-p") => arguments.get(1..)?,
        "command" => arguments
            .strip_prefix(&["--".to_owned()])
            .unwrap_or(arguments),
        _ => return None,
    };
    rest.split_first()
}

/// Returns the arguments behind the options of a program that stops at its first operand.
pub(crate) fn skip_options<'w>(
    arguments: &'w [String],
    letters: &str,
    long: &[&str],
) -> &'w [String] {
    let mut rest = arguments;
    while let Some((word, after)) = rest.split_first() {
        if word == "--" {
            return after;
        }
        if let Some(option) = word.strip_prefix("--") {
            rest = after;
            if long.contains(&option) {
                rest = rest.get(1..).unwrap_or_default();
            }
            continue;
        }
        let flags = word
            .strip_prefix(['-', '+'])
            .filter(|flags| !flags.is_empty());
        let Some(flags) = flags else {
            return rest;
        };
        rest = after;
        // The value of a letter is the rest of the argument, or the next argument if there is no rest.
        let valued = flags
            .char_indices()
            .find(|(_, flag)| letters.contains(*flag) && *flag != '-');
        if let Some((at, flag)) = valued
            && at.saturating_add(flag.len_utf8()) == flags.len()
        {
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_begins_behind_the_options() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for (text, letters, long, expected) in [
            ("-u x git push", "u", &["user"][..], "git push"),
            ("--user x -n git", "u", &["user"], "git"),
            ("-ux git", "u", &[], "git"),
            ("-- -x", "", &[], "-x"),
        ] {
            assert_eq!(
                skip_options(&words(text), letters, long),
                words(expected),
                "{text}"
            );
        }
        assert_eq!(
            option_value(&words("--a=b -c d"), &["-c"]),
            Some("d".to_owned())
        );
    }
}
