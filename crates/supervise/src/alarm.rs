//! Interrupts the process after a time. A second thread for that would add a tenth to the start of the process.
#![expect(unsafe_code, reason = "signal handlers have no safe interface")]

use std::io;
use std::mem;
use std::ptr;
use std::sync::OnceLock;
use std::time::Duration;

static ACT: OnceLock<fn()> = OnceLock::new();

extern "C" fn ring(_: libc::c_int) {
    if let Some(act) = ACT.get() {
        act();
    }
}

/// Calls `act` once after `time`, interrupting the running code. It must not allocate, take a lock or return with
/// another `errno`. A second call sets the time again; the function stays the first.
///
/// # Errors
/// Fails if the system refuses the handler or the timer.
pub fn set_alarm(time: Duration, act: fn()) -> io::Result<()> {
    ACT.get_or_init(|| act);
    // SAFETY: all zeros are a value of this type: no flags, no mask.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = ring as *const () as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    let timer = libc::itimerval {
        it_interval: libc::timeval {
            tv_sec: 0,
            tv_usec: 0,
        },
        it_value: libc::timeval {
            tv_sec: time.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            // Zero would disable the timer. The type has another width on other systems.
            tv_usec: i32::try_from(time.subsec_micros()).map_or(1, |micros| micros.max(1).into()),
        },
    };
    // SAFETY: every pointer is to a value that outlives the calls, and the handler only calls a function that is made
    // to interrupt. A parent may have left the signal blocked.
    let done = unsafe {
        let mut alone: libc::sigset_t = mem::zeroed();
        libc::sigaddset(&raw mut alone, libc::SIGALRM);
        libc::sigprocmask(libc::SIG_UNBLOCK, &raw const alone, ptr::null_mut());
        libc::sigaction(libc::SIGALRM, &raw const action, ptr::null_mut()) == 0
            && libc::setitimer(libc::ITIMER_REAL, &raw const timer, ptr::null_mut()) == 0
    };
    match done {
        true => Ok(()),
        false => Err(io::Error::last_os_error()),
    }
}

/// Ends the process at once, without the usual cleanup, because locks may be held.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: it takes a number only, and does not return.
    unsafe { libc::_exit(code) }
}
