//! Limits of one analysis. Every exceeded limit gives [`Exhausted`], which makes the command opaque: nothing is
//! dropped silently.

/// Limit of simple commands.
const MAX_STEPS: usize = 20_000;

/// Limit of the depth of launchers, functions and scripts.
const MAX_DEPTH: usize = 40;

/// Limit of parsed text, in bytes.
const MAX_PARSED: usize = 2 * 1024 * 1024;

/// Limit of files that are compared with the protected ones.
const MAX_FILES: usize = 16 * 1024;

/// Limit of rounds of a loop, items of `xargs` and words of a list that are followed one by one.
pub(crate) const MAX_ITEMS: usize = 64;

/// Reason that an analysis ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exhausted(pub(crate) &'static str);

/// Remaining work.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    steps: usize,
    depth: usize,
    parsed: usize,
    files: usize,
    is_spent: bool,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            steps: MAX_STEPS,
            depth: MAX_DEPTH,
            parsed: MAX_PARSED,
            files: MAX_FILES,
            is_spent: false,
        }
    }
}

impl Budget {
    /// Takes one command.
    pub(crate) fn step(&mut self) -> Result<(), Exhausted> {
        Self::take(&mut self.steps, 1, "it has more commands than can be read")
    }

    /// Takes text that is parsed.
    pub(crate) fn parse(&mut self, length: usize) -> Result<(), Exhausted> {
        Self::take(
            &mut self.parsed,
            length,
            "it has more text than can be read",
        )
    }

    /// Takes one file for the comparison with the protected ones.
    pub(crate) fn file(&mut self) -> Result<(), Exhausted> {
        Self::take(
            &mut self.files,
            1,
            "it names more files than can be looked at",
        )
    }

    /// Enters one level.
    pub(crate) fn enter(&mut self) -> Result<(), Exhausted> {
        Self::take(
            &mut self.depth,
            1,
            "its launchers, functions or scripts are nested too deeply",
        )
    }

    /// Leaves one level.
    pub(crate) fn leave(&mut self) {
        self.depth = self.depth.saturating_add(1);
    }

    /// Returns `true` once, at the first exceeded limit.
    pub(crate) fn spend(&mut self) -> bool {
        !std::mem::replace(&mut self.is_spent, true)
    }

    fn take(left: &mut usize, amount: usize, reason: &'static str) -> Result<(), Exhausted> {
        match left.checked_sub(amount) {
            Some(rest) => {
                *left = rest;
                Ok(())
            }
            None => Err(Exhausted(reason)),
        }
    }
}

/// Returns the items that are followed one by one, and `true` if there are more.
pub(crate) fn items<T>(all: &[T]) -> (&[T], bool) {
    match all.split_at_checked(MAX_ITEMS) {
        Some((first, rest)) => (first, !rest.is_empty()),
        None => (all, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bound_ends_as_exhausted() {
        let mut budget = Budget::default();
        assert_eq!(budget.parse(MAX_PARSED), Ok(()));
        assert!(budget.parse(1).is_err());
        for _ in 0..MAX_DEPTH {
            assert_eq!(budget.enter(), Ok(()));
        }
        assert!(budget.enter().is_err());
        budget.leave();
        assert_eq!(budget.enter(), Ok(()));
        assert!(budget.spend());
        assert!(!budget.spend());
        let many = vec![0; MAX_ITEMS + 1];
        assert_eq!(items(&many), (vec![0; MAX_ITEMS].as_slice(), true));
    }
}
