//! Replacement without the feature `otlp`: no spans, and an error for the setting.

use std::sync::Arc;

use base::config::notify::Telemetry;

use crate::gateway::receipt::Line;
use crate::up::UpError;
use web::metrics::Metrics;
use web::news::News;

/// Has no values.
#[derive(Debug)]
pub(crate) enum Spans {}

impl Spans {
    pub(crate) fn open(_: &Telemetry, _: &Arc<Metrics>) -> Result<Self, UpError> {
        Err(UpError::Setting(
            "`telemetry.otlp` needs a program that was built with `--features otlp`; this one was not"
                .to_owned(),
        ))
    }

    pub(crate) fn start(&self) {
        match *self {}
    }

    pub(crate) async fn flush(&self) {
        match *self {}
    }

    pub(crate) fn listener(&self) -> impl Fn(&News) + Send + Sync + 'static {
        |_| ()
    }

    pub(crate) fn answered(&self, _: &Line, _: Option<u64>) {
        match *self {}
    }
}
