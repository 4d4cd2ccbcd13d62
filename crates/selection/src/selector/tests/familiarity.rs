//! Familiar inputs after exams of one template, of templates with slots, and of ordinary texts, however many there
//! were.

use super::*;
use crate::selector::familiarity::familiar_from;

/// Template with a slot that is filled each time.
const TEMPLATE: &str =
    "please route this ticket to the right team my invoice number is wrong and i was charged twice";

/// Inputs about the same subject, mostly in known words.
const PARAPHRASES: [&str; 5] = [
    "hello my invoice is wrong please route this to the right team",
    "i was charged twice this month, the invoice number is on the ticket",
    "wrong invoice: charged me twice! could the team please look",
    "Is this the right team? My ticket is about an invoice, charged twice and wrong",
    "they charged my invoice twice, please route",
];

/// Inputs about another subject, in the language of the template.
const FOREIGN: [&str; 5] = [
    "the history of the roman empire begins with a small town on the tiber",
    "bake it until golden brown, then let the cake rest for an hour and serve",
    "what is the capital of mongolia and how cold does it get there in winter",
    "write a poem to my grandmother about autumn leaves and the sound of rain",
    "def main(): print(sum(x for x in range(10)))",
];

/// Inputs that share no word with the template.
const UNKNOWN: [&str; 3] = ["quantum chromodynamics", "Zug um Zug", "9f3a 77b1 c0de"];

fn after(texts: impl Iterator<Item = String>) -> Selector {
    let examples = texts.zip(0..).map(|(text, index)| Example {
        features: of(&text),
        ..example(index)
    });
    Selector::train(&examples.collect::<Vec<_>>())
}

fn check(what: &str, selector: &Selector) {
    let expected = [
        (&PARAPHRASES[..], true),
        (&FOREIGN, false),
        (&UNKNOWN, false),
    ];
    for (texts, familiar) in expected {
        for text in texts {
            let features = of(text);
            let judged = selector.judge(&features);
            assert_eq!(
                judged.is_familiar(),
                familiar,
                "{what}: {text}: {} of {}",
                judged.familiarity(),
                selector.familiar_from()
            );
        }
    }
}

#[test]
fn paraphrases_of_a_template_are_familiar_and_other_texts_are_not() {
    for many in [30, 300, 3000] {
        let words: Vec<&str> = TEMPLATE.split(' ').collect();
        // The template's clauses in turn: every word recurs, and none is ever new.
        let plain = (0..many).map(|at| {
            let from = at % 4;
            words.get(from..).unwrap_or_default().join(" ")
        });
        check(&format!("{many} of one template"), &after(plain));
        // A number that never comes again.
        let slot = (0..many).map(|at| format!("{TEMPLATE} {}", 80_000 + 7 * at));
        check(&format!("{many} with a slot"), &after(slot));
        // Names, of which some come again.
        let names = (0..many).map(|at| {
            let name = |at: usize| format!("{}son", ["joh", "pet", "karl", "ander", "nil"][at % 5]);
            format!("{TEMPLATE} regards {} {}", name(at), name(at / 5))
        });
        check(&format!("{many} with names"), &after(names));
    }
}

#[test]
fn the_words_of_the_template_itself_are_familiar() {
    let selector = after((0..200).map(|_| TEMPLATE.to_owned()));
    assert!(selector.judge(&of(TEMPLATE)).is_familiar());
    assert!(
        selector.familiar_from() < 0.55,
        "{}",
        selector.familiar_from()
    );
}

#[test]
fn many_words_make_the_held_out_inputs_decide() {
    let wide = vec![0.9; 400];
    let at = |recurring| familiar_from(&wide, recurring, 400);
    assert!(at(0) == 0.5 && at(20) < 0.51, "{}", at(20));
    assert!(at(1_000) > 0.69 && at(10_000) > 0.86 && at(1_000_000) > 0.899);
    // Inputs that are ordinary with fewer known words stay familiar.
    assert!((familiar_from(&[0.3; 400], 20, 400) - 0.3).abs() < 1e-9);
}

#[test]
fn an_input_does_not_vouch_for_itself_by_being_learned_twice() {
    let once = || (0..40).map(|at| format!("{TEMPLATE} about thing{at} and matter{at}"));
    let (first, again) = (after(once()), after(once().chain(once()).chain(once())));
    assert!((first.familiar_from() - again.familiar_from()).abs() < 0.01);
    // In a set of copies, no word occurs in another input.
    check("copies", &after((0..50).map(|_| TEMPLATE.to_owned())));
}
