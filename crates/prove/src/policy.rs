//! The settings of agents in a run: those of `--policy`, with overrides by the run.

/// Returns settings with the gate on, the mode, and the answer to unanalysable commands.
///
/// # Errors
/// The text is not TOML, or its section `[oversight]` is not a table.
pub fn settings(policy: &str, mode: &str, opaque: &str) -> Result<String, String> {
    let mut table: toml::Table = policy
        .parse()
        .map_err(|error: toml::de::Error| error.message().to_owned())?;
    let oversight = table
        .entry("oversight")
        .or_insert_with(|| toml::Value::Table(toml::Table::new()));
    let oversight = oversight
        .as_table_mut()
        .ok_or("`oversight` is not a section")?;
    oversight.insert("capability_gate".to_owned(), true.into());
    for (key, value) in [("mode", mode), ("opaque", opaque), ("unattended", "deny")] {
        oversight.insert(key.to_owned(), value.into());
    }
    toml::to_string(&table).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::settings;

    #[test]
    fn a_run_decides_the_gate_and_the_mode() {
        let weak = "[oversight]\ncapability_gate = false\nmode = \"off\"\nunattended = \"ask\"\nextended = true\n";
        let text = settings(weak, "restricted", "allow").unwrap();
        let config =
            base::config::Config::parse(std::path::Path::new("config.toml"), &text).unwrap();
        let oversight = config.oversight;
        assert!(oversight.capability_gate);
        assert_eq!(
            oversight.mode,
            base::config::oversight::GovernanceMode::Restricted
        );
        assert_eq!(
            oversight.unattended,
            base::config::oversight::Unattended::Deny
        );
        assert_eq!(
            oversight.extended,
            base::config::oversight::Extended::All(true)
        );
        assert!(settings("oversight = 1", "off", "allow").is_err());
        assert!(settings("[", "off", "allow").is_err());
    }
}
