//! The languages whose code is looked through: which option carries it, which words start programs.

/// A language: which letters carry code, and which words start programs.
pub(crate) struct Language {
    pub(crate) names: &'static [&'static str],
    pub(crate) code: &'static [&'static str],
    pub(crate) valued: &'static str,
    pub(crate) starts: &'static [&'static str],
}

pub(crate) const LANGUAGES: &[Language] = &[
    Language {
        names: &["python"],
        code: &["-c"],
        valued: "WXmQ",
        starts: &[
            "os.system",
            "system(",
            "subprocess",
            "popen",
            "os.exec",
            "spawn",
            "execv",
            "execl",
            "check_call",
            "check_output",
            "pty",
            "sh.",
            "runpy",
            "ctypes",
            "__import__",
            "eval(",
            "exec(",
            "import_module",
            "timeit",
            "from os import",
            "import sh",
            "plumbum",
            "getattr(os",
            "webbrowser",
            "Interactive",
            "import git",
            "from git import",
            "twine",
            ".run(",
            ".local(",
            "actions",
            "Command(",
        ],
    },
    Language {
        names: &[
            "node", "nodejs", "deno", "tsx", "ts-node", "bun", "zx", "mongosh",
        ],
        code: &["-e", "--eval", "-p", "--print", "-pe", "eval"],
        valued: "rC",
        starts: &[
            "child_process",
            "exec",
            "spawn",
            "fork(",
            "Worker",
            "Deno.run",
            "Deno.Command",
            "Bun.$",
            "Bun.spawn",
            "eval(",
            "spawn_sync",
            ".constructor(",
            "$`",
        ],
    },
    Language {
        names: &["perl"],
        code: &["-e", "-E"],
        valued: "IMm",
        starts: &[
            "system",
            "exec",
            "qx",
            "`",
            "open",
            "fork",
            "eval",
            "run",
            "@ARGV=",
            "@ARGV =",
            "push @ARGV",
            "push(@ARGV",
            "unshift @ARGV",
            "unshift(@ARGV",
        ],
    },
    Language {
        names: &["ruby", "irb"],
        code: &["-e"],
        valued: "rIC",
        starts: &[
            "system", "exec", "`", "%x", "spawn", "popen", "Open3", "eval", "fork", "open", "sh ",
            "sh(",
        ],
    },
    Language {
        names: &["php"],
        code: &["-r", "-B", "-R", "-E"],
        valued: "dcz",
        starts: &[
            "system",
            "exec",
            "passthru",
            "popen",
            "proc_open",
            "`",
            "eval",
        ],
    },
    Language {
        names: &["lua", "luajit"],
        code: &["-e"],
        valued: "l",
        starts: &["os.execute", "io.popen", "load"],
    },
    Language {
        names: &["tclsh", "expect", "wish"],
        code: &["-c"],
        valued: "",
        starts: &["exec", "spawn", "open", "eval", "system", "send"],
    },
    Language {
        names: &["awk", "gawk", "mawk", "nawk"],
        code: &[],
        valued: "vFfil",
        starts: &["system", "getline", "|"],
    },
    Language {
        names: &[
            "vim", "vi", "nvim", "ex", "emacs", "view", "vimdiff", "gvim", "rvim", "vimx",
        ],
        code: &["-c", "--cmd", "--eval", "-eval", "--execute", "-execute"],
        valued: "Ssuiwqt",
        starts: &[
            "!",
            "system",
            "shell-command",
            "call-process",
            "execute",
            "start-process",
            "process-lines",
            "process-file",
            "make-process",
            "compile",
            "job_start",
            "jobstart",
            "term_start",
            "termopen",
            "terminal",
            "term ",
            "makeprg",
            "grepprg",
        ],
    },
    Language {
        names: &["gdb", "lldb"],
        code: &[
            "-ex",
            "--eval-command",
            "-o",
            "-iex",
            "-eval-command",
            "--one-line",
        ],
        valued: "p",
        starts: &[
            "shell", "!", "system", "python", "pipe", "script", "|", "make",
        ],
    },
    Language {
        names: &["java"],
        code: &[],
        valued: "",
        starts: &["ProcessBuilder", "getRuntime"],
    },
    Language {
        names: &["osascript"],
        code: &["-e"],
        valued: "l",
        starts: &["do shell script", "do script", "doShellScript"],
    },
    Language {
        names: &["rscript", "r"],
        code: &["-e"],
        valued: "",
        starts: &["system"],
    },
    Language {
        names: &["julia"],
        code: &["-e", "-E"],
        valued: "",
        starts: &["run(", "`"],
    },
    Language {
        names: &["sqlite3"],
        code: &["-cmd"],
        valued: "",
        starts: &[".sh", ".sys", "|", "edit("],
    },
    Language {
        names: &[
            "groovy",
            "jshell",
            "scala",
            "elixir",
            "iex",
            "erl",
            "clojure",
            "clj",
            "bb",
            "ghc",
            "ghci",
            "runghc",
            "runhaskell",
            "sbcl",
            "guile",
            "racket",
            "ocaml",
            "raku",
            "crystal",
            "octave",
            "gnuplot",
            "m4",
            "dc",
            "bpftrace",
            "kotlin",
            "swift",
            "nim",
            "maxima",
            "gp",
            "sage",
            "ipython",
            "swipl",
            "csharp",
            "csi",
            "yaegi",
            "rust-script",
            "janet",
            "fennel",
            "hy",
        ],
        code: &[
            "-e",
            "-c",
            "--eval",
            "-eval",
            "eval",
            "--execute",
            "-x",
            "-g",
        ],
        valued: "DIU",
        starts: STARTS_OF_MANY,
    },
];

/// Words that start programs in languages that are not told apart.
const STARTS_OF_MANY: &[&str] = &[
    "system", "System", "exec", "run", "shell", "rocess", "cmd", "ommand", "popen", "spawn",
    "eval", "open", "fork", "load", "import", "extern", "gorge", "untime", "port", "(sh ", "sh(",
    "qx", "`", "!", "|", "<", "$(", "%(", "Unix", "pipe", "foreign", "ffi",
];

impl Language {
    /// Whether it is one of many that are not told apart.
    pub(crate) fn is_of_many(&self) -> bool {
        self.starts == STARTS_OF_MANY
    }
}

/// The language that an interpreter of this name reads.
pub(crate) fn of(name: &str) -> Option<&'static Language> {
    LANGUAGES
        .iter()
        .find(|language| language.names.contains(&name))
}

/// `-Sc'import os'`: letters without a value, the one that carries code, and the code.
pub(super) fn glued_cluster<'w>(name: &str, word: &'w str) -> Option<&'w str> {
    let flags = word.strip_prefix('-')?;
    let (letters, carrier) = match name {
        "python" => ("bBdEiIOPqRsStuvx", "c"),
        "perl" => ("acnplsStTuUvwWX0123456789", "eE"),
        "ruby" => ("acnplsSvwy0123456789", "e"),
        _ => return None,
    };
    let rest = flags.trim_start_matches(|one| letters.contains(one));
    rest.strip_prefix(|one| carrier.contains(one))
        .filter(|code| !code.is_empty())
}

/// `php -l x`, `ruby -c x`, `node --check x`: the code is parsed and not run, unless an option loads more.
pub(super) fn checks_syntax(name: &str, arguments: &[String]) -> bool {
    let options = || arguments.iter().take_while(|word| word.starts_with('-'));
    let has = |wanted: &[&str]| options().any(|word| wanted.contains(&word.as_str()));
    let checks = match name {
        "php" => has(&["-l", "--syntax-check"]),
        "ruby" => has(&["-c", "-wc", "-cw"]),
        "node" | "nodejs" => has(&["-c", "--check"]),
        _ => false,
    };
    let plain = |word: &String| {
        matches!(
            word.as_str(),
            "-l" | "-c" | "-wc" | "-cw" | "-w" | "-n" | "--check" | "--syntax-check" | "--"
        )
    };
    checks && options().all(plain)
}

/// Whether an editor or interpreter changes the files that it is given.
pub(super) fn in_place(name: &str, arguments: &[String]) -> bool {
    let flag = |letters: &str| {
        arguments.iter().any(|word| {
            word.starts_with('-')
                && !word.starts_with("--")
                && word.len() < 6
                && word.chars().any(|one| letters.contains(one))
        })
    };
    match name {
        "perl" | "ruby" => flag("i"),
        "vim" | "vi" | "nvim" | "ex" | "vimx" => {
            flag("ces") || arguments.iter().any(|word| word.starts_with('+'))
        }
        _ => false,
    }
}

/// `python -i`: behind its code it reads more from its input.
pub(super) fn is_interactive(name: &str, arguments: &[String]) -> bool {
    let mut options = arguments.iter().take_while(|word| word.starts_with('-'));
    let has = |word: &String| {
        let flags = word.strip_prefix('-').unwrap_or_default();
        flags.len() < 5 && !flags.starts_with('-') && flags.contains('i')
    };
    matches!(name, "python" | "node" | "nodejs") && options.any(has)
}

/// Whether an editor takes commands line by line; `-s` only makes it silent then.
pub(super) fn is_ex(name: &str, arguments: &[String]) -> bool {
    name == "ex"
        || arguments
            .iter()
            .any(|word| matches!(word.as_str(), "-e" | "-E" | "-es" | "-Es"))
}

/// `-ne`, `-lane`: a cluster of letters that ends with the one that carries code.
pub(super) fn cluster(language: &Language, word: &str) -> bool {
    let Some(flags) = word
        .strip_prefix('-')
        .filter(|flags| !flags.starts_with('-'))
    else {
        return false;
    };
    flags.len() > 1
        && flags.chars().all(|flag| flag.is_ascii_alphabetic())
        && language.code.iter().any(|option| {
            option.len() == 2
                && option
                    .chars()
                    .nth(1)
                    .is_some_and(|letter| flags.ends_with(letter))
        })
        && matches!(
            language.names.first(),
            Some(&("perl" | "ruby" | "node" | "python" | "vim"))
        )
        && (language.names.first() == Some(&"vim")
            || !flags.starts_with(|first: char| language.valued.contains(first)))
}

/// Options that name a file of code.
pub(super) fn reads_file(name: &str, word: &str) -> bool {
    match name {
        "awk" | "gawk" | "mawk" | "nawk" => matches!(word, "-f" | "--file"),
        "vim" | "nvim" | "vi" | "ex" | "view" | "vimdiff" | "gvim" => {
            matches!(word, "-S" | "-s" | "-u") || (name == "nvim" && word == "-l")
        }
        "gdb" | "lldb" => matches!(word, "-x" | "-s" | "--source" | "--command" | "-command"),
        "sqlite3" => word == "-init",
        "emacs" => matches!(word, "-l" | "--load" | "--script"),
        _ => false,
    }
}
