//! The logs: torn lines, long ones, and the parts that are read.

use super::*;

#[test]
fn a_torn_line_stays_visible_and_spoils_no_other() {
    let place = Place::new(1.0);
    place.write(&place.paths.events, "{\"kind\":\"halt\",\"role\":\"Chec");
    let specialists = place.open();
    let forced = Promotion {
        force: true,
        share: None,
    };
    specialists.promote(ROLE, "v2", forced, operator()).unwrap();
    let log = specialists.events().unwrap();
    assert_eq!((log.events.len(), log.damaged), (1, vec![1]));
    assert_eq!(specialists.repair("now").unwrap().damaged_events, [1]);
}

#[test]
fn the_field_log_is_set_aside_when_it_is_long() {
    let mut place = Place::new(1.0);
    place.settings.field_log_bytes = 2000;
    place.settings.field_log_keep = 2;
    let specialists = place.open();
    for _ in 0..60 {
        serve(&specialists);
    }
    let length = |name: &str| {
        fs::metadata(place.paths.field_log.with_added_extension(name))
            .map(|file| file.len())
            .ok()
    };
    assert!(length("1").is_some_and(|length| (2000..3000).contains(&length)));
    assert!(length("2").is_some());
    assert_eq!(length("3"), None);
    assert!(fs::metadata(&place.paths.field_log).unwrap().len() < 3000);
}

#[test]
fn a_crowd_loses_no_row_when_the_field_log_is_set_aside() {
    let mut place = Place::new(1.0);
    place.settings.field_log_bytes = 4000;
    place.settings.field_log_keep = 1000;
    thread::scope(|scope| {
        for _ in 0..8 {
            let specialists = place.open();
            scope.spawn(move || (0..50).for_each(|_| drop(serve(&specialists))));
        }
    });
    let folder = files::parent(&place.paths.field_log);
    let mut rows = 0;
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("specialist-field-log.jsonl") && !name.ends_with(".lock") {
            let text = fs::read_to_string(entry.path()).unwrap();
            rows += text.lines().count();
            files += 1;
        }
    }
    assert_eq!(rows, 400);
    assert!(files > 10, "{files}");
    let read = place.open().field_log().unwrap();
    let lines = read.split(|byte| *byte == b'\n').count() - 1;
    assert!(
        (11..40).contains(&lines),
        "the present one and the one before: {lines}"
    );
}

#[test]
fn inputs_are_kept_only_on_request() {
    let mut place = Place::new(1.0);
    serve(&place.open());
    place.settings.keep_inputs = true;
    serve(&place.open());
    let log = String::from_utf8(place.open().field_log().unwrap()).unwrap();
    let kept: Vec<bool> = log.lines().map(|line| line.contains("embedding")).collect();
    assert_eq!(kept, [false, true]);
}

/// Returns a row of the field log with this length.
fn row(role: &str, number: usize, length: usize) -> String {
    let line = json!({ "role": role, "n": number, "pad": "x".repeat(length) });
    format!("{line}\n")
}

#[test]
fn of_a_long_field_log_only_the_end_is_read_that_holds_enough() {
    const MIB: usize = 1 << 20;
    let place = Place::new(1.0);
    let specialists = place.open();
    let read = |rows| {
        let log = specialists.field_log_of(ROLE, rows).unwrap();
        String::from_utf8(log).unwrap()
    };
    assert_eq!(read(1), "", "there is none");
    let before = place.paths.field_log.with_added_extension("1");
    place.write(&before, &row(ROLE, 0, 10));
    place.write(&place.paths.field_log, &row(ROLE, 1, 10));
    let both = [row(ROLE, 0, 10), row(ROLE, 1, 10)].concat();
    assert_eq!(read(1), both, "a short one is read with the one before");
    // Five of our rows, each behind 1,200 KiB of others, whose names have ours as a suffix or prefix.
    let ours = |number| row(ROLE, number, 10);
    let others = || row("Checkers", 9, 600 << 10) + &row("A Checker", 9, 600 << 10);
    let log: String = (1..=5).map(|number| others() + &ours(number)).collect();
    place.write(&place.paths.field_log, &log);
    let own = |text: &str| text.matches("\"role\":\"Checker\"").count();
    let one = read(1);
    assert!(log.ends_with(&one) && one.len() <= MIB, "{}", one.len());
    assert!(one.starts_with('{') && own(&one) == 1);
    let three = read(3);
    assert!(log.ends_with(&three) && three.len() <= 4 * MIB && three.len() > MIB);
    assert!(three.starts_with('{') && own(&three) >= 3);
    assert_eq!(read(6), row(ROLE, 0, 10) + &log);
    // A torn end, and a line that is longer than the first look.
    place.write(&place.paths.field_log, &(log.clone() + "{\"role\":\"Che"));
    assert!(read(1).ends_with("{\"role\":\"Che"));
    let long = log.clone() + &row(ROLE, 6, 2 * MIB);
    place.write(&place.paths.field_log, &long);
    let found = read(1);
    assert!(long.ends_with(&found) && own(&found) >= 1 && found.len() > 2 * MIB);
    // The format of another program is not recognised, so that everything is read.
    let spaced = log.replace("\"role\":", "\"role\": ");
    place.write(&place.paths.field_log, &spaced);
    assert_eq!(read(1), row(ROLE, 0, 10) + &spaced);
}

#[test]
fn the_probes_of_a_role_are_those_of_all_logs_however_its_name_is_written() {
    let place = Place::new(1.0);
    let specialists = place.open();
    let none = specialists.probes_of(ROLE).unwrap();
    assert_eq!(none, [Log::default(), Log::default()]);
    let probe = |role: &str| {
        format!("{{\"kind\":\"shadow-probe\",\"role\":{role},\"at\":\"t\",\"agreed\":true}}\n")
    };
    let names = [
        "\"Checker\"",
        "\"Check\"",
        "\"a\\/b\"",
        "\"a/b\"",
        "\"\\u00e9\"",
        "\"é\"",
        "\"a\\\"b\"",
    ];
    let lines: String = names.into_iter().map(probe).collect();
    place.write(
        &place.paths.probes,
        &(lines.clone() + "{\"role\":\"Checker\""),
    );
    place.write(&place.paths.events, &lines);
    let kinds = [Kind::ShadowProbe];
    for (role, count) in [
        ("Checker", 1),
        ("Check", 1),
        ("a/b", 2),
        ("é", 2),
        ("a\"b", 1),
        ("Nobody", 0),
    ] {
        let all = specialists.probes().unwrap();
        let own = specialists.probes_of(role).unwrap();
        for (all, own) in all.iter().zip(&own) {
            let of = |log: &Log| log.of(role, &kinds).cloned().collect::<Vec<_>>();
            assert_eq!(of(own), of(all), "{role}");
            assert_eq!(of(own).len(), count, "{role}");
        }
    }
    // The torn line of the first log names the role, so it is reported.
    let damaged = specialists.probes_of(ROLE).unwrap().map(|log| log.damaged);
    assert_eq!(damaged.map(|lines| lines.len()), [1, 0]);
}
