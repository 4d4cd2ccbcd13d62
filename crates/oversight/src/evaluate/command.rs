//! Compound commands and pipelines. Every branch is walked; a condition that is known only decides whose effects stay.

use crate::shell::ir::{Arm, ArmEnd, Command, Connector, Kind, Pipeline, Script, Word};
use crate::value::Value;

use super::{Evaluator, Outcome, pattern};

/// More variables than this are not copied for every round.
const MAX_COPIED: usize = 64;

/// Rounds of a loop that may be its last ones are not told apart beyond these.
const MAX_LEFT: usize = 3;

/// Rounds of a loop whose end is known to come.
const MAX_ROUNDS: usize = 64;

/// Rounds of a loop that nobody can count.
const BLIND_ROUNDS: usize = 2;

impl Evaluator<'_> {
    pub(crate) fn script(&mut self, script: &Script) -> Outcome {
        let mut all = Outcome::quiet(Some(true));
        // Where `break` or `return` may have left, with what was known there.
        let mut left: Vec<super::state::State> = Vec::new();
        for (index, item) in script.items.iter().enumerate() {
            if item.beside {
                let state = self.state.clone();
                let outcome = self.apart(state, |this| this.item(item));
                all.output = all.output.followed(outcome.output);
                all.status = Some(true);
                continue;
            }
            let jumps = self.jumps;
            let outcome = self.item(item);
            all.output = all.output.followed(outcome.output);
            all.status = outcome.status;
            let last = index.saturating_add(1) == script.items.len();
            if self.jumps != jumps && !last && left.len() < 2 {
                left.push(self.state.clone());
            }
        }
        for state in left {
            self.state.join(state);
        }
        all
    }

    /// Pipelines with `&&` and `||` between.
    fn item(&mut self, item: &crate::shell::ir::Item) -> Outcome {
        let mut all = Outcome::quiet(Some(true));
        let mut status = Some(true);
        // What follows `&&` runs only after what stands before it: its effects hold to the end of the chain.
        let mut otherwise: Vec<super::state::State> = Vec::new();
        let mut files = None;
        for (connector, pipeline) in &item.pipelines {
            let runs = match (connector, status) {
                (Connector::First, _) => Some(true),
                (_, None) => None,
                (Connector::And, Some(before)) => Some(before),
                (Connector::Or, Some(before)) => Some(!before),
            };
            let chained = *connector == Connector::And && runs.is_none();
            let outcome = if chained {
                if otherwise.len() < 2 {
                    otherwise.push(self.state.clone());
                }
                files = files.or_else(|| Some(self.begin_chain()));
                self.pipeline(pipeline)
            } else {
                for before in otherwise.drain(..) {
                    self.state.join(before);
                }
                self.end_chain(files.take());
                self.branch(runs, |this| this.pipeline(pipeline))
            };
            if runs == Some(true) {
                status = outcome.status;
            } else if runs.is_none() {
                status = None;
            }
            all.output = match (runs, connector) {
                (Some(_), _) | (None, Connector::First) => all.output.followed(outcome.output),
                _ if outcome.output == Value::empty() => all.output,
                (None, Connector::And) => {
                    let both = all.output.then(&outcome.output);
                    all.output.or(&both)
                }
                // What fails seldom prints anything: then this one alone is all.
                (None, Connector::Or) => {
                    let both = all.output.then(&outcome.output);
                    all.output.or(&outcome.output).or(&both)
                }
            };
        }
        for before in otherwise {
            self.state.join(before);
        }
        self.end_chain(files);
        all.status = status;
        all
    }

    /// Walks a branch: certainly taken, certainly not (its effects are dropped), or perhaps (they are joined).
    fn branch(&mut self, taken: Option<bool>, walk: impl FnOnce(&mut Self) -> Outcome) -> Outcome {
        match taken {
            Some(true) => walk(self),
            Some(false) => {
                let state = self.state.clone();
                self.unsurely(|this| this.apart(state, walk));
                Outcome::quiet(None)
            }
            None => {
                let before = self.state.clone();
                let outcome = self.unsurely(walk);
                self.state.join(before);
                outcome
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Outcome {
        let mut outcome = match pipeline.commands.as_slice() {
            [only] => self.command(only),
            commands => self.piped(commands),
        };
        if pipeline.negated {
            outcome.status = outcome.status.map(|success| !success);
        }
        outcome
    }

    fn piped(&mut self, commands: &[Command]) -> Outcome {
        let mut outcome = Outcome::quiet(None);
        for (index, command) in commands.iter().enumerate() {
            let mut state = self.state.clone();
            if index > 0 {
                state.input = Some(outcome.output);
            }
            if self.state.last_pipe && index.saturating_add(1) == commands.len() {
                let input = std::mem::replace(&mut self.state.input, state.input);
                outcome = self.command(command);
                self.state.input = input;
                break;
            }
            outcome = self.apart(state, |this| this.command(command));
        }
        outcome
    }

    pub(crate) fn command(&mut self, command: &Command) -> Outcome {
        if !self.step() {
            return Outcome::unknown();
        }
        if self.texts == 0 && command.span.is_some() {
            self.span = command.span;
        }
        self.deeper(Outcome::unknown, |this| match &command.kind {
            Kind::Simple { assignments, words } => {
                this.simple(assignments, words, &command.redirects)
            }
            Kind::Function { name, body } => {
                this.state.define(name, body.clone());
                if name == "command_not_found_handle" {
                    this.perhaps(|this| this.command(body));
                }
                Outcome::quiet(Some(true))
            }
            kind => {
                let jumps = this.jumps;
                let outcome = this.redirected(&command.redirects, |this| this.compound(kind));
                if matches!(
                    kind,
                    Kind::Loop { .. } | Kind::For { .. } | Kind::ArithmeticFor { .. }
                ) {
                    this.jumps = jumps;
                }
                outcome
            }
        })
    }

    fn compound(&mut self, kind: &Kind) -> Outcome {
        match kind {
            Kind::Simple { .. } | Kind::Function { .. } => Outcome::quiet(None),
            Kind::Group(script) => self.script(script),
            Kind::Subshell(script) => {
                let state = self.state.clone();
                self.apart(state, |this| this.script(script))
            }
            Kind::If { arms, otherwise } => self.choose(arms, otherwise.as_ref()),
            Kind::Loop {
                condition,
                until,
                body,
            } => self.repeat(condition, *until, body),
            Kind::For {
                variable,
                words,
                body,
            } => self.each(variable, words.as_deref(), body),
            Kind::ArithmeticFor { expressions, body } => self.count(expressions, body),
            Kind::Case { subject, arms } => self.case(subject, arms),
            Kind::Test(test) => Outcome::quiet(self.test(test)),
            Kind::Arithmetic(word) => {
                Outcome::quiet(self.arithmetic(word).map(|number| number != 0))
            }
            Kind::Coprocess { name, body } => {
                let state = self.state.clone();
                let output = self.apart(state, |this| this.command(body)).output;
                self.coprocess = Some(body.clone());
                self.state.descriptors.insert(63, output);
                let ends = [("0", "63"), ("1", "60")];
                let ends = ends.map(|(key, number)| (key.to_owned(), Value::text(number)));
                self.state.set_array(name, ends.to_vec());
                Outcome::quiet(Some(true))
            }
        }
    }

    /// One of several ways: what it prints, and what is known behind it.
    fn way(&mut self, body: &Script) -> (Value, super::state::State) {
        let state = self.state.clone();
        self.unsurely(|this| {
            this.apart(state, |this| {
                let outcome = this.script(body);
                (outcome.output, this.state.clone())
            })
        })
    }

    fn choose(&mut self, arms: &[(Script, Script)], otherwise: Option<&Script>) -> Outcome {
        let mut ways = Vec::new();
        let mut open = true;
        let mut output = Value::empty();
        for (condition, body) in arms {
            let tested = self.script(condition);
            let status = tested.status;
            output = output.followed(tested.output);
            let (printed, after) = self.way(body);
            let printed = output.then(&printed);
            if open && status != Some(false) {
                ways.push(after);
                output = output.or(&printed);
            }
            open &= status != Some(true);
        }
        if let Some(body) = otherwise {
            let (printed, after) = self.way(body);
            if open {
                ways.push(after);
                output = output.or(&printed);
            }
        } else if open {
            ways.push(self.state.clone());
        }
        let mut ways = ways.into_iter();
        if let Some(first) = ways.next() {
            self.state = first;
        }
        for way in ways {
            self.state.join(way);
        }
        Outcome {
            status: None,
            output,
        }
    }

    fn repeat(&mut self, condition: &Script, until: bool, body: &Script) -> Outcome {
        let holds = |this: &mut Self| {
            let tested = this.script(condition);
            let holds = tested.status.map(|holds| holds != until);
            (holds, tested.output)
        };
        self.rounds(body, holds, |_| ())
    }

    /// `for ((first; condition; next))`.
    fn count(&mut self, expressions: &[Word], body: &Script) -> Outcome {
        if let Some(first) = expressions.first() {
            self.arithmetic(first);
        }
        let holds = |this: &mut Self| {
            let condition = expressions.get(1);
            let number = condition.and_then(|condition| this.arithmetic(condition));
            (number.map(|number| number != 0), Value::empty())
        };
        self.rounds(body, holds, |this| {
            if let Some(next) = expressions.get(2) {
                this.arithmetic(next);
            }
        })
    }

    /// Remembers a round that may be the last one, unless that would mean copying very much.
    fn leave(&self, left: &mut Vec<super::state::State>) {
        if left.len() < MAX_LEFT && self.state.variables.len() < MAX_COPIED {
            left.push(self.state.clone());
        }
    }

    /// A loop as long as something holds, with what is done behind each round.
    fn rounds(
        &mut self,
        body: &Script,
        holds: impl Fn(&mut Self) -> (Option<bool>, Value),
        next: impl Fn(&mut Self),
    ) -> Outcome {
        let mut output = Value::empty();
        let mut blind = 0;
        let mut left: Vec<super::state::State> = Vec::new();
        for round in 0..MAX_ROUNDS {
            let start = self.state.clone();
            let (status, printed) = holds(self);
            output = output.followed(printed);
            let before = self.state.clone();
            if status == Some(false) {
                if round == 0 {
                    self.unsurely(|this| this.apart(before, |this| this.script(body)));
                }
                break;
            }
            let jumps = self.jumps;
            output = output.followed(self.script(body).output);
            if self.jumps != jumps {
                self.leave(&mut left);
            }
            next(self);
            if status.is_none() {
                self.state.join(before.clone());
                blind += 1;
            }
            if blind >= BLIND_ROUNDS || round.saturating_add(1) == MAX_ROUNDS || !self.step() {
                self.state.widen(&start);
                // One more round stands for all that may follow.
                let wide = self.state.clone();
                output = output.followed(holds(self).1);
                output = output.followed(self.script(body).output);
                self.state.join(wide);
                output = output.followed(Value::unknown());
                break;
            }
        }
        for state in left {
            self.state.join(state);
        }
        Outcome {
            status: None,
            output,
        }
    }

    fn each(&mut self, variable: &str, words: Option<&[Word]>, body: &Script) -> Outcome {
        let values: Vec<String> = match words {
            None => self.state.positional.clone(),
            Some(words) => {
                let mut all = Vec::new();
                for word in words {
                    let ways = self.fields(word);
                    all.extend(ways.into_iter().flatten());
                }
                all
            }
        };
        let mut output = Value::empty();
        // A loop may end in any round that has a `break` in it.
        let mut left: Vec<super::state::State> = Vec::new();
        if values.is_empty() {
            let state = self.state.clone();
            self.unsurely(|this| this.apart(state, |this| this.script(body)));
        }
        let many = values.len() > MAX_ROUNDS;
        let refers = self.state.variables.get(variable);
        let refers = refers.is_some_and(|variable| variable.reference);
        for value in values.into_iter().take(MAX_ROUNDS) {
            if refers {
                // `declare -n r; for r in 'a[$(cmd)]'`: each round refers to another name.
                self.subscripted(&value);
            }
            self.state.set(variable, Value::text(value), false);
            let jumps = self.jumps;
            output = output.followed(self.script(body).output);
            if self.jumps != jumps {
                self.leave(&mut left);
            }
            if !self.step() {
                break;
            }
        }
        for state in left {
            self.state.join(state);
        }
        if many {
            self.state.set(variable, Value::unknown(), false);
            output = output.followed(self.script(body).output);
        }
        Outcome {
            status: None,
            output,
        }
    }

    fn case(&mut self, subject: &Word, arms: &[Arm]) -> Outcome {
        let subject = self.value(subject);
        let mut decided = false;
        let mut falls = false;
        let mut output = Value::empty();
        let mut ways = Vec::new();
        for arm in arms {
            let patterns: Vec<Value> = arm.patterns.iter().map(|word| self.pattern(word)).collect();
            let fits = match subject.known() {
                // A pattern may match in another case then.
                _ if self.state.any_case => true,
                Some(text) => patterns.iter().any(|one| {
                    one.possibilities()
                        .iter()
                        .any(|way| pattern::matches(way, text))
                }),
                None => true,
            };
            let (printed, after) = self.way(&arm.body);
            if (fits && !decided) || falls {
                falls = arm.end == ArmEnd::Next;
                if falls || (arm.end == ArmEnd::Others && subject.known().is_some()) {
                    // What follows runs after it.
                    self.state = after;
                    output = output.followed(printed);
                    continue;
                }
                ways.push(after);
                output = output.or(&printed);
                decided |= subject.known().is_some() && !self.state.any_case;
            }
        }
        if !decided {
            ways.push(self.state.clone());
        }
        let mut ways = ways.into_iter();
        if let Some(first) = ways.next() {
            self.state = first;
        }
        for way in ways {
            self.state.join(way);
        }
        Outcome {
            status: None,
            output,
        }
    }
}
