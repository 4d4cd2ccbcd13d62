//! What a command may write beside what its programs are there to write: the paths that it names, and whatever code that
//! the session itself brings does.
//!
//! A program that is given nothing of the session's own does its own work: it builds, installs, generates. A program that
//! is given code can write anything anywhere, and no text of the command says what.

use shell::ir::{
    Argument, Assigned, Assignment, Command, Kind, Operation, Parameter, Piece, Script, Subject,
    Target, Test, Word,
};
use shell::lower;
use shell::words::names;

use super::beside::is_builder;
use super::changes::{is_device, reads};
use super::programs::{self, Tested, is_in, name_of};
use super::{UNKNOWN, is_unknown, join_folder, own_words, plain_word, plain_words};

/// Texts inside texts and commands inside commands that are followed.
const MAX_DEPTH: usize = 16;

/// Programs that write all files that they name, those that write the last one, and those that make, remove or mark.
const WRITE_ALL: &[&str] = names!("tee touch truncate sed");
const WRITE_LAST: &[&str] = names!("cp mv ln install");
const WRITE_NONE: &[&str] =
    names!("rm rmdir mkdir chmod chown kill pkill ulimit umask wait shopt trap");

/// What one command may write beside the work of its programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Paths that it names as those that it writes.
    pub written: Vec<String>,
    /// It brings code of its own: text for an interpreter, something from the network, a part that only a run knows.
    pub has_code: bool,
    /// What its programs are given and may run, if that is a file.
    pub inputs: Vec<Input>,
    /// It builds, tests or installs what the project says.
    pub builds: bool,
    /// A part of it may run on when it has ended.
    pub stays: bool,
}

/// A word that may be a file with code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The path, as seen from the directory of the command.
    pub path: String,
    /// Who is given it.
    pub role: Role,
}

/// What a program may do with a word that it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It builds, tests or installs: files of the project are what it works on.
    Built,
    /// It is a program itself, or stands where interpreters take their script.
    Script,
    /// Anything.
    Other,
}

/// Reads what a command may write. `own_tests` are test commands of the user.
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
            Err(_) => self.found.has_code = true,
        }
    }

    fn script(&mut self, script: &Script, depth: usize) {
        if depth >= MAX_DEPTH {
            self.found.has_code = true;
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

    /// `is_fed`: it reads what another command prints.
    fn command(&mut self, command: &Command, is_fed: bool, depth: usize) {
        let mut is_fed = is_fed;
        for redirect in &command.redirects {
            match &redirect.target {
                Target::Write(word) | Target::Append(word) => {
                    self.word(word, depth);
                    self.write(&plain_word(word));
                }
                Target::Read(word) => {
                    is_fed = true;
                    self.word(word, depth);
                }
                Target::Here(word) | Target::HereString(word) => {
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

    /// Walks what runs in a shell of its own, whose directory ends with it.
    fn apart(&mut self, walk: impl FnOnce(&mut Self)) {
        let folder = self.folder.clone();
        walk(self);
        self.folder = folder;
    }

    fn simple(&mut self, words: &[String], is_fed: bool, depth: usize) {
        match programs::tested(words, &self.own) {
            Some(Tested::Text(_, text)) => {
                self.found.has_code |= is_unknown(text);
                return self.apart(|walk| walk.text(text, depth + 1));
            }
            Some(Tested::Program(_, arguments)) => return self.build(arguments),
            Some(Tested::Elsewhere) => return,
            None => {}
        }
        let (words, stays) = programs::behind(words);
        self.found.stays |= stays;
        let Some((program, arguments)) = words.split_first() else {
            return;
        };
        let name = name_of(program);
        let mut operands = arguments.iter().filter(|word| !word.starts_with('-'));
        if matches!(name, "cd" | "pushd" | "popd") {
            let target = operands.next().map_or(UNKNOWN, String::as_str);
            self.folder = join_folder(&self.folder, target);
        } else if is_in(WRITE_NONE, name) || reads(words, &self.own) {
            // It writes nothing, or nothing that is loaded.
        } else if is_in(WRITE_LAST, name) {
            operands
                .next_back()
                .into_iter()
                .for_each(|path| self.write(path));
        } else if is_in(WRITE_ALL, name) {
            operands.for_each(|path| self.write(path));
        } else if is_builder(words) {
            let sets_code = |word: &String| {
                word.split_once('=')
                    .is_some_and(|(_, value)| is_code(value))
            };
            self.found.has_code |= arguments.iter().any(sets_code);
            self.build(arguments);
        } else {
            // Behind a pipe or a redirection stands text that the program may run.
            self.found.has_code |= is_fed || words.iter().any(|word| is_code(word));
            let script = operands.next();
            self.inputs(std::slice::from_ref(program), Role::Script);
            for word in arguments {
                let role = match Some(word) == script {
                    true => Role::Script,
                    false => Role::Other,
                };
                self.inputs(std::slice::from_ref(word), role);
            }
        }
    }

    fn build(&mut self, arguments: &[String]) {
        self.found.builds = true;
        self.inputs(arguments, Role::Built);
    }

    fn write(&mut self, path: &str) {
        if is_device(path) && !path.starts_with("/tmp/") {
            return;
        }
        let path = join_folder(&self.folder, path);
        match is_unknown(&path) {
            true => self.found.has_code = true,
            false => self.found.written.push(path),
        }
    }

    fn inputs(&mut self, words: &[String], role: Role) {
        for word in words {
            let joined = word.split_once('=').map(|(_, value)| value);
            let glued = word
                .get(2..)
                .filter(|_| word.starts_with('-') && !word.starts_with("--"));
            let candidates = [Some(word.as_str()), joined, glued];
            let candidates = candidates.into_iter().flatten();
            for path in candidates.filter(|path| !path.is_empty() && !path.starts_with('-')) {
                let path = join_folder(&self.folder, path);
                self.found.inputs.push(Input { path, role });
            }
        }
    }

    fn assigned(&mut self, assignment: &Assignment, depth: usize) {
        match &assignment.value {
            Assigned::Scalar(word) => self.word(word, depth),
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
                self.found.has_code = true;
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
                Piece::Opaque => self.found.has_code = true,
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

/// The words in an expansion that are expanded themselves.
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

/// Returns `true` if a word may be a text that an interpreter runs, or brings what the project does not hold.
fn is_code(word: &str) -> bool {
    word.contains(['(', ')', '{', '}', ';', '\n', '"', '\'', '`'])
        || word.contains("://")
        || word.contains(UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_are_given_code_are_told_from_those_that_do_their_own_work() {
        for (command, has_code) in [
            ("python3 -c 'open(\"x\", \"w\")'", true),
            ("cd src && python3 - <<'E'\nx\nE", true),
            ("cat x | node", true),
            ("echo $(python3 -c 'f()')", true),
            ("FOO=$(node -e 'f()') pytest", true),
            ("[[ $(perl -e 'f()') ]]", true),
            ("bash -c 'node -e \"f()\"'", true),
            ("timeout 5 ruby -e 'f()'", true),
            ("npx node -e 'f()'", true),
            ("npm exec -c 'node -e \"f()\"'", true),
            ("find . -name x -exec cp a {} ;", true),
            ("patch -p1 < x.diff", true),
            ("curl -o a http://localhost/x", true),
            ("make CC='sh -c \"f\"'", true),
            ("python3 $SCRIPT", true),
            ("cp a $D/b", true),
            ("npm ci && npm run build", false),
            ("pip install -e '.[dev]' && python3 -m pip install x", false),
            ("cargo run -- 'a (b)' && ./target/debug/x --help", false),
            ("git commit -m 'a (b)'; git stash; git checkout x", false),
            (
                "mkdir -p build && cd build && cmake .. && make -j$(nproc)",
                false,
            ),
            ("rm -rf build; ls | grep 'a(b)'; cat a > b", false),
            ("python3 tools/gen.py --out gen", false),
            ("pytest -k 'a and (b or c)' | tail -5", false),
            ("sed -n 's/(a)/b/p' x", false),
        ] {
            assert_eq!(effects(command, &[]).has_code, has_code, "{command}");
        }
    }

    #[test]
    fn names_what_is_written_given_and_left_behind() {
        let of = |command: &str| effects(command, &[]);
        for (command, written) in [
            ("cat a > b/c", "b/c"),
            ("cd x && cp a b", "x/b"),
            ("(cd x; :) && mv a /b", "/b"),
            ("if true; then echo x | tee -a y; fi", "y"),
            ("bash -c 'echo a >> z'", "z"),
            ("sed -i s/a/b/ p", "s/a/b/ p"),
            ("x 2>&1 >/dev/null", ""),
        ] {
            assert_eq!(of(command).written.join(" "), written, "{command}");
        }
        let inputs = of("cd a && node s.js -rx --file=y && cargo run -- z").inputs;
        let inputs = inputs.iter().map(|input| (input.path.as_str(), input.role));
        assert_eq!(
            inputs.collect::<Vec<_>>(),
            [
                ("a/node", Role::Script),
                ("a/s.js", Role::Script),
                ("a/x", Role::Other),
                ("a/y", Role::Other),
                ("a/run", Role::Built),
                ("a/z", Role::Built),
            ]
        );
        for (command, stays) in [
            ("a & b", true),
            ("nohup a", true),
            ("setsid a", true),
            ("a; b", false),
        ] {
            assert_eq!(of(command).stays, stays, "{command}");
        }
    }
}
