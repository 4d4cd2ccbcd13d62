//! Exclude options of programs that copy or pack trees. They name omitted parts, so they can only make a tree
//! smaller.

/// The command without its exclude options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Included {
    pub(crate) words: Vec<String>,
    /// Set if one of them omits `.role-os` anywhere in the tree.
    pub(crate) leaves_ours_out: bool,
}

/// Returns the command without its exclude options, if the program has such options.
pub(crate) fn removed(name: &str, arguments: &[String]) -> Option<Included> {
    let is_zip = name == "zip";
    if !is_zip && !matches!(name, "tar" | "bsdtar" | "gtar" | "rsync") {
        return None;
    }
    let mut included = Included {
        words: Vec::new(),
        leaves_ours_out: false,
    };
    // Options that include a part again, or that anchor a pattern at the top.
    let limits: &[&str] = match name {
        "rsync" => &["--include", "--filter", "-f"],
        "zip" => &[],
        _ => &["--anchored"],
    };
    let mut is_limited = false;
    let mut words = arguments.iter().peekable();
    while let Some(word) = words.next() {
        let (option, glued) = word.split_once('=').unwrap_or((word, ""));
        let excludes = option == "--exclude" || (is_zip && word == "-x");
        is_limited |= limits.contains(&option);
        if option == "--exclude-from" || (option == "-X" && name != "zip") {
            if glued.is_empty() {
                words.next();
            }
            continue;
        }
        if !excludes {
            included.words.push(word.clone());
            continue;
        }
        let mut patterns = vec![glued.to_owned()];
        if is_zip {
            // A list that ends with the next option or `@`.
            while let Some(pattern) = words.next_if(|word| !word.starts_with('-') && *word != "@") {
                patterns.push(pattern.clone());
            }
        } else if glued.is_empty() {
            patterns.extend(words.next().cloned());
        }
        included.leaves_ours_out |= patterns.iter().any(|one| names_ours(one, is_zip));
    }
    included.leaves_ours_out &= !is_limited;
    if is_zip {
        // Its patterns are compared with the whole name in the archive, which begins with the packed directory.
        let mut packed = included.words.iter().filter(|word| !word.starts_with('-'));
        included.leaves_ours_out &=
            packed.nth(1).is_some_and(|first| first == ".") && packed.next().is_none();
    }
    Some(included)
}

/// Returns `true` if a pattern matches the directory `.role-os`, or everything in it.
fn names_ours(pattern: &str, is_zip: bool) -> bool {
    match is_zip {
        true => matches!(
            pattern,
            ".role-os/*" | ".role-os/**" | "*.role-os*" | "*.role-os/*"
        ),
        false => matches!(pattern, ".role-os" | ".role-os/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exclude_only_makes_a_tree_smaller() {
        for (command, left, ours) in [
            ("tar czf o --exclude .role-os .", "czf o .", true),
            (
                "tar czf o --exclude=.role-os --exclude x .",
                "czf o .",
                true,
            ),
            (
                "tar czf o --anchored --exclude=.role-os .",
                "czf o --anchored .",
                false,
            ),
            ("tar czf o -X list .", "czf o .", false),
            ("rsync -a --exclude .role-os ./ /o/", "-a ./ /o/", true),
            (
                "rsync -a --include=.role-os --exclude .role-os ./ /o",
                "-a --include=.role-os ./ /o",
                false,
            ),
            ("zip -r o . -x .role-os/* .git/* -q", "-r o . -q", true),
            ("zip -r o app -x .role-os/*", "-r o app", false),
        ] {
            let mut words = command.split(' ').map(str::to_owned);
            let name = words.next().unwrap();
            let words: Vec<String> = words.collect();
            let included = removed(&name, &words).unwrap();
            assert_eq!(included.words.join(" "), left, "{command}");
            assert_eq!(included.leaves_ours_out, ours, "{command}");
        }
        assert_eq!(removed("cp", &["--exclude=x".to_owned()]), None);
    }
}
