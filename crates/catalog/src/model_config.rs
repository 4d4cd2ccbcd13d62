//! Model settings of a role. They are never hashed, so they are shown first, and used only on request.

use crate::canonical;
use crate::yaml::Node;

/// Limit of the name of a model, in characters.
pub const MAX_CHAT_MODEL: usize = 200;

/// Supported drivers.
pub const DRIVERS: [&str; 3] = ["openai", "gemini", "ollama"];

/// Driver and model. At least one of the two is present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelConfig {
    /// Driver, one of [`DRIVERS`].
    pub driver: Option<String>,
    /// Name of the model, trimmed and not blank.
    pub chat_model: Option<String>,
}

/// Returns the settings as one line of JSON, for review.
#[must_use]
pub fn described(node: Node<'_>) -> Option<String> {
    (!node.is_null()).then(|| canonical::json(node))
}

/// Parses the settings of a role; `None` without driver and model.
///
/// # Errors
/// Fails if the driver is unknown, the name of the model is too long, or one is not text.
pub fn read(node: Node<'_>) -> Result<Option<ModelConfig>, String> {
    if node.is_null() {
        return Ok(None);
    }
    if !node.is_map() {
        return Err("`modelConfig` must be a map".to_owned());
    }
    let text = |key: &str| match node.get(key).filter(|value| !value.is_null()) {
        None => Ok(None),
        Some(value) => value
            .text()
            .map(Some)
            .ok_or_else(|| format!("`modelConfig.{key}` must be text")),
    };
    let driver = text("driver")?;
    if let Some(driver) = driver.filter(|driver| !DRIVERS.contains(driver)) {
        let known = DRIVERS.join(", ");
        return Err(format!("the driver `{driver}` is none of {known}"));
    }
    let model = text("chatModel")?
        .map(str::trim)
        .filter(|name| !name.is_empty());
    if model.is_some_and(|name| name.chars().count() > MAX_CHAT_MODEL) {
        return Err(format!(
            "`modelConfig.chatModel` is longer than {MAX_CHAT_MODEL} characters"
        ));
    }
    if model.is_some_and(|name| name.chars().any(char::is_control)) {
        return Err("`modelConfig.chatModel` has control characters".to_owned());
    }
    let config = ModelConfig {
        driver: driver.map(str::to_owned),
        chat_model: model.map(str::to_owned),
    };
    let says_something = config.driver.is_some() || config.chat_model.is_some();
    Ok(says_something.then_some(config))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::Document;

    /// Compares driver and model with a slash between, or the error.
    fn check(text: &str, expected: &str) {
        let document = Document::parse(text.into()).unwrap();
        let found = match read(document.root()) {
            Ok(None) => "nothing".to_owned(),
            Ok(Some(config)) => format!(
                "{}/{}",
                config.driver.unwrap_or_default(),
                config.chat_model.unwrap_or_default()
            ),
            Err(what) => what,
        };
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn blank_and_absent_ask_for_nothing() {
        check("", "nothing");
        check("{}", "nothing");
        check("{ temperature: 2 }", "nothing");
        check("{ chatModel: '  ', driver: null }", "nothing");
    }

    #[test]
    fn names_are_trimmed_and_drivers_known() {
        check("{ driver: ollama, chatModel: ' a ' }", "ollama/a");
        check("{ driver: gemini }", "gemini/");
        check(
            "{ driver: evil }",
            "the driver `evil` is none of openai, gemini, ollama",
        );
        check("{ driver: 3 }", "`modelConfig.driver` must be text");
        check("[]", "`modelConfig` must be a map");
        check(
            &format!("{{ chatModel: {} }}", "x".repeat(201)),
            "`modelConfig.chatModel` is longer than 200 characters",
        );
    }
}
