// SPDX-License-Identifier: Apache-2.0
//! Encoding of objects, lists and watch frames in the requested form.

use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use eventlog::Revision;
use serde_json::{Value, json};

use crate::negotiation::Form;
use crate::scope::Scope;
use crate::status::Result;
use crate::storage::stored::{self, EventType, Stored};
use crate::storage::watcher::Occasion;
use crate::table;

/// Pagination fields in the metadata of a list.
#[derive(Debug, Default)]
pub(crate) struct ListEnd {
    pub(crate) continue_token: String,
    pub(crate) remaining: Option<usize>,
}

impl ListEnd {
    fn metadata(&self, revision: Revision) -> Value {
        let mut metadata = json!({ "resourceVersion": revision.to_string() });
        if !self.continue_token.is_empty() {
            metadata["continue"] = json!(self.continue_token);
            if let Some(remaining) = self.remaining {
                metadata["remainingItemCount"] = json!(remaining);
            }
        }
        metadata
    }
}

/// A list.
pub(crate) fn list(scope: &Scope, objects: &[Arc<Stored>], revision: Revision, end: &ListEnd) -> Result<Bytes> {
    let objects = &*shown(scope, objects);
    let metadata = end.metadata(revision);
    match scope.form {
        Form::Object => Ok(json_list(scope, objects, &metadata)),
        Form::Table(version) => {
            let include = table::Include::parse(scope.call.query.text("includeObject"))?;
            Ok(text(&table::table(scope, objects, version, include, &metadata, true)))
        }
        Form::Partial(version) => {
            let items: Vec<Value> = objects.iter().map(|object| partial(scope, object, version)).collect();
            Ok(text(&json!({
                "kind": "PartialObjectMetadataList",
                "apiVersion": format!("meta.k8s.io/{version}"),
                "metadata": metadata,
                "items": items,
            })))
        }
    }
}

/// Returns the objects without the fields that their kind does not have.
fn shown<'a>(scope: &Scope, objects: &'a [Arc<Stored>]) -> Cow<'a, [Arc<Stored>]> {
    if !scope.kind.prunes() {
        return Cow::Borrowed(objects);
    }
    let one = |object: &Arc<Stored>| scope.shown(object).map_or_else(|| object.clone(), Arc::new);
    Cow::Owned(objects.iter().map(one).collect())
}

/// Encodes a list in plain JSON; items of typed kinds omit kind and version, since the list has them.
pub(crate) fn plain_list(scope: &Scope, objects: &[Arc<Stored>], revision: Revision) -> Bytes {
    json_list(scope, &shown(scope, objects), &ListEnd::default().metadata(revision))
}

fn json_list(scope: &Scope, objects: &[Arc<Stored>], metadata: &Value) -> Bytes {
    let names = scope.names();
    let size: usize = objects.iter().map(|object| object.size() + 1).sum();
    let mut out = Vec::with_capacity(size + 256);
    let _ = write!(
        out,
        "{{\"kind\":\"{}List\",\"apiVersion\":\"{}\",\"metadata\":{metadata},\"items\":[",
        names.info.kind, names.api_version
    );
    for (index, object) in objects.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        if names.info.custom {
            scope.write(object, &mut out);
        } else {
            object.write_item(&mut out, scope.annotation());
        }
    }
    out.extend_from_slice(b"]}\n");
    out.into()
}

/// `PartialObjectMetadata` of an object.
pub(crate) fn partial(scope: &Scope, object: &Stored, version: &str) -> Value {
    let mut tree = scope.tree(object);
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": tree["metadata"].take(),
    })
}

/// Encodes one object in the requested form.
pub(crate) fn object(scope: &Scope, object: &Stored) -> Bytes {
    match scope.form {
        Form::Object => object.bytes(),
        Form::Table(version) => {
            let metadata = json!({ "resourceVersion": object.revision.to_string() });
            let include = table::Include::parse(scope.call.query.text("includeObject")).unwrap_or_default();
            let object = Arc::new(Stored::new(
                &object.key(&scope.names().log_resource),
                object.revision,
                object.sections.clone(),
            ));
            text(&table::table(scope, &[object], version, include, &metadata, true))
        }
        Form::Partial(version) => text(&partial(scope, object, version)),
    }
}

/// Encodes a frame of a watch.
pub(crate) fn frame(scope: &Scope, type_: EventType, object: &Arc<Stored>, first: bool) -> Bytes {
    let object = &shown(scope, std::slice::from_ref(object))[0];
    let shown = match scope.form {
        Form::Table(version) => {
            let include = table::Include::parse(scope.call.query.text("includeObject")).unwrap_or_default();
            let metadata = json!({ "resourceVersion": object.revision.to_string() });
            table::table(scope, std::slice::from_ref(object), version, include, &metadata, first)
        }
        Form::Partial(version) => partial(scope, object, version),
        Form::Object => return stored::frame(type_, object, scope.annotation()),
    };
    format!("{{\"type\":\"{}\",\"object\":{shown}}}\n", type_.as_str()).into()
}

/// Encodes a bookmark: only a resource version, and the mark of the end of the initial state.
pub(crate) fn bookmark(scope: &Scope, revision: Revision, occasion: Occasion, first: bool) -> Bytes {
    let names = scope.names();
    let mut metadata = json!({ "resourceVersion": revision.to_string(), "creationTimestamp": null });
    match occasion {
        Occasion::Position => {}
        Occasion::InitialStateEnds => metadata["annotations"] = json!({ "k8s.io/initial-events-end": "true" }),
    }
    let object = match scope.form {
        Form::Object => json!({ "kind": names.info.kind, "apiVersion": names.api_version, "metadata": metadata }),
        Form::Partial(version) => json!({
            "kind": "PartialObjectMetadata",
            "apiVersion": format!("meta.k8s.io/{version}"),
            "metadata": metadata,
        }),
        Form::Table(version) => table::bookmark(names.info.columns, version, metadata, first),
    };
    format!("{{\"type\":\"BOOKMARK\",\"object\":{object}}}\n").into()
}

fn text(tree: &Value) -> Bytes {
    format!("{tree}\n").into()
}
