//! Runs a verifier's command in a box: the output and the input as read-only files, the package read-only, temporary
//! private folders. The box itself is the crate `sandbox`.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use base::config::selection::Selection;
use sandbox::{Done, Mount, Stopped, User};

/// Largest file of a package that is copied, and all of them together.
const MAX_COPIED_FILE: u64 = 16 << 20;
const MAX_COPY: u64 = 256 << 20;
const MAX_FILES: usize = 10_000;

/// Limits of a verifier's command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) boxed: sandbox::Limits,
    /// Size of each private folder, in bytes.
    pub(super) scratch: u64,
    /// Further readable folders.
    pub(super) reads: Vec<PathBuf>,
    /// Set if it may run without a box if there is none.
    pub(super) unsandboxed: bool,
}

impl From<&Selection> for Limits {
    fn from(set: &Selection) -> Self {
        Self {
            boxed: sandbox::Limits {
                time: set.verifier_time(),
                memory: set.verifier_memory_mib.get().saturating_mul(1 << 20),
                processes: set.verifier_processes.get(),
                output: set.verifier_output_kib.get().saturating_mul(1 << 10),
                program: PathBuf::from("bwrap"),
            },
            scratch: set.verifier_scratch_mib.get().saturating_mul(1 << 20),
            reads: set.verifier_reads.iter().map(PathBuf::from).collect(),
            unsandboxed: set.allow_unsandboxed,
        }
    }
}

/// A command with its input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job<'a> {
    /// Program and arguments; `{output}` and `{input}` are replaced by the files' paths.
    pub(super) words: &'a [String],
    /// Folder in which it starts and which it may read, if there is one.
    pub(super) package: Option<&'a Path>,
    /// Name of the output's file.
    pub(super) output_file: &'a str,
    /// The output; also on standard input.
    pub(super) output: &'a [u8],
    pub(super) input: &'a [u8],
}

/// Runs a command in a box and waits for it. All its descendants end with it.
///
/// # Errors
/// There is no box, or the command was stopped.
pub(super) fn run(job: &Job<'_>, limits: &Limits) -> Result<Done, Stopped> {
    match boxed(job, limits) {
        Err(Stopped::NoSandbox(_)) if limits.unsandboxed => bare(job, limits),
        ended => ended,
    }
}

/// Paths as the command sees them.
struct Seen {
    output: PathBuf,
    input: PathBuf,
    scratch: PathBuf,
}

fn boxed(job: &Job<'_>, limits: &Limits) -> Result<Done, Stopped> {
    let given = Given::write(job)?;
    let seen = Seen {
        output: Path::new("/given").join(job.output_file),
        input: PathBuf::from("/given/input"),
        scratch: PathBuf::from("/work"),
    };
    let is_root = rustix::process::geteuid().is_root();
    let copied = match job.package {
        Some(package) if is_root && !is_open(package) => Some(copy(package)?),
        _ => None,
    };
    let package = copied.as_ref().map(tempfile::TempDir::path).or(job.package);
    let mut mounts: Vec<Mount> = limits
        .reads
        .iter()
        .map(|folder| Mount::Read(folder.clone(), folder.clone()))
        .collect();
    for folder in ["/tmp", "/work", "/dev/shm"] {
        mounts.push(Mount::Scratch(PathBuf::from(folder), limits.scratch));
    }
    mounts.push(Mount::Read(
        given.folder().to_owned(),
        PathBuf::from("/given"),
    ));
    if let Some(package) = package {
        mounts.push(Mount::Read(package.to_owned(), PathBuf::from("/package")));
    }
    let start = package.map_or("/work", |_| "/package");
    let job = sandbox_job(job, &seen, &given, Path::new(start), mounts);
    sandbox::run(&job, &limits.boxed)
}

/// Runs a command without a box, only with the limits.
fn bare(job: &Job<'_>, limits: &Limits) -> Result<Done, Stopped> {
    let given = Given::write(job)?;
    let scratch = tempfile::tempdir()?;
    let seen = Seen {
        output: given.folder().join(job.output_file),
        input: given.folder().join("input"),
        scratch: scratch.path().to_owned(),
    };
    let start = job.package.unwrap_or(scratch.path());
    let job = sandbox_job(job, &seen, &given, start, Vec::new());
    sandbox::run_bare(&job, &limits.boxed)
}

fn sandbox_job<'a>(
    job: &Job<'_>,
    seen: &Seen,
    given: &'a Given,
    start: &Path,
    mounts: Vec<Mount>,
) -> sandbox::Job<'a> {
    let word = |word: &String| {
        let word = word.replace("{output}", &seen.output.to_string_lossy());
        OsString::from(word.replace("{input}", &seen.input.to_string_lossy()))
    };
    sandbox::Job {
        words: job.words.iter().map(word).collect(),
        mounts,
        environment: environment(seen)
            .map(|(name, value)| (OsString::from(name), value.as_os_str().to_owned()))
            .to_vec(),
        directory: start.to_owned(),
        input: &given.output,
        network: false,
        user: User::Nobody,
        launcher: Vec::new(),
        container: None,
    }
}

/// Returns `true` if every user may read a folder.
fn is_open(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|facts| facts.permissions().mode() & 0o5 == 0o5)
}

/// Copies a package that other users may not read. Files that are too large to be needed by tests, such as weights, are
/// left out.
fn copy(package: &Path) -> io::Result<tempfile::TempDir> {
    let copy = tempfile::Builder::new()
        .prefix("roleos-package-")
        .permissions(fs::Permissions::from_mode(0o755))
        .tempdir()?;
    let mut left = MAX_COPY;
    let files = walkdir::WalkDir::new(package).follow_links(false);
    for entry in files.into_iter().take(MAX_FILES).flatten() {
        let Ok(name) = entry.path().strip_prefix(package) else {
            continue;
        };
        let target = copy.path().join(name);
        if entry.file_type().is_dir() {
            fs::create_dir_all(&target)?;
            fs::set_permissions(&target, fs::Permissions::from_mode(0o755))?;
        } else if entry.file_type().is_file() {
            let length = entry.metadata().map_or(u64::MAX, |facts| facts.len());
            if length > left.min(MAX_COPIED_FILE) {
                continue;
            }
            left -= length;
            fs::copy(entry.path(), &target)?;
            let mode = fs::metadata(&target)?.permissions().mode();
            fs::set_permissions(&target, fs::Permissions::from_mode(mode | 0o444))?;
        }
    }
    Ok(copy)
}

fn environment(seen: &Seen) -> [(&'static str, &Path); 6] {
    [
        ("PATH", Path::new("/usr/local/bin:/usr/bin:/bin")),
        ("HOME", &seen.scratch),
        ("TMPDIR", &seen.scratch),
        ("LANG", Path::new("C.UTF-8")),
        ("ROLEOS_OUTPUT", &seen.output),
        ("ROLEOS_INPUT", &seen.input),
    ]
}

/// Returns the mode of a folder for a command: only root's box belongs to another user.
fn given_mode() -> u32 {
    if rustix::process::geteuid().is_root() {
        0o755
    } else {
        0o700
    }
}

/// The files of a command.
struct Given {
    folder: tempfile::TempDir,
    output: PathBuf,
}

impl Given {
    fn write(job: &Job<'_>) -> io::Result<Self> {
        // Other users may read it: root's box belongs to another user, and its name cannot be guessed while it exists.
        let folder = tempfile::Builder::new()
            .prefix("roleos-verifier-")
            .permissions(fs::Permissions::from_mode(given_mode()))
            .tempdir()?;
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o644)
                .open(&path)
                .and_then(|mut file| file.write_all(bytes))
                .map(|()| path)
        };
        write("input", job.input)?;
        let output = write(job.output_file, job.output)?;
        Ok(Self { folder, output })
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }
}
