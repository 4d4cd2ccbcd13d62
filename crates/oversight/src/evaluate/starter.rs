//! Words and texts that may start something: what an unknown program, an option or a setting is handed.
//!
//! The question is asked before a text is walked as a command, so that ordinary words are left alone.

use base64::Engine as _;

use crate::words::names;

use super::Evaluator;
use super::files::File;
use super::run::program_name;

/// Programs that only read, print or search their words: none of them is started.
const HARMLESS: &[&str] = names!(
    "apropos awk basename cat chgrp chmod chown column comm cp cut date df diff dirname du echo egrep emacs \
    expr false fgrep file fmt fold grep head help hexdump info install jq kill killall less ln logger ls man \
    mkdir more mv nano nl od open paste pgrep pkill print printenv printf ps pwd readlink realpath rev rg rm rmdir \
    sed seq sleep sort split stat strings tac tail tee test tldr touch tr tree true type uniq wc whatis \
    whereis which whoami yes yq gh git npm pnpm yarn bun curl wget pip pip3 brew dnf apk \
    uv poetry say notify-send osascript hg svn python node perl ruby php vim complete compgen \
    ag ack fd bat glow roleos twine hatch flit wrangler gh-pages cowsay figlet toilet espeak wall banner \
    lolcat claude codex aider gemini llm opencode cursor-agent goose amp mail pbcopy xclip gpg base64 md5sum sha256sum \
    zip unzip gunzip gzip mktemp cmp sdiff colordiff difft meld cksum b2sum sha1sum sha512sum shasum dos2unix unix2dos \
    shellcheck shfmt black ruff isort flake8 pylint mypy pyright yapf autopep8 bandit codespell typos cspell vale \
    markdownlint hadolint actionlint yamllint prettier eslint biome code subl cloc tokei scc bashate checkbashisms \
    yum pacman choco winget scoop ctags etags semgrep codesign xdg-open pandoc aws gsutil rclone s3cmd scp tar"
);

/// Programs that run what a file, a recipe or their words say, beside shells and the programs of the actions.
const STARTERS: &[&str] = names!(
    "make gmake bmake just task go-task rake ninja npx bunx uvx pipx xargs find parallel docker podman \
    tox nox invoke inv cargo go mise pdm python node perl ruby php lua deno tsx env sudo doas nohup timeout nice setsid \
    time exec eval source ."
);

/// Options that carry text for people or a name to look for.
const CARRY_TEXT: &[&str] = names!(
    "-m -t -k --message --title --body --description --grep --filter --name --text --comment --note \
    --reason --prompt --query --pattern --testNamePattern --test-name-pattern --subject --label --notes --summary"
);

/// The same for single programs, mostly tests that are picked by their names.
const CARRY_TEXT_OF: &[(&str, &[&str])] = &[
    ("docker", &["--build-arg", "--label"]),
    ("podman", &["--build-arg", "--label"]),
    ("rspec", &["-e", "--example"]),
    ("playwright", &["-g"]),
    ("mocha", &["-g", "-f"]),
    ("ava", &["--match"]),
    ("go", &["-run", "-skip", "-bench"]),
    ("ctest", &["-R", "-E"]),
    ("busted", &["--filter-out"]),
    ("behave", &["-n"]),
    ("cucumber", &["-n"]),
];

/// Commands of programs whose words are data: they are shown, compared or stored, and none of them is started here.
const ONLY_DATA: &[(&str, &[&str])] = &[
    (
        "kubectl",
        names!("get describe logs annotate label explain top config diff version api-resources"),
    ),
    (
        "helm",
        names!("get list lint history search show status template"),
    ),
    ("terraform", names!("fmt output plan show validate version")),
    ("tofu", names!("fmt output plan show validate version")),
    ("redis-cli", &["*"]),
    ("mosquitto_pub", &["*"]),
    ("gcloud", &["pubsub"]),
];

/// Settings that a program gives to a shell as they stand.
const GIVEN_TO_A_SHELL: &[&str] = &[
    "EDITOR",
    "VISUAL",
    "PAGER",
    "BROWSER",
    "GIT_EXTERNAL_DIFF",
    "GIT_SSH_COMMAND",
];

/// More words than this are not looked at in one text.
const MAX_WORDS: usize = 48;

/// Whether a program only reads, prints or searches its words.
pub(crate) fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name)
}

/// Whether the word after this option is text that nobody runs.
pub(crate) fn carries_text(name: &str, option: &str) -> bool {
    CARRY_TEXT.contains(&option)
        || CARRY_TEXT_OF
            .iter()
            .any(|(program, options)| *program == name && options.contains(&option))
}

/// Whether a program takes its words as data.
pub(crate) fn takes_data(name: &str, arguments: &[String]) -> bool {
    if matches!(name, "psql" | "mysql" | "mariadb") {
        // What a client starts is behind a backslash or its own word; a server starts what `PROGRAM` names.
        let starts = |word: &String| {
            let word = word.to_lowercase();
            word.contains(['\\', '!']) || word.contains("program") || word.contains("system")
        };
        return !arguments.iter().any(starts);
    }
    if name == "find" {
        // What it executes has been followed.
        return true;
    }
    let verb = arguments.first().map_or("", String::as_str);
    ONLY_DATA
        .iter()
        .any(|(program, verbs)| *program == name && (verbs == &["*"] || verbs.contains(&verb)))
}

fn is_starter(name: &str) -> bool {
    super::shells::is_shell(name) || STARTERS.contains(&name)
}

impl Evaluator<'_> {
    /// Whether a word names a program that can start others, or a script by its path.
    pub(crate) fn starts(&mut self, word: &str) -> bool {
        let name = program_name(word);
        // `dist/*` names files; a pattern with letters of a program may name that.
        if name.contains('*') && !name.contains(|one: char| one.is_ascii_alphabetic()) {
            return false;
        }
        self.catalog.is_program(&name) || is_starter(&name) || self.is_script(word)
    }

    /// Whether a text may hold a command that matters.
    pub(crate) fn starts_in(&mut self, text: &str) -> bool {
        if self.catalog.mentions(text) {
            return true;
        }
        let parts = text.split(|one: char| {
            one.is_whitespace()
                || matches!(
                    one,
                    '\'' | '"' | ';' | '|' | '&' | '(' | ')' | '!' | '=' | ','
                )
        });
        let words: Vec<&str> = parts
            .filter(|word| !word.is_empty())
            .take(MAX_WORDS)
            .collect();
        words.into_iter().any(|word| self.starts(word))
    }

    /// `./x` where that is a script of the project or of this command.
    fn is_script(&mut self, word: &str) -> bool {
        let local = word.contains('/')
            && word.len() < 256
            && !super::files::is_system(word)
            && !word.contains("://")
            && !word.starts_with("/dev/");
        if !local {
            return false;
        }
        let path = crate::lookup::absolute(&self.state.directory, word);
        self.links.contains_key(&path)
            || matches!(self.file(word), File::Text(text) if text.first().starts_with("#!") || self.written.contains_key(&path))
    }

    /// Launchers that are seldom met.
    pub(crate) fn launched_rarely(
        &mut self,
        name: &str,
        arguments: &[String],
    ) -> Option<super::Outcome> {
        let own = name
            .strip_prefix("git-")
            .filter(|verb| crate::actions::is_git_builtin(verb));
        if let Some(verb) = own {
            // `/usr/lib/git-core/git-push`, `git-lfs push`: each command of git is a program as well.
            let mut words = vec!["git".to_owned(), verb.to_owned()];
            words.extend(arguments.iter().cloned());
            return Some(self.run(&words));
        }
        Some(match name {
            "flatpak" => {
                // `flatpak run --command=program application words`.
                let program = super::wrapper::option_value(arguments, &["--command"])?;
                let own = arguments.iter().enumerate();
                let mut own = own.filter(|(_, word)| !word.starts_with('-') && **word != program);
                let (at, _) = own.nth(1)?;
                let after = arguments.iter().skip(at.saturating_add(1)).cloned();
                let words: Vec<String> = std::iter::once(program.clone()).chain(after).collect();
                self.linked("flatpak run", |this| this.run(&words))
            }
            "brew" => {
                let words = match arguments {
                    [bundle, exec, words @ ..] if bundle == "bundle" && exec == "exec" => words,
                    _ => return None,
                };
                let words = super::wrapper::skip_options(words, "", &["file"]);
                self.linked("brew bundle exec", |this| this.run(words))
            }
            "rush" => {
                self.unknown_launcher(name, arguments);
                self.parallel(arguments)
            }
            "pwsh" | "powershell" => {
                self.powershell(name, arguments);
                return None;
            }
            "systemctl" => {
                self.units(arguments);
                return None;
            }
            "cmake" if arguments.first().is_some_and(|word| word == "--build") => {
                let place = arguments.get(1)?.clone();
                let target = super::wrapper::option_value(arguments, &["--target", "-t"]);
                let mut words = vec!["make".to_owned(), "-C".to_owned(), place];
                words.extend(target);
                self.linked("cmake --build", |this| this.run(&words));
                return None;
            }
            "mvn" => {
                let value = |key: &str| arguments.iter().find_map(|word| word.strip_prefix(key));
                let program = value("-Dexec.executable=")?;
                let text = format!("{program} {}", value("-Dexec.args=").unwrap_or_default());
                self.in_shell(name, &text)
            }
            "zargs" => {
                // `zargs -- items -- command`.
                let mut parts = arguments.split(|word| word == "--").skip(1);
                let (items, command) = (parts.next()?, parts.next()?);
                let words = [command, items].concat();
                self.linked(name, |this| this.run(&words))
            }
            "qsub" | "sbatch" | "bsub" => {
                let scripts = arguments.iter().filter(|word| !word.starts_with('-'));
                for script in scripts.cloned().collect::<Vec<_>>() {
                    if self.known_file(&script).is_some() {
                        self.script_file(&script, &[], "run");
                    }
                }
                self.session_input(name);
                return None;
            }
            _ => return None,
        })
    }

    /// Text in another encoding, and text from the input; the words are looked at like those of any program.
    fn powershell(&mut self, name: &str, arguments: &[String]) {
        if let Some(input) = self.state.input.clone() {
            self.unknown_text(name, input.first());
        }
        for pair in arguments.windows(2) {
            let [option, text] = pair else { continue };
            let option = option.to_ascii_lowercase();
            let encoded = option == "-ec" || "-encodedcommand".starts_with(&option);
            if option.len() < 2 || !encoded {
                continue;
            }
            let bytes = base64::engine::general_purpose::STANDARD.decode(text);
            let bytes = bytes.unwrap_or_default();
            let units = bytes.chunks_exact(2).filter_map(|pair| match pair {
                [low, high] => Some(u16::from_le_bytes([*low, *high])),
                _ => None,
            });
            let units: Vec<u16> = units.collect();
            match String::from_utf16(&units) {
                Ok(code) if !code.is_empty() => self.unknown_text(name, &code),
                _ => self.opaque("code in another encoding is run", text),
            }
        }
    }

    /// `systemctl start x`, where the command itself wrote what that is.
    fn units(&mut self, arguments: &[String]) {
        let named = |path: &&String| {
            let unit = crate::lookup::base_name(path);
            let stem = unit.rsplit_once('.').map_or(unit, |(stem, _)| stem);
            let mut words = arguments.iter().map(String::as_str);
            path.contains("/systemd/") && words.any(|word| word == unit || word == stem)
        };
        let texts = self.written.keys().filter(named).cloned();
        for path in texts.collect::<Vec<_>>() {
            let text = self.known_file(&path).unwrap_or_default();
            for line in text.lines().filter(|line| line.starts_with("Exec")) {
                let command = line.split_once('=').map_or("", |(_, command)| command);
                let command = command.trim_start_matches(['-', '@', ':', '+', '!']);
                self.in_shell("systemctl", command);
            }
        }
    }

    /// A library of the project's own that every program loads: its code is not known.
    pub(crate) fn preloaded_library(&mut self, name: &str) {
        let value = self.state.get(name);
        let text = value.map_or_else(String::new, |value| value.first().to_owned());
        let own = |place: &str| {
            !crate::value::has_hole(place)
                && (!place.starts_with('/')
                    || place.starts_with("/tmp/")
                    || place.starts_with(&self.home))
        };
        let mut places = text.split([':', ' ']).filter(|place| place.contains('/'));
        if places.any(own) {
            self.opaque("a library that nobody can know is loaded", &text);
        }
    }

    /// `enable -f library name`: code of a library becomes a builtin.
    pub(crate) fn enabled(&mut self, arguments: &[String]) -> super::Outcome {
        if arguments.iter().any(|word| word.starts_with("-f")) {
            let text = arguments.join(" ");
            self.opaque("a builtin that nobody can know is loaded", &text);
        }
        super::Outcome::quiet(None)
    }

    /// An editor or a pager that is a command with text from elsewhere is as unknown as that text.
    pub(crate) fn fetched_setting(&mut self, name: &str, text: &str) {
        let run = GIVEN_TO_A_SHELL.iter().any(|ending| name.ends_with(ending));
        let composed = text.contains('|') || text.contains("$(") || text.contains('`');
        if run && composed && !crate::value::has_hole(text) {
            self.in_shell(&format!("${name}"), text);
        }
    }
}
