//! How things are shown: JSON shapes of what commands print and pages show ([`view`]), and text, pictures and replays
//! for people ([`show`]), and the documentation ([`topics`]). Values become text here, and nothing else happens: no file, no clock, no terminal.

pub mod show;
pub mod topics;
pub mod view;
