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

pub mod catalog_remote;

pub mod backend;

pub mod fallback;

pub mod dispatch;

pub mod agreement;

pub mod audit;

pub mod consult;

pub mod contest;

pub mod blocking;

pub mod up;

pub mod guard;

pub mod gateway;

pub mod metrics;

pub mod problem;

mod connections;

mod web_address;

mod exchange;

mod linger;

pub mod view;

pub mod login;

pub mod api;

pub mod show;

pub mod pages;
