//! The process of `roleos up`.
//!
//! [`up`] is what its parts share: [`guard`] decides which requests are let in, [`gateway`] passes models through and
//! dispatches roles; the crate `web` has the API, the pages and the counters, `upstream` asks models.
//! `notify` tells webhooks what happened, `telemetry` a collector; `old_audits` takes exams again.
//! [`model_socket`] is the model of a trial.
//!
//! Bytes come in here, and no rule is made here. Nothing here prints.

pub mod gateway;
pub mod guard;
pub mod model_socket;
mod notify;
mod old_audits;
mod telemetry;
pub mod up;
