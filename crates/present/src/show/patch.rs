//! A diff split into files, for a rendering that shows each under its name.

use witness::replay::{DiffPart, diff_lines};

/// Part of a diff for one file.
#[derive(Clone, Debug, Default)]
pub struct FilePatch<'a> {
    /// Lines before the first hunk: names, modes, hashes.
    pub notes: Vec<&'a [u8]>,
    /// Lines of the hunks.
    pub lines: Vec<(DiffPart, &'a [u8])>,
}

impl<'a> FilePatch<'a> {
    /// Returns the path of the file, the new one unless the file is gone; `None` for notes between files.
    #[must_use]
    pub fn path(&self) -> Option<&'a [u8]> {
        let after = |prefix: &[u8]| self.notes.iter().find_map(|note| note.strip_prefix(prefix));
        let named = |prefix| {
            let path = after(prefix)?.split(|byte| *byte == b'\t').next()?;
            let path = path.strip_suffix(b"\r").unwrap_or(path);
            (!path.is_empty() && path != b"/dev/null").then_some(path)
        };
        let path = named(b"+++ ").or_else(|| named(b"--- "));
        let path = path.map(|path| match path {
            [b'a' | b'b', b'/', path @ ..] => path,
            path => path,
        });
        // Renames, modes and binary files have no `+++`; the name is then twice in the first line.
        path.or_else(|| named(b"rename to "))
            .or_else(|| after(b"diff --git a/").and_then(first_half))
    }

    /// Returns the number of lines of this kind.
    #[must_use]
    pub fn count(&self, part: DiffPart) -> u64 {
        self.lines
            .iter()
            .filter(|(found, _)| *found == part)
            .count() as u64
    }
}

/// Returns `x b/x` without the second name.
fn first_half(names: &[u8]) -> Option<&[u8]> {
    let length = names.len().checked_sub(b" b/".len())? / 2;
    names.get(..length)
}

/// Returns the files of a diff in their order.
#[must_use]
pub fn files(diff: &[u8]) -> Vec<FilePatch<'_>> {
    let mut files: Vec<FilePatch<'_>> = Vec::new();
    for (part, line) in diff_lines(diff) {
        let is_note = part == DiffPart::File;
        let starts = files.last().is_none_or(|file| {
            let after_hunks = !file.lines.is_empty();
            is_note && (after_hunks || (line.starts_with(b"diff ") && !file.notes.is_empty()))
        });
        if starts {
            files.push(FilePatch::default());
        }
        if let Some(file) = files.last_mut() {
            if is_note && is_blob(&file.notes, line) {
                continue;
            }
            if is_note {
                file.notes.push(line);
            } else {
                file.lines.push((part, line));
            }
        }
    }
    files
}

/// Marks the bytes of a file that is no text.
const BINARY: &[u8] = b"GIT binary patch";

/// Returns `true` for a line of encoded bytes behind these notes, which only a program can read. Their number stays.
fn is_blob(notes: &[&[u8]], line: &[u8]) -> bool {
    let is_size = line.starts_with(b"literal ") || line.starts_with(b"delta ");
    notes.contains(&BINARY) && !is_size
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(diff: &str, expected: &[(&str, u64, u64)]) {
        let files = files(diff.as_bytes());
        let found: Vec<_> = files
            .iter()
            .map(|file| {
                let path = file.path().map_or("-".into(), String::from_utf8_lossy);
                (
                    path,
                    file.count(DiffPart::Added),
                    file.count(DiffPart::Removed),
                )
            })
            .collect();
        let found: Vec<_> = found.iter().map(|(path, a, r)| (&**path, *a, *r)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn git_diffs_split_at_their_first_lines() {
        check(
            "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+b\n+c\n\
             diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n\
             diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n\
             diff --git a/y b/y\ndeleted file mode 100644\n--- a/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-z\n",
            &[("x", 2, 1), ("new", 0, 0), ("run.sh", 0, 0), ("y", 0, 1)],
        );
    }

    #[test]
    fn bytes_of_binary_files_are_left_out() {
        let diff = b"diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 3\nKcmZQz\n\nliteral 0\nHcmV?d\n\ndiff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n";
        let found = files(diff);
        assert_eq!(found.len(), 2);
        let wanted: [&[u8]; 5] = [
            b"diff --git a/x b/x",
            b"index 1..2",
            b"GIT binary patch",
            b"literal 3",
            b"literal 0",
        ];
        assert_eq!(found[0].notes, wanted);
        assert_eq!(found[1].path(), Some(&b"y"[..]));
    }

    #[test]
    fn plain_diffs_split_after_their_hunks() {
        check(
            "--- x.orig\t2026-02-15\n+++ x\t2026-02-15\n@@ -1 +1 @@\n-a\n+b\n--- y\n+++ y\n@@ -1 +1 @@\n-a\n+b\n-- \n2.39\n",
            &[("x", 1, 1), ("y", 1, 1), ("-", 0, 0)],
        );
    }

    #[test]
    fn odd_names_do_not_break_it() {
        check("diff --git a/", &[("-", 0, 0)]);
        check("diff --git a/x", &[("-", 0, 0)]);
        check("+++ \n", &[("-", 0, 0)]);
        check("", &[]);
    }
}
