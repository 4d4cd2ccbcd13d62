//! New verdicts as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::{Stream, StreamExt as _, stream};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::watch;

use super::Desk;

/// Interval of keep-alive events.
const PULSE: Duration = Duration::from_secs(15);

/// New verdicts as they come: `event: verdict`, the data is a row of `/api/decisions`. A reader who is too slow hears
/// `event: missed` with a number and can read the list. `event: change` says that a list, a figure or an approval is
/// other than before.
#[utoipa::path(get, path = "/api/events/stream", operation_id = "stream_decisions", tag = "oversight",
    responses((status = 200, description = "The stream.", content_type = "text/event-stream", body = String)))]
pub(super) async fn stream(
    State(desk): State<Arc<Desk>>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let news = stream::unfold(desk.news.subscribe(), async |mut news| {
        let event = match news.recv().await {
            Ok(decision) => {
                let text = serde_json::to_string(&*decision).unwrap_or_default();
                Event::default().event("verdict").data(text)
            }
            Err(RecvError::Lagged(count)) => {
                Event::default().event("missed").data(count.to_string())
            }
            Err(RecvError::Closed) => return None,
        };
        Some((Ok(event), news))
    });
    let changes = stream::unfold(desk.changed.subscribe(), async |mut changed| {
        changed.changed().await.ok()?;
        let count = *changed.borrow_and_update();
        let event = Event::default().event("change").data(count.to_string());
        Some((Ok(event), changed))
    });
    let news = stream::select(news, changes);
    let ended = closed(desk.closing.subscribe());
    Sse::new(news.take_until(ended)).keep_alive(KeepAlive::new().interval(PULSE))
}

/// Resolves when the process ends, so that an open stream does not delay it.
async fn closed(mut closing: watch::Receiver<bool>) {
    // An error means that the state is dropped, which is an end as well.
    closing.wait_for(|closing| *closing).await.ok();
}

impl Desk {
    /// Ends all streams.
    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    /// Subscribes to new verdicts.
    #[must_use]
    pub fn news(&self) -> broadcast::Receiver<Arc<super::Decision>> {
        self.news.subscribe()
    }
}
