//! Programs by their use of arguments, for those without a grammar here.

use shell::words::{Names, names};

/// Programs that only read, print, search or move their arguments: none of these is executed.
pub static DATA: Names = Names::new(names!(
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
));

/// Programs that run code of another language: that code is not analysed.
pub static INTERPRETERS: Names = Names::new(names!(
    "python node perl ruby php lua luajit tclsh wish expect julia r rscript elixir iex erl escript scala groovy clojure \
    clj bb raku rakudo ghc runghc runhaskell ghci swift kotlin java jshell osascript pwsh powershell cmd nu xonsh elvish guile \
    racket sbcl clisp ocaml nim crystal ts-node tsx esno deno zx coffee m4 dc gnuplot octave matlab ipython jupyter \
    nodejs swipl tcc rust-script mutt emacs gdb lldb pry irb janet fennel vlang v dart ed ftp lftp nmap stap bpftrace poop"
));

/// Programs that run the recipes, tasks or hooks of the project.
pub static RUNNERS: Names = Names::new(names!(
    "make bmake pmake just task rake ninja samu ant mvn gradle bazel buck2 sbt lein mill tox nox invoke inv doit poe \
    foreman honcho overmind hivemind goreman grunt gulp snakemake dagger earthly turbo nx lerna gitlab-ci-local act \
    pre-commit lefthook husky husky-run overcommit cmake scons waf cap fab concurrently npm-run-all run-parts mispipe pee \
    nodemon watchexec chokidar watchman-make ansible ansible-playbook ansible-console thor mage scala-cli amm \
    run-s run-p wireit pueue entr jest vitest supervisord woodpecker-cli logrotate puppet packer meson coverage kernprof \
    py-spy socat fzf mix nix-shell toolbox pkgx rebar3 drone buildkite-agent ctest flatpak"
));

/// Runners whose arguments are texts for a shell.
pub const TEXTS: &[&str] =
    names!("concurrently nodemon npm-run-all chokidar watchexec watchman-make mispipe pee");

/// Programs that start a program of a package, and the arguments by which they do.
pub const PACKAGES: &[(&str, &str)] = &[
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

/// Their options, and those of environments, that take the next argument.
pub const PACKAGE_OPTIONS: &[&str] = names!(
    "package with with-requirements python from spec name prefix workspace filter env project directory index registry \
    environment profile config dir file account env-file extra group only-group refresh-package"
);

/// Commands of programs that run code of the project; the other commands of these programs do not.
pub const RUNNING: &[(&[&str], &[&str])] = &[
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

/// Commands of package managers; any other word is a script of the project.
pub static OF_MANAGERS: Names = Names::new(names!(
    "access add adduser approve-builds audit bin bugs cache ci completion config constraints dedupe deploy deprecate \
    diff dist-tag docs doctor edit env exec explain fetch find-dupes fund generate-lock-entry get global help hook i \
    import in info init install install-test ins inst isntall licenses link list ll ln login logout ls npm org outdated \
    owner pack patch ping pkg plugin pm prefix prune publish query rebuild recursive remove repo rm root s search \
    self-update set setup shrinkwrap stage star store team token un uninstall unlink unplug unpublish up update upgrade \
    v version versions view why whoami multi m upgrade-interactive pub sbom se la autoclean policies dedupe-mode"
));

/// Tools that run code of the project incidentally, in files that the command may have written.
pub static BUILDERS: Names = Names::new(names!(
    "pytest pip pip3 cargo go dotnet gem npm pnpm yarn bun swift zig"
));

/// Commands of cargo itself; any other is an alias or another program.
pub const OF_CARGO: &[&str] = names!(
    "add b bench build c check clean clippy config d doc fetch fix fmt generate-lockfile help info init install locate-project \
    login logout metadata new owner package pkgid publish remove report rm rustc rustdoc search t test tree uninstall \
    update vendor verify-project version yank nextest deny audit outdated expand machete llvm-cov insta hack tarpaulin \
    --version --help --list -V -h udeps bloat semver-checks mutants"
);

/// Programs that start the arguments behind one of these words, in their own environment.
pub const ENVIRONMENTS: &[(&[&str], &[&str])] = &[
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

/// Tools that are commonly run in such environments, and that run code of the project only incidentally.
pub static ORDINARY: Names = Names::new(names!(
    "pytest mkdocs sphinx-build uvicorn gunicorn alembic django-admin rspec rubocop standardrb tsc \
    eslint prettier ruff black mypy flake8 pylint isort pyright bandit pip venv json.tool http.server py_compile \
    compileall build ensurepip site sysconfig zipfile tarfile twine"
));

/// Programs with a language that can start a command.
pub const FILTERS: &[&str] = names!("awk sed vim psql mysql mariadb sqlite3");

macro_rules! starting_options {
    ($($programs:literal => $options:literal;)*) => { &[$((names!($programs), names!($options))),*] };
}

/// Options by which a program that handles data starts another.
pub const STARTING_OPTIONS: &[(&[&str], &[&str])] = starting_options! {
    "tar" => "--to-command --checkpoint-action --use-compress-program --info-script --new-volume-script --rmt-command --rsh-command -I -F";
    "rsync" => "-e --rsh --rsync-path";
    "zip" => "-TT --unzip-command";
    "rg" => "--pre --hostname-bin";
    "sort" => "--compress-program";
    "split" => "--filter";
    "scp" => "-S -D -o";
    "install" => "--strip-program";
    "man" => "-P --pager -H --html";
    "nano" => "-s --speller";
    "nc" => "-e -c";
    "go" => "-toolexec -exec -vettool";
    "ag ack bat" => "--pager";
    "wget" => "--use-askpass";
    "hg cargo" => "--config";
    "svn" => "--diff-cmd --diff3-cmd --editor-cmd --config-option";
    "npm" => "--script-shell --editor --viewer";
    "pnpm" => "--script-shell";
    "apt apt-get" => "-o";
    "gcloud" => "--command --";
    "aws" => "--command --parameters";
    "gcc g++" => "-wrapper";
    "mail" => "-s";
    "less" => "+";
    "curl" => "-K --config";
};

/// Options with text for people or a search pattern.
pub static CARRY_TEXT: Names = Names::new(names!(
    "-m -t -k -g --message --title --body --description --grep --filter --name --text --comment --note --reason \
    --prompt --query --pattern --testNamePattern --test-name-pattern --subject --label --notes --append-notes --summary \
    --build-arg -run -skip -bench"
));
