//! Forbidden crate edges, however indirect. The table enforces the layers of ARCHITECTURE.md.
//!
//! Only normal dependencies count: a test or a build script may use crates that the product may not.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::Deserialize;

use super::Problem;
use crate::project::Project;
use crate::shell::{self, Failure, Result};

const ROOMS: &[&str] = &[
    "catalog",
    "contracts",
    "specialist",
    "selection",
    "oversight",
    "redact",
    "witness",
];
/// Crates that several others use and that decide nothing: arithmetic, the shell's language, the table of actions,
/// the logs of test runners. They depend only on our crates of the same kind.
const SHARED: &[&str] = &[
    "statistics",
    "shell",
    "actions",
    "authority",
    "protection",
    "json-schema",
    "testlog",
];
/// Crates that act: files, processes, git. Each depends at most on those before it.
const ACTING: &[&str] = &[
    "base", "lookup", "sandbox", "evidence", "guard", "routing", "roles", "doctor", "present",
    "prove",
];
/// Crates that may speak HTTP or hold a database.
const NETWORK: &[&str] = &["index", "team", "upstream", "web", "server"];
const OFFLINE: &[&[&str]] = &[SHARED, ROOMS, ACTING, &["supervise", "roleos-hook"]];
const LIBRARIES: &[&[&str]] = &[
    SHARED,
    ROOMS,
    ACTING,
    &["supervise", "roleos-hook"],
    NETWORK,
];
const ALL: &[&[&str]] = &[
    SHARED,
    ROOMS,
    ACTING,
    &["supervise", "roleos-hook", "roleos"],
    NETWORK,
];

/// Rule: no crate of `crates` may reach one of `never`. A crate that does not exist yet breaks no rule.
struct Rule {
    crates: &'static [&'static [&'static str]],
    never: &'static [&'static str],
    why: &'static str,
}

const RULES: &[Rule] = &[
    Rule {
        crates: &[ROOMS],
        never: ROOMS,
        why: "the rooms do not know each other; what one needs of another arrives as a value",
    },
    Rule {
        crates: &[SHARED],
        never: ROOMS,
        why: "what the rooms share knows nothing of what they decide",
    },
    Rule {
        crates: &[SHARED, ROOMS],
        never: &["base", "index", "upstream", "web", "server", "roleos"],
        why: "a room decides and does not act; bring the world in as values",
    },
    Rule {
        crates: &[SHARED, ROOMS],
        never: &["tempfile", "walkdir"],
        why: "a room touches no file; `base` does",
    },
    Rule {
        crates: &[&["witness"]],
        never: &["serde", "serde_json"],
        why: "signed bytes are written by hand, and an outsider builds a verifier from `witness` alone",
    },
    Rule {
        crates: &[&["supervise"]],
        never: &[
            "catalog",
            "specialist",
            "selection",
            "oversight",
            "witness",
            "base",
            "upstream",
            "server",
            "roleos",
        ],
        why: "`supervise` asks a rule and knows none; `guard` brings it",
    },
    Rule {
        crates: &[&["base"]],
        never: &[
            "lookup", "sandbox", "evidence", "guard", "routing", "roles", "doctor", "present",
        ],
        why: "`base` is what the other acting crates stand on",
    },
    Rule {
        crates: &[&["evidence"]],
        never: &["guard", "routing", "roles", "doctor", "present"],
        why: "evidence is made from the journal alone, whoever guards and routes",
    },
    Rule {
        crates: &[&["guard"]],
        never: &["routing", "roles", "doctor", "present"],
        why: "the guard does not know adapters and catalogs",
    },
    Rule {
        crates: &[&["routing", "roles"]],
        never: &["evidence", "guard", "doctor", "present"],
        why: "adapters and catalogs do not know the guard and its evidence",
    },
    Rule {
        crates: &[&["sandbox"]],
        never: &["evidence", "guard", "routing", "prove"],
        why: "the box runs a command and knows nothing of why",
    },
    Rule {
        crates: &[&["prove"]],
        never: &["guard", "routing", "roles", "doctor", "present"],
        why: "a proof starts the supervisor as a program and judges by tests alone",
    },
    Rule {
        crates: &[ACTING],
        never: &[
            "index",
            "upstream",
            "web",
            "server",
            "roleos",
            "roleos-hook",
        ],
        why: "the acting crates are used by the programs and the server, not the other way round",
    },
    Rule {
        crates: &[&["roleos-hook"]],
        never: &["index", "team", "upstream", "web", "server", "roleos"],
        why: "what an agent starts for every tool call is small and has no network",
    },
    Rule {
        crates: &[&["team"]],
        never: &[
            "guard", "roles", "doctor", "present", "index", "upstream", "web", "server", "roleos",
        ],
        why: "the team's store keeps what routing and evidence hand to it, and knows no more",
    },
    Rule {
        crates: &[NETWORK],
        never: &["roleos"],
        why: "`roleos` starts the server, not the other way round",
    },
    Rule {
        crates: &[&["index", "upstream"]],
        never: &["web", "server"],
        why: "tables and requests to other machines know nothing of those who ask us",
    },
    Rule {
        crates: &[&["web"]],
        never: &["server"],
        why: "the process mounts the pages, not the other way round",
    },
    Rule {
        crates: &[&["upstream"]],
        never: &["rusqlite", "axum"],
        why: "`upstream` asks other machines; it neither listens nor keeps tables",
    },
    Rule {
        crates: &[&["index"]],
        never: &["tokio", "hyper", "axum", "rustls"],
        why: "the tables are read from files",
    },
    Rule {
        crates: OFFLINE,
        never: &[
            "tokio",
            "reqwest",
            "hyper",
            "axum",
            "tower-http",
            "ureq",
            "rustls",
            "native-tls",
        ],
        why: "the hook path has no async runtime, no TLS and no network; that is `upstream`, `web` and `server`",
    },
    Rule {
        crates: OFFLINE,
        never: &["rusqlite", "sqlx", "postgres", "tokio-postgres", "team"],
        why: "databases belong to `index` and `team`",
    },
    Rule {
        crates: LIBRARIES,
        never: &["clap", "anstream", "terminal_size"],
        why: "only `roleos` reads arguments and talks to the terminal",
    },
    Rule {
        crates: ALL,
        never: &["xtask", "bench", "e2e", "faults", "simulate"],
        why: "chores and measurements are no part of the product",
    },
];

/// Erroneous edges between third-party crates, whose code ours never reaches.
const MISTAKES: &[(&str, &str)] = &[
    // A snapshot library for tests, listed among the normal dependencies; the parser's published code does not call it.
    ("brush-parser", "insta"),
];

pub(super) fn check(project: &Project) -> Result<Vec<Problem>> {
    let text = shell::output(&mut project.cargo(&["metadata", "--format-version=1", "--locked"]))?;
    let metadata: Metadata = serde_json::from_str(&text)
        .map_err(|error| Failure::of("cannot read the output of `cargo metadata`", error))?;
    breaches(&Graph::from(metadata))
        .iter()
        .map(|breach| problem(project, breach))
        .collect()
}

/// A forbidden edge, with its path.
#[derive(Debug, PartialEq, Eq)]
struct Breach {
    /// Crate names from ours to the forbidden one.
    way: Vec<String>,
    why: &'static str,
}

/// Creates a problem at the line of our manifest at which the path begins.
fn problem(project: &Project, breach: &Breach) -> Result<Problem> {
    let name = breach.way.first().map_or("", String::as_str);
    let next = breach.way.get(1).map_or("", String::as_str);
    let file = format!("crates/{name}/Cargo.toml");
    let manifest = project.read(&file)?;
    let line = manifest.lines().position(|line| line.starts_with(next));
    let way = breach.way.join(" → ");
    let what = format!("forbidden edge {way}: {}; drop the dependency", breach.why);
    Ok(Problem::new(&file, line.unwrap_or(0) + 1, what))
}

/// Returns all breaches of all rules, each by a shortest path.
fn breaches(graph: &Graph) -> Vec<Breach> {
    let mut found = Vec::new();
    for rule in RULES {
        for name in rule.crates.iter().copied().flatten() {
            let ways = graph.ways_from(name);
            found.extend(rule.never.iter().filter_map(|never| {
                let way = ways.get(*never)?.clone();
                Some(Breach { way, why: rule.why })
            }));
        }
    }
    found
}

/// Crates and their normal dependencies, by package id, because one name may come in several versions.
struct Graph {
    names: BTreeMap<String, String>,
    members: BTreeSet<String>,
    dependencies: BTreeMap<String, Vec<String>>,
}

impl Graph {
    /// Returns the shortest path from our crate `name` to each crate that it reaches, by name; empty if there is no
    /// such crate.
    fn ways_from(&self, name: &str) -> BTreeMap<&str, Vec<String>> {
        let mut ways = BTreeMap::new();
        let mut queue = VecDeque::new();
        let mut seen = BTreeSet::new();
        for member in &self.members {
            if self.name(member) == name {
                queue.push_back((member, vec![name.to_owned()]));
            }
        }
        while let Some((id, way)) = queue.pop_front() {
            for next in self.dependencies.get(id).into_iter().flatten() {
                if MISTAKES.contains(&(self.name(id), self.name(next))) || !seen.insert(next) {
                    continue;
                }
                let mut way = way.clone();
                way.push(self.name(next).to_owned());
                ways.entry(self.name(next)).or_insert_with(|| way.clone());
                queue.push_back((next, way));
            }
        }
        ways
    }

    fn name<'a>(&'a self, id: &'a str) -> &'a str {
        self.names.get(id).map_or(id, String::as_str)
    }
}

impl From<Metadata> for Graph {
    fn from(metadata: Metadata) -> Self {
        let names = metadata.packages.into_iter();
        let nodes = metadata.resolve.nodes.into_iter();
        Self {
            names: names.map(|package| (package.id, package.name)).collect(),
            members: metadata.workspace_members.into_iter().collect(),
            dependencies: nodes
                .map(|node| {
                    let normal = node.deps.into_iter().filter(Dependency::is_normal);
                    (node.id, normal.map(|dependency| dependency.pkg).collect())
                })
                .collect(),
        }
    }
}

/// Used part of `cargo metadata`.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

impl Dependency {
    fn is_normal(&self) -> bool {
        self.dep_kinds.iter().any(|kind| kind.kind.is_none())
    }
}

/// Kind of a dependency: null for a normal one, else `dev` or `build`.
#[derive(Deserialize)]
struct Kind {
    kind: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Builds a graph of edges such as `a b` (normal) or `a b dev`; a name is its own package id.
    fn graph(edges: &[&str]) -> Graph {
        let mut nodes: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        for edge in edges {
            let mut words = edge.split(' ');
            let (from, to) = (words.next().unwrap(), words.next().unwrap());
            let dependency = json!({ "pkg": to, "dep_kinds": [{ "kind": words.next() }] });
            nodes.entry(from).or_default().push(dependency);
            nodes.entry(to).or_default();
        }
        let packages = nodes.keys().map(|name| json!({ "id": name, "name": name }));
        let resolved = nodes
            .iter()
            .map(|(id, deps)| json!({ "id": id, "deps": deps }));
        let metadata = json!({
            "packages": packages.collect::<Vec<_>>(),
            "workspace_members": ALL.concat(),
            "resolve": { "nodes": resolved.collect::<Vec<_>>() },
        });
        Graph::from(serde_json::from_value::<Metadata>(metadata).unwrap())
    }

    /// Expects exactly these paths to be refused.
    fn check(edges: &[&str], expected: &[&str]) {
        let found = breaches(&graph(edges));
        let ways: Vec<_> = found.iter().map(|breach| breach.way.join(" ")).collect();
        assert_eq!(ways, expected);
    }

    #[test]
    fn the_house_as_designed_is_fine() {
        check(
            &[
                "base witness",
                "base serde",
                "guard evidence",
                "evidence base",
                "server guard",
                "server tokio",
                "roleos-hook guard",
                "roleos roleos-hook",
                "roleos server",
                "roleos clap",
                "xtask base",
                "bench witness",
            ],
            &[],
        );
    }

    #[test]
    fn a_room_may_not_know_another() {
        check(&["witness oversight"], &["witness oversight"]);
    }

    #[test]
    fn an_indirect_edge_is_found_by_its_shortest_way() {
        check(
            &["base a", "a b", "b tokio", "base c", "c tokio"],
            &["base c tokio"],
        );
    }

    #[test]
    fn a_test_may_use_what_the_product_may_not() {
        check(&["witness serde dev", "witness tokio build"], &[]);
    }

    #[test]
    fn nothing_reaches_the_chores() {
        check(
            &["roleos bench", "server xtask"],
            &["roleos bench", "server xtask"],
        );
    }

    #[test]
    fn a_mistake_of_others_is_no_breach_but_its_neighbour_is() {
        check(
            &[
                "oversight brush-parser",
                "brush-parser insta",
                "insta tempfile",
                "witness insta",
            ],
            &["witness insta tempfile"],
        );
    }

    #[test]
    fn a_cycle_ends() {
        check(&["witness a", "a b", "b a"], &[]);
    }

    #[test]
    fn several_rules_are_all_reported() {
        check(
            &["witness serde_json", "serde_json serde", "server clap"],
            &[
                "witness serde_json serde",
                "witness serde_json",
                "server clap",
            ],
        );
    }
}
