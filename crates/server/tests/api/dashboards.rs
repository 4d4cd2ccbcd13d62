//! The dashboard and the alert rules in `examples/` name only metrics that are exported.

use std::collections::BTreeSet;
use std::path::Path;

use base::config::Config;
use base::workspace::Workspace;
use evidence::store::audit::Audit;
use index::figures::Sealed;
use routing::learning::Shown;
use web::metrics::standing::{Counted, Workspace as Standing};
use web::metrics::{Metrics, Spent};

fn standing() -> Standing {
    Standing {
        halted: vec![("checker".to_owned(), 1)],
        agreement: vec![("checker".to_owned(), 0.9)],
        waiting: Some(1),
        sealed: vec![Sealed::default()],
        unread_lines: Some(0),
    }
}

#[test]
fn every_metric_of_the_examples_is_exported() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::at(folder.path()).unwrap();
    let learning = Shown::of(&workspace, &Config::default());
    let metrics = Metrics::default();
    // A family without a sample is not printed.
    metrics.refused(403);
    metrics.used(&Spent {
        tokens: (Some(1), Some(1)),
        microdollars: Some(1),
        ..Spent::default()
    });
    metrics.probed("agreed");
    metrics.notified("delivered");
    let counted = Counted::default();
    counted.decided("claude", "deny", 1);
    counted.happened("checker", "halt", 1);
    counted.happened("checker", "agreed", 1);
    let standing = standing();
    let text = metrics.text(
        Some(&Audit::default()),
        Some(&learning),
        Some((&standing, &counted)),
    );
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
