//! Any text as the files of a task: no panic; a task that is read is written back as it was.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prove::task::{Task, Tests};

fuzz_target!(|text: &str| {
    if let Ok(task) = Task::parse(text) {
        let again = Task::parse(&task.to_text().expect("a task can be written")).expect("what was written is read");
        assert_eq!(format!("{task:?}"), format!("{again:?}"));
    }
    if let Err(error) = Tests::parse(text) {
        assert!(!error.to_string().is_empty());
    }
});
