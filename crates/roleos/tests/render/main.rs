//! Output of replays and curves for people: small ones completely as snapshots, and hostile ones without harm.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by panicking"
)]

mod sample;

use quick_xml::Reader;
use quick_xml::events::Event;
use roleos::render::{curve_svg, replay_html, replay_text};
use sample::{Sample, with_view};
use witness::replay::OutcomeCheck;

fn text_of(sample: &Sample) -> String {
    let mut out = Vec::new();
    with_view(sample, |view| replay_text::write(view, &mut out)).unwrap();
    String::from_utf8(out).unwrap()
}

fn plain_text_of(sample: &Sample) -> String {
    anstream::adapter::strip_str(&text_of(sample)).to_string()
}

fn page_of(sample: &Sample) -> String {
    with_view(sample, replay_html::page).unwrap()
}

#[test]
fn samples_say_what_the_reader_of_logs_says() {
    for sample in [sample::solved(), sample::contradicted(), sample::bare()] {
        let found = with_view(&sample, |view| OutcomeCheck::of(view.contents));
        assert_eq!(found, sample.check);
    }
}

#[test]
fn a_solved_task_as_text() {
    insta::assert_snapshot!(plain_text_of(&sample::solved()));
}

#[test]
fn a_contradicted_task_as_text_with_colours() {
    insta::assert_snapshot!(text_of(&sample::contradicted()).replace('\x1b', "␛"));
}

#[test]
fn a_bare_bundle_as_text() {
    insta::assert_snapshot!(plain_text_of(&sample::bare()));
}

#[test]
fn a_hostile_bundle_as_text() {
    insta::assert_snapshot!(plain_text_of(&sample::hostile()));
}

#[test]
fn a_contradicted_task_as_a_page() {
    let page = page_of(&sample::contradicted());
    let body = page.split_once("<body>").unwrap().1;
    insta::assert_snapshot!(body);
}

#[test]
fn a_terminal_gets_only_colours() {
    for sample in [
        sample::solved(),
        sample::contradicted(),
        sample::hostile(),
        sample::bare(),
    ] {
        let text = text_of(&sample);
        for sequence in text.split('\x1b').skip(1) {
            let colour = sequence
                .strip_prefix('[')
                .and_then(|rest| rest.split_once('m'));
            let colour = colour.map(|(numbers, _)| numbers).unwrap();
            assert!(
                colour
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || byte == b';'),
                "{colour}"
            );
        }
        let plain = text.replace('\x1b', "");
        assert!(
            !plain
                .chars()
                .any(|char| char.is_control() && !matches!(char, '\n' | '\t'))
        );
        assert!(!plain.contains(['\u{202e}', '\u{2066}', '\u{200b}']));
    }
}

#[test]
fn nothing_of_a_bundle_stands_where_headings_stand() {
    let headings = [
        "Replay of",
        "SIGNATURE",
        "FACTS",
        "SPEC",
        "PLAN",
        "CALLS",
        "DIFF",
        "TEST LOG",
        "POSTMORTEM",
    ];
    let text = plain_text_of(&sample::hostile());
    let at_the_edge = text
        .lines()
        .filter(|line| line.starts_with(|char: char| char.is_ascii_alphabetic()));
    for line in at_the_edge {
        assert!(
            headings.iter().any(|name| line.starts_with(name))
                || line.starts_with("OUTCOME CHECK ─"),
            "{line}"
        );
    }
}

#[test]
fn text_keeps_to_its_width() {
    for sample in [
        sample::solved(),
        sample::contradicted(),
        sample::hostile(),
        sample::long(),
    ] {
        for line in plain_text_of(&sample).lines().skip(1) {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }
}

#[test]
fn a_hostile_bundle_adds_no_markup() {
    let hostile = page_of(&sample::hostile());
    assert!(
        !hostile.contains("<script")
            && !hostile.contains("<img")
            && !hostile.contains("onerror=\"")
    );
    assert!(
        !hostile
            .chars()
            .any(|char| char.is_control() && !matches!(char, '\n' | '\t'))
    );
    assert!(!hostile.contains(['\u{202e}', '\u{2066}', '\u{200b}']));
    // The template contains every tag of the page.
    let known = tags(&page_of(&sample::contradicted()));
    let unknown: Vec<_> = tags(&hostile)
        .into_iter()
        .filter(|tag| !known.contains(tag))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// Returns the names of tags and attributes, without values.
fn tags(page: &str) -> std::collections::BTreeSet<String> {
    page.split('<')
        .skip(1)
        .map(|tag| {
            let inside = tag.split_once('>').unwrap().0;
            let outside_quotes: Vec<&str> = inside.split('"').step_by(2).collect();
            outside_quotes.join("\"\"")
        })
        .collect()
}

#[test]
fn a_page_asks_for_nothing() {
    for sample in [sample::solved(), sample::hostile()] {
        let page = page_of(&sample);
        assert!(page.contains("content=\"default-src 'none'; style-src 'unsafe-inline'; "));
        for request in [
            " src=",
            "url(",
            "@import",
            "href=\"http",
            "<link",
            "<iframe",
            "http://",
            "https://",
        ] {
            let markup: String = tags(&page).into_iter().collect();
            let style = page
                .split_once("<style>")
                .unwrap()
                .1
                .split_once("</style>")
                .unwrap()
                .0;
            assert!(
                !markup.contains(request) && !style.contains(request),
                "{request}"
            );
        }
    }
}

#[test]
fn long_sections_start_folded() {
    let page = page_of(&sample::long());
    assert!(page.contains("<details><summary>450 calls</summary>"));
    assert!(page.contains("<details><summary>600 lines</summary>"));
    assert!(page.contains("<details class=\"file\"><summary>"));
    assert!(page.contains("<details open><summary>3 lines</summary>"));
}

#[test]
fn every_picture_is_well_formed_and_the_same_twice() {
    for count in [0, 1, 2, 12, 60, 400] {
        let points = sample::curve(count);
        let picture = curve_svg::svg(&points);
        well_formed(&picture);
        assert_eq!(picture, curve_svg::svg(&points));
        for wrong in ["NaN", "inf", "-0.0", "<script"] {
            assert!(!picture.contains(wrong), "{wrong} with {count} points");
        }
    }
}

fn well_formed(picture: &str) {
    let mut reader = Reader::from_str(picture);
    reader.config_mut().check_end_names = true;
    let mut depth = 0_i64;
    loop {
        match reader.read_event().unwrap() {
            Event::Start(tag) => {
                tag.attributes()
                    .for_each(|attribute| drop(attribute.unwrap()));
                depth += 1;
            }
            Event::Empty(tag) => tag
                .attributes()
                .for_each(|attribute| drop(attribute.unwrap())),
            Event::End(_) => depth -= 1,
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(depth, 0);
}

#[test]
fn a_hostile_period_stays_text() {
    let mut points = sample::curve(3);
    points[0].period = "]]>\"'<&\u{202e}\x1b\u{fffe}".to_owned();
    points[1].tasks = u64::MAX;
    points[1].solved = 1;
    points[1].cost.known = u64::MAX;
    points[1].cost.known_solved = 1;
    points[1].tokens = u64::MAX;
    points[1].retries = u64::MAX;
    points[1].regressions = u64::MAX;
    points[2].tasks = 0;
    points[2].solved = u64::MAX;
    let picture = curve_svg::svg(&points);
    well_formed(&picture);
    assert!(picture.contains("]]&gt;&quot;&#39;&lt;&amp;"));
    assert!(!picture.contains(['\u{202e}', '\x1b', '\u{fffe}']));
    assert!(!picture.contains("NaN") && !picture.contains("inf"));
}

#[test]
fn a_small_curve_as_a_picture() {
    let picture = curve_svg::svg(&sample::curve(3));
    insta::assert_snapshot!(picture.split_once("</style>").unwrap().1);
}

#[test]
fn no_points_are_said_to_be_nothing_yet() {
    assert!(curve_svg::svg(&[]).contains("Nothing yet"));
}

#[test]
fn where_nothing_was_solved_there_is_no_dot() {
    let mut points = sample::curve(5);
    points[2].solved = 0;
    points[2].cost.known_solved = 0;
    let picture = curve_svg::svg(&points);
    assert_eq!(picture.matches("<circle class=\"dot").count(), 4);
    assert_eq!(picture.matches("class=\"cost-line\"").count(), 2);
}

#[test]
fn where_no_cost_is_known_the_picture_says_so() {
    let mut points = sample::curve(2);
    for point in &mut points {
        (point.cost.known_solved, point.cost.unknown_tasks) = (0, point.tasks);
    }
    let picture = curve_svg::svg(&points);
    assert!(picture.contains(">cost unknown<"));
    assert!(picture.contains("of no solved task the cost is known"));
    assert!(picture.contains("40 tasks without a known cost"));
    assert!(!picture.contains("nothing was solved") && !picture.contains("$0.00 per"));
}
