//! Export hints of an index entry: the tools that a role needs, and the strength of the model. Never hashed, never
//! enforced.

use crate::browse::Card;
use crate::contents::Contents;
use crate::yaml::Node;

/// Kind of tool, independent of an agent's name for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Reading and searching files.
    Read,
    /// Changing files.
    Edit,
    /// Running commands.
    Run,
    /// Searching and fetching from the network.
    Web,
}

impl Tool {
    /// All kinds, in the order of the tables of [`crate::export`].
    pub const ALL: [Self; 4] = [Self::Read, Self::Edit, Self::Run, Self::Web];

    fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Run => "run",
            Self::Web => "web",
        }
    }
}

/// Strength of the model for a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// The strongest model of the agent.
    Strong,
    /// A fast and cheap model.
    Fast,
}

/// Hints of one role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// Sufficient tools; `None` leaves the agent's default.
    pub tools: Option<Vec<Tool>>,
    /// Strength of the model; `None` leaves the agent's default.
    pub model: Option<Strength>,
}

impl Hints {
    /// Parses the hints of an index entry.
    ///
    /// # Errors
    /// Returns a sentence that names the value that is not a hint.
    pub fn parse(entry: Node<'_>) -> Result<Self, String> {
        let tools = entry.get("tools").filter(|node| !node.is_null());
        let model = entry.get("model").filter(|node| !node.is_null());
        let tools = tools.map(|node| {
            let list = "`tools` must be a list of read, edit, run and web";
            let named = |item: Node<'_>| {
                let found = Tool::ALL
                    .into_iter()
                    .find(|tool| Some(tool.name()) == item.text());
                found.ok_or_else(|| list.to_owned())
            };
            if node.is_list() {
                node.items().map(named).collect()
            } else {
                Err(list.to_owned())
            }
        });
        let model = model.map(|node| match node.text() {
            Some("strong") => Ok(Strength::Strong),
            Some("fast") => Ok(Strength::Fast),
            _ => Err("`model` must be strong or fast".to_owned()),
        });
        Ok(Self {
            tools: tools.transpose()?,
            model: model.transpose()?,
        })
    }

    /// Returns the hints of a role; malformed ones count as absent, and the strict check reports them.
    #[must_use]
    pub fn of(contents: &Contents, card: &Card<'_>) -> Self {
        let mut entries = card.bundle.entries.iter();
        let entry = entries.find(|entry| entry.slug.as_deref() == Some(&card.slug));
        let node = entry.and_then(|entry| contents.index_node(entry.node));
        node.and_then(|node| Self::parse(node).ok())
            .unwrap_or_default()
    }
}
