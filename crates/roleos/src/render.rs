//! What people look at: replays as text and as a page, the cost curve as a picture.
//!
//! Everything here turns values into text and does nothing else: no file, no clock, no terminal. A bundle is written by
//! strangers, so every byte of one passes through [`clean`] before it is shown.

pub mod changes;

pub mod clean;

pub mod units;

pub mod columns;

pub mod replay_view;

pub mod facts;

pub mod replay_text;

pub mod patch;

pub mod replay_html;

pub mod curve_svg;

pub mod runs_svg;

pub mod decision_text;

pub mod session_text;
