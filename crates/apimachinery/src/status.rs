// SPDX-License-Identifier: Apache-2.0
//! `metav1.Status`: how an API server says what became of a request.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::field::FieldError;
use crate::resource::{GroupKind, GroupResource};

/// `metav1.Status`. As an error it displays its message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Status {
    /// `Success` or `Failure`.
    pub status: String,
    /// Text for a person.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Machine-readable reason; see [`reason`].
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// More about the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<StatusDetails>,
    /// HTTP code.
    pub code: u16,
}

/// Details of a [`Status`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StatusDetails {
    /// Name of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Group of the kind or resource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Kind or resource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Uid of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Single causes, field by field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<StatusCause>,
    /// When to try again, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u32>,
}

/// One cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StatusCause {
    /// Machine-readable reason.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Text for a person.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Path of the field.
    #[serde(skip_serializing_if = "String::is_empty")]
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
    /// 404 for an object.
    pub fn not_found(resource: &GroupResource, name: &str) -> Self {
        let _ = (resource, name);
        todo!()
    }

    /// 409 for a name that is taken.
    pub fn already_exists(resource: &GroupResource, name: &str) -> Self {
        let _ = (resource, name);
        todo!()
    }

    /// 409 for a write on an old version of an object.
    pub fn conflict(resource: &GroupResource, name: &str, message: &str) -> Self {
        let _ = (resource, name, message);
        todo!()
    }

    /// 403 by admission or authorization: `RESOURCE "NAME" is forbidden: MESSAGE`.
    pub fn forbidden(resource: &GroupResource, name: &str, message: &str) -> Self {
        let _ = (resource, name, message);
        todo!()
    }

    /// 422 with one cause per error: `KIND "NAME" is invalid: …`.
    pub fn invalid(kind: &GroupKind, name: &str, errors: &[FieldError]) -> Self {
        let _ = (kind, name, errors);
        todo!()
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        let _ = message.into();
        todo!()
    }

    /// 500: `Internal error occurred: MESSAGE`.
    pub fn internal_error(message: &str) -> Self {
        let _ = message;
        todo!()
    }

    /// 410 for a revision that is no longer retained.
    pub fn expired(message: impl Into<String>) -> Self {
        let _ = message.into();
        todo!()
    }

    /// Whether the reason is `reason`.
    pub fn is(&self, reason: &str) -> bool {
        self.reason == reason
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Status {}
