//! `roleos specialist example`: writes a small adapter that can be registered at once.

use std::path::{Path, PathBuf};

use base::files::{self, Privacy};
use serde_json::json;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::ui::{GOOD, Ui};

/// The files of `examples/adapter/`.
const FILES: [(&str, &str); 5] = [
    (
        "adapter.py",
        include_str!("../../../../../examples/adapter/adapter.py"),
    ),
    (
        "weights.json",
        include_str!("../../../../../examples/adapter/weights.json"),
    ),
    (
        "model.yaml",
        include_str!("../../../../../examples/adapter/model.yaml"),
    ),
    (
        "answer.schema.json",
        include_str!("../../../../../examples/adapter/answer.schema.json"),
    ),
    (
        "exam.json",
        include_str!("../../../../../examples/adapter/exam.json"),
    ),
];

/// Words of `specialist example`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos specialist example
  roleos specialist example --to adapter

Then, in that folder:
  python3 adapter.py --port 8011
  roleos specialist register ticket-router model.yaml --backend-url http://127.0.0.1:8011 --audit exam.json")]
pub struct Args {
    /// Folder to write to; it is made if it is missing.
    #[arg(long, value_name = "DIR", default_value = ".")]
    to: PathBuf,
}

/// Writes the missing files.
///
/// # Errors
/// A file exists with other content, or one cannot be written.
pub fn run(ui: &Ui, args: &Args) -> Result<Exit, Failure> {
    for (name, text) in FILES {
        let path = args.to.join(name);
        let is_same = |path: &Path| {
            files::read(path, text.len() as u64).is_ok_and(|bytes| bytes == text.as_bytes())
        };
        if files::metadata(&path).is_ok() && !is_same(&path) {
            let message = format!(
                "keep `{}` or move it away: it is there with another content",
                path.display()
            );
            return Err(Failure::input("file_exists", message)
                .hint("`--to DIR` writes to another folder; nothing was changed"));
        }
    }
    files::make_directory(&args.to, Privacy::Shared)?;
    for (name, text) in FILES {
        files::write(&args.to.join(name), text.as_bytes(), Privacy::Shared)?;
    }
    let names = FILES.map(|(name, _)| name);
    if ui.json {
        ui.json(&json!({ "folder": args.to.display().to_string(), "files": names }))?;
    } else {
        ui.line(format_args!("{GOOD}wrote{GOOD:#} {}", names.join(", ")))?;
    }
    Ok(Exit::Done)
}
