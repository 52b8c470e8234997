// SPDX-License-Identifier: Apache-2.0
//! Admission rules, which depend on more than one object (plugin/pkg @ v1.120.0).
//!
//! Each function receives the objects it needs; the server reads them.

pub mod bindings;
pub mod cloud_profile;
pub mod extensions;
pub mod limits;
pub mod managed_seed;
pub mod namespaced_cloud_profile;
pub mod pods;
pub mod project;
pub mod quota;
pub mod references;
pub mod seed_domains;
pub mod shoot;
pub mod webhooks;

use apimachinery::GroupResource;
use apimachinery::field::FieldError;

/// Operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Creation of an object.
    Create,
    /// Change of an object.
    Update,
    /// Deletion of an object.
    Delete,
}

/// Refusal of a request; the variant determines the HTTP code.
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
    /// 500 with only the text and no reason: the API server's response to an error that is not a Status, which some of
    /// upstream's plugins return.
    Plain(String),
    /// 404 for an object that a plugin reads, with its name.
    NotFound(GroupResource, String),
}

impl Refusal {
    /// Returns a 403 with a list of violations, unless it is empty.
    ///
    /// # Errors
    /// If there are violations.
    pub fn unless_empty(errors: &[FieldError]) -> Result<(), Self> {
        if errors.is_empty() { Ok(()) } else { Err(Self::Forbidden(aggregate(errors))) }
    }
}

/// Joins violations into one text: a single one as it is, several as `[e1, e2]`, without repetitions.
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

/// Joins texts as hashicorp's multierror does.
pub fn multierror(texts: &[String]) -> String {
    let count = if texts.len() == 1 { "1 error".to_owned() } else { format!("{} errors", texts.len()) };
    let lines: Vec<String> = texts.iter().map(|text| format!("\t* {text}\n")).collect();
    format!("{count} occurred:\n{}\n", lines.concat())
}
