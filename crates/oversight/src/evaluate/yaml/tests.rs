//! What of YAML is read, and what is not.

use super::Node;

fn text(text: &str) -> Node {
    Node::Text(text.to_owned())
}

#[test]
fn blocks_lists_and_flows_are_read() {
    let node = Node::parse(
        "a:\n- x: 1 # why\n  y: 'it''s'\n- >-\n  git\n  push\n-\n  - |\n    set -e\n      deep\nb: {c: [d, \"e f\"], g: h:i}\n",
    );
    let map = |pairs: &[(&str, Node)]| {
        Node::Map(
            pairs
                .iter()
                .map(|(key, node)| ((*key).to_owned(), node.clone()))
                .collect(),
        )
    };
    let first = map(&[("x", text("1")), ("y", text("it's"))]);
    let inner = Node::List(vec![text("set -e\n  deep\n")]);
    let flow = map(&[
        ("c", Node::List(vec![text("d"), text("e f")])),
        ("g", text("h:i")),
    ]);
    let whole = map(&[
        ("a", Node::List(vec![first, text("git push"), inner])),
        ("b", flow),
    ]);
    assert_eq!(node, Some(whole));
}

#[test]
fn anchors_marks_and_long_texts_are_read() {
    let node =
        Node::parse("a: &x\n  k: !!str b\nc: *x\nd:\n  <<: *x\n  k2: own\n  e: \"f \\\n    g\"\n");
    let inner = Node::Map(vec![("k".to_owned(), text("b"))]);
    let node = node.unwrap_or(Node::List(Vec::new()));
    assert_eq!((node.get("a"), node.get("c")), (Some(&inner), Some(&inner)));
    let merged = node.get("d");
    assert_eq!(merged.and_then(|node| node.get("k")), Some(&text("b")));
    assert_eq!(merged.and_then(|node| node.get("e")), Some(&text("f g")));
}

#[test]
fn aliases_of_aliases_end() {
    let mut whole = "a0: &a0 [x, x]\n".to_owned();
    for at in 1..40 {
        whole.push_str(&format!("a{at}: &a{at}\n  - *a{0}\n  - *a{0}\n", at - 1));
    }
    assert_eq!(Node::parse(&whole), None);
}

#[test]
fn deep_texts_end() {
    assert_eq!(Node::parse(&format!("a: {}b", "! ".repeat(50_000))), None);
    let deep = (0..3000).map(|at| format!("{}a: &x\n", " ".repeat(at)));
    assert_eq!(Node::parse(&deep.collect::<String>()), None);
    let open = format!("a: {}\n", "[".repeat(50_000));
    assert_eq!(Node::parse(&open), None);
    let dashes = format!("{}x\n", "- ".repeat(50_000));
    assert_eq!(Node::parse(&dashes), None);
}

#[test]
fn what_is_not_plain_is_not_read() {
    for text in [
        "a: *x",
        "? [a]\n: b",
        "a: [b",
        "a:\n\tb: c",
        "a: b\na: c",
        "a: b\n---\nc: d",
    ] {
        assert_eq!(Node::parse(text), None, "{text}");
    }
}
