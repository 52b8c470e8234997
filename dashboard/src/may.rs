// SPDX-License-Identifier: Apache-2.0
//! Visibility of the log for a session's user: an entry is visible if the API lets the user list its collection.

use std::collections::BTreeMap;
use std::sync::Arc;

use eventlog::Key;
use http::Method;

use crate::view::View;

/// The group whose members may do everything.
const MASTERS: &str = "system:masters";

/// Cluster, resource and namespace.
type Collection = (Arc<str>, Arc<str>, Arc<str>);

/// Answers of the API, each requested once.
#[derive(Debug)]
pub struct May<'a> {
    view: &'a View,
    is_master: bool,
    known: BTreeMap<Collection, bool>,
}

impl<'a> May<'a> {
    /// Creates an empty cache for a view's user.
    pub fn new(view: &'a View) -> Self {
        let is_master = view.session.user.groups.iter().any(|group| **group == *MASTERS);
        Self { view, is_master, known: BTreeMap::new() }
    }

    /// True if the user may list the collection of an object.
    pub async fn list(&mut self, key: &Key) -> bool {
        if self.is_master {
            return true;
        }
        let collection = (key.cluster.clone(), key.resource.clone(), key.namespace.clone());
        if let Some(known) = self.known.get(&collection) {
            return *known;
        }
        let answer = match path(key) {
            Some(path) => self.view.send(Method::GET, &format!("{path}?limit=1"), None).await.is_ok(),
            None => false,
        };
        self.known.insert(collection, answer);
        answer
    }
}

/// Returns the path of an object's collection.
fn path(key: &Key) -> Option<String> {
    let (group, plural) = key.resource.split_once('/')?;
    let row = api::catalogue::all().iter().find(|row| row.group == group && row.plural == plural)?;
    Some(ops::read::path(&key.cluster, row, Some(&key.namespace), None))
}
