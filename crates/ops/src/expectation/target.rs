// SPDX-License-Identifier: Apache-2.0
//! The objects of an expectation: kind, cluster, namespace, and name or selectors.

use std::fmt;

use api::catalogue;
use apimachinery::catalogue::ResourceInfo;
use apimachinery::selector;

use super::Defaults;
use super::cursor::{Cursor, Fields};
use crate::Error;
use crate::names::clusters::NamedCluster;
use crate::spelling::nearest;

/// Value of `namespace` for all namespaces.
const ALL: &str = "*";

/// Selection of objects of one kind.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) cluster: NamedCluster,
    pub(super) row: &'static ResourceInfo,
    /// Namespace; `None`: all, or the kind has none.
    pub(super) namespace: Option<String>,
    /// Name of the only object; `None`: all that match the selectors.
    pub(super) name: Option<String>,
    pub(super) labels: String,
    pub(super) fields: String,
}

/// Number of objects of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    /// One, by its name.
    One,
    /// Any number, by selectors.
    Many,
    /// Either.
    Any,
}

/// `Shoot garden-demo/local`, `seed/local: machines in namespace shoot--demo--local with a=b`.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.cluster != NamedCluster::Garden {
            write!(f, "{}: ", self.cluster)?;
        }
        let Some(name) = &self.name else {
            f.write_str(self.row.plural)?;
            match &self.namespace {
                Some(namespace) => write!(f, " in namespace {namespace}")?,
                None if self.row.namespaced => f.write_str(" in all namespaces")?,
                None => {}
            }
            for selector in [&self.labels, &self.fields].into_iter().filter(|selector| !selector.is_empty()) {
                write!(f, " with {selector}")?;
            }
            return Ok(());
        };
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{name}", self.row.kind),
            None => write!(f, "{} {name}", self.row.kind),
        }
    }
}

impl Target {
    /// Reads `{kind, apiVersion?, name?, namespace?, cluster?, selector?, fieldSelector?}`. `item`: name of the map in
    /// messages.
    pub(super) fn read(cursor: Cursor<'_>, item: &str, amount: Amount, defaults: &Defaults) -> Result<Self, Error> {
        const ONE: [&str; 5] = ["kind", "apiVersion", "name", "namespace", "cluster"];
        const MANY: [&str; 6] = ["kind", "apiVersion", "namespace", "cluster", "selector", "fieldSelector"];
        const ANY: [&str; 7] = ["kind", "apiVersion", "name", "namespace", "cluster", "selector", "fieldSelector"];
        let known: &[&str] = match amount {
            Amount::One => &ONE,
            Amount::Many => &MANY,
            Amount::Any => &ANY,
        };
        let fields = cursor.fields(item, known)?;
        let cluster = match fields.get("cluster") {
            Some(given) => given
                .text("`cluster`")?
                .parse()
                .map_err(|hint: String| given.refuse(format!("{} is no cluster", given.value), hint))?,
            None => defaults.cluster.clone(),
        };
        let (kind, api_version) = (fields.required(item, "kind")?, fields.text("apiVersion")?);
        let place = fields.get("kind").unwrap_or(cursor);
        let row = find(&cluster, kind, api_version).map_err(|(what, hint)| place.refuse(what, hint))?;
        let name = object_name(fields, "name")?;
        let (labels, selected) = (fields.text("selector")?, fields.text("fieldSelector")?);
        if let (Amount::One, None) = (amount, &name) {
            return Err(cursor.refuse(format!("{item} has no `name`"), "`objects` selects several"));
        }
        if name.is_some() && (labels.is_some() || selected.is_some()) {
            return Err(cursor.refuse(format!("{item} has a name and a selector"), "use one of both"));
        }
        if let (Some(text), Some(place)) = (labels, fields.get("selector")) {
            selector::Labels::parse(text).map_err(|error| place.refuse(error, ""))?;
        }
        if let (Some(text), Some(place)) = (selected, fields.get("fieldSelector")) {
            check_fields(row, text).map_err(|(what, hint)| place.refuse(what, hint))?;
        }
        let namespace = namespace(fields, row, name.is_some(), defaults)?;
        let (labels, fields) = (labels.unwrap_or_default().to_owned(), selected.unwrap_or_default().to_owned());
        Ok(Self { cluster, row, namespace, name, labels, fields })
    }

    /// Reads an object: `KIND/NAME`, `KIND/NAMESPACE/NAME`, or the map of [`Target::read`].
    pub(super) fn read_short(cursor: Cursor<'_>, item: &str, defaults: &Defaults) -> Result<Self, Error> {
        let Some(text) = cursor.value.as_str() else { return Self::read(cursor, item, Amount::One, defaults) };
        let parts: Vec<&str> = text.split('/').collect();
        let (kind, namespace, name) = match parts[..] {
            [kind, name] => (kind, None, name),
            [kind, namespace, name] => (kind, Some(namespace), name),
            _ => return Err(cursor.refuse(format!("`{text}` is no object"), "use KIND/NAME or KIND/NAMESPACE/NAME")),
        };
        let cluster = defaults.cluster.clone();
        let row = find(&cluster, kind, None).map_err(|(what, hint)| cursor.refuse(what, hint))?;
        if let Some(part) = namespace.into_iter().chain([name]).find(|part| !is_name(part)) {
            return Err(cursor.refuse(format!("`{part}` in `{text}` is no name"), ""));
        }
        let namespace = match namespace {
            Some(_) if !row.namespaced => {
                return Err(cursor.refuse(format!("{kind} has no namespace"), format!("use {kind}/NAME")));
            }
            None if row.namespaced => Some(defaults.namespace.clone()),
            given => given.map(str::to_owned),
        };
        let (labels, fields) = (String::new(), String::new());
        Ok(Self { cluster, row, namespace, name: Some(name.to_owned()), labels, fields })
    }
}

/// True if a text can be the name of an object.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= 253 && !text.contains(['/', '%', '?', '#', ',', '=', ' ', '*'])
}

/// Reads a name of an object.
fn object_name(fields: Fields<'_>, key: &str) -> Result<Option<String>, Error> {
    let Some(given) = fields.get(key) else { return Ok(None) };
    let text = given.text(&format!("`{key}`"))?;
    if is_name(text) { Ok(Some(text.to_owned())) } else { Err(given.refuse(format!("`{text}` is no name"), "")) }
}

/// Reads the namespace.
fn namespace(
    fields: Fields<'_>,
    row: &ResourceInfo,
    has_name: bool,
    defaults: &Defaults,
) -> Result<Option<String>, Error> {
    let Some(given) = fields.get("namespace") else {
        return Ok(row.namespaced.then(|| defaults.namespace.clone()));
    };
    let text = given.text("`namespace`")?;
    match text {
        _ if !row.namespaced => Err(given.refuse(format!("{} has no namespace", row.kind), "leave `namespace` out")),
        ALL if has_name => Err(given.refuse("an object is found by name in one namespace only", "")),
        ALL => Ok(None),
        _ if is_name(text) => Ok(Some(text.to_owned())),
        _ => Err(given.refuse(format!("`{text}` is no namespace"), "use `*` for all")),
    }
}

/// Problem and hint.
type Unknown = (String, String);

/// Returns the kind that a cluster serves under a name.
fn find(cluster: &NamedCluster, kind: &str, api_version: Option<&str>) -> Result<&'static ResourceInfo, Unknown> {
    let group_version = |text: &'_ str| match text.split_once('/') {
        Some((group, version)) => (group.to_owned(), version.to_owned()),
        None => (String::new(), text.to_owned()),
    };
    let named: Vec<&'static ResourceInfo> = match api_version.map(group_version) {
        Some((group, version)) => catalogue::find_kind(&group, &version, kind).into_iter().collect(),
        None => catalogue::all().iter().filter(|row| row.kind == kind).collect(),
    };
    let logical = cluster.logical();
    if let Some(row) = named.iter().find(|row| catalogue::serves(&logical, row)) {
        return Ok(row);
    }
    let Some(row) = named.first() else {
        let version = api_version.map_or_else(String::new, |version| format!(" of {version}"));
        let kinds = catalogue::all().iter().map(|row| row.kind);
        let hint = match catalogue::all().iter().find(|row| row.kind == kind) {
            Some(row) => format!("it is of {}", api_version_of(row)),
            None => nearest(kind, kinds),
        };
        return Err((format!("no cluster serves a kind `{kind}`{version}"), hint));
    };
    let places = ["garden", "runtime", "seed/name", "shoot/project/name"]
        .into_iter()
        .filter(|name| name.parse::<NamedCluster>().is_ok_and(|cluster| catalogue::serves(&cluster.logical(), row)));
    let places = places.map(|name| name.replace("project", "PROJECT").replace("name", "NAME"));
    let hint = format!("`cluster` may be {}", places.collect::<Vec<_>>().join(", "));
    Err((format!("cluster {cluster} serves no {kind}"), hint))
}

/// Group and version of a kind.
pub(super) fn api_version_of(row: &ResourceInfo) -> String {
    if row.group.is_empty() { row.version.to_owned() } else { format!("{}/{}", row.group, row.version) }
}

/// Checks the labels of a field selector.
fn check_fields(row: &ResourceInfo, text: &str) -> Result<(), Unknown> {
    let parsed = selector::Fields::parse(text).map_err(|error| (error, String::new()))?;
    let known = || {
        let own = row.field_selectors.iter().map(|(label, _)| *label);
        own.chain(["metadata.name"]).chain(row.namespaced.then_some("metadata.namespace"))
    };
    match parsed.terms.iter().find(|(label, ..)| !known().any(|known| known == label)) {
        Some((label, ..)) => Err((format!("{} has no field selector `{label}`", row.kind), nearest(label, known()))),
        None => Ok(()),
    }
}
