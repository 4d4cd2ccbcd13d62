//! Certification levels: `L0` is uncertified, `L1` to `L9` are earned. Nothing else is a level.

use std::fmt;

/// How far a version is certified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(u8);

impl Level {
    /// Not certified: may be registered, may not serve.
    pub const UNCERTIFIED: Self = Self(0);

    /// Reads `L0` to `L9`; another spelling is no level, so that nothing is certified by a slip.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text.as_bytes() {
            [b'L', digit @ b'0'..=b'9'] => Some(Self(digit - b'0')),
            _ => None,
        }
    }

    /// The level of this number; 9 is the highest.
    #[must_use]
    pub fn of(number: u8) -> Self {
        Self(number.min(9))
    }

    /// The highest one that a certificate names; a higher one is read and not registered.
    pub const HIGHEST: Self = Self(5);

    /// From here on a version is stable; below, it is experimental.
    pub const STABLE: Self = Self(2);

    /// Whether it is stable.
    #[must_use]
    pub fn is_stable(self) -> bool {
        self >= Self::STABLE
    }

    /// Whether it may serve.
    #[must_use]
    pub fn is_certified(self) -> bool {
        self > Self::UNCERTIFIED
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "L{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_spelling_is_a_level() {
        for (text, certified) in [("L0", false), ("L1", true), ("L5", true), ("L9", true)] {
            let level = Level::parse(text).unwrap();
            assert_eq!(
                (level.to_string().as_str(), level.is_certified()),
                (text, certified)
            );
        }
        for junk in [
            "l0",
            "l1",
            "none",
            "uncertified",
            "L",
            "L10",
            "L-1",
            " L1",
            "L1 ",
            "",
            "5",
            "Ｌ1",
        ] {
            assert_eq!(Level::parse(junk), None, "{junk}");
        }
        assert!(Level::parse("L2") > Level::parse("L1"));
    }
}
