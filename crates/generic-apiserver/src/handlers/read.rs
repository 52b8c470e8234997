// SPDX-License-Identifier: Apache-2.0
//! GET of objects and collections.

use std::sync::Arc;

use apimachinery::Status;
use apimachinery::decode::{any_json, json_type};
use apimachinery::field::{FieldError, Path};
use apimachinery::go::quote;
use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};
use base64::{DecodeError, Engine};
use clock::TimerClass;
use eventlog::Revision;
use futures::future::{Either, select};
use process::Response;
use serde::Serialize;
use serde_json::Value;

use super::Scope;
use crate::meta;
use crate::output;
use crate::request::Query;
use crate::status::{Failure, Result, json_response};
use crate::storage::selection::Selection;
use crate::storage::stored::Stored;
use crate::storage::{Map, StoreError, range};

/// Maximum time that a list waits for a future revision, in wall time.
const PATIENCE: chrono::TimeDelta = chrono::TimeDelta::seconds(3);

const TOO_OLD: &str = "The resourceVersion for the provided list is too old.";
const CONTINUE_TOO_OLD: &str = "The provided continue parameter is too old to display a consistent list result. You \
can start a new list without the continue parameter, or use the continue token in this response to retrieve the \
remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were \
created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

/// Continue token of the next page: objects after `start` at a revision; -1 is the newest.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Continue {
    v: String,
    rv: i64,
    start: String,
}

const TOKEN_VERSION: &str = "meta.k8s.io/v1";
/// Base64 of tokens: as in Go, bits behind the last byte are ignored.
static TOKEN_BASE64: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

impl Continue {
    /// Decodes a token; absent fields are empty.
    ///
    /// # Errors
    /// Go's text for a token that is not base64 of a JSON object with these fields.
    fn read(text: &str) -> std::result::Result<Self, String> {
        let bytes = TOKEN_BASE64.decode(text).map_err(|error| not_base64(text, &error))?;
        // No value begins with such a byte, which need not be of a valid character.
        if let Some(byte) = bytes.first().filter(|byte| !byte.is_ascii()) {
            let shown = quote(&char::from(*byte).to_string());
            return Err(format!("invalid character '{}' looking for beginning of value", shown.trim_matches('"')));
        }
        let tree = any_json(&bytes).map_err(|error| error.message)?;
        let fields = match &tree {
            Value::Object(fields) => fields,
            Value::Null => return Ok(Self::default()),
            other => {
                let found = json_type(other);
                return Err(format!("json: cannot unmarshal {found} into Go value of type storage.continueToken"));
            }
        };
        let unlike = |found: &str, name: &str, wanted: &str| {
            format!("json: cannot unmarshal {found} into Go struct field continueToken.{name} of type {wanted}")
        };
        let field = |name: &str| fields.get(name).filter(|value| !value.is_null());
        let text = |name: &str| match field(name) {
            None => Ok(String::new()),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(other) => Err(unlike(json_type(other), name, "string")),
        };
        // The first error in the order of a token's fields; Go's is that of the first in the text.
        let v = text("v")?;
        let rv = match field("rv") {
            None => 0,
            Some(Value::Number(number)) => {
                number.as_i64().ok_or_else(|| unlike(&format!("number {number}"), "rv", "int64"))?
            }
            Some(other) => return Err(unlike(json_type(other), "rv", "int64")),
        };
        Ok(Self { v, rv, start: text("start")? })
    }
}

impl Scope {
    pub(super) async fn get(&self) -> Result<Response> {
        let query = &self.call.query;
        if query.flag("export") == Some(true) {
            let text = "the export parameter, deprecated since v1.14, is no longer supported";
            return Err(Failure::BadRequest(text.to_owned()));
        }
        let revision =
            self.revision().map_err(|why| if self.is_cached() { unknown(why) } else { bad_revision(&why) })?;
        if let Some(revision) = revision {
            self.wait_for(revision).await?;
        }
        let stored = self.stored(&self.path.name)?;
        Ok(self.answer(200, &stored))
    }

    pub(super) async fn list(&self) -> Result<Response> {
        let query = &self.call.query;
        check_list_options(query)?;
        let selection = self.selection()?;
        query.number("timeoutSeconds")?;
        let limit = usize::try_from(query.number("limit")?.unwrap_or(0)).unwrap_or(0);
        let token = query.text("continue");
        let revision_text = query.text("resourceVersion");
        if !token.is_empty() {
            if !matches!(revision_text, "" | "0") {
                let text = "specifying resource version is not allowed when using continue";
                return Err(Failure::BadRequest(text.to_owned()));
            }
            return self.list_rest(&selection, limit, token).await;
        }
        let asked = self.revision().map_err(|why| bad_revision(&why))?;
        let exact = query.text("resourceVersionMatch") == "Exact";
        let (map, revision) = match asked {
            Some(asked) if exact && asked > 0 => {
                self.wait_for(asked).await?;
                let map = self.server.store.past(self.id, Revision(asked)).await.map_err(|error| match error {
                    StoreError::Compacted(_) => Failure::Expired(TOO_OLD.to_owned(), None),
                    other => other.into(),
                })?;
                (map, Revision(asked))
            }
            Some(asked) => {
                self.wait_for(asked).await?;
                self.server.store.root(self.id)
            }
            None => self.server.store.root(self.id),
        };
        self.page(&selection, &map, revision, limit, "")
    }

    /// Lists the pages after the first, from the snapshot of the first page.
    async fn list_rest(&self, selection: &Selection, limit: usize, token: &str) -> Result<Response> {
        let invalid =
            |text: &str| Failure::BadRequest(format!("invalid continue token: continue key is not valid: {text}"));
        let token = Continue::read(token).map_err(|text| invalid(&text))?;
        if token.v != TOKEN_VERSION {
            return Err(invalid(&format!("server does not recognize this encoded version {}", token.v)));
        }
        if token.rv == 0 {
            return Err(invalid("incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
        }
        let start = token.start.trim_end_matches('\0');
        if start.is_empty() {
            return Err(invalid("encoded start key empty (version meta.k8s.io/v1)"));
        }
        if self.cluster().is_some() && !is_clean(start) {
            return Err(invalid(&token.start));
        }
        let after = match self.cluster() {
            Some(cluster) => format!("{cluster}/{start}"),
            None => start.to_owned(),
        };
        let Ok(revision) = u64::try_from(token.rv) else {
            let (map, revision) = self.server.store.root(self.id);
            return self.page(selection, &map, revision, limit, &after);
        };
        // A future revision has no first page.
        if Revision(revision) > self.server.store.position() {
            return Err(invalid("incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
        }
        match self.server.store.past(self.id, Revision(revision)).await {
            Ok(map) => self.page(selection, &map, Revision(revision), limit, &after),
            Err(StoreError::Compacted(_)) => {
                let token = Continue { v: TOKEN_VERSION.to_owned(), rv: -1, start: token.start };
                Err(Failure::Expired(CONTINUE_TOO_OLD.to_owned(), Some(encode(&token))))
            }
            Err(StoreError::Future(_)) => {
                Err(invalid("incorrect encoded start resourceVersion (version meta.k8s.io/v1)"))
            }
            Err(other) => Err(other.into()),
        }
    }

    fn page(
        &self,
        selection: &Selection,
        map: &Map,
        revision: Revision,
        limit: usize,
        after: &str,
    ) -> Result<Response> {
        let mut matching =
            range(map, &selection.prefix, after).filter(|(_, object)| selection.matches(object, &*self.kind));
        let mut objects: Vec<Arc<Stored>> = Vec::new();
        let mut last: Option<&Arc<str>> = None;
        let mut more = 0_usize;
        if limit == 0 {
            objects.extend(matching.map(|(_, object)| object.clone()));
        } else {
            for (path, object) in matching.by_ref().take(limit) {
                last = Some(path);
                objects.push(object.clone());
            }
            // The existence of more objects is cheap to find out, their number only without a selector.
            more = if selection.is_narrowed() { matching.take(1).count() } else { matching.count() };
        }
        let mut end = output::ListEnd::default();
        if more > 0
            && let Some(last) = last
        {
            let start = match self.cluster() {
                Some(cluster) => last.get(cluster.len() + 1..).unwrap_or_default(),
                None => last,
            };
            let token = Continue {
                v: TOKEN_VERSION.to_owned(),
                rv: i64::try_from(revision.0).unwrap_or(i64::MAX),
                start: format!("{start}\0"),
            };
            end.continue_token = encode(&token);
            end.remaining = (!selection.is_narrowed()).then_some(more);
        }
        Ok(json_response(200, output::list(self, &objects, revision, &end)?))
    }

    /// Returns the resource version that the query requests.
    ///
    /// # Errors
    /// The text of upstream's storage for one that is not a number.
    pub(super) fn revision(&self) -> std::result::Result<Option<u64>, String> {
        let text = self.call.query.text("resourceVersion");
        if text.is_empty() {
            return Ok(None);
        }
        meta::parse_uint(text).map(Some).map_err(|why| {
            let error = FieldError::invalid(&Path::new("resourceVersion"), text, &why);
            format!("{}: {}", error.field, error.body)
        })
    }

    /// True if kube-apiserver keeps the kind in its watch cache, whose errors differ from those of the storage behind it.
    fn is_cached(&self) -> bool {
        self.names().info.plural != "events"
    }

    /// Waits for a future revision, up to 3 s.
    pub(super) async fn wait_for(&self, revision: u64) -> Result<()> {
        let store = &self.server.store;
        if store.position().0 >= revision {
            return Ok(());
        }
        let wall = &self.server.foundation.wall;
        let reach = std::pin::pin!(store.reach(Revision(revision)));
        match select(reach, wall.sleep(PATIENCE, TimerClass::Calendar)).await {
            Either::Left((reached, _)) => Ok(reached?),
            Either::Right(_) => Err(Failure::FutureRevision(revision, store.position())),
        }
    }
}

/// True if a key has no empty segment, `.` or `..`.
fn is_clean(key: &str) -> bool {
    let mut segments = key.strip_prefix('/').unwrap_or(key).split('/');
    segments.all(|segment| !matches!(segment, "" | "." | ".."))
}

fn encode(token: &Continue) -> String {
    TOKEN_BASE64.encode(serde_json::to_string(token).unwrap_or_default())
}

/// A failure of the storage that upstream does not translate (k8s.io/apiserver pkg/storage/errors/storage.go).
pub(super) fn unknown(message: String) -> Failure {
    Status::failure(500, "", message).into()
}

fn bad_revision(why: &str) -> Failure {
    Failure::BadRequest(format!("invalid resource version: {why}"))
}

fn check_list_options(query: &Query) -> Result<()> {
    let path = Path::new("resourceVersionMatch");
    if query.get("sendInitialEvents").is_some() {
        let error = FieldError::forbidden(&Path::new("sendInitialEvents"), "sendInitialEvents is forbidden for list");
        return Err(Failure::options("ListOptions", error));
    }
    let match_ = query.text("resourceVersionMatch");
    if match_.is_empty() {
        return Ok(());
    }
    let mut errors = Vec::new();
    let mut forbid = |text: &str| errors.push(FieldError::forbidden(&path, text));
    let revision = query.text("resourceVersion");
    if revision.is_empty() {
        forbid("resourceVersionMatch is forbidden unless resourceVersion is provided");
    }
    if !query.text("continue").is_empty() {
        forbid("resourceVersionMatch is forbidden when continue is provided");
    }
    if match_ == "Exact" && revision == "0" {
        forbid("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    }
    if !matches!(match_, "Exact" | "NotOlderThan") {
        errors.push(FieldError::not_supported(&path, match_, &["Exact", "NotOlderThan", ""]));
    }
    if errors.is_empty() { Ok(()) } else { Err(Failure::all_options("ListOptions", errors)) }
}

/// Go's text for invalid base64.
fn not_base64(token: &str, error: &DecodeError) -> String {
    let offset = match error {
        DecodeError::InvalidByte(offset, _) | DecodeError::InvalidLastSymbol(offset, _) => *offset,
        // A single character behind the last group.
        DecodeError::InvalidLength(length) => length.saturating_sub(1),
        DecodeError::InvalidPadding => token.find('=').unwrap_or_default(),
    };
    format!("illegal base64 data at input byte {offset}")
}
