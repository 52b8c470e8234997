// SPDX-License-Identifier: Apache-2.0
//! `metav1.Status`: the result of a request to an API server.

use std::fmt::{self, Write as _};

use api_derive::api_type;

use crate::field::FieldError;
use crate::go::{quote, write_json};
use crate::resource::{GroupKind, GroupResource};

/// `metav1.Status`. As an error it displays its message.
#[api_type(no_schema)]
pub struct Status {
    /// `Success` or `Failure`.
    #[schema(always)]
    pub status: String,
    /// Human-readable text.
    pub message: String,
    /// Machine-readable reason; see [`reason`].
    pub reason: String,
    /// Details of the reason.
    pub details: Option<StatusDetails>,
    /// HTTP code.
    #[schema(always)]
    pub code: u16,
}

/// Details of a [`Status`].
#[api_type(no_schema)]
pub struct StatusDetails {
    /// Name of the object.
    pub name: String,
    /// Group of the kind or resource.
    pub group: String,
    /// Kind or resource.
    pub kind: String,
    /// Uid of the object.
    pub uid: String,
    /// Causes, field by field.
    pub causes: Vec<StatusCause>,
    /// Number of seconds after which the client may try again.
    pub retry_after_seconds: Option<u32>,
}

/// One cause.
#[api_type(no_schema)]
#[derive(Eq)]
pub struct StatusCause {
    /// Machine-readable reason.
    pub reason: String,
    /// Human-readable text.
    pub message: String,
    /// Path of the field.
    pub field: String,
}

/// Values of [`Status::reason`].
pub mod reason {
    /// 401
    pub const UNAUTHORIZED: &str = "Unauthorized";
    /// 403
    pub const FORBIDDEN: &str = "Forbidden";
    /// 404
    pub const NOT_FOUND: &str = "NotFound";
    /// 409
    pub const ALREADY_EXISTS: &str = "AlreadyExists";
    /// 409
    pub const CONFLICT: &str = "Conflict";
    /// 410
    pub const GONE: &str = "Gone";
    /// 410
    pub const EXPIRED: &str = "Expired";
    /// 422
    pub const INVALID: &str = "Invalid";
    /// 400
    pub const BAD_REQUEST: &str = "BadRequest";
    /// 405
    pub const METHOD_NOT_ALLOWED: &str = "MethodNotAllowed";
    /// 406
    pub const NOT_ACCEPTABLE: &str = "NotAcceptable";
    /// 413
    pub const REQUEST_ENTITY_TOO_LARGE: &str = "RequestEntityTooLarge";
    /// 415
    pub const UNSUPPORTED_MEDIA_TYPE: &str = "UnsupportedMediaType";
    /// 429
    pub const TOO_MANY_REQUESTS: &str = "TooManyRequests";
    /// 500
    pub const INTERNAL_ERROR: &str = "InternalError";
    /// 503
    pub const SERVICE_UNAVAILABLE: &str = "ServiceUnavailable";
    /// 504
    pub const TIMEOUT: &str = "Timeout";
}

impl Status {
    /// Creates a failure without details.
    pub fn failure(code: u16, reason: &str, message: impl Into<String>) -> Self {
        Self { status: "Failure".to_owned(), message: message.into(), reason: reason.to_owned(), details: None, code }
    }

    fn about(mut self, resource: &GroupResource, name: &str) -> Self {
        self.details = Some(StatusDetails {
            name: name.to_owned(),
            group: resource.group.clone(),
            kind: resource.resource.clone(),
            ..StatusDetails::default()
        });
        self
    }

    /// Returns the 200 after a deletion: details name the object and its uid.
    pub fn deleted(resource: &GroupResource, name: &str, uid: &str) -> Self {
        let mut status = Self { status: "Success".to_owned(), code: 200, ..Self::default() }.about(resource, name);
        if let Some(details) = &mut status.details {
            uid.clone_into(&mut details.uid);
        }
        status
    }

    /// Returns a 404 for an object.
    pub fn not_found(resource: &GroupResource, name: &str) -> Self {
        let message = format!("{resource} {} not found", quote(name));
        Self::failure(404, reason::NOT_FOUND, message).about(resource, name)
    }

    /// Returns a 409 for a name that exists already.
    pub fn already_exists(resource: &GroupResource, name: &str) -> Self {
        let message = format!("{resource} {} already exists", quote(name));
        Self::failure(409, reason::ALREADY_EXISTS, message).about(resource, name)
    }

    /// Returns a 409 when no generated name is free; `name` is the last one tried.
    pub fn generate_name_conflict(resource: &GroupResource, name: &str) -> Self {
        let text = "the server was not able to generate a unique name for the object";
        let message = format!("{resource} {} already exists, {text}", quote(name));
        Self::failure(409, reason::ALREADY_EXISTS, message).about(resource, name).retry_after(1)
    }

    /// Returns a 409 for a write on an old version of an object.
    pub fn conflict(resource: &GroupResource, name: &str, message: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} {}: {message}", quote(name));
        Self::failure(409, reason::CONFLICT, message).about(resource, name)
    }

    /// Returns a 403 by admission or authorization: `RESOURCE "NAME" is forbidden: MESSAGE`.
    ///
    /// An empty name is left out; without a resource the message is `forbidden: MESSAGE`.
    pub fn forbidden(resource: &GroupResource, name: &str, message: &str) -> Self {
        let text = if resource.resource.is_empty() {
            format!("forbidden: {message}")
        } else if name.is_empty() {
            format!("{resource} is forbidden: {message}")
        } else {
            format!("{resource} {} is forbidden: {message}", quote(name))
        };
        Self::failure(403, reason::FORBIDDEN, text).about(resource, name)
    }

    /// Returns a 422 with one cause per error: `KIND "NAME" is invalid: …`.
    pub fn invalid(kind: &GroupKind, name: &str, errors: &[FieldError]) -> Self {
        let mut message = format!("{kind} {} is invalid", quote(name));
        match errors {
            [] => {}
            [error] => {
                let _ = write!(message, ": {error}");
            }
            several => {
                let texts: Vec<String> = several.iter().map(ToString::to_string).collect();
                let _ = write!(message, ": [{}]", texts.join(", "));
            }
        }
        let causes = errors
            .iter()
            .map(|error| StatusCause {
                reason: error.error_type.reason().to_owned(),
                message: error.body.clone(),
                field: error.field.clone(),
            })
            .collect();
        let mut status = Self::failure(422, reason::INVALID, message);
        status.details = Some(StatusDetails {
            name: name.to_owned(),
            group: kind.group.clone(),
            kind: kind.kind.clone(),
            causes,
            ..StatusDetails::default()
        });
        status
    }

    /// Returns a 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::failure(400, reason::BAD_REQUEST, message)
    }

    /// Returns a 401.
    pub fn unauthorized() -> Self {
        Self::failure(401, reason::UNAUTHORIZED, "Unauthorized")
    }

    /// Returns a 405: `ACTION is not supported on resources of kind "RESOURCE"`.
    pub fn method_not_supported(resource: &GroupResource, action: &str) -> Self {
        let message = format!("{action} is not supported on resources of kind {}", quote(&resource.to_string()));
        Self::failure(405, reason::METHOD_NOT_ALLOWED, message).about(resource, "")
    }

    /// Returns a 405 when a path exists, but not for this method.
    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        let details = Some(StatusDetails::default());
        Self { details, ..Self::failure(405, reason::METHOD_NOT_ALLOWED, message) }
    }

    /// Returns a 404 for a path that is not served.
    pub fn path_not_found() -> Self {
        let mut status = Self::failure(404, reason::NOT_FOUND, "the server could not find the requested resource");
        status.details = Some(StatusDetails::default());
        status
    }

    /// Returns a 406.
    pub fn not_acceptable(message: impl Into<String>) -> Self {
        Self::failure(406, reason::NOT_ACCEPTABLE, message)
    }

    /// Returns a 413 for a body above the limit in bytes.
    pub fn request_entity_too_large(limit: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit}");
        Self::failure(413, reason::REQUEST_ENTITY_TOO_LARGE, message)
    }

    /// Returns a 415 with the accepted media types.
    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::failure(415, reason::UNSUPPORTED_MEDIA_TYPE, message)
    }

    /// Returns a 429 with 1 second to wait.
    pub fn too_many_requests(message: impl Into<String>) -> Self {
        Self::failure(429, reason::TOO_MANY_REQUESTS, message).retry_after(1)
    }

    /// Returns a 500: `Internal error occurred: MESSAGE`.
    pub fn internal_error(message: &str) -> Self {
        let mut status = Self::failure(500, reason::INTERNAL_ERROR, format!("Internal error occurred: {message}"));
        status.details = Some(StatusDetails {
            causes: vec![StatusCause { message: message.to_owned(), ..StatusCause::default() }],
            ..StatusDetails::default()
        });
        status
    }

    /// Returns a 503.
    pub fn service_unavailable(message: impl Into<String>) -> Self {
        Self::failure(503, reason::SERVICE_UNAVAILABLE, message)
    }

    /// Returns a 504 for a list at a future revision.
    pub fn too_large_resource_version(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let mut status = Self::failure(504, reason::TIMEOUT, message).retry_after(1);
        if let Some(details) = &mut status.details {
            details.causes.push(StatusCause {
                reason: "ResourceVersionTooLarge".to_owned(),
                message: "Too large resource version".to_owned(),
                field: String::new(),
            });
        }
        status
    }

    /// Returns a 410 for a revision that is no longer retained.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::failure(410, reason::EXPIRED, message)
    }

    /// Sets the number of seconds after which the client may try again.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.details.get_or_insert_default().retry_after_seconds = Some(seconds);
        self
    }

    /// True if the reason is `reason`.
    pub fn is(&self, reason: &str) -> bool {
        self.reason == reason
    }

    /// Encodes the body of a response: `{"kind":"Status","apiVersion":"v1","metadata":{},…}`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = br#"{"kind":"Status","apiVersion":"v1","metadata":{},"#.to_vec();
        let start = out.len();
        write_json(&mut out, self);
        out.remove(start); // the opening brace, which the head has already
        out
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Status {}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::field::Path;

    fn widgets() -> GroupResource {
        GroupResource { group: "example.com".to_owned(), resource: "widgets".to_owned() }
    }

    fn widget() -> GroupKind {
        GroupKind { group: "example.com".to_owned(), kind: "Widget".to_owned() }
    }

    #[test]
    fn body_has_kind_and_version_first() {
        assert_eq!(
            String::from_utf8(Status::not_found(&widgets(), "a").to_bytes()).expect("UTF-8"),
            concat!(
                r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","#,
                r#""message":"widgets.example.com \"a\" not found","reason":"NotFound","#,
                r#""details":{"name":"a","group":"example.com","kind":"widgets"},"code":404}"#
            )
        );
    }

    #[track_caller]
    fn check(status: &Status, code: u16, message: &str) {
        assert_eq!((status.code, status.message.as_str()), (code, message));
    }

    #[test]
    fn messages_are_upstreams() {
        let namespaces = GroupResource { group: String::new(), resource: "namespaces".to_owned() };
        check(&Status::already_exists(&namespaces, "a"), 409, "namespaces \"a\" already exists");
        check(
            &Status::conflict(&widgets(), "s", "stale"),
            409,
            "Operation cannot be fulfilled on widgets.example.com \"s\": stale",
        );
        check(&Status::forbidden(&widgets(), "s", "no"), 403, "widgets.example.com \"s\" is forbidden: no");
        check(&Status::forbidden(&widgets(), "", "no"), 403, "widgets.example.com is forbidden: no");
        check(&Status::forbidden(&GroupResource::default(), "", "no"), 403, "forbidden: no");
        check(&Status::internal_error("boom"), 500, "Internal error occurred: boom");
        check(&Status::invalid(&widget(), "s", &[]), 422, "Widget.example.com \"s\" is invalid");
    }

    #[test]
    fn several_field_errors_have_one_cause_each() {
        let path = Path::new("spec").child("purpose");
        let one = FieldError::required(&path, "must be set");
        let two = FieldError::not_supported(&path, "x", &["a", "b"]);
        check(
            &Status::invalid(&widget(), "s", std::slice::from_ref(&one)),
            422,
            "Widget.example.com \"s\" is invalid: spec.purpose: Required value: must be set",
        );
        let status = Status::invalid(&widget(), "s", &[one, two]);
        check(
            &status,
            422,
            concat!(
                "Widget.example.com \"s\" is invalid: [spec.purpose: Required value: must be set, ",
                "spec.purpose: Unsupported value: \"x\": supported values: \"a\", \"b\"]"
            ),
        );
        let body: Value = serde_json::from_slice(&status.to_bytes()).expect("JSON");
        assert_eq!(
            body["details"]["causes"][0],
            json!({"reason": "FieldValueRequired", "message": "Required value: must be set", "field": "spec.purpose"})
        );
        assert_eq!(body["details"]["kind"], "Widget");
    }
}
