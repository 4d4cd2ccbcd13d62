//! `cargo xtask prove-accept`: mines the acceptance suite from local clones and runs the built-in agents over it.
//!
//! `xtask/prove-suite.json` contains repositories, commands, commits and names of tests, and none of their code. The
//! directory of the clones is an argument or a variable; without it nothing runs. `xtask/own-suite.json` is a small
//! one from this repository's own history, for machines without clones; a shallow clone skips it.

mod kills;
mod leaks;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde::Deserialize;
use serde_json::Value;

use crate::project::Project;
use crate::shell::{self, Failure, Result, headline};

/// Number of tasks without their reference in the run that must not be accepted.
const WITHHELD: usize = 45;
/// Number of solved bundles that are graded again.
const AGAIN: usize = 10;

#[derive(Debug, Deserialize)]
struct Repository {
    name: String,
    folder: String,
    test: String,
    setup: String,
    #[serde(default)]
    key: Vec<String>,
    /// Names of the tests that must change, by the prefix of the fix; empty if the mined ones count.
    tasks: BTreeMap<String, Vec<String>>,
}

/// What is run, and where.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder of the clones [default: `ROLEOS_PROVE_REPOS`]; without it nothing runs.
    clones: Option<PathBuf>,
    /// Folder to work in [default: in the target folder].
    #[arg(long)]
    work: Option<PathBuf>,
    /// Mine everything a second time and compare the bytes.
    #[arg(long)]
    twice: bool,
    /// Folder of the programs to run [default: they are built, optimised, because their processor time is shown].
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
    /// Only this step, over the suite that an earlier run left in the work folder.
    #[arg(long, value_enum)]
    step: Option<Step>,
    /// Run the small suite of this repository's own history instead; it needs no clones.
    #[arg(long, conflicts_with = "clones")]
    own: bool,
}

/// A part that needs nothing but the suite.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Step {
    /// The built-in agents.
    Agents,
    /// An agent that looks for the fix.
    Leaks,
    /// A run that is killed.
    Kills,
    /// References that are missing.
    Withheld,
}

impl Step {
    const ALL: [Self; 4] = [Self::Agents, Self::Leaks, Self::Kills, Self::Withheld];

    fn run(self, accept: &Accept) -> Result<()> {
        match self {
            Self::Agents => accept.agents(true),
            Self::Leaks => leaks::check(accept),
            Self::Kills => kills::check(accept),
            Self::Withheld => accept.withheld(),
        }
    }
}

/// Builds, mines and runs.
pub(crate) fn run(project: &Project, args: &Args) -> Result<()> {
    let work = args.work.clone();
    let work = work.unwrap_or_else(|| project.target().join("prove-accept"));
    if args.own {
        return own(project, work);
    }
    #[expect(clippy::disallowed_methods, reason = "a chore reads its own variable")]
    let named = std::env::var_os("ROLEOS_PROVE_REPOS").map(PathBuf::from);
    let clones = args.clones.clone().or(named);
    if clones.is_none() && args.step.is_none() {
        headline("skipped: no clones; name their folder in `ROLEOS_PROVE_REPOS` or as an argument");
        return Ok(());
    }
    let built = match &args.programs {
        Some(built) => built.clone(),
        None => {
            shell::run(&mut project.cargo(&["build", "--release", "--locked", "-p", "roleos"]))?;
            project.target().join("release")
        }
    };
    if let Some(step) = args.step {
        return step.run(&Accept::over(work, &built)?);
    }
    let accept = Accept::new(work, &built)?;
    let clones = clones.unwrap_or_default();
    let repositories = read(project, "xtask/prove-suite.json")?;
    let mine = |below: &str| {
        let each = |repository: &Repository| {
            accept.mine(&clones.join(&repository.folder), repository, below)
        };
        repositories.iter().try_for_each(each)
    };
    mine("")?;
    if args.twice {
        mine("again/")?;
        for repository in &repositories {
            accept.compare(&repository.folder)?;
        }
    }
    accept.merge(&repositories)?;
    Step::ALL.iter().try_for_each(|step| step.run(&accept))
}

/// Mines and runs the suite of this repository's own history.
fn own(project: &Project, work: PathBuf) -> Result<()> {
    let git = |words: &[&str]| shell::output(project.command("git").args(words));
    if git(&["rev-parse", "--is-shallow-repository"])?.trim() != "false" {
        headline("skipped: the clone is shallow, so the commits of the suite are not there");
        return Ok(());
    }
    let repositories = read(project, "xtask/own-suite.json")?;
    for commit in repositories.iter().flat_map(|one| one.tasks.keys()) {
        let name = format!("{commit}^{{commit}}");
        if git(&["rev-parse", "--quiet", "--verify", &name]).is_err() {
            headline(&format!("skipped: the history has no commit {commit}"));
            return Ok(());
        }
    }
    shell::run(&mut project.cargo(&["build", "--locked", "-p", "roleos"]))?;
    let accept = Accept::new(work, &project.target().join("debug"))?;
    for repository in &repositories {
        accept.mine(project.root(), repository, "")?;
    }
    accept.merge(&repositories)?;
    accept.agents(false)
}

fn read(project: &Project, name: &str) -> Result<Vec<Repository>> {
    let text = project.read(name)?;
    serde_json::from_str(&text).map_err(|error| Failure::of(format!("cannot read `{name}`"), error))
}

/// Copies the programs, so that a build meanwhile does not replace them; returns the path of `roleos`.
fn copy_programs(built: &Path, to: &Path) -> Result<PathBuf> {
    let copied = fs::create_dir_all(to).and_then(|()| {
        ["roleos", "roleos-hook"]
            .iter()
            .try_for_each(|name| fs::copy(built.join(name), to.join(name)).map(drop))
    });
    copied.map_err(|error| Failure::of("cannot copy the programs", error))?;
    Ok(to.join("roleos"))
}

struct Accept {
    roleos: PathBuf,
    work: PathBuf,
}

impl Accept {
    /// Takes the programs and begins with an empty folder.
    fn new(work: PathBuf, built: &Path) -> Result<Self> {
        fs::remove_dir_all(&work).ok();
        Self::over(work, built)
    }

    /// Takes the programs and goes on with what is in the folder.
    fn over(work: PathBuf, built: &Path) -> Result<Self> {
        Ok(Self {
            roleos: copy_programs(built, &work.join("bin"))?,
            work,
        })
    }

    /// Runs an agent over the suite and prints its resources. The sandboxes wait for their commands, so their time is
    /// not that of the harness.
    fn prove(&self, agent: &str) -> Result<(Value, bool)> {
        let name = agent.lines().next().unwrap_or_default();
        headline(name);
        let (started, before) = (Instant::now(), processor_ms());
        let answer = self.roleos(&["prove", "suite", "--agent", agent, "--jobs", "2"])?;
        let count = |name: &str| answer.0.get(name).and_then(Value::as_u64).unwrap_or(0);
        let spent = processor_ms().saturating_sub(before) / count("trials").max(1);
        let seconds = started.elapsed().as_secs_f64();
        let busy = 100.0 * self.busy_seconds(&answer.0) / (2.0 * seconds);
        eprintln!(
            "{name}: {} of {} solved in {seconds:.0} s; harness {spent} ms of processor per task, two slots busy {busy:.0} % of the time, at most {} MiB each",
            count("solved"),
            count("tasks"),
            count("disk_bytes") >> 20
        );
        Ok(answer)
    }

    /// Seconds that the trials of a run took together.
    fn busy_seconds(&self, report: &Value) -> f64 {
        let run = report.pointer("/run/run").and_then(Value::as_str);
        let trials = self
            .work
            .join(".role-os/prove")
            .join(run.unwrap_or_default());
        let entries = fs::read_dir(trials.join("trials")).into_iter().flatten();
        let record = |folder: PathBuf| -> Option<Value> {
            serde_json::from_slice(&fs::read(folder.join("result.json")).ok()?).ok()
        };
        let records = entries.flatten().filter_map(|entry| record(entry.path()));
        let parts = ["/agent/took_ms", "/test_ms", "/overhead_ms"];
        let took = records.map(|record| {
            let part = |name: &&str| record.pointer(name).and_then(Value::as_f64);
            parts.iter().filter_map(part).sum::<f64>()
        });
        took.sum::<f64>() / 1000.0
    }

    /// Compares the two minings of a repository byte by byte.
    fn compare(&self, folder: &str) -> Result<()> {
        let mut command = Command::new("diff");
        command.args(["-r", "-q"]);
        let [one, other] = [folder.to_owned(), format!("again/{folder}")];
        shell::run(
            command
                .arg(self.work.join(&one))
                .arg(self.work.join(&other)),
        )?;
        eprintln!("{folder}: the second mining gives the same bytes");
        Ok(())
    }

    /// Runs the program in the work directory; returns its answer as JSON, and `true` if it succeeded.
    fn roleos(&self, arguments: &[&str]) -> Result<(Value, bool)> {
        fs::create_dir_all(self.work.join(".role-os"))
            .map_err(|error| Failure::of("cannot make the work folder", error))?;
        let output = Command::new(&self.roleos)
            .args(arguments)
            .arg("--json")
            .current_dir(&self.work)
            .output();
        let output = output.map_err(|error| Failure::of("cannot start `roleos`", error))?;
        let value = serde_json::from_slice(&output.stdout)
            .map_err(|_| Failure::new(String::from_utf8_lossy(&output.stderr).into_owned()))?;
        Ok((value, output.status.success()))
    }

    fn mine(&self, clone: &Path, repository: &Repository, below: &str) -> Result<()> {
        headline(&format!(
            "{} from {}",
            repository.tasks.len(),
            repository.name
        ));
        let started = Instant::now();
        let out = format!("{below}{}", repository.folder);
        let clone = std::path::absolute(clone)
            .map_err(|error| Failure::of("cannot find the clone", error))?;
        let clone = clone.to_string_lossy();
        let mut words = vec![
            "suite",
            "from-git",
            &clone,
            "--name",
            &repository.name,
            "--test",
            &repository.test,
        ];
        words.extend([
            "--setup",
            &repository.setup,
            "--runs",
            "1",
            "--jobs",
            "2",
            "--out",
            &out,
        ]);
        repository
            .key
            .iter()
            .for_each(|key| words.extend(["--key", key]));
        repository
            .tasks
            .keys()
            .for_each(|commit| words.extend(["--commit", commit]));
        self.roleos(&words)?;
        let seconds = started.elapsed().as_secs_f64();
        eprintln!("{out}: {} tasks in {seconds:.0} s", repository.tasks.len());
        for (commit, wanted) in &repository.tasks {
            let id = format!(
                "{}-{}",
                repository
                    .name
                    .trim_start_matches("github:")
                    .replace('/', "__"),
                commit.get(..8).unwrap_or(commit)
            );
            let path = self
                .work
                .join(&out)
                .join("tasks")
                .join(&id)
                .join("tests.json");
            let text = fs::read_to_string(&path)
                .map_err(|error| Failure::of(format!("`{id}` is no task"), error))?;
            let tests: Value = serde_json::from_str(&text)
                .map_err(|error| Failure::of("cannot read tests", error))?;
            if !wanted.is_empty() {
                expect(&id, tests.get("FAIL_TO_PASS"), &serde_json::json!(wanted))?;
            }
        }
        Ok(())
    }

    fn merge(&self, repositories: &[Repository]) -> Result<()> {
        let mut words = vec!["suite", "split"];
        words.extend(
            repositories
                .iter()
                .map(|repository| repository.folder.as_str()),
        );
        words.extend(["--n", "10000", "--out", "suite"]);
        self.roleos(&words).map(drop)
    }

    /// Runs the built-in agents; a suite of fewer than 100 tasks is not accepted.
    fn agents(&self, is_whole: bool) -> Result<()> {
        let (reference, is_accepted) = self.prove("reference")?;
        let tasks = reference.get("tasks").cloned().unwrap_or_default();
        expect("reference", reference.get("solved"), &tasks)?;
        expect("reference", reference.get("with_evidence"), &tasks)?;
        let as_wanted = is_accepted == is_whole;
        expect(
            "verdict on reference",
            Some(&as_wanted.into()),
            &true.into(),
        )?;
        let bundles = self.roleos(&["witness", "list"])?.0;
        let ids = bundles.as_array().into_iter().flatten();
        let ids = ids.filter_map(|bundle| bundle.get("task_id").and_then(Value::as_str));
        // An id is a hash over run and task, so their order is that of a draw.
        let mut drawn: Vec<&str> = ids.collect();
        drawn.sort_unstable();
        for id in drawn.iter().take(AGAIN) {
            let (again, _) = self.roleos(&["witness", "rerun", id])?;
            expect(id, again.get("same"), &true.into())?;
        }
        eprintln!(
            "{} bundles, drawn at random, were graded again and agree",
            drawn.len().min(AGAIN)
        );
        let (null, _) = self.prove("null")?;
        expect("null", null.get("solved"), &0.into())?;
        let (rogue, _) = self.prove("rogue")?;
        expect("rogue", rogue.get("solved"), &0.into())?;
        expect(
            "rogue",
            rogue.get("rollbacks"),
            &serde_json::json!([tasks, tasks]),
        )
    }

    /// Removes references until too few tasks can be solved.
    fn withheld(&self) -> Result<()> {
        let entries = fs::read_dir(self.work.join("suite/tasks"))
            .map_err(|error| Failure::of("cannot read the suite", error))?;
        let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        folders.sort();
        let total = folders.len();
        // So many that the rest is below 60 of 100.
        let count = WITHHELD.max(total * 2 / 5 + 1).min(total);
        for folder in folders.iter().take(count) {
            fs::remove_file(folder.join("reference.patch"))
                .map_err(|error| Failure::of("cannot withhold a reference", error))?;
        }
        eprintln!("{count} references are withheld");
        let (report, _) = self.prove("reference")?;
        expect("withheld", report.get("solved"), &(total - count).into())?;
        expect("withheld", report.get("verdict"), &"NOT ACCEPTED".into())
    }
}

/// Returns the milliseconds of processor time of the children that have ended.
fn processor_ms() -> u64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program ends with the last bracket; the times are in hundredths of a second.
    let fields = text.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(13).take(2);
    ticks
        .filter_map(|field| field.parse::<u64>().ok())
        .sum::<u64>()
        * 10
}

fn expect(what: &str, found: Option<&Value>, wanted: &Value) -> Result<()> {
    match found {
        Some(found) if found == wanted => Ok(()),
        found => Err(Failure::new(format!(
            "{what}: found {}, wanted {wanted}",
            found.unwrap_or(&Value::Null)
        ))),
    }
}
