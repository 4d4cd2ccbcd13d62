//! Expansion and splitting of words into fields. File name patterns stay patterns; the file system is not searched.

use actions::Set;
use protection::processes::PARENT;
use shell::ir::Kind;
use shell::ir::{Argument, Piece, Redirect, Script, Subject, Target, Word};
use shell::value::{ENVIRONMENT, HOLE, joined, unknown};

use super::Evaluator;
use shell::pattern;

/// Fields under construction.
#[derive(Default)]
struct Fields {
    done: Vec<String>,
    open: Option<String>,
}

impl Fields {
    fn add(&mut self, text: &str) {
        let open = self.open.take().unwrap_or_default();
        self.open = Some(joined(open, text));
    }

    fn end(&mut self) {
        self.done.extend(self.open.take());
    }

    fn split(&mut self, text: &str, separators: &str) {
        for (index, piece) in text.split(|one| separators.contains(one)).enumerate() {
            if index > 0 {
                self.end();
            }
            if !piece.is_empty() {
                self.add(piece);
            }
        }
    }
}

impl Evaluator<'_> {
    /// Expands the arguments of a command.
    pub(crate) fn arguments(&mut self, arguments: &[Argument]) -> Vec<String> {
        let mut all = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match argument {
                Argument::Word(word) => match plain(word) {
                    Some(text) => all.push(text.to_owned()),
                    None => all.extend(self.fields(word)),
                },
                Argument::Assignment(assignment) => all.push(self.assignment_text(assignment)),
                Argument::Process {
                    writes,
                    script,
                    glued,
                } => {
                    let mut state = self.state.clone();
                    if *writes {
                        state.descriptors.insert(0, unknown());
                    }
                    let output = self.apart(state, |this| this.script(script)).output;
                    let path = self.world.process_file(output);
                    match all.last_mut().filter(|_| *glued) {
                        Some(last) => last.push_str(&path),
                        None => all.push(path),
                    }
                }
            }
        }
        all
    }

    /// Expands one word to its fields.
    pub(crate) fn fields(&mut self, word: &Word) -> Vec<String> {
        if let Some(text) = plain(word) {
            return vec![text.to_owned()];
        }
        let separators = self.state.get("IFS");
        let separators = separators.as_deref().unwrap_or(" \t\n");
        let mut fields = Fields::default();
        for piece in &word.pieces {
            self.add_piece(&mut fields, piece, separators);
        }
        fields.end();
        let is_quoted = |piece: &Piece| matches!(piece, Piece::Quoted(_) | Piece::Double(_));
        if fields.done.is_empty()
            && word.pieces.iter().any(is_quoted)
            && !word.pieces.iter().any(is_many)
        {
            fields.done.push(String::new());
        }
        fields.done
    }

    fn add_piece(&mut self, fields: &mut Fields, piece: &Piece, separators: &str) {
        match piece {
            Piece::Text(text) | Piece::Quoted(text) => fields.add(text),
            Piece::Double(pieces) => {
                if pieces.is_empty() {
                    fields.add("");
                }
                for piece in pieces {
                    match piece {
                        Piece::Parameter(parameter) if is_many(piece) => {
                            let texts = self.separate(parameter, true).unwrap_or_default();
                            for (index, text) in texts.iter().enumerate() {
                                if index > 0 {
                                    fields.end();
                                }
                                fields.add(text);
                            }
                        }
                        piece => fields.add(&self.piece(piece)),
                    }
                }
            }
            Piece::Parameter(parameter) => match self.separate(parameter, false) {
                Some(texts) => {
                    for (index, text) in texts.iter().enumerate() {
                        if index > 0 {
                            fields.end();
                        }
                        fields.split(text, separators);
                    }
                }
                None => fields.split(&self.parameter(parameter), separators),
            },
            Piece::Command(script) => fields.split(&self.substitution(script), separators),
            other => fields.add(&self.piece(other)),
        }
    }

    /// Expands a word without splitting it.
    pub(crate) fn value(&mut self, word: &Word) -> String {
        if let [Piece::Text(text) | Piece::Quoted(text)] = word.pieces.as_slice() {
            return text.clone();
        }
        let mut whole = String::new();
        for piece in &word.pieces {
            whole = joined(whole, &self.piece(piece));
        }
        whole
    }

    /// Expands a word to a pattern, in which quoted characters are literal.
    pub(crate) fn pattern(&mut self, word: &Word) -> String {
        let mut whole = String::new();
        for piece in &word.pieces {
            let text = self.piece(piece);
            if matches!(piece, Piece::Quoted(_) | Piece::Double(_)) {
                for character in text.chars() {
                    if matches!(character, '*' | '?' | '[' | '\\' | ']' | '(') {
                        whole.push('\\');
                    }
                    whole.push(character);
                }
            } else {
                whole = joined(whole, &text);
            }
        }
        whole
    }

    /// Expands a piece without splitting it.
    fn piece(&mut self, piece: &Piece) -> String {
        match piece {
            Piece::Text(text) | Piece::Quoted(text) => text.clone(),
            Piece::Tilde(name) => match name.as_str() {
                "" => self.home.clone(),
                "+" => self.state.directory.to_string(),
                "-" => ENVIRONMENT.to_string(),
                user => format!("/home/{user}"),
            },
            Piece::Double(pieces) => {
                let mut whole = String::new();
                for piece in pieces {
                    whole = joined(whole, &self.piece(piece));
                }
                whole
            }
            Piece::Parameter(parameter) => match self.separate(parameter, true) {
                Some(texts) => texts.join(" "),
                None => self.parameter(parameter),
            },
            Piece::Command(script) => self.substitution(script),
            Piece::Arithmetic(word) => {
                let text = self.value(word);
                match self.number(&text) {
                    Some(number) => number.to_string(),
                    None if text.contains("PPID") => PARENT.to_owned(),
                    None => ENVIRONMENT.to_string(),
                }
            }
            Piece::Opaque => {
                self.opaque("a part of a word is not understood", "");
                HOLE.to_string()
            }
        }
    }

    fn substitution(&mut self, script: &Script) -> String {
        let state = self.state.clone();
        let before = self.acts();
        let output = self.apart(state, |this| {
            this.deeper(unknown, |this| match file_of(script) {
                Some(Target::Read(word)) => {
                    let path = this.value(word);
                    this.touch(protection::Touch::Read, &path);
                    this.content(&path)
                }
                Some(Target::ReadProcess(script)) => this.script(script).output,
                Some(_) => unknown(),
                None => this.script(script).output,
            })
        });
        // An argument of another command is not part of the answer.
        let inside = self.notes.findings.actions.split_off(before);
        let shows = |id: &str| {
            let action = self.catalog.action(id);
            action.is_some_and(|action| action.set == Set::Secrets)
        };
        let kept = inside.into_iter().filter(|finding| !shows(&finding.action));
        self.notes.findings.actions.extend(kept);
        output.replace('\0', "").trim_end_matches('\n').to_owned()
    }
}

/// Returns the file of `$(<file)`.
fn file_of(script: &Script) -> Option<&Target> {
    let [item] = script.items.as_slice() else {
        return None;
    };
    let [(_, pipeline)] = item.pipelines.as_slice() else {
        return None;
    };
    let [command] = pipeline.commands.as_slice() else {
        return None;
    };
    match (&command.kind, command.redirects.as_slice()) {
        (Kind::Simple { assignments, words }, [Redirect { target, .. }])
            if assignments.is_empty() && words.is_empty() =>
        {
            Some(target)
        }
        _ => None,
    }
}

/// Returns the text of a word without expansions, as most are.
fn plain(word: &Word) -> Option<&str> {
    match word.pieces.as_slice() {
        [Piece::Text(text)] if !pattern::is_active(text) => Some(text),
        [Piece::Quoted(text)] => Some(text),
        _ => None,
    }
}

/// Returns `true` for a piece such as `"$@"`, which is several fields, or none at all.
fn is_many(piece: &Piece) -> bool {
    match piece {
        Piece::Double(inner) => inner.iter().any(is_many),
        Piece::Parameter(parameter) => matches!(
            parameter.subject,
            Subject::All { joined: false } | Subject::Elements { joined: false, .. }
        ),
        _ => false,
    }
}
