//! The n-th-call walk: one file-system call of one command fails, for every call and every error. Injection is
//! strace's.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use crate::place::{Place, Ran, Result, failed};
use crate::report::Row;
use crate::trial::Clean;
use crate::writer::Writer;
use crate::{Options, trial};

/// Calls that reach the file system. A name that is unknown to the kernel or strace is skipped (`?`).
const CALLS: &[&str] = &[
    "open",
    "openat",
    "openat2",
    "read",
    "pread64",
    "write",
    "pwrite64",
    "fsync",
    "fdatasync",
    "ftruncate",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "mkdir",
    "mkdirat",
    "statx",
    "fstat",
    "newfstatat",
    "flock",
    "fcntl",
    "getdents64",
    "link",
    "linkat",
    "readlink",
    "readlinkat",
    "fchmod",
    "lseek",
];

/// Injected faults: errors of the system, and a kill.
const ERRORS: &[&str] = &[
    "error=EIO",
    "error=ENOSPC",
    "error=EACCES",
    "error=EINTR",
    "signal=KILL",
];

/// One call that fails in one run.
#[derive(Clone, Debug)]
struct Fault {
    call: String,
    number: u32,
    error: &'static str,
}

/// Returns `true` if strace is installed and may trace.
#[must_use]
pub fn can_inject() -> bool {
    Command::new("strace")
        .args(["-f", "-o", "/dev/null", "true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Walks over the calls of a command, until all are done or the time is over.
pub(crate) fn walk(options: &Options, writer: &Writer, until: Instant) -> Result<Row> {
    let place = Place::new(&options.programs)?;
    writer.set_up(&place)?;
    place.restore()?;
    let faults = faults(&count(&place, writer)?, options.stride);
    let total = faults.len();
    let queue = Mutex::new(faults.into_iter());
    let work = || -> Result<Row> {
        let place = Place::new(&options.programs)?;
        writer.set_up(&place)?;
        let clean = Clean::of(writer, &place)?;
        let mut row = Row::new("failing call", writer.name);
        while Instant::now() < until {
            let next = queue.lock().ok().and_then(|mut queue| queue.next());
            let Some(fault) = next else { break };
            one(writer, &place, &clean, &fault, &mut row)?;
        }
        Ok(row)
    };
    let mut row = options.together(work)?;
    if row.tried < total as u64 {
        row.subject = format!("{} ({} of {total} calls)", row.subject, row.tried);
    }
    Ok(row)
}

fn one(writer: &Writer, place: &Place, clean: &Clean, fault: &Fault, row: &mut Row) -> Result<()> {
    place.restore()?;
    let trace = format!("trace=?{}", fault.call);
    let inject = format!(
        "inject=?{}:{}:when={}",
        fault.call, fault.error, fault.number
    );
    let ran = traced(
        writer,
        place,
        &["-o", "/dev/null", "-e", &trace, "-e", &inject],
    )?;
    // The dynamic loader, before the program begins.
    if ran.code == Some(127) {
        return Ok(());
    }
    row.tried += 1;
    let name = format!("{} {} no. {}", fault.call, fault.error, fault.number);
    trial::judge(writer, place, clean, &ran, &name, row)
}

/// Runs the command under strace.
fn traced(writer: &Writer, place: &Place, words: &[&str]) -> Result<Ran> {
    let (step, input) = writer.step.words(&place.root());
    let program: Vec<&str> = step.iter().map(String::as_str).collect();
    let mut command = place.command(Path::new("strace"));
    command
        .args(["-f", "--seccomp-bpf", "-qq"])
        .args(words)
        .arg(place.program(&program))
        .args(&step);
    place.run(command, &input)
}

/// Counts each call of each process; the injection counts by process as well.
fn count(place: &Place, writer: &Writer) -> Result<BTreeMap<String, u32>> {
    let log = place.root().with_file_name("calls");
    let calls: Vec<String> = CALLS.iter().map(|call| format!("?{call}")).collect();
    let calls = format!("trace={}", calls.join(","));
    traced(writer, place, &["-o", &log.to_string_lossy(), "-e", &calls])?;
    let text = failed("cannot read the log of strace", fs::read_to_string(&log))?;
    let mut by_process: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for line in text.lines() {
        if let Some((process, rest)) = line.split_once(' ')
            && let Some((call, _)) = rest.trim_start().split_once('(')
            && CALLS.contains(&call)
        {
            *by_process.entry((process, call)).or_default() += 1;
        }
    }
    let mut most: BTreeMap<String, u32> = BTreeMap::new();
    for ((_, call), number) in by_process {
        let entry = most.entry(call.to_owned()).or_default();
        *entry = number.max(*entry);
    }
    Ok(most)
}

/// Returns every call with every error; with a stride only some of them. They are spread, so that a walk that is cut
/// off has covered a part of all.
fn faults(calls: &BTreeMap<String, u32>, stride: usize) -> Vec<Fault> {
    let mut all = Vec::new();
    for (call, times) in calls {
        for number in 1..=*times {
            for error in ERRORS {
                let call = call.clone();
                all.push(Fault {
                    call,
                    number,
                    error,
                });
            }
        }
    }
    let length = all.len();
    let mut spread: Vec<Fault> = Vec::with_capacity(length);
    // A step that is coprime to the length visits every index once.
    let step = (length / 2..)
        .find(|step| gcd(*step, length) == 1)
        .unwrap_or(1);
    let places = (0..length).map(|at| (at * step) % length.max(1));
    spread.extend(places.filter_map(|at| all.get(at).cloned()));
    spread.into_iter().step_by(stride.max(1)).collect()
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_hit_by_every_error_once() {
        let calls = BTreeMap::from([("fsync".to_owned(), 3), ("write".to_owned(), 4)]);
        let all = faults(&calls, 1);
        let mut seen: Vec<_> = all
            .iter()
            .map(|fault| (fault.call.as_str(), fault.number, fault.error))
            .collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!((all.len(), seen.len()), (35, 35));
        assert_eq!(faults(&calls, 5).len(), 7);
        assert_eq!(faults(&BTreeMap::new(), 1).len(), 0);
    }
}
