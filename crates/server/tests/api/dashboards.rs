//! The dashboard and the alert rules in `examples/` name only metrics that are exported.

use std::collections::BTreeSet;
use std::path::Path;

use base::config::Config;
use base::workspace::Workspace;
use evidence::store::audit::Audit;
use routing::learning::Shown;
use server::metrics::Metrics;

#[test]
fn every_metric_of_the_examples_is_exported() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::at(folder.path()).unwrap();
    let learning = Shown::of(&workspace, &Config::default());
    let metrics = Metrics::default();
    // A family without a sample is not printed.
    metrics.refused(403);
    metrics.used("general", (Some(1), Some(1)));
    metrics.probed("agreed");
    let text = metrics.text(Some(&Audit::default()), Some(&learning));
    let mut exported = BTreeSet::new();
    for line in text.lines() {
        if let Some(family) = line.strip_prefix("# TYPE ") {
            let (name, kind) = family.split_once(' ').unwrap();
            let suffixes: &[&str] = match kind {
                "counter" => &["_total"],
                "histogram" => &["_bucket", "_count", "_sum"],
                _ => &[""],
            };
            exported.extend(suffixes.iter().map(|suffix| format!("{name}{suffix}")));
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/deploy");
    for file in ["grafana-dashboard.json", "prometheus-alerts.yaml"] {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let named: BTreeSet<_> = words.filter(|word| word.starts_with("roleos_")).collect();
        assert!(named.len() > 5, "{file} names {named:?}");
        for name in named {
            assert!(
                exported.contains(name),
                "{file} names `{name}`; there are {exported:?}"
            );
        }
    }
}
