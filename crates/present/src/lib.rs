//! JSON shapes of what commands print and pages show.

pub mod view;
