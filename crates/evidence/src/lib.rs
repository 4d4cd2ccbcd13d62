//! Turns sessions into signed bundles, keeps them, and adds them up.
//!
//! [`archive`] keeps the evidence of many machines. [`journal`] records the events of the hook; [`sealing`] makes
//! bundles of them; [`store`] and [`ledger`] keep bundles on disk; [`judged`], [`scan`] and [`score`] read many of
//! them; [`rerun`] runs a bundle's tests again; [`trace_input`] parses tool calls of other programs.

pub mod archive;
pub mod journal;
pub mod judged;
pub mod ledger;
pub mod rerun;
pub mod retention;
pub mod scan;
pub mod score;
pub mod sealing;
pub mod shipping;
pub mod store;
pub mod trace_input;
