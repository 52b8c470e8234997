// SPDX-License-Identifier: Apache-2.0
//! The AdmissionReview that is sent to a webhook, and the one in its response.

use apimachinery::Status;
use apimachinery::meta::ByteString;
use serde::Deserialize;
use serde_json::{Value, json};

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// Returns a review of a request.
pub(crate) fn question(request: Value) -> Value {
    json!({ "apiVersion": API_VERSION, "kind": KIND, "request": request })
}

/// Decision of a webhook.
#[derive(Debug, PartialEq)]
pub(crate) struct Decision {
    /// Refusal; `None`: the webhook allows the request.
    pub(crate) denied: Option<Status>,
    /// JSON patch of the object.
    pub(crate) patch: Option<Vec<u8>>,
    /// Warnings for the client.
    pub(crate) warnings: Vec<String>,
}

impl Decision {
    /// Returns the patch of a webhook that allows the request; its warnings are added to `warnings` in any case.
    ///
    /// # Errors
    /// The denial.
    pub(crate) fn taken(self, warnings: &mut Vec<String>) -> Result<Option<Vec<u8>>, Status> {
        warnings.extend(self.warnings);
        self.denied.map_or(Ok(self.patch), Err)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    response: Option<Answer>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Answer {
    uid: String,
    allowed: bool,
    status: Option<ResponseStatus>,
    patch: Option<String>,
    patch_type: Option<String>,
    warnings: Vec<String>,
}

/// A `Status` in which every field is optional.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseStatus {
    message: String,
    reason: String,
    code: u16,
    details: Option<apimachinery::status::StatusDetails>,
}

/// Returns the decision in a webhook's response to a review with this uid.
///
/// # Errors
/// Reason for which the response is invalid, in upstream's text.
pub(crate) fn decision(webhook: &str, uid: &str, body: &[u8]) -> Result<Decision, String> {
    let invalid = |reason: String| format!("received invalid webhook response: {reason}");
    let review: Review = serde_json::from_slice(body).map_err(|error| format!("failed to call webhook: {error}"))?;
    if review.api_version != API_VERSION || review.kind != KIND {
        let got = format!("{}, Kind={}", review.api_version, review.kind);
        return Err(invalid(format!("expected webhook response of {API_VERSION}, Kind={KIND}, got {got}")));
    }
    let Some(answer) = review.response else { return Err("webhook response was absent".to_owned()) };
    if answer.uid != uid {
        return Err(invalid(format!("expected response.uid={uid:?}, got {:?}", answer.uid)));
    }
    let warnings = answer.warnings;
    if !answer.allowed {
        let denied = Some(refusal(webhook, answer.status.unwrap_or_default()));
        return Ok(Decision { denied, patch: None, warnings });
    }
    let patch = match (answer.patch.filter(|patch| !patch.is_empty()), answer.patch_type.as_deref()) {
        (None, None) => None,
        (None, Some(_)) => return Err(invalid("webhook returned response.patchType but not response.patch".into())),
        (Some(_), None) => return Err(invalid("webhook returned response.patch but not response.patchType".into())),
        (Some(patch), Some("JSONPatch")) => Some(ByteString::from_base64(&patch).map_err(invalid)?.0),
        (Some(_), Some(other)) => {
            return Err(invalid(format!(
                "webhook returned invalid response.patchType of {other:?}: must be \"JSONPatch\""
            )));
        }
    };
    Ok(Decision { denied: None, patch, warnings })
}

fn refusal(webhook: &str, told: ResponseStatus) -> Status {
    let by = format!("admission webhook {webhook:?} denied the request");
    let message = match (told.message.as_str(), told.reason.as_str()) {
        ("", "") => format!("{by} without explanation"),
        ("", reason) => format!("{by}: {reason}"),
        (message, _) => format!("{by}: {message}"),
    };
    let mut status = Status::failure(told.code.max(400), &told.reason, message);
    status.details = told.details;
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(response: &Value) -> Result<Decision, String> {
        let review = json!({ "apiVersion": API_VERSION, "kind": KIND, "response": response });
        decision("a.example.com", "1", review.to_string().as_bytes())
    }

    /// Compares the status of the response, and the client's failure.
    #[test]
    fn denials_name_the_webhook() {
        for (status, code, message) in [
            (json!(null), 400, "admission webhook \"a.example.com\" denied the request without explanation"),
            (json!({ "message": "no" }), 400, "admission webhook \"a.example.com\" denied the request: no"),
            (
                json!({ "reason": "Forbidden", "code": 403 }),
                403,
                "admission webhook \"a.example.com\" denied the request: Forbidden",
            ),
            (
                json!({ "message": "no", "reason": "Forbidden", "code": 200 }),
                400,
                "admission webhook \"a.example.com\" denied the request: no",
            ),
        ] {
            let decision = read(&json!({ "uid": "1", "allowed": false, "status": status })).expect("an answer");
            let denied = decision.denied.expect("a refusal");
            assert_eq!((denied.code, denied.message.as_str(), denied.status.as_str()), (code, message, "Failure"));
        }
    }

    #[test]
    fn patches_have_a_type() {
        let allowed = read(&json!({ "uid": "1", "allowed": true, "warnings": ["w"] })).expect("an answer");
        assert_eq!(allowed, Decision { denied: None, patch: None, warnings: vec!["w".to_owned()] });
        let patched = json!({ "uid": "1", "allowed": true, "patch": "W10=", "patchType": "JSONPatch" });
        assert_eq!(read(&patched).expect("an answer").patch.as_deref(), Some(&b"[]"[..]));
    }

    #[test]
    fn invalid_responses_are_reported() {
        for (response, expected) in [
            (json!(null), "webhook response was absent"),
            (
                json!({ "uid": "2", "allowed": true }),
                "received invalid webhook response: expected response.uid=\"1\", got \"2\"",
            ),
            (
                json!({ "uid": "1", "allowed": true, "patch": "W10=" }),
                "received invalid webhook response: webhook returned response.patch but not response.patchType",
            ),
            (
                json!({ "uid": "1", "allowed": true, "patch": "W10=", "patchType": "Merge" }),
                "received invalid webhook response: webhook returned invalid response.patchType of \"Merge\": must be \
                 \"JSONPatch\"",
            ),
        ] {
            assert_eq!(read(&response), Err(expected.to_owned()));
        }
        let other = json!({ "apiVersion": "admission.k8s.io/v1beta1", "kind": KIND }).to_string();
        assert_eq!(
            decision("a", "1", other.as_bytes()),
            Err("received invalid webhook response: expected webhook response of admission.k8s.io/v1, \
                 Kind=AdmissionReview, got admission.k8s.io/v1beta1, Kind=AdmissionReview"
                .to_owned())
        );
    }
}
