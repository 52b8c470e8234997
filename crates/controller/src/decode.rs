// SPDX-License-Identifier: Apache-2.0
//! Decoding of responses into shared objects: frames of a watch, and one decode per object and version in a process.

use std::any::TypeId;
use std::collections::VecDeque;
use std::ops::Range;

use api::constants::annotation;
use apimachinery::Resource;
use apimachinery::fnv::fnv64;
use apimachinery::meta::ObjectMeta;
use apimachinery::resource::read_into;
use apimachinery::wire::{Wire, api_type};
use memchr::memmem;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::api::Error;
use crate::erased::{Reader, Shared};
use crate::request::Answer;

/// Objects that can be read from an API server: every [`Resource`], and [`PartialObject`] of any kind.
pub trait Readable: Clone + std::fmt::Debug + Send + Sync + 'static {
    /// `metadata` of the object.
    fn object_meta(&self) -> &ObjectMeta;

    /// Mutable `metadata` of the object.
    fn object_meta_mut(&mut self) -> &mut ObjectMeta;

    /// Decodes an object from JSON. A type that holds only metadata decodes [`metadata`] only.
    fn read(bytes: &[u8]) -> Result<Self, Error>;

    /// Creates the object from its metadata; `None` if the type holds more than metadata.
    fn of_metadata(_: &ObjectMeta) -> Option<Self> {
        None
    }
}

impl<K: Resource> Readable for K {
    fn object_meta(&self) -> &ObjectMeta {
        self.metadata()
    }

    fn object_meta_mut(&mut self) -> &mut ObjectMeta {
        self.metadata_mut()
    }

    fn read(bytes: &[u8]) -> Result<Self, Error> {
        Resource::read(bytes).map_err(|error| Error::Decode(error.to_string()))
    }
}

/// Metadata of an object of any kind; the other fields are skipped.
#[api_type(no_schema)]
pub struct PartialObject {
    /// `metadata` of the object.
    pub metadata: ObjectMeta,
}

impl Readable for PartialObject {
    fn object_meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn object_meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }

    fn read(bytes: &[u8]) -> Result<Self, Error> {
        match metadata(bytes) {
            Some(metadata) => read(&metadata).map(|metadata| Self { metadata }),
            None => read(bytes),
        }
    }

    fn of_metadata(metadata: &ObjectMeta) -> Option<Self> {
        Some(Self { metadata: ObjectMeta { managed_fields: Vec::new(), ..metadata.clone() } })
    }
}

/// Returns the metadata of an object without `managedFields`, without scanning the fields after it; `None` if the
/// object does not begin in the form of Go's encoder.
pub fn metadata(bytes: &[u8]) -> Option<Vec<u8>> {
    const METADATA: &[u8] = b"\"metadata\":{";
    const MANAGED_FIELDS: &[u8] = b"\"managedFields\":";
    let head = &bytes[..bytes.len().min(256)];
    let start = head.windows(METADATA.len()).position(|window| window == METADATA)? + METADATA.len() - 1;
    // Only the texts of kind and version may precede it; otherwise it is not the object's own.
    if head[1..start].iter().any(|byte| matches!(byte, b'{' | b'[')) {
        return None;
    }
    let object = &bytes[start..];
    let (mut depth, mut position) = (0_usize, 0);
    loop {
        match object.get(position)? {
            b'"' => {
                if depth == 1 && position > 1 && object[position..].starts_with(MANAGED_FIELDS) {
                    let mut cut = object[..position - 1].to_vec();
                    cut.push(b'}');
                    return Some(cut);
                }
                position = text_end(object, position)?;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(object[..=position].to_vec());
                }
            }
            _ => {}
        }
        position += 1;
    }
}

/// Position of the quote that ends the text whose first quote is at `position`.
fn text_end(bytes: &[u8], position: usize) -> Option<usize> {
    let mut at = position + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        // The escaped character does not end the text.
        at += 2;
    }
}

/// Maximum number of decoded objects that are cached for other readers of the process.
const CAPACITY: usize = 512;
/// Maximum bytes of their encoded forms; the last object is always cached.
const CAPACITY_BYTES: usize = 4 << 20;

/// Hash of the uid, and the resource version.
type Identity = (u64, u64);

/// An object decoded as one type.
#[derive(Debug)]
struct Form {
    type_: TypeId,
    /// True if it has the annotation of its cluster.
    wildcard: bool,
    object: Shared,
}

#[derive(Debug, Default)]
struct CacheInner {
    /// Decoded forms of each object.
    objects: FxHashMap<Identity, Vec<Form>>,
    /// Objects in the order in which their forms were added, each with the size of the encoded form.
    order: VecDeque<(Identity, usize)>,
    /// Sum of the sizes.
    bytes: usize,
    hits: u64,
    misses: u64,
}

impl CacheInner {
    fn find(&self, identity: Identity, wanted: impl Fn(&Form) -> bool) -> Option<&Shared> {
        self.objects.get(&identity)?.iter().find(|form| wanted(form)).map(|form| &form.object)
    }

    /// Adds a form of an object; `size`: that of its encoded form.
    fn insert(&mut self, identity: Identity, form: Form, size: usize) {
        let forms = self.objects.entry(identity).or_default();
        if let Some(known) = forms.iter_mut().find(|known| (known.type_, known.wildcard) == (form.type_, form.wildcard))
        {
            *known = form;
            return;
        }
        forms.push(form);
        self.order.push_back((identity, size));
        self.bytes += size;
        while self.order.len() > CAPACITY || (self.bytes > CAPACITY_BYTES && self.order.len() > 1) {
            let Some((oldest, size)) = self.order.pop_front() else { break };
            self.bytes -= size;
            if let Some(forms) = self.objects.get_mut(&oldest) {
                forms.remove(0);
                if forms.is_empty() {
                    self.objects.remove(&oldest);
                }
            }
        }
    }
}

/// Cache of recently decoded objects, so that the reflectors of a process decode each version of an object once.
///
/// It is one of the transport's shared values. Only an object whose bytes begin as our servers write them (identity
/// first, then the resource version) is shared; others are decoded each time.
#[derive(Debug, Default)]
pub struct DecodeCache(Mutex<CacheInner>);

impl DecodeCache {
    /// Decodes an object, or takes it from the cache. `wildcard`: true if the bytes carry the annotation of their
    /// cluster.
    pub(crate) fn decode(&self, reader: Reader, bytes: &[u8], wildcard: bool) -> Result<Shared, Error> {
        self.find(reader, bytes, wildcard, &|identity| {
            // Copying an object and setting its annotation is much cheaper than decoding.
            let own = identity.and_then(|identity| self.own(reader, identity, wildcard));
            let copied = own.and_then(|own| if wildcard { Some(own.of_cluster(cluster(bytes)?)) } else { Some(own) });
            copied.map_or_else(|| (reader.read)(bytes), Ok)
        })
    }

    /// Returns an object without the annotation of its cluster, from a decoded form, or from the metadata of another
    /// form.
    fn own(&self, reader: Reader, identity: Identity, wildcard: bool) -> Option<Shared> {
        let inner = self.0.lock();
        let known = inner.find(identity, |form| wildcard && !form.wildcard && form.type_ == reader.type_);
        let of_other = || (reader.of_metadata)(inner.find(identity, |form| !form.wildcard)?.meta());
        known.cloned().or_else(of_other)
    }

    /// Like [`DecodeCache::decode`], for a response.
    pub(crate) fn take(&self, reader: Reader, answer: &Answer) -> Result<Shared, Error> {
        self.find(reader, &answer.bytes, false, &|_| answer.object(reader))
    }

    fn find(
        &self,
        reader: Reader,
        bytes: &[u8],
        wildcard: bool,
        read: &dyn Fn(Option<Identity>) -> Result<Shared, Error>,
    ) -> Result<Shared, Error> {
        let Some(identity) = identity(bytes) else { return read(None) };
        if let Some(object) = self.lookup(reader, identity, wildcard) {
            return Ok(object);
        }
        let object = read(Some(identity))?;
        let form = Form { type_: reader.type_, wildcard, object: object.clone() };
        self.0.lock().insert(identity, form, bytes.len());
        Ok(object)
    }

    fn lookup(&self, reader: Reader, identity: Identity, wildcard: bool) -> Option<Shared> {
        let mut inner = self.0.lock();
        let is_wanted = |form: &Form| (form.type_, form.wildcard) == (reader.type_, wildcard);
        let found = inner.find(identity, is_wanted).cloned();
        if found.is_some() {
            inner.hits += 1;
        } else {
            inner.misses += 1;
        }
        found
    }

    /// Number of objects that were found in the cache, and number of those that were not.
    pub fn hits_and_misses(&self) -> (u64, u64) {
        let inner = self.0.lock();
        (inner.hits, inner.misses)
    }
}

/// Decodes an object; `apiVersion` and `kind` are ignored.
pub(crate) fn read<T: Wire + Default>(bytes: &[u8]) -> Result<T, Error> {
    let mut value = T::default();
    read_into(&mut value, bytes).map_err(|error| Error::Decode(error.to_string()))?;
    Ok(value)
}

/// Decodes a value that is no API type.
pub(crate) fn read_any<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(bytes).map_err(|error| Error::Decode(error.to_string()))
}

/// Returns hash of the uid, and resource version, if the object begins with them in the form of Go's encoder.
fn identity(bytes: &[u8]) -> Option<Identity> {
    const METADATA: &[u8] = b"\"metadata\":{";
    const UID: &[u8] = b"\"uid\":\"";
    const RESOURCE_VERSION: &[u8] = b",\"resourceVersion\":\"";
    let head = &bytes[..bytes.len().min(1024)];
    // Only the texts of kind and version may precede it.
    let brace = memchr::memchr(b'{', head.get(1..)?)? + 2;
    let metadata = &head[brace..];
    if !head[..brace].ends_with(METADATA) {
        return None;
    }
    let mut quotes = memchr::memchr_iter(b'"', metadata);
    let start = quotes.find(|at| metadata[*at..].starts_with(UID))?;
    // A preceding brace or bracket would mean that this uid is not the object's own.
    if memchr::memchr2(b'{', b'[', &metadata[..start]).is_some() {
        return None;
    }
    let (uid, rest) = until_quote(&metadata[start + UID.len()..])?;
    let (digits, _) = until_quote(rest.strip_prefix(RESOURCE_VERSION)?)?;
    Some((fnv64(uid.iter().copied()), std::str::from_utf8(digits).ok()?.parse().ok()?))
}

/// Returns the cluster in the annotation of an object that was read through the wildcard cluster.
fn cluster(bytes: &[u8]) -> Option<&str> {
    let key = format!("\"{}\":\"", annotation::CLUSTER);
    let (cluster, _) = until_quote(&bytes[memmem::find(bytes, key.as_bytes())? + key.len()..])?;
    // Names of clusters need no escapes.
    std::str::from_utf8(cluster).ok().filter(|cluster| !cluster.contains('\\'))
}

/// Splits at the next quote.
fn until_quote(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(b'"', bytes)?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

/// Returns type and object of a frame, without decoding the object.
pub(crate) fn split_frame(line: &[u8]) -> Result<(&str, &[u8]), Error> {
    if let Some((type_, object)) = split_plain_frame(line) {
        return Ok((type_, &line[object]));
    }
    #[derive(Deserialize)]
    struct Frame<'a> {
        #[serde(rename = "type", borrow)]
        type_: &'a str,
        #[serde(borrow)]
        object: &'a RawValue,
    }
    let frame: Frame<'_> = serde_json::from_slice(line).map_err(|error| Error::Decode(error.to_string()))?;
    Ok((frame.type_, frame.object.get().as_bytes()))
}

fn split_plain_frame(line: &[u8]) -> Option<(&str, Range<usize>)> {
    const TYPE: &[u8] = b"{\"type\":\"";
    const OBJECT: &[u8] = b"\",\"object\":";
    let rest = line.strip_prefix(TYPE)?;
    let length = rest.iter().take(16).position(|byte| *byte == b'"')?;
    let type_ = std::str::from_utf8(&rest[..length]).ok()?;
    rest[length..].starts_with(OBJECT).then_some(())?;
    (line.last() == Some(&b'}')).then_some((type_, TYPE.len() + length + OBJECT.len()..line.len() - 1))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::erased::typed;

    #[test]
    fn a_frame_is_split_in_any_order_of_its_fields() {
        for line in [
            r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#,
            r#"{ "type": "ADDED", "object": {"metadata":{"name":"a"}} }"#,
            r#"{"object":{"metadata":{"name":"a"}},"type":"ADDED"}"#,
        ] {
            let (type_, object) = split_frame(line.as_bytes()).expect("a frame");
            assert_eq!((type_, std::str::from_utf8(object)), ("ADDED", Ok(r#"{"metadata":{"name":"a"}}"#)), "{line}");
        }
        assert!(split_frame(b"{\"type\":\"ADDED\"").is_err());
        assert!(split_frame(b"null").is_err());
    }

    #[test]
    fn an_object_is_decoded_once_for_each_version_and_scope() {
        let object = |version: u64, label: &str| {
            format!(
                r#"{{"kind":"X","apiVersion":"v1","metadata":{{"name":"a","uid":"u","resourceVersion":"{version}","labels":{{"l":"{label}"}}}}}}"#
            )
        };
        let cache = DecodeCache::default();
        let decode = |bytes: String, wildcard| -> Arc<PartialObject> {
            typed(cache.decode(Reader::of::<PartialObject>(), bytes.as_bytes(), wildcard).expect("an object"))
        };
        let first = decode(object(7, "a"), false);
        let second = decode(object(7, "not read"), false);
        assert!(Arc::ptr_eq(&first, &second));
        let newer = decode(object(8, "b"), false);
        assert_eq!(newer.metadata.label("l"), Some("b"));
        let wild = decode(object(8, "c"), true);
        assert_eq!(wild.metadata.label("l"), Some("c"));
        assert_eq!(cache.hits_and_misses(), (1, 3));
    }

    #[test]
    fn a_partial_object_is_derived_from_a_decoded_object() {
        let object = |annotations: &str| {
            let annotations =
                if annotations.is_empty() { String::new() } else { format!(r#","annotations":{annotations}"#) };
            format!(r#"{{"kind":"ConfigMap","metadata":{{"name":"a","uid":"u","resourceVersion":"7"{annotations}}}}}"#)
        };
        let wild = object(r#"{"terrarium.dev/cluster":"c"}"#);
        let part = |cache: &DecodeCache, bytes: &str, wildcard| -> Arc<PartialObject> {
            typed(cache.decode(Reader::of::<PartialObject>(), bytes.as_bytes(), wildcard).expect("an object"))
        };
        let cache = DecodeCache::default();
        let mut read: api::kubernetes::core::ConfigMap = Resource::read(object("").as_bytes()).expect("an object");
        read.metadata.labels.insert("of".to_owned(), "another form".to_owned());
        let form =
            Form { type_: TypeId::of::<api::kubernetes::core::ConfigMap>(), wildcard: false, object: Arc::new(read) };
        let identity = identity(object("").as_bytes()).expect("it begins with it");
        cache.0.lock().insert(identity, form, 1);
        for (bytes, wildcard, expected) in [(object(""), false, None), (wild, true, Some("c"))] {
            let metadata = &part(&cache, &bytes, wildcard).metadata;
            assert_eq!(metadata.label("of"), Some("another form"));
            assert_eq!(metadata.annotation(annotation::CLUSTER), expected);
        }
        assert_eq!(part(&DecodeCache::default(), &object(""), false).metadata.label("of"), None);
    }

    #[test]
    fn no_more_objects_are_kept_than_there_is_room_for() {
        let cache = DecodeCache::default();
        for version in 0..CAPACITY + 5 {
            let bytes = format!(r#"{{"metadata":{{"name":"a","uid":"u","resourceVersion":"{version}"}}}}"#);
            cache.decode(Reader::of::<PartialObject>(), bytes.as_bytes(), false).expect("an object");
        }
        let inner = cache.0.lock();
        assert_eq!((inner.objects.len(), inner.order.len()), (CAPACITY, CAPACITY));
    }

    #[test]
    fn large_objects_are_kept_up_to_their_bytes() {
        let cache = DecodeCache::default();
        let decode = |version: usize, size: usize| {
            let filling = "x".repeat(size);
            let bytes =
                format!(r#"{{"metadata":{{"name":"a","uid":"u","resourceVersion":"{version}"}},"data":"{filling}"}}"#);
            cache.decode(Reader::of::<PartialObject>(), bytes.as_bytes(), false).expect("an object");
            cache.0.lock().objects.len()
        };
        let half = CAPACITY_BYTES / 2;
        assert_eq!([half, half / 2, half, 2 * half, 1].map(|size| decode(size + 7, size)), [1, 2, 2, 1, 1]);
        let inner = cache.0.lock();
        assert!(inner.bytes < 200, "{}", inner.bytes);
    }

    #[test]
    fn metadata_is_read_without_managed_fields_and_without_what_follows() {
        for (given, expected) in [
            (
                r#"{"kind":"X","metadata":{"name":"a","labels":{"k":"}"}},"spec":not read"#,
                Some(r#"{"name":"a","labels":{"k":"}"}}"#),
            ),
            (r#"{"metadata":{"name":"a\"}","finalizers":["{"]}}"#, Some(r#"{"name":"a\"}","finalizers":["{"]}"#)),
            (r#"{"metadata":{"name":"a","managedFields":[{"x":1}]},"spec":{}}"#, Some(r#"{"name":"a"}"#)),
            (
                r#"{"metadata":{"name":"managedFields","labels":{"managedFields":"x"}}}"#,
                Some(r#"{"name":"managedFields","labels":{"managedFields":"x"}}"#),
            ),
            (r#"{"metadata":{}}"#, Some("{}")),
            (r#"{"spec":{"metadata":{"name":"b"}},"metadata":{"name":"a"}}"#, None),
            (r#"{"metadata":{"name":"a""#, None),
            (r#"{"kind":"X"}"#, None),
            ("", None),
        ] {
            let found = metadata(given.as_bytes()).map(|bytes| String::from_utf8(bytes).expect("text"));
            assert_eq!(found.as_deref(), expected, "{given}");
        }
        let whole = r#"{"spec":{"x":1},"metadata":{"name":"a"}}"#;
        assert_eq!(PartialObject::read(whole.as_bytes()).expect("an object").metadata.name, "a");
    }

    #[test]
    fn only_the_identity_of_the_object_itself_is_trusted() {
        for (given, expected) in [
            (r#"{"kind":"X","metadata":{"name":"a","uid":"u","resourceVersion":"7"}}"#, true),
            (r#"{"metadata":{"ownerReferences":[{"uid":"u","resourceVersion":"7"}],"uid":"v"}}"#, false),
            (r#"{"metadata":{"resourceVersion":"7","uid":"u"}}"#, false),
            (r#"{"metadata":{"uid":"u","resourceVersion":"x"}}"#, false),
            (r#"{"metadata":{"uid":"u"#, false),
            ("", false),
        ] {
            assert_eq!(identity(given.as_bytes()).is_some(), expected, "{given}");
        }
    }
}
