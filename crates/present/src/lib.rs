//! Presentation: JSON shapes for the output of commands and for pages ([`view`]), and text, pictures and replays for
//! people ([`show`]). It converts values to text, and nothing else: no file, no clock, no terminal.

pub mod show;
pub mod view;
