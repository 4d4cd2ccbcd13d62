//! Runs the verifiers that versions and audits declare. Those that only read are created once and cached; those that
//! run a command use a sandbox, and fail the output if there is none.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use selection::canonical;
use selection::output;
use selection::verifier::declared::Command;
use selection::verifier::{Declared, Outcome, Step};
use serde_json::{Value, json};

use base::config::selection::Selection;
use base::files;

use self::boxed::{Job, Limits};
use sandbox::Stopped;

mod boxed;

/// Largest schema that is read.
const MAX_SCHEMA: u64 = 4 * 1024 * 1024;

/// Most verifiers that are cached.
const MAX_KEPT: usize = 1024;

/// Characters at the end of a command's output that a reason shows.
const SHOWN: usize = 200;

/// Output to verify, with its input.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The output; plain text is a JSON string.
    pub output: &'a Value,
    /// The input that it answers.
    pub input: &'a Value,
}

/// All verifiers of this process.
#[derive(Debug)]
pub struct Verifiers {
    limits: Limits,
    kept: Mutex<HashMap<String, Arc<Ready>>>,
}

/// A verifier ready for use.
#[derive(Debug)]
pub struct Ready {
    declared: Declared,
    step: Step,
    required: Vec<String>,
}

impl Verifiers {
    /// Creates the verifiers with the limits of the settings.
    #[must_use]
    pub fn new(set: &Selection) -> Self {
        Self {
            limits: Limits::from(set),
            kept: Mutex::default(),
        }
    }

    /// Creates a verifier, or returns the cached one.
    ///
    /// # Errors
    /// It cannot be used; the error is the reason.
    pub fn ready(&self, declared: &Declared) -> Result<Arc<Ready>, String> {
        let schema = match declared.schema_path() {
            Some(named) => Some(read_schema(declared.package.as_deref(), named)?),
            None => None,
        };
        let name = canonical::hash(&json!([
            declared.kind.as_str(),
            declared.config,
            declared.format,
            declared.package,
            schema,
        ]));
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ready) = kept.get(&name) {
            return Ok(Arc::clone(ready));
        }
        let step = declared
            .step(schema.as_ref())
            .map_err(|bad| bad.to_string())?;
        let ready = Arc::new(Ready {
            declared: declared.clone(),
            step,
            required: declared.required(schema.as_ref()),
        });
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(name, Arc::clone(&ready));
        Ok(ready)
    }

    /// Checks an output with a declared verifier. One that cannot run fails it.
    #[must_use]
    pub fn verify(&self, declared: &Declared, subject: Subject<'_>) -> Outcome {
        match self.ready(declared) {
            Ok(ready) => self.verify_ready(&ready, subject),
            Err(why) => Outcome::Fail(format!("the verifier cannot run: {why}")),
        }
    }

    /// Checks an output with a ready verifier.
    #[must_use]
    pub fn verify_ready(&self, ready: &Ready, subject: Subject<'_>) -> Outcome {
        match &ready.step {
            Step::Read(verifier) => ready.declared.read(verifier, subject.output),
            Step::Run(command) => self.run(ready, command, subject),
        }
    }

    fn run(&self, ready: &Ready, command: &Command, subject: Subject<'_>) -> Outcome {
        let text = match output::shaped(subject.output, ready.declared.format.as_deref()) {
            Err(why) => return Outcome::Fail(why),
            Ok(shaped) => output::text(&shaped).into_owned(),
        };
        if text.trim().is_empty() {
            return Outcome::Fail("the output is empty".to_owned());
        }
        let input = output::text(subject.input);
        let job = Job {
            words: &command.words,
            package: ready.declared.package.as_deref().map(Path::new),
            output_file: &command.output_file,
            output: text.as_bytes(),
            input: input.as_bytes(),
        };
        match boxed::run(&job, &self.limits) {
            Ok(done) if done.code == 0 => Outcome::Pass,
            Ok(done) => Outcome::Fail(failed(done.code, &done.output)),
            Err(stopped @ Stopped::NoSandbox(_)) => {
                Outcome::Fail(format!("the verifier cannot run: {stopped}"))
            }
            Err(stopped) => Outcome::Fail(stopped.to_string()),
        }
    }
}

impl Ready {
    /// Returns the keys that the contract requires.
    #[must_use]
    pub fn required(&self) -> &[String] {
        &self.required
    }
}

/// Returns the exit code and the end of the output, where a failed test reports its reason.
fn failed(code: i32, printed: &[u8]) -> String {
    let printed = String::from_utf8_lossy(printed);
    let printed = printed.trim();
    let skip = printed.chars().count().saturating_sub(SHOWN);
    let end: String = printed.chars().skip(skip).collect();
    match end.as_str() {
        "" => format!("the verifier's command ended with {code}"),
        end => format!("the verifier's command ended with {code}: {end}"),
    }
}

/// Reads the schema in a package; a path that leads out of it is refused.
///
/// # Errors
/// It leads out, cannot be read, or is not JSON.
pub fn read_schema(package: Option<&str>, named: &str) -> Result<Value, String> {
    let path = inside(package, named)?;
    let bytes = files::read(&path, MAX_SCHEMA).map_err(|error| {
        let why = &error.source;
        format!("{error}: {why}")
    })?;
    serde_json::from_slice(&bytes).map_err(|error| {
        let path = path.display();
        format!("the schema `{path}` is no JSON: {error}")
    })
}

/// Returns the path of a file in a package.
///
/// # Errors
/// There is no package, or the name leads out of it.
pub fn inside(package: Option<&str>, named: &str) -> Result<PathBuf, String> {
    let package = package.ok_or_else(|| format!("`{named}` is a file, and of no package"))?;
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if named.is_empty() || !Path::new(named).components().all(plain) {
        return Err(format!("`{named}` leads out of the package"));
    }
    let folder = Path::new(package);
    let path = folder.join(named);
    // A link could lead out as well; a missing file is reported when it is opened.
    let within = match (path.canonicalize(), folder.canonicalize()) {
        (Ok(path), Ok(folder)) => path.starts_with(folder),
        _ => true,
    };
    within
        .then_some(path)
        .ok_or_else(|| format!("`{named}` leads out of the package"))
}

#[cfg(test)]
mod tests;
