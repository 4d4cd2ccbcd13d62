//! Notified system calls: their numbers by architecture, the filter over them, and their arguments.

use libc::sock_filter;

/// Call numbers of one architecture.
struct Numbers {
    /// Number of the architecture, `AUDIT_ARCH_*`.
    arch: u32,
    execve: u32,
    execveat: u32,
    connect: u32,
    /// Multiplexing call, with the number of `connect` in its first argument.
    socketcall: Option<u32>,
    /// Set if pointers are eight bytes wide.
    wide: bool,
}

#[cfg(target_arch = "x86_64")]
const NUMBERS: &[Numbers] = &[
    Numbers {
        arch: 0xC000_003E,
        execve: 59,
        execveat: 322,
        connect: 42,
        socketcall: None,
        wide: true,
    },
    // x32: the same architecture, a bit in the number, pointers of four bytes in memory.
    Numbers {
        arch: 0xC000_003E,
        execve: X32 | 520,
        execveat: X32 | 545,
        connect: X32 | 42,
        socketcall: None,
        wide: false,
    },
    Numbers {
        arch: 0x4000_0003,
        execve: 11,
        execveat: 358,
        connect: 362,
        socketcall: Some(102),
        wide: false,
    },
];

#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

#[cfg(target_arch = "aarch64")]
const NUMBERS: &[Numbers] = &[
    Numbers {
        arch: 0xC000_00B7,
        execve: 221,
        execveat: 281,
        connect: 203,
        socketcall: None,
        wide: true,
    },
    Numbers {
        arch: 0x4000_0028,
        execve: 11,
        execveat: 387,
        connect: 283,
        socketcall: None,
        wide: false,
    },
];

/// `connect` among the calls of `socketcall`.
const SOCKETCALL_CONNECT: u32 = 3;

/// A notified call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// Execution of a file. The pointers are into the caller's memory.
    Exec {
        /// Base directory of a relative path; `None` is the working directory.
        folder: Option<i32>,
        path: u64,
        words: u64,
        environment: u64,
        wide: bool,
    },
    /// Connection of a socket.
    Connect {
        socket: i32,
        address: u64,
        length: u32,
    },
    /// Connection of a socket, with the arguments in memory.
    PackedConnect { arguments: u64 },
}

impl Call {
    /// Returns the call of a notification; `None` for one that the filter does not request.
    pub(super) fn of(arch: u32, number: i32, args: [u64; 6]) -> Option<Self> {
        let number = number.cast_unsigned();
        let [a, b, c, d, ..] = args;
        let is_ours = |one: &&Numbers| {
            one.arch == arch
                && (one.socketcall == Some(number)
                    || [one.execve, one.execveat, one.connect].contains(&number))
        };
        let one = NUMBERS.iter().find(is_ours)?;
        let wide = one.wide;
        Some(if number == one.execve {
            Self::Exec {
                folder: None,
                path: a,
                words: b,
                environment: c,
                wide,
            }
        } else if number == one.execveat {
            let folder = Some(low(a).cast_signed()).filter(|fd| *fd != libc::AT_FDCWD);
            Self::Exec {
                folder,
                path: b,
                words: c,
                environment: d,
                wide,
            }
        } else if number == one.connect {
            Self::Connect {
                socket: low(a).cast_signed(),
                address: b,
                length: low(c),
            }
        } else {
            Self::PackedConnect { arguments: b }
        })
    }
}

/// Returns the lower half of a register, which is all that the kernel reads of an `int`.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the kernel truncates likewise"
)]
pub(super) fn low(register: u64) -> u32 {
    register as u32
}

const LOAD: u16 = 0x20;
const EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;
const NOTIFY: u32 = 0x7fc0_0000;
const ALLOW: u32 = 0x7fff_0000;
const KILL: u32 = 0x8000_0000;
/// Offsets in `seccomp_data` of the number, the architecture, and the lower half of the first argument.
const AT_NUMBER: u32 = 0;
const AT_ARCH: u32 = 4;
const AT_FIRST: u32 = 16;

fn step(code: u16, k: u32) -> sock_filter {
    sock_filter {
        code,
        jt: 0,
        jf: 0,
        k,
    }
}

/// Continues with the next step if equal, else skips `over` steps.
fn unless_equal(k: u32, over: u8) -> sock_filter {
    sock_filter {
        code: EQUAL,
        jt: 0,
        jf: over,
        k,
    }
}

/// Returns the filter: one block of steps per architecture. An unknown architecture ends the process.
pub(super) fn filter() -> Vec<sock_filter> {
    let mut steps = vec![step(LOAD, AT_ARCH)];
    let mut arches: Vec<u32> = NUMBERS.iter().map(|one| one.arch).collect();
    arches.dedup();
    for arch in arches {
        let mut block = vec![step(LOAD, AT_NUMBER)];
        for one in NUMBERS.iter().filter(|one| one.arch == arch) {
            for number in [one.execve, one.execveat, one.connect] {
                block.extend([unless_equal(number, 1), step(RETURN, NOTIFY)]);
            }
            if let Some(number) = one.socketcall {
                block.extend([
                    unless_equal(number, 3),
                    step(LOAD, AT_FIRST),
                    unless_equal(SOCKETCALL_CONNECT, 1),
                    step(RETURN, NOTIFY),
                ]);
            }
        }
        block.push(step(RETURN, ALLOW));
        let over = u8::try_from(block.len()).unwrap_or(u8::MAX);
        steps.push(unless_equal(arch, over));
        steps.extend(block);
    }
    steps.push(step(RETURN, KILL));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the filter as the kernel would.
    fn answer(arch: u32, number: u32, first: u32) -> u32 {
        let steps = filter();
        let (mut at, mut loaded) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = steps[at];
            at += 1;
            match code {
                LOAD => {
                    loaded = match k {
                        AT_NUMBER => number,
                        AT_ARCH => arch,
                        AT_FIRST => first,
                        other => panic!("{other}"),
                    }
                }
                EQUAL => at += usize::from(if loaded == k { jt } else { jf }),
                RETURN => return k,
                other => panic!("{other}"),
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_filter_asks_for_these_calls_and_no_others() {
        const NATIVE: u32 = 0xC000_003E;
        const I386: u32 = 0x4000_0003;
        let rows = [
            ("execve", NATIVE, 59, 0, NOTIFY),
            ("execveat", NATIVE, 322, 0, NOTIFY),
            ("connect", NATIVE, 42, 0, NOTIFY),
            ("read", NATIVE, 0, 3, ALLOW),
            ("munmap is execve of i386", NATIVE, 11, 0, ALLOW),
            ("x32 execve", NATIVE, X32 | 520, 0, NOTIFY),
            ("x32 execveat", NATIVE, X32 | 545, 0, NOTIFY),
            ("x32 connect", NATIVE, X32 | 42, 0, NOTIFY),
            ("x32 read", NATIVE, X32, 0, ALLOW),
            ("i386 execve", I386, 11, 0, NOTIFY),
            ("i386 execveat", I386, 358, 0, NOTIFY),
            ("i386 connect", I386, 362, 0, NOTIFY),
            ("i386 socketcall connect", I386, 102, 3, NOTIFY),
            ("i386 socketcall bind", I386, 102, 2, ALLOW),
            ("i386 olduname is execve of x86-64", I386, 59, 0, ALLOW),
            ("another architecture", 0xC000_00B7, 221, 0, KILL),
        ];
        for (what, arch, number, first, expected) in rows {
            assert_eq!(answer(arch, number, first), expected, "{what}");
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn arguments_are_found_where_each_call_has_them() {
        let args = [1, 2, 3, 4, 5, 6];
        let folder = Some(1);
        let exec = |folder, path, words, environment, wide| {
            Some(Call::Exec {
                folder,
                path,
                words,
                environment,
                wide,
            })
        };
        let connect = Some(Call::Connect {
            socket: 1,
            address: 2,
            length: 3,
        });
        let rows = [
            (0xC000_003E, 59, exec(None, 1, 2, 3, true)),
            (0xC000_003E, 322, exec(folder, 2, 3, 4, true)),
            (
                0xC000_003E,
                (X32 | 520).cast_signed(),
                exec(None, 1, 2, 3, false),
            ),
            (0x4000_0003, 11, exec(None, 1, 2, 3, false)),
            (0x4000_0003, 358, exec(folder, 2, 3, 4, false)),
            (0xC000_003E, 42, connect),
            (0x4000_0003, 362, connect),
            (0x4000_0003, 102, Some(Call::PackedConnect { arguments: 2 })),
            (0xC000_003E, 0, None),
        ];
        for (arch, number, expected) in rows {
            assert_eq!(Call::of(arch, number, args), expected, "{arch:x} {number}");
        }
        let here = [u64::from(libc::AT_FDCWD.cast_unsigned()), 2, 3, 4, 5, 6];
        assert_eq!(Call::of(0xC000_003E, 322, here), exec(None, 2, 3, 4, true));
    }
}
