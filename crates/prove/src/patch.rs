//! Splits a git patch by file: touched paths, a check that it stays inside the tree, and parts of it.

use crate::task::is_inside;

/// Largest accepted patch.
pub const MAX_PATCH: usize = 16 << 20;

/// Error of a refused patch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the patch {0}")]
pub struct BadPatch(String);

/// The part of a patch about one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePatch<'a> {
    /// The path, relative to the top of the tree.
    pub path: String,
    /// Its lines, header included.
    pub bytes: &'a [u8],
}

/// Splits a patch as git writes it (`--no-renames`) into its files.
///
/// # Errors
/// It is too large, is not a patch of git, or touches a path outside of the tree.
pub fn files(patch: &[u8]) -> Result<Vec<FilePatch<'_>>, BadPatch> {
    let bad = |why: &str| BadPatch(why.to_owned());
    if patch.len() > MAX_PATCH {
        return Err(bad("is larger than 16 MiB"));
    }
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b"diff --git ") {
            starts.push(at);
        }
        at += line.len();
    }
    let before = patch
        .get(..starts.first().copied().unwrap_or(patch.len()))
        .unwrap_or_default();
    if !before.trim_ascii().is_empty() {
        return Err(bad("does not begin with `diff --git`"));
    }
    let ends = starts.iter().skip(1).copied().chain([patch.len()]);
    let mut found = Vec::new();
    for (start, end) in starts.iter().zip(ends) {
        let bytes = patch.get(*start..end).unwrap_or_default();
        let path = path_of(bytes)
            .ok_or_else(|| bad("names a path that cannot be read, or renames a file"))?;
        if !is_inside(&path) {
            return Err(BadPatch(format!(
                "touches `{path}`, which is outside of the tree"
            )));
        }
        if leads_out(&path, bytes) {
            return Err(BadPatch(format!(
                "makes `{path}` a link that leads out of the tree"
            )));
        }
        found.push(FilePatch { path, bytes });
    }
    Ok(found)
}

/// Divides a patch: the files for which `is_kept` returns `true`, and the paths of the others.
///
/// # Errors
/// Like [`files`].
pub fn divide(
    patch: &[u8],
    is_kept: impl Fn(&str) -> bool,
) -> Result<(Vec<u8>, Vec<String>), BadPatch> {
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    for file in files(patch)? {
        if is_kept(&file.path) {
            kept.extend_from_slice(file.bytes);
        } else {
            left_out.push(file.path);
        }
    }
    Ok((kept, left_out))
}

/// Returns the added lines of a patch, without their sign.
pub fn added(patch: &[u8]) -> impl Iterator<Item = &[u8]> {
    witness::replay::diff_lines(patch)
        .filter(|(part, _)| *part == witness::replay::DiffPart::Added)
        .filter_map(|(_, line)| line.get(1..))
}

fn path_of(bytes: &[u8]) -> Option<String> {
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').take(8).collect();
    let mut names = Vec::new();
    for line in &lines {
        for (sign, prefix) in [(b"--- ".as_slice(), "a/"), (b"+++ ".as_slice(), "b/")] {
            if let Some(name) = line.strip_prefix(sign) {
                let name = unquoted(name)?;
                if name != "/dev/null" {
                    names.push(name.strip_prefix(prefix)?.to_owned());
                }
            }
        }
        if line.starts_with(b"@@") {
            break;
        }
    }
    if names.is_empty() {
        // No hunk: a mode, an empty or a binary file. Both names are the same.
        let both = lines.first()?.strip_prefix(b"diff --git ")?;
        if both.starts_with(b"\"") {
            let half = both.len().checked_sub(1)? / 2;
            names.push(unquoted(both.get(..half)?)?.strip_prefix("a/")?.to_owned());
        } else {
            let half = both.len().checked_sub(1)? / 2;
            let (one, other) = (both.get(..half)?, both.get(half + 1..)?);
            if one.get(2..)? != other.get(2..)? {
                return None;
            }
            names.push(String::from_utf8_lossy(one.get(2..)?).into_owned());
        }
    }
    let first = names.first()?.clone();
    names.iter().all(|name| *name == first).then_some(first)
}

/// Parses a name as git writes it: plain up to a tab, or in quotes with escapes.
fn unquoted(name: &[u8]) -> Option<String> {
    let name = name.strip_suffix(b"\r").unwrap_or(name);
    let Some(mut rest) = name
        .strip_prefix(b"\"")
        .and_then(|name| name.strip_suffix(b"\""))
    else {
        let end = name
            .iter()
            .position(|byte| *byte == b'\t')
            .unwrap_or(name.len());
        return Some(String::from_utf8_lossy(name.get(..end)?).into_owned());
    };
    let mut bytes = Vec::new();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'\\' {
            bytes.push(*byte);
            continue;
        }
        let (escape, after) = rest.split_first()?;
        rest = after;
        match escape {
            b'n' => bytes.push(b'\n'),
            b't' => bytes.push(b'\t'),
            b'"' | b'\\' => bytes.push(*escape),
            b'0'..=b'3' => {
                let digits = [*escape, *rest.first()?, *rest.get(1)?];
                rest = rest.get(2..)?;
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 8).ok()?);
            }
            _ => return None,
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns `true` if a patch creates a symbolic link with a target outside the tree.
fn leads_out(path: &str, bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let is_link = text
        .lines()
        .take(6)
        .any(|line| line.ends_with("mode 120000") || line.ends_with(" 120000"));
    if !is_link {
        return false;
    }
    let depth = path.split('/').count() - 1;
    added(bytes).any(|target| {
        let target = String::from_utf8_lossy(target);
        let mut level = depth;
        target.starts_with('/')
            || target.split('/').any(|part| match part {
                "" | "." => false,
                ".." => {
                    let is_out = level == 0;
                    level = level.saturating_sub(1);
                    is_out
                }
                _ => {
                    level += 1;
                    false
                }
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(patch: &str) -> String {
        match files(patch.as_bytes()) {
            Ok(files) => files
                .iter()
                .map(|file| file.path.as_str())
                .collect::<Vec<_>>()
                .join(" "),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn paths_are_read_and_kept_inside() {
        let hunk = "@@ -1 +1 @@\n-a\n+b\n";
        let plain = |name: &str| {
            format!("diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n{hunk}")
        };
        let link = |name: &str, target: &str| {
            format!(
                "diff --git a/{name} b/{name}\nnew file mode 120000\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+{target}\n"
            )
        };
        for (patch, expected) in [
            (plain("a.py") + &plain("b c.py"), "a.py b c.py"),
            (plain("a/../../x"), "the patch touches `a/../../x`, which is outside of the tree"),
            (plain("/etc/x"), "the patch touches `/etc/x`, which is outside of the tree"),
            (plain(".git/hooks/x"), "the patch touches `.git/hooks/x`, which is outside of the tree"),
            (link("l", "../x"), "the patch makes `l` a link that leads out of the tree"),
            (link("a/l", "../x"), "a/l"),
            (link("a/l", "/etc/passwd"), "the patch makes `a/l` a link that leads out of the tree"),
            ("diff --git a/m b/m\nold mode 100644\nnew mode 100755\n".to_owned(), "m"),
            ("diff --git a/e b/e\nnew file mode 100644\nindex 000..e69\n".to_owned(), "e"),
            ("diff --git \"a/\\303\\244\" \"b/\\303\\244\"\n--- \"a/\\303\\244\"\n+++ \"b/\\303\\244\"\n".to_owned() + hunk, "ä"),
            ("diff --git a/b b/c\nsimilarity index 100%\n".to_owned(), "the patch names a path that cannot be read, or renames a file"),
            ("--- a/x\n+++ b/x\n".to_owned() + hunk, "the patch does not begin with `diff --git`"),
            (String::new(), ""),
        ] {
            assert_eq!(show(&patch), expected, "{patch}");
        }
    }
}
