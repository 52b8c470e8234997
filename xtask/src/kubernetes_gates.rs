// SPDX-License-Identifier: Apache-2.0
//! Tables of Kubernetes' feature gates, admission plugins and API versions (`crates/domain/src/features/*.txt`), rewritten from
//! the tags of a checkout of Gardener.
//!
//! A row is an entry of one of Gardener's Go maps, with the releases in which it has these values. It is read from `git
//! show TAG:FILE`, so the work tree of the checkout is not used, and a bare repository is sufficient.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// Oldest release that is read; older ones are treated like it.
const OLDEST: u64 = 120;

/// Maps of Gardener, and their table.
struct Source {
    /// Path of the file in Gardener.
    path: &'static str,
    /// Names of the maps.
    maps: &'static [&'static str],
    /// Path of the table in this repository.
    table: &'static str,
    /// Meaning of the columns.
    columns: &'static str,
    /// Function that returns the columns of an entry.
    read: fn(&str) -> Vec<String>,
}

const SOURCES: [Source; 3] = [
    Source {
        path: "pkg/utils/validation/features/featuregates.go",
        maps: &["featureGateVersionRanges"],
        table: "crates/domain/src/features/gates.txt",
        columns: "gate; minor of Kubernetes 1.x that adds it, locks it, removes it; value that it is locked to",
        read: gate,
    },
    Source {
        path: "pkg/utils/validation/admissionplugins/admissionplugins.go",
        maps: &["admissionPluginsVersionRanges"],
        table: "crates/domain/src/features/plugins.txt",
        columns: "admission plugin; minor of Kubernetes 1.x that adds it, removes it; required, forbidden, may have a config",
        read: plugin,
    },
    Source {
        path: "pkg/utils/validation/apigroups/apigroups.go",
        maps: &["apiGroupVersionRanges", "apiGVRVersionRanges"],
        table: "crates/domain/src/features/groups.txt",
        columns: "version of an API group, or resource of one; minor of Kubernetes 1.x that adds it, removes it; required, for \
                  Shoots without workers",
        read: group,
    },
];

/// Entries of a map by name, with their columns.
type Entries = BTreeMap<String, Vec<String>>;

/// An entry, with its first release, and the first later release without it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    name: String,
    columns: Vec<String>,
    since: Option<u64>,
    until: Option<u64>,
}

/// Rewrites the tables from a checkout.
///
/// # Errors
/// The checkout has no tags, or a tag lacks a map.
pub(crate) fn run(checkout: &str) -> Result<(), String> {
    let minors = releases(checkout)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for source in SOURCES {
        let mut tables = Vec::new();
        for minor in &minors {
            let text = git(checkout, &["show", &format!("v1.{minor}.0:{}", source.path)])?;
            let mut all = Entries::new();
            for map in source.maps {
                let found = entries(&text, map, source.read);
                all.append(&mut found.ok_or_else(|| format!("v1.{minor}.0:{} has no map {map}", source.path))?);
            }
            tables.push((*minor, all));
        }
        let rows = rows(&tables);
        std::fs::write(root.join(source.table), table(&source, &minors, &rows))
            .map_err(|error| format!("{}: {error}", source.table))?;
        println!("{}: {} rows of {} releases", source.table, rows.len(), minors.len());
    }
    Ok(())
}

fn git(checkout: &str, arguments: &[&str]) -> Result<String, String> {
    let ran = Command::new("git").arg("-C").arg(checkout).args(arguments).output();
    let ran = ran.map_err(|error| format!("git: {error}"))?;
    if !ran.status.success() {
        return Err(format!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&ran.stderr).trim()));
    }
    String::from_utf8(ran.stdout).map_err(|error| format!("git {}: {error}", arguments.join(" ")))
}

/// Minors with a first release, from the oldest one on.
fn releases(checkout: &str) -> Result<Vec<u64>, String> {
    let tags = git(checkout, &["tag", "--list", "v1.*.0"])?;
    let minor = |tag: &str| tag.strip_prefix("v1.")?.strip_suffix(".0")?.parse().ok();
    let mut minors: Vec<u64> = tags.lines().filter_map(minor).filter(|minor| *minor >= OLDEST).collect();
    minors.sort_unstable();
    if minors.first() != Some(&OLDEST) {
        return Err(format!("{checkout} has no tag v1.{OLDEST}.0: fetch the tags of Gardener"));
    }
    Ok(minors)
}

/// Returns the entries of a Go map whose keys are texts, each on a separate line.
fn entries(text: &str, map: &str, read: fn(&str) -> Vec<String>) -> Option<Entries> {
    let opening = format!("{map} = map[");
    let mut lines = text.lines().skip_while(|line| !line.contains(&opening));
    // A closing brace has the indentation of the line that opens the map.
    let indentation: String = lines.next()?.chars().take_while(|c| c.is_whitespace()).collect();
    let end = format!("{indentation}}}");
    let body = lines.take_while(|line| *line != end);
    let entry = |line: &str| {
        let (name, value) = line.trim().strip_prefix('"')?.split_once('"')?;
        Some((name.to_owned(), read(value)))
    };
    let entries: Entries = body.filter_map(entry).collect();
    (!entries.is_empty()).then_some(entries)
}

/// Minor of a version of an entry, `AddedInVersion: "1.29"`; `-` if there is none.
fn minor(value: &str, key: &str) -> String {
    let version = value.split_once(&format!("{key}: \"1.")).and_then(|(_, rest)| rest.split('"').next());
    version.unwrap_or("-").to_owned()
}

fn has(value: &str, key: &str) -> bool {
    value.contains(&format!("{key}: true"))
}

fn gate(value: &str) -> Vec<String> {
    let locked = minor(value, "LockedToDefaultInVersion");
    // Until 1.122 the value was that of field Default.
    let on = has(value, "LockedValue") || has(value, "Default");
    let to = match (locked.as_str(), on) {
        ("-", _) => "-",
        (_, true) => "on",
        (_, false) => "off",
    };
    vec![minor(value, "AddedInVersion"), locked, minor(value, "RemovedInVersion"), to.to_owned()]
}

fn plugin(value: &str) -> Vec<String> {
    let words = [("Required", "required"), ("Forbidden", "forbidden"), ("AllowsConfiguration", "config")];
    vec![minor(value, "AddedInVersion"), minor(value, "RemovedInVersion"), flags(value, &words)]
}

fn group(value: &str) -> Vec<String> {
    let words = [("Required", "required"), ("RequiredForWorkerless", "workerless")];
    vec![minor(value, "AddedInVersion"), minor(value, "RemovedInVersion"), flags(value, &words)]
}

/// Words of the keys that are true; `-` if there are none.
fn flags(value: &str, words: &[(&str, &str)]) -> String {
    let words: Vec<&str> = words.iter().filter(|(key, _)| has(value, key)).map(|(_, word)| *word).collect();
    if words.is_empty() { "-".to_owned() } else { words.join(",") }
}

/// Rows of the entries of releases in order.
fn rows(tables: &[(u64, Entries)]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut open: BTreeMap<&String, Row> = BTreeMap::new();
    for (nth, (minor, entries)) in tables.iter().enumerate() {
        let since = (nth > 0).then_some(*minor);
        open.retain(|name, row| {
            let stays = entries.get(*name) == Some(&row.columns);
            if !stays {
                rows.push(Row { until: Some(*minor), ..row.clone() });
            }
            stays
        });
        for (name, columns) in entries {
            open.entry(name).or_insert_with(|| Row {
                name: name.clone(),
                columns: columns.clone(),
                since,
                until: None,
            });
        }
    }
    rows.extend(open.into_values());
    rows.sort_by(|one, other| (&one.name, one.since).cmp(&(&other.name, other.since)));
    rows
}

/// Formats a table.
fn table(source: &Source, minors: &[u64], rows: &[Row]) -> String {
    let (first, last) = (minors.first().unwrap_or(&OLDEST), minors.last().unwrap_or(&OLDEST));
    let mut text = format!(
        "# {}; releases of Gardener 1.x that have\n# the row: first, first one without it; - for none. Older releases than 1.{first} are like it.\n# \
         Source: {} @ v1.{first}.0 to v1.{last}.0, by `cargo xtask kubernetes-gates CHECKOUT`\n",
        source.columns, source.path
    );
    let minor = |minor: Option<u64>| minor.map_or_else(|| "-".to_owned(), |minor| minor.to_string());
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or_default();
    for row in rows {
        let _ = write!(text, "{:width$}", row.name);
        for column in &row.columns {
            let _ = write!(text, " {column:>3}");
        }
        let _ = writeln!(text, " {:>3} {:>3}", minor(row.since), minor(row.until));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "var featureGateVersionRanges = map[string]*Range{\n\
        \t// comment\n\
        \t\"A\": {},\n\
        \t\"B\":   {Default: true, LockedToDefaultInVersion: \"1.29\", VersionRange: v.VersionRange{AddedInVersion: \"1.28\"}},\n\
        \t\"C\": {VersionRange: v.VersionRange{RemovedInVersion: \"1.27\"}},\n\
        }\n\nvar other = map[string]bool{\n\t\"X\": {},\n}\n";

    const PLUGINS: &str = "var (\n\
        \tadmissionPluginsVersionRanges = map[string]*Range{\n\
        \t\t\"P\": {Required: true, AllowsConfiguration: true},\n\
        \t\t\"Q\": {Forbidden: true, VersionRange: v.VersionRange{RemovedInVersion: \"1.30\"}},\n\
        \t}\n\n\tother = sets.New(\"X\")\n)\n";

    #[test]
    fn entries_of_a_map_are_read_up_to_its_end() {
        let gates = entries(OLD, "featureGateVersionRanges", gate).expect("a map");
        let columns = |name: &str| gates.get(name).map(|columns| columns.join(" "));
        assert_eq!(gates.len(), 3);
        assert_eq!(columns("A").as_deref(), Some("- - - -"));
        assert_eq!(columns("B").as_deref(), Some("28 29 - on"));
        assert_eq!(columns("C").as_deref(), Some("- - 27 -"));
        let plugins = entries(PLUGINS, "admissionPluginsVersionRanges", plugin).expect("a map");
        let columns = |name: &str| plugins.get(name).map(|columns| columns.join(" "));
        assert_eq!(plugins.len(), 2);
        assert_eq!(columns("P").as_deref(), Some("- - required,config"));
        assert_eq!(columns("Q").as_deref(), Some("- 30 forbidden"));
        assert_eq!(entries(OLD, "elsewhere", gate), None);
    }

    #[test]
    fn rows_end_where_an_entry_changes() {
        let entry = |name: &str, column: &str| (name.to_owned(), vec![column.to_owned()]);
        let tables = [
            (120, Entries::from([entry("a", "1"), entry("b", "1"), entry("c", "1")])),
            (121, Entries::from([entry("a", "1"), entry("b", "2"), entry("d", "1")])),
            (122, Entries::from([entry("a", "1"), entry("b", "2"), entry("d", "1")])),
        ];
        let shown: Vec<String> = rows(&tables)
            .iter()
            .map(|row| format!("{} {} {:?} {:?}", row.name, row.columns[0], row.since, row.until))
            .collect();
        assert_eq!(
            shown,
            ["a 1 None None", "b 1 None Some(121)", "b 2 Some(121) None", "c 1 None Some(121)", "d 1 Some(121) None",]
        );
    }
}
