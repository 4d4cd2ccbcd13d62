//! Tasks and results in the formats of others: SWE-bench rows and reports, Harbor task folders, predictions. Turns values
//! into values; reads and writes no file.

pub mod harbor;
pub mod swebench;
