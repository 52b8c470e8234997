// SPDX-License-Identifier: Apache-2.0
//! Failures and their HTTP codes and `metav1.Status`: the only file that chooses a code.

use apimachinery::field::FieldError;
use apimachinery::patch::PatchError;
use apimachinery::status::{StatusCause, StatusDetails};
use apimachinery::{GroupKind, GroupResource, Status};
use bytes::Bytes;
use eventlog::{AppendError, Revision};
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WARNING, X_CONTENT_TYPE_OPTIONS};
use process::Response;
use process::transport::full;
use serde_json::json;

use crate::authorization::Question;

/// Largest body of a request, in bytes.
pub(crate) const BODY_LIMIT: usize = 3 * 1024 * 1024;

const MODIFIED: &str = "the object has been modified; please apply your changes to the latest version and try again";

/// Text of a 431 as Go's servers send it.
const HEAD_TOO_LARGE: &str = "431 Request Header Fields Too Large";

/// Complete text of the response after a panic, as upstream: it is not a `Status`.
const PANICKED: &str = "This request caused apiserver to panic. Look in the logs for details.";

/// Reason for which a request does not succeed.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The path is not served.
    NoSuchPath,
    /// The path is not served, but its group is.
    NoSuchResource,
    /// The path exists, but not for this method.
    NoSuchMethod,
    /// No such logical cluster.
    NoSuchCluster(String),
    NotFound(GroupResource, String),
    AlreadyExists(GroupResource, String),
    NoFreeName(GroupResource, String),
    /// The object changed since the client read it.
    Modified(GroupResource, String),
    /// Conflict with a specific text.
    Conflict(GroupResource, String, String),
    Invalid(GroupKind, String, Vec<FieldError>),
    BadRequest(String),
    Forbidden(GroupResource, String, String),
    /// The namespace is being deleted.
    NamespaceTerminating(GroupResource, String, String),
    NotAcceptable(String),
    /// Refusal of media types by the router of typed kinds: code, reason, text.
    Routed(u16, &'static str, String),
    UnsupportedMediaType(Vec<&'static str>),
    /// The body exceeds the server's limit.
    TooLarge,
    /// The object exceeds the log's limit.
    ObjectTooLarge,
    /// A revision that is no longer retained, and the token with which the client can continue.
    Expired(String, Option<String>),
    /// A revision that does not exist yet: requested, present.
    FutureRevision(u64, Revision),
    /// A client set a resource version on a new object.
    RevisionOnCreate,
    Internal(String),
    /// The head of the request exceeds the server's limit.
    HeadTooLarge,
    /// The server panicked during the request.
    Panicked,
    Unavailable(String),
    /// Invalid credentials.
    Unauthorized,
    /// The request timed out.
    Timeout,
    /// The server has reached its maximum number of requests.
    TooMany(String),
    /// Refusal by admission or a hook.
    Refused(Box<Status>),
    /// A failure and the warnings that preceded it.
    Warned(Box<Self>, Vec<String>),
}

/// Result of a handler.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self::Refused(Box::new(status))
    }
}

impl From<PatchError> for Failure {
    fn from(error: PatchError) -> Self {
        error.to_status().into()
    }
}

impl Failure {
    /// Failure of a request beyond a limit of concurrent requests, with upstream's text.
    pub(crate) fn too_many_requests() -> Self {
        Self::TooMany("Too many requests, please try again later.".to_owned())
    }

    /// Failure of an append that would fail again on another attempt.
    pub(crate) fn append(error: &AppendError, resource: &GroupResource, name: &str) -> Self {
        match error {
            AppendError::Conflict { .. } | AppendError::GuardFailed => {
                Self::Modified(resource.clone(), name.to_owned())
            }
            AppendError::TooLarge => Self::ObjectTooLarge,
            AppendError::Closed | AppendError::Unknown(_) => {
                Self::Unavailable("the event log cannot be reached".to_owned())
            }
            AppendError::Busy => {
                let status = Status::too_many_requests("the event log has too much to do, please try again later");
                status.retry_after(1).into()
            }
            AppendError::Storage(message) | AppendError::LiveLock(message) => Self::Internal(message.clone()),
        }
    }

    /// 422 for options of a request, such as `ListOptions`.
    pub(crate) fn options(kind: &str, error: FieldError) -> Self {
        Self::all_options(kind, vec![error])
    }

    /// 422 for all invalid options of a request, like [`Failure::options`].
    pub(crate) fn all_options(kind: &str, errors: Vec<FieldError>) -> Self {
        let kind = GroupKind { group: "meta.k8s.io".to_owned(), kind: kind.to_owned() };
        Self::Invalid(kind, String::new(), errors)
    }

    /// 422 for one field.
    pub(crate) fn field(kind: &GroupKind, name: &str, error: FieldError) -> Self {
        Self::Invalid(kind.clone(), name.to_owned(), vec![error])
    }

    /// 403 for a request that the authorizer refused.
    pub(crate) fn denied(question: &Question<'_>, reason: &str) -> Self {
        let user = &question.user.name;
        let verb = question.verb;
        let mut why = if question.resource.is_empty() {
            format!("User {user:?} cannot {verb} path {:?}", question.path)
        } else {
            let mut resource = question.resource.to_owned();
            if !question.subresource.is_empty() {
                resource = format!("{resource}/{}", question.subresource);
            }
            let scope = if question.namespace.is_empty() {
                "at the cluster scope".to_owned()
            } else {
                format!("in the namespace {:?}", question.namespace)
            };
            format!("User {user:?} cannot {verb} resource {resource:?} in API group {:?} {scope}", question.group)
        };
        if !reason.is_empty() {
            why = format!("{why}: {reason}");
        }
        let resource = GroupResource { group: question.group.to_owned(), resource: question.resource.to_owned() };
        Self::Forbidden(resource, question.name.to_owned(), why)
    }

    /// Returns the failure as a `Status`.
    pub(crate) fn status(&self) -> Status {
        match self {
            Self::NoSuchPath | Self::NoSuchResource => Status::path_not_found(),
            Self::NoSuchMethod => Status::method_not_allowed(),
            Self::NoSuchCluster(name) => Status::not_found(&cluster_resource(), name),
            Self::NotFound(resource, name) => Status::not_found(resource, name),
            Self::AlreadyExists(resource, name) => Status::already_exists(resource, name),
            Self::NoFreeName(resource, name) => Status::generate_name_conflict(resource, name),
            Self::Modified(resource, name) => Status::conflict(resource, name, MODIFIED),
            Self::Conflict(resource, name, why) => Status::conflict(resource, name, why),
            Self::Invalid(kind, name, errors) => Status::invalid(kind, name, errors),
            Self::BadRequest(message) => Status::bad_request(message.clone()),
            Self::Forbidden(resource, name, why) => Status::forbidden(resource, name, why),
            Self::NamespaceTerminating(resource, name, namespace) => terminating(resource, name, namespace),
            Self::Routed(code, reason, message) => {
                let details = Some(StatusDetails::default());
                Status { details, ..Status::failure(*code, reason, message.clone()) }
            }
            Self::NotAcceptable(message) => Status::not_acceptable(message.clone()),
            Self::UnsupportedMediaType(accepted) => Status::unsupported_media_type(accepted),
            Self::TooLarge => Status::request_entity_too_large(BODY_LIMIT),
            Self::ObjectTooLarge => Status::failure(500, "", "etcdserver: request is too large"),
            Self::Expired(message, _) => Status::expired(message.clone()),
            Self::FutureRevision(asked, present) => Status::too_large_resource_version(*asked, present.0),
            Self::RevisionOnCreate => {
                Status::failure(500, "", "resourceVersion should not be set on objects to be created")
            }
            Self::Internal(message) => Status::internal_error(message),
            Self::HeadTooLarge => Status::failure(431, "", HEAD_TOO_LARGE),
            Self::Panicked => Status::internal_error(PANICKED),
            Self::Unavailable(message) => Status::service_unavailable(message.clone()),
            Self::Unauthorized => Status::unauthorized(),
            Self::Timeout => {
                let text = "Timeout: request did not complete within the allotted timeout";
                Status::failure(504, "Timeout", text)
            }
            Self::TooMany(message) => Status::too_many_requests(message.clone()),
            Self::Refused(status) => Status::clone(status),
            Self::Warned(failure, _) => failure.status(),
        }
    }

    /// Adds warnings to the failure unless it has some.
    pub(crate) fn warned(self, warnings: Vec<String>) -> Self {
        match self {
            Self::Warned(..) => self,
            failure if warnings.is_empty() => failure,
            failure => Self::Warned(Box::new(failure), warnings),
        }
    }

    /// Formats the `Status` as JSON, as Go writes it: fields in the order of the struct, and a line feed.
    pub(crate) fn text(&self) -> String {
        let token = match self {
            Self::Expired(_, token) => token.as_deref(),
            Self::Warned(failure, _) => return failure.text(),
            _ => None,
        };
        status_text(&self.status(), token)
    }

    /// Returns the failure as a response.
    pub(crate) fn response(&self) -> Response {
        if let Self::Warned(failure, warnings) = self {
            let mut response = failure.response();
            warn(&mut response, warnings);
            return response;
        }
        if matches!(self, Self::NoSuchPath) {
            return plain(404, "404 page not found\n");
        }
        if matches!(self, Self::HeadTooLarge) {
            return plain(431, HEAD_TOO_LARGE);
        }
        if matches!(self, Self::Panicked) {
            let mut response = plain_text(500, format!("{PANICKED}\n"));
            response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
            return response;
        }
        let status = self.status();
        let mut response = json_response(status.code, self.text());
        let headers = response.headers_mut();
        if status.code == 403 {
            headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        }
        let seconds = status.details.as_ref().and_then(|details| details.retry_after_seconds).unwrap_or(0);
        if seconds > 0 {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// Adds `Warning` headers: duplicates are removed, and texts are cut once their total length is too large.
pub(crate) fn warn(response: &mut Response, warnings: &[String]) {
    let mut seen: Vec<&str> = Vec::new();
    for warning in warnings {
        if !seen.contains(&warning.as_str()) {
            seen.push(warning);
        }
    }
    let total: usize = seen.iter().map(|text| text.chars().count()).sum();
    let mut left = 4096_usize;
    for text in seen {
        let text: String = if total > 4096 { text.chars().take(256).collect() } else { text.to_owned() };
        let length = text.chars().count();
        if length > left {
            return;
        }
        left -= length;
        let clean: String = text.chars().filter(|character| !character.is_control()).collect();
        let value = format!("299 - \"{}\"", clean.replace('\\', "\\\\").replace('"', "\\\""));
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().append(WARNING, value);
        }
    }
}

/// Formats the `Status` as Go writes it: fields in the order of its struct, and a line feed.
fn status_text(status: &Status, continue_token: Option<&str>) -> String {
    let mut text = String::from_utf8(status.to_bytes()).unwrap_or_default();
    if let Some(token) = continue_token {
        text = text.replacen(r#""metadata":{}"#, &format!(r#""metadata":{}"#, json!({ "continue": token })), 1);
    }
    // The body of a success has no code.
    if status.status == "Success"
        && let Some(start) = text.strip_suffix(&format!(r#","code":{}}}"#, status.code))
    {
        text = format!("{start}}}");
    }
    text + "\n"
}

fn cluster_resource() -> GroupResource {
    GroupResource { group: String::new(), resource: "clusters".to_owned() }
}

fn terminating(resource: &GroupResource, name: &str, namespace: &str) -> Status {
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut status = Status::forbidden(resource, name, &why);
    if let Some(details) = &mut status.details {
        details.causes.push(StatusCause {
            reason: "NamespaceTerminating".to_owned(),
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".to_owned(),
        });
    }
    status
}

/// Returns a JSON response.
pub(crate) fn json_response(code: u16, body: impl Into<Bytes>) -> Response {
    typed_response(code, "application/json", body)
}

/// Returns a plain-text response.
pub(crate) fn plain(code: u16, body: &'static str) -> Response {
    plain_text(code, body)
}

/// Returns a plain-text response, like [`plain`], from a computed text.
pub(crate) fn plain_text(code: u16, body: impl Into<Bytes>) -> Response {
    typed_response(code, "text/plain; charset=utf-8", body)
}

fn typed_response(code: u16, content_type: &'static str, body: impl Into<Bytes>) -> Response {
    let mut response = Response::new(full(body));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(http::header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// Returns the 200 after an immediate deletion.
pub(crate) fn deleted(resource: &GroupResource, name: &str, uid: &str) -> Response {
    json_response(200, status_text(&Status::deleted(resource, name, uid), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_the_form_that_go_writes() {
        let widgets = GroupResource { group: "g".to_owned(), resource: "widgets".to_owned() };
        let missing = Failure::NotFound(widgets.clone(), "a".to_owned()).text();
        assert_eq!(
            missing,
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"widgets.g \\\"a\\\" not found\",\
             \"reason\":\"NotFound\",\"details\":{\"name\":\"a\",\"group\":\"g\",\"kind\":\"widgets\"},\"code\":404}\n"
        );
        let terminating = Failure::NamespaceTerminating(widgets, "a".to_owned(), "n".to_owned()).text();
        let causes = "\"causes\":[{\"reason\":\"NamespaceTerminating\",\"message\":\"namespace n is being terminated\",\
                      \"field\":\"metadata.namespace\"}]";
        assert!(terminating.contains(causes), "{terminating}");
        let expired = Failure::Expired("old".to_owned(), Some("next".to_owned())).text();
        assert!(expired.contains(r#""metadata":{"continue":"next"},"status":"Failure","message":"old""#), "{expired}");
        let deleted = status_text(
            &Status::deleted(&GroupResource { group: String::new(), resource: "pods".to_owned() }, "a", "u"),
            None,
        );
        assert_eq!(
            deleted,
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\",\"details\":{\"name\":\"a\",\
             \"kind\":\"pods\",\"uid\":\"u\"}}\n"
        );
    }
}
