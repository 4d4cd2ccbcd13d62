//! Programs that start the command in their arguments: one table of where that command begins.

use crate::value::Value;

use super::{Evaluator, Outcome};

/// Where the inner command of a wrapper starts.
struct Wrapper {
    name: &'static str,
    /// Single letters that take a value.
    letters: &'static str,
    /// Long options that take a value in the next word.
    long: &'static [&'static str],
    /// Words of its own before the command.
    own: usize,
    /// What the words are.
    form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Program and arguments.
    Words,
    /// Program and arguments; `X=1` may come first.
    Assignments,
    /// Words that are joined and given to a shell.
    Text,
    /// One word is a text, several are program and arguments.
    Either,
}

const fn words(name: &'static str, letters: &'static str, own: usize) -> Wrapper {
    Wrapper {
        name,
        letters,
        long: &[],
        own,
        form: Form::Words,
    }
}

const fn shaped(
    name: &'static str,
    letters: &'static str,
    long: &'static [&'static str],
    own: usize,
    form: Form,
) -> Wrapper {
    Wrapper {
        name,
        letters,
        long,
        own,
        form,
    }
}

const WRAPPERS: &[Wrapper] = &[
    shaped("env", "uC", &["unset", "chdir"], 0, Form::Assignments),
    shaped(
        "sudo",
        "ugpCrhtTUDR",
        &[
            "user",
            "group",
            "prompt",
            "host",
            "role",
            "type",
            "chdir",
            "chroot",
            "close-from",
            "other-user",
        ],
        0,
        Form::Assignments,
    ),
    shaped("doas", "uC", &[], 0, Form::Assignments),
    words("nohup", "", 0),
    shaped("nice", "n", &["adjustment"], 0, Form::Words),
    shaped("ionice", "cnpPu", &["class", "classdata"], 0, Form::Words),
    shaped("time", "fo", &["format", "output"], 0, Form::Words),
    shaped("timeout", "ks", &["kill-after", "signal"], 1, Form::Words),
    shaped("gtimeout", "ks", &["kill-after", "signal"], 1, Form::Words),
    shaped(
        "stdbuf",
        "ioe",
        &["input", "output", "error"],
        0,
        Form::Words,
    ),
    words("setsid", "", 0),
    shaped(
        "flock",
        "wE",
        &["timeout", "wait", "conflict-exit-code"],
        1,
        Form::Either,
    ),
    shaped("watch", "nqs", &["interval", "equexit"], 0, Form::Text),
    shaped("exec", "a", &[], 0, Form::Words),
    words("builtin", "", 0),
    words("chrt", "TPD", 1),
    words("taskset", "", 1),
    shaped("choom", "np", &["adjust", "pid"], 0, Form::Words),
    shaped(
        "strace",
        "abeEIoOpPsSuUX",
        &["output", "trace", "expr", "env", "user"],
        0,
        Form::Words,
    ),
    shaped("ltrace", "aAbDeFlnopsuw", &["output"], 0, Form::Words),
    shaped(
        "numactl",
        "iNmCpP",
        &["interleave", "cpunodebind", "membind", "physcpubind"],
        0,
        Form::Words,
    ),
    shaped(
        "unshare",
        "RGSw",
        &["root", "wd", "setuid", "setgid"],
        0,
        Form::Words,
    ),
    shaped(
        "nsenter",
        "tSGW",
        &["target", "setuid", "setgid"],
        0,
        Form::Words,
    ),
    shaped("prlimit", "p", &["pid"], 0, Form::Words),
    shaped(
        "systemd-run",
        "puGEHMt",
        &[
            "property",
            "unit",
            "uid",
            "gid",
            "slice",
            "setenv",
            "working-directory",
            "description",
        ],
        0,
        Form::Words,
    ),
    shaped(
        "systemd-inhibit",
        "",
        &["what", "who", "why", "mode"],
        0,
        Form::Words,
    ),
    words("fakeroot", "slibfu", 0),
    words("chroot", "", 1),
    words("gosu", "", 1),
    words("su-exec", "", 1),
    words("setpriv", "", 0),
    shaped(
        "runuser",
        "ugGs",
        &["user", "group", "shell", "supp-group"],
        0,
        Form::Words,
    ),
    words("proxychains", "f", 0),
    words("proxychains4", "f", 0),
    words("torsocks", "aPpu", 0),
    words("torify", "", 0),
    words("unbuffer", "", 0),
    words("catchsegv", "", 0),
    words("caffeinate", "tw", 0),
    words("chronic", "", 0),
    words("ifne", "", 0),
    words("softlimit", "", 0),
    words("daemonize", "acepuEl", 0),
    words("linux64", "", 0),
    words("linux32", "", 0),
    words("i386", "", 0),
    words("eatmydata", "", 0),
    words("firejail", "", 0),
    words("bwrap", "", 0),
    words("dbus-run-session", "", 0),
    shaped(
        "xvfb-run",
        "efnpsw",
        &[
            "error-file",
            "auth-file",
            "server-num",
            "server-args",
            "xauth-protocol",
        ],
        0,
        Form::Words,
    ),
    words("valgrind", "", 0),
    words("rlwrap", "abcCDfgHlOpPqSsAIMtw", 0),
    words("dotenv", "efpcv", 0),
    words("dotenvx", "fe", 0),
    shaped("cross-env", "", &[], 0, Form::Assignments),
    shaped("cross-env-shell", "", &[], 0, Form::Text),
    words("env-cmd", "frx", 0),
    words("direnv", "", 2),
    shaped("entr", "", &[], 0, Form::Either),
    shaped(
        "nodemon",
        "ewid",
        &["ext", "watch", "ignore", "delay"],
        0,
        Form::Text,
    ),
    words("corepack", "", 0),
    words("start-stop-daemon", "", 0),
    words("busybox", "", 0),
    words("toybox", "", 0),
    words("command", "", 0),
    words("nocorrect", "", 0),
    words("noglob", "", 0),
    words("-", "", 0),
];

/// Whether a program is one of the table.
pub(crate) fn is_wrapper(name: &str) -> bool {
    WRAPPERS.iter().any(|wrapper| wrapper.name == name)
}

impl Evaluator<'_> {
    /// Follows the command inside a wrapper.
    pub(crate) fn wrapped(&mut self, name: &str, arguments: &[String]) -> Option<Outcome> {
        if name == "command"
            && arguments
                .first()
                .is_some_and(|flag| flag.starts_with("-v") || flag.starts_with("-V"))
        {
            let found = arguments.get(1).map_or_else(Value::unknown, |program| {
                Value::text(format!("/usr/bin/{program}\n"))
            });
            return Some(Outcome {
                status: None,
                output: found,
            });
        }
        let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == name)?;
        if name == "env"
            && let Some(outcome) = self.split_string(arguments)
        {
            return Some(outcome);
        }
        let texts: &[&str] = match name {
            "entr" => &["-s"],
            "flock" | "runuser" => &["-c", "--command", "-s"],
            _ => &[],
        };
        if let Some(text) = option_value(arguments, texts) {
            let text = if name == "entr" {
                arguments.last().cloned().unwrap_or_default()
            } else {
                text
            };
            return Some(self.in_shell(name, &text));
        }
        if name == "start-stop-daemon" {
            return Some(self.daemon(arguments));
        }
        let inner = wrapper.inner(arguments);
        let unversioned = super::runner::unversioned(name, inner);
        let inner = unversioned.as_deref().unwrap_or(inner);
        if name == "direnv" && arguments.first().is_none_or(|verb| verb != "exec") {
            return None;
        }
        let state = self.state.clone();
        Some(self.apart(state, |this| {
            if name == "env" {
                this.unset_by_env(arguments, inner.len());
            }
            this.assignments_then(name, wrapper.form, inner, arguments.len())
        }))
    }

    fn assignments_then(
        &mut self,
        name: &str,
        form: Form,
        inner: &[String],
        arguments_len: usize,
    ) -> Outcome {
        let cleared = name == "env" || name == "sudo";
        let mut rest = inner;
        if form == Form::Assignments {
            while let Some((first, after)) = rest.split_first()
                && let Some((variable, value)) = first.split_once('=')
                && !variable.is_empty()
                && !variable.starts_with('-')
            {
                self.state.set(variable, Value::text(value), true);
                self.assigned_danger(variable);
                self.function_variable(variable, value);
                rest = after;
            }
        }
        // `sudo -s`, `unshare -r`, `chroot dir`: without a program they start a shell, which reads its input.
        if rest.is_empty() && inner.len() != arguments_len && !matches!(name, "env" | "entr") {
            return self.session_input(name);
        }
        if rest.is_empty() {
            return if cleared {
                Outcome::unknown()
            } else {
                Outcome::quiet(None)
            };
        }
        let text =
            if form == Form::Text && rest.len() > 1 && rest.iter().any(|word| word.contains(' ')) {
                let quoted: Vec<String> = rest.iter().map(|word| super::run::quote(word)).collect();
                quoted.join(" ")
            } else {
                rest.join(" ")
            };
        let as_text =
            form == Form::Text || (form == Form::Either && rest.len() == 1 && text.contains(' '));
        if as_text {
            return self.in_shell(name, &text);
        }
        // What a wrapper starts is a program: functions and aliases of the shell are not seen there.
        // One that is exported a shell behind it sees.
        if !matches!(name, "command" | "builtin" | "exec" | "time") {
            self.state.functions_perhaps();
            self.state.aliases.clear();
        } else if name != "time" {
            std::rc::Rc::make_mut(&mut self.state.functions).clear();
        }
        self.linked(name, |this| this.run(rest))
    }

    /// Text for a shell of its own.
    pub(crate) fn in_shell(&mut self, name: &str, text: &str) -> Outcome {
        let state = self.state.child();
        let name = name.to_owned();
        self.apart(state, |this| this.linked(name, |this| this.evaluated(text)))
    }

    fn daemon(&mut self, arguments: &[String]) -> Outcome {
        let program = option_value(arguments, &["--exec", "-x", "--startas", "-a"]);
        let after = arguments.iter().position(|word| word == "--");
        let mut words: Vec<String> = program.into_iter().collect();
        if let Some(after) = after {
            words.extend(arguments.iter().skip(after.saturating_add(1)).cloned());
        }
        self.linked("start-stop-daemon", |this| this.run(&words))
    }
}

/// The value of the first of these options, glued with `=` or in the next word.
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

impl Wrapper {
    fn inner<'w>(&self, arguments: &'w [String]) -> &'w [String] {
        let mut rest = skip_options(arguments, self.letters, self.long);
        for _ in 0..self.own {
            rest = rest.get(1..).unwrap_or_default();
            // `timeout 5 -- cmd`, `flock file -- cmd`.
            if rest.first().is_some_and(|word| word == "--") {
                rest = rest.get(1..).unwrap_or_default();
            }
        }
        rest
    }
}

/// `builtin read x`, `command eval …`: what the shell does itself it does in this shell, behind these words too.
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

/// What follows the options of a program that stops at its first other word.
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
        let Some(flags) = word
            .strip_prefix(['-', '+'])
            .filter(|flags| !flags.is_empty())
        else {
            return rest;
        };
        rest = after;
        // The value of a letter is the rest of the word, or the next word when there is no rest.
        let valued = flags
            .char_indices()
            .find(|(_, flag)| letters.contains(*flag));
        if let Some((at, flag)) = valued
            && at.saturating_add(flag.len_utf8()) == flags.len()
        {
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    rest
}
