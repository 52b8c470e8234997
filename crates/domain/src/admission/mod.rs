// SPDX-License-Identifier: Apache-2.0
//! Rules that need more than one object: what admission says of a request (plugin/pkg @ v1.120.0).
//!
//! Each function is given what it needs; fetching it is the server's work.

pub mod bindings;
pub mod cloud_profile;
pub mod extensions;
pub mod limits;
pub mod managed_seed;
pub mod namespaced_cloud_profile;
pub mod pods;
pub mod project;
pub mod quota;
pub mod shoot;
pub mod webhooks;

use apimachinery::GroupResource;
use apimachinery::field::FieldError;

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A new object.
    Create,
    /// A changed object.
    Update,
    /// Removal of an object.
    Delete,
}

/// Why admission refuses; the kind decides about the HTTP code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// 403: `RESOURCE "NAME" is forbidden: TEXT`.
    Forbidden(String),
    /// 422 with these violations.
    Invalid(Vec<FieldError>),
    /// 400.
    BadRequest(String),
    /// 500: `Internal error occurred: TEXT`.
    Internal(String),
    /// 500 with the text alone and no reason: what the API server makes of an error that is no Status, which some of
    /// upstream's plugins return.
    Plain(String),
    /// 404 for an object that a plugin looked up, with its name.
    NotFound(GroupResource, String),
}

impl Refusal {
    /// 403 with a list of violations; none is no refusal.
    ///
    /// # Errors
    /// If there are violations.
    pub fn unless_empty(errors: &[FieldError]) -> Result<(), Self> {
        if errors.is_empty() { Ok(()) } else { Err(Self::Forbidden(aggregate(errors))) }
    }
}

/// Violations as one text: a single one bare, several as `[e1, e2]`, repetitions dropped.
pub fn aggregate(errors: &[FieldError]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for error in errors {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match &texts[..] {
        [single] => single.clone(),
        _ => format!("[{}]", texts.join(", ")),
    }
}

/// Texts as hashicorp's multierror joins them.
pub fn multierror(texts: &[String]) -> String {
    let count = if texts.len() == 1 { "1 error".to_owned() } else { format!("{} errors", texts.len()) };
    let lines: Vec<String> = texts.iter().map(|text| format!("\t* {text}\n")).collect();
    format!("{count} occurred:\n{}\n", lines.concat())
}
