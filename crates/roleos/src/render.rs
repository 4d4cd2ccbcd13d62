//! What people look at: replays as text and as a page, the cost curve as a picture.

pub mod clean;
pub mod curve_svg;
pub mod replay_html;
pub mod replay_text;
pub mod replay_view;
pub mod units;
