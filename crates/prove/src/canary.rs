//! A pair of tests that is added to a run: one must fail, one must pass. Code under test that falsifies its runner's
//! report falsifies these results too. It is evidence, not proof: code can search for them.

use crate::cases::{Cases, Status};
use crate::mine::screen;
use crate::task::{Format, Task};

/// A canary for a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planted {
    /// Path of the file, relative to the tree.
    pub path: String,
    /// Set if the text is appended to an existing file.
    pub is_appended: bool,
    pub text: String,
    /// Part of its names that differs in every run.
    pub suffix: String,
}

/// Returns the canary for a task, if its runner is known.
#[must_use]
pub fn plant(task: &Task, suffix: &str) -> Option<Planted> {
    let first = task.test.files.first()?;
    let (folder, name) = first
        .rsplit_once('/')
        .map_or(("", first.as_str()), |(folder, name)| (folder, name));
    let beside = |name: String| {
        if folder.is_empty() {
            name
        } else {
            format!("{folder}/{name}")
        }
    };
    let (fails, passes) = (
        format!("roleos_must_fail_{suffix}"),
        format!("roleos_must_pass_{suffix}"),
    );
    let command = &task.test.command;
    let ending = name
        .find('.')
        .and_then(|at| name.get(at..))
        .unwrap_or_default();
    let (path, is_appended, text) = match task.test.format {
        Format::Junit if command.contains("pytest") => (
            beside(format!("test_roleos_{suffix}.py")),
            false,
            format!("def test_{fails}():\n    assert False\n\n\ndef test_{passes}():\n    pass\n"),
        ),
        Format::Cargo if screen::is_rust_test(first) => (
            first.clone(),
            true,
            format!("\n#[test]\nfn {fails}() {{\n    panic!();\n}}\n#[test]\nfn {passes}() {{}}\n"),
        ),
        Format::Tap if command.contains("tape") => (
            beside(format!("roleos_{suffix}.js")),
            false,
            format!(
                "'use strict';\nrequire('tape')('{suffix}', function (t) {{\n\tt.ok(false, '{fails}');\n\tt.ok(true, '{passes}');\n\tt.end();\n}});\n"
            ),
        ),
        Format::Tap if ending == ".sh" => (
            beside(format!("roleos_{suffix}.sh")),
            false,
            format!("echo 'not ok - {fails}'\necho 'ok - {passes}'\n"),
        ),
        Format::MochaJson | Format::JestJson => (
            beside(format!("roleos_{suffix}{ending}")),
            false,
            format!(
                "it('{fails}', () => {{ throw new Error(); }});\nit('{passes}', () => {{}});\n"
            ),
        ),
        _ => return None,
    };
    Some(Planted {
        path,
        is_appended,
        text,
        suffix: suffix.to_owned(),
    })
}

/// Removes the canary's tests from a report. Returns `true` if they have the required results.
pub fn take(cases: &mut Cases, suffix: &str) -> bool {
    let (fails, passes) = (
        format!("roleos_must_fail_{suffix}"),
        format!("roleos_must_pass_{suffix}"),
    );
    let (mut has_failed, mut has_passed) = (false, false);
    cases.retain(|name, status| {
        let (is_failing, is_passing) = (name.contains(&fails), name.contains(&passes));
        has_failed |= is_failing && matches!(status, Status::Failed | Status::Error);
        has_passed |= is_passing && *status == Status::Passed;
        !is_failing && !is_passing
    });
    has_failed && has_passed
}
