//! Examples of actions, tested as whole commands.

use actions::Catalog;
use actions::lookup::{Content, Lookup, Nothing};

use crate::verdict::{Place, Policy, decide_command};

/// Tests examples of an action, and returns those with a wrong answer.
#[must_use]
pub fn wrong<'e>(
    catalog: &Catalog,
    id: &str,
    must: &'e [String],
    must_not: &'e [String],
) -> Vec<&'e str> {
    let policy = Policy {
        catalog: catalog.clone(),
        ..Policy::default()
    };
    let is_found = |command: &str| {
        if let Some(socket) = command.strip_prefix("unix:") {
            return catalog.of_socket(socket) == Some(id);
        }
        let grants = crate::grants::Grants::none();
        let now = jiff::Timestamp::UNIX_EPOCH;
        let decision = decide_command(&policy, command, EXAMPLE, &Example, &grants, now);
        decision.actions.iter().any(|found| found == id)
    };
    let missed = must.iter().filter(|command| !is_found(command));
    let wrong = must_not.iter().filter(|command| is_found(command));
    missed.chain(wrong).map(String::as_str).collect()
}

/// Directories of the tests.
const EXAMPLE: Place<'static> = Place {
    directory: "/home/me/project",
    home: "/home/me",
};

/// A repository without any known facts.
struct Example;

impl Lookup for Example {
    fn read(&self, path: &str) -> Content {
        match path {
            "/home/me/project/.git/HEAD" => Content::Text("ref: refs/heads/main\n".to_owned()),
            _ => Nothing.read(path),
        }
    }

    fn list(&self, directory: &str) -> Vec<String> {
        Nothing.list(directory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grants::Grants;
    use crate::verdict::{Answers, Verdict, decide_tool};
    use actions::lookup::Work;
    use actions::{Action, EXAMPLES, Rule, Set};

    #[test]
    fn every_example_of_the_table_is_answered_as_written() {
        let catalog = Catalog::new(&|_| true, Vec::new(), Vec::new());
        let mut wrong = Vec::new();
        for (id, is_match, command) in EXAMPLES {
            let command = vec![(*command).to_owned()];
            let (must, must_not) = if *is_match {
                (command, Vec::new())
            } else {
                (Vec::new(), command)
            };
            let found = super::wrong(&catalog, id, &must, &must_not);
            wrong.extend(found.into_iter().map(|one| {
                format!(
                    "{id} must{} match: {one}",
                    if *is_match { "" } else { " not" }
                )
            }));
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// A repository that holds only this work.
    struct Holding(Option<Work<'static>>);

    impl Lookup for Holding {
        fn read(&self, path: &str) -> Content {
            Example.read(path)
        }

        fn list(&self, _: &str) -> Vec<String> {
            Vec::new()
        }

        fn loses(&self, _: &str, work: Work<'_>) -> Option<bool> {
            Some(self.0.as_ref().is_some_and(|held| match (held, work) {
                (Work::Commits { .. }, Work::Commits { .. }) => true,
                (held, work) => *held == work,
            }))
        }
    }

    fn verdict(policy: &Policy, tool: &str, text: &str, lookup: &dyn Lookup) -> Verdict {
        let input = serde_json::json!({ "command": text, "file_path": text });
        let (now, grants) = (jiff::Timestamp::UNIX_EPOCH, Grants::none());
        decide_tool(policy, tool, &input, EXAMPLE, lookup, &grants, now).verdict
    }

    #[test]
    fn work_that_is_held_elsewhere_may_be_thrown_away() {
        let commits = Work::Commits { of: "", to: None };
        let policy = Policy::default();
        for (command, work) in [
            ("git reset --hard", Work::Changes),
            ("git -C . reset --hard origin/main", commits),
            ("git clean -fd", Work::NewFiles),
            ("git branch -D a", commits),
        ] {
            let when = |held| verdict(&policy, "Bash", command, &Holding(held));
            assert_eq!(when(Some(work)), Verdict::Ask, "{command}");
            assert_eq!(when(None), Verdict::Allow, "{command}");
            // Without a repository there is nothing to lose.
            assert_eq!(verdict(&policy, "Bash", command, &Nothing), Verdict::Allow);
        }
    }

    #[test]
    fn settings_answer_for_acts_that_need_no_grant() {
        let mut policy = Policy::default();
        let asked = [
            ("Bash", "rm -rf ~"),
            ("Bash", "cat .env"),
            ("Read", "/home/me/.ssh/id_rsa"),
        ];
        for answer in [Verdict::Ask, Verdict::Deny] {
            policy.answers = Answers {
                destructive: answer,
                secrets: answer,
            };
            for (tool, text) in asked {
                assert_eq!(verdict(&policy, tool, text, &Nothing), answer, "{text}");
            }
        }
        policy.catalog = Catalog::new(&|action| action.set.needs_grant(), Vec::new(), Vec::new());
        for (tool, text) in asked {
            assert_eq!(
                verdict(&policy, tool, text, &Nothing),
                Verdict::Allow,
                "{text}"
            );
        }
        assert_eq!(
            verdict(&policy, "Read", "src/main.rs", &Nothing),
            Verdict::Allow
        );
    }

    #[test]
    fn an_own_action_adds_to_the_table_and_takes_nothing_away() {
        let own = |id: &str, set| Action {
            id: id.to_owned().into(),
            label: "".into(),
            compensator: "".into(),
            set,
        };
        let rule = |action: &str, text: &str| Rule {
            action: action.to_owned(),
            text: text.to_owned(),
        };
        let catalog = Catalog::new(
            &|action| action.set != Set::Extended,
            vec![own("git:push", Set::Secrets), own("acme:ship", Set::Gated)],
            vec![
                rule("git:push", "shove !--plan"),
                rule("acme:ship", "Acme|acmectl ship --now"),
            ],
        );
        let wrong = |id: &str, must: &[&str], must_not: &[&str]| {
            let owned =
                |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
            super::wrong(&catalog, id, &owned(must), &owned(must_not)).len()
        };
        assert_eq!(
            wrong("git:push", &["git push", "shove x"], &["shove --plan"]),
            0
        );
        assert_eq!(
            wrong("acme:ship", &["acmectl ship --now"], &["acme ship"]),
            0
        );
        assert_eq!(wrong("acme:ship", &["acme ship"], &["acme ship --now"]), 2);
        let policy = Policy {
            catalog,
            ..Policy::default()
        };
        assert_eq!(
            verdict(&policy, "Bash", "git push", &Nothing),
            Verdict::Deny
        );
    }
}
