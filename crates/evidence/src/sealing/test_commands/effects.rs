//! Computes what a command may write beside the diff: nothing, the output of the project's builds, or anything.
//!
//! Only programs that are known to read, build, install or test are distinguished; every other program may write
//! anything anywhere, regardless of its arguments.

use shell::ir::{
    Argument, Assigned, Assignment, Command, Kind, Operation, Parameter, Piece, Script, Subject,
    Target, Test, Word,
};
use shell::lower;
use shell::words::names;

use super::beside::{is_builder, is_installer, is_tool_folder, sourced};
use super::changes::{is_device, reads};
use super::loaders::loads_code;
use super::programs::{self, SHELLS, Tested, is_in, is_python, name_of};
use super::{UNKNOWN, is_unknown, join_folder, own_words, plain_word, plain_words};

/// Nesting of strings and commands that is followed.
const MAX_DEPTH: usize = 16;

/// Programs that change no file which a runner loads.
const QUIET: &[&str] = names!(
    "cd pushd popd mkdir rm rmdir kill pkill ulimit umask wait shopt export set unset declare local typeset readonly \
    return exit break continue"
);

/// Programs that write only the last path that they name, without options that say otherwise.
const COPIERS: &[&str] = names!("cp mv");

/// Interpreters whose argument is a script.
const INTERPRETERS: &[&str] = names!("node ruby php deno bun tsx ts-node perl lua Rscript");

/// Package managers that run programs of the project.
const RUNNERS_OF_TOOLS: &[&str] =
    names!("npx bunx pnpx npm pnpm yarn bun uv poetry pipenv pdm rye hatch bundle pixi");

/// Writes of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Set if it builds, tests or installs by the project's files.
    pub builds: bool,
    /// Set if not only installers do so: scripts of the project run.
    pub runs_project: bool,
    /// Set if a part of it is unknown and may write anything.
    pub has_other: bool,
    /// Paths that a copy or a redirection writes.
    pub written: Vec<String>,
    /// Programs of the project, and files that builds read.
    pub inputs: Vec<Input>,
    /// Set if a part of it may still run after its end.
    pub stays: bool,
}

/// A program of the project, or a file argument of a build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// The path, relative to the directory of the command; for a [`Role::Tool`], its name.
    pub path: String,
    /// Its use.
    pub role: Role,
    pub arguments: Vec<String>,
}

/// Use of an input by a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Files of the project that it builds, tests or installs.
    #[default]
    Built,
    /// A script that is executed.
    Script,
    /// A program that a package manager finds in the project.
    Tool,
}

impl Effects {
    /// Returns the effects of a command that may write anything.
    #[must_use]
    pub fn unknown() -> Self {
        Self {
            has_other: true,
            ..Self::default()
        }
    }
}

/// Computes the writes of a command. `own_tests` are test commands of the user.
#[must_use]
pub fn effects(command: &str, own_tests: &[String]) -> Effects {
    let mut walk = Walk {
        own: own_words(own_tests),
        folder: String::new(),
        found: Effects::default(),
    };
    walk.text(command, 0);
    walk.found
}

struct Walk<'o> {
    own: Vec<Vec<&'o str>>,
    folder: String,
    found: Effects,
}

impl Walk<'_> {
    fn text(&mut self, text: &str, depth: usize) {
        match lower::program(text) {
            Ok(script) => self.script(&script, depth),
            Err(_) => self.found.has_other = true,
        }
    }

    fn script(&mut self, script: &Script, depth: usize) {
        if depth >= MAX_DEPTH {
            self.found.has_other = true;
            return;
        }
        for item in &script.items {
            self.found.stays |= item.beside;
            for (_, pipeline) in &item.pipelines {
                for (place, command) in pipeline.commands.iter().enumerate() {
                    self.command(command, place > 0, depth);
                }
            }
        }
    }

    /// Walks a command; `is_fed` is set if it reads another command's output.
    fn command(&mut self, command: &Command, is_fed: bool, depth: usize) {
        let mut is_fed = is_fed;
        for redirect in &command.redirects {
            match &redirect.target {
                Target::Write(word) | Target::Append(word) => {
                    self.word(word, depth);
                    self.write(&plain_word(word));
                }
                Target::Read(word) | Target::Here(word) | Target::HereString(word) => {
                    is_fed = true;
                    self.word(word, depth);
                }
                Target::ReadProcess(script) | Target::WriteProcess(script) => {
                    is_fed = true;
                    self.script(script, depth + 1);
                }
                Target::Duplicate(_) => {}
            }
        }
        match &command.kind {
            Kind::Simple { assignments, words } => {
                assignments.iter().for_each(|one| self.assigned(one, depth));
                words.iter().for_each(|word| self.argument(word, depth));
                if let Some(is_known) = sourced(words) {
                    self.found.has_other |= !is_known;
                    return;
                }
                self.simple(&plain_words(words), is_fed, depth);
            }
            Kind::Group(inner) => self.script(inner, depth + 1),
            Kind::Subshell(inner) => self.apart(|walk| walk.script(inner, depth + 1)),
            Kind::Function { body, .. } => self.command(body, is_fed, depth + 1),
            Kind::Coprocess { body, .. } => {
                self.found.stays = true;
                self.command(body, is_fed, depth + 1);
            }
            Kind::Test(test) => self.test(test, depth),
            Kind::Arithmetic(word) => self.word(word, depth),
            kind => {
                for script in super::credit::branches(kind) {
                    self.script(script, depth + 1);
                }
            }
        }
    }

    /// Walks a subshell, whose directory ends with it.
    fn apart(&mut self, walk: impl FnOnce(&mut Self)) {
        let folder = self.folder.clone();
        walk(self);
        self.folder = folder;
    }

    fn simple(&mut self, words: &[String], is_fed: bool, depth: usize) {
        match programs::tested(words, &self.own) {
            Some(Tested::Text(_, text)) => {
                self.found.has_other |= is_unknown(text);
                return self.apart(|walk| walk.text(text, depth + 1));
            }
            Some(Tested::Program(program, arguments)) => {
                self.found.runs_project = true;
                return self.build(program, arguments, is_fed);
            }
            Some(Tested::Elsewhere) => return self.found.has_other = true,
            None => {}
        }
        let (inner, stays) = programs::behind(words);
        self.found.stays |= stays;
        let wrappers = words.get(..words.len() - inner.len()).unwrap_or_default();
        let variables = wrappers.iter().filter_map(|word| word.split_once('='));
        variables.for_each(|(name, value)| self.variable(name, value));
        let Some((program, arguments)) = inner.split_first() else {
            return;
        };
        let name = name_of(program);
        let by = wrappers.first().map_or("", |word| name_of(word));
        if reads(inner, &self.own) || is_question(program, arguments) || is_in(QUIET, name) {
            self.remember_folder(name, arguments);
        } else if wrappers.iter().any(|word| name_of(word) == "xargs") {
            self.found.has_other = true;
        } else if is_in(COPIERS, name) || name == "tee" {
            self.copy(name, arguments);
        } else if is_builder(inner) {
            self.found.runs_project |= !is_installer(inner);
            self.build(program, arguments, is_fed);
        } else if let Some((script, arguments)) = script(program, arguments).filter(|_| !is_fed) {
            self.run(Role::Script, script, arguments);
        } else if (is_in(RUNNERS_OF_TOOLS, by) || is_tool_path(program)) && !is_fed {
            self.run(Role::Tool, program, arguments);
        } else {
            self.found.has_other = true;
        }
    }

    fn remember_folder(&mut self, name: &str, arguments: &[String]) {
        if matches!(name, "cd" | "pushd" | "popd") {
            let target = arguments.iter().find(|word| !word.starts_with('-'));
            let target = target.map_or(UNKNOWN, String::as_str);
            self.folder = join_folder(&self.folder, target);
        }
    }

    /// Records a program of the project with its arguments.
    fn run(&mut self, role: Role, path: &str, arguments: &[String]) {
        (self.found.builds, self.found.runs_project) = (true, true);
        let path = match role {
            Role::Tool => name_of(path).to_owned(),
            _ => join_folder(&self.folder, path),
        };
        self.found.inputs.push(Input {
            path,
            role,
            arguments: arguments.to_vec(),
        });
    }

    fn copy(&mut self, name: &str, arguments: &[String]) {
        let (options, operands): (Vec<&String>, Vec<&String>) =
            arguments.iter().partition(|word| word.starts_with('-'));
        let is_plain = |word: &&String| {
            word.bytes()
                .skip(1)
                .all(|byte| b"aRrfpvnuL".contains(&byte))
        };
        self.found.has_other |= !options.iter().all(is_plain);
        let skipped = match name {
            "tee" => 0,
            _ => operands.len().saturating_sub(1),
        };
        operands
            .iter()
            .skip(skipped)
            .for_each(|path| self.write(path));
    }

    fn build(&mut self, program: &str, arguments: &[String], is_fed: bool) {
        self.found.builds = true;
        let brings = |word: &String| {
            let value = word.split_once('=').map_or("", |(_, value)| value);
            let is_unclear = is_unknown(value) && !value.starts_with("\u{1}/");
            brings_code(value) || is_unclear || is_near(word) || is_fed && is_input(word)
        };
        self.found.has_other |= arguments.iter().any(brings);
        if program.contains('/') {
            self.run(Role::Script, program, &[]);
        }
        let mut words = arguments.iter();
        // A program of the project may write to its arguments.
        if arguments.first().is_some_and(|word| word == "run") && !is_in(RUNNERS_OF_TOOLS, program)
        {
            let told = words.by_ref().skip_while(|word| *word != "--");
            told.filter(|word| word.contains('/'))
                .for_each(|path| self.write(path));
        }
        for word in arguments {
            let joined = word.split_once('=').map(|(_, value)| value);
            let glued = word
                .get(2..)
                .filter(|_| word.starts_with('-') && !word.starts_with("--"));
            let paths = [Some(word.as_str()), joined, glued];
            let paths = paths.into_iter().flatten();
            for path in paths.filter(|path| !path.is_empty() && !path.starts_with('-')) {
                self.found.inputs.push(Input {
                    path: join_folder(&self.folder, path),
                    ..Input::default()
                });
            }
        }
    }

    fn write(&mut self, path: &str) {
        if is_device(path) && !path.starts_with("/tmp/") {
            return;
        }
        let path = join_folder(&self.folder, path);
        match is_unknown(&path) {
            true => self.found.has_other = true,
            false => self.found.written.push(path),
        }
    }

    /// Records a variable of a program in the command.
    fn variable(&mut self, name: &str, value: &str) {
        let is_near_folder = |folder: &str| {
            folder.starts_with('.')
                && !folder.ends_with("node_modules/.bin")
                && !folder.ends_with("venv/bin")
                || !folder.starts_with(['/', '.', '\u{1}', '~'])
        };
        self.found.has_other |= match name {
            "PATH" => value.split(':').any(is_near_folder),
            _ => loads_code(name, value) || brings_code(value) || is_near(value),
        };
    }

    fn assigned(&mut self, assignment: &Assignment, depth: usize) {
        match &assignment.value {
            Assigned::Scalar(word) => {
                self.word(word, depth);
                self.variable(&assignment.name, &plain_word(word));
            }
            Assigned::Array(elements) => {
                let words = elements.iter().flat_map(|(_, words)| words);
                words.for_each(|word| self.word(word, depth));
            }
        }
    }

    fn argument(&mut self, argument: &Argument, depth: usize) {
        match argument {
            Argument::Word(word) => self.word(word, depth),
            Argument::Assignment(assignment) => self.assigned(assignment, depth),
            Argument::Process { script, .. } => {
                self.found.has_other = true;
                self.script(script, depth + 1);
            }
        }
    }

    /// Walks the commands whose output becomes a part of a word.
    fn word(&mut self, word: &Word, depth: usize) {
        let mut pieces: Vec<&Piece> = word.pieces.iter().collect();
        while let Some(piece) = pieces.pop() {
            match piece {
                Piece::Double(inner) => pieces.extend(inner),
                Piece::Command(script) => self.apart(|walk| walk.script(script, depth + 1)),
                Piece::Arithmetic(word) => pieces.extend(&word.pieces),
                Piece::Parameter(parameter) => {
                    let inner = words_of(parameter);
                    pieces.extend(inner.into_iter().flat_map(|word| &word.pieces));
                }
                Piece::Opaque => self.found.has_other = true,
                Piece::Text(_) | Piece::Quoted(_) | Piece::Tilde(_) => {}
            }
        }
    }

    fn test(&mut self, test: &Test, depth: usize) {
        match test {
            Test::And(one, other) | Test::Or(one, other) => {
                self.test(one, depth);
                self.test(other, depth);
            }
            Test::Not(one) => self.test(one, depth),
            Test::Unary(_, word) => self.word(word, depth),
            Test::Binary(_, one, other) => {
                self.word(one, depth);
                self.word(other, depth);
            }
        }
    }
}

/// Returns the words in an expansion that are expanded themselves.
fn words_of(parameter: &Parameter) -> Vec<&Word> {
    let mut words: Vec<&Word> = match &parameter.operation {
        Operation::Default { word, .. }
        | Operation::Alternative { word, .. }
        | Operation::Required(word) => vec![word],
        Operation::RemovePrefix { pattern, .. } | Operation::RemoveSuffix { pattern, .. } => {
            vec![pattern]
        }
        Operation::Substring { offset, length } => std::iter::once(offset).chain(length).collect(),
        Operation::Replace {
            pattern,
            replacement,
            ..
        } => vec![pattern, replacement],
        _ => Vec::new(),
    };
    if let Subject::Element(_, index) = &parameter.subject {
        words.push(index);
    }
    words
}

/// Returns `true` for queries such as `node --version`.
fn is_question(program: &str, arguments: &[String]) -> bool {
    let is_asked = |word: &String| {
        matches!(
            word.as_str(),
            "--version" | "-v" | "-V" | "version" | "--help"
        )
    };
    let [only] = arguments else {
        return false;
    };
    is_asked(only) && (!program.contains('/') || is_tool_path(program))
}

/// Returns `true` for a program in a folder of package managers.
fn is_tool_path(program: &str) -> bool {
    program
        .rsplit_once('/')
        .is_some_and(|(folder, _)| is_tool_folder(folder))
}

/// Returns the script that a program is or executes, and its arguments.
fn script<'w>(program: &'w str, arguments: &'w [String]) -> Option<(&'w str, &'w [String])> {
    let name = name_of(program);
    if is_in(INTERPRETERS, name) || is_in(SHELLS, name) || is_python(name) {
        let (first, rest) = arguments.split_first()?;
        return (!first.starts_with('-')).then_some((first, rest));
    }
    let is_path = program.contains('/') && !is_tool_path(program);
    is_path.then_some((program, arguments))
}

/// Returns `true` if a word stands for input from a pipe or a device.
fn is_input(word: &str) -> bool {
    let value = word.trim_start_matches("--").rsplit('=').next();
    matches!(value, Some("-" | "-f-")) || word.contains("/dev/") || word.contains("/proc/")
}

/// Returns `true` if a value may be a command rather than a list of options.
fn brings_code(value: &str) -> bool {
    let marks = |one: char| one.is_whitespace() || "(){};\"'`".contains(one);
    !value.starts_with('-') && value.contains(marks)
}

/// Returns `true` if a word names a server on this machine, or a file by a URL.
fn is_near(word: &str) -> bool {
    let places = ["://localhost", "://127.", "://[::1]", "://0.0.0.0", "file:"];
    places.iter().any(|place| word.contains(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows effects: `o` for something else, `b` for builds, `p` for running the project, `s` for staying.
    fn shown(command: &str) -> String {
        let found = effects(command, &[]);
        let parts = [
            (found.has_other, "o"),
            (found.builds, "b"),
            (found.runs_project, "p"),
            (found.stays, "s"),
        ];
        let letters: String = parts
            .iter()
            .filter(|(is, _)| *is)
            .map(|(_, letter)| *letter)
            .collect();
        let scripts = found
            .inputs
            .iter()
            .filter(|input| input.role != Role::Built);
        let scripts = scripts.map(|input| input.path.as_str());
        let words = std::iter::once(letters.as_str()).chain(scripts);
        words
            .chain(found.written.iter().map(String::as_str))
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn only_what_is_known_to_look_or_to_build_is_told_from_the_rest() {
        let mut wrong = Vec::new();
        for (command, expected) in [
            // It reads.
            ("ls -la | grep 'a(b)' | sort -u; cat a", ""),
            ("git status; git log --oneline -3 && git diff", ""),
            (
                "find . -name x | head -3; sed -n 1,5p a; node --version",
                "",
            ),
            ("cd x && mkdir -p y; rm -rf build; [[ -f $(pwd) ]]", ""),
            ("source .venv/bin/activate; export A=1", ""),
            // It builds.
            ("npm ci && ls", "b"),
            ("git status; npm test", "bp"),
            ("pip install -e '.[dev]' && python3 -m pip install x", "b"),
            (
                "python3 -m venv .venv && .venv/bin/pip install x",
                "bp .venv/bin/pip",
            ),
            (
                "mkdir -p build && cd build && cmake .. && make -j$(nproc)",
                "bp",
            ),
            ("CFLAGS='-O2 -g' make; cargo run -- 'a (b)'", "bp"),
            (
                "pytest -k 'a and (b or c)' | tail -5; npm test < /dev/null",
                "bp",
            ),
            ("cp .env.example .env && npm ci > log", "b .env log"),
            ("cargo run -- --out a/b", "bp a/b"),
            (
                "cd a && node s.js -x && npx prisma generate",
                "bp a/s.js prisma",
            ),
            (
                "./gen.sh --all & .venv/bin/alembic upgrade head",
                "bps ./gen.sh alembic",
            ),
            // It may do anything.
            ("perl -pi -e s/a/b/ x", "o"),
            ("ex -sc wq x", "o"),
            ("sort -o x y", "o"),
            ("sort --output=x y", "o"),
            ("uniq a b", "o"),
            ("tree -o x", "o"),
            ("shuf -o x y", "o"),
            ("xxd -r a b", "o"),
            ("sed -n 'w x' y", "o"),
            ("sed s/a/b/w\\ x y", "o"),
            ("awk -f x y", "o"),
            ("git log --output=x", "o"),
            ("git -c core.fsmonitor=./x status", "o"),
            ("git stash; git checkout x", "o"),
            ("find . -fprintf x %p", "o"),
            ("find . -name x -exec cp a {} ;", "o"),
            ("tar xf a.tar; chmod +x y; ln a b", "o"),
            ("make -f - <<'E'\nx:\nE", "obp"),
            ("make --eval='x:;cp a b'", "o"),
            ("make CC='sh -c f'; cmake -E copy a b", "obp"),
            ("npm pkg set scripts.build=x; npm run build", "obp"),
            ("npm i http://localhost:1/x.tgz", "ob"),
            ("PATH=$PWD/x:$PATH npm ci", "ob"),
            ("SHELL_COMMAND='cp a b' make", "obp"),
            (
                "python3 -c 'open(\"x\", \"w\")'; node -e 1; echo $(node -e 1)",
                "o",
            ),
            ("cat x | node; python3 - <<'E'\nx\nE", "o"),
            ("echo x | python3 tools/tee.py y", "o"),
            ("echo x | xargs cp a", "o"),
            ("cp -t x y; cp a $D/b", "o y"),
            ("source ./env.sh; eval x; docker run x", "o"),
            ("python3 -m compileall -b src", "o"),
            ("cat a > b/c; echo x | tee -a y", " b/c y"),
            ("(cd x; mv a b) && bash -c 'echo a >> /z'", " x/b /z"),
            ("unclosed '", "o"),
            ("nohup a; setsid b", "os"),
        ] {
            let shown = shown(command);
            if shown.trim_end() != expected {
                wrong.push((command, shown));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
