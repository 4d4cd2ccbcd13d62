//! Turns sessions into signed bundles, keeps them, and adds them up.
//!
//! [`archive`] keeps the evidence of many machines. [`journal`] records what the hook saw; [`sealing`] makes a bundle of it; [`store`] and [`ledger`] keep bundles on disk;
//! [`judged`], [`scan`] and [`score`] read many of them; [`rerun`] runs the tests of one again; [`trace_input`] reads the
//! calls that another program hands in.

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
