//! Waits for a future in a program without an async runtime, such as the command line.
//!
//! Owns the runtime during one call; nothing runs after it.

use std::future::Future;
use std::io;

use tokio::runtime::{Builder, Handle};

/// Runs one future to its end on this thread. Related work should be in one future, so that connections are shared.
///
/// # Errors
/// The runtime cannot be started, or the caller already runs inside one and can simply `.await`.
pub fn run<F: Future>(future: F) -> io::Result<F::Output> {
    if Handle::try_current().is_ok() {
        return Err(io::Error::other(
            "an async runtime is already running on this thread",
        ));
    }
    let runtime = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()?;
    let output = runtime.block_on(future);
    // Dropping the runtime would wait for a name lookup after the time limit.
    runtime.shutdown_background();
    Ok(output)
}
