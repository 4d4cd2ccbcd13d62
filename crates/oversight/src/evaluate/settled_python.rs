//! Python whose starts are all written out.

use std::collections::BTreeSet;

use crate::value::{HOLE, has_hole};

use super::calls::Start;
use super::settled::{Walk, closes_texts};
use super::tokens::{Family, Token};

/// Modules that start no program by any of the names below; a file of the same name in the project is read by itself.
const MODULES: &[&str] = &[
    "argparse",
    "ast",
    "base64",
    "binascii",
    "bisect",
    "collections",
    "configparser",
    "copy",
    "csv",
    "datetime",
    "decimal",
    "difflib",
    "fnmatch",
    "functools",
    "glob",
    "hashlib",
    "heapq",
    "html",
    "io",
    "itertools",
    "json",
    "math",
    "os",
    "pathlib",
    "platform",
    "pprint",
    "random",
    "re",
    "secrets",
    "shlex",
    "shutil",
    "statistics",
    "string",
    "struct",
    "subprocess",
    "sys",
    "tempfile",
    "textwrap",
    "time",
    "tomllib",
    "traceback",
    "typing",
    "unicodedata",
    "urllib",
    "uuid",
    "zlib",
];

/// Built-in names that reach what is not named, or run text.
const REACHING: &[&str] = &[
    "eval",
    "exec",
    "compile",
    "getattr",
    "setattr",
    "delattr",
    "globals",
    "locals",
    "vars",
    "breakpoint",
    "help",
    "execfile",
    "reload",
    "apply",
    "super",
    "object",
    "type",
    "class",
    "case",
];

/// Names that are taken to be what they always are.
const TRUSTED: &[&str] = &[
    "print",
    "len",
    "str",
    "repr",
    "list",
    "isinstance",
    "sys",
    "shlex",
    "re",
    "os",
    "platform",
];

/// What may be asked of anything without a program being started.
const SAFE: &[&str] = &[
    // Texts.
    "split",
    "rsplit",
    "splitlines",
    "strip",
    "lstrip",
    "rstrip",
    "join",
    "replace",
    "startswith",
    "endswith",
    "lower",
    "upper",
    "title",
    "capitalize",
    "count",
    "find",
    "rfind",
    "index",
    "format",
    "encode",
    "decode",
    "isdigit",
    "isalpha",
    "isalnum",
    "isspace",
    "isupper",
    "islower",
    "zfill",
    "ljust",
    "rjust",
    "center",
    "partition",
    "rpartition",
    "removeprefix",
    "removesuffix",
    "expandtabs",
    "casefold",
    "swapcase",
    // Collections.
    "append",
    "extend",
    "insert",
    "pop",
    "clear",
    "sort",
    "reverse",
    "copy",
    "items",
    "keys",
    "values",
    "get",
    "setdefault",
    "update",
    "add",
    "discard",
    "union",
    "intersection",
    "difference",
    "issubset",
    "issuperset",
    "most_common",
    "elements",
    "Counter",
    "defaultdict",
    "OrderedDict",
    "deque",
    "appendleft",
    "popleft",
    "chain",
    "product",
    "permutations",
    "combinations",
    "groupby",
    "islice",
    "zip_longest",
    "from_iterable",
    "reduce",
    "lru_cache",
    // Files that are read, made empty or removed.
    "read",
    "readline",
    "readlines",
    "close",
    "read_text",
    "read_bytes",
    "exists",
    "is_file",
    "is_dir",
    "iterdir",
    "glob",
    "iglob",
    "rglob",
    "resolve",
    "absolute",
    "parent",
    "parents",
    "name",
    "stem",
    "suffix",
    "suffixes",
    "parts",
    "stat",
    "st_size",
    "st_mtime",
    "relative_to",
    "with_suffix",
    "with_name",
    "joinpath",
    "as_posix",
    "expanduser",
    "mkdir",
    "makedirs",
    "unlink",
    "remove",
    "rmdir",
    "rmtree",
    "home",
    "cwd",
    "path",
    "Path",
    "PurePath",
    "isfile",
    "isdir",
    "basename",
    "dirname",
    "abspath",
    "relpath",
    "splitext",
    "getsize",
    "getmtime",
    "realpath",
    "listdir",
    "walk",
    "scandir",
    "getcwd",
    "sep",
    "linesep",
    "pathsep",
    "getpid",
    "cpu_count",
    "gettempdir",
    "mkdtemp",
    "TemporaryDirectory",
    "StringIO",
    "BytesIO",
    "getvalue",
    "fnmatch",
    // Patterns and data.
    "match",
    "search",
    "findall",
    "finditer",
    "sub",
    "subn",
    "group",
    "groups",
    "groupdict",
    "start",
    "end",
    "span",
    "fullmatch",
    "escape",
    "MULTILINE",
    "DOTALL",
    "IGNORECASE",
    "VERBOSE",
    "load",
    "loads",
    "dumps",
    "JSONDecodeError",
    "reader",
    "DictReader",
    "fieldnames",
    "parse",
    "literal_eval",
    "dedent",
    "indent",
    "fill",
    "wrap",
    "unified_diff",
    "ndiff",
    "quote",
    "unquote",
    "urlencode",
    "urlparse",
    "urljoin",
    "request",
    "urlopen",
    "error",
    "HTTPError",
    "URLError",
    "status",
    "code",
    "hexdigest",
    "digest",
    "sha256",
    "sha1",
    "md5",
    "b64encode",
    "b64decode",
    "hexlify",
    "unhexlify",
    "pprint",
    "pformat",
    // Numbers and times.
    "sqrt",
    "ceil",
    "floor",
    "log",
    "log2",
    "log10",
    "pi",
    "inf",
    "nan",
    "isnan",
    "mean",
    "median",
    "stdev",
    "randint",
    "choice",
    "shuffle",
    "random",
    "seed",
    "sample",
    "uniform",
    "time",
    "sleep",
    "perf_counter",
    "monotonic",
    "strftime",
    "strptime",
    "now",
    "today",
    "utcnow",
    "isoformat",
    "timestamp",
    "fromtimestamp",
    "fromisoformat",
    "timedelta",
    "date",
    "datetime",
    "timezone",
    "utc",
    "total_seconds",
    "year",
    "month",
    "day",
    "hour",
    "minute",
    "second",
    "days",
    "seconds",
    // The process itself, and one that has run.
    "exit",
    "stdout",
    "stderr",
    "flush",
    "version",
    "version_info",
    "major",
    "minor",
    "platform",
    "system",
    "maxsize",
    "executable",
    "returncode",
    "args",
    "wait",
    "poll",
    "pid",
    "communicate",
    "check_returncode",
    "cmd",
    "print_exc",
    "which",
    "List",
    "Dict",
    "Optional",
    "Any",
    "Tuple",
    "Callable",
    "Iterable",
    "Union",
    "Set",
];

/// Names that change files; what is started may then be among them.
const WRITES: &[&str] = &[
    "write",
    "write_text",
    "write_bytes",
    "writelines",
    "dump",
    "writer",
    "DictWriter",
    "writerow",
    "rename",
    "touch",
    "chmod",
    "symlink_to",
    "hardlink_to",
    "copyfile",
    "copytree",
    "copy2",
    "move",
    "open",
    "NamedTemporaryFile",
    "symlink",
    "link",
];

/// Names that bring in words from outside, or change what a program finds.
const OUTSIDE: &[&str] = &[
    "argv", "environ", "getenv", "putenv", "stdin", "chdir", "input",
];

const STARTS: &[&str] = &[
    "run",
    "call",
    "check_call",
    "check_output",
    "Popen",
    "getoutput",
    "getstatusoutput",
];

const CONSTANTS: &[&str] = &[
    "PIPE",
    "DEVNULL",
    "STDOUT",
    "CalledProcessError",
    "TimeoutExpired",
    "CompletedProcess",
    "SubprocessError",
];

/// Settings of a start that do not change what is started.
const SETTINGS: &[&str] = &[
    "capture_output",
    "text",
    "check",
    "cwd",
    "stdout",
    "stderr",
    "timeout",
    "encoding",
    "errors",
    "universal_newlines",
    "bufsize",
    "start_new_session",
    "close_fds",
];

/// What a start is given.
enum Given {
    Text(String),
    Words(Vec<String>),
    /// A parameter of the function around it, alone or after other words.
    Own {
        parameter: String,
        before: Vec<String>,
        split: bool,
    },
}

struct Parameter {
    name: String,
    function: String,
    place: usize,
    stars: usize,
}

struct Python {
    walk: Walk,
    /// Places that belong to an import.
    imports: BTreeSet<usize>,
    /// Names of the module `subprocess`.
    processes: BTreeSet<String>,
    /// Starts that were imported by their own names.
    taken: BTreeSet<String>,
    parameters: Vec<Parameter>,
    /// Where something is started.
    starts: Vec<usize>,
    writes: bool,
    outside: bool,
}

/// Everything that the code starts; none when it is not all written out.
pub(super) fn starts(code: &str) -> Option<Vec<Start>> {
    let has = |signs: &[&str]| signs.iter().any(|sign| code.contains(sign));
    // An escaped quote ends neither a raw text nor one in three quotes, and its end is looked for too simply.
    let raw = has(&["r\"", "r'", "R\"", "R'", "\"\"\"", "'''"]);
    let mut lines = code.lines().take(2);
    if (raw && has(&["\\\"", "\\'"])) || lines.any(|line| line.contains("coding")) {
        return None;
    }
    let mut python = Python::new(code)?;
    python.import()?;
    python.vet()?;
    for filling in std::mem::take(&mut python.walk.fillings) {
        python.vet_filling(&filling)?;
    }
    if python.starts.is_empty() {
        return Some(Vec::new());
    }
    if python.writes || python.outside {
        return None;
    }
    python.define()?;
    let mut found = Vec::new();
    for at in &python.starts {
        python.started(*at, &mut found)?;
    }
    Some(found)
}

impl Python {
    fn new(code: &str) -> Option<Self> {
        Some(Self {
            walk: Walk::new(Family::Python, code)?,
            imports: BTreeSet::new(),
            processes: BTreeSet::new(),
            taken: BTreeSet::new(),
            parameters: Vec::new(),
            starts: Vec::new(),
            writes: false,
            outside: false,
        })
    }

    /// Reads the imports: modules that are known, names that are known.
    fn import(&mut self) -> Option<()> {
        for at in 0..self.walk.tokens.len() {
            let word = self.walk.word(at);
            if word == Some("import") && !self.imports.contains(&at) {
                self.import_modules(at)?;
            } else if word == Some("from") && self.walk.begins(at) {
                self.import_names(at)?;
            }
        }
        Some(())
    }

    fn end_of_statement(&self, at: usize) -> usize {
        let mut at = at;
        while let Some(token) = self.walk.token(at) {
            match token {
                Token::Sign('\n' | ';') => break,
                Token::Sign('(' | '[' | '{') => at = self.walk.closing(at).unwrap_or(at),
                _ => {}
            }
            at = at.saturating_add(1);
        }
        at
    }

    fn import_modules(&mut self, at: usize) -> Option<()> {
        if !self.walk.begins(at) {
            return None;
        }
        let end = self.end_of_statement(at);
        for part in self.walk.split(at.saturating_add(1), end, &[',']) {
            let places = self.walk.places(part);
            let words: Vec<&str> = places.iter().filter_map(|at| self.walk.word(*at)).collect();
            let name = match words.as_slice() {
                ["subprocess"] => Some("subprocess"),
                ["subprocess", "as", alias] => Some(*alias),
                [module] if MODULES.contains(module) => None,
                // `import os.path`, `import urllib.request`.
                [module, rest @ ..] if MODULES.contains(module) && !rest.contains(&"as") => None,
                [module, "as", _] if MODULES.contains(module) && *module != "os" => None,
                _ => return None,
            };
            self.processes.extend(name.map(str::to_owned));
        }
        self.imports.extend(at..end);
        Some(())
    }

    fn import_names(&mut self, at: usize) -> Option<()> {
        let end = self.end_of_statement(at);
        let places = self.walk.places((at, end));
        let words: Vec<&str> = places.iter().filter_map(|at| self.walk.word(*at)).collect();
        let middle = words.iter().position(|word| *word == "import")?;
        let module = words.get(1).filter(|module| MODULES.contains(module))?;
        let starred = places.iter().any(|at| self.walk.sign(*at, '*'));
        let relative = self.walk.sign(at.saturating_add(1), '.');
        let names = words.get(middle.saturating_add(1)..)?;
        if starred || relative || names.contains(&"as") {
            return None;
        }
        let mut taken = Vec::new();
        for name in names {
            if *module == "subprocess" && STARTS.contains(name) {
                taken.push((*name).to_owned());
            } else if OUTSIDE.contains(name) {
                self.outside = true;
            } else if WRITES.contains(name) {
                self.writes = true;
            } else if (*module == "os" && *name == "system")
                || !(SAFE.contains(name) || CONSTANTS.contains(name))
            {
                return None;
            }
        }
        self.taken.extend(taken);
        self.imports.extend(at..end);
        Some(())
    }

    /// Looks at every name and sign; collects what is started.
    fn vet(&mut self) -> Option<()> {
        for at in 0..self.walk.tokens.len() {
            if self.imports.contains(&at) {
                continue;
            }
            match self.walk.token(at)?.clone() {
                Token::Word(word) => self.vet_word(at, &word)?,
                Token::Text(_) => {
                    let before = self.walk.word_before(at, 1);
                    if before.is_some_and(|word| !is_keyword(word)) {
                        return None;
                    }
                }
                Token::Words(_) | Token::Command(_) => return None,
                Token::Sign('#' | '`' | '$' | '?') => return None,
                Token::Sign('!') if !self.walk.sign(at.saturating_add(1), '=') => return None,
                // `(a, b) = …`, `[a, b] = …` bind names in a way that is not followed.
                Token::Sign(')' | ']')
                    if self.walk.outer(at).is_none()
                        && self.walk.sign(at.saturating_add(1), '=')
                        && !self.walk.sign(at.saturating_add(2), '=') =>
                {
                    return None;
                }
                Token::Sign(_) => {}
            }
        }
        Some(())
    }

    fn vet_word(&mut self, at: usize, word: &str) -> Option<()> {
        if !word.is_ascii() {
            return None;
        }
        if word.starts_with(|one: char| one.is_ascii_digit()) {
            return Some(());
        }
        if self.walk.dotted(at) {
            return self.vet_asked(at, word);
        }
        let next = at.saturating_add(1);
        let called = self.walk.sign(next, '(');
        if self.processes.contains(word) || word == "os" {
            return self.walk.sign(next, '.').then_some(());
        }
        if self.taken.contains(word) {
            self.starts.push(at);
            return called.then_some(());
        }
        if word.starts_with("__") {
            return matches!(word, "__name__" | "__file__").then_some(());
        }
        if REACHING.contains(&word) || (TRUSTED.contains(&word) && self.is_replaced(at)) {
            return None;
        }
        if word == "open" {
            self.writes |= !(called && self.opens_to_read(next));
        }
        self.outside |= word == "input";
        Some(())
    }

    fn vet_asked(&mut self, at: usize, word: &str) -> Option<()> {
        let next = at.saturating_add(1);
        let called = self.walk.sign(next, '(');
        let base = self.walk.word_before(at, 2).unwrap_or_default();
        let base = if self.walk.sign_before(at, 3, '.') {
            ""
        } else {
            base
        };
        if self.processes.contains(base) {
            if STARTS.contains(&word) && called {
                self.starts.push(at);
                return Some(());
            }
            return CONSTANTS.contains(&word).then_some(());
        }
        if base == "os" && matches!(word, "system" | "popen" | "execvp" | "execv") {
            self.starts.push(at);
            return called.then_some(());
        }
        if word == "system" {
            return (base == "platform").then_some(());
        }
        if OUTSIDE.contains(&word) {
            self.outside = true;
            return Some(());
        }
        if WRITES.contains(&word) {
            self.writes = true;
            return Some(());
        }
        let given = if called {
            self.walk.parts(next)?.len()
        } else {
            usize::from(matches!(word, "copy" | "replace"))
        };
        // `shutil.copy(a, b)` and `Path.replace(b)`, unlike those of lists and texts.
        self.writes |= (word == "copy" && given > 0) || (word == "replace" && given < 2);
        let known = SAFE.contains(&word) || (word == "compile" && base == "re");
        known.then_some(())
    }

    /// `open(x)`, `open(x, "rb")`, `open(x, encoding="utf-8")`.
    fn opens_to_read(&self, open: usize) -> bool {
        let Some(parts) = self.walk.parts(open) else {
            return false;
        };
        parts.iter().enumerate().all(|(index, part)| {
            let places = self.walk.places(*part);
            let (name, value) = self.named(&places);
            if self.walk.sign(part.0, '*') {
                return false;
            }
            match (index, name) {
                (0, None) | (_, Some("encoding" | "errors" | "newline")) => true,
                (1, None) | (_, Some("mode")) => self
                    .walk
                    .text(value)
                    .is_some_and(|mode| mode.chars().all(|one| matches!(one, 'r' | 'b' | 't'))),
                _ => false,
            }
        })
    }

    /// The name of an argument, and its value.
    fn named<'p>(&self, places: &'p [usize]) -> (Option<&str>, &'p [usize]) {
        match places {
            [name, equals, value @ ..]
                if self.walk.sign(*equals, '=')
                    && value.first().is_some_and(|at| !self.walk.sign(*at, '=')) =>
            {
                (self.walk.word(*name), value)
            }
            all => (None, all),
        }
    }

    /// `{name:40}`, `{x!r}`: an expression, which starts nothing, and how it is shown.
    fn vet_filling(&mut self, filling: &str) -> Option<()> {
        let mut depth = 0_usize;
        let end = filling.char_indices().find(|(_, one)| {
            match one {
                '(' | '[' => depth = depth.saturating_add(1),
                ')' | ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && *one == ':'
        });
        let expression = end.map_or(filling, |(at, _)| filling.get(..at).unwrap_or_default());
        let shown = expression.len() != filling.len();
        let expression = ["!r", "!s", "!a"]
            .iter()
            .find_map(|mark| expression.strip_suffix(mark))
            .unwrap_or(expression);
        if !closes_texts(filling) || (shown && expression.contains(['\'', '"'])) {
            return None;
        }
        let mut inner = Self::new(expression)?;
        inner.processes.clone_from(&self.processes);
        inner.taken.clone_from(&self.taken);
        inner.vet()?;
        self.writes |= inner.writes;
        self.outside |= inner.outside;
        (inner.starts.is_empty() && inner.walk.fillings.is_empty()).then_some(())
    }

    /// Learns which functions have which parameters.
    fn define(&mut self) -> Option<()> {
        for at in 0..self.walk.tokens.len() {
            // What stands above a function may hand it on.
            if self.walk.sign(at, '@') && self.walk.begins(at) {
                return None;
            }
            if self.walk.word(at) != Some("def") || self.walk.dotted(at) {
                continue;
            }
            let function = self.walk.word(at.saturating_add(1))?.to_owned();
            for (place, part) in self.walk.parts(at.saturating_add(2))?.iter().enumerate() {
                let places = self.walk.places(*part);
                let stars = places.iter().take_while(|at| self.walk.sign(**at, '*'));
                let stars = stars.count();
                let Some(name) = places.get(stars).and_then(|at| self.walk.word(*at)) else {
                    continue;
                };
                if TRUSTED.contains(&name) {
                    return None;
                }
                self.parameters.push(Parameter {
                    name: name.to_owned(),
                    function: function.clone(),
                    place,
                    stars,
                });
            }
        }
        Some(())
    }

    fn started(&self, at: usize, found: &mut Vec<Start>) -> Option<()> {
        let verb = self.walk.word(at)?;
        let parts = self.walk.parts(at.saturating_add(1))?;
        let mut given = None;
        let mut rest = None;
        let mut shell = matches!(verb, "system" | "popen" | "getoutput" | "getstatusoutput");
        for (index, part) in parts.iter().enumerate() {
            let places = self.walk.places(*part);
            match self.named(&places) {
                (None, _) if index == 0 => given = Some(self.given(&places, 0)?),
                (None, _) if index == 1 && verb.starts_with("execv") => {
                    rest = Some(self.given(&places, 0)?);
                }
                (Some("args"), value) => given = Some(self.given(value, 0)?),
                (Some("shell"), [value]) => match self.walk.word(*value)? {
                    "True" => shell = true,
                    "False" => {}
                    _ => return None,
                },
                (Some("stdin"), value) => {
                    let last = value.last().and_then(|at| self.walk.word(*at));
                    last.filter(|word| *word == "DEVNULL")?;
                }
                (Some(name), _) if SETTINGS.contains(&name) => {}
                _ => return None,
            }
        }
        match (given?, rest) {
            (Given::Text(program), Some(Given::Words(words))) => {
                let words = words.into_iter().skip(1);
                found.push(Start::Words(
                    std::iter::once(program).chain(words).collect(),
                ));
            }
            (_, Some(_)) => return None,
            (Given::Text(text), None) if !verb.starts_with("execv") => {
                found.push(Start::Shell(text))
            }
            (Given::Words(words), None) if !shell => found.push(Start::Words(words)),
            (
                Given::Own {
                    parameter,
                    before,
                    split,
                },
                None,
            ) => self.own(&parameter, &before, split, shell, found)?,
            _ => return None,
        }
        Some(())
    }

    /// What a call of the function around a start gives to it.
    fn own(
        &self,
        parameter: &str,
        before: &[String],
        split: bool,
        shell: bool,
        found: &mut Vec<Start>,
    ) -> Option<()> {
        let mut all = self.parameters.iter().filter(|one| one.name == parameter);
        let one = all.next()?;
        let bound = self.binds(parameter)
            || self
                .occurrences(&one.function)
                .any(|at| self.is_bound(at) && self.walk.word_before(at, 1) != Some("def"));
        if all.next().is_some() || bound {
            return None;
        }
        let uses = self.occurrences(parameter);
        if one.stars == 0 && uses.into_iter().any(|at| !self.only_reads(at)) {
            return None;
        }
        let mut defined = 0_usize;
        for at in self.occurrences(&one.function) {
            if self.walk.word_before(at, 1) == Some("def") {
                defined = defined.saturating_add(1);
                continue;
            }
            let open = at.saturating_add(1);
            if !self.walk.sign(open, '(') {
                return None;
            }
            let mut words = Vec::new();
            let mut given = None;
            for (index, part) in self.walk.parts(open)?.iter().enumerate() {
                let places = self.walk.places(*part);
                if self.walk.sign(*places.first()?, '*') {
                    return None;
                }
                match self.named(&places) {
                    (Some(name), value) if name == parameter => given = Some(self.given(value, 0)?),
                    (Some(_), _) => {}
                    (None, _) if one.stars == 1 && index >= one.place => {
                        words.push(self.element(&places));
                    }
                    (None, _) if index == one.place => given = Some(self.given(&places, 0)?),
                    (None, _) => {}
                }
            }
            let all = |words: Vec<String>| before.iter().cloned().chain(words).collect();
            match (one.stars, given) {
                (1, None) if !shell && !split => found.push(Start::Words(all(words))),
                (0, Some(Given::Text(text))) if split && !shell && before.is_empty() => {
                    found.push(Start::Words(split_words(&text)?));
                }
                (0, Some(Given::Text(text))) if !split && before.is_empty() => {
                    found.push(Start::Shell(text));
                }
                (0, Some(Given::Words(words))) if !shell && !split => {
                    found.push(Start::Words(all(words)));
                }
                _ => return None,
            }
        }
        (defined == 1).then_some(())
    }

    /// What the first argument of a start stands for.
    fn given(&self, places: &[usize], depth: usize) -> Option<Given> {
        if depth > 4 {
            return None;
        }
        if let Some(text) = self.walk.text(places) {
            return Some(Given::Text(text));
        }
        let first = *places.first()?;
        let bracketed = self.walk.closing(first) == places.last().copied();
        if bracketed && matches!(self.walk.token(first), Some(Token::Sign('[' | '('))) {
            let parts = self.walk.parts(first)?;
            let tuple = places
                .iter()
                .any(|at| self.walk.sign(*at, ',') && self.walk.outer(*at) == Some(first));
            return match parts.as_slice() {
                [only] if self.walk.sign(first, '(') && !tuple => {
                    self.given(&self.walk.places(*only), depth.saturating_add(1))
                }
                _ => self.list(&parts),
            };
        }
        let names: Vec<&str> = places.iter().filter_map(|at| self.walk.word(*at)).collect();
        match (names.as_slice(), places.len()) {
            ([name], 1) => self.name(name, first, depth),
            (["list", name], 4) => self.name(name, first, depth),
            ([name, "split"], 5) => self.split(self.name(name, first, depth)?),
            (["shlex", "split", ..], _) => {
                let open = *places.get(3)?;
                let parts = self.walk.parts(open)?;
                let [only] = parts.as_slice() else {
                    return None;
                };
                if self.walk.closing(open) != places.last().copied() {
                    return None;
                }
                self.split(self.given(&self.walk.places(*only), depth.saturating_add(1))?)
            }
            _ => None,
        }
    }

    fn split(&self, given: Given) -> Option<Given> {
        Some(match given {
            Given::Text(text) => Given::Words(split_words(&text)?),
            Given::Own {
                parameter, before, ..
            } => Given::Own {
                parameter,
                before,
                split: true,
            },
            Given::Words(_) => return None,
        })
    }

    fn list(&self, parts: &[(usize, usize)]) -> Option<Given> {
        let mut words = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let places = self.walk.places(*part);
            if !self.walk.sign(*places.first()?, '*') {
                words.push(self.element(&places));
                continue;
            }
            let [_, name] = places.as_slice() else {
                return None;
            };
            let parameter = self.walk.word(*name)?.to_owned();
            let own = self.parameters.iter().any(|one| one.name == parameter);
            if !own || index.saturating_add(1) != parts.len() {
                return None;
            }
            return Some(Given::Own {
                parameter,
                before: words,
                split: false,
            });
        }
        Some(Given::Words(words))
    }

    /// One word of a list: its text, or a word that nobody knows.
    fn element(&self, places: &[usize]) -> String {
        let names: Vec<&str> = places.iter().filter_map(|at| self.walk.word(*at)).collect();
        match self.walk.text(places) {
            Some(text) => text,
            None if names == ["sys", "executable"] && places.len() == 3 => "python3".to_owned(),
            None => HOLE.to_string(),
        }
    }

    /// What a name holds that is bound once, or the parameter that it is.
    fn name(&self, name: &str, _at: usize, depth: usize) -> Option<Given> {
        if self.parameters.iter().any(|one| one.name == name) {
            return Some(Given::Own {
                parameter: name.to_owned(),
                before: Vec::new(),
                split: false,
            });
        }
        let mut bindings = self.occurrences(name).filter(|at| self.is_bound(*at));
        let at = bindings.next()?;
        let begin = at.saturating_add(2);
        if bindings.next().is_some()
            || !self.walk.begins(at)
            || !self.walk.sign(at.saturating_add(1), '=')
        {
            return None;
        }
        let end = self.end_of_statement(begin);
        let given = self.given(&self.walk.places((begin, end)), depth.saturating_add(1))?;
        match given {
            Given::Words(_)
                if self
                    .occurrences(name)
                    .any(|other| other != at && !self.only_reads(other)) =>
            {
                None
            }
            Given::Own { .. } => None,
            other => Some(other),
        }
    }

    fn occurrences<'s>(&'s self, name: &'s str) -> impl Iterator<Item = usize> + 's {
        (0..self.walk.tokens.len())
            .filter(move |at| self.walk.word(*at) == Some(name) && !self.walk.dotted(*at))
    }

    fn binds(&self, name: &str) -> bool {
        let parameter = |at: usize| {
            let open = self.walk.outer(at);
            open.is_some_and(|open| self.walk.word_before(open, 2) == Some("def"))
        };
        self.occurrences(name)
            .any(|at| self.is_bound(at) && !parameter(at))
    }

    /// Whether a name may get another value here.
    fn is_bound(&self, at: usize) -> bool {
        let sign = |by: usize, sign: char| self.walk.sign(at.saturating_add(by), sign);
        let argument = self
            .walk
            .outer(at)
            .is_some_and(|open| self.walk.sign(open, '('));
        let equals = sign(1, '=') && !sign(2, '=') && !argument;
        let walrus = sign(1, ':') && sign(2, '=');
        let annotated = self.walk.begins(at) && sign(1, ':');
        let changed = match self.walk.token(at.saturating_add(1)) {
            Some(Token::Sign(
                one @ ('+' | '-' | '*' | '/' | '%' | '|' | '&' | '^' | '@' | '<' | '>'),
            )) => {
                let twice = sign(2, *one) && sign(3, '=');
                twice || (sign(2, '=') && !matches!(one, '<' | '>'))
            }
            _ => false,
        };
        let introduced = matches!(
            self.walk.word_before(at, 1),
            Some(
                "for"
                    | "as"
                    | "def"
                    | "import"
                    | "global"
                    | "nonlocal"
                    | "del"
                    | "lambda"
                    | "class"
                    | "case"
            )
        );
        let listed =
            self.walk.outer(at).is_none() && (sign(1, ',') || self.walk.sign_before(at, 1, ','));
        let looped = (0..at)
            .rev()
            .take(24)
            .take_while(|at| self.walk.word(*at) != Some("in"))
            .any(|at| matches!(self.walk.word(at), Some("for" | "lambda" | "as")));
        equals || walrus || annotated || changed || introduced || listed || looped
    }

    /// Whether a well-known name gets another meaning here.
    fn is_replaced(&self, at: usize) -> bool {
        let argument = self.walk.outer(at).is_some_and(|open| {
            self.walk.sign(open, '(') && self.walk.word_before(open, 2) != Some("def")
        });
        let next = at.saturating_add(1);
        let equals = self.walk.sign(next, '=') && !self.walk.sign(at.saturating_add(2), '=');
        let walrus = self.walk.sign(next, ':') && self.walk.sign(at.saturating_add(2), '=');
        let listed = self.walk.outer(at).is_none() && self.walk.sign(next, ',');
        let before = self.walk.word_before(at, 1);
        (equals && !argument)
            || walrus
            || listed
            || self.walk.word(next) == Some("in") && self.walk.sign_before(at, 1, ',')
            || matches!(
                before,
                Some("for" | "as" | "def" | "import" | "global" | "nonlocal" | "del" | "lambda")
            )
    }

    /// Whether what a name holds is only looked at here, and not changed.
    fn only_reads(&self, at: usize) -> bool {
        if self.walk.sign(at.saturating_add(1), '.') {
            return self.walk.word(at.saturating_add(2)) == Some("split");
        }
        if self.walk.sign(at.saturating_add(1), '[') {
            return false;
        }
        let Some(open) = self.walk.outer(at) else {
            return false;
        };
        let called = self.walk.word_before(open, 1);
        let starts = open
            .checked_sub(1)
            .is_some_and(|at| self.starts.contains(&at));
        let defines = self.walk.word_before(open, 2) == Some("def");
        self.walk.sign(open, '(')
            && (starts
                || defines
                || matches!(
                    called,
                    Some(
                        "print" | "join" | "len" | "str" | "repr" | "list" | "split" | "isinstance"
                    )
                ))
    }
}

/// Words as a shell would split them; none when quotes or unknown places decide.
fn split_words(text: &str) -> Option<Vec<String>> {
    let plain = !text.contains(['\'', '"', '\\', '#']) && !has_hole(text);
    plain.then(|| text.split_whitespace().map(str::to_owned).collect())
}

fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "in" | "not"
            | "and"
            | "or"
            | "return"
            | "if"
            | "else"
            | "elif"
            | "is"
            | "yield"
            | "assert"
            | "while"
            | "case"
            | "raise"
            | "del"
            | "lambda"
    )
}
