//! Which tool of a project runs which file, and how that file is read. Tables only.

/// How a file is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// Code of this interpreter.
    Code(&'static str),
    /// Values of keys that are commands, everywhere in the file.
    Values,
    /// The same, on lines that name something that runs.
    Keys,
    /// The same, in the part that is named like the task.
    Task,
    /// A script of the shell.
    Script,
}

/// Tool, its subcommand if only that one counts, and the files.
pub(super) const FILES: &[(&str, &str, &[&str], Reading)] = &[
    ("tmux", "", &[".tmux.conf"], Reading::Values),
    ("screen", "", &[".screenrc"], Reading::Values),
    ("ssh", "", &[".ssh/config"], Reading::Values),
    (
        "rake",
        "",
        &["Rakefile", "rakefile", "Rakefile.rb"],
        Reading::Code("ruby"),
    ),
    (
        "invoke",
        "",
        &["tasks.py", "tasks/__init__.py"],
        Reading::Code("python"),
    ),
    (
        "inv",
        "",
        &["tasks.py", "tasks/__init__.py"],
        Reading::Code("python"),
    ),
    ("fab", "", &["fabfile.py"], Reading::Code("python")),
    ("nox", "", &["noxfile.py"], Reading::Code("python")),
    ("doit", "", &["dodo.py"], Reading::Code("python")),
    ("scons", "", &["SConstruct"], Reading::Code("python")),
    (
        "pytest",
        "",
        &["conftest.py", "tests/conftest.py"],
        Reading::Code("python"),
    ),
    ("py.test", "", &["conftest.py"], Reading::Code("python")),
    ("pip", "install", &["setup.py"], Reading::Code("python")),
    ("pip", "wheel", &["setup.py"], Reading::Code("python")),
    ("uv", "build", &["setup.py"], Reading::Code("python")),
    ("build", "", &["setup.py"], Reading::Code("python")),
    (
        "gulp",
        "",
        &["gulpfile.js", "gulpfile.mjs"],
        Reading::Code("node"),
    ),
    ("grunt", "", &["Gruntfile.js"], Reading::Code("node")),
    (
        "jest",
        "",
        &["jest.config.js", "jest.config.mjs"],
        Reading::Code("node"),
    ),
    (
        "vitest",
        "",
        &[
            "vitest.config.js",
            "vitest.config.ts",
            "vite.config.js",
            "vite.config.ts",
        ],
        Reading::Code("node"),
    ),
    (
        "eslint",
        "",
        &["eslint.config.js", "eslint.config.mjs", ".eslintrc.js"],
        Reading::Code("node"),
    ),
    (
        "vite",
        "",
        &["vite.config.js", "vite.config.ts", "vite.config.mjs"],
        Reading::Code("node"),
    ),
    ("webpack", "", &["webpack.config.js"], Reading::Code("node")),
    (
        "rollup",
        "",
        &["rollup.config.js", "rollup.config.mjs"],
        Reading::Code("node"),
    ),
    (
        "next",
        "",
        &["next.config.js", "next.config.mjs"],
        Reading::Code("node"),
    ),
    ("astro", "", &["astro.config.mjs"], Reading::Code("node")),
    (
        "prettier",
        "",
        &[".prettierrc.js", "prettier.config.js"],
        Reading::Code("node"),
    ),
    ("tox", "", &["tox.ini"], Reading::Values),
    ("tox", "", &["pyproject.toml", "tox.toml"], Reading::Values),
    ("bundle", "install", &["Gemfile"], Reading::Code("ruby")),
    (
        "rake",
        "",
        &["tasks/*.rake", "lib/tasks/*.rake", "rakelib/*.rake"],
        Reading::Code("ruby"),
    ),
    (
        "cargo",
        "run",
        &["examples/*.rs", "src/bin/*.rs"],
        Reading::Code("rust"),
    ),
    ("cargo", "test", &["tests/*.rs"], Reading::Code("rust")),
    ("waf", "", &["wscript"], Reading::Code("python")),
    ("dotnet", "build", DOTNET, Reading::Values),
    ("dotnet", "run", DOTNET, Reading::Values),
    ("dotnet", "msbuild", DOTNET, Reading::Values),
    ("nx", "", &["project.json"], Reading::Values),
    (
        "devcontainer",
        "up",
        &[".devcontainer/devcontainer.json", ".devcontainer.json"],
        Reading::Values,
    ),
    (
        "circleci",
        "local",
        &[".circleci/config.yml"],
        Reading::Values,
    ),
    (
        "sphinx-build",
        "",
        &["conf.py", "docs/conf.py", "docs/source/conf.py"],
        Reading::Code("python"),
    ),
    (
        "nix-shell",
        "",
        &["shell.nix", "default.nix"],
        Reading::Values,
    ),
    ("direnv", "exec", &[".envrc.local", ".env"], Reading::Script),
    (
        "rspec",
        "",
        &["spec/*_spec.rb", ".rspec"],
        Reading::Code("ruby"),
    ),
    ("nodemon", "", &["nodemon.json"], Reading::Values),
    ("foreman", "", PROCFILE, Reading::Values),
    ("honcho", "", PROCFILE, Reading::Values),
    ("overmind", "", PROCFILE, Reading::Values),
    ("hivemind", "", PROCFILE, Reading::Values),
    ("goreman", "", PROCFILE, Reading::Values),
    ("forego", "", PROCFILE, Reading::Values),
    ("nf", "", PROCFILE, Reading::Values),
    ("task", "", &["pyproject.toml"], Reading::Task),
    (
        "pre-commit",
        "run",
        &[".pre-commit-config.yaml"],
        Reading::Values,
    ),
    (
        "lint-staged",
        "",
        &["package.json", ".lintstagedrc", ".lintstagedrc.json"],
        Reading::Values,
    ),
    ("lefthook", "run", &["lefthook.yml"], Reading::Values),
    (
        "docker",
        "compose",
        &[
            "compose.yaml",
            "compose.yml",
            "docker-compose.yml",
            "docker-compose.yaml",
        ],
        Reading::Values,
    ),
    (
        "docker-compose",
        "up",
        &["compose.yaml", "docker-compose.yml", "docker-compose.yaml"],
        Reading::Values,
    ),
    ("docker", "build", &["Dockerfile"], Reading::Keys),
    ("docker", "buildx", &["Dockerfile"], Reading::Keys),
    (
        "podman",
        "build",
        &["Dockerfile", "Containerfile"],
        Reading::Keys,
    ),
    ("ninja", "", &["build.ninja"], Reading::Keys),
    ("samu", "", &["build.ninja"], Reading::Keys),
    ("cmake", "", &["CMakeLists.txt"], Reading::Keys),
    ("meson", "", &["meson.build"], Reading::Keys),
    ("gradle", "", GRADLE, Reading::Keys),
    ("gradlew", "", GRADLE, Reading::Keys),
    ("ant", "", &["build.xml"], Reading::Keys),
    ("mvn", "", &["pom.xml"], Reading::Keys),
    (
        "deno",
        "task",
        &["deno.json", "deno.jsonc"],
        Reading::Values,
    ),
    ("terraform", "apply", TERRAFORM, Reading::Keys),
    ("terraform", "plan", TERRAFORM, Reading::Keys),
    ("tofu", "apply", TERRAFORM, Reading::Keys),
    ("tofu", "plan", TERRAFORM, Reading::Keys),
    (
        "cargo",
        "",
        &[".cargo/config.toml", ".cargo/config"],
        Reading::Keys,
    ),
    ("direnv", "allow", &[".envrc"], Reading::Script),
    ("direnv", "exec", &[".envrc"], Reading::Script),
    ("cargo", "build", &["build.rs"], Reading::Code("rust")),
    ("cargo", "check", &["build.rs"], Reading::Code("rust")),
    ("cargo", "test", &["build.rs"], Reading::Code("rust")),
    (
        "cargo",
        "run",
        &["build.rs", "src/main.rs"],
        Reading::Code("rust"),
    ),
    (
        "cargo",
        "x",
        &["src/main.rs", "xtask/src/main.rs"],
        Reading::Code("rust"),
    ),
    (
        "cargo",
        "xtask",
        &["xtask/src/main.rs"],
        Reading::Code("rust"),
    ),
    ("cargo", "make", &["Makefile.toml"], Reading::Task),
    ("devbox", "run", &["devbox.json"], Reading::Values),
    (
        "act",
        "",
        &[".github/workflows/*.yml", ".github/workflows/*.yaml"],
        Reading::Values,
    ),
    ("mise", "run", &["mise.toml", ".mise.toml"], Reading::Task),
    ("mise", "r", &["mise.toml", ".mise.toml"], Reading::Task),
    (
        "pixi",
        "run",
        &["pixi.toml", "pyproject.toml"],
        Reading::Task,
    ),
    ("pipenv", "run", &["Pipfile"], Reading::Task),
    ("poe", "", &["pyproject.toml"], Reading::Task),
];

/// Tools whose words are the files.
pub(super) const BY_WORDS: &[&str] = &["ansible-playbook", "packer", "ansible-pull", "logrotate"];

/// Keys whose value is a command.
pub(super) const KEYS: &[&str] = &[
    "command",
    "COMMAND",
    "RUN",
    "commandLine",
    "cmd",
    "exec",
    "execute",
    "executable",
    "inline",
    "local-exec",
    "program",
    "raw",
    "run_command",
    "runner",
    "rustc",
    "rustc-wrapper",
    "linker",
    "script",
    "shell",
];

const DOTNET: &[&str] = &["*.csproj", "*.fsproj", "*.proj", "Directory.Build.targets"];

const PROCFILE: &[&str] = &["Procfile", "Procfile.dev"];

const GRADLE: &[&str] = &[
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "init.gradle",
];

/// Names that may be patterns.
const TERRAFORM: &[&str] = &["*.tf"];

/// Tools that are given the file as a word or by an option.
pub(super) const NAMED: &[(&str, &[&str], Reading)] = &[
    ("docker", &["-f", "--file"], Reading::Values),
    ("cmake", &["-P"], Reading::Values),
    ("ctest", &["-S"], Reading::Values),
    ("ninja", &["-f"], Reading::Values),
    ("samu", &["-f"], Reading::Values),
    ("rake", &["-f", "--rakefile"], Reading::Code("ruby")),
    ("invoke", &["-c"], Reading::Code("python")),
    ("nox", &["-f"], Reading::Code("python")),
    ("tox", &["-c"], Reading::Values),
    ("foreman", &["-f", "--procfile"], Reading::Values),
    ("honcho", &["-f", "--procfile"], Reading::Values),
    ("overmind", &["-f", "--procfile"], Reading::Values),
    ("goreman", &["-f"], Reading::Values),
    ("forego", &["-f"], Reading::Values),
    ("tmux", &["-f", "source-file", "source"], Reading::Values),
    ("screen", &["-c"], Reading::Values),
    ("snakemake", &["-s", "--snakefile"], Reading::Values),
    ("nmap", &["--script"], Reading::Code("lua")),
    ("ant", &["-f", "-buildfile", "-file"], Reading::Values),
    ("gradle", &["-I", "--init-script", "-b"], Reading::Keys),
    ("gradlew", &["-I", "--init-script", "-b"], Reading::Keys),
    ("cargo", &["--config"], Reading::Values),
    ("ssh", &["-F"], Reading::Values),
    ("scp", &["-F"], Reading::Values),
];
