// SPDX-License-Identifier: Apache-2.0
//! Pages for content that cannot be shown: the reason, and how to continue.

use apimachinery::Status;
use controller::Error;
use http::StatusCode;
use maud::{Markup, html};

use crate::input::Unreadable;
use crate::message;

/// A page with the reason why the requested one cannot be shown.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// HTTP status code.
    pub code: StatusCode,
    /// Short description.
    pub title: String,
    /// Reason, and how to continue.
    pub body: Markup,
}

impl Refusal {
    /// Creates a refusal with a sentence as its reason.
    pub fn new(code: StatusCode, title: impl Into<String>, sentence: impl AsRef<str>) -> Self {
        Self { code, title: title.into(), body: html! { p { (sentence.as_ref()) } } }
    }

    /// Returns the refusal of a request without a session.
    pub fn not_logged_in() -> Self {
        Self {
            code: StatusCode::UNAUTHORIZED,
            title: "Not logged in".to_owned(),
            body: html! {
                p { "This command opens these pages for you; its link is good once, and for a minute:" }
                p { code { "terrarium dashboard" } }
            },
        }
    }

    /// Returns the refusal of a request without a session, if a user can log in with a token, too; `why`: the reason why the sent
    /// token was refused.
    pub fn not_logged_in_with_token(why: Option<&str>) -> Self {
        let body = html! {
            (Self::not_logged_in().body)
            @if let Some(why) = why { p.bad { "This token is not good: " (why) } }
            form method="post" action="/dashboard/login" {
                div.field {
                    label for="bearer" { "Or a token of a ServiceAccount in the cluster `garden`" }
                    input #bearer type="password" name="bearer" autocomplete="off" required;
                }
                div.actions { button.main type="submit" { "Log in" } }
                p.hint { code { "kubectl create token NAME" } " prints one." }
            }
        };
        Self { body, ..Self::not_logged_in() }
    }

    /// Returns the refusal of a form whose token is not the session's.
    pub fn too_old() -> Self {
        Self {
            code: StatusCode::FORBIDDEN,
            title: "This page is too old".to_owned(),
            body: html! {
                p { "The form was made for another session, or was not sent by a page of this dashboard. Nothing was changed." }
                p { "Go back, load the page again, and send the form once more: what you typed is still in it." }
            },
        }
    }

    /// Returns the refusal of a path without a page.
    pub fn no_page() -> Self {
        Self::new(StatusCode::NOT_FOUND, "No such page", "Nothing is shown at this address.")
    }

    /// Returns the refusal of a missing object; `nearest`: links to objects with similar names, and these names.
    pub fn no_object(what: &str, nearest: &[(String, String)]) -> Self {
        Self {
            code: StatusCode::NOT_FOUND,
            title: format!("There is no {what}"),
            body: html! {
                @if nearest.is_empty() { p { "Nothing has a name like it." } }
                @else {
                    p { "Did you mean one of these?" }
                    ul { @for (link, name) in nearest { li { a href=(link) { (name) } } } }
                }
            },
        }
    }

    /// Returns the refusal of a query or form that cannot be read.
    pub fn unreadable(why: Unreadable) -> Self {
        let (code, sentence) = match why {
            Unreadable::NoText => (StatusCode::BAD_REQUEST, "The text that was sent is no UTF-8."),
            Unreadable::TooMany => (StatusCode::PAYLOAD_TOO_LARGE, "More than 1,000 fields were sent."),
        };
        Self::new(code, "This cannot be read", sentence)
    }

    /// Returns the refusal of a form that is too long.
    pub fn too_large() -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "This is too long", "More than 1.5 MiB were sent.")
    }

    /// Returns the refusal with the API's own text.
    pub fn of_status(status: &Status) -> Self {
        let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::BAD_GATEWAY);
        Self {
            code,
            title: match code {
                StatusCode::FORBIDDEN => "You may not see this".to_owned(),
                StatusCode::SERVICE_UNAVAILABLE => "The API does not answer".to_owned(),
                _ => "The API refused this".to_owned(),
            },
            body: html! { p { (message::of(status)) } },
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match &error {
            Error::Api(status) => Self::of_status(status),
            Error::Transport(_) => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "The API does not answer", error.to_string())
            }
            Error::Decode(_) | Error::Failed(_) => {
                Self::new(StatusCode::BAD_GATEWAY, "The answer of the API cannot be read", error.to_string())
            }
        }
    }
}
