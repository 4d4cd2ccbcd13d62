//! The embedded catalog: `--from builtin`, and the roles of the demo.

use std::path::Path;

use ::catalog::catalog::Draft;
use ::catalog::source::{File, INDEX, Sources};
use base::files::{self, FileError, Privacy};

macro_rules! embed {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../catalog/", $path)))),*]
    };
}

/// Paths from the catalog's root, with the texts.
const FILES: &[(&str, &str)] = embed![
    "index.yaml",
    "scripts/content-hashes.json",
    "bundles/editorial/en.yaml",
    "bundles/editorial/ru.yaml",
    "bundles/engineering/en.yaml",
    "bundles/engineering/ru.yaml",
    "bundles/research/en.yaml",
    "bundles/research/ru.yaml",
];

fn file(path: &str) -> File {
    let found = FILES.iter().find(|(name, _)| *name == path);
    found.map_or(File::Missing, |(_, text)| File::of(text.as_bytes().into()))
}

/// Reads the catalog.
#[must_use]
pub fn draft() -> Draft {
    let mut sources = Sources::new(file(INDEX));
    for path in sources.wanted() {
        let read = file(&path);
        sources.add(path, read);
    }
    Draft::read(sources)
}

/// Writes the catalog into a directory.
///
/// # Errors
/// Fails if a file cannot be written.
pub fn write(folder: &Path) -> Result<(), FileError> {
    for (name, text) in FILES {
        let path = folder.join(name);
        files::make_directory(files::parent(&path), Privacy::Shared)?;
        files::write(&path, text.as_bytes(), Privacy::Shared)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use ::catalog::catalog::Rigour;

    use super::*;
    use crate::catalog::{Directory, Request, check};

    #[test]
    fn the_embedded_catalog_is_whole_and_is_the_one_on_disk() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).unwrap();
        let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../catalog");
        for root in [folder.path(), &source] {
            let request = Request {
                rigour: Rigour::Strict,
                refresh: None,
            };
            let outcome = check(&Directory::open(root).unwrap(), request).unwrap();
            assert!(outcome.passed, "{:?}", outcome.problems);
            let hashes = |draft: &Draft| -> Vec<String> {
                let roles = draft.roles().iter();
                roles.map(|role| role.digest.to_hex()).collect()
            };
            assert_eq!(hashes(&outcome.draft), hashes(&draft()));
        }
    }
}
