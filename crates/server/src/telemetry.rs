//! Spans for an OTLP collector: answers of the gateway, tool decisions and sessions.
//!
//! The exporter is behind the feature `otlp`; without it, the setting is an error. Nothing waits for a collector: spans
//! go into a bounded queue, and spans that do not fit or cannot be sent are counted and dropped.

use std::sync::Arc;

use base::config::notify::Telemetry;

use crate::up::UpError;
use web::metrics::Metrics;

#[cfg(feature = "otlp")]
mod export;
#[cfg(feature = "otlp")]
mod span;
#[cfg(not(feature = "otlp"))]
mod without;

#[cfg(feature = "otlp")]
pub(crate) use self::export::Spans;
#[cfg(not(feature = "otlp"))]
pub(crate) use self::without::Spans;

/// Opens the exporter of the settings.
pub(crate) fn open(set: &Telemetry, metrics: &Arc<Metrics>) -> Result<Option<Spans>, UpError> {
    if set.otlp.is_empty() {
        return Ok(None);
    }
    Spans::open(set, metrics).map(Some)
}
