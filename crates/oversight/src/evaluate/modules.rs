//! Modules that code loads: files beside it run as well, so they are looked through in turn.

use std::collections::BTreeSet;

use crate::lookup::{absolute, directory_of};

use super::files::{File, is_system};
use super::imports::{path_modules, perl_modules, python_modules, script_modules};
use super::language::{LANGUAGES, Language};
use super::wrapper::skip_options;
use super::{Evaluator, Outcome};

/// More modules than this are not followed.
pub(super) const MAX_MODULES: usize = 64;

/// How the files of tests are named.
pub(super) const PYTHON_TESTS: &[&str] = &["test_*", "_test.py"];
pub(super) const SCRIPT_TESTS: &[&str] =
    &[".test.js", ".test.mjs", ".test.cjs", "-test.js", "test.js"];

/// What an interpreter has loaded: each module runs once.
#[derive(Default)]
pub(crate) struct Loaded {
    names: BTreeSet<String>,
    /// Functions of the modules that start what they are given.
    pub(super) helpers: Vec<super::calls::Own>,
}

impl Evaluator<'_> {
    /// `python -m x`: a program by the name of its module, or a package in the directory.
    pub(crate) fn python_module(&mut self, arguments: &[String]) -> Option<Outcome> {
        let rest = skip_options(arguments, "WXQ", &["check-hash-based-pycs"]);
        if let Some((at, glued)) = module_option(arguments) {
            let words: Vec<String> = Some(glued)
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .into_iter()
                .chain(arguments.iter().skip(at.saturating_add(1)).cloned())
                .collect();
            let name = words.first()?.clone();
            if let Some(outcome) = self.python_tool(&name, words.get(1..).unwrap_or_default()) {
                return Some(outcome);
            }
            let path = name.replace('.', "/");
            if let Some((package, _)) = name.split_once('.')
                && let Some(language) = LANGUAGES.first()
            {
                // The package is loaded before its module.
                for file in [format!("{package}.py"), format!("{package}/__init__.py")] {
                    if self.known_file(&file).is_some() {
                        self.code_file(language, "python", &file);
                    }
                }
            }
            let mut places = LANGUAGES
                .first()
                .map_or_else(Vec::new, |language| self.module_places(language));
            places.insert(0, self.state.directory.to_string());
            let files = places.iter().flat_map(|place| {
                [".py", "/__main__.py"].map(|ending| format!("{place}/{path}{ending}"))
            });
            for file in files {
                if let Some(text) = self.known_file(&file) {
                    let language = LANGUAGES.first()?;
                    let directory = directory_of(&file).to_owned();
                    self.linked(format!("python -m {name}"), |this| {
                        this.code_in(language, "python", &text, &directory);
                    });
                    return Some(Outcome::unknown());
                }
            }
            return Some(self.linked("python -m", |this| this.run(&words)));
        }
        let script = rest.first()?;
        let program = super::run::program_name(script);
        if script.contains('/')
            && self.catalog.is_program(&program)
            && (is_system(&absolute(&self.state.directory, script))
                || matches!(self.file(script), File::Missing))
        {
            let words = rest.to_vec();
            return Some(self.linked("python", |this| this.run(&words)));
        }
        None
    }

    /// Modules that run another program of Python: `pdb`, `cProfile`, `timeit` and their kin.
    fn python_tool(&mut self, module: &str, arguments: &[String]) -> Option<Outcome> {
        let language = super::modules::python()?;
        match module {
            "zipapp" | "zipfile" => {
                // What they put together can be run by its name.
                let archives = arguments.iter().filter(|word| word.contains(".pyz"));
                for path in archives.cloned().collect::<Vec<_>>() {
                    let path = path.trim_start_matches("--output=").to_owned();
                    self.write(&path, &crate::value::Value::unknown(), false);
                }
                Some(Outcome::unknown())
            }
            "doctest" => {
                for file in arguments.iter().filter(|word| !word.starts_with('-')) {
                    self.code_file(language, "python", file);
                }
                Some(Outcome::unknown())
            }
            "pdb" | "cProfile" | "profile" | "trace" | "coverage" | "ipdb" | "viztracer"
                if arguments.iter().any(|word| is_module_option(word)) =>
            {
                let rest = arguments.iter().skip_while(|word| !is_module_option(word));
                let words = ["python", "-m"].map(str::to_owned).into_iter();
                let words: Vec<String> = words.chain(rest.skip(1).cloned()).collect();
                Some(self.linked(format!("python -m {module}"), |this| this.run(&words)))
            }
            "runpy"
                if arguments
                    .first()
                    .is_some_and(|name| self.catalog.is_program(name)) =>
            {
                Some(self.linked("python -m runpy", |this| this.run(arguments)))
            }
            "pdb" | "cProfile" | "profile" | "trace" | "runpy" | "coverage" | "pytest"
            | "unittest" | "ipdb" | "viztracer" | "kernprof" | "memory_profiler" => {
                if matches!(module, "pytest" | "unittest") {
                    self.found_tests("python", PYTHON_TESTS);
                }
                for word in arguments.iter().filter(|word| !word.starts_with('-')) {
                    if word.contains(char::is_whitespace) {
                        self.code(language, "python", word.trim_start_matches('!'));
                        continue;
                    }
                    let file = if word.ends_with(".py") {
                        word.clone()
                    } else {
                        word.replace('.', "/") + ".py"
                    };
                    if self.known_file(&file).is_some() {
                        self.code_file(language, "python", &file);
                    }
                }
                Some(Outcome::unknown())
            }
            "code" => {
                let input = self.state.input.clone();
                for text in input
                    .iter()
                    .flat_map(|input| input.possibilities().to_vec())
                {
                    self.code(language, "python", &text);
                }
                Some(Outcome::unknown())
            }
            "timeit" => {
                for code in arguments.iter().filter(|word| !word.starts_with('-')) {
                    self.code(language, "python", code);
                }
                Some(Outcome::unknown())
            }
            _ => None,
        }
    }

    /// Follows what code loads by a name or a path that is written in it.
    pub(crate) fn imported(&mut self, language: &Language, name: &str, code: &str, beside: &str) {
        let launcher = super::installed::is_launcher(beside);
        if self.is_package_code(beside) && !launcher {
            return;
        }
        if language.names.first() == Some(&"node") {
            self.loaded_packages(language, name, code, beside);
        }
        let found = match language.names.first().copied() {
            Some("python") => python_modules(code),
            Some("node") => script_modules(code, self.state.get("NODE_PATH").is_some()),
            Some("perl") => perl_modules(code),
            Some("ruby") => path_modules(
                code,
                &["require_relative ", "load ", "require "],
                &[".rb", ""],
            ),
            Some("php") => path_modules(
                code,
                &["include ", "require ", "require_once ", "include_once "],
                &[""],
            ),
            Some("lua") => path_modules(code, &["dofile", "require", "loadfile"], &[".lua", ""]),
            _ => return,
        };
        let mut places = self.module_places(language);
        if language.names.first() == Some(&"perl") {
            let lines = code.split([';', '\n']).map(str::trim);
            let named = lines.filter(|line| line.starts_with("use lib"));
            let texts = named.take(8).flat_map(super::literal::literals);
            places.extend(texts.map(|literal| absolute(&self.state.directory, &literal.text)));
        }
        if language.names.first() == Some(&"python") {
            // A program that the project installs for itself finds the project.
            let own = launcher.then_some(["", "src"]).into_iter().flatten();
            places.extend(own.map(|place| absolute(&self.state.directory, place)));
            let lines = code.lines().filter(|line| line.contains("sys.path"));
            let texts = lines.take(8).flat_map(super::literal::literals);
            let texts = texts.filter(|literal| !crate::value::has_hole(&literal.text));
            places.extend(texts.map(|literal| absolute(&self.state.directory, &literal.text)));
        }
        places.insert(0, beside.to_owned());
        // `require("./lib/" + name)`: any file of the directory.
        let folders = found.iter().filter(|path| path.ends_with('/')).take(4);
        let folders: Vec<String> = folders.map(|path| absolute(beside, path)).collect();
        let mut found = found.clone();
        for folder in folders {
            let names = self.names_in(&folder).into_iter().take(16);
            found.extend(names.map(|name| format!("{folder}/{name}")));
        }
        for (place, path) in found
            .iter()
            .take(MAX_MODULES)
            .flat_map(|path| places.iter().map(move |place| (place, path)))
        {
            self.module(language, name, &absolute(place, path));
        }
    }

    fn module(&mut self, language: &Language, name: &str, path: &str) {
        let once = format!("{name} {path} {:?}", self.certainty);
        let key = format!("module {path}");
        if self.loaded.get_or_insert_default().names.insert(once)
            && let Some(text) = self.known_file(path)
            && !(text.len() > super::installed::MAX_PACKAGE
                && self.is_package_code(directory_of(path)))
            && self.walking.insert(key.clone())
        {
            self.code_in(language, name, &text, directory_of(path));
            self.walking.remove(&key);
        }
    }

    /// Directories that the command itself names for modules.
    fn module_places(&self, language: &Language) -> Vec<String> {
        let variable = match language.names.first().copied() {
            Some("python") => "PYTHONPATH",
            Some("node") => "NODE_PATH",
            Some("perl") => "PERL5LIB",
            Some("ruby") => "RUBYLIB",
            _ => return Vec::new(),
        };
        let value = self.state.get(variable);
        let text = value.map_or_else(String::new, |value| value.first().to_owned());
        let given = self.code_words.iter();
        let given = given.filter_map(|word| word.strip_prefix("-I"));
        let given = given.filter(|_| variable.starts_with("PERL") || variable.starts_with("RUBY"));
        let places = text.split(':').filter(|place| !place.is_empty());
        places
            .chain(given)
            .filter(|place| !crate::value::has_hole(place))
            .map(|place| absolute(&self.state.directory, place))
            .take(4)
            .collect()
    }

    /// `node --env-file=x`: variables that a file gives to the code.
    pub(super) fn environment_files(&mut self, arguments: &[String]) {
        for file in option_files(arguments, &["--env-file", "--env-file-if-exists"]) {
            let text = self.known_file(&file).unwrap_or_default();
            for (key, value) in text
                .lines()
                .filter_map(|line| line.split_once('='))
                .take(64)
            {
                let value = value.trim().trim_matches(['"', '\'']);
                self.state
                    .set(key.trim(), crate::value::Value::text(value), true);
            }
        }
    }

    /// Files that an interpreter reads before the code.
    pub(crate) fn preloaded(&mut self, name: &str, arguments: &[String]) {
        let directory = self.state.directory.clone();
        let mut files: Vec<String> = Vec::new();
        if matches!(name, "node" | "nodejs" | "tsx" | "ts-node") {
            let options = self
                .state
                .get("NODE_OPTIONS")
                .map_or_else(String::new, |value| value.first().to_owned());
            let words: Vec<String> = options
                .split_whitespace()
                .map(str::to_owned)
                .chain(arguments.iter().cloned())
                .collect();
            files.extend(option_files(
                &words,
                &[
                    "-r",
                    "--require",
                    "--import",
                    "--loader",
                    "--experimental-loader",
                ],
            ));
        }
        self.environment_files(arguments);
        if name == "node" && arguments.iter().any(|word| word == "--test") {
            self.found_tests(name, SCRIPT_TESTS);
        }
        if name == "ruby" {
            let options = self.state.get("RUBYOPT");
            let options = options.map_or_else(String::new, |value| value.first().to_owned());
            let words: Vec<String> = options.split_whitespace().map(str::to_owned).collect();
            files.extend(
                option_files(&[&words, arguments].concat(), &["-r"])
                    .into_iter()
                    .map(|path| path + ".rb"),
            );
        }
        if name == "perl" {
            let options = self.state.get("PERL5OPT");
            let options = options.map_or_else(String::new, |value| value.first().to_owned());
            let code: Vec<String> = arguments
                .iter()
                .chain(std::iter::once(&options))
                .filter(|word| word.starts_with("-M") && word.contains(['(', ';', '`']))
                .map(|word| word.replace("${IFS}", " "))
                .collect();
            for code in code {
                // What follows the name of the module is code as well.
                if let Some(language) = super::language::of("perl") {
                    self.code(language, name, &code);
                }
            }
            let words: Vec<String> = options.split_whitespace().map(str::to_owned).collect();
            files.extend(
                option_files(&[&words, arguments].concat(), &["-M", "-m"])
                    .into_iter()
                    .map(|module| module.replace("::", "/") + ".pm"),
            );
        }
        if name == "python" {
            if let Some(file) = self
                .state
                .get("PYTHONSTARTUP")
                .and_then(|value| value.known().map(str::to_owned))
            {
                files.push(file);
            }
            if self.state.get("PYTHONPATH").is_some() {
                files.extend(["sitecustomize.py", "usercustomize.py"].map(str::to_owned));
            }
        }
        let Some(language) = super::language::of(name) else {
            return;
        };
        let places = self.module_places(language);
        for file in files {
            let beside = places.iter().map(|place| absolute(place, &file));
            let paths: Vec<String> = std::iter::once(file.clone()).chain(beside).collect();
            if let Some(text) = paths.iter().find_map(|path| self.known_file(path)) {
                self.code_in(language, name, &text, &directory);
            }
        }
        if matches!(name, "node" | "nodejs")
            && let Some(script) = arguments.first().filter(|word| word.contains('/'))
        {
            let program = super::run::program_name(script);
            let program = program.strip_suffix(".js").unwrap_or(&program).to_owned();
            if self.catalog.is_program(&program) {
                let mut words = arguments.to_vec();
                if let Some(first) = words.first_mut() {
                    *first = program;
                }
                self.linked("node", |this| this.run(&words));
            }
        }
    }

    /// The file behind a path as an interpreter finds it: `node x`, `node .`, `python3 package`.
    pub(crate) fn code_path(&mut self, language: &Language, path: &str) -> String {
        let endings: &[&str] = match language.names.first().copied() {
            Some("python") => &["/__main__.py"],
            Some("node") => &[
                ".js",
                ".mjs",
                ".cjs",
                ".ts",
                "/index.js",
                "/index.mjs",
                "/index.ts",
            ],
            _ => &[],
        };
        if self.known_file(path).is_some_and(|text| !text.is_empty()) {
            return path.to_owned();
        }
        let manifest = format!("{}/package.json", path.trim_end_matches('/'));
        if language.names.first() == Some(&"node")
            && let Some(text) = self.known_file(&manifest)
            && let Ok(manifest) = serde_json::from_str::<serde_json::Value>(&text)
            && let Some(main) = manifest.get("main").and_then(|main| main.as_str())
        {
            let main = format!("{}/{main}", path.trim_end_matches('/'));
            if main != path {
                return self.code_path(language, &main);
            }
        }
        let found = endings
            .iter()
            .map(|ending| format!("{}{ending}", path.trim_end_matches('/')))
            .find(|path| self.known_file(path).is_some());
        found.unwrap_or_else(|| path.to_owned())
    }
}

/// The language of Python, which build files are written in.
pub(crate) fn python() -> Option<&'static Language> {
    LANGUAGES.first()
}

fn option_files(arguments: &[String], options: &[&str]) -> Vec<String> {
    let mut files = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if options.contains(&word.as_str()) {
            files.extend(words.next().cloned());
        } else {
            let glued = options.iter().find_map(|option| {
                let rest = word.strip_prefix(option)?;
                if option.starts_with("--") {
                    rest.strip_prefix('=')
                } else {
                    Some(rest)
                }
            });
            files.extend(glued.filter(|rest| !rest.is_empty()).map(str::to_owned));
        }
    }
    files
}

fn is_module_option(word: &str) -> bool {
    matches!(word, "-m" | "--module")
}

/// Where `-m` stands, alone or behind other letters, and what is glued to it.
fn module_option(arguments: &[String]) -> Option<(usize, &str)> {
    let mut words = arguments.iter().enumerate();
    while let Some((at, word)) = words.next() {
        let flags = word.strip_prefix('-').filter(|flags| !flags.is_empty())?;
        if flags == "-check-hash-based-pycs" {
            words.next();
            continue;
        }
        if flags.starts_with('-') {
            continue;
        }
        let last = flags.find(['m', 'c', 'W', 'X', 'Q']);
        let Some((letter, rest)) = last.and_then(|last| {
            let mut tail = flags.get(last..)?.chars();
            Some((tail.next()?, tail.as_str()))
        }) else {
            continue;
        };
        match letter {
            'm' => return Some((at, rest)),
            'c' => return None,
            _ if rest.is_empty() => {
                words.next();
            }
            _ => {}
        }
    }
    None
}
