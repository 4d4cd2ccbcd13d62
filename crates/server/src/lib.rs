//! HTTP in and out of Role OS.
//!
//! [`up`] is the process of `roleos up`: [`guard`] decides who may ask, [`gateway`] passes models through and dispatches roles, [`metrics`] counts, and
//! [`problem`] is what a client is told when something is wrong.
//! [`view`] keeps logs and bundles as tables; [`api`] is the JSON API over them, and [`login`] lets a person change things;
//! [`show`] is what people look at, [`pages`] where they look at it.
//! [`catalog_remote`] fetches a catalog's files from another machine; [`backend`] asks adapters, [`fallback`] the general
//! model, [`dispatch`] goes from the gate to the receipt, [`agreement`] compares two answers, [`contest`] asks several at once, [`audit`] asks an exam's cases,
//! [`consult`] asks about a tool call; [`blocking`] lets a program without an async runtime wait.
//!
//! Bytes come in and go out here, and no rule is made here: what a file means and whether it may be used is the rooms'
//! business. Nothing here prints.

pub mod agreement;
pub mod api;
pub mod audit;
pub mod backend;
pub mod blocking;
pub mod catalog_remote;
mod connections;
pub mod consult;
pub mod contest;
pub mod dispatch;
mod exchange;
pub mod fallback;
pub mod gateway;
pub mod guard;
mod linger;
pub mod login;
pub mod metrics;
pub mod pages;
pub mod problem;
pub mod show;
pub mod up;
pub mod view;
mod web_address;
