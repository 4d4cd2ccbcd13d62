//! `cargo xtask dist`: an archive of stripped programs with man pages and completions, its list of components,
//! checksums, and a signature over them.

use std::fs;
use std::path::Path;
use std::process::Command;

use base::keys::KeyStore;
use base::workspace::Workspace;
use serde_json::{Value, json};
use witness::key::SigningKey;
use witness::ledger::checkpoint::Origin;
use witness::ledger::note::{sign_text, verifier_key};

use crate::project::Project;
use crate::reproducible;
use crate::shell::{self, Failure, Result, headline};

/// The programs that are shipped.
pub(crate) const PROGRAMS: [&str; 2] = ["roleos", "roleos-hook"];
/// Files that go into the archive beside them.
const PAPERS: [&str; 4] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md"];
/// What published programs have beside the default.
const FEATURES: &str = "roleos/otlp,roleos/oidc";
const CHECKSUMS: &str = "SHA256SUMS";
/// Name of the key in the note.
const SIGNER: &str = "roleos-release";

/// Words of `dist`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The profile to build with; `release` is quicker.
    #[arg(long, default_value = "dist")]
    profile: String,
    /// Do without a signature; else the Ed25519 key of the workspace at the root signs.
    #[arg(long)]
    unsigned: bool,
}

/// Writes everything to `dist/` below the target directory.
pub(crate) fn run(project: &Project, args: &Args) -> Result<()> {
    let key = if args.unsigned {
        None
    } else {
        Some(signing_key(project)?)
    };
    let metadata = metadata(project)?;
    let version = version(&metadata)?;
    let host = host()?;
    headline("programs");
    let strip = format!("profile.{}.strip=\"symbols\"", args.profile);
    let mut cargo = project.cargo(&[
        "build",
        "--locked",
        "--package",
        "roleos",
        "--profile",
        &args.profile,
        "--features",
        FEATURES,
        "--config",
        &strip,
    ]);
    reproducible::settle(&mut cargo, project.root());
    shell::run(&mut cargo)?;
    let folder = project.target().join("dist-files");
    let name = format!("roleos-{version}-{host}");
    let built = match args.profile.as_str() {
        "dev" => "debug",
        other => other,
    };
    collect(project, &project.target().join(built), &folder.join(&name))?;
    let archive = format!("{name}.tar.gz");
    shell::run(project.command("tar").current_dir(&folder).args([
        "--sort=name",
        "--mtime=@0",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "-czf",
        &archive,
        &name,
    ]))?;
    let components = format!("{name}.cdx.json");
    let lock = project.read("Cargo.lock")?;
    let text = serde_json::to_string_pretty(&components_of(&metadata, &lock)?)
        .map_err(|error| Failure::of("cannot write the list of components", error))?;
    shell::write(&folder.join(&components), &text)?;
    headline("checksums");
    let mut sums = String::new();
    for file in [&archive, &components] {
        let bytes = fs::read(folder.join(file))
            .map_err(|error| Failure::of(format!("cannot read `{file}`"), error))?;
        sums.push_str(&format!("{}  {file}\n", hex::encode(base::digest(&bytes))));
    }
    shell::write(&folder.join(CHECKSUMS), &sums)?;
    if let Some(key) = key {
        let (note, public) = signed(&sums, &key)?;
        shell::write(&folder.join(format!("{CHECKSUMS}.note")), &note)?;
        eprintln!("signed; the verifier key is {public}");
    }
    eprintln!("{sums}in {}", folder.display());
    Ok(())
}

fn signing_key(project: &Project) -> Result<SigningKey> {
    let fail = |error: &dyn std::fmt::Display| Failure::of("cannot open the keys", error);
    let workspace = Workspace::at(project.root()).map_err(|error| fail(&error))?;
    let keys = KeyStore::open(&workspace).map_err(|error| fail(&error))?;
    keys.signing().cloned().ok_or_else(|| {
        Failure::new("there is no key to sign with: run `roleos key new --algorithm ed25519`, or pass --unsigned")
    })
}

/// Returns the checksums as a signed note, and the key in the form for readers of notes. The text begins with a
/// digest and a space, which no checkpoint does.
fn signed(sums: &str, key: &SigningKey) -> Result<(String, String)> {
    let name = Origin::parse(SIGNER).map_err(|error| Failure::of("cannot sign", error))?;
    let note = sign_text(&name, sums, key);
    Ok((note, verifier_key(&name, &key.public())))
}

fn collect(project: &Project, built: &Path, folder: &Path) -> Result<()> {
    let fail = |error| Failure::of(format!("cannot fill `{}`", folder.display()), error);
    fs::create_dir_all(folder).map_err(fail)?;
    for program in PROGRAMS {
        fs::copy(built.join(program), folder.join(program)).map_err(fail)?;
    }
    crate::manual::write(folder)?;
    for paper in PAPERS {
        fs::copy(project.root().join(paper), folder.join(paper)).map_err(fail)?;
    }
    Ok(())
}

fn host() -> Result<String> {
    let told = shell::output(Command::new("rustc").arg("-vV"))?;
    let mut lines = told.lines();
    let host = lines.find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| Failure::new("`rustc -vV` names no host"))
}

fn metadata(project: &Project) -> Result<Value> {
    let target = host()?;
    let text = shell::output(&mut project.cargo(&[
        "metadata",
        "--format-version=1",
        "--locked",
        "--features",
        FEATURES,
        "--filter-platform",
        &target,
    ]))?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::of("cannot read the output of `cargo metadata`", error))
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn version(metadata: &Value) -> Result<String> {
    let mut packages = list(metadata, "packages").iter();
    let own = packages.find(|one| text(one, "name") == "roleos");
    own.map(|one| text(one, "version").to_owned())
        .ok_or_else(|| Failure::new("there is no package `roleos`"))
}

/// Returns a CycloneDX 1.6 document of everything that goes into the programs: no dependencies of tests or builds.
fn components_of(metadata: &Value, lock: &str) -> Result<Value> {
    let lock: toml::Table = lock
        .parse()
        .map_err(|error| Failure::of("cannot read Cargo.lock", error))?;
    let packages = list(metadata, "packages");
    let nodes = metadata
        .get("resolve")
        .map_or(&[][..], |resolve| list(resolve, "nodes"));
    let package = |id: &str| packages.iter().find(|one| text(one, "id") == id);
    let own = packages.iter().find(|one| text(one, "name") == "roleos");
    let own = own.ok_or_else(|| Failure::new("there is no package `roleos`"))?;
    let mut reached = vec![text(own, "id")];
    let mut dependencies = Vec::new();
    let mut next = 0;
    while let Some(id) = reached.get(next).copied() {
        next += 1;
        let node = nodes.iter().find(|one| text(one, "id") == id);
        let linked = node
            .map_or(&[][..], |node| list(node, "deps"))
            .iter()
            .filter(|dep| {
                let mut kinds = list(dep, "dep_kinds").iter();
                kinds.any(|kind| kind.get("kind").is_none_or(Value::is_null))
            });
        let linked: Vec<&str> = linked.map(|dep| text(dep, "pkg")).collect();
        dependencies.push(json!({
            "ref": package(id).map(purl),
            "dependsOn": linked.iter().filter_map(|id| package(id)).map(purl).collect::<Vec<_>>(),
        }));
        for id in linked {
            if !reached.contains(&id) {
                reached.push(id);
            }
        }
    }
    let others = reached.iter().skip(1).filter_map(|id| package(id));
    let mut components: Vec<Value> = others.map(|one| component(one, &lock, "library")).collect();
    components.sort_by_key(|one| text(one, "bom-ref").to_owned());
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": component(own, &lock, "application") },
        "components": components,
        "dependencies": dependencies,
    }))
}

fn purl(package: &Value) -> String {
    format!(
        "pkg:cargo/{}@{}",
        text(package, "name"),
        text(package, "version")
    )
}

fn component(package: &Value, lock: &toml::Table, kind: &str) -> Value {
    let (name, version) = (text(package, "name"), text(package, "version"));
    let locked = lock
        .get("package")
        .and_then(toml::Value::as_array)
        .into_iter()
        .flatten();
    let is_it = |one: &&toml::Value| {
        let has =
            |key: &str, value: &str| one.get(key).and_then(toml::Value::as_str) == Some(value);
        has("name", name) && has("version", version)
    };
    let checksum = locked
        .filter(is_it)
        .find_map(|one| one.get("checksum")?.as_str());
    let mut component = json!({
        "type": kind, "bom-ref": purl(package), "name": name, "version": version, "purl": purl(package),
    });
    let parts = component.as_object_mut();
    if let Some(parts) = parts {
        let licence = text(package, "license");
        if !licence.is_empty() {
            parts.insert(
                "licenses".to_owned(),
                json!([{ "expression": licence.replace('/', " OR ") }]),
            );
        }
        if let Some(checksum) = checksum {
            parts.insert(
                "hashes".to_owned(),
                json!([{ "alg": "SHA-256", "content": checksum }]),
            );
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use witness::ledger::note::verified_text;

    use super::*;

    #[test]
    fn components_are_those_that_are_linked() {
        let package = |name: &str| json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0" });
        let dep = |name: &str, kind: Value| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let metadata = json!({
            "packages": [package("roleos"), package("a"), package("b"), package("tester"), package("stray")],
            "resolve": { "nodes": [
                { "id": "roleos", "deps": [dep("a", Value::Null), dep("tester", json!("dev"))] },
                { "id": "a", "deps": [dep("b", Value::Null)] },
                { "id": "b", "deps": [] },
            ] },
        });
        let lock = "[[package]]\nname = \"b\"\nversion = \"1.0.0\"\nchecksum = \"ff\"\n";
        let document = components_of(&metadata, lock).unwrap();
        let names: Vec<&str> = list(&document, "components")
            .iter()
            .map(|one| text(one, "name"))
            .collect();
        assert_eq!(names, ["a", "b"]);
        let last = list(&document, "components").last().unwrap();
        assert_eq!(last["hashes"][0]["content"], "ff");
        assert_eq!(last["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(
            document["dependencies"][1],
            json!({ "ref": "pkg:cargo/a@1.0.0", "dependsOn": ["pkg:cargo/b@1.0.0"] })
        );
    }

    #[test]
    fn the_real_components_have_licences_and_no_tools_of_tests() {
        let project = Project::find().unwrap();
        let lock = project.read("Cargo.lock").unwrap();
        let document = components_of(&metadata(&project).unwrap(), &lock).unwrap();
        let components = list(&document, "components");
        let has = |name: &str| components.iter().any(|one| text(one, "name") == name);
        assert!(has("tokio") && has("witness") && has("opentelemetry-otlp"));
        assert!(has("openidconnect"));
        assert!(!has("assert_cmd") && !has("proptest") && !has("xtask"));
        let bare = components.iter().find(|one| one.get("licenses").is_none());
        assert_eq!(bare, None);
    }

    #[test]
    fn the_signature_is_over_these_checksums() {
        let key = SigningKey::new(&[7; 32]);
        let (note, public) = signed("00  a.tar.gz\n", &key).unwrap();
        assert!(public.starts_with("roleos-release+"), "{public}");
        let name = Origin::parse(SIGNER).unwrap();
        assert_eq!(
            verified_text(&note, &name, &[key.public()]),
            Some("00  a.tar.gz\n")
        );
        let forged = note.replace("00  a", "01  a");
        assert_eq!(verified_text(&forged, &name, &[key.public()]), None);
    }
}
