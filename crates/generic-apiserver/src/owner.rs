// SPDX-License-Identifier: Apache-2.0
//! The controller of an object, read from the sections that are appended to the log.

use apimachinery::meta::OwnerReference;
use eventlog::Sections;
use eventlog::livelock::Owner;
use serde::Deserialize;

/// The part of metadata that is read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    owner_references: Vec<OwnerReference>,
}

/// Returns the controller of an object, from its section of metadata.
pub fn controller_of(object: &Sections) -> Option<Owner> {
    let section = std::str::from_utf8(&object.parts[1]).ok()?;
    // Most objects have none and need not be parsed.
    if !section.contains("\"ownerReferences\":[") {
        return None;
    }
    let text = format!("{{{}}}", section.trim_start_matches(','));
    let metadata: Metadata = serde_json::from_str(&text).ok()?;
    let owner = metadata.owner_references.into_iter().find(|owner| owner.controller == Some(true))?;
    Some(Owner { uid: owner.uid, name: format!("{} {}", owner.kind, owner.name) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(metadata: &str, expected: Option<&str>) {
        let mut object = Sections::default();
        object.parts[1] = bytes::Bytes::from(metadata.to_owned());
        let expected = expected.map(|uid| Owner { uid: uid.to_owned(), name: "ReplicaSet web".to_owned() });
        assert_eq!(controller_of(&object), expected, "{metadata}");
    }

    #[test]
    fn the_controller_is_read_from_the_section_of_metadata() {
        let owner = |more: &str| {
            let head = r#","creationTimestamp":null,"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","#;
            format!(r#"{head}"name":"web","uid":"u"{more}}}]"#)
        };
        check(&owner(r#","controller":true"#), Some("u"));
        check(&owner(""), None);
        check(r#","creationTimestamp":null,"labels":{"ownerReferences":"x"}"#, None);
        check("", None);
        check(r#","ownerReferences":["#, None);
    }
}
