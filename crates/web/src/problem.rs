//! Error responses in OpenAI's format, in Anthropic's, or in our own.

use std::time::{Duration, SystemTime};

use axum::body::Body;
use base::clock;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, DATE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use serde_json::json;

/// Format of an error response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Role OS's own: `{"code","message","hint","retryable"}`, as on the command line.
    Own,
    /// OpenAI's.
    OpenAi,
    /// Anthropic's.
    Anthropic,
}

impl Shape {
    /// Returns the format for a path.
    #[must_use]
    pub fn of_path(path: &str) -> Self {
        if path == "/v1/messages" || path.starts_with("/v1/messages/") {
            Self::Anthropic
        } else if path.starts_with("/v1/") && !matches!(path, "/v1/dispatch" | "/v1/feedback") {
            Self::OpenAi
        } else {
            Self::Own
        }
    }
}

/// An error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub status: StatusCode,
    /// Stable name for programs.
    pub code: &'static str,
    /// Attempted action, with the reason of the failure.
    pub message: String,
    /// Next step for the user.
    pub hint: Option<String>,
    /// Time after which a retry makes sense, if known.
    pub retry_after: Option<Duration>,
}

impl Problem {
    /// Creates a problem with status, code and message.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            hint: None,
            retry_after: None,
        }
    }

    /// Sets the time after which a retry makes sense.
    #[must_use]
    pub fn retry_after(mut self, pause: Option<Duration>) -> Self {
        self.retry_after = pause;
        self
    }

    /// Sets the hint about the next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns `true` if the same request can succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.status.is_server_error()
            || matches!(
                self.status,
                StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT
            )
    }

    /// Formats the body as JSON.
    #[must_use]
    pub fn body(&self, shape: Shape) -> String {
        let whole = match &self.hint {
            Some(hint) => format!("{} ({hint})", self.message),
            None => self.message.clone(),
        };
        let value = match shape {
            Shape::Own => json!({
                "code": self.code,
                "message": self.message,
                "hint": self.hint,
                "retryable": self.is_retryable(),
            }),
            Shape::OpenAi => json!({ "error": {
                "message": whole,
                "type": self.openai_type(),
                "param": null,
                "code": self.code,
            } }),
            Shape::Anthropic => json!({ "type": "error", "error": {
                "type": self.anthropic_type(),
                "message": whole,
            } }),
        };
        value.to_string()
    }

    fn openai_type(&self) -> &'static str {
        match self.status.as_u16() {
            401 => "authentication_error",
            403 => "permission_error",
            429 => "rate_limit_error",
            400..=499 => "invalid_request_error",
            _ => "server_error",
        }
    }

    fn anthropic_type(&self) -> &'static str {
        match self.status.as_u16() {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            400..=499 => "invalid_request_error",
            529 => "overloaded_error",
            _ => "api_error",
        }
    }

    /// Returns the complete response.
    #[must_use]
    pub fn response(&self, shape: Shape) -> Response<Body> {
        let mut response = json_response(self.status, self.body(shape));
        if let Some(pause) = self.retry_after {
            // Seconds, rounded up: an early retry would be refused again.
            let seconds = pause.as_secs() + u64::from(pause.subsec_nanos() > 0);
            let headers = response.headers_mut();
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// Returns our own JSON response, without caching.
#[must_use]
pub fn json_response(status: StatusCode, body: String) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    dated(response)
}

/// Adds the time to our own responses; responses of an upstream stay unchanged.
#[must_use]
pub fn dated(mut response: Response<Body>) -> Response<Body> {
    let now = SystemTime::UNIX_EPOCH + Duration::from_nanos(clock::now_ns());
    if let Ok(now) = HeaderValue::from_str(&httpdate::fmt_http_date(now)) {
        response.headers_mut().entry(DATE).or_insert(now);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_api_gets_its_own_shape() {
        let problem =
            Problem::new(StatusCode::NOT_FOUND, "unknown_role", "there is no `x`").hint("look");
        assert_eq!(
            problem.body(Shape::Own),
            r#"{"code":"unknown_role","message":"there is no `x`","hint":"look","retryable":false}"#
        );
        assert_eq!(
            problem.body(Shape::OpenAi),
            r#"{"error":{"message":"there is no `x` (look)","type":"invalid_request_error","param":null,"code":"unknown_role"}}"#
        );
        assert_eq!(
            problem.body(Shape::Anthropic),
            r#"{"type":"error","error":{"type":"not_found_error","message":"there is no `x` (look)"}}"#
        );
        assert_eq!(
            Shape::of_path("/v1/messages/count_tokens"),
            Shape::Anthropic
        );
        assert_eq!(Shape::of_path("/v1/responses"), Shape::OpenAi);
        assert_eq!(Shape::of_path("/v1/dispatch"), Shape::Own);
        assert_eq!(Shape::of_path("/api/catalog"), Shape::Own);
    }
}
