//! The order of the checks (gate, governance, approval, advice), and the record of each.

use jiff::Timestamp;
use serde_json::json;

use super::*;
use crate::act::{Act, NoApprovals};
use crate::governance::Mode;
use actions::lookup::Nothing;

struct Desk {
    gate: bool,
    grants: Grants,
    governance: Governance,
    spent: Spent,
}

impl Desk {
    fn new(gate: bool, mode: Mode) -> Self {
        Self {
            gate,
            grants: Grants::none(),
            governance: Governance::of_mode(mode),
            spent: Spent::default(),
        }
    }

    fn ask(&self, tool: &str, input: &Value, approved: &dyn Approvals) -> Decision {
        let rules = Rules {
            gate: self.gate,
            policy: &Policy::default(),
            grants: &self.grants,
            advice: None,
            governance: &self.governance,
            approved,
        };
        let place = Place {
            directory: "/w",
            home: "/h",
        };
        let call = Call { tool, input, place };
        decide(&rules, &call, &self.spent, &Nothing, Timestamp::UNIX_EPOCH)
    }

    fn bash(&self, command: &str) -> Decision {
        self.ask("Bash", &json!({ "command": command }), &NoApprovals)
    }

    fn tool(&self, tool: &str) -> Decision {
        self.ask(tool, &json!({}), &NoApprovals)
    }
}

fn check(decision: &Decision, verdict: Verdict, recorded: Recorded, violations: &[&str]) {
    let found: Vec<&str> = decision
        .violations
        .iter()
        .map(|violation| violation.reason.as_str())
        .collect();
    assert_eq!(
        (decision.verdict, decision.recorded, found.as_slice()),
        (verdict, recorded, violations),
        "{:?}",
        decision.reasons
    );
}

#[test]
fn off_lets_everything_run() {
    let desk = Desk::new(false, Mode::Off);
    check(
        &desk.bash("git push"),
        Verdict::Allow,
        Recorded::Allowed,
        &[],
    );
    check(
        &desk.bash("rm -rf .role-os"),
        Verdict::Allow,
        Recorded::Allowed,
        &[],
    );
}

#[test]
fn a_refusal_by_the_gate_is_no_violation() {
    for mode in Mode::ALL
        .into_iter()
        .filter(|mode| *mode != Mode::Restricted)
    {
        let desk = Desk::new(true, mode);
        check(&desk.bash("git push"), Verdict::Deny, Recorded::Denied, &[]);
    }
    let desk = Desk::new(true, Mode::Off);
    check(&desk.bash("$X"), Verdict::Ask, Recorded::Confirmed, &[]);
}

#[test]
fn restricted_allows_its_list_and_denies_the_rest_under_any_name() {
    let desk = Desk::new(false, Mode::Restricted);
    for tool in [
        "Read",
        "Glob",
        "Grep",
        "WebFetch",
        "WebSearch",
        "read_file",
        "LS",
        "google_web_search",
    ] {
        check(&desk.tool(tool), Verdict::Allow, Recorded::Allowed, &[]);
    }
    for (tool, name) in [
        ("Bash", "Bash"),
        ("shell", "Bash"),
        ("run_shell_command", "Bash"),
        ("apply_patch", "Edit"),
        ("replace", "Edit"),
        ("write_file", "Write"),
        ("MultiEdit", "Edit"),
        ("Agent", "Agent"),
        ("mcp__x__y", "mcp__x__y"),
        ("bash", "Bash"),
    ] {
        let decision = desk.tool(tool);
        let violation = format!("denied tool: {name}");
        check(&decision, Verdict::Deny, Recorded::Denied, &[&violation]);
        assert!(!decision.approvable);
        assert_eq!(decision.violations[0].tool, tool);
    }
}

#[test]
fn approved_asks_for_what_does_not_only_read_and_records_every_call_as_confirmed() {
    let desk = Desk::new(false, Mode::Approved);
    check(&desk.tool("Read"), Verdict::Allow, Recorded::Confirmed, &[]);
    check(
        &desk.tool("read_file"),
        Verdict::Allow,
        Recorded::Confirmed,
        &[],
    );
    check(&desk.bash("ls"), Verdict::Ask, Recorded::Confirmed, &[]);
    check(
        &desk.tool("mcp__x__y"),
        Verdict::Ask,
        Recorded::Confirmed,
        &[],
    );
}

#[test]
fn the_deny_list_comes_first_and_an_allow_list_counts_in_every_mode() {
    for mode in [Mode::Restricted, Mode::Approved, Mode::Autonomous] {
        let mut desk = Desk::new(false, mode);
        desk.governance.allowed_tools = vec!["Read".to_owned(), "Bash".to_owned()];
        desk.governance.denied_tools = vec!["Bash".to_owned()];
        check(
            &desk.tool("shell"),
            Verdict::Deny,
            Recorded::Denied,
            &["denied tool: Bash"],
        );
        check(
            &desk.tool("Glob"),
            Verdict::Deny,
            Recorded::Denied,
            &["denied tool: Glob"],
        );
        assert_eq!(desk.tool("Read").verdict, Verdict::Allow);
    }
}

#[test]
fn over_budget_is_a_violation_and_refused_or_asked() {
    let mut desk = Desk::new(false, Mode::Autonomous);
    desk.spent.calls = 499;
    desk.spent.cost_microdollars = 1_000_000;
    check(&desk.bash("ls"), Verdict::Allow, Recorded::Allowed, &[]);
    desk.spent.calls = 500;
    let calls = "tool call budget exceeded: 501 > 500";
    check(&desk.bash("ls"), Verdict::Deny, Recorded::Denied, &[calls]);
    desk.spent.cost_microdollars = 1_000_001;
    let cost = "cost budget exceeded: 1000001 > 1000000";
    check(
        &desk.bash("ls"),
        Verdict::Deny,
        Recorded::Denied,
        &[cost, calls],
    );
    desk.governance = Governance::of_mode(Mode::Approved);
    let cost = "cost budget exceeded: 1000001 > 100000";
    let calls = "tool call budget exceeded: 501 > 200";
    check(
        &desk.tool("Read"),
        Verdict::Ask,
        Recorded::Confirmed,
        &[cost, calls],
    );
    desk.governance = Governance::of_mode(Mode::Off);
    desk.spent.calls = u64::MAX;
    check(&desk.bash("ls"), Verdict::Allow, Recorded::Allowed, &[]);
}

#[test]
fn a_countable_grant_is_used_only_when_the_call_may_run() {
    let mut desk = Desk::new(true, Mode::Off);
    desk.grants =
        Grants::parse(r#"{"git:push":{"granted":true,"uses":2},"gh:release":{"granted":true}}"#);
    assert_eq!(
        desk.bash("git push && gh release create v1").uses,
        ["git:push"]
    );
    assert!(desk.bash("git push && npm publish").uses.is_empty());
    assert!(desk.bash("ls").uses.is_empty());
    desk.governance = Governance::of_mode(Mode::Restricted);
    assert!(desk.bash("git push").uses.is_empty());
}

#[test]
fn an_approval_binds_exactly_this_act() {
    let desk = Desk::new(true, Mode::Off);
    let approve = |approved: &str, tried: &str| {
        let act = desk.bash(approved).act;
        let covers = |other: &Act| *other == act;
        let input = json!({ "command": tried, "description": "other words" });
        desk.ask("Bash", &input, &covers)
    };
    let decision = approve("git push origin main", "git   'push' origin \"main\"");
    assert_eq!(decision.verdict, Verdict::Allow);
    assert!(decision.approved);
    assert_eq!(decision.recorded, Recorded::Confirmed);
    assert!(decision.uses.is_empty());
    for tried in [
        "git push origin other",
        "cd x && git push origin main",
        "git push origin main && npm publish",
        "GIT_SSH_COMMAND=x git push origin main",
        "git push origin main; $X",
    ] {
        let decision = approve("git push origin main", tried);
        assert!(decision.verdict >= Verdict::Ask, "{tried}");
        assert!(!decision.approved, "{tried}");
    }
    // An opaque command is bound by its whole text.
    assert_eq!(approve("$X y", "$X y").verdict, Verdict::Allow);
    assert_eq!(approve("$X y", "$X z").verdict, Verdict::Ask);
    // A protected thing cannot be approved.
    assert_eq!(
        approve("rm -rf .role-os", "rm -rf .role-os").verdict,
        Verdict::Deny
    );
}

#[test]
fn the_lines_of_an_act_cannot_be_imitated_and_stay_the_same() {
    let desk = Desk::new(true, Mode::Off);
    let lines = |command: &str| desk.bash(command).act.lines();
    assert_eq!(
        lines("X=1 git push origin 'a b'"),
        [r#"["git:push","git",["push","origin","a b"],"/w",[]]"#]
    );
    assert_ne!(lines("git push 'a b'"), lines("git push a b"));
    assert_ne!(lines("git push '\",\"a'"), lines("git push a"));
    let one = desk.ask("Other", &json!({"a":1,"b":{"c":2,"d":3}}), &NoApprovals);
    let two = desk.ask("Other", &json!({"b":{"d":3,"c":2},"a":1}), &NoApprovals);
    assert_eq!(one.act, two.act);
}
