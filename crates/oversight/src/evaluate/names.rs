//! Files and other names under which the programs of the actions are started.

/// Programs that are scripts of JavaScript.
const SCRIPTS: &[&str] = &["npm", "npx", "yarn", "pnpm", "pnpx", "gh-pages", "wrangler"];

/// Other names of the same program.
const OTHERS: &[(&str, &str)] = &[
    ("rush-pnpm", "pnpm"),
    ("yarnpkg", "yarn"),
    ("hub", "git"),
    ("wrangler2", "wrangler"),
    ("genv", "env"),
    ("gfind", "find"),
    ("gnice", "nice"),
    ("gsed", "sed"),
    ("gsort", "sort"),
    ("gsplit", "split"),
    ("gstdbuf", "stdbuf"),
    ("gtar", "tar"),
    ("gxargs", "xargs"),
];

/// The program behind another name or the file of a script: `npm-cli.js`, `yarn-4.1.0.cjs`, `gh-pages.js`.
pub(super) fn of_file(name: &str) -> Option<&'static str> {
    if let Some((_, known)) = OTHERS.iter().find(|(other, _)| *other == name) {
        return Some(known);
    }
    let endings = [".js", ".cjs", ".mjs"];
    let stem = endings.iter().find_map(|end| name.strip_suffix(end))?;
    SCRIPTS.iter().copied().find(|known| {
        let rest = stem.strip_prefix(known);
        rest.is_some_and(|rest| {
            let version = rest.strip_prefix('-');
            matches!(rest, "" | "-cli" | "-berry")
                || version.is_some_and(|one| one.starts_with(|first: char| first.is_ascii_digit()))
        })
    })
}

/// `pnpm -w publish`: a switch of pnpm before its command, where npm takes a value.
pub(super) fn without_switch(name: &str, arguments: &[String]) -> Option<Vec<String>> {
    let own = arguments.iter().take_while(|word| word.starts_with('-'));
    let at = own.clone().position(|word| word == "-w");
    let at = at.filter(|_| name == "pnpm")?;
    let mut words = arguments.to_vec();
    words.remove(at);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::of_file;

    #[test]
    fn scripts_go_by_the_name_of_their_program() {
        assert_eq!(of_file("npm-cli.js"), Some("npm"));
        assert_eq!(of_file("yarn-4.1.0.cjs"), Some("yarn"));
        assert_eq!(of_file("gh-pages.js"), Some("gh-pages"));
        assert_eq!(of_file("gh-pages-clean.js"), None);
        assert_eq!(of_file("npm"), None);
    }
}
