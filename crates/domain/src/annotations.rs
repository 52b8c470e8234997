// SPDX-License-Identifier: Apache-2.0
//! Annotations that steer a Shoot's life: booleans, operations and tasks, read and written.
//!
//! Source: pkg/apis/core/v1beta1/constants/types_constants.go @ v1.120.0.

use apimachinery::meta::TextMap;

use api::constants::{annotation, operation};

use crate::release::Releases;

/// Reads a boolean as Go's `strconv.ParseBool` does.
pub fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

/// Returns true if an annotation parses as true.
pub fn is_true(annotations: &TextMap, key: &str) -> bool {
    annotations.get(key).and_then(|value| parse_bool(value)) == Some(true)
}

/// An operation annotation may name several operations; before, it holds one.
pub const SEVERAL_OPERATIONS: Releases = Releases::since(133);

/// Returns the operations in a value of an operation annotation, in their order, each once.
pub fn operations(value: &str) -> Vec<&str> {
    let mut operations = Vec::new();
    for operation in value.split(operation::SEPARATOR).map(str::trim).filter(|operation| !operation.is_empty()) {
        if !operations.contains(&operation) {
            operations.push(operation);
        }
    }
    operations
}

/// Returns the value of an operation annotation with these operations.
pub fn join_operations(operations: &[&str]) -> String {
    operations.join(&operation::SEPARATOR.to_string())
}

/// Sets the operation annotation, or removes it.
pub fn set_operation(annotations: &mut TextMap, value: Option<String>) {
    match value {
        Some(value) => drop(annotations.insert(annotation::OPERATION.to_owned(), value)),
        None => drop(annotations.remove(annotation::OPERATION)),
    }
}

/// Returns the tasks in the annotation, in their order.
pub fn tasks(annotations: &TextMap) -> Vec<&str> {
    annotations
        .get(annotation::SHOOT_TASKS)
        .map_or_else(Vec::new, |value| value.split(',').filter(|task| !task.is_empty()).collect())
}

/// Returns true if the annotation has a task.
pub fn has_task(annotations: &TextMap, task: &str) -> bool {
    tasks(annotations).contains(&task)
}

/// Adds tasks behind those that are present, without duplicates.
pub fn add_tasks(annotations: &mut TextMap, new: &[&str]) {
    let mut tasks = tasks(annotations);
    for task in new {
        if !tasks.contains(task) {
            tasks.push(task);
        }
    }
    let value = tasks.join(",");
    set_tasks(annotations, value);
}

/// Removes tasks, and with the last one the annotation.
pub fn remove_tasks(annotations: &mut TextMap, done: &[&str]) {
    let mut tasks = tasks(annotations);
    tasks.retain(|task| !done.contains(task));
    let value = tasks.join(",");
    set_tasks(annotations, value);
}

fn set_tasks(annotations: &mut TextMap, value: String) {
    if value.is_empty() {
        annotations.remove(annotation::SHOOT_TASKS);
    } else {
        annotations.insert(annotation::SHOOT_TASKS.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_appended_once_and_removed_with_the_annotation() {
        let mut annotations = TextMap::from([("shoot.gardener.cloud/tasks".to_owned(), "b,a".to_owned())]);
        add_tasks(&mut annotations, &["a", "c"]);
        assert_eq!(annotations["shoot.gardener.cloud/tasks"], "b,a,c");
        remove_tasks(&mut annotations, &["a", "b"]);
        assert_eq!(annotations["shoot.gardener.cloud/tasks"], "c");
        remove_tasks(&mut annotations, &["c", "d"]);
        assert!(annotations.is_empty());
    }

    #[test]
    fn booleans_are_those_of_go() {
        for (text, expected) in
            [("true", Some(true)), ("T", Some(true)), ("0", Some(false)), ("yes", None), ("tRUE", None)]
        {
            assert_eq!(parse_bool(text), expected, "{text}");
        }
    }
}
