//! What people look at in a terminal. What pages show as well comes from [`present::show`].
//!
//! Everything here turns values into text and does nothing else: no file, no clock, no terminal. A bundle is written by
//! strangers, so every byte of one passes through [`clean`] before it is shown.

pub use present::show::{
    clean, columns, curve_svg, facts, patch, replay_html, replay_view, runs_svg, units,
};

pub mod changes;

pub mod page;

pub mod replay_text;

pub mod decision_text;

pub mod session_text;
