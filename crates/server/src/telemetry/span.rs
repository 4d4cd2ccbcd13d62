//! Creates spans, named by OpenTelemetry's conventions for generative AI.
//!
//! A session is one trace: its span and those of its tool calls and answers share the trace's id, which is derived from
//! the session's id, so that they belong together although different processes record them.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use base::clock;
use opentelemetry::trace::{
    SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{Array, InstrumentationScope, KeyValue, StringValue, Value};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

use crate::gateway::receipt::Line;
use index::rows::{Decision, Session};

/// The version of the conventions.
pub(super) const SCHEMA: &str = "https://opentelemetry.io/schemas/1.37.0";

pub(super) fn scope() -> InstrumentationScope {
    InstrumentationScope::builder("roleos")
        .with_version(env!("CARGO_PKG_VERSION"))
        .with_schema_url(SCHEMA)
        .build()
}

/// Ids of a span: its trace, its own, and its parent.
struct Place {
    trace: TraceId,
    own: SpanId,
    above: SpanId,
}

impl Place {
    fn of_session(session: &str) -> Self {
        Self {
            trace: TraceId::from_bytes(head(&format!("trace {session}"))),
            own: SpanId::from_bytes(head(&format!("session {session}"))),
            above: SpanId::INVALID,
        }
    }

    /// Returns ids below the session, if there is one; else of a new trace.
    fn below(session: Option<&str>, name: &str) -> Self {
        let own = SpanId::from_bytes(head(&format!("span {name}")));
        match session {
            Some(session) => {
                let above = Self::of_session(session);
                Self {
                    trace: above.trace,
                    own,
                    above: above.own,
                }
            }
            None => Self {
                trace: TraceId::from_bytes(head(&format!("trace {name}"))),
                own,
                above: SpanId::INVALID,
            },
        }
    }
}

/// Returns the first bytes of a text's digest.
fn head<const N: usize>(text: &str) -> [u8; N] {
    let digest = base::digest(text.as_bytes());
    digest.first_chunk().copied().unwrap_or([1; N])
}

fn moment(ns: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_nanos(ns)
}

fn span(
    place: &Place,
    name: String,
    (start_ns, end_ns): (u64, u64),
    attributes: Vec<KeyValue>,
) -> SpanData {
    SpanData {
        span_context: SpanContext::new(
            place.trace,
            place.own,
            TraceFlags::SAMPLED,
            false,
            TraceState::default(),
        ),
        parent_span_id: place.above,
        parent_span_is_remote: false,
        span_kind: SpanKind::Internal,
        name: Cow::Owned(name),
        start_time: moment(start_ns),
        end_time: moment(end_ns.max(start_ns)),
        attributes,
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: Status::Unset,
        instrumentation_scope: scope(),
    }
}

/// Attributes; those without a value are left out.
#[derive(Default)]
struct Attributes(Vec<KeyValue>);

impl Attributes {
    fn put(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.0.push(KeyValue::new(key, value));
        self
    }

    fn text(self, key: &'static str, value: Option<&str>) -> Self {
        match value.filter(|value| !value.is_empty()) {
            Some(value) => self.put(key, value.to_owned()),
            None => self,
        }
    }

    fn number(self, key: &'static str, value: Option<u64>) -> Self {
        match value {
            Some(value) => self.put(key, i64::try_from(value).unwrap_or(i64::MAX)),
            None => self,
        }
    }

    fn list(self, key: &'static str, values: &[String]) -> Self {
        if values.is_empty() {
            return self;
        }
        let values = values.iter().cloned().map(StringValue::from).collect();
        self.put(key, Value::Array(Array::String(values)))
    }
}

/// Creates the span of a tool call and its verdict; with the call's arguments if `content` is set.
pub(super) fn decision(decision: &Decision, content: bool) -> SpanData {
    let end = clock::parse_day_or_moment(&decision.time).unwrap_or_default();
    let took = decision.decided_us.cast_unsigned().saturating_mul(1000);
    let name = format!("{} {}", decision.session, decision.seq);
    let attributes = Attributes::default()
        .put("gen_ai.operation.name", "execute_tool")
        .text("gen_ai.tool.name", Some(&decision.tool))
        .text("gen_ai.agent.name", Some(&decision.agent))
        .text("gen_ai.conversation.id", Some(&decision.session))
        .text("roleos.verdict", Some(&decision.verdict))
        .list("roleos.actions", &decision.actions)
        .text("roleos.refusal", decision.refusal.as_deref())
        .text("roleos.approval", decision.approval.as_deref())
        .text(
            "gen_ai.tool.call.arguments",
            content.then_some(decision.text.as_str()),
        );
    let mut span = span(
        &Place::below(Some(&decision.session), &name),
        format!("execute_tool {}", decision.tool),
        (end.saturating_sub(took), end),
        attributes.0,
    );
    if decision.verdict == "deny" {
        span.status = Status::error("the call was refused");
        span.attributes.push(KeyValue::new("error.type", "denied"));
    }
    span
}

/// Creates the span of an ended session.
pub(super) fn session(session: &Session) -> SpanData {
    let time = |text: &str| clock::parse_day_or_moment(text).unwrap_or_default();
    let attributes = Attributes::default()
        .put("gen_ai.operation.name", "invoke_agent")
        .text("gen_ai.agent.name", Some(&session.agent))
        .text("gen_ai.conversation.id", Some(&session.id))
        .text("gen_ai.request.model", Some(&session.model))
        .text("roleos.mode", Some(&session.mode))
        .put("roleos.gate", session.gate)
        .put("roleos.calls", session.calls)
        .put("roleos.asked", session.asked)
        .put("roleos.denied", session.denied)
        .text("roleos.task_id", session.sealed.as_deref());
    span(
        &Place::of_session(&session.id),
        format!("invoke_agent {}", session.agent),
        (time(&session.started), time(&session.last)),
        attributes.0,
    )
}

/// Creates the span of an answer of the gateway.
pub(super) fn answer(line: &Line, microdollars: Option<u64>) -> SpanData {
    let end = clock::now_ns();
    let took = Duration::try_from_secs_f64(line.ms / 1e3).unwrap_or_default();
    let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
    let provider = match line.path.starts_with("/v1/messages") {
        true => "anthropic",
        false => "openai",
    };
    let asked = line.model.as_deref();
    let attributes = Attributes::default()
        .put("gen_ai.operation.name", "chat")
        .put("gen_ai.provider.name", provider)
        .text("gen_ai.request.model", asked)
        .text("gen_ai.response.model", line.served.as_deref().or(asked))
        .text("gen_ai.conversation.id", line.session.as_deref())
        .text("gen_ai.agent.id", line.agent.as_deref())
        .number("gen_ai.usage.input_tokens", line.input_tokens)
        .number("gen_ai.usage.output_tokens", line.output_tokens)
        .put("http.response.status_code", i64::from(line.status))
        .put("roleos.route", line.route)
        .text("roleos.role", line.role.as_deref())
        .text("roleos.reason", line.reason.as_deref())
        .text("roleos.upstream", line.upstream.as_deref())
        .text("roleos.verified", line.verified.as_deref())
        .put("roleos.outcome", line.outcome)
        .number("roleos.cost_microdollars", microdollars)
        .text("roleos.trace_id", Some(&line.trace));
    let mut span = span(
        &Place::below(line.session.as_deref(), &line.trace),
        format!("chat {}", asked.unwrap_or_default())
            .trim_end()
            .to_owned(),
        (end.saturating_sub(took), end),
        attributes.0,
    );
    span.span_kind = SpanKind::Client;
    if line.status >= 400 {
        span.status = Status::error(format!("status {}", line.status));
        span.attributes
            .push(KeyValue::new("error.type", line.status.to_string()));
    }
    span
}
