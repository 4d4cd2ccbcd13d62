//! Git's settings: their sources, the parsing of their files, and the values that git executes.

use actions::git_config::{is_include, settings_of};
use actions::lookup::{absolute, directory_of};
use shell::words::names;

use super::Evaluator;
use super::world::File;

/// System-wide settings files.
const SYSTEM_FILES: &[&str] =
    names!("/etc/gitconfig /usr/local/etc/gitconfig /opt/homebrew/etc/gitconfig");

/// Placeholder key for the settings of a file that cannot be read; its value is the file.
pub(crate) const UNREADABLE: &str = "\u{1}";

/// Limit of the depth of settings files that include each other.
const MAX_INCLUDES: usize = 8;

impl Evaluator<'_> {
    /// Returns the settings of this call, of the environment and of this command, the strongest first.
    pub(super) fn own_settings(&self, made: &[(String, String)]) -> Vec<(String, String)> {
        let lower = |(key, value): (String, String)| (key.to_ascii_lowercase(), value);
        let given = made.iter().map(|(key, value)| {
            // `--config-env=alias.x=VARIABLE` names a variable.
            let value = match value.strip_prefix('\u{1}') {
                Some(variable) => self.state.get(variable).unwrap_or_default(),
                None => value.clone(),
            };
            (key.clone(), value)
        });
        let further = self.git_environment().into_iter();
        let own = self.world.settings.iter().cloned();
        given.chain(further).map(lower).chain(own).collect()
    }

    /// Returns a setting in the files of the repository, of the user and of the machine.
    pub(super) fn stored_setting(&self, wanted: &str) -> Option<String> {
        let mut all = self.stored_settings().into_iter();
        all.find(|(key, _)| key == wanted).map(|(_, value)| value)
    }

    /// Returns the settings in the files of the repository, of the user and of the machine, the strongest first.
    pub(super) fn stored_settings(&self) -> Vec<(String, String)> {
        let set = |name: &str| self.state.get(name).filter(|text| !text.is_empty());
        let home = set("HOME").unwrap_or_else(|| self.home.clone());
        let config = set("XDG_CONFIG_HOME").unwrap_or_else(|| format!("{home}/.config"));
        let repository = self.repository();
        let named = set("GIT_DIR").unwrap_or_else(|| repository.clone());
        let mut files = vec![
            format!("{named}/config.worktree"),
            format!("{named}/config"),
            format!("{repository}/config"),
        ];
        match set("GIT_CONFIG_GLOBAL") {
            Some(file) => files.push(file),
            None => files.extend([format!("{home}/.gitconfig"), format!("{config}/git/config")]),
        }
        match set("GIT_CONFIG_SYSTEM") {
            Some(file) => files.push(file),
            None => files.extend(SYSTEM_FILES.iter().map(|file| (*file).to_owned())),
        }
        let mut all = Vec::new();
        for file in files {
            self.settings_in(&file, &home, 0, &mut all);
        }
        all
    }

    /// Adds the settings of a file, the last first, with those of the files that it includes under any condition.
    fn settings_in(&self, path: &str, home: &str, depth: usize, all: &mut Vec<(String, String)>) {
        let text = match self.file(path) {
            File::Text(text) => text,
            File::Missing => return,
            File::Binary | File::Unknown(_) => {
                all.push((UNREADABLE.to_owned(), path.to_owned()));
                return;
            }
        };
        for (key, value) in settings_of(&text).into_iter().rev() {
            if is_include(&key) && depth < MAX_INCLUDES {
                let included = value.replacen('~', home, 1);
                self.settings_in(
                    &absolute(directory_of(path), &included),
                    home,
                    depth + 1,
                    all,
                );
            }
            all.push((key, value));
        }
    }
}
