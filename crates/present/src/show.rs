//! What people look at, the same in the terminal and in the browser: replays as a page, the cost curve as a picture, and
//! the words and units of both.
//!
//! Everything here turns values into text and does nothing else: no file, no clock, no terminal. A bundle is written by
//! strangers, so every byte of one passes through [`clean`] before it is shown.

pub mod clean;

pub mod units;

pub mod columns;

pub mod replay_view;

pub mod facts;

pub mod patch;

pub mod syntax;

pub mod replay_html;

pub mod curve_svg;

pub mod runs_svg;
