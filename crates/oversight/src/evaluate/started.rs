//! Which file the name of a program stands for, and whether the system would start it.

use crate::lookup::{Content, absolute};
use crate::value::has_hole;

use super::files::{File, is_system};
use super::run::program_name;
use super::{Evaluator, Outcome};

/// Whether a text runs from its start to its end, so that what was not done before is not done at all.
pub(super) fn runs_in_order(text: &str) -> bool {
    let again = ["while", "until", "for", "select", "coproc", "trap"];
    let beside = ["&&", ">&", "<&", "&>"]
        .iter()
        .fold(text.to_owned(), |text, sign| text.replace(sign, ""));
    !again.iter().any(|word| text.contains(word)) && !beside.contains('&')
}

/// Whether a program surely leaves alone which files can be started.
pub(super) fn keeps_modes(name: &str, arguments: &[String]) -> bool {
    let verb = arguments.first().map_or("", String::as_str);
    match name {
        "git" => matches!(
            verb,
            "add" | "commit" | "status" | "diff" | "log" | "show" | "push"
        ),
        _ => matches!(
            name,
            "cat" | "ls" | "grep" | "head" | "tail" | "echo" | "printf" | "wc" | "pwd" | "date"
        ),
    }
}

impl Evaluator<'_> {
    /// Whether the system refuses to start a file. It is sure only where nothing can have changed that before.
    pub(super) fn cannot_start(&self, path: &str) -> bool {
        let path = absolute(&self.state.directory, path);
        self.modes_kept
            && self.is_untouched(&path)
            && !self.lookup.may_start(&path)
            && !self.begins_as_script(&path)
    }

    /// Whether a file begins as scripts do. It is meant to be started, and may be made so at any time.
    fn begins_as_script(&self, path: &str) -> bool {
        matches!(self.lookup.read(path), Content::Text(text) if text.starts_with("#!"))
    }

    /// Whether a file is what the lookup has.
    fn is_untouched(&self, path: &str) -> bool {
        !has_hole(path)
            && !self.switched
            && !self.patched_unknown
            && self.filled.is_empty()
            && self.links.is_empty()
            && self.same_as.is_empty()
            && !self.written.contains_key(path)
    }

    /// What the command that a person or an agent gave does where its program is surely this file and no other.
    pub(super) fn settled_file(&mut self, words: &[String]) -> Option<Outcome> {
        let (program, arguments) = words.split_first()?;
        if !self.chain.is_empty() || !self.modes_kept || has_hole(program) {
            return None;
        }
        if program.contains('/') {
            if !self.cannot_start(program) {
                return None;
            }
            self.guard_program(&program_name(program), arguments);
            return Some(Outcome::quiet(None));
        }
        let own = self.catalog.is_program(program)
            && !self.state.functions.contains_key(program)
            && !self.state.aliases.contains_key(program)
            && !self.state.variables.contains_key("BASH_CMDS");
        let variable = self.state.variables.get("PATH");
        let value = variable.filter(|one| own && !one.perhaps)?.stored.scalar();
        let [places] = value.possibilities() else {
            return None;
        };
        // `PATH=/w/fake:$PATH`: the first place is known.
        let place = places.split(':').next()?;
        if !place.starts_with('/') || is_system(place) {
            return None;
        }
        let path = absolute(place, program);
        if !self.begins_as_script(&path)
            || !self.is_untouched(&path)
            || !self.lookup.may_start(&path)
        {
            return None;
        }
        self.guard_program(program, arguments);
        Some(self.script_file(&path, arguments, "run"))
    }

    /// A file that is run: a script, or a program under another name.
    pub(super) fn written_program(
        &mut self,
        program: &str,
        arguments: &[String],
    ) -> Option<Outcome> {
        if !program.contains('/') {
            let name = format!("/{program}");
            let link = self
                .links
                .iter()
                .find(|(path, _)| path.ends_with(&name))
                .map(|(_, to)| to.clone());
            // Nobody knows which one the path finds first: what the name stands for counts as well.
            let known = self.is_known(&program_name(program));
            if let Some(target) = link.filter(|target| target != program) {
                let outcome = self.renamed(program, &target, arguments);
                return (!known).then_some(outcome);
            }
            let written = self
                .written
                .keys()
                .find(|path| path.ends_with(&name))
                .cloned();
            let written = written.filter(|path| !path.starts_with("/dev/"));
            let in_package = |link: &String| link.starts_with("package script");
            if !known && self.chain.iter().any(in_package) {
                self.package_program(program, arguments);
            }
            let path = written.or_else(|| self.on_path(program))?;
            let outcome = self.script_file(&path, arguments, "run");
            return (!known).then_some(outcome);
        }
        let path = absolute(&self.state.directory, program);
        if let Some(code) = self.compiled.get(&path).cloned() {
            self.native_code(program, &code);
        }
        if let Some(target) = self.links.get(&path).cloned() {
            return Some(self.renamed(program, &target, arguments));
        }
        let name = program_name(program);
        let known = self.is_known(&name);
        if known && is_system(&path) {
            // Installed programs go by their names, even where they are scripts.
            return None;
        }
        match self.file(program) {
            File::Text(_) => {
                self.classify(&name, arguments);
                Some(self.script_file(program, arguments, "run"))
            }
            File::Unreadable(why) if !has_hole(program) || why == super::files::FETCHED => {
                self.opaque(format!("the script cannot be read: {why}"), program);
                None
            }
            _ => None,
        }
    }

    /// A script of this name in a directory that the command itself put on the path.
    pub(crate) fn on_path(&mut self, program: &str) -> Option<String> {
        let path = self.state.variables.get("PATH")?.stored.scalar();
        let places: Vec<String> = path
            .first()
            .split(':')
            .filter(|place| !has_hole(place) && !place.is_empty() && !is_system(place))
            .map(|place| absolute(&self.state.directory, &format!("{place}/{program}")))
            .collect();
        places
            .into_iter()
            .find(|path| matches!(self.file(path), File::Text(_)))
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::grants::Grants;
    use crate::lookup::Lookup;
    use crate::verdict::{Place, Policy, Verdict, decide_command};

    /// Every script and every hook pushes, and only those in `bin` may be started.
    struct Machine;

    impl Lookup for Machine {
        fn read(&self, path: &str) -> Content {
            match path {
                "/w/bin/git" => Content::Text("#!/bin/sh\necho \"not $*\"\n".to_owned()),
                "/w/x.sh" | "/w/bin/x.sh" | "/w/.git/hooks/post-commit" => {
                    Content::Text("git push\n".to_owned())
                }
                _ => Content::Missing,
            }
        }

        fn list(&self, _: &str) -> Vec<String> {
            Vec::new()
        }

        fn may_start(&self, path: &str) -> bool {
            path.starts_with("/w/bin/")
        }
    }

    fn passes(command: &str) -> bool {
        let (directory, home) = ("/w", "/h");
        let place = Place { directory, home };
        let (policy, grants) = (Policy::default(), Grants::none());
        let now = Timestamp::UNIX_EPOCH;
        decide_command(&policy, command, place, &Machine, &grants, now).verdict < Verdict::Ask
    }

    #[test]
    fn what_the_system_does_not_start_does_nothing() {
        for command in [
            "./x.sh",
            "cat x.sh; ./x.sh || echo no",
            "git commit -m x",
            "git add . && git commit -m x",
            "PATH=$PWD/bin:$PATH; git push",
            "PATH=/w/bin:$PATH; git push origin main",
        ] {
            assert!(passes(command), "{command}");
        }
    }

    #[test]
    fn what_may_have_changed_that_is_looked_at() {
        for command in [
            "bin/x.sh",
            "sh x.sh",
            ". ./x.sh",
            "chmod +x x.sh; ./x.sh",
            "(sleep 1; ./x.sh) & chmod +x x.sh",
            "until ./x.sh; do chmod +x x.sh; done",
            "ln -s /bin/sh y; ./x.sh",
            "python3 setup.py; git commit -m x",
            "cp x.sh y.sh; ./x.sh",
            "PATH=$PATH:/w/bin; git push",
            "PATH=/w/bin:$PATH; sudo git push",
            "PATH=/w/bin:$PATH; command -p git push",
            "PATH=/w/bin:$PATH; rm bin/git; git push",
            "[ -d x ] && PATH=/w/bin:$PATH; git push",
            "PATH=/w/bin:$PATH; PATH=/usr/bin:$PATH; git push",
        ] {
            assert!(!passes(command), "{command}");
        }
    }
}
