//! Compound commands and pipelines. Every branch is walked, and the resulting states are joined.

use shell::ir::{Arm, Command, Connector, Item, Kind, Pipeline, Script, Test, Word};
use shell::value::{either, joined, part_of, unknown};

use super::state::Stored;
use super::{Evaluator, Outcome, budget};

/// Functions that a shell calls by itself.
const CALLED_BY_SHELL: &[&str] = shell::words::names!(
    "command_not_found_handle command_not_found_handler precmd preexec chpwd periodic zshexit zshaddhistory \
    fish_command_not_found fish_prompt fish_greeting"
);

impl Evaluator<'_> {
    pub(crate) fn script(&mut self, script: &Script) -> Outcome {
        let mut all = Outcome::quiet(Some(true));
        for item in &script.items {
            let outcome = if item.beside {
                let state = self.state.clone();
                self.apart(state, |this| this.item(item))
            } else {
                self.item(item)
            };
            all.output = joined(all.output, &outcome.output);
            all.status = outcome.status.filter(|_| !item.beside);
        }
        all
    }

    /// Evaluates pipelines with `&&` and `||` between them.
    fn item(&mut self, item: &Item) -> Outcome {
        if let [(_, only)] = item.pipelines.as_slice() {
            return self.pipeline(only);
        }
        let mut all = Outcome::quiet(Some(true));
        // The command after `&&` runs only after the one before it: the effects of that hold to the end of the chain.
        let mut otherwise = None;
        for (connector, pipeline) in &item.pipelines {
            let runs = match (connector, all.status) {
                (Connector::First, _) => Some(true),
                (_, None) => None,
                (Connector::And, Some(before)) => Some(before),
                (Connector::Or, Some(before)) => Some(!before),
            };
            let before = (runs != Some(true)).then(|| self.state.clone());
            if *connector == Connector::Or
                && let Some(other) = otherwise.take()
            {
                self.state.join(other);
            }
            let outcome = match runs {
                Some(true) => self.pipeline(pipeline),
                _ => self.unsurely(|this| this.pipeline(pipeline)),
            };
            match (connector, runs) {
                (_, Some(true)) => all.output = joined(all.output, &outcome.output),
                // It is unknown which of them prints.
                _ => all.output = either(&all.output, &joined(all.output.clone(), &outcome.output)),
            }
            all.status = outcome.status.filter(|_| runs == Some(true));
            match (connector, before) {
                (Connector::And, Some(before)) => drop(otherwise.get_or_insert(before)),
                (_, Some(before)) => self.state.join(before),
                (_, None) => {}
            }
        }
        if let Some(other) = otherwise {
            self.state.join(other);
        }
        all
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
                state.descriptors.insert(0, outcome.output);
            }
            if self.state.last_pipe && index.saturating_add(1) == commands.len() {
                self.state = state;
                outcome = self.command(command);
                self.state.descriptors.remove(&0);
                break;
            }
            outcome = self.apart(state, |this| this.command(command));
        }
        outcome.status = None;
        outcome
    }

    pub(crate) fn command(&mut self, command: &Command) -> Outcome {
        if !self.step() {
            return Outcome::unknown();
        }
        if self.notes.texts == 0 && command.span.is_some() {
            self.notes.span = command.span;
        }
        let outcome = self.deeper(Outcome::unknown, |this| match &command.kind {
            Kind::Simple { assignments, words } => {
                this.simple(assignments, words, &command.redirects)
            }
            Kind::Function { name, body } => {
                let bodies = vec![Some(body.clone())];
                std::rc::Rc::make_mut(&mut this.state.functions).insert(name.clone(), bodies);
                if CALLED_BY_SHELL.contains(&name.as_str()) || name.starts_with("TRAP") {
                    this.opaque("the shell itself calls this function", name);
                    let state = this.state.clone();
                    this.apart(state, |this| this.run(std::slice::from_ref(name)));
                }
                Outcome::quiet(Some(true))
            }
            kind => this.redirected(&command.redirects, |this| this.compound(kind)),
        });
        if !self.world.traps.is_empty() {
            self.fire_traps();
        }
        outcome
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
                condition, body, ..
            } => self.rounds(|this| {
                let first = this.script(condition).output;
                joined(first, &this.script(body).output)
            }),
            Kind::For {
                variable,
                words,
                body,
            } => self.each(variable, words.as_deref(), body),
            Kind::ArithmeticFor { expressions, body } => self.rounds(|this| {
                for expression in expressions {
                    this.arithmetic(expression);
                }
                this.script(body).output
            }),
            Kind::Case { subject, arms } => self.case(subject, arms),
            Kind::Test(test) => {
                self.test(test);
                Outcome::quiet(None)
            }
            Kind::Arithmetic(word) => {
                self.arithmetic(word);
                Outcome::quiet(None)
            }
            Kind::Coprocess { name, body } => {
                let mut state = self.state.clone();
                state.descriptors.insert(0, unknown());
                self.apart(state, |this| this.command(body));
                self.state.set(name, unknown(), false);
                Outcome::quiet(Some(true))
            }
        }
    }

    fn choose(&mut self, arms: &[(Script, Script)], otherwise: Option<&Script>) -> Outcome {
        let mut after = None;
        let mut outputs = Vec::new();
        let mut tested = String::new();
        let bodies = arms
            .iter()
            .map(|(condition, body)| (Some(condition), Some(body)));
        for (condition, body) in bodies.chain([(None, otherwise)]) {
            if let Some(condition) = condition {
                tested = joined(tested, &self.script(condition).output);
            }
            let before = self.state.clone();
            let output = self.unsurely(|this| body.map(|body| this.script(body).output));
            let output = output.unwrap_or_default();
            outputs.push(joined(tested.clone(), &output));
            self.way(before, &mut after);
        }
        self.joined_ways(after, &outputs)
    }

    /// Ends one of several branches: its state is kept separately, and the next branch begins with the state of this
    /// one's start.
    fn way(&mut self, before: super::Shell, after: &mut Option<super::Shell>) {
        let left = std::mem::replace(&mut self.state, before);
        match after {
            Some(after) => after.join(left),
            None => *after = Some(left),
        }
    }

    fn joined_ways(&mut self, after: Option<super::Shell>, outputs: &[String]) -> Outcome {
        if let Some(after) = after {
            self.state = after;
        }
        let all = outputs
            .iter()
            .cloned()
            .reduce(|one, two| either(&one, &two));
        Outcome::prints(all.unwrap_or_default())
    }

    /// Evaluates a loop whose rounds are not counted: the first round, and one that represents all later ones.
    fn rounds(&mut self, round: impl Fn(&mut Self) -> String) -> Outcome {
        let before = self.state.clone();
        let mut output = self.unsurely(&round);
        if self.step() {
            self.state.widen(&before);
            let wide = self.state.clone();
            output = joined(output, &self.unsurely(&round));
            self.state.join(wide);
        }
        let output = if output.is_empty() { output } else { unknown() };
        Outcome::prints(output)
    }

    fn each(&mut self, variable: &str, words: Option<&[Word]>, body: &Script) -> Outcome {
        let values: Vec<String> = match words {
            None => self.state.positional.clone(),
            Some(words) => words.iter().flat_map(|word| self.fields(word)).collect(),
        };
        if values.is_empty() {
            let state = self.state.clone();
            self.unsurely(|this| this.apart(state, |this| this.script(body)));
            return Outcome::quiet(None);
        }
        self.given(variable, &values.join(" "));
        let (values, more) = budget::items(&values);
        let rest = more.then(unknown);
        let before = self.state.clone();
        let mut output = String::new();
        for value in values.iter().chain(&rest) {
            self.state.set(variable, value.clone(), false);
            output = joined(output, &self.script(body).output);
            if !self.step() {
                break;
            }
        }
        if leaves_early(body) {
            self.state.widen(&before);
        }
        Outcome::prints(output)
    }

    fn case(&mut self, subject: &Word, arms: &[Arm]) -> Outcome {
        self.value(subject);
        let mut outputs = vec![String::new()];
        let mut after = Some(self.state.clone());
        for arm in arms {
            for pattern in &arm.patterns {
                self.pattern(pattern);
            }
            // An arm may fall through to the next, so each arm begins with all possible states before it.
            let before = self.state.clone();
            outputs.push(self.unsurely(|this| this.script(&arm.body).output));
            let mut next = before.clone();
            if arm.end != shell::ir::ArmEnd::Leave {
                next.join(self.state.clone());
            }
            self.way(next, &mut after);
        }
        self.joined_ways(after, &outputs)
    }

    /// Evaluates `[[ … ]]`: its words are expanded.
    fn test(&mut self, test: &Test) {
        match test {
            Test::And(left, right) | Test::Or(left, right) => {
                self.test(left);
                self.test(right);
            }
            Test::Not(inner) => self.test(inner),
            Test::Unary(operator, word) => {
                let text = self.value(word);
                if operator == "-v" {
                    self.named(&text);
                }
            }
            Test::Binary(operator, left, right) => {
                let texts = [self.value(left), self.pattern(right)];
                if operator.starts_with('-') && operator.len() == 3 {
                    texts.iter().for_each(|text| self.subscripted(text));
                }
                if operator == "=~" {
                    let [text, _] = texts;
                    let found = Stored::Array(vec![(unknown(), part_of(&text))]);
                    self.state.store("BASH_REMATCH", found, false);
                }
            }
        }
    }
}

/// Returns `true` if a `break`, `continue`, `return` or `exit` may leave a round before its end.
fn leaves_early(body: &Script) -> bool {
    let names = shell::names::program_words(body);
    ["break", "continue", "return", "exit"]
        .iter()
        .any(|name| names.contains(name))
}
