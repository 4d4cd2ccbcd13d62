//! The catalog that comes with the product, so that the demo has roles to browse.

use std::path::Path;

use base::files::{self, Privacy};

use crate::failure::Failure;

/// What lies where below `catalog/`.
const FILES: [(&str, &str); 6] = [
    ("index.yaml", include_str!("../../../../catalog/index.yaml")),
    (
        "scripts/content-hashes.json",
        include_str!("../../../../catalog/scripts/content-hashes.json"),
    ),
    (
        "bundles/editorial/en.yaml",
        include_str!("../../../../catalog/bundles/editorial/en.yaml"),
    ),
    (
        "bundles/editorial/ru.yaml",
        include_str!("../../../../catalog/bundles/editorial/ru.yaml"),
    ),
    (
        "bundles/research/en.yaml",
        include_str!("../../../../catalog/bundles/research/en.yaml"),
    ),
    (
        "bundles/research/ru.yaml",
        include_str!("../../../../catalog/bundles/research/ru.yaml"),
    ),
];

/// Writes it into a workspace.
pub(super) fn fill(workspace: &Path) -> Result<(), Failure> {
    let catalog = workspace.join("catalog");
    for (name, text) in FILES {
        let path = catalog.join(name);
        if let Some(folder) = path.parent() {
            files::make_directory(folder, Privacy::Shared)?;
        }
        files::write(&path, text.as_bytes(), Privacy::Shared)?;
    }
    Ok(())
}
