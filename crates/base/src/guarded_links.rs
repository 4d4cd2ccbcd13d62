//! Settings that are links to dotfiles: the file that the gate protects by its name is elsewhere then.

use std::fs;
use std::path::{Path, PathBuf};

use crate::environment;

/// Folders of Role OS and of agents, with the entries that may be links. Each is checked before every call, so only
/// entries are listed that users are known to link.
const IN_WORKSPACE: &[(&str, &[&str])] = &[
    (".role-os", &[]),
    (
        ".claude",
        &[
            "settings.json",
            "settings.local.json",
            "role-os",
            "agents",
            "plugins",
            "skills",
        ],
    ),
    (".mcp.json", &[]),
    (".codex", &["config.toml", "hooks.json"]),
    (".gemini", &["settings.json"]),
    (".cursor", &["hooks.json"]),
];
const AT_HOME: &[(&str, &[&str])] = &[
    (".claude", &["settings.json", "agents", "plugins", "skills"]),
    (".claude.json", &[]),
    (".codex", &["config.toml", "hooks.json"]),
    (".gemini", &["settings.json"]),
    (".cursor", &["hooks.json"]),
];

/// Returns the target and the name of each link, in the workspace and in the user's home.
pub(crate) fn find(root: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    below(root, IN_WORKSPACE, &mut found);
    if let Some(home) = environment::home() {
        below(&home, AT_HOME, &mut found);
    }
    found
}

fn below(place: &Path, folders: &[(&str, &[&str])], found: &mut Vec<(String, String)>) {
    for (folder, entries) in folders {
        let folder = place.join(folder);
        let Ok(facts) = fs::symlink_metadata(&folder) else {
            continue;
        };
        if facts.is_symlink() {
            found.extend(link(&folder));
        }
        let inside = entries.iter().map(|entry| folder.join(entry));
        let links = inside.filter(|path| path.is_symlink());
        found.extend(links.filter_map(|path| link(&path)));
    }
}

fn link(path: &Path) -> Option<(String, String)> {
    let real = fs::canonicalize(path).or_else(|_| dangling(path)).ok()?;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    Some((text(&real), text(path)))
}

/// Returns the path that writing through a dangling link would create.
fn dangling(path: &Path) -> std::io::Result<PathBuf> {
    let target = fs::read_link(path)?;
    Ok(path.parent().unwrap_or(path).join(target))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_found_with_where_they_lead() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".claude")).unwrap();
        fs::create_dir_all(root.join("elsewhere/codex")).unwrap();
        fs::File::create(root.join("elsewhere/claude.json")).unwrap();
        symlink(
            "../elsewhere/claude.json",
            root.join(".claude/settings.json"),
        )
        .unwrap();
        symlink("elsewhere/codex", root.join(".codex")).unwrap();
        symlink("/nowhere/at/all", root.join(".gemini")).unwrap();
        let name = |path: &str| root.join(path).to_string_lossy().into_owned();
        let found = find(&root);
        let expected = [
            (name("elsewhere/claude.json"), name(".claude/settings.json")),
            (name("elsewhere/codex"), name(".codex")),
            ("/nowhere/at/all".to_owned(), name(".gemini")),
        ];
        let here = found.iter().filter(|(_, one)| one.starts_with(&name("")));
        assert_eq!(here.cloned().collect::<Vec<_>>(), expected);
    }
}
