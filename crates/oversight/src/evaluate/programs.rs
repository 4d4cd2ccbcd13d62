//! Programs that are neither shells nor launchers with a grammar: those that run code which is not read are opaque,
//! those that only handle data are left alone, and for all others the words that they are given are looked at.

use crate::execution::within;
use crate::guard::agents::is_agent;
use crate::value::has_hole;
use crate::words::names;

use super::run::program_name;
use super::world::File;
use super::wrapper::{option_value, skip_options};
use super::{Evaluator, Outcome, scripts, shells, wrapper};

/// Programs that only read, print, search or move their words: none of them is started.
const DATA: &[&str] = names!(
    "apropos basename chgrp chmod chown column comm cp cut date df diff dirname du egrep expr fgrep file fmt \
    fold grep head help hexdump info install jq kill killall less ln logger ls man mkdir more mv nano nl od open paste \
    pgrep pkill print printenv ps pwd readlink realpath rev rg rm rmdir seq sleep sort split stat strings tac tail tee \
    tldr touch tr tree uniq wc whatis whereis whoami yes yq curl wget pip pip3 brew dnf apk apt apt-get yum pacman \
    choco winget scoop say notify-send hg svn ag ack bat batcat glow roleos twine hatch flit wrangler gh-pages cowsay \
    figlet toilet espeak wall banner lolcat claude codex aider gemini llm opencode cursor-agent goose amp mail pbcopy \
    xclip gpg base64 md5sum sha256sum zip unzip gunzip gzip mktemp cmp sdiff colordiff difft meld cksum b2sum sha1sum \
    sha512sum shasum dos2unix unix2dos shellcheck shfmt black ruff isort flake8 pylint mypy pyright yapf autopep8 \
    bandit codespell typos cspell vale markdownlint hadolint actionlint yamllint prettier eslint biome code subl cloc \
    tokei scc bashate checkbashisms ctags etags semgrep codesign xdg-open pandoc aws gsutil rclone s3cmd scp tar rsync \
    bc xxd cat echo redis-cli mosquitto_pub helm gcloud pytest tsc id uname hostname env free uptime top htop lsof \
    ping dig nslookup host ip ifconfig netstat ss nc openssl ssh-keygen jobs lsb_release sw_vers defaults diskutil"
);

/// Programs that run code of another language: what that code starts is not read.
const INTERPRETERS: &[&str] = names!(
    "python node perl ruby php lua luajit tclsh wish expect julia r rscript elixir iex erl escript scala groovy clojure \
    clj bb raku rakudo ghc runghc runhaskell ghci swift kotlin java jshell osascript pwsh powershell cmd nu xonsh elvish guile \
    racket sbcl clisp ocaml nim crystal ts-node tsx esno deno zx coffee m4 dc gnuplot octave matlab ipython jupyter \
    nodejs swipl tcc rust-script mutt emacs gdb lldb pry irb janet fennel vlang v dart ed ftp lftp nmap stap bpftrace poop"
);

/// Programs that run the recipes, tasks or hooks of the project.
const RUNNERS: &[&str] = names!(
    "make bmake pmake just task rake ninja samu ant mvn gradle bazel buck2 sbt lein mill tox nox invoke inv doit poe \
    foreman honcho overmind hivemind goreman grunt gulp snakemake dagger earthly turbo nx lerna gitlab-ci-local act \
    pre-commit lefthook husky husky-run overcommit cmake scons waf cap fab concurrently npm-run-all run-parts mispipe pee \
    nodemon watchexec chokidar watchman-make ansible ansible-playbook ansible-console thor mage scala-cli amm \
    run-s run-p wireit pueue entr jest vitest supervisord woodpecker-cli logrotate puppet packer meson coverage kernprof \
    py-spy socat fzf mix nix-shell toolbox pkgx rebar3 drone buildkite-agent ctest flatpak"
);

/// Those of them whose words are texts for a shell.
const TEXTS: &[&str] =
    names!("concurrently nodemon npm-run-all chokidar watchexec watchman-make mispipe pee");

/// Programs that start a program of a package, and the words by which they do.
const PACKAGES: &[(&str, &str)] = &[
    ("npx", ""),
    ("bunx", ""),
    ("pnpx", ""),
    ("uvx", ""),
    ("pipx", "run"),
    ("npm", "exec x"),
    ("pnpm", "exec dlx"),
    ("yarn", "exec dlx"),
    ("bun", "x exec"),
];

/// Options of theirs, and of environments, that take the next word.
const PACKAGE_OPTIONS: &[&str] = names!(
    "package with with-requirements python from spec name prefix workspace filter env project directory index registry \
    environment profile config dir file account env-file extra group only-group refresh-package"
);

/// Commands of programs that run what the project says; the rest of what these programs do is their own.
const RUNNING: &[(&[&str], &[&str])] = &[
    (
        names!("npm pnpm yarn bun"),
        names!(
            "run run-script rum urn test t tst start stop restart exec x dlx create explore workspace workspaces foreach node it install-test"
        ),
    ),
    (names!("cargo"), names!("run r watch make xtask")),
    (names!("go"), names!("run generate tool")),
    (
        names!("dotnet swift zig stack cabal flutter crystal"),
        names!("run watch exec script fsi"),
    ),
    (names!("composer"), names!("run run-script exec")),
    (names!("mix"), names!("run do")),
    (names!("pipx"), names!("run")),
    (
        names!("terraform tofu pulumi"),
        names!("apply destroy up plan"),
    ),
    (names!("php"), names!("artisan")),
    (names!("minikube vagrant"), names!("ssh")),
    (
        names!("fly flyctl heroku railway"),
        names!("ssh run console"),
    ),
];

/// Words of package managers that are commands of theirs; any other is a script of the project.
const OF_MANAGERS: &[&str] = names!(
    "access add adduser approve-builds audit bin bugs cache ci completion config constraints dedupe deploy deprecate \
    diff dist-tag docs doctor edit env exec explain fetch find-dupes fund generate-lock-entry get global help hook i \
    import in info init install install-test ins inst isntall licenses link list ll ln login logout ls npm org outdated \
    owner pack patch ping pkg plugin pm prefix prune publish query rebuild recursive remove repo rm root s search \
    self-update set setup shrinkwrap stage star store team token un uninstall unlink unplug unpublish up update upgrade \
    v version versions view why whoami multi m upgrade-interactive pub sbom se la autoclean policies dedupe-mode"
);

/// Tools that run code of the project as a side matter, in files that the command may have written.
const BUILDERS: &[&str] = names!("pytest pip pip3 cargo go dotnet gem npm pnpm yarn bun swift zig");

/// Commands of cargo itself; any other is an alias or another program.
const OF_CARGO: &[&str] = names!(
    "add b bench build c check clean clippy config d doc fetch fix fmt generate-lockfile help info init install locate-project \
    login logout metadata new owner package pkgid publish remove report rm rustc rustdoc search t test tree uninstall \
    update vendor verify-project version yank nextest deny audit outdated expand machete llvm-cov insta hack tarpaulin \
    --version --help --list -V -h udeps bloat semver-checks mutants"
);

/// Programs that start the words behind one of these words, in an environment of theirs.
const ENVIRONMENTS: &[(&[&str], &[&str])] = &[
    (
        names!("uv poetry pdm rye pipenv pixi hatch conda mamba micromamba"),
        names!("run tool x"),
    ),
    (
        names!("mise rtx asdf direnv fnm nvm volta pyenv rbenv nodenv"),
        names!("exec x run which-exec"),
    ),
    (names!("bundle"), names!("exec")),
    (
        names!("op doppler infisical teller dotenvx sops chamber aws-vault vault envchain"),
        names!("run exec exec-env"),
    ),
    (
        names!("nix nix-shell devbox flox guix devenv"),
        names!("run shell develop --run --command -c activate"),
    ),
    (names!("brew"), names!("exec")),
    (names!("firebase"), names!("emulators:exec")),
];

/// Tools that people run in such environments, and that run code of the project only as a side matter.
const ORDINARY: &[&str] = names!(
    "pytest mkdocs sphinx-build uvicorn gunicorn alembic django-admin rspec rubocop standardrb tsc \
    eslint prettier ruff black mypy flake8 pylint isort pyright bandit pip venv json.tool http.server py_compile \
    compileall build ensurepip site sysconfig zipfile tarfile twine"
);

/// Programs with a language in which a sign starts a command.
pub(crate) const FILTERS: &[&str] = names!("awk sed vim psql mysql mariadb sqlite3");

/// Options by which a program that handles data starts another.
const STARTING_OPTIONS: &[(&str, &[&str])] = &[
    (
        "tar",
        names!(
            "--to-command --checkpoint-action --use-compress-program --info-script --new-volume-script --rmt-command --rsh-command -I -F"
        ),
    ),
    ("rsync", names!("-e --rsh --rsync-path")),
    ("zip", names!("-TT --unzip-command")),
    ("rg", names!("--pre --hostname-bin")),
    ("sort", names!("--compress-program")),
    ("split", names!("--filter")),
    ("scp", names!("-S -D -o")),
    ("install", names!("--strip-program")),
    ("man", names!("-P --pager -H --html")),
    ("nano", names!("-s --speller")),
    ("nc", names!("-e -c")),
    ("go", names!("-toolexec -exec -vettool")),
    ("ag", names!("--pager")),
    ("ack", names!("--pager")),
    ("bat", names!("--pager")),
    ("wget", names!("--use-askpass")),
    ("hg", names!("--config")),
    (
        "svn",
        names!("--diff-cmd --diff3-cmd --editor-cmd --config-option"),
    ),
    ("npm", names!("--script-shell --editor --viewer")),
    ("pnpm", names!("--script-shell")),
    ("apt", names!("-o")),
    ("apt-get", names!("-o")),
    ("gcloud", names!("--command --")),
    ("aws", names!("--command --parameters")),
    ("gcc", names!("-wrapper")),
    ("g++", names!("-wrapper")),
    ("mail", names!("-s")),
    ("less", names!("+")),
    ("cargo", names!("--config")),
    ("curl", names!("-K --config")),
];

/// Options that carry text for people or a name to look for.
const CARRY_TEXT: &[&str] = names!(
    "-m -t -k -g --message --title --body --description --grep --filter --name --text --comment --note --reason \
    --prompt --query --pattern --testNamePattern --test-name-pattern --subject --label --notes --append-notes --summary \
    --build-arg -run -skip -bench"
);

/// Whether a program runs code of another language.
pub(crate) fn is_interpreter(name: &str) -> bool {
    INTERPRETERS.contains(&name)
}

/// `pnpm -w publish`: a switch of pnpm before its command, where npm takes a value.
pub(crate) fn without_switch(name: &str, arguments: &[String]) -> Vec<String> {
    let mut words = arguments.to_vec();
    let own = words
        .iter()
        .take_while(|word| word.starts_with('-'))
        .count();
    let at = words
        .iter()
        .position(|word| word == "-w")
        .filter(|at| name == "pnpm" && *at < own);
    if let Some(at) = at {
        words.remove(at);
    }
    words
}

/// Whether a call only shows what the program is.
fn only_shows(arguments: &[String]) -> bool {
    let shows = names!("--version -V -version --help -h --list -l -v version --tasks -T --summary");
    !arguments.is_empty() && arguments.iter().all(|word| shows.contains(&word.as_str()))
}

impl Evaluator<'_> {
    /// A program without a line in the table of handlers.
    pub(crate) fn other_program(&mut self, name: &str, arguments: &[String]) -> Outcome {
        let verbs = git_program(name);
        if let Some(verb) = verbs {
            let words = [&["git".to_owned(), verb.to_owned()], arguments].concat();
            return self.run(&words);
        }
        if only_shows(arguments) {
            return Outcome::unknown();
        }
        if is_interpreter(name) {
            self.interpreted(name, arguments);
            return Outcome::unknown();
        }
        if RUNNERS.contains(&name) {
            self.opaque(
                "it runs recipes, scripts or tasks that are not read",
                &format!("{name} {}", arguments.join(" ")),
            );
            for word in arguments
                .iter()
                .filter(|word| TEXTS.contains(&name) && word.contains(' '))
            {
                self.in_shell(name, word);
            }
            self.handed_on(name, arguments);
            return Outcome::unknown();
        }
        if self.package_program(name, arguments) {
            return Outcome::unknown();
        }
        if let Some((_, words)) = ENVIRONMENTS.iter().find(|(names, _)| names.contains(&name)) {
            self.environment(name, words, arguments);
            return Outcome::unknown();
        }
        self.project_commands(name, arguments);
        if BUILDERS.contains(&name) {
            let mut texts = self.world.written.values().flatten();
            if texts.any(|text| self.acts_in(text)) {
                self.opaque(
                    "it may run a file that the command wrote",
                    &format!("{name} {}", arguments.join(" ")),
                );
            }
        }
        let starts = STARTING_OPTIONS
            .iter()
            .find(|(program, _)| *program == name);
        let by_option = |option: &&str| {
            let letter = option.chars().nth(1).filter(|_| option.len() == 2);
            let is_it = |word: &String| {
                word.starts_with(*option)
                    || letter.is_some_and(|letter| {
                        word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
                    })
                    || (option.starts_with("--")
                        && word.len() > 7
                        && option.starts_with(word.split('=').next().unwrap_or_default()))
            };
            arguments.iter().any(is_it)
        };
        let is_started =
            starts.is_some_and(|(_, options)| options.iter().any(|option| by_option(option)));
        if is_started && arguments.iter().any(|word| has_hole(word)) {
            self.opaque(
                "an option may name a program to start",
                &format!("{name} {}", arguments.join(" ")),
            );
        }
        if is_started || !DATA.contains(&name) {
            self.handed_on(name, arguments);
        }
        Outcome::unknown()
    }

    /// `npx program words`: the program is known by its name alone.
    fn package_program(&mut self, name: &str, arguments: &[String]) -> bool {
        let Some((_, verbs)) = PACKAGES.iter().find(|(program, _)| *program == name) else {
            return false;
        };
        let mut words = skip_options(arguments, "", PACKAGE_OPTIONS);
        if !verbs.is_empty() {
            let Some((verb, rest)) = words.split_first() else {
                return false;
            };
            if !verbs.split(' ').any(|known| known == verb) {
                return false;
            }
            words = rest;
        }
        if let Some(text) = option_value(arguments, &["--call", "-c"]) {
            self.in_shell(name, &text);
        }
        let words = skip_options(words, "pw", PACKAGE_OPTIONS);
        if let Some(text) = words.first().filter(|word| word.contains(' ')) {
            // `yarn exec 'git push'`
            self.in_shell(name, text);
        } else if let Some((program, rest)) = words.split_first() {
            // `gh-pages@latest`, `@scope/name@1`.
            let plain = program.trim_start_matches('@');
            let plain = plain.split_once('@').map_or(plain, |(plain, _)| plain);
            // `npm exec claude -- --version`: npm takes the mark for itself.
            let rest = match rest.split_first() {
                Some((mark, after)) if mark == "--" && name == "npm" => after,
                _ => rest,
            };
            let words = [&[crate::lookup::base_name(plain).to_owned()], rest].concat();
            self.linked(name, |this| this.run(&words));
        }
        self.opaque(
            "it runs a program of a package, which is not read",
            &format!("{name} {}", arguments.join(" ")),
        );
        self.handed_on(name, arguments);
        true
    }

    /// Scripts that installing, packing and publishing run: an act that is written in them counts.
    fn lifecycle(&mut self, name: &str) {
        let manifest: Option<serde_json::Value> =
            serde_json::from_str(&self.content("package.json")).ok();
        let scripts = manifest
            .as_ref()
            .and_then(|manifest| manifest.get("scripts")?.as_object());
        let runs = |key: &str| {
            key.starts_with("pre")
                || key.starts_with("post")
                || matches!(key, "install" | "version")
        };
        for (key, text) in scripts.into_iter().flatten().filter(|(key, _)| runs(key)) {
            let text = text.as_str().unwrap_or_default();
            if self.acts_in(text) {
                self.opaque(
                    "a script of the package runs on the way",
                    &format!("{name}: {key}: {text}"),
                );
            }
        }
    }

    /// Commands of package managers and build tools that run what the project says.
    fn project_commands(&mut self, name: &str, arguments: &[String]) {
        let plain: Vec<&String> = arguments
            .iter()
            .filter(|word| !word.starts_with('-'))
            .collect();
        let verb = plain.first().map_or("", |word| word.as_str());
        let runs = RUNNING.iter().any(|(names, verbs)| {
            names.contains(&name) && plain.iter().any(|word| verbs.contains(&word.as_str()))
        });
        let is_script = match name {
            "yarn" if matches!(verb, "deploy" | "pub") => true,
            "yarn" | "pnpm" | "bun" => !verb.is_empty() && !OF_MANAGERS.contains(&verb),
            "cargo" => !verb.is_empty() && !OF_CARGO.contains(&verb) && !verb.starts_with('+'),
            _ => false,
        };
        if matches!(name, "npm" | "pnpm" | "yarn" | "bun") {
            self.lifecycle(name);
            if let Some(at) = arguments
                .iter()
                .position(|word| self.catalog.is_program(word) || is_agent(word))
                .filter(|_| is_script)
            {
                let words = arguments.get(at..).unwrap_or_default();
                self.linked(name, |this| this.run(words));
            }
        }
        if name == "cargo" && is_script && self.cargo_alias(verb, arguments) {
            return;
        }
        if runs || is_script {
            self.opaque(
                "it runs scripts or programs of the project, which are not read",
                &format!("{name} {}", arguments.join(" ")),
            );
            self.handed_on(name, arguments);
        }
    }

    /// Cargo resolves its aliases by itself, so no program of another name is started.
    fn cargo_alias(&mut self, verb: &str, arguments: &[String]) -> bool {
        let config = self.content(".cargo/config.toml");
        let lines = config
            .lines()
            .skip_while(|line| line.trim() != "[alias]")
            .skip(1);
        let mut lines = lines.take_while(|line| !line.starts_with('['));
        let text = lines.find_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim().trim_matches('"') == verb).then(|| value.replace(['"', '[', ']', ','], " "))
        });
        let Some(text) = text.filter(|_| self.world.walking.insert(format!("cargo {verb}"))) else {
            return false;
        };
        let mut words = vec!["cargo".to_owned()];
        words.extend(text.split_whitespace().map(str::to_owned));
        words.extend(
            arguments
                .iter()
                .skip_while(|word| *word != verb)
                .skip(1)
                .cloned(),
        );
        self.linked(format!("cargo alias {verb}"), |this| this.run(&words));
        self.world.walking.remove(&format!("cargo {verb}"));
        true
    }

    /// Code in the words, in a file or on the input.
    fn interpreted(&mut self, name: &str, arguments: &[String]) {
        for word in arguments {
            self.guard_code(word);
        }
        if let Some(input) = self.state.input().cloned() {
            self.guard_code(&input);
        }
        let only_checks: &[&str] = match name {
            "node" => names!("--check -c"),
            "ruby" => names!("-c -wc"),
            "php" => names!("-l -m -i"),
            "java" => names!("-version --version"),
            _ => &[],
        };
        let first = arguments.first().map_or("", String::as_str);
        if only_checks.contains(&first) || (arguments.is_empty() && self.state.input().is_none()) {
            return;
        }
        // `python -m twine`, `node npm-cli.js`: a program by the name of its script.
        if let Some((program, words)) = within(name, arguments)
            && self.catalog.is_program(&program)
        {
            let words = [&[program], words.as_slice()].concat();
            self.linked(name, |this| this.run(&words));
        }
        let module = arguments
            .iter()
            .position(|word| word == "-m")
            .filter(|_| name == "python");
        if let Some(words) = module.and_then(|at| arguments.get(at.saturating_add(1)..)) {
            let module = words.first().map_or("", String::as_str);
            let shadowed = !matches!(
                self.file(&format!(
                    "{}.py",
                    module.split('.').next().unwrap_or_default()
                )),
                File::Missing
            );
            if ORDINARY.contains(&module) && module != "unittest" && !shadowed {
                return;
            }
        }
        if matches!(name, "gdb" | "lldb")
            && let Some(at) = arguments
                .iter()
                .position(|word| word == "--args" || word == "--")
        {
            let words = arguments.get(at.saturating_add(1)..).unwrap_or_default();
            self.linked(name, |this| this.run(words));
        }
        self.opaque(
            "code of another language is run, which is not read",
            &format!("{name} {}", arguments.join(" ")),
        );
        self.handed_on(name, arguments);
    }

    /// `poetry run words`, `nix-shell --run text`: the words behind are a command.
    fn environment(&mut self, name: &str, verbs: &[&str], arguments: &[String]) {
        if let Some(text) = option_value(arguments, &["--run"]) {
            self.in_shell(name, &text);
            return;
        }
        if self.state.input().is_some_and(|input| self.acts_in(input)) {
            self.opaque("it may start what it reads", name);
        }
        if name == "direnv"
            && arguments.first().is_some_and(|verb| verb == "allow")
            && self
                .world
                .written
                .keys()
                .any(|path| path.ends_with(".envrc"))
        {
            self.opaque("it runs a file that the command wrote", "direnv allow");
        }
        let at = arguments
            .iter()
            .position(|word| verbs.contains(&word.as_str()) || word == "--");
        let Some(at) = at else {
            self.handed_on(name, arguments);
            return;
        };
        let mut words = arguments.get(at.saturating_add(1)..).unwrap_or_default();
        if let Some(at) = words
            .iter()
            .position(|word| word == "--" || word == "-c" || word == "--command")
        {
            words = words.get(at.saturating_add(1)..).unwrap_or_default();
        } else {
            words = skip_options(words, "npw", PACKAGE_OPTIONS);
            words = words.strip_prefix(&["run".to_owned()]).unwrap_or(words);
            if name == "direnv" {
                words = words.get(1..).unwrap_or_default();
            }
        }
        let Some(program) = words.first() else {
            self.handed_on(name, arguments);
            return;
        };
        match words {
            [text] if text.contains(' ') => self.in_shell(name, text),
            words => self.linked(name, |this| this.run(words)),
        };
        let known = program_name(program);
        let is_known = ORDINARY.contains(&known.as_str())
            || DATA.contains(&known.as_str())
            || self.starts(program)
            || wrapper::is_wrapper(&known);
        if !is_known {
            self.opaque(
                "it may run a script of the project, which is not read",
                &format!("{name} {}", arguments.join(" ")),
            );
        }
        self.handed_on(name, arguments);
    }

    /// Programs with a language of their own, in which only some signs start another program.
    pub(crate) fn filter(&mut self, name: &str, arguments: &[String]) -> Outcome {
        let read = |path: &String| self.content(path);
        let code = match name {
            "awk" => scripts::awk_code(arguments),
            "sed" => scripts::sed_code(arguments, &read),
            "vim" => scripts::editor_code(arguments, self.state.input()),
            _ => scripts::database_code(arguments, self.state.input(), &read),
        };
        if name == "awk" {
            self.guard_code(&code);
        }
        let starts = match name {
            "awk" => scripts::awk_starts(&code),
            "sed" => scripts::sed_starts(&code),
            "vim" => !code.is_empty(),
            _ => scripts::database_starts(&code),
        };
        let computed = code.contains(crate::value::HOLE);
        if starts || computed {
            let text = format!("{name} {}", arguments.join(" "));
            self.opaque("a script in its words can start programs", &text);
            self.handed_on(name, arguments);
        }
        Outcome::unknown()
    }

    /// Whether a word names a program that can start others, or a script of the project.
    fn starts(&self, word: &str) -> bool {
        let name = program_name(word);
        self.catalog.is_program(&name)
            || shells::is_shell(&name)
            || is_interpreter(&name)
            || RUNNERS.contains(&name.as_str())
            || self.is_script(word)
    }

    /// `./x` where that is a script of the project or of this command.
    fn is_script(&self, word: &str) -> bool {
        let is_local = word.contains('/') && !word.contains("://") && word.len() < 256;
        if !is_local || self.world.is_system(word) || word.starts_with("/dev/") {
            return false;
        }
        let path = crate::lookup::absolute(&self.state.directory, word);
        self.world.written.contains_key(&path)
            || match self.file(word) {
                File::Text(text) => text.starts_with("#!"),
                File::Unknown(_) => word.starts_with("./"),
                File::Missing | File::Binary => false,
            }
    }

    /// Whether a file is a script of another language, or no script at all.
    pub(crate) fn is_foreign(&self, path: &str) -> bool {
        match self.file(path) {
            File::Text(text) => {
                shells::first_line_program(&text).is_some_and(|program| !shells::is_shell(&program))
            }
            _ => true,
        }
    }

    /// Whether a text holds a command that acts: a program of the actions with words that may be an act, or a script.
    pub(crate) fn acts_in(&self, text: &str) -> bool {
        let is_sign = |one: char| one.is_whitespace() || "'\"`;|&()!=,:+{}[]<>".contains(one);
        let text = text.replace('\\', "");
        let words: Vec<String> = text
            .split(is_sign)
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        (0..words.len()).any(|at| {
            let Some((program, rest)) = words.get(at..).and_then(<[_]>::split_first) else {
                return false;
            };
            let program = program.trim_start_matches('\\');
            if self.is_script(program) {
                return true;
            }
            let name = program_name(program);
            let answer = self
                .catalog
                .is_program(&name)
                .then(|| self.answer(&name, rest));
            answer.is_some_and(|answer| !answer.actions.is_empty() || answer.unknown.is_some())
        })
    }

    /// Code that a tool runs, out of sight: an act that is written in it counts.
    pub(crate) fn code_outside(&mut self, code: &str) {
        self.guard_code(code);
        if self.acts_in(code) {
            self.outside(|this| {
                this.opaque(
                    "code of another language is run, and it names a gated act",
                    code,
                )
            });
        }
    }

    /// The words of a program that may start them: an act in them is possible, a script or a text that acts is a doubt.
    pub(crate) fn handed_on(&mut self, name: &str, arguments: &[String]) {
        let mut is_text = false;
        for (at, word) in arguments.iter().enumerate() {
            if std::mem::replace(
                &mut is_text,
                CARRY_TEXT.contains(&word.as_str()) && name != "split" && name != "mail",
            ) {
                continue;
            }
            let (head, value) = word.split_once('=').unwrap_or(("", word));
            if CARRY_TEXT.contains(&head) && !(name == "split" && head == "--filter") {
                continue;
            }
            let glued = word
                .get(2..)
                .filter(|_| word.starts_with('-') && !word.starts_with("--") && word.len() > 3);
            let value = glued.unwrap_or(value);
            let known = program_name(value);
            let rest = arguments.get(at..).unwrap_or_default();
            if self.catalog.is_program(&known) && !has_hole(value) {
                let words: Vec<String> = std::iter::once(known.clone())
                    .chain(rest.iter().skip(1).cloned())
                    .collect();
                self.perhaps(|this| this.linked(name, |this| this.run(&words)));
            }
            let may_start = self.is_script(value) || self.acts_in(value);
            let is_launcher = shells::is_shell(&known)
                || is_interpreter(&known)
                || (wrapper::is_wrapper(&known) && known != "-" && at > 0);
            if is_launcher {
                self.perhaps(|this| this.run(rest));
            }
            let runs_code = shells::is_shell(&known) || is_interpreter(&known);
            if may_start || runs_code && rest.len() > 1 {
                self.opaque(
                    "it may start what it is given",
                    &format!("{name} {}", arguments.join(" ")),
                );
            }
        }
        let input = self.state.input().cloned();
        if input.is_some_and(|input| self.acts_in(&input)) {
            self.opaque("it may start what it reads", name);
        }
    }
}

/// `/usr/lib/git-core/git-push`, `git-lfs push`: each command of git is a program as well.
fn git_program(name: &str) -> Option<&str> {
    let verb = name.strip_prefix("git-");
    verb.filter(|verb| crate::actions::is_git_builtin(verb))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_of_pnpm_are_taken_away() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            without_switch("pnpm", &words("-w publish")),
            words("publish")
        );
        assert_eq!(
            without_switch("npm", &words("-w a publish")),
            words("-w a publish")
        );
        assert!(only_shows(&words("--version")));
        assert!(!only_shows(&words("--version x")));
        assert_eq!(git_program("git-push"), Some("push"));
    }
}
