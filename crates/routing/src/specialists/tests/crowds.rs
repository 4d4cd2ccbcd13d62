//! Concurrent processes: the quota is kept, a halt stays, and readers see whole files.

use super::*;

#[test]
fn ten_thousand_dispatches_of_sixteen_workers_hold_the_quota_at_every_moment() {
    let place = Place::new(0.5);
    let specialists = place.open();
    thread::scope(|scope| {
        for worker in 0..16 {
            let specialists = &specialists;
            scope.spawn(move || {
                let input = input();
                for number in 0..625 {
                    let begun = specialists.begin(asked(&input), &Embedding, &|_| Ok(()));
                    // Every seventh adapter call fails, so that places are released while others are taken.
                    let failed = (worker + number) % 7 == 0;
                    let source = if failed {
                        Source::Claude
                    } else {
                        begun.decision.route
                    };
                    specialists.settle(asked(&input), &begun, source, Err("no_fallback"));
                    specialists
                        .log_field(asked(&input), &begun, source, None, None)
                        .unwrap();
                }
            });
        }
    });
    let state = specialists.state().unwrap();
    assert_eq!(state.slot(ROLE).unwrap().window.dispatched(), 10_000);
    let log = specialists.field_log().unwrap();
    let mut rows: Vec<(u64, bool)> = log
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| {
            let row: Value = serde_json::from_slice(line).unwrap();
            (
                row["number"].as_u64().unwrap(),
                row["source"] == "specialist",
            )
        })
        .collect();
    rows.sort_unstable();
    let numbers: Vec<u64> = rows.iter().map(|(number, _)| *number).collect();
    assert_eq!(
        numbers,
        (0..10_000).collect::<Vec<_>>(),
        "no count is lost and none is given twice"
    );
    for stretch in rows.windows(200) {
        let used = stretch.iter().filter(|(_, served)| *served).count();
        assert!(used <= 100, "{used} of 200");
    }
    let served = rows.iter().filter(|(_, served)| *served).count();
    assert!(served > 3000, "{served}");
}

#[test]
fn a_running_crowd_never_overwrites_a_halt() {
    let place = Place::new(1.0);
    let specialists = place.open();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    serve(&specialists);
                }
            });
        }
        for _ in 0..20 {
            assert_eq!(specialists.halt(ROLE, operator()).unwrap(), None);
            thread::sleep(std::time::Duration::from_millis(5));
            assert_eq!(reason(&serve(&specialists)), "shadow_probe_halt");
            assert!(
                !specialists
                    .clear_halt(ROLE, None, operator())
                    .unwrap()
                    .lifted
                    .is_empty()
            );
        }
        stop.store(true, Ordering::Relaxed);
    });
    let log = specialists.events().unwrap();
    assert_eq!(log.of(ROLE, &[Kind::Halt]).count(), 20);
    assert_eq!(log.of(ROLE, &[Kind::ClearHalt]).count(), 20);
}

#[test]
fn a_reader_without_the_lock_sees_a_whole_state_while_others_write() {
    let place = Place::new(1.0);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|_| {
                let specialists = place.open();
                scope.spawn(move || (0..400).for_each(|_| drop(serve(&specialists))))
            })
            .collect();
        let (place, done) = (&place, &done);
        scope.spawn(move || {
            while !done.load(Ordering::SeqCst) {
                place.open().state().unwrap();
            }
        });
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::SeqCst);
    });
    let state = place.open().state().unwrap();
    assert_eq!(state.slot(ROLE).unwrap().window.dispatched(), 800);
}
