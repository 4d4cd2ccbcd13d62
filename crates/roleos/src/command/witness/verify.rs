//! `roleos witness verify`: one verdict per file.

use std::path::{Path, PathBuf};

use base::files;
use evidence::judged::Judged;
use present::view::bundle::VerifyLine;
use witness::evidence::{Evidence, Verdict};
use witness::key::PublicKey;
use witness::ledger::Leaf;
use witness::ledger::proof::InclusionProof;

use super::Reading;
use crate::command::trust::Trust;
use crate::context::{Context, begins_task_id};
use crate::render::clean;
use crate::ui::{BAD, DIM, GOOD, Ui, WARN};
use crate::{Exit, Failure};

/// Largest proof.
const MAX_PROOF: u64 = 64 * 1024;

/// Words of `witness verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos witness verify latest                           with the keys of this workspace
  roleos witness verify *.rvww --key-file team.pub --json
  roleos witness verify task.rvww --key-file team.pub --proof task.tlog-proof

Verdicts: valid, unsigned, unchecked (no key at hand), bad_signature, malformed.
Exit 0 only if all are valid.")]
pub struct Args {
    /// Bundle files, task ids of this workspace, or `latest`.
    #[arg(value_name = "FILE|TASK", required = true)]
    bundles: Vec<PathBuf>,
    #[command(flatten)]
    trust: Trust,
    #[command(flatten)]
    reading: Reading,
    /// Also check that the bundle is in a ledger, by this proof of `ledger prove`.
    #[arg(long, value_name = "PROOF")]
    proof: Option<PathBuf>,
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let keyring = args.trust.keyring(context)?;
    let proof = args.proof.as_deref().map(read_proof).transpose()?;
    let mut all_valid = true;
    let mut buffer = Vec::new();
    for named in &args.bundles {
        let path = match read(context, named, &mut buffer) {
            Ok(path) => path,
            Err(failure) => {
                // The others are still verified.
                ui.fail(&failure);
                all_valid = false;
                continue;
            }
        };
        let judged = Judged::of(&buffer, args.reading.strictness(), &keyring);
        all_valid &= *judged.verdict() == Verdict::Valid;
        let file = path.display().to_string();
        if ui.json {
            ui.json(&VerifyLine::of(&file, &judged))?;
        } else {
            show(ui, &file, &judged)?;
        }
        if let (Some(proof), Judged::Evidence(evidence)) = (&proof, &judged) {
            check_proof(ui, &file, proof, evidence, keyring.public_keys())?;
        }
    }
    Ok(Exit::of_check(all_valid))
}

fn read(context: &Context, named: &Path, buffer: &mut Vec<u8>) -> Result<PathBuf, Failure> {
    // An argument that is neither a file nor a task is reported as an unreadable file, with the reason.
    let by_task = || {
        named
            .to_str()
            .filter(|name| *name == "latest" || begins_task_id(name))
    };
    let path = match by_task().filter(|_| !named.exists()) {
        Some(name) => context.bundle(name)?,
        None => named.to_owned(),
    };
    files::read_into(&path, context.config.witness.max_bundle_bytes(), buffer)?;
    Ok(path)
}

fn show(ui: &Ui, file: &str, judged: &Judged<'_>) -> Result<(), Failure> {
    let verdict = judged.verdict();
    let style = match verdict {
        Verdict::Valid => GOOD,
        Verdict::Unsigned { required: false } | Verdict::Unchecked => WARN,
        Verdict::Unsigned { required: true } | Verdict::BadSignature(_) | Verdict::Malformed(_) => {
            BAD
        }
    };
    let about = match (verdict, judged.contents()) {
        (Verdict::Valid, Some(contents)) => format!(
            "{}, {} calls, evidence {}",
            contents.outcome().name(),
            contents.totals().calls,
            if contents.evidence_complete() {
                "complete"
            } else {
                "incomplete"
            }
        ),
        _ => verdict.explain(),
    };
    let name = verdict.name();
    ui.line(format_args!(
        "{style}{name:<13}{style:#}  {}  {DIM}{about}{DIM:#}",
        clean::line(file, 200)
    ))?;
    for warning in judged.warnings() {
        ui.line(format_args!(
            "{WARN}  warning{WARN:#}      {}",
            warning.name()
        ))?;
    }
    Ok(())
}

fn read_proof(path: &Path) -> Result<InclusionProof, Failure> {
    let text = files::read(path, MAX_PROOF)?;
    InclusionProof::parse(&String::from_utf8_lossy(&text)).map_err(|error| {
        let file = path.display();
        Failure::input("bad_proof", format!("`{file}` is not a proof: {error}"))
            .hint("`roleos ledger prove` writes one")
    })
}

/// Checks that the proof leads from this bundle to a checkpoint signed by a trusted key.
fn check_proof(
    ui: &Ui,
    file: &str,
    proof: &InclusionProof,
    evidence: &Evidence<'_>,
    keys: &[PublicKey],
) -> Result<(), Failure> {
    let included = proof.verify(&Leaf::of(evidence), keys).map_err(|error| {
        Failure::input("not_proven", format!("the proof does not show that `{file}` is in the ledger: {error}"))
            .hint("it belongs to another bundle, or the public key of its signer is not among the keys given")
    })?;
    let checkpoint = included.attested().checkpoint();
    ui.note(format_args!(
        "{GOOD}  proved{GOOD:#}       bundle {} of {} in {}",
        included.index(),
        checkpoint.size(),
        checkpoint.origin().as_str()
    ));
    Ok(())
}
