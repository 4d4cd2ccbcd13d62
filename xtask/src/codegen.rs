//! `cargo xtask codegen`: the committed files that are generated from the code, written or checked.
//!
//! Adds no text itself; each file's content comes from the responsible crate.

use std::fs;

use crate::project::Project;
use crate::shell::{self, Failure, Result};

/// A committed file and the function that returns its content.
pub(crate) struct Generated {
    /// Path from the root.
    pub(crate) file: &'static str,
    text: fn() -> String,
}

/// All generated files. A new one is one more line.
const GENERATED: &[Generated] = &[
    Generated {
        file: "docs/config.md",
        text: base::config::reference_markdown,
    },
    Generated {
        file: "schemas/config.schema.json",
        text: base::config::schema_text,
    },
    Generated {
        file: "docs/actions.md",
        text: crate::actions_doc::text,
    },
    Generated {
        file: ".env.example",
        text: base::environment::env_example,
    },
    Generated {
        file: "schemas/openapi.json",
        text: web::api::document_text,
    },
    Generated {
        file: "docs/gate-error-rates.md",
        text: crate::gate_report::text_of_report,
    },
    Generated {
        file: "schemas/model-manifest.schema.json",
        text: selection::schema::manifest,
    },
    Generated {
        file: "schemas/run-log.schema.json",
        text: selection::schema::run_log,
    },
    Generated {
        file: "schemas/audit-set.schema.json",
        text: selection::schema::audit_set,
    },
    Generated {
        file: "schemas/event.schema.json",
        text: selection::schema::event,
    },
];

/// Writes the files that are not up to date.
pub(crate) fn write(project: &Project) -> Result<()> {
    for generated in stale(project) {
        write_one(project, generated)?;
        eprintln!("wrote {}", generated.file);
    }
    Ok(())
}

/// Fails if a file is not up to date, naming all of them.
pub(crate) fn check(project: &Project) -> Result<()> {
    let files: Vec<_> = stale(project).map(|generated| generated.file).collect();
    if files.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "not up to date: {}\nhint: run `cargo xtask codegen` and commit what it writes",
        files.join(", ")
    )))
}

/// Returns the files that differ from the generated text, missing ones included.
pub(crate) fn stale(project: &Project) -> impl Iterator<Item = &'static Generated> {
    GENERATED.iter().filter(|generated| {
        let on_disk = fs::read_to_string(project.root().join(generated.file));
        on_disk.ok() != Some((generated.text)())
    })
}

fn write_one(project: &Project, generated: &Generated) -> Result<()> {
    shell::write(&project.root().join(generated.file), &(generated.text)())
}
