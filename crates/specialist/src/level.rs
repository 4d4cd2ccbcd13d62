//! Certification levels: `L0` is uncertified, `L1` to `L9` are earned. No other text is a level.

use std::fmt;

/// Certification level of a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(u8);

impl Level {
    /// Not certified: the version may be registered but may not serve.
    pub const UNCERTIFIED: Self = Self(0);

    /// Parses `L0` to `L9`; another spelling is invalid, so that a typing error certifies nothing.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text.as_bytes() {
            [b'L', digit @ b'0'..=b'9'] => Some(Self(digit - b'0')),
            _ => None,
        }
    }

    /// Returns the level of this number; 9 is the highest.
    #[must_use]
    pub fn of(number: u8) -> Self {
        Self(number.min(9))
    }

    /// Highest level that a certificate names; a higher one is parsed but not registered.
    pub const HIGHEST: Self = Self(5);

    /// Level from which a version is stable; below, it is experimental.
    pub const STABLE: Self = Self(2);

    /// Returns `true` if the level is stable.
    #[must_use]
    pub fn is_stable(self) -> bool {
        self >= Self::STABLE
    }

    /// Returns `true` if a version of this level may serve.
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
