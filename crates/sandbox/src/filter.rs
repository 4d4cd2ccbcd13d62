//! A seccomp filter for a sandboxed command: no further user namespace, and no memory outside of processes.
//!
//! A user namespace would let the command mount directories without our limits. Anonymous memory files and System V
//! segments count for no process, so the watcher that sums processes' memory would not see them. Filtering works for
//! every version of bubblewrap and for root's sandbox, which has no user namespace.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::fd::{AsRawFd as _, RawFd};

use rustix::fs::{MemfdFlags, memfd_create};

/// Architecture's number for the kernel, and its numbers of the filtered calls.
struct Numbers {
    audit: u32,
    unshare: u32,
    clone: u32,
    /// Calls that fail as if the kernel did not support them, so that programs use alternatives.
    absent: [u32; 4],
}

/// Numbers by architecture. `clone3` passes its flags in memory that a filter cannot read; C libraries fall back to
/// `clone`. Then come `memfd_create`, `memfd_secret` and `shmget`.
const NUMBERS: Option<Numbers> = if cfg!(target_arch = "x86_64") {
    Some(Numbers {
        audit: 0xc000_003e,
        unshare: 272,
        clone: 56,
        absent: [435, 319, 447, 29],
    })
} else if cfg!(target_arch = "aarch64") {
    Some(Numbers {
        audit: 0xc000_00b7,
        unshare: 97,
        clone: 220,
        absent: [435, 279, 447, 194],
    })
} else if cfg!(target_arch = "riscv64") {
    Some(Numbers {
        audit: 0xc000_00f3,
        unshare: 97,
        clone: 220,
        absent: [435, 279, 447, 194],
    })
} else {
    None
};

const NEW_USER_NAMESPACE: u32 = 0x1000_0000;

/// First number of the second calling convention of x86-64.
const SECOND_CONVENTION: u32 = 0x4000_0000;

const ALLOW: u32 = 0x7fff_0000;
const NOT_PERMITTED: u32 = 0x0005_0000 | 1;
const NO_SUCH_CALL: u32 = 0x0005_0000 | 38;

/// Offsets of the call's number, the architecture and the low half of the first argument in the kernel's data.
const NUMBER: u32 = 0;
const PROCESSOR: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;

const LOAD: u16 = 0x20;
const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

/// File with the filter, open for child processes of this process.
#[derive(Debug)]
pub(crate) struct Filter(File);

impl Filter {
    /// Writes the filter for this architecture.
    ///
    /// # Errors
    /// Fails if there is none for this architecture, or the kernel gives no memory file.
    pub(crate) fn write() -> io::Result<Self> {
        let numbers = NUMBERS.ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::Unsupported,
                "there is no filter of system calls for this processor",
            )
        })?;
        // It stays open across the start of bubblewrap. A program that is started at the same time inherits a filter
        // that contains nothing secret.
        let mut file = File::from(memfd_create("roleos-filter", MemfdFlags::empty())?);
        file.write_all(&program(&numbers))?;
        file.rewind()?;
        Ok(Self(file))
    }

    /// Returns the file descriptor for bubblewrap.
    pub(crate) fn number(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Returns the filter's instructions in the kernel's format: code, two jumps, value.
fn program(numbers: &Numbers) -> Vec<u8> {
    let [clone3, memfd, secret, segment] = numbers.absent;
    // Jumps count the instructions that are skipped.
    let instructions: [(u16, u8, u8, u32); 15] = [
        (LOAD, 0, 0, PROCESSOR),
        (EQUAL, 0, 11, numbers.audit),
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, 9, 0, SECOND_CONVENTION),
        (EQUAL, 9, 0, clone3),
        (EQUAL, 8, 0, memfd),
        (EQUAL, 7, 0, secret),
        (EQUAL, 6, 0, segment),
        (EQUAL, 1, 0, numbers.unshare),
        (EQUAL, 0, 2, numbers.clone),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (ANY_BIT, 1, 0, NEW_USER_NAMESPACE),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, NOT_PERMITTED),
        (RETURN, 0, 0, NO_SUCH_CALL),
    ];
    let mut bytes = Vec::with_capacity(instructions.len() * 8);
    for (code, yes, no, value) in instructions {
        bytes.extend(code.to_ne_bytes());
        bytes.extend([yes, no]);
        bytes.extend(value.to_ne_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the result of the filter, computed like the kernel's.
    fn answer(numbers: &Numbers, processor: u32, number: u32, first: u32) -> u32 {
        let bytes = program(numbers);
        let instructions: Vec<&[u8]> = bytes.chunks(8).collect();
        let (mut at, mut value) = (0, 0);
        loop {
            let [code, code2, yes, no, k @ ..] = instructions[at] else {
                panic!("it is cut off")
            };
            let k = u32::from_ne_bytes(k.try_into().unwrap());
            let jump = |taken: bool| usize::from(if taken { *yes } else { *no });
            match u16::from_ne_bytes([*code, *code2]) {
                LOAD => {
                    value = match k {
                        NUMBER => number,
                        PROCESSOR => processor,
                        _ => first,
                    }
                }
                EQUAL => at += jump(value == k),
                AT_LEAST => at += jump(value >= k),
                ANY_BIT => at += jump(value & k != 0),
                _ => return k,
            }
            at += 1;
        }
    }

    #[test]
    fn every_call_gets_its_answer() {
        let numbers = NUMBERS.unwrap();
        let here = numbers.audit;
        let [clone3, memfd, secret, segment] = numbers.absent;
        for (processor, number, first, expected) in [
            (here, 0, 0, ALLOW),
            (here, numbers.clone, 17, ALLOW),
            (here, numbers.unshare, 0x0002_0000, ALLOW),
            (here, numbers.clone, NEW_USER_NAMESPACE | 17, NOT_PERMITTED),
            (here, numbers.unshare, NEW_USER_NAMESPACE, NOT_PERMITTED),
            (here, clone3, 0, NO_SUCH_CALL),
            (here, memfd, 0, NO_SUCH_CALL),
            (here, secret, 0, NO_SUCH_CALL),
            (here, segment, 0, NO_SUCH_CALL),
            (here, SECOND_CONVENTION, 0, NOT_PERMITTED),
            (here ^ 1, 0, 0, NOT_PERMITTED),
        ] {
            assert_eq!(
                answer(&numbers, processor, number, first),
                expected,
                "{number}"
            );
        }
    }
}
