//! Program names of a script, at any depth, for the comparison with the second parser. No recursion.

use std::collections::BTreeSet;

use super::ir::{
    Argument, Assigned, Assignment, Command, Kind, Operation, Piece, Script, Subject, Target, Test,
    Word,
};

/// Returns the words in the position of a program, anywhere in the script, if they are literal.
pub fn program_words(script: &Script) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    let mut scripts: Vec<&Script> = vec![script];
    let mut commands: Vec<&Command> = Vec::new();
    let mut words: Vec<&Word> = Vec::new();
    let mut pieces: Vec<&Piece> = Vec::new();
    loop {
        if let Some(script) = scripts.pop() {
            let pipelines = script.items.iter().flat_map(|item| &item.pipelines);
            commands.extend(pipelines.flat_map(|(_, pipeline)| &pipeline.commands));
        } else if let Some(command) = commands.pop() {
            if let Kind::Simple { words: all, .. } = &command.kind {
                names.extend(all.iter().find_map(plain_text));
            }
            parts(command, &mut scripts, &mut commands, &mut words);
        } else if let Some(word) = words.pop() {
            pieces.extend(&word.pieces);
        } else if let Some(piece) = pieces.pop() {
            inside(piece, &mut scripts, &mut words, &mut pieces);
        } else {
            return names;
        }
    }
}

fn plain_text(argument: &Argument) -> Option<&str> {
    let Argument::Word(word) = argument else {
        return None;
    };
    match word.pieces.as_slice() {
        [Piece::Text(text)] => Some(text),
        _ => None,
    }
}

fn parts<'a>(
    command: &'a Command,
    scripts: &mut Vec<&'a Script>,
    commands: &mut Vec<&'a Command>,
    words: &mut Vec<&'a Word>,
) {
    match &command.kind {
        Kind::Simple {
            assignments,
            words: all,
        } => {
            assignments.iter().for_each(|one| assigned(one, words));
            for argument in all {
                match argument {
                    Argument::Word(word) => words.push(word),
                    Argument::Assignment(one) => assigned(one, words),
                    Argument::Process { script, .. } => scripts.push(script),
                }
            }
        }
        Kind::Group(script) | Kind::Subshell(script) => scripts.push(script),
        Kind::If { arms, otherwise } => {
            scripts.extend(arms.iter().flat_map(|(condition, body)| [condition, body]));
            scripts.extend(otherwise);
        }
        Kind::Loop {
            condition, body, ..
        } => scripts.extend([condition, body]),
        Kind::For {
            words: list, body, ..
        } => {
            words.extend(list.iter().flatten());
            scripts.push(body);
        }
        Kind::ArithmeticFor { expressions, body } => {
            words.extend(expressions);
            scripts.push(body);
        }
        Kind::Case { subject, arms } => {
            words.push(subject);
            words.extend(arms.iter().flat_map(|arm| &arm.patterns));
            scripts.extend(arms.iter().map(|arm| &arm.body));
        }
        Kind::Function { body, .. } => commands.push(body),
        Kind::Coprocess { body, .. } => commands.push(body),
        Kind::Test(test) => tested(test, words),
        Kind::Arithmetic(word) => words.push(word),
    }
    for redirect in &command.redirects {
        match &redirect.target {
            Target::ReadProcess(script) | Target::WriteProcess(script) => scripts.push(script),
            Target::Read(word)
            | Target::Write(word)
            | Target::Append(word)
            | Target::Duplicate(word)
            | Target::Here(word)
            | Target::HereString(word) => words.push(word),
        }
    }
}

fn assigned<'a>(assignment: &'a Assignment, words: &mut Vec<&'a Word>) {
    words.extend(&assignment.index);
    match &assignment.value {
        Assigned::Scalar(word) => words.push(word),
        Assigned::Array(elements) => {
            for (key, values) in elements {
                words.extend(key);
                words.extend(values);
            }
        }
    }
}

fn tested<'a>(test: &'a Test, words: &mut Vec<&'a Word>) {
    match test {
        Test::And(left, right) | Test::Or(left, right) => {
            tested(left, words);
            tested(right, words);
        }
        Test::Not(inner) => tested(inner, words),
        Test::Unary(_, word) => words.push(word),
        Test::Binary(_, left, right) => words.extend([left, right]),
    }
}

fn inside<'a>(
    piece: &'a Piece,
    scripts: &mut Vec<&'a Script>,
    words: &mut Vec<&'a Word>,
    pieces: &mut Vec<&'a Piece>,
) {
    match piece {
        Piece::Double(inner) => pieces.extend(inner),
        Piece::Command(script) => scripts.push(script),
        Piece::Arithmetic(word) => words.push(word),
        Piece::Parameter(parameter) => {
            if let Subject::Element(_, word) = &parameter.subject {
                words.push(word);
            }
            match &parameter.operation {
                Operation::Default { word, .. }
                | Operation::Alternative { word, .. }
                | Operation::Required(word) => {
                    words.push(word);
                }
                Operation::RemovePrefix { pattern, .. }
                | Operation::RemoveSuffix { pattern, .. } => words.push(pattern),
                Operation::Substring { offset, length } => {
                    words.push(offset);
                    words.extend(length);
                }
                Operation::Replace {
                    pattern,
                    replacement,
                    ..
                } => {
                    words.extend([pattern, replacement]);
                }
                _ => {}
            }
        }
        Piece::Text(_) | Piece::Quoted(_) | Piece::Tilde(_) | Piece::Opaque => {}
    }
}
