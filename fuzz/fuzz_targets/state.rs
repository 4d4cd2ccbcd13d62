//! Any bytes as a state, as an events log and as an answer: nobody crashes, and what was read is written back the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use specialist::event::{Log, rebuild};
use specialist::quota::{Scope, Source};
use specialist::shadow::Settings;
use specialist::state::State;

fuzz_target!(|bytes: &[u8]| {
    let settings = Settings::default();
    if let Ok(state) = State::parse(bytes) {
        let again = State::parse(state.print().as_bytes()).expect("what we write we read");
        assert_eq!(again, state);
        let mut state = again;
        let halted: Vec<String> = state
            .roles()
            .filter(|(_, slot)| slot.halt.is_some())
            .map(|(role, _)| role.to_owned())
            .collect();
        let view = state.quota("role", Scope::Fleet, 200);
        assert!(view.used < 200);
        state.dispatch("role", Source::Specialist, 200);
        assert!(halted.iter().all(|role| state.halt(role).is_some()));
    }
    let log = Log::parse(bytes);
    let rebuilt = rebuild(&log, &log, &settings);
    assert_eq!(State::parse(rebuilt.print().as_bytes()), Ok(rebuilt));
});
