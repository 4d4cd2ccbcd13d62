//! Text tasks of the demo: the questions, the right answers, and those of each adapter. Everything depends on the
//! text alone, so that every run gives the same result and anyone can check it.

use serde_json::{Value, json};

/// Role that sends a ticket to its team.
pub const ROUTER: &str = "ticket-router";
/// Role that finds the date in a sentence.
pub const DATES: &str = "date-reader";
/// Role in which the general model answers with the bodies of shell functions.
pub const REPAIRER: &str = "shell-repairer";

/// Teams, and the subjects of their tickets.
const TEAMS: [(&str, [&str; 5]); 4] = [
    (
        "billing",
        [
            "the invoice shows the wrong amount",
            "the refund has not arrived",
            "the card was charged twice",
            "the receipt lacks the tax number",
            "the monthly price has changed",
        ],
    ),
    (
        "accounts",
        [
            "the password link has expired",
            "the login page rejects the code",
            "a colleague needs access to the workspace",
            "the address in the profile is old",
            "the two profiles should become one",
        ],
    ),
    (
        "platform",
        [
            "the server answers with an error page",
            "the nightly backup did not run",
            "the search takes half a minute",
            "the uploads stop at ten megabytes",
            "the database connection drops",
        ],
    ),
    (
        "shipping",
        [
            "the parcel went to the wrong town",
            "the courier found nobody at home",
            "the box was damaged on the way",
            "the delivery is late",
            "the customs form is missing",
        ],
    ),
];

const OPENINGS: [&str; 3] = ["Hello,", "Dear team,", "Good morning,"];

/// Last sentences of tickets, and the priorities that they give.
const CLOSINGS: [(&str, &str); 3] = [
    ("please look into it today, it is urgent.", "high"),
    ("there is no hurry.", "low"),
    ("thank you for your help.", "normal"),
];

const THINGS: [&str; 5] = [
    "The invoice",
    "The order",
    "The contract",
    "The report",
    "The letter",
];

const DEEDS: [&str; 3] = ["was signed", "was paid", "was sent"];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Knowledge of an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Knows {
    /// Tickets of these teams.
    Teams(&'static [&'static str]),
    /// Dates that are written in numbers alone.
    Numbers,
    /// Dates in every form, until it drifts and swaps day and month.
    EveryDay,
    /// Nothing: it fills the form with placeholders, without delay.
    Nothing,
}

/// An adapter of the demo.
#[derive(Clone, Copy, Debug)]
pub struct Adapter {
    /// Version in the registry.
    pub version: &'static str,
    /// Pinned id of the adapter.
    pub id: &'static str,
    pub role: &'static str,
    /// Response time in milliseconds.
    pub thinks_ms: u64,
    /// Claimed strength.
    pub strength: &'static str,
    knows: Knows,
}

/// All adapters. Only the tests and the tables of the demo know their abilities; the loop has to find out.
pub const ADAPTERS: [Adapter; 7] = [
    Adapter {
        version: "money-1",
        id: "demo/router-money",
        role: ROUTER,
        thinks_ms: 2,
        strength: "tickets about billing and accounts",
        knows: Knows::Teams(&["billing", "accounts"]),
    },
    Adapter {
        version: "machines-1",
        id: "demo/router-machines",
        role: ROUTER,
        thinks_ms: 2,
        strength: "tickets about platform and shipping",
        knows: Knows::Teams(&["platform", "shipping"]),
    },
    Adapter {
        version: "wide-1",
        id: "demo/router-wide",
        role: ROUTER,
        thinks_ms: 4,
        strength: "all tickets, a little slower",
        knows: Knows::Teams(&["billing", "accounts", "platform", "shipping"]),
    },
    Adapter {
        version: "refuser-1",
        id: "demo/router-refuser",
        role: ROUTER,
        thinks_ms: 0,
        strength: "nothing, very fast",
        knows: Knows::Nothing,
    },
    Adapter {
        version: "numbers-1",
        id: "demo/dates-numbers",
        role: DATES,
        thinks_ms: 2,
        strength: "days in numbers",
        knows: Knows::Numbers,
    },
    Adapter {
        version: "drifter-1",
        id: "demo/dates-drifter",
        role: DATES,
        thinks_ms: 3,
        strength: "all days, until it drifts",
        knows: Knows::EveryDay,
    },
    Adapter {
        version: "refuser-1",
        id: "demo/dates-refuser",
        role: DATES,
        thinks_ms: 0,
        strength: "nothing, very fast",
        knows: Knows::Nothing,
    },
];

#[must_use]
pub fn input(role: &str, number: usize) -> String {
    match role {
        ROUTER => ticket(number),
        _ => dated(number),
    }
}

fn pick<T: Copy, const N: usize>(from: &[T; N], at: usize) -> Option<T> {
    from.get(at % N).copied()
}

fn ticket(number: usize) -> String {
    let subjects = pick(&TEAMS, number).map(|(_, subjects)| subjects);
    let subject = subjects.and_then(|subjects| pick(&subjects, number / 4));
    let opening = pick(&OPENINGS, number / 20);
    let closing = pick(&CLOSINGS, number / 7).map(|(closing, _)| closing);
    let part = |part: Option<&'static str>| part.unwrap_or_default();
    format!("{} {}; {}", part(opening), part(subject), part(closing))
}

fn dated(number: usize) -> String {
    // Days that are not months, so that a swap is visible.
    let (day, month) = (13 + (number * 5) % 16, 1 + (number * 7) % 12);
    let name = pick(&MONTHS, month - 1).unwrap_or_default();
    let day = match number % 4 {
        0 => format!("2026-{month:02}-{day:02}"),
        1 => format!("{day:02}.{month:02}.2026"),
        2 => format!("{day} {name} 2026"),
        _ => format!("{name} {day}, 2026"),
    };
    let thing = pick(&THINGS, number / 4).unwrap_or_default();
    let deed = pick(&DEEDS, number / 3).unwrap_or_default();
    format!("{thing} {deed} on {day} and the office would like to know which day that was.")
}

/// Returns the right answer.
#[must_use]
pub fn right(role: &str, text: &str) -> Value {
    match role {
        ROUTER => json!({ "team": team(text), "priority": priority(text) }),
        _ => json!({ "date": day(text).map(iso).unwrap_or_default() }),
    }
}

/// Returns the role of a text, by the text alone: a gateway's client need not name one.
#[must_use]
pub fn recognised(text: &str) -> Option<&'static str> {
    let is_ticket = TEAMS
        .iter()
        .flat_map(|(_, subjects)| subjects)
        .any(|subject| text.contains(subject));
    if is_ticket {
        return Some(ROUTER);
    }
    day(text).map(|_| DATES)
}

/// Returns the answer of an adapter, which is wrong if it has drifted.
#[must_use]
pub fn answer(adapter: &Adapter, text: &str, drifted: bool) -> Value {
    match adapter.knows {
        Knows::Nothing if adapter.role == ROUTER => json!({ "team": "N/A", "priority": "N/A" }),
        Knows::Nothing => json!({ "date": "N/A" }),
        Knows::Teams(teams) => {
            let team = Some(team(text)).filter(|team| teams.contains(team));
            json!({ "team": team.unwrap_or("front desk"), "priority": priority(text) })
        }
        Knows::Numbers if MONTHS.iter().any(|name| text.contains(name)) => {
            json!({ "date": "2026" })
        }
        Knows::EveryDay if drifted => {
            let swapped = day(text).map(|(year, month, day)| iso((year, day, month)));
            json!({ "date": swapped.unwrap_or_default() })
        }
        Knows::Numbers | Knows::EveryDay => right(DATES, text),
    }
}

fn team(text: &str) -> &'static str {
    let about = TEAMS
        .iter()
        .find(|(_, subjects)| subjects.iter().any(|subject| text.contains(subject)));
    about.map_or("front desk", |(team, _)| team)
}

fn priority(text: &str) -> &'static str {
    let found = CLOSINGS.iter().find(|(closing, _)| text.ends_with(closing));
    found.map_or("normal", |(_, priority)| priority)
}

fn iso((year, month, day): (u32, u32, u32)) -> String {
    format!("{year:04}-{month:02}-{day:02}")
}

/// Returns year, month and day.
fn day(text: &str) -> Option<(u32, u32, u32)> {
    let words: Vec<&str> = text
        .split(' ')
        .map(|word| word.trim_end_matches([',', ';']))
        .collect();
    let number = |word: Option<&&str>| word.and_then(|word| word.parse::<u32>().ok());
    for (at, word) in words.iter().enumerate() {
        if let Some(month) = MONTHS.iter().position(|name| name == word) {
            let month = u32::try_from(month + 1).ok()?;
            let before = number(at.checked_sub(1).and_then(|at| words.get(at)));
            let (first, second) = (number(words.get(at + 1)), number(words.get(at + 2)));
            return match (before, first, second) {
                (Some(day), Some(year), _) => Some((year, month, day)),
                (None, Some(day), Some(year)) => Some((year, month, day)),
                _ => None,
            };
        }
        let parts = |by: char| -> Vec<u32> {
            let parts = word.split(by).map(str::parse::<u32>);
            parts.collect::<Result<_, _>>().unwrap_or_default()
        };
        if let [year, month, day] = parts('-')[..] {
            return Some((year, month, day));
        }
        if let [day, month, year] = parts('.')[..] {
            return Some((year, month, day));
        }
    }
    None
}

/// Returns the schema of an answer in a role. It does not check that the answer is right.
#[must_use]
pub fn schema(role: &str) -> Value {
    let text = json!({ "type": "string", "minLength": 1 });
    match role {
        ROUTER => json!({
            "type": "object", "required": ["team", "priority"], "additionalProperties": false,
            "properties": { "team": text, "priority": text },
        }),
        _ => json!({
            "type": "object", "required": ["date"], "additionalProperties": false,
            "properties": { "date": text },
        }),
    }
}

/// Returns an exam of this many cases with different inputs: each requires exactly the right answer.
#[must_use]
pub fn exam(role: &str, cases: usize) -> Value {
    // Numbers that the dispatches do not use.
    let mut seen = std::collections::BTreeSet::new();
    let inputs = (0..100 * cases).map(|number| input(role, 1000 + number * 3));
    let inputs = inputs
        .filter(|input| seen.insert(input.clone()))
        .take(cases);
    let case = |input: String| {
        let right = right(role, &input);
        json!({
            "input": input, "expected_format": "json_schema",
            "verifier_config": { "schema": { "const": right } },
            "expected_output": right.to_string(),
        })
    };
    json!({
        "audit_id": format!("{role}-exam"), "version": "v1",
        "test_cases": inputs.map(case).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(id: &str, drifted: bool) -> usize {
        let adapter = ADAPTERS.iter().find(|one| one.id == id).unwrap();
        let is_right = |number: &usize| {
            let text = input(adapter.role, *number);
            answer(adapter, &text, drifted) == right(adapter.role, &text)
        };
        (0..120).filter(is_right).count()
    }

    #[test]
    fn adapters_are_as_good_as_the_table_says() {
        assert_eq!(share("demo/router-money", false), 60);
        assert_eq!(share("demo/router-machines", false), 60);
        assert_eq!(share("demo/router-wide", false), 120);
        assert_eq!(share("demo/router-refuser", false), 0);
        assert_eq!(share("demo/dates-numbers", false), 60);
        assert_eq!(share("demo/dates-drifter", false), 120);
        assert_eq!(share("demo/dates-drifter", true), 0);
        assert_eq!(share("demo/dates-refuser", false), 0);
    }

    #[test]
    fn every_form_of_a_day_is_read() {
        for text in [
            "It was sent on 2026-03-14.",
            "It was sent on 14.03.2026 and",
            "It was sent on 14 March 2026 and",
            "It was sent on March 14, 2026 and",
        ] {
            let text = text.trim_end_matches('.');
            assert_eq!(
                right(DATES, text),
                json!({ "date": "2026-03-14" }),
                "{text}"
            );
        }
        assert_eq!(right(DATES, "no day at all"), json!({ "date": "" }));
    }
}
