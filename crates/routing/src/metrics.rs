//! The current metric, and a change from one to the next: `.role-os/metrics/`, one file per metric and `current.json`,
//! with the current one and the progress of a change.
//!
//! Without `current.json`, the published metric is the current one. Every contest calls [`contest`], which counts it:
//! the old metric's share goes down with the contests, not with time.

use std::io;
use std::path::PathBuf;

use selection::event::Event;
use selection::metric::Metric;
use selection::migration::{BadMigration, Migration};
use serde::{Deserialize, Serialize};

use crate::runs;
use base::files::{self, Action, FileError, Lock, Privacy};
use base::workspace::Workspace;

/// Name of the file with the current metric.
pub const CURRENT: &str = "current.json";

/// Largest file that is read here.
const MAX_FILE: u64 = 1 << 20;

/// Default number of contests over which a change is mixed in.
pub const DEFAULT_WINDOW: u64 = 200;

/// Error of an operation on metrics.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MetricError {
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// The pointer names a missing metric.
    #[error("`{}` names the metric `{name}`, and there is none", path.display())]
    Missing {
        path: PathBuf,
        /// The missing name.
        name: String,
    },
    /// The change is invalid.
    #[error(transparent)]
    Bad(#[from] BadMigration),
    /// There is no change to abort.
    #[error("no change of the metric is under way; `{0}` holds")]
    Settled(String),
    /// Another change is in progress.
    #[error(
        "the change from `{old}` to `{new}` is not finished: {contests} of {window} contests are mixed"
    )]
    UnderWay {
        /// The old metric.
        old: String,
        /// The new metric.
        new: String,
        /// Number of mixed contests so far.
        contests: u64,
        /// Number of contests in the window.
        window: u64,
    },
}

/// The pointer, as stored in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Pointer {
    metric: String,
    epoch: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mixing: Option<Mixed>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Mixed {
    old: String,
    window: u64,
    contests: u64,
}

/// The current metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Current {
    /// The metric that is logged.
    pub metric: Metric,
    /// The change in progress, while two metrics count.
    pub mixing: Option<Mixing>,
    /// Number of changes of the metric or of a share.
    pub epoch: u64,
}

/// A change in progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixing {
    /// Both metrics and the window.
    pub migration: Migration,
    /// Contests so far.
    pub contests: u64,
}

impl Mixing {
    /// Returns the old metric's share.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        self.migration.alpha(self.contests)
    }
}

/// Returns the path of the pointer.
#[must_use]
pub fn path(workspace: &Workspace) -> PathBuf {
    workspace.role_os_dir().join("metrics").join(CURRENT)
}

/// Returns the current metric. Counts nothing.
///
/// # Errors
/// A file cannot be read, or names a missing metric.
pub fn current(workspace: &Workspace) -> Result<Current, MetricError> {
    resolve(workspace, read(workspace)?)
}

fn read(workspace: &Workspace) -> Result<Pointer, MetricError> {
    let path = path(workspace);
    let bytes = match files::read(&path, MAX_FILE) {
        Ok(bytes) => bytes,
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => {
            return Ok(Pointer {
                metric: Metric::v1().metric_version,
                epoch: 0,
                mixing: None,
            });
        }
        Err(error) => return Err(error.into()),
    };
    let bad = |error: serde_json::Error| {
        let source = io::Error::new(io::ErrorKind::InvalidData, error.to_string());
        FileError::new(Action::Read, &path, source)
    };
    Ok(serde_json::from_slice(&bytes).map_err(bad)?)
}

fn resolve(workspace: &Workspace, pointer: Pointer) -> Result<Current, MetricError> {
    let known = runs::metrics(workspace)?;
    let find = |name: &str| {
        let found = known.iter().find(|metric| metric.metric_version == name);
        found.cloned().ok_or_else(|| MetricError::Missing {
            path: path(workspace),
            name: name.to_owned(),
        })
    };
    let metric = find(&pointer.metric)?;
    let mixing = match pointer.mixing {
        None => None,
        Some(mixed) => Some(Mixing {
            migration: Migration::plan(&find(&mixed.old)?, &metric, mixed.window)?,
            contests: mixed.contests,
        }),
    };
    Ok(Current {
        metric,
        mixing,
        epoch: pointer.epoch,
    })
}

fn write(workspace: &Workspace, pointer: &Pointer) -> Result<(), MetricError> {
    let mut text = serde_json::to_string_pretty(pointer).unwrap_or_default();
    text.push('\n');
    files::write(&path(workspace), text.as_bytes(), Privacy::Shared)?;
    Ok(())
}

fn lock(workspace: &Workspace) -> Result<Lock, MetricError> {
    let path = path(workspace);
    files::make_directory(files::parent(&path), Privacy::Shared)?;
    Ok(Lock::take(&path.with_added_extension("lock"))?)
}

/// Begins a change: stores the new metric, points at it, and returns the event for other programs.
///
/// # Errors
/// The new one does not follow the present one, a change is in progress, or a file cannot be written. Nothing is
/// changed then.
pub fn change(
    workspace: &Workspace,
    new: &Metric,
    window: u64,
) -> Result<(Current, Event), MetricError> {
    let _alone = lock(workspace)?;
    let present = current(workspace)?;
    if let Some(mixing) = &present.mixing {
        return Err(MetricError::UnderWay {
            old: mixing.migration.old.metric_version.clone(),
            new: present.metric.metric_version.clone(),
            contests: mixing.contests,
            window: mixing.migration.window,
        });
    }
    let migration = Migration::plan(&present.metric, new, window)?;
    let known = runs::metrics(workspace)?;
    let mut namesakes = known
        .iter()
        .filter(|metric| metric.metric_version == new.metric_version);
    if namesakes.any(|metric| metric != new) {
        return Err(BadMigration::Taken(new.metric_version.clone()).into());
    }
    let epoch = present.epoch + 1;
    let mut text = serde_json::to_string_pretty(&new.to_value()).unwrap_or_default();
    text.push('\n');
    let name = format!("{}.json", new.metric_version);
    let folder = path(workspace).with_file_name(name);
    files::write(&folder, text.as_bytes(), Privacy::Shared)?;
    let event = Event::EvalMetricChange(migration.event(epoch, migration.alpha(0)));
    write(
        workspace,
        &Pointer {
            metric: new.metric_version.clone(),
            epoch,
            mixing: Some(Mixed {
                old: present.metric.metric_version,
                window,
                contests: 0,
            }),
        },
    )?;
    Ok((current(workspace)?, event))
}

/// Aborts a change in progress: the metric before it is current again. Returns the event for other programs.
///
/// # Errors
/// No change is in progress, or a file cannot be written. Nothing is changed then.
pub fn abort(workspace: &Workspace) -> Result<(Current, Event), MetricError> {
    let _alone = lock(workspace)?;
    let present = current(workspace)?;
    let Some(mixing) = present.mixing else {
        return Err(MetricError::Settled(present.metric.metric_version));
    };
    let epoch = present.epoch + 1;
    let pointer = Pointer {
        metric: mixing.migration.old.metric_version.clone(),
        epoch,
        mixing: None,
    };
    write(workspace, &pointer)?;
    let event = Event::EvalMetricChange(mixing.migration.event(epoch, 1.0));
    Ok((current(workspace)?, event))
}

/// Returns the metric of the next contest, which is counted if a change is in progress. Also returns the event of a
/// step.
///
/// # Errors
/// A file cannot be read or written.
pub fn contest(workspace: &Workspace) -> Result<(Current, Option<Event>), MetricError> {
    if read(workspace)?.mixing.is_none() {
        return Ok((current(workspace)?, None));
    }
    let _alone = lock(workspace)?;
    let mut pointer = read(workspace)?;
    let now = resolve(workspace, pointer.clone())?;
    let (Some(mixing), Some(mixed)) = (&now.mixing, &mut pointer.mixing) else {
        return Ok((now, None));
    };
    mixed.contests += 1;
    let (before, after) = (mixing.alpha(), mixing.migration.alpha(mixed.contests));
    let mut event = None;
    if after < before {
        pointer.epoch += 1;
        event = Some(Event::EvalMetricChange(
            mixing.migration.event(pointer.epoch, after),
        ));
    }
    if after <= 0.0 {
        pointer.mixing = None;
    }
    write(workspace, &pointer)?;
    Ok((now, event))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(number: u32) -> Metric {
        let mut metric = Metric::v1();
        metric.metric_version = format!("metric_v{number}");
        metric.lambda = 0.1 * f64::from(number);
        metric
    }

    fn payload(event: &Event) -> serde_json::Value {
        let Event::EvalMetricChange(payload) = event else {
            panic!("{event:?}")
        };
        payload.clone()
    }

    #[test]
    fn a_change_is_mixed_in_and_ends() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(folder.path()).unwrap();
        assert_eq!(current(&workspace).unwrap().metric, Metric::v1());
        let (begun, event) = change(&workspace, &next(2), 4).unwrap();
        assert_eq!((begun.epoch, begun.mixing.unwrap().alpha()), (1, 1.0));
        assert_eq!(payload(&event)["epoch"], 1);
        assert!(matches!(
            change(&workspace, &next(3), 4),
            Err(MetricError::UnderWay { .. })
        ));
        let mut shares = Vec::new();
        let mut epochs = Vec::new();
        for _ in 0..6 {
            let (now, event) = contest(&workspace).unwrap();
            shares.push(now.mixing.map(|mixing| mixing.alpha()));
            epochs.extend(event.map(|event| payload(&event)["epoch"].as_u64().unwrap()));
        }
        assert_eq!(
            shares,
            [Some(1.0), Some(0.75), Some(0.5), Some(0.25), None, None]
        );
        assert_eq!(epochs, [2, 3, 4, 5]);
        let after = current(&workspace).unwrap();
        assert_eq!((after.metric, after.epoch), (next(2), 5));
        assert_eq!(
            runs::metrics(&workspace).unwrap().len(),
            2,
            "the pointer is no metric"
        );
        change(&workspace, &next(3), 1).unwrap();
    }

    #[test]
    fn a_change_is_aborted_and_its_name_stays_taken() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(folder.path()).unwrap();
        assert!(matches!(abort(&workspace), Err(MetricError::Settled(_))));
        change(&workspace, &next(2), 4).unwrap();
        contest(&workspace).unwrap();
        let (now, event) = abort(&workspace).unwrap();
        assert_eq!((now.metric, now.mixing), (Metric::v1(), None));
        let payload = payload(&event);
        assert_eq!(
            (&payload["epoch"], &payload["alpha"]),
            (&3.into(), &1.0.into())
        );
        let mut other = next(2);
        other.pi = 0.5;
        assert!(matches!(
            change(&workspace, &other, 4),
            Err(MetricError::Bad(BadMigration::Taken(_)))
        ));
        change(&workspace, &next(3), 4).unwrap();
        abort(&workspace).unwrap();
        change(&workspace, &next(2), 4).unwrap();
    }

    #[test]
    fn what_does_not_follow_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(folder.path()).unwrap();
        let mut first = next(1);
        first.metric_version = "metric_v0".to_owned();
        assert!(matches!(
            change(&workspace, &first, 4),
            Err(MetricError::Bad(BadMigration::Order { .. }))
        ));
        assert_eq!(current(&workspace).unwrap().epoch, 0);
        files::make_directory(files::parent(&path(&workspace)), Privacy::Shared).unwrap();
        files::write(
            &path(&workspace),
            b"{\"metric\":\"metric_v7\",\"epoch\":1}",
            Privacy::Shared,
        )
        .unwrap();
        assert!(matches!(
            current(&workspace),
            Err(MetricError::Missing { .. })
        ));
        files::write(&path(&workspace), b"{", Privacy::Shared).unwrap();
        assert!(matches!(contest(&workspace), Err(MetricError::File(_))));
    }
}
