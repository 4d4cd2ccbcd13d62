//! Tasks and results in foreign formats: SWE-bench rows and reports, Harbor task folders, predictions. Converts values,
//! without file access.

pub mod harbor;
pub mod swebench;
