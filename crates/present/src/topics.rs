//! The pages of `docs/`, embedded in the program, so that every installation has them.

/// One page.
#[derive(Clone, Copy, Debug)]
pub struct Topic {
    /// Its name for `roleos help`: the name of the file.
    pub name: &'static str,
    /// The page, as Markdown.
    pub text: &'static str,
}

impl Topic {
    /// Returns the heading of the page.
    #[must_use]
    pub fn title(&self) -> &'static str {
        let headings = self.text.lines().filter_map(|line| line.strip_prefix("# "));
        headings.into_iter().next().unwrap_or(self.name)
    }
}

macro_rules! topics {
    ($($name:literal),* $(,)?) => {
        &[$(Topic {
            name: $name,
            text: include_str!(concat!("../../../docs/", $name, ".md")),
        }),*]
    };
}

/// Every page, by name; a test compares the list with the folder.
pub const TOPICS: &[Topic] = topics![
    "actions",
    "api",
    "catalog",
    "config",
    "demo",
    "differences",
    "evidence",
    "first-adapter",
    "first-guard",
    "first-proof",
    "first-role",
    "gate-error-rates",
    "gateway",
    "hooks",
    "learning-loop",
    "oversight",
    "prove",
    "reliability",
    "scale",
    "selection",
    "sessions",
    "specialist",
    "witness",
    "witness-format",
];

/// Finds a page by its name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Topic> {
    TOPICS.iter().find(|topic| topic.name == name)
}
