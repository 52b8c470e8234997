// SPDX-License-Identifier: Apache-2.0
//! The highest versions that ever ran, which outlive the instances.
//!
//! Without them, removing the last instance and then starting an older one would be a downgrade in two legal steps.
//! There is a mark for each component, for gardenlets one per seed, for extensions one per name.
//!
//! Shape as a text: a JSON object from `COMPONENT` or `COMPONENT/OWNER` to a version, sorted by key:
//! `{"gardener-apiserver":"v1.120.0","gardenlet/local":"v1.119.2"}`.
//!
//! Source: spec of the emulator; upstream records the Garden's version alone.

use std::collections::BTreeMap;

use super::{Component, GardenerVersion, HighWaterMark, Instance};

/// Returns the marks after the start of an instance; `None`: it raises none, e.g. since its version does not parse.
pub fn raised(marks: &[HighWaterMark], instance: &Instance) -> Option<Vec<HighWaterMark>> {
    let version = GardenerVersion::parse(&instance.version)?;
    let owner = match instance.component {
        Component::Gardenlet | Component::Extension => Some(instance.owner.clone()),
        _ => None,
    };
    let is_own = |mark: &&mut HighWaterMark| mark.component == instance.component && mark.owner == owner;
    let mut marks = marks.to_vec();
    match marks.iter_mut().find(is_own) {
        Some(mark) if GardenerVersion::parse(&mark.version).is_some_and(|highest| highest >= version) => return None,
        Some(mark) => mark.version.clone_from(&instance.version),
        None => marks.push(HighWaterMark { component: instance.component, owner, version: instance.version.clone() }),
    }
    Some(marks)
}

/// Formats marks as a text.
pub fn write(marks: &[HighWaterMark]) -> String {
    let key = |mark: &HighWaterMark| match &mark.owner {
        None => mark.component.name().to_owned(),
        Some(owner) => format!("{}/{owner}", mark.component.name()),
    };
    let entries: BTreeMap<String, &String> = marks.iter().map(|mark| (key(mark), &mark.version)).collect();
    serde_json::to_string(&entries).unwrap_or_default()
}

/// Reads marks from a text. Invalid marks are left out: a broken mark refuses no instance.
pub fn read(text: &str) -> Vec<HighWaterMark> {
    let entries: BTreeMap<String, serde_json::Value> = serde_json::from_str(text).unwrap_or_default();
    let mark = |(key, version): (String, serde_json::Value)| {
        let (name, owner) = match key.split_once('/') {
            Some((name, owner)) => (name, Some(owner.to_owned())),
            None => (key.as_str(), None),
        };
        let version = version.as_str()?.to_owned();
        Some(HighWaterMark { component: Component::named(name)?, owner, version })
    };
    entries.into_iter().filter_map(mark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_rise_for_each_seed_and_extension() {
        let starts = [
            Instance::new(Component::Apiserver, "v1.120.0"),
            Instance::new(Component::Apiserver, "v1.119.4"),
            Instance::owned(Component::Gardenlet, "a", "v1.119.0"),
            Instance::owned(Component::Gardenlet, "b", "v1.118.0"),
            Instance::owned(Component::Gardenlet, "a", "v1.119.0-dev"),
            Instance::owned(Component::Extension, "local", "latest"),
            Instance::new(Component::Apiserver, "v1.120.1"),
        ];
        let raises = |marks: Vec<HighWaterMark>, instance: &Instance| raised(&marks, instance).unwrap_or(marks);
        let marks = starts.iter().fold(Vec::new(), raises);
        let text = write(&marks);
        assert_eq!(text, r#"{"gardener-apiserver":"v1.120.1","gardenlet/a":"v1.119.0","gardenlet/b":"v1.118.0"}"#);
        assert_eq!(read(&text), marks);
    }

    #[test]
    fn broken_marks_refuse_no_instance() {
        for text in ["", "{", "[]", r#"{"gardenlet/a":1,"somebody":"v1.1.0"}"#] {
            assert_eq!(read(text), Vec::new(), "{text}");
        }
    }
}
