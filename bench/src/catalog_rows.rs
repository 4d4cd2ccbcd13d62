//! The catalog crate against Node with the npm package `yaml`, the parser of the published check: the same files, one
//! process each. Theirs only parses; ours parses, checks, hashes and compares with the lock.

#![expect(
    clippy::expect_used,
    reason = "a measurement that cannot be set up has nothing to report"
)]

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use catalog::catalog::{Damaged, Rigour};
use roles::catalog::{Directory, Request, check};

use crate::measure::{peak_megabytes, per_second};
use crate::row::{Goal, Row};

const BUNDLES: usize = 40;
const ROLES: usize = 250;
const LANGUAGES: [&str; 2] = ["en", "ru"];
const PEER: &str = "Node, npm yaml 2.8.3";
const PACKAGE: &str = "yaml@2.8.3";
const MEMORY_LIMIT: f64 = 500.0;
const SPEED: &str = "catalog: check 10,000 roles × 2 languages";
const MEMORY: &str = "catalog: memory of that";

const SCRIPT: &str = r"
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
const root = process.argv[2];
const options = { strict: true, maxAliasCount: 100 };
const read = (path) => parse(readFileSync(path, 'utf8'), options);
read(join(root, 'index.yaml'));
let roles = 0;
for (const bundle of readdirSync(join(root, 'bundles')))
  for (const file of readdirSync(join(root, 'bundles', bundle)))
    roles += read(join(root, 'bundles', bundle, file)).roles.length;
if (roles !== Number(process.argv[3])) process.exit(1);
";

const WORDS: [&[&str]; 2] = [
    &[
        "keep",
        "the",
        "ledger",
        "of",
        "seeds",
        "show",
        "each",
        "source",
        "with",
        "its",
        "date",
        "never",
        "guess",
        "write",
        "short",
        "plain",
        "sentences",
        "list",
        "risks",
        "first",
    ],
    &[
        "ведите",
        "книгу",
        "семян",
        "покажите",
        "каждый",
        "источник",
        "с",
        "датой",
        "никогда",
        "не",
        "гадайте",
        "пишите",
        "коротко",
        "и",
        "просто",
        "сначала",
        "риски",
        "затем",
        "шаги",
    ],
];

pub(crate) fn rows(wanted: &dyn Fn(&str) -> bool) -> Vec<Row> {
    if !wanted(SPEED) && !wanted(MEMORY) {
        return Vec::new();
    }
    let folder = tempfile::tempdir().expect("a temporary directory");
    generate(folder.path(), BUNDLES, ROLES);
    let mut rows = Vec::new();
    if wanted(SPEED) {
        let node = node_script();
        let (ours, peer) = per_second(
            BUNDLES * ROLES * LANGUAGES.len(),
            || assert!(check_in_child(folder.path()) > 0.0),
            || parse_in_node(&node, folder.path()),
        );
        rows.push(Row::new(
            SPEED,
            (ours, peer),
            PEER,
            "roles/s",
            Goal::AtLeast(20.0),
        ));
    }
    if wanted(MEMORY) {
        let memory = check_in_child(folder.path());
        rows.push(Row::within(MEMORY, memory, MEMORY_LIMIT, "MB"));
    }
    rows
}

/// Runs the whole path of `roleos catalog check` in this process.
pub(crate) fn check_here(root: &Path, roles: usize) {
    assert_eq!(refresh_or_check(root, None), roles);
}

/// Runs the child of [`check_in_child`]: the whole path of `roleos catalog check`, without printing.
pub(crate) fn memory_of_check(root: &Path) -> f64 {
    check_here(root, BUNDLES * ROLES);
    peak_megabytes()
}

fn refresh_or_check(root: &Path, refresh: Option<Damaged>) -> usize {
    let directory = Directory::open(root).expect("the generated catalog");
    let rigour = Rigour::Published;
    let outcome = check(&directory, Request { rigour, refresh }).expect("a lock to write");
    assert!(outcome.passed, "{:?}", outcome.problems.first());
    outcome.draft.roles().len()
}

/// Checks in a separate process and returns its largest resident size, in megabytes.
fn check_in_child(root: &Path) -> f64 {
    let output = Command::new(std::env::current_exe().expect("this program"))
        .arg("--check-catalog")
        .arg(root)
        .output()
        .expect("a child process");
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().expect("a number")
}

fn parse_in_node(script: &Path, root: &Path) {
    let roles = BUNDLES * ROLES * LANGUAGES.len();
    let mut node = Command::new("node");
    node.arg(script).arg(root).arg(roles.to_string());
    assert!(node.status().expect("Node is installed").success());
}

/// Returns the script beside its package, which npm installs if it is missing.
fn node_script() -> PathBuf {
    let program = std::env::current_exe().expect("this program");
    let target = program.ancestors().nth(2).expect("the target folder");
    let home = target.join("tools/node");
    fs::create_dir_all(&home).expect("a folder for the package");
    if !home.join("node_modules/yaml/package.json").exists() {
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--silent", "--prefix"]);
        npm.arg(&home).arg(PACKAGE);
        assert!(npm.status().expect("npm is installed").success());
    }
    let script = home.join("parse.mjs");
    put(&script, SCRIPT);
    script
}

/// Generates roles of a realistic size: a short head and a prompt of two dozen lines.
pub(crate) fn generate(root: &Path, bundles: usize, roles: usize) {
    let mut index = "schemaVersion: 1\nbundles:\n".to_owned();
    for bundle in 0..bundles {
        let languages = LANGUAGES.join(", ");
        let head = format!(
            "  - id: bundle-{bundle}\n    name: {{ en: B, ru: Б }}\n    languages: [{languages}]\n"
        );
        index.push_str(&head);
        index.push_str("    roles:\n");
        for role in 0..roles {
            let version = role % 9 + 1;
            writeln!(
                index,
                "      - slug: role-{bundle}-{role}\n        version: {version}"
            )
            .expect("memory");
        }
        let folder = root.join(format!("bundles/bundle-{bundle}"));
        fs::create_dir_all(&folder).expect("a folder");
        for (language, words) in LANGUAGES.into_iter().zip(WORDS) {
            put(
                &folder.join(format!("{language}.yaml")),
                &language_file(bundle, roles, language, words),
            );
        }
    }
    put(&root.join("index.yaml"), &index);
    assert_eq!(
        refresh_or_check(root, Some(Damaged::Refuse)),
        bundles * roles
    );
}

fn language_file(bundle: usize, roles: usize, language: &str, words: &[&str]) -> String {
    let mut words = words.iter().cycle().copied();
    let mut sentence = |length: usize| words.by_ref().take(length).collect::<Vec<_>>().join(" ");
    let mut text = format!("schemaVersion: 1\nlanguage: {language}\nroles:\n");
    for role in 0..roles {
        let (name, description, message) = (sentence(2), sentence(8), sentence(5));
        let auto = role % 2 == 0;
        writeln!(
            text,
            "  - slug: role-{bundle}-{role}\n    emoji: \"🌱\"\n    name: {name} {role}\n    \
             description: \"{description}: {role}\"\n    autoStart: {auto}\n    \
             launchMessage: {message}\n    instructions: |-"
        )
        .expect("memory");
        for paragraph in 0..6 {
            writeln!(
                text,
                "      {}.\n      - {}.\n      - {}.",
                sentence(12),
                sentence(12),
                sentence(13)
            )
            .expect("memory");
            if paragraph < 5 {
                text.push('\n');
            }
        }
    }
    assert!(text.len() < 1_000_000, "a file of the catalog is too long");
    text
}

fn put(path: &Path, text: &str) {
    let mut file = fs::File::create(path).expect("a file");
    file.write_all(text.as_bytes()).expect("room for the file");
}
