//! The selectors of all roles in one file, each with its evaluation on the held-out contests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::evaluation::{Evaluation, evaluate, worse};
use super::examples::Split;
use super::{BadSelector, Selector};

/// Format of the file.
const FORMAT: &str = "roleos-selector/v2";
/// Format of an earlier release.
const OLD: &str = "roleos-selector/v1";

/// Least number of contests of a role to learn from.
pub const LEAST_CONTESTS: usize = 10;

/// Selectors by role.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Book {
    format: String,
    roles: BTreeMap<String, Trained>,
}

/// Selector of one role, with its evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trained {
    /// Evaluation at the time of training.
    pub evaluation: Evaluation,
    pub selector: Selector,
}

/// Reason that a new book may not simply replace an old one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Worse {
    /// Its scores are worse on the same held-out contests.
    #[error(
        "on the held-out contests of `{role}` the scores of the new one are off by {new:.4} (mean square), those of the present one by {old:.4}"
    )]
    Scores {
        role: String,
        /// Mean square error of the present one.
        old: f64,
        /// Mean square error of the new one.
        new: f64,
    },
    /// It lacks a role that the present one has.
    #[error("the new one knows nothing of `{0}`, the present one does")]
    Forgets(String),
}

impl Book {
    /// Trains a selector for each role with enough contests; other roles are left out.
    #[must_use]
    pub fn train(roles: &BTreeMap<String, Split>) -> Self {
        let trained = roles.iter().filter_map(|(role, split)| {
            if split.training.len() < LEAST_CONTESTS {
                return None;
            }
            let selector = Selector::train(&split.training);
            let evaluation = evaluate(&selector, &split.held_out);
            let trained = Trained {
                evaluation,
                selector,
            };
            (!trained.selector.versions().is_empty()).then(|| (role.clone(), trained))
        });
        Self {
            format: FORMAT.to_owned(),
            roles: trained.collect(),
        }
    }

    /// Parses the file.
    ///
    /// # Errors
    /// Fails if it is not a selector file, is one of an earlier release, or is damaged.
    pub fn parse(bytes: &[u8]) -> Result<Self, BadSelector> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
        }
        let unreadable = |error: serde_json::Error| BadSelector::Damaged(error.to_string());
        let Head { format } = serde_json::from_slice(bytes).map_err(unreadable)?;
        match format.as_str() {
            FORMAT => serde_json::from_slice(bytes).map_err(unreadable),
            OLD => Err(BadSelector::Old(format)),
            _ => {
                let why = format!("its format is `{format}`, not `{FORMAT}`");
                Err(BadSelector::Damaged(why))
            }
        }
    }

    /// Returns the text of the file.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the selector of a role.
    #[must_use]
    pub fn of(&self, role: &str) -> Option<&Selector> {
        self.roles.get(role).map(|trained| &trained.selector)
    }

    /// Returns the trained selectors by role.
    #[must_use]
    pub fn roles(&self) -> &BTreeMap<String, Trained> {
        &self.roles
    }

    /// Returns why this book is worse than the one that it would replace, on the contests held out from both.
    #[must_use]
    pub fn worse_than(&self, present: &Self, roles: &BTreeMap<String, Split>) -> Vec<Worse> {
        let judge = |(role, trained): (&String, &Trained)| {
            let Some(new) = self.of(role) else {
                return Some(Worse::Forgets(role.clone()));
            };
            let held_out = roles.get(role).map_or(&[][..], |split| &split.held_out);
            let (new, old) = worse(new, &trained.selector, held_out)?;
            let role = role.clone();
            Some(Worse::Scores { role, old, new })
        };
        present.roles.iter().filter_map(judge).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::example;
    use super::*;

    fn split(from: usize, training: usize) -> Split {
        Split {
            training: (from..from + training).map(example).collect(),
            held_out: (900..960).map(example).collect(),
        }
    }

    fn roles(training: usize) -> BTreeMap<String, Split> {
        BTreeMap::from([("editor".to_owned(), split(0, training))])
    }

    #[test]
    fn the_same_log_gives_the_same_file_and_it_reads_back() {
        let text = Book::train(&roles(300)).to_json();
        assert_eq!(text, Book::train(&roles(300)).to_json());
        assert_eq!(
            Book::parse(text.as_bytes()).unwrap(),
            Book::train(&roles(300))
        );
    }

    #[test]
    fn a_damaged_or_old_file_is_refused() {
        let text = Book::train(&roles(30)).to_json();
        for bad in [
            text.replace("selector/v2", "selector/v9"),
            text.replacen("\"version\":\"music\"", "\"version\":\"zebra\"", 1),
            text.replacen("\"high\":0", "\"high\":9", 1),
            text.replacen("\"familiar_from\":", "\"familiar_from\":7", 1),
            text.replacen("\"rows\":\"", "\"rows\":\"00", 1),
            text.replacen("\"rows\":\"", "\"rows\":\"zz", 1),
            "{}".to_owned(),
            String::new(),
        ] {
            assert_ne!(bad, text);
            let refused = Book::parse(bad.as_bytes());
            assert!(matches!(refused, Err(BadSelector::Damaged(_))), "{bad:.80}");
        }
        let old = Book::parse(br#"{"format":"roleos-selector/v1","roles":{}}"#).unwrap_err();
        assert!(
            old.to_string().contains("run `roleos selector train`"),
            "{old}"
        );
    }

    #[test]
    fn few_contests_teach_nothing() {
        assert!(Book::train(&roles(LEAST_CONTESTS - 1)).roles().is_empty());
        assert!(Book::train(&roles(LEAST_CONTESTS)).of("editor").is_some());
    }

    #[test]
    fn a_worse_one_is_told_from_a_better_one() {
        let good = Book::train(&roles(300));
        // Inverted labels teach the wrong thing.
        let mut turned = roles(300);
        for example in &mut turned.get_mut("editor").unwrap().training {
            for outcome in example.outcomes.values_mut() {
                outcome.acceptable = outcome.acceptable.map(|is| !is);
            }
        }
        let bad = Book::train(&turned);
        assert!(matches!(
            bad.worse_than(&good, &roles(300)).as_slice(),
            [Worse::Scores { .. }]
        ));
        assert_eq!(good.worse_than(&bad, &roles(300)), []);
        assert_eq!(good.worse_than(&good, &roles(300)), []);
        // Regression: a book that is as good was refused, because it differed on a few held-out contests.
        for training in [250, 280, 290, 310] {
            let like = Book::train(&roles(training));
            let mut few = roles(300);
            few.get_mut("editor").unwrap().held_out.truncate(3);
            assert_eq!(like.worse_than(&good, &few), [], "{training}");
        }
        let nothing = Book::train(&BTreeMap::new());
        assert_eq!(
            nothing.worse_than(&good, &BTreeMap::new()),
            [Worse::Forgets("editor".to_owned())]
        );
    }
}
