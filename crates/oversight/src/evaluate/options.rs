//! Options whose value a program runs: one table, for programs that are no launchers otherwise.

use super::launch::{first_items, letter_value};
use super::{Evaluator, Outcome};

/// Program, and its options with a command as value. A single letter may stand in a cluster.
const OPTIONS: &[(&str, &[&str])] = &[
    (
        "tar",
        &[
            "--to-command",
            "--checkpoint-action",
            "--use-compress-program",
            "--info-script",
            "--new-volume-script",
            "--rmt-command",
            "--rsh-command",
            "-I",
            "-F",
        ],
    ),
    ("bsdtar", &["--use-compress-program"]),
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("zip", &["-TT", "--unzip-command"]),
    ("rg", &["--pre", "--hostname-bin"]),
    ("sort", &["--compress-program"]),
    ("split", &["--filter"]),
    ("scp", &["-S", "-D"]),
    ("sftp", &["-S", "-D"]),
    ("install", &["--strip-program"]),
    ("man", &["-P", "--pager", "-H", "--html"]),
    ("nano", &["-s", "--speller"]),
    ("pico", &["-s"]),
    ("tcpdump", &["-z"]),
    ("cpio", &["--rsh-command"]),
    ("nc", &["-e", "-c"]),
    ("netcat", &["-e", "-c"]),
    ("ncat", &["-e", "-c", "--exec", "--sh-exec", "--lua-exec"]),
    (
        "hyperfine",
        &[
            "--prepare",
            "--setup",
            "--cleanup",
            "--conclude",
            "-p",
            "-s",
            "-c",
        ],
    ),
    ("go", &["-toolexec", "-exec", "-vettool"]),
    ("dpkg", &["--pre-invoke", "--post-invoke"]),
    ("nodemon", &["-x", "--exec"]),
    ("deno", &["--eval"]),
    ("ag", &["--pager"]),
    ("ack", &["--pager"]),
    ("wget", &["--use-askpass"]),
    ("hg", &["--config"]),
    ("svn", &["--diff-cmd", "--diff3-cmd", "--editor-cmd"]),
    ("npm", &["--script-shell", "--editor", "--viewer"]),
    ("pnpm", &["--script-shell"]),
    ("just", &["--shell"]),
    ("bat", &["--pager"]),
    ("delta", &["--pager"]),
    ("gcloud", &["--command"]),
    ("aws", &["--command"]),
    ("bpftrace", &["-c"]),
    ("mysql", &["--pager"]),
    ("mariadb", &["--pager"]),
    ("gcc", &["-wrapper"]),
    ("g++", &["-wrapper"]),
    ("cc", &["-wrapper"]),
    ("clang", &["-wrapper"]),
];

impl Evaluator<'_> {
    /// Runs the values of such options.
    pub(crate) fn command_options(&mut self, name: &str, arguments: &[String]) -> Option<Outcome> {
        let options = OPTIONS.iter().find(|(program, _)| *program == name)?.1;
        for option in options {
            for value in values(arguments, option) {
                let text = value.strip_prefix("exec=").unwrap_or(&value).to_owned();
                if text.is_empty() || (text.starts_with('-') && option.len() == 2) {
                    continue;
                }
                let network = matches!(name, "nc" | "netcat" | "ncat");
                if network && super::shells::is_shell(&super::run::program_name(&text)) {
                    self.opaque("a shell is offered to the network", &text);
                }
                let text = match text.split_once('=') {
                    _ if *option == "-wrapper" => text.replace(',', " "),
                    // `alias.x=!command`, `hooks.x=command`.
                    Some((_, value)) if name == "hg" => value.trim_start_matches('!').to_owned(),
                    _ => text,
                };
                self.in_shell(&format!("{name} {option}"), &text);
            }
        }
        None
    }
}

impl Evaluator<'_> {
    /// `hyperfine`: each word is a command of its own; `-L name values` fills `{name}`.
    pub(crate) fn benchmarks(&mut self, arguments: &[String]) -> Outcome {
        let mut fills: Vec<(String, String)> = Vec::new();
        for words in arguments.windows(3) {
            if let [flag, name, values] = words
                && matches!(flag.as_str(), "-L" | "--parameter-list")
            {
                let values: Vec<String> = values.split(',').map(str::to_owned).collect();
                let values = first_items(&values).into_iter();
                fills.extend(values.map(|value| (format!("{{{name}}}"), value)));
            }
        }
        for word in arguments.iter().filter(|word| !word.starts_with('-')) {
            self.in_shell("hyperfine", word);
            for (mark, value) in fills.iter().filter(|(mark, _)| word.contains(mark)) {
                self.in_shell("hyperfine", &word.replace(mark, value));
            }
        }
        Outcome::unknown()
    }
}

/// All values of one option, glued or in the next word. Long options may be abbreviated.
pub(crate) fn values(arguments: &[String], option: &str) -> Vec<String> {
    let mut all = Vec::new();
    let long = option.starts_with("--");
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let shortened = long && word.len() > 8 && option.starts_with(word.as_str());
        if word == option || shortened {
            all.extend(words.next().cloned());
        } else if let Some((head, value)) = word.split_once('=')
            && (head == option || (long && head.len() > 8 && option.starts_with(head)))
        {
            all.push(value.to_owned());
        } else if !long
            && option.len() == 2
            && let Some(rest) = word.strip_prefix(option).filter(|rest| !rest.is_empty())
        {
            all.push(rest.to_owned());
        }
    }
    if all.is_empty() && option.len() == 2 {
        let letter = option.chars().nth(1);
        all.extend(letter.and_then(|letter| letter_value(arguments, letter)));
    }
    all
}
