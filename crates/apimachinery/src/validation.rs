// SPDX-License-Identifier: Apache-2.0
//! The grammars of names, label keys and label values, with upstream's explanations of violations.
//!
//! Each function returns the explanations; an empty list means that the text is valid.
//! Source: apimachinery pkg/util/validation/validation.go @ v0.32.

use std::sync::LazyLock;

use regex::Regex;

const QUALIFIED_NAME: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const QUALIFIED_NAME_TEXT: &str =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const LABEL_VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
const LABEL_VALUE_TEXT: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' \
                                or '.', and must start and end with an alphanumeric character";
const DNS1123_LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS1123_LABEL_TEXT: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or \
                                  '-', and must start and end with an alphanumeric character";
const DNS1123_SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const DNS1123_SUBDOMAIN_TEXT: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
                                      characters, '-' or '.', and must start and end with an alphanumeric character";
const DNS1035_LABEL: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const DNS1035_LABEL_TEXT: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start \
                                  with an alphabetic character, and end with an alphanumeric character";
const CONFIG_MAP_KEY: &str = "[-._a-zA-Z0-9]+";
const CONFIG_MAP_KEY_TEXT: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";

macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(&format!("^(?:{})$", $text)).expect("the pattern is valid"));
    };
}

pattern!(QUALIFIED_NAME_PATTERN, QUALIFIED_NAME);
pattern!(LABEL_VALUE_PATTERN, LABEL_VALUE);
pattern!(DNS1123_LABEL_PATTERN, DNS1123_LABEL);
pattern!(DNS1123_SUBDOMAIN_PATTERN, DNS1123_SUBDOMAIN);
pattern!(DNS1035_LABEL_PATTERN, DNS1035_LABEL);
pattern!(CONFIG_MAP_KEY_PATTERN, CONFIG_MAP_KEY);

/// Returns `must be no more than N characters`.
pub fn too_long(length: usize) -> String {
    format!("must be no more than {length} characters")
}

/// Returns an explanation with examples and the pattern.
pub fn pattern_error(text: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    if examples.is_empty() {
        return format!("{text} (regex used for validation is '{pattern}')");
    }
    format!("{text} (e.g. {}regex used for validation is '{pattern}')", examples.join(" or "))
}

fn bounded(value: &str, max: usize, pattern: &Regex, explanation: impl FnOnce() -> String) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > max {
        errors.push(too_long(max));
    }
    if !pattern.is_match(value) {
        errors.push(explanation());
    }
    errors
}

/// Validates a label or annotation key, or a finalizer: `[prefix/]name`, the prefix a DNS subdomain, the name up to 63
/// characters.
pub fn qualified_name(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let explain = || pattern_error(QUALIFIED_NAME_TEXT, QUALIFIED_NAME, &["MyName", "my.name", "123-abc"]);
    let parts: Vec<&str> = value.split('/').collect();
    let name = match parts[..] {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                errors.push("prefix part must be non-empty".to_owned());
            } else {
                errors.extend(dns1123_subdomain(prefix).into_iter().map(|error| format!("prefix part {error}")));
            }
            name
        }
        _ => {
            return vec![format!(
                "a qualified name {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                explain()
            )];
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        errors.push(format!("name part {}", too_long(63)));
    }
    if !QUALIFIED_NAME_PATTERN.is_match(name) {
        errors.push(format!("name part {}", explain()));
    }
    errors
}

/// Validates a label value: up to 63 characters, or empty.
pub fn label_value(value: &str) -> Vec<String> {
    bounded(value, 63, &LABEL_VALUE_PATTERN, || {
        pattern_error(LABEL_VALUE_TEXT, LABEL_VALUE, &["MyValue", "my_value", "12345"])
    })
}

/// Validates an RFC 1123 label: up to 63 characters.
pub fn dns1123_label(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > 63 {
        errors.push(too_long(63));
    }
    if !DNS1123_LABEL_PATTERN.is_match(value) {
        if DNS1123_SUBDOMAIN_PATTERN.is_match(value) {
            errors.push("must not contain dots".to_owned());
        } else {
            errors.push(pattern_error(DNS1123_LABEL_TEXT, DNS1123_LABEL, &["my-name", "123-abc"]));
        }
    }
    errors
}

/// Validates an RFC 1123 subdomain: up to 253 characters.
pub fn dns1123_subdomain(value: &str) -> Vec<String> {
    bounded(value, 253, &DNS1123_SUBDOMAIN_PATTERN, || {
        pattern_error(DNS1123_SUBDOMAIN_TEXT, DNS1123_SUBDOMAIN, &["example.com"])
    })
}

/// Validates an RFC 1035 label: up to 63 characters, starting with a letter.
pub fn dns1035_label(value: &str) -> Vec<String> {
    bounded(value, 63, &DNS1035_LABEL_PATTERN, || {
        pattern_error(DNS1035_LABEL_TEXT, DNS1035_LABEL, &["my-name", "abc-123"])
    })
}

/// Validates a key of a ConfigMap or Secret: up to 253 characters.
pub fn config_map_key(value: &str) -> Vec<String> {
    let mut errors = bounded(value, 253, &CONFIG_MAP_KEY_PATTERN, || {
        pattern_error(CONFIG_MAP_KEY_TEXT, CONFIG_MAP_KEY, &["key.name", "KEY_NAME", "key-name"])
    });
    match value {
        "." => errors.push("must not be '.'".to_owned()),
        ".." => errors.push("must not be '..'".to_owned()),
        other if other.starts_with("..") => errors.push("must not start with '..'".to_owned()),
        _ => {}
    }
    errors
}

/// Validates a name that is only restricted by its use in a URL's path: not `.`, not `..`, no `/`, no `%`.
pub fn path_segment_name(value: &str) -> Vec<String> {
    if matches!(value, "." | "..") {
        return vec![format!("may not be '{value}'")];
    }
    let contained = ["/", "%"].into_iter().filter(|illegal| value.contains(illegal));
    contained.map(|illegal| format!("may not contain '{illegal}'")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(errors: &[String], expected: &[&str]) {
        assert_eq!(errors, expected);
    }

    #[test]
    fn qualified_names_are_explained_part_by_part() {
        check(&qualified_name("a"), &[]);
        check(&qualified_name("example.com/status"), &[]);
        check(&qualified_name("/a"), &["prefix part must be non-empty"]);
        check(
            &qualified_name("a/"),
            &[
                "name part must be non-empty",
                "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                 alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                 '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            ],
        );
        check(&qualified_name(&"a".repeat(64)), &["name part must be no more than 63 characters"]);
    }

    #[test]
    fn label_values_may_be_empty() {
        check(&label_value(""), &[]);
        check(
            &label_value("a b"),
            &["a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
               must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex \
               used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"],
        );
    }

    #[test]
    fn labels_of_dns_have_no_dots() {
        check(&dns1123_label("a-b"), &[]);
        check(&dns1123_label("a.b"), &["must not contain dots"]);
        check(
            &dns1123_subdomain("A"),
            &["a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
               must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
               '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"],
        );
        check(&path_segment_name("a/b%"), &["may not contain '/'", "may not contain '%'"]);
    }
}
