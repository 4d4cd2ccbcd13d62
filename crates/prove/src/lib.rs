//! Suites of real tasks and runs that prove an agent's results on them. Uses the disk and starts processes; never
//! prints.

pub mod agent;
pub mod boxes;
pub mod canary;
pub mod cases;
pub mod check;
pub mod compare;
pub mod curve;
pub mod envs;
pub mod exchange;
pub mod glob;
pub mod grade;
pub mod grading;
pub mod lab;
pub mod mine;
pub mod page;
pub mod patch;
pub mod policy;
pub mod pool;
pub mod repo;
pub mod report;
pub mod rerun;
pub mod run;
pub mod seal;
pub mod suite;
pub mod task;
pub mod tree;
pub mod trial;
pub mod vendor;
pub mod world;
