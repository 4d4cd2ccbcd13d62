//! `roleos witness export`: writes a bundle for tools that do not support its format.

use std::path::PathBuf;

use base::files::{self, Privacy};
use clap::ValueEnum;
use evidence::judged::Judged;
use present::view::bundle::export as as_json;
use present::view::in_toto;
use serde_json::Value;
use witness::bundle::Strictness;

use crate::command::one_bundle::OneBundle;
use crate::ui::Ui;
use crate::{Context, Exit, Failure};

/// Words of `witness export`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  roleos witness export 0193a7 --format in-toto --out task.intoto.json"
)]
pub struct Args {
    #[command(flatten)]
    bundle: OneBundle,
    /// What to write.
    #[arg(long, value_name = "FORMAT", default_value = "json")]
    format: Format,
    /// Where to write it [default: standard output].
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Everything, sections included, with the verdict.
    Json,
    /// A signed in-toto statement about the bundle, in a DSSE envelope.
    InToto,
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let loaded = args.bundle.load(context)?;
    let judged = loaded.judge(Strictness::Strict);
    let value = match args.format {
        Format::Json => as_json(&loaded.file(), &judged, loaded.contents(&judged)?),
        Format::InToto => in_toto(context, &loaded.path, &judged)?,
    };
    match &args.out {
        Some(out) => {
            let mut text = value.to_string();
            text.push('\n');
            files::write(out, text.as_bytes(), Privacy::Shared)?;
            ui.note(format_args!("wrote {}", out.display()));
        }
        None => ui.json(&value)?,
    }
    Ok(Exit::Done)
}

/// Returns a signed statement. We sign only statements about verified bundles.
fn in_toto(
    context: &Context,
    path: &std::path::Path,
    judged: &Judged<'_>,
) -> Result<Value, Failure> {
    let Judged::Evidence(evidence) = judged else {
        let why = judged.verdict().explain();
        return Err(Failure::refused(
            "not_believed",
            format!("no statement is signed about `{}`: {why}", path.display()),
        )
        .hint("give the key that it was signed with, or check it with `roleos witness verify`"));
    };
    let keys = context.store.keys()?;
    let key = keys.signing().ok_or_else(|| {
        Failure::input(
            "no_key",
            "there is no Ed25519 key to sign the statement with",
        )
        .hint("make one with `roleos key new`")
    })?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(in_toto::envelope(&name, evidence, key))
}
