// SPDX-License-Identifier: Apache-2.0
//! Kubeconfigs: the landscape's contexts, and merging them into a file without touching anything else.

use std::fs;
use std::io;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use process::pki::Pair;
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::live::authority::ClusterAuthorities;
use crate::live::client::Client;
use crate::live::directory::write_private;
use ops::names::clusters::NamedCluster;

/// Name of the administrator.
const ADMIN: &str = "admin";
const LISTS: [&str; 3] = ["clusters", "contexts", "users"];

/// Names of the contexts of a landscape: garden, runtime, and each seed.
pub(crate) fn names(landscape: &str, seeds: &[String]) -> Vec<String> {
    let mut names = vec![format!("terrarium-{landscape}"), format!("terrarium-{landscape}-runtime")];
    names.extend(seeds.iter().map(|seed| format!("terrarium-{landscape}-seed-{seed}")));
    names
}

/// Who uses a kubeconfig.
#[derive(Clone, Debug)]
pub(crate) enum User<'a> {
    /// The landscape's administrator, by a certificate that is good everywhere: for our own commands only.
    Landscape(&'a Pair),
    /// A user of each cluster.
    OfCluster { authorities: &'a ClusterAuthorities, name: &'a str, groups: &'a [&'a str] },
}

impl<'a> User<'a> {
    /// The administrator of each cluster.
    pub(crate) fn admin(authorities: &'a ClusterAuthorities) -> Self {
        Self::OfCluster { authorities, name: ADMIN, groups: &["system:masters"] }
    }

    /// Its certificate for a cluster, and the authority of that.
    fn credentials(&self, cluster: &NamedCluster) -> Result<(Pair, String), Failure> {
        match self {
            Self::Landscape(pair) => Ok(((*pair).clone(), String::new())),
            Self::OfCluster { authorities, name, groups } => authorities.client(&cluster.logical(), name, groups),
        }
    }

    /// Name of its entry beside a context.
    fn entry(&self, context: &str) -> String {
        match self {
            Self::OfCluster { name, .. } if *name != ADMIN => format!("{context}-as-{name}"),
            _ => context.to_owned(),
        }
    }
}

/// The kubeconfig of a landscape, with a context for each of its clusters; the first is the current one.
pub(crate) fn of(client: &Client, seeds: &[String], user: &User<'_>) -> Result<Value, Failure> {
    let clusters = [NamedCluster::Garden, NamedCluster::Runtime].into_iter();
    let clusters = clusters.chain(seeds.iter().map(|seed| NamedCluster::Seed(seed.clone())));
    let names = names(&client.facts.name, seeds);
    config(client, names.into_iter().zip(clusters), user)
}

/// The kubeconfig of one cluster.
pub(crate) fn of_cluster(client: &Client, cluster: &NamedCluster, user: &User<'_>) -> Result<Value, Failure> {
    let own = format!("terrarium-{}", client.facts.name);
    let name = match cluster {
        NamedCluster::Garden => own,
        other => format!("{own}-{}", other.to_string().replace('/', "-")),
    };
    config(client, [(name, cluster.clone())], user)
}

fn config(
    client: &Client,
    clusters: impl IntoIterator<Item = (String, NamedCluster)>,
    user: &User<'_>,
) -> Result<Value, Failure> {
    let encode = |text: &str| STANDARD.encode(text);
    let (mut cluster_list, mut context_list, mut users) = (Vec::new(), Vec::new(), Vec::new());
    for (name, cluster) in clusters {
        let (pair, bundle) = user.credentials(&cluster)?;
        let entry = user.entry(&name);
        cluster_list.push(json!({ "name": name, "cluster": {
            "server": format!("https://{}/clusters/{}", client.host.address, cluster.logical()),
            "certificate-authority-data": encode(&format!("{bundle}{}", client.authorities)),
        }}));
        context_list.push(json!({ "name": name, "context": { "cluster": name, "user": entry } }));
        users.push(json!({ "name": entry, "user": {
            "client-certificate-data": encode(&pair.certificate),
            "client-key-data": encode(&pair.key),
        }}));
    }
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": context_list[0]["name"],
        "clusters": cluster_list,
        "contexts": context_list,
        "users": users,
    }))
}

/// As YAML.
pub(crate) fn yaml(config: &Value) -> Result<String, Failure> {
    yaml::to_string(config).map_err(|error| Failure::Failed(error.to_string()))
}

/// What `current-context` of a file is after a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Current {
    /// Of another program, as before.
    OfOthers,
    /// Ours, as before.
    WasOurs,
    /// Ours from now on.
    IsOurs,
}

/// Puts the entries of `config` into a file. `current-context` is set if there is none, or if `switch` says so; whether
/// it is what `config` says, and was before.
pub(crate) fn merge(path: &Path, config: &Value, switch: bool) -> Result<Current, Failure> {
    let _held = hold(path);
    let mut file = read(path)?;
    for list in LISTS {
        let ours = config[list].as_array().cloned().unwrap_or_default();
        let entries = entries(&mut file, list);
        entries.retain(|entry| !ours.iter().any(|our| our["name"] == entry["name"]));
        entries.extend(ours);
    }
    let own = &config["current-context"];
    let current = match file.get("current-context").and_then(Value::as_str).filter(|name| !name.is_empty()) {
        Some(name) if *own == *name => Current::WasOurs,
        Some(_) if !switch => Current::OfOthers,
        _ => Current::IsOurs,
    };
    if current == Current::IsOurs {
        file.insert("current-context".to_owned(), own.clone());
    }
    write(path, file)?;
    Ok(current)
}

/// Contexts of landscapes in a file: name, and server of its cluster.
pub(crate) fn contexts(path: &Path) -> Result<Vec<(String, String)>, Failure> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let mut file = read(path)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let clusters = entries(&mut file, "clusters").clone();
    let server =
        |name: &str| clusters.iter().find(|entry| entry["name"] == name).map(|entry| text(&entry["cluster"]["server"]));
    let contexts =
        entries(&mut file, "contexts").iter().map(|entry| (text(&entry["name"]), text(&entry["context"]["cluster"])));
    let ours = contexts.filter(|(name, _)| name.starts_with("terrarium-"));
    Ok(ours.map(|(name, cluster)| (name, server(&cluster).unwrap_or_default())).collect())
}

/// Whether an entry of a file is of a landscape.
pub(crate) fn is_of(entry: &str, landscape: &str) -> bool {
    let rest = entry.strip_prefix("terrarium-").and_then(|entry| entry.strip_prefix(landscape));
    let is_of = |rest: &str| rest.is_empty() || rest.starts_with("-as-");
    rest.is_some_and(|rest| rest.starts_with("-seed-") || is_of(rest.strip_prefix("-runtime").unwrap_or(rest)))
}

/// Takes every entry of a landscape out of a file.
pub(crate) fn unmerge(path: &Path, landscape: &str) -> Result<(), Failure> {
    remove(path, |entry| is_of(entry, landscape))
}

/// Takes entries out of a file. A file that says nothing any more is removed.
pub(crate) fn remove(path: &Path, is_ours: impl Fn(&str) -> bool) -> Result<(), Failure> {
    if !path.exists() {
        return Ok(());
    }
    let _held = hold(path);
    let mut file = read(path)?;
    let mut found = false;
    for list in LISTS {
        let entries = entries(&mut file, list);
        let before = entries.len();
        entries.retain(|entry| !entry["name"].as_str().is_some_and(&is_ours));
        found |= entries.len() != before;
    }
    if !found {
        return Ok(());
    }
    if file.get("current-context").and_then(Value::as_str).is_some_and(is_ours) {
        file.insert("current-context".to_owned(), Value::String(String::new()));
    }
    // A user made the link.
    if says_nothing(&file) && fs::symlink_metadata(path).is_ok_and(|file| file.is_file()) {
        return fs::remove_file(path)
            .map_err(|error| Failure::Failed(format!("cannot remove {}: {error}", path.display())));
    }
    write(path, file)
}

/// Whether a file has no entries, no current context, and nothing that we do not know.
fn says_nothing(file: &Map<String, Value>) -> bool {
    file.iter().all(|(key, value)| match key.as_str() {
        "apiVersion" | "kind" => true,
        "current-context" => value == "",
        list if LISTS.contains(&list) => value.as_array().is_some_and(Vec::is_empty),
        _ => false,
    })
}

/// Keeps other commands from changing the file until it is dropped: two landscapes may start at one moment. The folder is
/// locked, so that nothing is left behind; where that cannot be, the last one wins.
fn hold(path: &Path) -> Option<fs::File> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    fs::create_dir_all(folder).ok()?;
    let folder = fs::File::open(folder).ok()?;
    folder.lock().ok()?;
    Some(folder)
}

fn entries<'a>(file: &'a mut Map<String, Value>, list: &str) -> &'a mut Vec<Value> {
    let entry = file.entry(list).or_insert_with(|| json!([]));
    if !entry.is_array() {
        *entry = json!([]);
    }
    entry.as_array_mut().expect("made a list above")
}

fn read(path: &Path) -> Result<Map<String, Value>, Failure> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::Failed(format!("cannot read {}: {error}", path.display()))),
    };
    if text.trim().is_empty() {
        let empty = json!({ "apiVersion": "v1", "kind": "Config" });
        return Ok(empty.as_object().cloned().unwrap_or_default());
    }
    match yaml::from_str(&text) {
        Ok(Value::Object(file)) => Ok(file),
        Ok(_) => Err(unreadable(path, "it is no mapping")),
        Err(error) => Err(unreadable(path, &error.to_string())),
    }
}

fn unreadable(path: &Path, why: &str) -> Failure {
    Failure::input(
        format!("{} is no kubeconfig: {why}", path.display()),
        "name another file with --kubeconfig, or none with --kubeconfig ''",
    )
}

fn write(path: &Path, file: Map<String, Value>) -> Result<(), Failure> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)
            .map_err(|error| Failure::Failed(format!("cannot make {}: {error}", folder.display())))?;
    }
    let text = yaml(&Value::Object(file))?;
    // A link stays one.
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    write_private(&place, &text).map_err(|error| Failure::Failed(format!("cannot write {}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(name: &str) -> Value {
        json!({
            "clusters": [{ "name": name, "cluster": { "server": "https://127.0.0.1:1" } }],
            "contexts": [{ "name": name, "context": { "cluster": name, "user": name } }],
            "users": [{ "name": name, "user": {} }],
            "current-context": name,
        })
    }

    #[test]
    fn two_that_merge_at_one_moment_both_do() {
        let folder = std::env::temp_dir().join(format!("terrarium-kubeconfigs-{}", std::process::id()));
        let path = folder.join("config");
        std::thread::scope(|scope| {
            for name in ["a", "b", "c", "d"] {
                let path = &path;
                scope.spawn(move || merge(path, &config(&format!("terrarium-{name}")), false).expect("written"));
            }
        });
        assert_eq!(contexts(&path).map(|found| found.len()), Ok(4));
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn merging_touches_nothing_else_and_unmerging_leaves_nothing() {
        let folder = std::env::temp_dir().join(format!("terrarium-kubeconfig-{}", std::process::id()));
        let path = folder.join("config");
        assert_eq!(merge(&path, &config("mine"), false), Ok(Current::IsOurs), "there was none");
        assert_eq!(merge(&path, &config("mine"), true), Ok(Current::WasOurs));
        let before = fs::read_to_string(&path).expect("there");
        for switch in [false, true] {
            let expected = if switch { Current::IsOurs } else { Current::OfOthers };
            assert_eq!(merge(&path, &config("terrarium-a"), switch), Ok(expected));
            let file = read(&path).expect("readable");
            assert_eq!(file["clusters"].as_array().map(Vec::len), Some(2), "replaced, not added twice");
            let current = if switch { "terrarium-a" } else { "mine" };
            assert_eq!(file["current-context"], current);
        }
        merge(&path, &config("terrarium-ab"), false).expect("written");
        unmerge(&path, "a").expect("written");
        let file = read(&path).expect("readable");
        assert_eq!(file["users"].as_array().map(Vec::len), Some(2), "another landscape's are another's");
        assert_eq!(file["current-context"], "");
        merge(&path, &config("mine"), true).expect("written");
        unmerge(&path, "ab").expect("written");
        assert_eq!(fs::read_to_string(&path).expect("there"), before);
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn a_file_that_was_ours_alone_goes_with_the_landscape() {
        let folder = std::env::temp_dir().join(format!("terrarium-empty-kubeconfig-{}", std::process::id()));
        let (path, link) = (folder.join("config"), folder.join("link"));
        let come_and_go = |path: &Path| {
            merge(path, &config("terrarium-a"), false).expect("written");
            unmerge(path, "a").expect("removed");
        };
        come_and_go(&path);
        assert!(!path.exists(), "it held nothing else");
        fs::write(&path, "preferences: {colors: true}\n").expect("written");
        come_and_go(&path);
        assert!(fs::read_to_string(&path).expect("there").contains("colors: true"));
        fs::write(&path, "").expect("written");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        come_and_go(&link);
        assert!(link.is_symlink() && path.exists());
        fs::remove_dir_all(folder).expect("removed");
    }
}
