//! Terminal output for people. Parts that pages share are in [`present::show`].
//!
//! This module only converts values to text: no file, no clock, no terminal. The content of a bundle is untrusted, so
//! every byte of one passes through [`clean`] before it is shown.

pub use present::show::{
    clean, columns, curve_svg, facts, patch, replay_html, replay_view, runs_svg, units,
};

pub mod changes;

pub mod page;

pub mod replay_text;

pub mod decision_text;

pub mod session_text;
