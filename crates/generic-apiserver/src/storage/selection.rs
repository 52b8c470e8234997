// SPDX-License-Identifier: Apache-2.0
//! Selection of a collection's objects by scope, label selector and field selector.

use std::collections::BTreeSet;
use std::sync::Arc;

use apimachinery::selector::{Fields, Labels};

use super::stored::Stored;
use crate::kind::{Kind, Names};
use crate::status::Failure;

/// A selection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    /// Prefix of the paths: empty, `cluster/` or `cluster/namespace/`.
    pub(crate) prefix: Arc<str>,
    /// `None` selects all labels.
    labels: Option<Labels>,
    fields: Vec<Term>,
}

/// All requirements of a selector for one field.
#[derive(Clone, Debug)]
struct Term {
    field: Field,
    /// Values that the field must equal; at most two are kept: with more than one nothing is selected.
    equal: Vec<String>,
    others: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Field {
    Name,
    Namespace,
    /// Index of one of the kind's own field selectors.
    Own(usize),
}

impl Selection {
    /// Parses the selectors of a request.
    ///
    /// # Errors
    /// A selector that cannot be parsed, or a field that the kind does not support.
    pub(crate) fn new(
        cluster: Option<&str>,
        namespace: &str,
        labels: &str,
        fields: &str,
        names: &Names,
    ) -> Result<Self, Failure> {
        let prefix = match (cluster, namespace) {
            (None, _) => String::new(),
            (Some(cluster), "") => format!("{cluster}/"),
            (Some(cluster), namespace) => format!("{cluster}/{namespace}/"),
        };
        let labels = match labels.trim() {
            "" => None,
            text => Some(Labels::parse(text).map_err(Failure::BadRequest)?),
        };
        let terms =
            if fields.is_empty() { Fields::default() } else { Fields::parse(fields).map_err(Failure::BadRequest)? };
        let mut selection = Self { prefix: prefix.into(), labels, fields: Vec::new() };
        if cluster.is_none() && !namespace.is_empty() {
            selection.add(Field::Namespace, namespace.to_owned(), true);
        }
        for (label, value, equal) in terms.terms {
            let field = match label.as_str() {
                "metadata.name" => Field::Name,
                "metadata.namespace" => Field::Namespace,
                _ => match names
                    .info
                    .field_selectors
                    .iter()
                    .position(|(known, _)| *known == label && names.info.selects(known))
                {
                    Some(index) => Field::Own(index),
                    None => return Err(Failure::BadRequest(unknown_field(&label, names))),
                },
            };
            selection.add(field, value, equal);
        }
        Ok(selection)
    }

    fn add(&mut self, field: Field, value: String, equal: bool) {
        let known = self.fields.iter().position(|term| term.field == field);
        let index = known.unwrap_or_else(|| {
            self.fields.push(Term { field, equal: Vec::new(), others: BTreeSet::new() });
            self.fields.len() - 1
        });
        let term = &mut self.fields[index];
        if !equal {
            term.others.insert(value);
        } else if term.equal.len() < 2 && !term.equal.contains(&value) {
            term.equal.push(value);
        }
    }

    /// True if a selector narrows the scope.
    pub(crate) fn is_narrowed(&self) -> bool {
        self.labels.is_some() || !self.fields.is_empty()
    }

    /// Narrows the selection to one object.
    pub(crate) fn narrow_to(&mut self, name: &str) {
        self.add(Field::Name, name.to_owned(), true);
    }

    pub(crate) fn matches(&self, object: &Stored, kind: &dyn Kind) -> bool {
        for term in &self.fields {
            let value = match term.field {
                Field::Name => &*object.name,
                Field::Namespace => &*object.namespace,
                Field::Own(index) => object.field(kind, index),
            };
            if term.equal.iter().any(|wanted| wanted != value) || term.others.contains(value) {
                return false;
            }
        }
        let Some(labels) = &self.labels else { return true };
        match object.known() {
            Some(decoded) => labels.matches(&kind.metadata(&*decoded).labels),
            None => labels.matches(&object.labels()),
        }
    }
}

fn unknown_field(label: &str, names: &Names) -> String {
    if names.info.field_selectors.is_empty() {
        format!("\"{label}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
    } else {
        format!("field label not supported: {label}")
    }
}
