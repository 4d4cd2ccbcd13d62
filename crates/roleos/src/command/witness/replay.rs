//! `roleos witness replay`: shows a task step by step, then checks that the outcome agrees with the test log.

use std::io::Write as _;
use std::path::PathBuf;

use base::files::{self, Privacy};
use present::view::bundle::export as as_json;
use witness::evidence::Verdict;
use witness::replay::{Agreement, OutcomeCheck};

use super::Reading;
use crate::command::one_bundle::OneBundle;
use crate::render::replay_view::{ReplayView, commands};
use crate::render::{replay_html, replay_text};
use crate::ui::Ui;
use crate::{Context, Exit, Failure};

/// Words of `witness replay`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos witness replay 0193a7
  roleos witness replay task.rvww --color always | less -R
  roleos witness replay task.rvww --html task.html

Exit 1 when the bundle is not valid or its outcome contradicts its test log.")]
pub struct Args {
    #[command(flatten)]
    bundle: OneBundle,
    #[command(flatten)]
    reading: Reading,
    /// Write one self-contained page instead.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let loaded = args.bundle.load(context)?;
    let judged = loaded.judge(args.reading.strictness());
    let contents = loaded.contents(&judged)?;
    let file = loaded.file();
    let check = OutcomeCheck::of(contents);
    let commands = commands(&context.workspace.sessions_dir(), contents);
    let view = ReplayView {
        file: &file,
        verdict: judged.verdict(),
        signers: judged.signers(),
        warnings: judged.warnings(),
        sha256: base::digest(judged.bytes()),
        contents,
        check: &check,
        commands: &commands,
    };
    if let Some(page) = &args.html {
        let html = replay_html::page(&view)
            .map_err(|error| Failure::refused("page", format!("cannot make the page: {error}")))?;
        files::write(page, html.as_bytes(), Privacy::Shared)?;
        ui.note(format_args!("wrote {}", page.display()));
    }
    if ui.json {
        ui.json(&as_json(&file, &judged, contents))?;
    } else if args.html.is_none() {
        let mut out = ui.out();
        replay_text::write(&view, &mut out)?;
        out.flush()?;
    }
    let holds = *judged.verdict() == Verdict::Valid && check.agreement != Agreement::Contradicts;
    Ok(Exit::of_check(holds))
}
