//! The process of `roleos up`.
//!
//! [`up`] has the shared state; [`guard`] accepts or refuses requests, [`gateway`] forwards requests to models and
//! dispatches roles; the crate `web` has the API, the pages and the counters, `upstream` calls models. `notify` sends
//! events to webhooks, `telemetry` to a collector; `old_audits` repeats exams. [`model_socket`] is the model of a
//! trial.
//!
//! This crate receives requests, but makes no decisions and prints nothing.

pub mod gateway;
pub mod guard;
pub mod model_socket;
mod notify;
mod old_audits;
mod telemetry;
pub mod up;
