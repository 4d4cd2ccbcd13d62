//! Cached access to the machine for one analysis: each value is read once.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::{Content, Listing, Lookup, Source, Work};

/// Cache of another lookup.
pub struct Remembered<'a> {
    lookup: &'a dyn Lookup,
    contents: Answers<Content>,
    names: Answers<Vec<String>>,
    present: Answers<bool>,
    links: Answers<Option<String>>,
}

impl std::fmt::Debug for Remembered<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remembered").finish_non_exhaustive()
    }
}

type Answers<T> = RefCell<BTreeMap<String, T>>;

impl<'a> Remembered<'a> {
    /// Creates an empty cache.
    #[must_use]
    pub fn new(lookup: &'a dyn Lookup) -> Self {
        Self {
            lookup,
            contents: Answers::default(),
            names: Answers::default(),
            present: Answers::default(),
            links: Answers::default(),
        }
    }
}

fn answer<T: Clone>(answers: &Answers<T>, path: &str, ask: impl FnOnce() -> T) -> T {
    if let Some(known) = answers.borrow().get(path) {
        return known.clone();
    }
    let found = ask();
    answers.borrow_mut().insert(path.to_owned(), found.clone());
    found
}

impl Lookup for Remembered<'_> {
    fn read(&self, path: &str) -> Content {
        answer(&self.contents, path, || {
            match self.present.borrow().get(path) {
                Some(false) => Content::Missing,
                _ => self.lookup.read(path),
            }
        })
    }

    fn list(&self, directory: &str) -> Vec<String> {
        answer(&self.names, directory, || self.lookup.list(directory))
    }

    fn has(&self, path: &str) -> bool {
        answer(&self.present, path, || self.lookup.has(path))
    }

    fn link(&self, path: &str) -> Option<String> {
        answer(&self.links, path, || self.lookup.link(path))
    }

    fn search(&self, source: Source<'_>, is_wanted: &dyn Fn(&str) -> bool) -> Listing {
        self.lookup.search(source, is_wanted)
    }

    fn loses(&self, directory: &str, work: Work<'_>) -> Option<bool> {
        self.lookup.loses(directory, work)
    }

    fn may_start(&self, path: &str) -> bool {
        self.lookup.may_start(path)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Lookup that counts its calls.
    struct Counted(Cell<usize>);

    impl Lookup for Counted {
        fn read(&self, path: &str) -> Content {
            self.0.set(self.0.get() + 1);
            Content::Text(path.to_owned())
        }

        fn list(&self, directory: &str) -> Vec<String> {
            self.0.set(self.0.get() + 1);
            vec![directory.to_owned()]
        }

        fn link(&self, path: &str) -> Option<String> {
            self.0.set(self.0.get() + 1);
            (path == "/a").then(|| "/b".to_owned())
        }
    }

    #[test]
    fn a_question_is_asked_once() {
        let machine = Counted(Cell::new(0));
        let remembered = Remembered::new(&machine);
        for _ in 0..3 {
            assert_eq!(remembered.read("/x"), Content::Text("/x".to_owned()));
            assert_eq!(remembered.list("/x"), ["/x"]);
            assert_eq!(remembered.real("/a/c"), "/b/c");
        }
        // `/x` twice, and the links `/a`, `/b`, `/b/c`.
        assert_eq!(machine.0.get(), 5);
    }
}
