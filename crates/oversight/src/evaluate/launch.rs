//! Launchers with a grammar of their own: `xargs`, `find`, `parallel`, `ssh`, `docker`, `npx` and their kin.

use crate::value::{ENVIRONMENT, HOLE, Value};

use super::items;
use super::wrapper::{option_value, skip_options};
use super::{Evaluator, Outcome};

/// More items than this are not followed one by one.
const MAX_ITEMS: usize = 64;

impl Evaluator<'_> {
    /// Follows what a launcher starts.
    pub(crate) fn launched(&mut self, name: &str, arguments: &[String]) -> Option<Outcome> {
        let rest =
            |arguments: &[String], at: usize| arguments.get(at..).unwrap_or_default().to_vec();
        Some(match name {
            "xargs" => self.xargs(arguments),
            "find" | "fd" | "fdfind" => return self.find(name, arguments),
            "parallel" | "env_parallel" => self.parallel(arguments),
            "ssh" | "autossh" | "mosh" | "rsh" => self.remote(name, arguments),
            "scp" | "sftp" | "sshfs" => {
                self.local_commands(arguments);
                return None;
            }
            "su" => self.switch_user(arguments),
            "script" => match letter_value(arguments, 'c')
                .or_else(|| option_value(arguments, &["--command"]))
            {
                Some(text) => {
                    let log = arguments
                        .iter()
                        .find(|word| !word.starts_with('-') && **word != text);
                    if let Some(log) = log.cloned() {
                        self.write(&log, &Value::unknown(), false);
                    }
                    self.in_shell(name, &text)
                }
                None => {
                    // Without a command it starts a shell, which reads its input.
                    self.run(&["bash".to_owned(), "-s".to_owned()]);
                    return None;
                }
            },
            "docker" | "podman" | "nerdctl" | "kubectl" | "oc" | "docker-compose" => {
                return self.container(name, arguments);
            }
            "npx" | "bunx" | "uvx" | "pipx" | "pnpx" | "bun" | "pnpm" | "yarn" | "npm" | "uv"
            | "mise" | "rtx" | "asdf" | "conda" | "mamba" | "poetry" | "pipenv" | "pdm"
            | "hatch" | "rye" | "bundle" | "nix" | "devbox" | "op" | "doppler" | "aws-vault"
            | "vault" | "infisical" | "teller" | "chamber" | "sops" | "nix-shell" | "rbenv"
            | "pyenv" | "volta" | "fnm" | "nvm" | "pixi" | "turbo" | "lerna" | "nx" => {
                return self.runner(name, arguments);
            }
            "tmux" | "screen" => self.session(name, arguments),
            "at" | "batch" | "crontab" => self.scheduled(name, arguments),
            "socat" => self.relay(arguments),
            "hyperfine" => self.benchmarks(arguments),
            "newgrp" | "sg" | "ansible-console" => {
                self.session_input(name);
                return None;
            }
            "ssh-agent" => {
                let words = skip_options(arguments, "aEtPO", &[]);
                if words.is_empty() {
                    return None;
                }
                self.linked(name, |this| this.run(words))
            }
            "gdb" | "lldb"
                if arguments
                    .iter()
                    .any(|word| word == "--args" || word == "--") =>
            {
                let words = arguments
                    .iter()
                    .skip_while(|word| *word != "--args" && *word != "--");
                let words: Vec<String> = words.skip(1).cloned().collect();
                self.interpreted(name, arguments);
                self.linked(name, |this| this.run(&words))
            }
            "time" => self.run(&rest(arguments, 0)),
            _ => return self.launched_rarely(name, arguments),
        })
    }

    fn xargs(&mut self, arguments: &[String]) -> Outcome {
        let command = skip_options(
            arguments,
            "aEIJLnPsdR",
            &[
                "arg-file",
                "max-args",
                "max-procs",
                "max-chars",
                "delimiter",
                "process-slot-var",
            ],
        );
        let own = arguments.len().saturating_sub(command.len());
        let own_words = arguments.get(..own).unwrap_or_default();
        let glued = |word: &String| word.strip_prefix("-a").map(str::to_owned);
        let glued = own_words.iter().find_map(glued);
        let listed = glued.filter(|path| !path.is_empty());
        let input = match listed.or_else(|| option_value(own_words, &["-a", "--arg-file"])) {
            Some(path) => self.content_value(&path),
            None => self.state.input.clone().unwrap_or_else(Value::empty),
        };
        let place = letter_value(own_words, 'I')
            .or_else(|| letter_value(own_words, 'J'))
            .or_else(|| items::place(own_words));
        let mut words = command.to_vec();
        if words.is_empty() {
            words.push("echo".to_owned());
        }
        let skips_empty = own_words
            .iter()
            .filter(|word| word.starts_with('-'))
            .any(|word| {
                word == "--no-run-if-empty" || (!word.starts_with("--") && word.contains('r'))
            });
        if skips_empty && input.known().is_some_and(|text| text.trim().is_empty()) {
            return Outcome::quiet(Some(true));
        }
        let most = letter_value(own_words, 'n');
        let most = most.or_else(|| option_value(own_words, &["--max-args"]));
        let most = most.and_then(|most| most.parse::<usize>().ok());
        let lines_at_once = items::lines_at_once(own_words);
        self.apart_words("xargs", |this| {
            let mut outcome = Outcome::unknown();
            for text in input.possibilities() {
                let by_line = items::items(own_words, text);
                let items = by_line.concat();
                if let Some(count) = lines_at_once.filter(|_| place.is_none()) {
                    let batches: Vec<Vec<String>> =
                        by_line.chunks(count).map(<[_]>::concat).collect();
                    outcome = this.batches(&words, &batches);
                    if most.is_none() {
                        continue;
                    }
                }
                outcome = match &place {
                    Some(place) if text.contains('\0') => {
                        this.replaced(&words, place, &items, false)
                    }
                    Some(place) => this.replaced(&words, place, &lines(text), false),
                    None => {
                        let size = most.filter(|most| *most > 0).unwrap_or(usize::MAX);
                        let batches: Vec<Vec<String>> =
                            items.chunks(size).map(<[_]>::to_vec).collect();
                        this.batches(&words, &batches)
                    }
                };
            }
            outcome
        })
    }

    /// Runs the words with each of these lists behind them.
    fn batches(&mut self, words: &[String], batches: &[Vec<String>]) -> Outcome {
        let mut all: Option<Outcome> = None;
        let unknown = vec![HOLE.to_string()];
        let rest = (batches.len() > MAX_ITEMS).then_some(&unknown);
        for batch in batches.iter().take(MAX_ITEMS).chain(rest) {
            let outcome = self.run(&[words, batch].concat());
            all = Some(match all {
                None => outcome,
                Some(before) => Outcome {
                    status: None,
                    output: before.output.followed(outcome.output),
                },
            });
        }
        all.unwrap_or_else(|| self.run(words))
    }

    /// Runs the words once for each item, with the item in the place of a mark; a part of the program's name is a place
    /// for some launchers only (`xargs -Iurl curl url` starts `curl`).
    fn replaced(
        &mut self,
        words: &[String],
        place: &str,
        items: &[String],
        in_program: bool,
    ) -> Outcome {
        let mut outcome = Outcome::unknown();
        let unknown = [HOLE.to_string()];
        let items = if items.is_empty() { &unknown } else { items };
        for item in first_items(items) {
            let all: Vec<String> = words
                .iter()
                .enumerate()
                .map(|(at, word)| {
                    if at > 0 || in_program || word == place {
                        word.replace(place, &item)
                    } else {
                        word.clone()
                    }
                })
                .collect();
            outcome = self.run(&all);
        }
        outcome
    }

    fn apart_words(&mut self, link: &str, run: impl FnOnce(&mut Self) -> Outcome) -> Outcome {
        let mut state = self.state.child();
        state.input = Some(Value::empty());
        self.apart(state, |this| this.linked(link, run))
    }

    /// `gzip x` leaves `x.gz`, which is kept as the text that comes out of it again.
    pub(crate) fn packed(&mut self, name: &str, words: &[String]) {
        let ending = match name {
            "gzip" => ".gz",
            "xz" => ".xz",
            "bzip2" => ".bz2",
            "zstd" => ".zst",
            _ => return,
        };
        let paths = words.iter().filter(|path| !path.ends_with(ending));
        for (index, path) in paths.enumerate() {
            let content = if index < MAX_ITEMS {
                self.content_value(path)
            } else {
                Value::unknown()
            };
            self.write(&format!("{path}{ending}"), &content, false);
        }
    }

    fn find(&mut self, name: &str, arguments: &[String]) -> Option<Outcome> {
        let executes = |word: &String| match name {
            "find" => matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir"),
            _ => matches!(word.as_str(), "-x" | "--exec" | "-X" | "--exec-batch"),
        };
        let glued: Vec<String> = arguments
            .iter()
            .flat_map(|word| match word.split_once('=') {
                Some((option @ ("--exec" | "--exec-batch"), program)) if name != "find" => {
                    vec![option.to_owned(), program.to_owned()]
                }
                _ => vec![word.clone()],
            })
            .collect();
        let arguments = glued.as_slice();
        for pair in arguments.windows(2) {
            if let [option, path] = pair
                && matches!(
                    option.as_str(),
                    "-fprintf" | "-fprint" | "-fprint0" | "-fls"
                )
            {
                self.write(path, &Value::unknown(), false);
            }
        }
        let mut found = None;
        let mut words = arguments;
        while let Some(at) = words.iter().position(executes) {
            words = words.get(at.saturating_add(1)..).unwrap_or_default();
            let end = words
                .iter()
                .position(|word| word == ";" || word == "+")
                .unwrap_or(words.len());
            let mut inner: Vec<String> = words.iter().take(end).cloned().collect();
            if name != "find" && !inner.iter().any(|word| word.contains("{}")) {
                inner.push("{}".to_owned());
            }
            let mut names = self.find_names(arguments);
            if inner.first().is_some_and(|program| {
                program == "{}" || super::shells::is_shell(&super::run::program_name(program))
            }) {
                names.extend(self.find_scripts(arguments));
            }
            let outcome = self.apart_words(&format!("{name} -exec"), |this| {
                this.replaced(&inner, "{}", &names, true)
            });
            found = Some(outcome);
        }
        found
    }

    /// Names that `find` hands on: files are harmless, programs that match `-name` are not.
    fn find_names(&self, arguments: &[String]) -> Vec<String> {
        let mut names = vec![ENVIRONMENT.to_string()];
        let wanted = option_value(arguments, &["-name", "-iname"]);
        if let Some(wanted) = wanted
            .filter(|wanted| super::pattern::is_active(wanted) || self.catalog.is_program(wanted))
        {
            let programs = self.catalog.programs();
            names.extend(
                programs
                    .filter(|program| super::pattern::matches(&wanted, program))
                    .map(|program| format!("/usr/bin/{program}")),
            );
        }
        names
    }

    /// Files in the directories that `find` looks through.
    fn find_scripts(&self, arguments: &[String]) -> Vec<String> {
        let places = arguments.iter().take_while(|word| !word.starts_with('-'));
        let wanted = option_value(arguments, &["-name"]);
        let fits = |name: &String| {
            let wanted = wanted.as_deref();
            wanted.is_none_or(|wanted| super::pattern::matches(wanted, name))
        };
        let files = places.flat_map(|place| {
            let directory = crate::lookup::absolute(&self.state.directory, place);
            let names = self.names_in(&directory).into_iter().filter(fits);
            names.map(move |name| format!("{}/{name}", directory.trim_end_matches('/')))
        });
        first_items(&files.collect::<Vec<_>>())
    }

    fn container(&mut self, name: &str, arguments: &[String]) -> Option<Outcome> {
        let valued: &[&str] = &[
            "env",
            "volume",
            "workdir",
            "user",
            "name",
            "network",
            "entrypoint",
            "env-file",
            "publish",
            "label",
            "mount",
            "platform",
            "memory",
            "cpus",
            "hostname",
            "add-host",
            "file",
            "project-name",
            "profile",
            "context",
            "namespace",
            "container",
            "pull",
            "restart",
            "link",
            "device",
            "cap-add",
            "security-opt",
            "index",
        ];
        let letters = "evwupfnclhm";
        let mut rest = skip_options(arguments, "fpcHn", valued);
        let mut verb = rest.first().map_or("", String::as_str);
        if verb == "compose" || verb == "container" {
            rest = skip_options(rest.get(1..).unwrap_or_default(), "fp", valued);
            verb = rest.first().map_or("", String::as_str);
        }
        if !matches!(verb, "run" | "exec" | "debug") {
            return if verb == "build"
                || (verb == "buildx" && rest.iter().any(|word| word == "build"))
            {
                self.image_build(arguments)
            } else {
                None
            };
        }
        let inner = skip_options(rest.get(1..).unwrap_or_default(), letters, valued);
        let entry = option_value(rest, &["--entrypoint"]);
        // The first word is the image or the container; kubectl marks the command with `--`.
        let mut command: Vec<String> = match inner.iter().position(|word| word == "--") {
            Some(at) => inner.iter().skip(at.saturating_add(1)).cloned().collect(),
            // `podman exec -l program`: the latest container is not named.
            None if name == "podman"
                && rest.iter().any(|word| word == "-l" || word == "--latest") =>
            {
                let words = rest.iter().skip(1);
                words
                    .filter(|word| !word.starts_with('-'))
                    .cloned()
                    .collect()
            }
            None => inner.iter().skip(1).cloned().collect(),
        };
        // `docker run alpine/git push`: images that are named like the program that they start.
        let image = option_value(rest, &["--image"]).or_else(|| inner.first().cloned());
        if let Some(image) = image.filter(|_| verb == "run" && entry.is_none()) {
            let image = image.split(['@', ':']).next().unwrap_or_default();
            let program = super::run::program_name(image);
            if self.catalog.is_program(&program) {
                let mut words = vec![program];
                words.extend(command.iter().cloned());
                self.linked(format!("{name} run {image}"), |this| this.run(&words));
            }
        }
        if let Some(entry) = entry {
            command.splice(0..0, entry.split_whitespace().map(str::to_owned));
        }
        if command.is_empty() {
            return Some(Outcome::unknown());
        }
        let mut state = self.state.child();
        std::rc::Rc::make_mut(&mut state.functions).clear();
        let outcome = self.apart(state, |this| {
            this.linked(format!("{name} {verb}"), |this| this.run(&command))
        });
        // Files in there are not ours; what is printed there stays unknown.
        let prints = matches!(command.first().map(String::as_str), Some("echo" | "printf"));
        Some(if prints { outcome } else { Outcome::unknown() })
    }

    /// `docker build` runs the steps of a Dockerfile.
    fn image_build(&mut self, arguments: &[String]) -> Option<Outcome> {
        let file =
            option_value(arguments, &["-f", "--file"]).unwrap_or_else(|| "Dockerfile".to_owned());
        let text = if arguments.iter().any(|word| word == "-") {
            self.state.input.clone()?.first().to_owned()
        } else {
            self.known_file(&file)?
        };
        let text = text.replace("\\\n", " ");
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let Some(step) = line.trim_start().strip_prefix("RUN ") else {
                continue;
            };
            if let Some(mark) = step.trim().strip_prefix("<<") {
                let mark = mark.trim_matches(['-', '"', '\'']).to_owned();
                let body: Vec<&str> = lines
                    .by_ref()
                    .take_while(|line| line.trim() != mark)
                    .collect();
                self.in_shell("docker build", &body.join("\n"));
            } else if let Ok(words) = serde_json::from_str::<Vec<String>>(step.trim()) {
                self.linked("docker build", |this| this.run(&words));
            } else {
                self.in_shell("docker build", step);
            }
        }
        Some(Outcome::unknown())
    }
}

/// `-c text` and `-qctext`: the value of a letter in a cluster.
pub(crate) fn letter_value(arguments: &[String], letter: char) -> Option<String> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            return None;
        }
        let Some(flags) = word
            .strip_prefix('-')
            .filter(|flags| !flags.starts_with('-'))
        else {
            continue;
        };
        if let Some((before, rest)) = flags.split_once(letter)
            && before.chars().all(char::is_alphanumeric)
        {
            return if rest.is_empty() {
                words.next().cloned()
            } else {
                Some(rest.to_owned())
            };
        }
    }
    None
}

pub(crate) fn lines(text: &str) -> Vec<String> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The items that are followed one by one, and an unknown one for the rest: what it does is judged as well.
pub(crate) fn first_items(items: &[String]) -> Vec<String> {
    let rest = (items.len() > MAX_ITEMS).then(|| HOLE.to_string());
    items.iter().take(MAX_ITEMS).cloned().chain(rest).collect()
}
