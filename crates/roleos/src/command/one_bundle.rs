//! The options that select one bundle, and the reading of it.

use std::path::PathBuf;

use base::files;
use evidence::judged::Judged;
use witness::bundle::{Bundle, Contents, Strictness};
use witness::key::Keyring;

use crate::command::trust::Trust;
use crate::{Context, Failure};

/// Which bundle, and whom to believe about it.
#[derive(Debug, clap::Args)]
pub struct OneBundle {
    /// Bundle file, a task id of this workspace, or `latest`.
    #[arg(value_name = "FILE|TASK")]
    bundle: String,
    #[command(flatten)]
    trust: Trust,
}

impl OneBundle {
    /// Reads the file.
    pub fn load(&self, context: &Context) -> Result<Loaded, Failure> {
        let keyring = self.trust.keyring(context)?;
        let path = context.bundle(&self.bundle)?;
        let bytes = files::read(&path, context.config.witness.max_bundle_bytes())?;
        Ok(Loaded {
            path,
            bytes,
            keyring,
        })
    }
}

/// A file that was read and not judged yet.
#[derive(Debug)]
pub struct Loaded {
    /// Path of the file.
    pub path: PathBuf,
    bytes: Vec<u8>,
    keyring: Keyring,
}

impl Loaded {
    /// Returns the path as text.
    #[must_use]
    pub fn file(&self) -> String {
        self.path.display().to_string()
    }

    #[must_use]
    pub fn judge(&self, strictness: Strictness) -> Judged<'_> {
        Judged::of(&self.bytes, strictness, &self.keyring)
    }

    /// Returns the claims of a judged bundle, true or not.
    pub fn contents<'j, 'a>(&self, judged: &'j Judged<'a>) -> Result<&'j Contents<'a>, Failure> {
        judged.contents().ok_or_else(|| {
            let (file, why) = (self.file(), judged.verdict().explain());
            let failure = Failure::input(
                "malformed",
                format!("`{file}` is not a readable bundle: {why}"),
            );
            match Bundle::parse(&self.bytes, Strictness::Lenient) {
                Ok(_) => {
                    failure.hint("`roleos witness show --lenient` reads it as the reference does")
                }
                Err(_) => failure,
            }
        })
    }
}
