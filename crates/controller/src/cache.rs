// SPDX-License-Identifier: Apache-2.0
//! Cache of decoded objects: one decode per object and version in a process.

use std::any::TypeId;
use std::collections::VecDeque;

use api::constants::annotation;
use apimachinery::fnv::fnv64;
use memchr::memmem;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::erased::{Reader, Shared};
use crate::error::Error;
use crate::request::Answer;

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

    /// Decodes the object of a response as [`DecodeCache::decode`].
    pub(crate) fn take(&self, reader: Reader, answer: &Answer) -> Result<Shared, Error> {
        self.find(reader, &answer.bytes, false, &|_| answer.object(reader))
    }

    /// Decodes the object of a response as [`DecodeCache::take`], and adds the annotation of its cluster, as the
    /// wildcard cluster returns it.
    pub(crate) fn take_from(&self, reader: Reader, answer: &Answer, cluster: &str) -> Result<Shared, Error> {
        self.find(reader, &answer.bytes, true, &|_| Ok(self.take(reader, answer)?.of_cluster(cluster)))
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use apimachinery::Resource;

    use super::*;
    use crate::decode::PartialObject;
    use crate::erased::typed;

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
