// SPDX-License-Identifier: Apache-2.0
//! One version of an object, and one change.

use std::sync::{Arc, OnceLock};

use apimachinery::meta::TextMap;
use bytes::Bytes;
use eventlog::{Revision, Sections};
use parking_lot::Mutex;
use process::transport::Decoded;
use serde_json::Value;

use crate::kind::{AnyObject, Kind};
use crate::sections;
use crate::storage::lock;

/// Returns the path of an object, a text whose order is the order of lists: `cluster/namespace/name`, the namespace
/// empty for cluster-scoped objects.
pub(crate) fn path(cluster: &str, namespace: &str, name: &str) -> String {
    let mut path = String::with_capacity(cluster.len() + namespace.len() + name.len() + 2);
    path.push_str(cluster);
    path.push('/');
    path.push_str(namespace);
    path.push('/');
    path.push_str(name);
    path
}

/// One version of an object.
pub(crate) struct Stored {
    pub(crate) cluster: Arc<str>,
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) revision: Revision,
    pub(crate) sections: Sections,
    decoded: Mutex<DecodedForm>,
    /// [`Kind::default_served`], once it is decoded from its bytes.
    defaulted: OnceLock<Bytes>,
    shared: OnceLock<Decoded>,
    fields: OnceLock<Vec<String>>,
}

/// Decoded form of a version.
enum DecodedForm {
    NotYet,
    Object(Arc<AnyObject>),
    Unreadable,
}

impl Stored {
    pub(crate) fn new(key: &eventlog::Key, revision: Revision, sections: Sections) -> Self {
        Self {
            cluster: key.cluster.clone(),
            namespace: key.namespace.clone(),
            name: key.name.clone(),
            revision,
            sections,
            decoded: Mutex::new(DecodedForm::NotYet),
            defaulted: OnceLock::new(),
            shared: OnceLock::new(),
            fields: OnceLock::new(),
        }
    }

    pub(crate) fn with_decoded(self, decoded: Arc<AnyObject>) -> Self {
        Self { decoded: Mutex::new(DecodedForm::Object(decoded)), ..self }
    }

    /// Returns the typed object, if it is kept.
    pub(crate) fn known(&self) -> Option<Arc<AnyObject>> {
        match &*lock(&self.decoded) {
            DecodedForm::Object(object) => Some(object.clone()),
            DecodedForm::NotYet | DecodedForm::Unreadable => None,
        }
    }

    /// Returns the typed object, like [`super::Store::decoded`], and keeps it.
    pub(super) fn decode(&self, kind: &dyn Kind) -> Option<Arc<AnyObject>> {
        let mut known = lock(&self.decoded);
        match &*known {
            DecodedForm::Object(object) => return Some(object.clone()),
            DecodedForm::Unreadable => return None,
            DecodedForm::NotYet => {}
        }
        match kind.read_served(&self.bytes()) {
            Ok(mut object) => {
                if let Some(defaulted) = kind.default_served(&mut *object, &self.sections) {
                    let _ = self.defaulted.set(defaulted);
                }
                let object: Arc<AnyObject> = Arc::from(object);
                *known = DecodedForm::Object(object.clone());
                Some(object)
            }
            Err(error) => {
                let resource = &kind.names().log_resource;
                tracing::error!(%resource, name = %self.name, error, "cannot read a stored object");
                *known = DecodedForm::Unreadable;
                None
            }
        }
    }

    /// Returns the sections with the defaults that the typed object has: changes are detected relative to these.
    pub(crate) fn defaulted_sections(&self) -> Sections {
        let mut sections = self.sections.clone();
        if let Some(defaulted) = self.defaulted.get() {
            sections.parts[3] = defaulted.clone();
        }
        sections
    }

    /// True if the typed object is kept.
    pub(crate) fn is_decoded(&self) -> bool {
        matches!(&*lock(&self.decoded), DecodedForm::Object(_))
    }

    /// Returns the decoded form that clients of this process share.
    pub(crate) fn shared(&self) -> &Decoded {
        self.shared.get_or_init(|| match &*lock(&self.decoded) {
            DecodedForm::Object(object) => Decoded::new(object.clone()),
            DecodedForm::NotYet | DecodedForm::Unreadable => Decoded::default(),
        })
    }

    /// Drops the typed object: a later reader decodes the bytes again.
    pub(crate) fn forget_decoded(&self) {
        if let Some(shared) = self.shared.get() {
            shared.release();
        }
        let mut known = lock(&self.decoded);
        if let DecodedForm::Object(_) = &*known {
            *known = DecodedForm::NotYet;
        }
    }

    /// Returns the object as it is served.
    pub(crate) fn bytes(&self) -> Bytes {
        let mut out = Vec::with_capacity(self.size());
        self.write(&mut out);
        out.into()
    }

    pub(crate) fn size(&self) -> usize {
        self.sections.parts.iter().map(Bytes::len).sum::<usize>() + 48
    }

    /// Appends the object as it is served.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        self.write_with(out, &self.sections.parts[0], None);
    }

    /// Appends the object, like [`Stored::write`], with an annotation that names the cluster.
    pub(crate) fn write_annotated(&self, out: &mut Vec<u8>, annotation: &str) {
        self.write_with(out, &self.sections.parts[0], Some(annotation));
    }

    /// Appends the object, like [`Stored::write`], without kind and version, and with an annotation that names the
    /// cluster if there is one.
    pub(crate) fn write_item(&self, out: &mut Vec<u8>, annotation: Option<&str>) {
        const METADATA: &[u8] = b"\"metadata\":";
        let identity = &self.sections.parts[0];
        let start = identity.windows(METADATA.len()).position(|window| window == METADATA).unwrap_or_default();
        out.push(b'{');
        self.write_with(out, &identity[start..], annotation);
    }

    fn write_with(&self, out: &mut Vec<u8>, identity: &[u8], annotation: Option<&str>) {
        let [_, metadata, rest @ ..] = &self.sections.parts;
        out.extend_from_slice(identity);
        write_revision(out, self.revision);
        match annotation {
            Some(annotation) => sections::annotate(out, metadata, annotation, &self.cluster),
            None => out.extend_from_slice(metadata),
        }
        for part in rest {
            out.extend_from_slice(part);
        }
    }

    /// Returns `metadata.labels`, read from the bytes.
    pub(crate) fn labels(&self) -> TextMap {
        let metadata = &self.sections.parts[1];
        let labels = sections::Pairs::new(metadata).find(|(name, ..)| *name == b"labels");
        labels.and_then(|(_, start, end)| serde_json::from_slice(&metadata[start..end]).ok()).unwrap_or_default()
    }

    /// Returns the stored `status`, if there is one.
    pub(crate) fn status(&self) -> Option<Value> {
        let text = self.sections.parts[4].strip_prefix(b",")?;
        let mut object = Vec::with_capacity(text.len() + 1);
        object.push(b'{');
        object.extend_from_slice(text);
        let mut tree: Value = serde_json::from_slice(&object).ok()?;
        tree.get_mut("status").map(Value::take)
    }

    /// Returns the value of the kind's field selector number `index`.
    pub(crate) fn field(&self, kind: &dyn Kind, index: usize) -> &str {
        let values = self.fields.get_or_init(|| {
            let tree: Value = serde_json::from_slice(&self.bytes()).unwrap_or_default();
            kind.names().info.field_selectors.iter().map(|(_, path)| text_at(&tree, path)).collect()
        });
        values.get(index).map_or("", String::as_str)
    }

    pub(crate) fn key(&self, resource: &Arc<str>) -> eventlog::Key {
        eventlog::Key {
            cluster: self.cluster.clone(),
            resource: resource.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }
}

fn write_revision(out: &mut Vec<u8>, revision: Revision) {
    use std::io::Write;
    let _ = write!(out, ",\"resourceVersion\":\"{revision}\"");
}

/// Returns the scalar at `a.b.c` as text; of several alternatives `a.b|c` the first that is not empty; `=x` is the text x.
fn text_at(tree: &Value, paths: &str) -> String {
    for path in paths.split('|') {
        if let Some(text) = path.strip_prefix('=') {
            return text.to_owned();
        }
        let mut node = tree;
        for name in path.split('.').filter(|name| !name.is_empty()) {
            node = &node[name];
        }
        let text = match node {
            Value::String(text) => text.clone(),
            Value::Bool(value) => value.to_string(),
            Value::Number(value) => value.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
        };
        if !text.is_empty() {
            return text;
        }
    }
    String::new()
}

/// Type of a watch event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventType {
    Added,
    Modified,
    Deleted,
}

impl EventType {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// One change of one object, shared by all watchers.
pub(crate) struct Event {
    pub(crate) revision: Revision,
    pub(crate) path: Arc<str>,
    /// The object before the change, at its own revision.
    pub(crate) old: Option<Arc<Stored>>,
    /// The object after the change; `None` for a deletion.
    pub(crate) new: Option<Arc<Stored>>,
    /// The last state at the revision of this change, for `DELETED` frames.
    gone: OnceLock<Arc<Stored>>,
    frames: Mutex<Frames>,
}

/// Frames of an event's own type, built when they are first sent.
#[derive(Default)]
struct Frames {
    plain: Option<Bytes>,
    /// Frame with the annotation that names the cluster.
    annotated: Option<Bytes>,
}

impl Event {
    pub(crate) fn new(revision: Revision, path: Arc<str>, old: Option<Arc<Stored>>, new: Option<Arc<Stored>>) -> Self {
        Self { revision, path, old, new, gone: OnceLock::new(), frames: Mutex::default() }
    }

    /// Sets the last state, for a deletion whose entry contains it.
    pub(crate) fn with_gone(self, gone: Arc<Stored>) -> Self {
        let _ = self.gone.set(gone);
        self
    }

    /// Returns the size of its objects in memory, in bytes.
    pub(crate) fn size(&self) -> usize {
        [&self.old, &self.new].into_iter().flatten().map(|object| object.size()).sum()
    }

    fn own_type(&self) -> EventType {
        match (&self.old, &self.new) {
            (None, _) => EventType::Added,
            (Some(_), Some(_)) => EventType::Modified,
            (Some(_), None) => EventType::Deleted,
        }
    }

    /// Returns the object that a frame of this type shows.
    pub(crate) fn shown(&self, type_: EventType) -> &Arc<Stored> {
        if type_ != EventType::Deleted
            && let Some(new) = &self.new
        {
            return new;
        }
        self.gone.get_or_init(|| {
            let last = self.old.as_ref().or(self.new.as_ref()).expect("a change has a state before or after");
            let key = last.key(&"".into());
            Arc::new(Stored::new(&key, self.revision, last.sections.clone()))
        })
    }

    /// Returns the frame of a watch in plain JSON, with its line feed; built once for the event's own type, and shared
    /// until [`Event::forget_frames`].
    pub(crate) fn frame(&self, type_: EventType, annotation: Option<&str>) -> Bytes {
        let make = || frame(type_, self.shown(type_), annotation);
        if type_ != self.own_type() {
            return make();
        }
        let mut frames = lock(&self.frames);
        let shared = if annotation.is_some() { &mut frames.annotated } else { &mut frames.plain };
        shared.get_or_insert_with(make).clone()
    }

    /// Drops the frames, after all watchers were sent them: they can be built again from the object's bytes.
    pub(crate) fn forget_frames(&self) {
        *lock(&self.frames) = Frames::default();
    }
}

/// Returns the frame of a watch in plain JSON, with its line feed.
pub(crate) fn frame(type_: EventType, object: &Stored, annotation: Option<&str>) -> Bytes {
    let mut out = Vec::with_capacity(object.size() + 128);
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(type_.as_str().as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    match annotation {
        Some(annotation) => object.write_annotated(&mut out, annotation),
        None => object.write(&mut out),
    }
    out.extend_from_slice(b"}\n");
    out.into()
}
