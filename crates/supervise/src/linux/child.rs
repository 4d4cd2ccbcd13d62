//! The command's process, from its beginning to the execution of its program.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::Access;
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount_bind_recursive, mount_change, mount_remount,
};
use rustix::thread::{self, CapabilitySet};

use super::calls;
use super::sys::{self, Pointers, Signals};
use crate::{Command, Error, Seal};

/// Error that a supervisor returns for the execution of its own mark, and that no kernel returns.
pub(super) const MARK_ANSWER: i32 = libc::ENOTUNIQ;

/// Directory of the marks, which does not exist.
const MARKS: &str = "/proc/roleos-watch/";

/// Returns the path that identifies a supervisor.
pub(super) fn mark(name: &OsStr) -> PathBuf {
    Path::new(MARKS).join(name)
}

/// A command in the form of `execve`.
pub(super) struct Prepared {
    /// Files to try, in order.
    files: Vec<CString>,
    words: Vec<CString>,
    environment: Vec<CString>,
    /// Mark of a supervisor above, if the environment names one.
    above: Option<CString>,
}

impl Prepared {
    pub(super) fn new(command: &Command) -> Result<Self, Error> {
        let text = |bytes: &[u8]| CString::new(bytes).map_err(|_| Error::ZeroByte);
        let variable = |name: &str| {
            let found = command.environment.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value)
        };
        let name = command.program.as_bytes();
        let files = if name.contains(&b'/') {
            vec![text(name)?]
        } else {
            let path = variable("PATH").map_or(b"/usr/bin:/bin".as_slice(), |path| path.as_bytes());
            let folders = path.split(|byte| *byte == b':');
            let in_folder = |folder: &[u8]| {
                let folder = if folder.is_empty() { b"." } else { folder };
                text(&[folder, b"/", name].concat())
            };
            folders.map(in_folder).collect::<Result<_, _>>()?
        };
        let mut words = vec![text(name)?];
        for argument in &command.arguments {
            words.push(text(argument.as_bytes())?);
        }
        let mut environment = Vec::with_capacity(command.environment.len() + 1);
        for (name, value) in command
            .environment
            .iter()
            .filter(|(name, _)| name != crate::VARIABLE)
        {
            environment.push(text(&[name.as_bytes(), b"=", value.as_bytes()].concat())?);
        }
        let above = variable(crate::VARIABLE).map(|name| text(mark(name).as_os_str().as_bytes()));
        Ok(Self {
            files,
            words,
            environment,
            above: above.transpose()?,
        })
    }

    /// Adds the variable that names the supervisor.
    pub(super) fn name_supervisor(&mut self, name: &str) {
        self.environment
            .extend(CString::new(format!("{}={name}", crate::VARIABLE)));
    }

    /// Executes the program; returns the error number if that fails.
    pub(super) fn execute(&self) -> i32 {
        let (words, environment) = (Pointers::new(&self.words), Pointers::new(&self.environment));
        let mut reason = libc::ENOENT;
        for file in &self.files {
            // Each try would be judged, and wait for that.
            if rustix::fs::access(file, Access::EXISTS) == Err(Errno::NOENT) {
                continue;
            }
            match sys::execute(file, &words, &environment) {
                libc::ENOENT | libc::ENOTDIR => {}
                // A later directory may have an executable one.
                libc::EACCES => reason = libc::EACCES,
                libc::ENOEXEC => return self.as_script(file, &environment),
                other => return other,
            }
        }
        reason
    }

    /// Executes a file without a known format as a shell script, as every shell does.
    fn as_script(&self, file: &CString, environment: &Pointers<'_>) -> i32 {
        let Ok(shell) = CString::new("/bin/sh") else {
            return libc::ENOEXEC;
        };
        let words = [&shell, file].into_iter().chain(self.words.iter().skip(1));
        sys::execute(&shell, &Pointers::new(words), environment)
    }

    /// Returns `true` if the supervisor that the environment names is above this process and answers.
    pub(super) fn is_below_ours(&self) -> bool {
        let none = Pointers::new([]);
        self.above
            .as_ref()
            .is_some_and(|mark| sys::execute(mark, &none, &none) == MARK_ANSWER)
    }
}

/// First message of the child to the supervisor, before it executes anything: the number of the listener, or the
/// reason that there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ready {
    /// The filter is installed, and files are sealed if the second field is `true`.
    Listening(i32, bool),
    /// Our supervisor above this process listens.
    Nested,
    /// The filter could not be installed.
    Failed(i32),
}

impl Ready {
    pub(super) fn to_bytes(self) -> [u8; 9] {
        let (kind, number, sealed) = match self {
            Self::Listening(listener, sealed) => (0_u32, listener, sealed),
            Self::Nested => (1, 0, false),
            Self::Failed(errno) => (2, errno, false),
        };
        let [a, b, c, d] = kind.to_le_bytes();
        let [e, f, g, h] = number.to_le_bytes();
        [a, b, c, d, e, f, g, h, u8::from(sealed)]
    }

    pub(super) fn from_bytes([a, b, c, d, e, f, g, h, sealed]: [u8; 9]) -> Self {
        let number = i32::from_le_bytes([e, f, g, h]);
        match u32::from_le_bytes([a, b, c, d]) {
            0 => Self::Listening(number, sealed != 0),
            1 => Self::Nested,
            _ => Self::Failed(number),
        }
    }
}

/// Becomes the command. Never returns, because the supervisor's values are copied in its memory here.
pub(super) fn become_command(
    command: &Command,
    prepared: &Prepared,
    told: &OwnedFd,
    mask: &Signals,
) -> ! {
    let told = told.as_fd();
    let sealed = seal(command).unwrap_or(false);
    let ready = match restrict().and_then(|()| sys::install(&mut calls::filter())) {
        Ok(listener) => Ready::Listening(listener, sealed),
        Err(error) => match error.raw_os_error() {
            Some(libc::EBUSY) if prepared.is_below_ours() => Ready::Nested,
            errno => Ready::Failed(errno.unwrap_or(libc::EINVAL)),
        },
    };
    // The listener stays in the supervisor's table. A copy here would keep it alive without a supervisor, and calls
    // would wait for ever instead of failing.
    let parted = sys::unshare(libc::CLONE_FILES);
    if let Ready::Listening(listener, _) = ready
        && parted.is_ok()
    {
        sys::close(listener);
    }
    let ready = if parted.is_err() {
        Ready::Failed(libc::ENOSYS)
    } else {
        ready
    };
    tell(told, &ready.to_bytes());
    if matches!(ready, Ready::Failed(_)) {
        sys::exit(125);
    }
    sys::default_action(libc::SIGPIPE);
    mask.restore();
    let reason = prepared.execute();
    tell(told, &reason.to_le_bytes());
    sys::exit(127)
}

fn tell(told: BorrowedFd<'_>, bytes: &[u8]) {
    // A supervisor that does not listen ends this process.
    rustix::io::write(told, bytes).ok();
}

/// Drops the privileges by which descendants could undo the supervision.
fn restrict() -> io::Result<()> {
    let own = thread::capabilities(None)?;
    // With this capability a filter does not require `no_new_privs`, and programs that change the user keep working.
    if !own.effective.contains(CapabilitySet::SYS_ADMIN) {
        thread::set_no_new_privs(true)?;
    }
    if own.permitted.contains(CapabilitySet::SYS_PTRACE) {
        // Root could otherwise trace the supervisor and read its memory.
        if own.effective.contains(CapabilitySet::SETPCAP) {
            thread::remove_capability_from_bounding_set(CapabilitySet::SYS_PTRACE)?;
        }
        let mut fewer = own;
        fewer.effective.remove(CapabilitySet::SYS_PTRACE);
        fewer.permitted.remove(CapabilitySet::SYS_PTRACE);
        fewer.inheritable.remove(CapabilitySet::SYS_PTRACE);
        thread::set_capabilities(None, fewer)?;
    }
    Ok(())
}

/// Mounts files read-only for this process and its descendants; `false` if that is not requested.
fn seal(command: &Command) -> io::Result<bool> {
    if command.seal == Seal::Off || command.read_only.is_empty() {
        return Ok(false);
    }
    let may = thread::capabilities(None)?
        .effective
        .contains(CapabilitySet::SYS_ADMIN);
    if !may {
        if command.seal == Seal::Privileged {
            return Ok(false);
        }
        enter_user_namespace()?;
    }
    sys::unshare(libc::CLONE_NEWNS)?;
    mount_change(
        "/",
        MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC,
    )?;
    for path in command.read_only.iter().filter(|path| path.exists()) {
        mount_bind_recursive(path, path)?;
        let flags = MountFlags::BIND | MountFlags::RDONLY;
        mount_remount(path, flags | MountFlags::NOSUID | MountFlags::NODEV, "")
            .or_else(|_| mount_remount(path, flags, ""))?;
    }
    Ok(true)
}

/// Enters a user namespace in which the user is the same.
fn enter_user_namespace() -> io::Result<()> {
    let (user, group) = (
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw(),
    );
    sys::unshare(libc::CLONE_NEWUSER)?;
    let set = |file: &str, text: String| {
        let file = rustix::fs::open(file, rustix::fs::OFlags::WRONLY, rustix::fs::Mode::empty())?;
        rustix::io::write(&file, text.as_bytes())?;
        // The table of descriptors is shared with the supervisor, so this closes the file there as well.
        drop(file);
        io::Result::Ok(())
    };
    set("/proc/self/setgroups", "deny".to_owned())?;
    set("/proc/self/uid_map", format!("{user} {user} 1"))?;
    set("/proc/self/gid_map", format!("{group} {group} 1"))
}
