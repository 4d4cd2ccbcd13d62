//! Names of modules that stand in code, as paths of files.

use super::literal::literals;
use super::modules::MAX_MODULES;

/// What `import` and `from … import` name.
fn imported_names(code: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for line in code.split(['\n', ';']) {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("import ") {
            names.extend(
                rest.split(',')
                    .filter_map(|part| part.split_whitespace().next())
                    .map(str::to_owned),
            );
        } else if let Some((module, what)) = line
            .strip_prefix("from ")
            .and_then(|rest| rest.split_once(" import "))
        {
            let module = module.trim().trim_start_matches('.');
            names.push(module.to_owned());
            names.extend(
                what.split(',')
                    .filter_map(|part| part.split_whitespace().next())
                    .map(|part| {
                        if module.is_empty() {
                            part.to_owned()
                        } else {
                            format!("{module}.{part}")
                        }
                    }),
            );
        }
    }
    names
}

/// Packages that the code takes anything from.
pub(super) fn python_packages(code: &str) -> Vec<String> {
    let mut packages: Vec<String> = imported_names(code)
        .iter()
        .filter_map(|name| name.split('.').next())
        .map(str::to_owned)
        .collect();
    packages.sort();
    packages.dedup();
    packages
}

pub(super) fn python_modules(code: &str) -> Vec<String> {
    let mut names = imported_names(code);
    let loads = [
        "import_module",
        "run_path",
        "run_module",
        "__import__",
        "exec(",
        "execfile",
    ];
    if loads.iter().any(|word| code.contains(word)) {
        names.extend(
            literals(code)
                .into_iter()
                .map(|literal| literal.text)
                .filter(|text| text.len() < 200),
        );
    }
    let mut paths = Vec::new();
    for name in names {
        if name.ends_with(".py") {
            paths.push(name);
            continue;
        }
        let path = name.replace('.', "/");
        if !path.is_empty() && !path.contains(char::is_whitespace) {
            paths.push(format!("{path}.py"));
            paths.push(format!("{path}/__init__.py"));
        }
    }
    paths
}

/// `require('./x')`, `import './x.mjs'`, `from './x'`.
pub(super) fn script_modules(code: &str, named: bool) -> Vec<String> {
    if ![
        "require",
        "import",
        "from",
        "fork(",
        "Worker(",
        "Setup",
        "setupFiles",
    ]
    .iter()
    .any(|word| code.contains(word))
    {
        return Vec::new();
    }
    let texts = literals(code).into_iter().map(|literal| literal.text);
    // `fork("x.js")`: a path, not a module.
    let starts = code.contains("fork(") || code.contains("Worker(");
    let paths = texts.filter(|text| {
        text.starts_with("./")
            || text.starts_with("../")
            || (starts && text.ends_with("js"))
            || (named && !text.contains(char::is_whitespace))
    });
    paths
        .take(MAX_MODULES)
        .flat_map(|path| {
            // `__dirname + "/x.js"` begins beside the code.
            let path = if path.starts_with('/') {
                format!(".{path}")
            } else {
                path
            };
            ["", ".js", ".mjs", ".cjs", ".ts", "/index.js"].map(|ending| format!("{path}{ending}"))
        })
        .collect()
}

/// `use A::B;`, and files that are loaded by their path.
pub(super) fn perl_modules(code: &str) -> Vec<String> {
    let mut paths = path_modules(code, &["do ", "require "], &["", ".pl"]);
    for line in code.split(['\n', ';', '{']) {
        let line = line.trim();
        let name = line
            .strip_prefix("use ")
            .or_else(|| line.strip_prefix("require "));
        let name = name.and_then(|rest| rest.split_whitespace().next());
        if let Some(name) = name.filter(|name| {
            name.starts_with(|one: char| one.is_ascii_uppercase())
                && name
                    .chars()
                    .all(|one| one.is_alphanumeric() || one == ':' || one == '_')
        }) {
            paths.push(name.replace("::", "/") + ".pm");
        }
    }
    paths
}

pub(super) fn path_modules(code: &str, words: &[&str], endings: &[&str]) -> Vec<String> {
    if !words.iter().any(|word| code.contains(word)) {
        return Vec::new();
    }
    let texts = literals(code).into_iter().map(|literal| literal.text);
    texts
        .filter(|text| !text.contains(char::is_whitespace) && text.len() < 200)
        .take(MAX_MODULES)
        .flat_map(|path| endings.iter().map(move |ending| format!("{path}{ending}")))
        .collect()
}
