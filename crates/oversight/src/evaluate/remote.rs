//! Launchers whose programs leave the process tree: containers, other machines, running sessions, schedules.
//!
//! Supervision does not see the programs that they start, so a part that is not understood behind them leads to a
//! question.

use shell::value::has_hole;
use shell::words::names;

use super::wrapper::{option_value, skip_options};
use super::{Evaluator, Opaque, Outcome};
use actions::lookup::absolute;

/// Programs that this file handles.
pub(crate) const HANDLED: &[&str] = names!(
    "docker podman nerdctl docker-compose podman-compose kubectl oc incus lxc ssh autossh mosh rsh tmux screen zellij \
    at batch crontab systemd-run machinectl systemctl flatpak-spawn distrobox-host-exec limactl multipass vagrant"
);

/// Programs whose commands have neither the files nor the credentials of the user, unless given.
const CONTAINED: &[&str] = names!("docker podman nerdctl docker-compose podman-compose kubectl oc");

/// Prefixes of a container program's arguments that start a command.
const STARTING: &[&str] = names!("run exec debug shell rsh unshare enter");

/// Options of container programs that take the next argument.
const VALUED: &[&str] = names!(
    "env volume workdir user name network entrypoint env-file publish label mount platform memory cpus hostname \
    add-host file project-name profile context namespace container pull restart link device cap-add security-opt \
    index image log-driver tmpfs ulimit gpus shm-size ipc pid cidfile instance project mode cwd"
);

/// Commands of `tmux` and similar programs that run their arguments.
const TYPED: &[&str] = names!(
    "new-session new new-window neww split-window splitw respawn-pane respawn-window run-shell run if-shell if \
    pipe-pane pipep display-popup popup send-keys send display-message command-prompt stuff -X action write-chars \
    set-hook bind-key bind confirm-before source-file source paste-buffer pasteb"
);

impl Evaluator<'_> {
    pub(crate) fn remote(&mut self, name: &str, arguments: &[String]) -> Outcome {
        if !arguments.iter().any(|word| has_hole(word)) {
            let words = [name.to_owned()].into_iter();
            let words = words.chain(arguments.iter().cloned()).collect();
            self.notes.findings.launch(words);
        }
        match name {
            "ssh" | "autossh" | "mosh" | "rsh" => self.machine(name, arguments),
            "tmux" | "screen" | "zellij" => self.typed(name, arguments),
            "at" | "batch" | "crontab" => self.scheduled(name, arguments),
            "systemd-run" => {
                let long = names!(
                    "property unit uid gid slice setenv working-directory description on-active on-calendar on-boot machine host timer-property"
                );
                self.words_outside(name, skip_options(arguments, "puGEHMt", long))
            }
            "systemctl" => {
                if self
                    .world
                    .written
                    .keys()
                    .any(|path| path.contains("/systemd/"))
                {
                    self.outside(|this| {
                        this.opaque(
                            "a unit that the command wrote is started",
                            &arguments.join(" "),
                        );
                    });
                }
                Outcome::unknown()
            }
            "flatpak-spawn" | "distrobox-host-exec" => {
                self.words_outside(name, skip_options(arguments, "", &[]))
            }
            _ => self.container(name, arguments),
        }
    }

    fn words_outside(&mut self, name: &str, words: &[String]) -> Outcome {
        if words.is_empty() {
            return self.input_outside(name);
        }
        self.outside(|this| this.linked(name, |this| this.run(words)))
    }

    fn text_outside(&mut self, name: &str, text: &str) -> Outcome {
        self.outside(|this| this.in_shell(name, text))
    }

    /// Evaluates a shell that reads its input.
    fn input_outside(&mut self, name: &str) -> Outcome {
        match self.state.input().cloned() {
            Some(input) => self.text_outside(name, &input),
            None => Outcome::unknown(),
        }
    }

    /// Evaluates `ssh options host command`.
    fn machine(&mut self, name: &str, arguments: &[String]) -> Outcome {
        for option in option_values(arguments, &["-o"]) {
            let (key, command) = option.split_once(['=', ' ']).unwrap_or((&option, ""));
            let key = key.to_ascii_lowercase();
            if key == "remotecommand" {
                self.text_outside(name, command);
            } else if key.ends_with("command") && !matches!(key.as_str(), "permitlocalcommand") {
                self.in_shell(name, command);
            }
        }
        let wrote = self
            .world
            .written
            .keys()
            .any(|path| path.contains("/.ssh/"));
        if wrote || arguments.iter().any(|word| word.starts_with("-F")) {
            self.outside(|this| {
                this.opaque(
                    "ssh reads settings that the command names",
                    &arguments.join(" "),
                );
            });
        }
        let rest = skip_options(
            arguments,
            "bcDEeFIiJLlmOopQRSWwB",
            names!("ssh port server bind-server"),
        );
        match rest.get(1..).unwrap_or_default() {
            [] => self.input_outside(name),
            words => {
                let text = words.join(" ");
                self.outside(|this| {
                    let outcome = this.remote_text(name, &text);
                    if super::shells::is_shell(&super::run::program_name(&text)) {
                        this.input_outside(name);
                    }
                    outcome
                })
            }
        }
    }

    /// Evaluates text for another machine, whose files cannot be read: commands that it names count.
    fn remote_text(&mut self, name: &str, text: &str) -> Outcome {
        let known = self.doubts();
        let outcome = self.in_shell(name, text);
        let is_read = self.notes.findings.opaque.get(known..).unwrap_or_default();
        let only_files = is_read.iter().all(|note| {
            note.reason.contains("not there yet") || note.reason.contains("of the project")
        });
        if only_files {
            self.forget_doubts(known);
        }
        outcome
    }

    fn container(&mut self, name: &str, arguments: &[String]) -> Outcome {
        let mut rest = skip_options(arguments, "fpcHn", VALUED);
        let mut verb = rest.first().map_or("", String::as_str);
        if matches!(verb, "compose" | "container" | "ssh") {
            rest = skip_options(rest.get(1..).unwrap_or_default(), "fp", VALUED);
            verb = rest.first().map_or("", String::as_str);
        }
        if name == "vagrant" || name == "multipass" {
            let text = option_value(arguments, &["-c", "--command"]);
            return match text {
                Some(text) => self.text_outside(name, &text),
                None => self.other_program(name, arguments),
            };
        }
        if verb == "build" || (verb == "buildx" && rest.iter().any(|word| word == "build")) {
            return self.image_build(arguments);
        }
        if !STARTING.contains(&verb) {
            return Outcome::unknown();
        }
        let after = rest.get(1..).unwrap_or_default();
        let inner = skip_options(after, "evwupfnclhmaG", VALUED);
        let entry = option_value(after, &["--entrypoint"]);
        // The first argument is the image or the container; kubectl marks the command with `--`.
        let marked = after.iter().position(|word| word == "--");
        let command = match marked {
            Some(at) => after.get(at.saturating_add(1)..).unwrap_or_default(),
            None => inner.get(1..).unwrap_or_default(),
        };
        // `alpine/git push`: an image by the name of its program.
        let image = option_value(after, &["--image"]).or_else(|| inner.first().cloned());
        let image = image
            .map(|image| super::run::program_name(image.split(':').next().unwrap_or_default()));
        let image = image.filter(|image| self.catalog.is_program(image) && entry.is_none());
        let mut words: Vec<String> = entry
            .iter()
            .flat_map(|entry| entry.split(' '))
            .map(str::to_owned)
            .collect();
        words.extend(image.filter(|image| command.first() != Some(image)));
        words.extend(command.iter().cloned());
        if !matches!(verb, "run" | "debug")
            && (verb != "exec" || after.first().is_some_and(|word| word == "-l"))
        {
            self.handed_on(name, after);
        }
        if words.is_empty() {
            return match self.state.input() {
                Some(_) => self.input_outside(name),
                None => Outcome::unknown(),
            };
        }
        let known = self.doubts();
        self.outside(|this| this.linked(format!("{name} {verb}"), |this| this.run(&words)));
        let options = after.len().saturating_sub(command.len());
        if CONTAINED.contains(&name) && !self.gets_credentials(after.get(..options)) {
            self.notes.findings.forget(known, is_recipe);
        }
        Outcome::unknown()
    }

    /// Returns `true` if the options of a container give it credentials of the user by which it could publish.
    fn gets_credentials(&self, options: Option<&[String]>) -> bool {
        const SIGNS: &[&str] = names!(
            "privileged host .ssh .aws .npmrc .pypirc .netrc .git-credentials .config .docker .sock token secret key \
            password auth env-file"
        );
        let options = options.unwrap_or_default();
        let mounts = option_values(options, &["-v", "--volume", "--mount"]);
        let sources = mounts.iter().flat_map(|mount| mount.split([':', ',', '=']));
        let holds_home = |source: &str| {
            let source = absolute(&self.state.directory, source);
            source.starts_with('/')
                && format!("{}/", self.home)
                    .starts_with(&format!("{}/", source.trim_end_matches('/')))
        };
        let mut sources =
            sources.filter(|source| source.starts_with(['/', '.', '~']) || has_hole(source));
        let is_sign = |word: &String| {
            let word = word.to_lowercase();
            SIGNS.iter().any(|sign| word.contains(sign))
        };
        sources.any(|source| source.starts_with('~') || has_hole(source) || holds_home(source))
            || options.iter().any(is_sign)
    }

    /// Evaluates the `RUN` lines of an existing file: acts in them count, the rest belongs to the build.
    fn image_build(&mut self, arguments: &[String]) -> Outcome {
        let named = option_value(arguments, &["-f", "--file"]);
        let place = arguments
            .iter()
            .skip(1)
            .rfind(|word| !word.starts_with('-') || *word == "-");
        let place = place.map_or(".", String::as_str);
        let path = named.unwrap_or_else(|| format!("{place}/Dockerfile"));
        let path = if place == "-" { "-".to_owned() } else { path };
        let text = self
            .content(&path)
            .replace("\\\n", " ")
            .replace("RUN <<EOF\n", "RUN ");
        let lines: Vec<String> = text.lines().map(str::trim).map(str::to_owned).collect();
        for line in lines {
            let Some((head, command)) = line.split_once(' ') else {
                continue;
            };
            if head.eq_ignore_ascii_case("RUN") && !has_hole(command) {
                let command = command.trim_start_matches(['[', '"']);
                let command = command.replace("\", \"", " ").replace("\",\"", " ");
                let command = command.trim_end_matches(['"', ']']).to_owned();
                self.muted(|this| this.text_outside("docker build", &command));
            }
        }
        Outcome::unknown()
    }

    /// Evaluates text that is typed into a session, or that it runs.
    fn typed(&mut self, name: &str, arguments: &[String]) -> Outcome {
        let has_file = |word: &String| {
            matches!(
                word.as_str(),
                "-f" | "-c" | "source-file" | "source" | "paste-buffer" | "pasteb"
            )
        };
        let wrote = self
            .world
            .written
            .keys()
            .any(|path| path.contains("tmux") || path.contains("screenrc"));
        if wrote
            || arguments.iter().any(has_file)
                && !(name == "tmux" && arguments.iter().any(|word| word.starts_with("new")))
            || name == "tmux" && arguments.first().is_some_and(|word| word == "-f")
        {
            self.outside(|this| {
                this.opaque(
                    "a session reads commands that are not read here",
                    &arguments.join(" "),
                );
            });
        }
        let is_new_screen = name == "screen"
            && !arguments
                .iter()
                .any(|word| word == "-ls" || word == "-list");
        let at = arguments
            .iter()
            .position(|word| TYPED.contains(&word.as_str()));
        if at.is_none() && !is_new_screen {
            return Outcome::unknown();
        }
        let after = at.map_or(arguments, |at| {
            arguments.get(at.saturating_add(1)..).unwrap_or_default()
        });
        let letters = if name == "screen" {
            "ceghnpsStTX"
        } else {
            "btcnstFxyhwepIlN"
        };
        let words = skip_options(after, letters, &["session", "cwd"]);
        let keys = names!("Enter C-m C-j KPEnter Space");
        let words: Vec<String> = words
            .iter()
            .filter(|word| !keys.contains(&word.as_str()))
            .cloned()
            .collect();
        let words = match after.last().filter(|_| words.is_empty()) {
            Some(last) if !last.starts_with('-') => vec![last.clone()],
            _ => words,
        };
        if name == "screen" && at.is_none() {
            return self.words_outside(name, &words);
        }
        let mut text = words.join(" ");
        // `#(command)` in a format runs as well.
        if let Some((_, command)) = text.split_once("#(") {
            text = command.trim_end_matches(')').to_owned();
        } else if at
            .and_then(|at| arguments.get(at))
            .is_some_and(|verb| verb.starts_with("display-m"))
        {
            return Outcome::unknown();
        }
        let text = text
            .trim_start_matches("run ")
            .trim_start_matches("run-shell ")
            .trim_matches(['"', '\''])
            .replace("\\n", "\n");
        self.text_outside(name, &text)
    }

    /// Evaluates a command for later: from the input, or from a file.
    fn scheduled(&mut self, name: &str, arguments: &[String]) -> Outcome {
        let has = |letters: &str| {
            arguments.iter().any(|word| {
                word.starts_with('-')
                    && word.len() > 1
                    && word.contains(|one| letters.contains(one))
            })
        };
        if name == "crontab" && has("lre") || name == "at" && has("lrdc") {
            return Outcome::unknown();
        }
        let file = option_value(arguments, &["-f"]);
        let file = file.or_else(|| {
            arguments
                .iter()
                .find(|word| name == "crontab" && !word.starts_with('-'))
                .cloned()
        });
        let text = match file {
            Some(path) => self.content(&path),
            None => self.state.input().cloned().unwrap_or_default(),
        };
        if name != "crontab" {
            return self.text_outside(name, &text);
        }
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let count = if line.starts_with('@') { 1 } else { 5 };
            let command: Vec<&str> = line.split_whitespace().skip(count).collect();
            self.text_outside(name, &command.join(" "));
        }
        if has_hole(&text) {
            self.outside(|this| this.opaque("a schedule is made of text that is computed", &text));
        }
        Outcome::unknown()
    }
}

/// Returns `true` if a doubt is about scripts or recipes that a program runs by their names, and not about code in
/// its arguments or on its input.
fn is_recipe(doubt: &Opaque) -> bool {
    let is_code = |word: &str| {
        let code = ["-c", "-e", "-p", "--eval", "--print"];
        word == "-" || code.iter().any(|code| word.starts_with(code))
    };
    let mut words = doubt.text.split(' ').skip(1);
    let first = words.find(|word| !word.starts_with('-') || is_code(word));
    let names_script = first.is_some_and(|word| !word.starts_with('-'));
    doubt.reason.ends_with("not read") && (names_script || !doubt.reason.starts_with("code"))
}

/// Returns all values of options, in the same argument or the next.
fn option_values(arguments: &[String], options: &[&str]) -> Vec<String> {
    let mut all = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if options.contains(&word.as_str()) {
            all.extend(words.next().cloned());
        } else if let Some(value) = options.iter().find_map(|option| word.strip_prefix(option)) {
            all.push(value.trim_start_matches('=').to_owned());
        }
    }
    all
}
