//! Words become fields: expansion, splitting and file names, in every combination that is possible.

use crate::actions::Set;
use crate::lookup::{absolute, base_name, directory_of};
use crate::shell::ir::{Argument, Piece, Word};
use crate::value::{HOLE, Value, has_hole};

use super::field::{Field, Part, Way, add_text, copy, escape_into, separated, split_all};
use super::{Evaluator, pattern};

/// More combinations of fields than this are not told apart.
const MAX_WAYS: usize = 16;

/// More files than this are not named one by one.
const MAX_FILES: usize = 256;

impl Evaluator<'_> {
    /// Every way to read the words of a command.
    pub(crate) fn arguments(&mut self, arguments: &[Argument]) -> Vec<Vec<String>> {
        let mut ways: Vec<Vec<String>> = vec![Vec::new()];
        for argument in arguments {
            let next = match argument {
                Argument::Word(word) => {
                    if let Some(text) = plain(word) {
                        ways.iter_mut().for_each(|way| way.push(text.to_owned()));
                        continue;
                    }
                    self.fields(word)
                }
                Argument::Assignment(assignment) => {
                    let texts = self.assignment_texts(assignment);
                    texts.into_iter().map(|text| vec![text]).collect()
                }
                Argument::Process {
                    writes,
                    script,
                    glued,
                } => {
                    let mut state = self.state.clone();
                    if *writes {
                        state.input = Some(Value::unknown());
                    }
                    let output = self.apart(state, |this| this.script(script)).output;
                    let path = self.virtual_file(output);
                    if *writes {
                        self.readers.push(path.clone());
                    }
                    if *glued {
                        let ends = ways.iter_mut().filter_map(|way| way.last_mut());
                        ends.for_each(|word| word.push_str(&path));
                        continue;
                    }
                    vec![vec![path]]
                }
            };
            ways = combine(ways, &next);
        }
        ways
    }

    /// Every way to read one word, as fields.
    pub(crate) fn fields(&mut self, word: &Word) -> Vec<Vec<String>> {
        if let Some(text) = plain(word) {
            return vec![vec![text.to_owned()]];
        }
        // A word in double quotes is one field, unless there is a `$@` in it.
        let mut first = None;
        if let [Piece::Double(pieces)] = word.pieces.as_slice() {
            let ways = self.double(pieces);
            if ways
                .iter()
                .all(|way| matches!(way.as_slice(), [Part::Text { .. }]))
            {
                let texts = ways.into_iter().flatten().filter_map(Part::into_text);
                return texts.map(|text| vec![text]).collect();
            }
            first = Some(ways);
        }
        let separators = if word.pieces.iter().any(is_split) {
            let ifs = self.state.get("IFS");
            ifs.map_or_else(String::new, |ifs| ifs.first().to_owned())
        } else {
            String::new()
        };
        let mut ways = vec![Way::default()];
        for piece in &word.pieces {
            let parts = first.take().unwrap_or_else(|| self.parts(piece, false));
            if let ([way], [part]) = (ways.as_mut_slice(), parts.as_slice()) {
                part.iter().for_each(|one| way.add(one, &separators));
                continue;
            }
            let mut next = Vec::new();
            for way in &ways {
                for part in &parts {
                    let mut way = way.clone();
                    for one in part {
                        way.add(one, &separators);
                    }
                    next.push(way);
                }
            }
            ways = bounded(next, || {
                let mut way = Way::default();
                way.add(&unknown(), &separators);
                way
            });
        }
        let quoted = word.pieces.iter().any(is_quoted);
        let mut all: Vec<Vec<String>> = Vec::new();
        for way in ways {
            let mut fields = way.finish();
            if fields.is_empty() && quoted && !has_many(&word.pieces) {
                fields.push(Field::default());
            }
            all.extend(self.file_names(fields));
        }
        bounded(all, || vec![HOLE.to_string()])
    }

    /// Resolves stars against files that are known, and against programs that matter.
    fn file_names(&self, fields: Vec<Field>) -> Vec<Vec<String>> {
        let mut ways = vec![Vec::new()];
        for field in fields {
            let choices = if pattern::is_active(&field.pattern) && !has_hole(&field.text) {
                self.globbed(&field)
            } else {
                vec![vec![field.text]]
            };
            ways = combine(ways, &choices);
        }
        ways
    }

    fn globbed(&self, field: &Field) -> Vec<Vec<String>> {
        let found = self.matching_files(&field.pattern);
        // `/???/bin/gi[t]`: where programs lie. Which else there are differs between machines.
        let name = base_name(&field.pattern);
        let wild = directory_of(&field.pattern);
        let place = ["/usr/bin", "/bin", "/usr/local/bin"]
            .into_iter()
            .find(|place| pattern::matches(wild, place));
        let is_wild = pattern::is_active(wild) && place.is_some();
        if !found.is_empty() && !is_wild {
            return vec![found];
        }
        let none = found.is_empty();
        let known = Some(found).filter(|found| !found.is_empty());
        let mut ways = vec![known.unwrap_or_else(|| vec![field.text.clone()])];
        if none && self.state.null_glob {
            ways.insert(0, Vec::new());
        }
        // `src/*` names files. Where programs lie any name may be theirs.
        let lettered = name.contains(|one: char| one.is_ascii_alphabetic());
        // `*/` names directories.
        let names_file = !field.pattern.ends_with('/');
        let place_of_programs = wild.ends_with("bin") || is_wild;
        if names_file && field.text.contains('/') && (lettered || place_of_programs) {
            let directory = place.unwrap_or_else(|| directory_of(&field.text));
            let programs = self.catalog.programs();
            ways.extend(
                programs
                    .filter(|program| {
                        (is_wild || pattern::is_active(name)) && pattern::matches(name, program)
                    })
                    .map(|program| vec![format!("{directory}/{program}")]),
            );
            if ways.len() > MAX_WAYS {
                ways.truncate(MAX_WAYS - 1);
                ways.push(vec![HOLE.to_string()]);
            }
        }
        ways
    }

    /// Names of files that match, sorted, as they would be written. Where there are too many, the last is unknown.
    pub(crate) fn matching_files(&self, wanted: &str) -> Vec<String> {
        let rooted = wanted.starts_with('/');
        let mut found = vec![String::new()];
        let mut is_cut = false;
        for part in wanted.split('/').filter(|part| !part.is_empty()) {
            let mut next = Vec::new();
            for before in &found {
                let join = |name: &str| match (before.is_empty(), rooted) {
                    (true, true) => format!("/{name}"),
                    (true, false) => name.to_owned(),
                    (false, _) => format!("{before}/{name}"),
                };
                if !pattern::is_active(part) {
                    next.push(join(&part.replace('\\', "")));
                    continue;
                }
                let directory = absolute(
                    &self.state.directory,
                    if before.is_empty() {
                        if rooted { "/" } else { "." }
                    } else {
                        before
                    },
                );
                let names = self.names_in(&directory);
                next.extend(
                    names
                        .iter()
                        .filter(|name| !name.starts_with('.') && pattern::matches(part, name))
                        .map(|name| join(name)),
                );
                is_cut |= next.len() > MAX_FILES;
                next.truncate(MAX_FILES);
            }
            found = next;
        }
        found.retain(|path| self.exists(&absolute(&self.state.directory, path)));
        found.sort();
        if is_cut {
            found.push(HOLE.to_string());
        }
        found
    }

    /// The text of a word where it is not split.
    pub(crate) fn value(&mut self, word: &Word) -> Value {
        self.joined(word, false)
    }

    /// The text of a word as a pattern: what was quoted means itself.
    pub(crate) fn pattern(&mut self, word: &Word) -> Value {
        self.joined(word, true)
    }

    fn joined(&mut self, word: &Word, as_pattern: bool) -> Value {
        match word.pieces.as_slice() {
            [Piece::Text(text)] => return Value::text(text.clone()),
            [Piece::Quoted(text)] if !as_pattern => return Value::text(text.clone()),
            [Piece::Command(script)] => return self.substitution(script),
            _ => {}
        }
        let mut whole = Value::empty();
        for piece in &word.pieces {
            let quoted = is_quoted(piece);
            let ways = self.parts(piece, true).into_iter().map(|parts| {
                let mut text = String::new();
                for part in parts {
                    match part {
                        Part::Text { text: more, .. } | Part::Split(more) => {
                            escape_into(&mut text, &more, !(as_pattern && quoted));
                        }
                        Part::Many(texts) => text.push_str(&texts.join(" ")),
                    }
                }
                text
            });
            whole = whole.then(&Value::one_of(ways));
        }
        whole
    }

    /// What a piece can add, one list of parts for each possibility.
    fn parts(&mut self, piece: &Piece, together: bool) -> Vec<Vec<Part>> {
        let whole = |text: &str, active| {
            vec![vec![Part::Text {
                text: text.to_owned(),
                active,
            }]]
        };
        match piece {
            Piece::Text(text) => whole(text, true),
            Piece::Quoted(text) => whole(text, false),
            Piece::Tilde(name) => whole(&self.tilde(name), false),
            Piece::Double(pieces) => self.double(pieces),
            Piece::Parameter(parameter) => {
                if let Some(texts) = self.separate(parameter, false) {
                    return texts.into_iter().map(|fields| separated(&fields)).collect();
                }
                split_all(&self.parameter(parameter), together)
            }
            Piece::Command(script) => {
                let output = self.substitution(script);
                split_all(&output, together)
            }
            Piece::Arithmetic(word) => {
                let value = match self.arithmetic(word) {
                    Some(number) => Value::text(number.to_string()),
                    None => Value::environment(),
                };
                split_all(&value, together)
            }
            Piece::Opaque => {
                self.opaque("a part of a word is not understood", "");
                split_all(&Value::unknown(), together)
            }
        }
    }

    fn double(&mut self, pieces: &[Piece]) -> Vec<Vec<Part>> {
        let mut ways: Vec<Vec<Part>> = vec![Vec::new()];
        for piece in pieces {
            let mut choices: Vec<String> = match piece {
                Piece::Parameter(parameter) => match self.separate(parameter, true) {
                    Some(texts) => {
                        let mut next = Vec::new();
                        for way in &ways {
                            for fields in &texts {
                                let mut way = copy(way);
                                way.push(Part::Many(fields.clone()));
                                next.push(way);
                            }
                        }
                        ways = bounded(next, || vec![unknown()]);
                        continue;
                    }
                    None => self.parameter(parameter).into_possibilities(),
                },
                Piece::Text(text) | Piece::Quoted(text) => vec![text.clone()],
                Piece::Command(script) => self.substitution(script).into_possibilities(),
                Piece::Arithmetic(word) => vec![self.arithmetic(word).map_or_else(
                    || crate::value::ENVIRONMENT.to_string(),
                    |number| number.to_string(),
                )],
                other => {
                    let word = Word {
                        pieces: vec![other.clone()],
                        span: None,
                    };
                    self.value(&word).into_possibilities()
                }
            };
            if let ([way], [choice]) = (ways.as_mut_slice(), choices.as_mut_slice()) {
                add_text(way, std::mem::take(choice));
                continue;
            }
            let mut next = Vec::new();
            for way in &ways {
                for choice in &choices {
                    let mut way = copy(way);
                    way.push(Part::Text {
                        text: choice.clone(),
                        active: false,
                    });
                    next.push(way);
                }
            }
            ways = bounded(next, || vec![unknown()]);
        }
        ways
    }

    fn substitution(&mut self, script: &crate::shell::ir::Script) -> Value {
        let state = self.state.clone();
        let before = self.findings.actions.len();
        let output = self.apart(state, |this| {
            this.deeper(Value::unknown, |this| match this.file_of(script) {
                Some(content) => content,
                None => this.script(script).output,
            })
        });
        // What becomes a word of another command does not stand in the answer.
        if self.findings.actions.len() > before {
            let catalog = self.catalog;
            let inside = self.findings.actions.split_off(before);
            let stays = |id: &str| {
                catalog
                    .action(id)
                    .is_none_or(|action| action.set != Set::Secrets)
            };
            let kept = inside.into_iter().filter(|finding| stays(&finding.action));
            self.findings.actions.extend(kept);
        }
        let odd = |text: &String| text.ends_with('\n') || text.contains('\0');
        if output.possibilities().iter().any(odd) {
            output.map(|text| text.replace('\0', "").trim_end_matches('\n').to_owned())
        } else {
            output
        }
    }

    fn tilde(&self, name: &str) -> String {
        match name {
            "" => self.home.clone(),
            "+" => self.state.directory.to_string(),
            "-" => crate::value::ENVIRONMENT.to_string(),
            user => format!("/home/{user}"),
        }
    }
}

/// The text of a word that stands for itself, as most do.
fn plain(word: &Word) -> Option<&str> {
    match word.pieces.as_slice() {
        [Piece::Text(text)] if !pattern::is_active(text) => Some(text),
        [Piece::Quoted(text)] => Some(text),
        _ => None,
    }
}

/// Whether what the piece expands to is split into fields.
fn is_split(piece: &Piece) -> bool {
    !matches!(
        piece,
        Piece::Text(_) | Piece::Quoted(_) | Piece::Tilde(_) | Piece::Double(_)
    )
}

fn is_quoted(piece: &Piece) -> bool {
    matches!(piece, Piece::Quoted(_) | Piece::Double(_))
}

/// `"$@"` of nothing is no field at all.
fn has_many(pieces: &[Piece]) -> bool {
    use crate::shell::ir::Subject;
    pieces.iter().any(|piece| match piece {
        Piece::Double(inner) => has_many(inner),
        Piece::Parameter(parameter) => matches!(
            parameter.subject,
            Subject::All { joined: false } | Subject::Elements { joined: false, .. }
        ),
        _ => false,
    })
}

/// Every way before with every way after.
/// Where there are more ways than are told apart, one of them is unknown: whatever was left out may be the one.
fn bounded<T>(mut ways: Vec<T>, unknown: impl FnOnce() -> T) -> Vec<T> {
    if ways.len() > MAX_WAYS {
        ways.truncate(MAX_WAYS - 1);
        ways.push(unknown());
    }
    ways
}

fn unknown() -> Part {
    Part::Text {
        text: HOLE.to_string(),
        active: false,
    }
}

fn combine(before: Vec<Vec<String>>, after: &[Vec<String>]) -> Vec<Vec<String>> {
    if let [only] = after {
        let mut before = before;
        for way in &mut before {
            way.extend(only.iter().cloned());
        }
        return before;
    }
    if before.len().saturating_mul(after.len()) > MAX_WAYS {
        return combine(before, &[vec![HOLE.to_string()]]);
    }
    let mut all = Vec::new();
    for way in &before {
        for more in after {
            let mut way = way.clone();
            way.extend(more.iter().cloned());
            all.push(way);
        }
    }
    all
}

/// Every way to read several values, as far as they are few.
pub(super) fn choices(values: &[Value]) -> Vec<Vec<String>> {
    let mut ways: Vec<Vec<String>> = vec![Vec::new()];
    for value in values {
        let unknown = [HOLE.to_string()];
        let choices = match value.possibilities() {
            many if many.len().saturating_mul(ways.len()) > 8 => &unknown,
            few => few,
        };
        ways = ways
            .iter()
            .flat_map(|way| {
                choices.iter().map(|choice| {
                    let mut way = way.clone();
                    way.push(choice.clone());
                    way
                })
            })
            .collect();
    }
    ways
}
