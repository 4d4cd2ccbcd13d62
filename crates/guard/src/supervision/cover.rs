//! One act that is several executions is decided once: executions that belong to an allowed act are covered by it.
//!
//! Narrowly: the same process with the same words (a script and its interpreter), and programs that the acting process
//! itself starts next, either as a helper of git for the same place or as the same action (`pnpm publish` starts `npm
//! publish`). A hook, a shell or any other program in between ends the cover.

use oversight::execution::{Execution, Helper, launches};

use base::liveness;
use base::liveness::Process;

/// Most acts that are remembered; beyond that the oldest is forgotten, and its helpers are decided by themselves.
const MAX_COVERS: usize = 256;

/// A process that performs an allowed act.
#[derive(Clone, Debug)]
struct Cover {
    process: Process,
    actions: Vec<String>,
    /// The words after the program's name.
    words: Vec<String>,
    /// Destination, once a helper has named it.
    to: Option<String>,
    /// Set for a helper of git itself.
    helps: bool,
    /// Set if it sends nothing: only the far end belongs to it.
    is_dry: bool,
}

/// All allowed acts that may still be running.
#[derive(Clone, Debug, Default)]
pub(super) struct Covers {
    all: Vec<Cover>,
    /// Programs that were allowed to connect to a local socket.
    connected: Vec<(Process, Execution)>,
}

impl Covers {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Records an act that may begin.
    pub(super) fn add(&mut self, process: u32, execution: &Execution, actions: &[String]) {
        if let Some((process, _)) = liveness::of_process(process) {
            self.put(Cover {
                process,
                actions: actions.to_vec(),
                words: rest(execution),
                to: None,
                helps: false,
                is_dry: false,
            });
        }
    }

    /// Records a push that sends nothing, for which git starts the far end.
    pub(super) fn add_dry(&mut self, process: u32, execution: &Execution) {
        if let Some((process, _)) = liveness::of_process(process) {
            self.put(Cover {
                process,
                actions: Vec::new(),
                words: rest(execution),
                to: None,
                helps: true,
                is_dry: true,
            });
        }
    }

    fn put(&mut self, cover: Cover) {
        self.all.retain(|one| one.process != cover.process);
        if self.all.len() >= MAX_COVERS {
            self.all.remove(0);
        }
        self.all.push(cover);
    }

    /// Records that a process may connect.
    pub(super) fn add_connection(&mut self, id: u32, connection: Execution) {
        if let Some((process, _)) = liveness::of_process(id) {
            let one = (process, connection);
            if self.connected.contains(&one) {
                return;
            }
            if self.connected.len() >= MAX_COVERS {
                self.connected.remove(0);
            }
            self.connected.push(one);
        }
    }

    /// Returns `true` if a connection belongs to an allowed one: to the same socket before, by this program or by the
    /// one that has started it, because clients connect more than once and have parts; or to an act whose program is
    /// for a daemon.
    pub(super) fn connects(&self, id: u32, connection: &Execution) -> bool {
        let Some((process, parent)) = liveness::of_process(id) else {
            return false;
        };
        let above = liveness::of_process(parent).map(|(process, _)| process);
        let mut known = self.connected.iter();
        let connected = known.any(|(owner, known)| {
            let same = known.words == connection.words && known.names == connection.names;
            known.socket == connection.socket
                && (*owner == process && same || Some(*owner) == above)
        });
        let launches = || connection.names.iter().any(|name| launches(name));
        let mut acts = self.all.iter();
        connected
            || acts.any(|one| one.process == process && one.words == rest(connection)) && launches()
    }

    /// Returns `true` if an execution belongs to an allowed act. `actions` are those of the execution.
    pub(super) fn holds(&mut self, id: u32, execution: &Execution, actions: &[String]) -> bool {
        let Some((process, parent)) = liveness::of_process(id) else {
            return false;
        };
        let own = self.all.iter().position(|one| one.process == process);
        if let Some(cover) = own.and_then(|at| self.all.get(at)) {
            // The interpreter of a script has the script's words after its own.
            let same = actions.iter().all(|action| cover.actions.contains(action));
            if same && !cover.is_dry && rest(execution).ends_with(&cover.words) {
                return true;
            }
        }
        let above = liveness::of_process(parent).map(|(process, _)| process);
        let covering = self
            .all
            .iter()
            .rposition(|one| Some(one.process) == above)
            .or(own);
        let Some(cover) = covering.and_then(|at| self.all.get_mut(at)) else {
            return false;
        };
        let helper = execution.helper();
        let fits = match &helper {
            Some(Helper { receives, .. }) if cover.is_dry && !receives => false,
            Some(Helper { to: Some(to), .. }) => match &cover.to {
                Some(known) => ends_alike(known, to),
                None => {
                    cover.to = Some(to.clone());
                    true
                }
            },
            Some(Helper { to: None, .. }) => true,
            None => {
                !cover.helps
                    && !actions.is_empty()
                    && actions.iter().all(|action| cover.actions.contains(action))
            }
        };
        if fits {
            let cover = Cover {
                process,
                actions: cover.actions.clone(),
                words: rest(execution),
                to: cover.to.clone(),
                helps: cover.helps || helper.is_some(),
                is_dry: cover.is_dry,
            };
            self.put(cover);
        } else if own.is_some() {
            // The process runs another program now.
            self.all.retain(|one| one.process != process);
        }
        fits
    }
}

fn rest(execution: &Execution) -> Vec<String> {
    execution.words.get(1..).unwrap_or_default().to_vec()
}

/// Returns `true` if two names lead to the same place, as far as their text shows: `ssh` gets only the path of a URL.
fn ends_alike(one: &str, other: &str) -> bool {
    one.ends_with(other) || other.ends_with(one)
}
