//! Suites of real tasks and runs that prove what an agent does with them. Acts on disk and starts processes; never prints.

pub mod canary;
pub mod cases;
pub mod glob;
pub mod grade;
pub mod patch;
pub mod repo;
pub mod suite;
pub mod task;
pub mod tree;
