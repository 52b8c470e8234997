// SPDX-License-Identifier: Apache-2.0
//! Numbers of fields in protobuf: those of Kubernetes' kinds from the tables of their fields, those of Gardener's from a table
//! here.
//!
//! Kinds of CustomResourceDefinitions have no messages, so their fields have no numbers.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use apimachinery::schema::Protobuf;

use crate::kubernetes::tables;

/// Numbers of Gardener's fields; the head of the file describes its format.
const NUMBERS: &str = include_str!("protobuf/numbers.txt");

/// Numbers of a struct's fields.
type Fields = BTreeMap<&'static str, Protobuf>;

/// Structs by package and name.
static GARDENER: LazyLock<BTreeMap<(&str, &str), Fields>> = LazyLock::new(|| {
    let mut numbers = BTreeMap::new();
    let mut package = "";
    for line in NUMBERS.lines().filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            package = name;
            continue;
        }
        let mut words = line.split(' ');
        let object = words.next().unwrap_or_default();
        let fields = words.filter_map(|word| word.split_once('=')).map(|(field, number)| (field, parsed(number)));
        numbers.insert((package, object), fields.collect());
    }
    numbers
});

/// Parses `3`, or `1.3`: field 3 of the embedded struct that is field 1.
fn parsed(text: &str) -> Protobuf {
    let number = |text: &str| text.parse().expect("the table holds numbers");
    match text.split_once('.') {
        Some((outer, inner)) => Protobuf { embedded_in: Some(number(outer)), number: number(inner) },
        None => Protobuf::of(number(text)),
    }
}

/// Returns the number of a struct's field, by the import path of the Go package; `None` if the field has none.
pub(crate) fn number(package: &str, object: &str, field: &str) -> Option<Protobuf> {
    if let Some(group) = package.strip_prefix("k8s.io/api/").and_then(|rest| rest.strip_suffix("/v1")) {
        return tables::node(group, object)?.as_object()?.field(field)?.protobuf;
    }
    GARDENER.get(&(package, object))?.get(field).copied()
}
