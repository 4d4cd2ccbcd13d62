//! Output for people, the same in the terminal and in the browser: replays as a page, the cost curve as a picture,
//! and the words and units of both.
//!
//! Everything here converts values to text and does nothing else: no file, no clock, no terminal. Bundles are
//! untrusted, so every byte of one passes through [`clean`] before it is shown.

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
