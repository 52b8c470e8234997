// SPDX-License-Identifier: Apache-2.0
//! Kubeconfigs: the landscape's contexts, and merging them into a file without touching anything else.
//!
//! Entries carry the directory of their landscape, as an extension: landscapes of one name in different directories do not
//! overwrite or remove each other's entries.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use process::pki::Pair;
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::live::authority::ClusterAuthorities;
use crate::live::client::Client;
use crate::live::directory::{Directory, write_private};
use ops::names::clusters::NamedCluster;

/// Name of the administrator.
const ADMIN: &str = "admin";
/// Lists of a kubeconfig, with the field of their entries besides the name.
const LISTS: [(&str, &str); 3] = [("clusters", "cluster"), ("contexts", "context"), ("users", "user")];
/// Name of the extension with the directory.
const EXTENSION: &str = "terrarium";

/// Names of the contexts of a landscape: garden, runtime, and each seed.
pub(crate) fn names(landscape: &str, seeds: &[String]) -> Vec<String> {
    let mut names = vec![format!("terrarium-{landscape}"), format!("terrarium-{landscape}-runtime")];
    names.extend(seeds.iter().map(|seed| format!("terrarium-{landscape}-seed-{seed}")));
    names
}

/// User of a kubeconfig.
#[derive(Clone, Debug)]
pub(crate) enum User<'a> {
    /// The landscape's administrator, by a certificate that is valid in all clusters: for terrarium's own commands only.
    Landscape(&'a Pair),
    /// A user of each cluster.
    OfCluster { authorities: &'a ClusterAuthorities, name: &'a str, groups: &'a [&'a str] },
}

impl<'a> User<'a> {
    /// Returns the administrator of each cluster.
    pub(crate) fn admin(authorities: &'a ClusterAuthorities) -> Self {
        Self::OfCluster { authorities, name: ADMIN, groups: &["system:masters"] }
    }

    /// Issues its certificate for a cluster; returns the authority's certificate as well.
    fn credentials(&self, cluster: &NamedCluster) -> Result<(Pair, String), Failure> {
        match self {
            Self::Landscape(pair) => Ok(((*pair).clone(), String::new())),
            Self::OfCluster { authorities, name, groups } => authorities.client(&cluster.logical(), name, groups),
        }
    }

    /// Name of the user's entry for a context.
    fn entry(&self, context: &str) -> String {
        match self {
            Self::OfCluster { name, .. } if *name != ADMIN => format!("{context}-as-{name}"),
            _ => context.to_owned(),
        }
    }
}

/// Returns the kubeconfig of a landscape, with a context for each of its clusters; the first is the current one.
pub(crate) fn of(client: &Client, seeds: &[String], user: &User<'_>) -> Result<Value, Failure> {
    let clusters = [NamedCluster::Garden, NamedCluster::Runtime].into_iter();
    let clusters = clusters.chain(seeds.iter().map(|seed| NamedCluster::Seed(seed.clone())));
    let names = names(&client.facts.name, seeds);
    config(client, names.into_iter().zip(clusters), user)
}

/// Returns the kubeconfig of one cluster.
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
    let extensions = json!([{ "name": EXTENSION, "extension": { "directory": client.directory } }]);
    for (name, cluster) in clusters {
        let (pair, bundle) = user.credentials(&cluster)?;
        let entry = user.entry(&name);
        cluster_list.push(json!({ "name": name, "cluster": {
            "server": format!("https://{}/clusters/{}", client.host.address, cluster.logical()),
            "certificate-authority-data": encode(&format!("{bundle}{}", client.authorities)),
            "extensions": extensions,
        }}));
        let context = json!({ "cluster": name, "user": entry, "extensions": extensions });
        context_list.push(json!({ "name": name, "context": context }));
        users.push(json!({ "name": entry, "user": {
            "client-certificate-data": encode(&pair.certificate),
            "client-key-data": encode(&pair.key),
            "extensions": extensions,
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

/// Formats a kubeconfig as YAML.
pub(crate) fn yaml(config: &Value) -> Result<String, Failure> {
    yaml::to_string(config).map_err(|error| Failure::Failed(error.to_string()))
}

/// State of `current-context` in a file after a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Current {
    /// A context of another program, unchanged.
    OfOthers,
    /// A context of the landscape, unchanged.
    WasOurs,
    /// A context of the landscape, set by the merge.
    IsOurs,
}

/// Directory of the landscape of an entry; `None` if the entry has none.
fn directory_of(entry: &Value) -> Option<&Path> {
    let inner = LISTS.iter().find_map(|(_, field)| entry.get(*field))?;
    let extensions = inner["extensions"].as_array()?;
    let own = extensions.iter().find(|extension| extension["name"] == EXTENSION)?;
    own["extension"]["directory"].as_str().map(Path::new)
}

/// True if an entry is of another existing landscape: with the same name, in another directory.
fn is_of_another(entry: &Value, directory: &Path) -> bool {
    let Some(other) = directory_of(entry) else { return false };
    let (own, found) = (Directory::at(directory), Directory::at(other));
    let name = entry["name"].as_str().unwrap_or_default();
    !own.is(&found) && found.facts().ok().flatten().is_some_and(|facts| is_of(name, &facts.name))
}

/// Refuses to change entries of another landscape.
fn refuse_other(path: &Path, entry: &Value) -> Failure {
    let (name, directory) =
        (entry["name"].as_str().unwrap_or_default(), directory_of(entry).unwrap_or_else(|| Path::new("")));
    Failure::input(
        format!("{name} in {} is of the landscape in {}", path.display(), directory.display()),
        "choose another name with --landscape, or another file with --kubeconfig FILE ('' for none)",
    )
}

/// Context that kubectl uses without a flag, by the files that it reads; `None`: there is none.
pub(crate) fn current(files: &[PathBuf]) -> Option<String> {
    let of = |path: &PathBuf| read(path).ok()?.get("current-context")?.as_str().map(str::to_owned);
    files.iter().filter_map(of).find(|name| !name.is_empty())
}

/// Checks, before a landscape is started, that its contexts can be merged into a file.
///
/// # Errors
/// The file is not a kubeconfig, cannot be written, or has contexts of another landscape with this name.
pub(crate) fn check(path: &Path, landscape: &str, directory: &Path) -> Result<(), Failure> {
    let mut file = read(path)?;
    let contexts = entries(&mut file, "contexts");
    let ours = |entry: &&Value| entry["name"].as_str().is_some_and(|name| is_of(name, landscape));
    if let Some(entry) = contexts.iter().filter(ours).find(|entry| is_of_another(entry, directory)) {
        return Err(refuse_other(path, entry));
    }
    // The file is replaced by a temporary file in the same folder.
    let Some(place) = place_of(path) else { return Ok(()) };
    let folder = place.ancestors().skip(1).find(|folder| folder.exists()).unwrap_or_else(|| Path::new("/"));
    let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    let is_folder = if folder.is_dir() { Ok(()) } else { Err(rustix::io::Errno::NOTDIR) };
    let permitted = is_folder.and_then(|()| rustix::fs::access(folder, access)).map_err(io::Error::from);
    permitted.and_then(|()| can_create_in(folder)).map_err(|error| {
        Failure::input(format!("cannot write {}: {}: {error}", path.display(), folder.display()), OTHER_FILE)
    })
}

/// Creates and removes a file in a folder: that of /proc, for example, permits it and fails.
fn can_create_in(folder: &Path) -> io::Result<()> {
    let probe = folder.join(format!(".terrarium-{}", std::process::id()));
    fs::File::options().create(true).truncate(true).write(true).open(&probe)?;
    let _ = fs::remove_file(&probe);
    Ok(())
}

/// The file that a write of a kubeconfig replaces; `None`: it is /dev/null, which is an empty kubeconfig for kubectl, and
/// forgets each write.
fn place_of(path: &Path) -> Option<PathBuf> {
    let place = absolute(path);
    (place != Path::new("/dev/null")).then_some(place)
}

/// A path with all links resolved as far as it exists.
fn absolute(path: &Path) -> PathBuf {
    fs::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

/// Merges the entries of `config` into a file. `current-context` is set if there is none, or if `switch` is true. `files`:
/// files that kubectl reads; if the file is one of them, the current context of all of them counts. Returns its state after
/// the merge.
pub(crate) fn merge(path: &Path, config: &Value, switch: bool, files: &[PathBuf]) -> Result<Current, Failure> {
    let _held = hold(path);
    let is_read = files.iter().any(|file| absolute(file) == absolute(path));
    let own = [path.to_owned()];
    let found = current(if is_read { files } else { &own });
    let mut file = read(path)?;
    for (list, _) in LISTS {
        let ours = config[list].as_array().cloned().unwrap_or_default();
        let entries = entries(&mut file, list);
        let replaces = |entry: &Value| ours.iter().find(|our| our["name"] == entry["name"]);
        let is_of_another =
            |entry: &&Value| replaces(entry).and_then(directory_of).is_some_and(|own| is_of_another(entry, own));
        if let Some(entry) = entries.iter().find(is_of_another) {
            return Err(refuse_other(path, entry));
        }
        entries.retain(|entry| replaces(entry).is_none());
        entries.extend(ours);
    }
    let own = &config["current-context"];
    let current = match found {
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

/// A context of a landscape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundContext {
    pub(crate) name: String,
    /// Server of its cluster.
    pub(crate) server: String,
    /// Directory of its landscape; `None` if the entry has none.
    pub(crate) directory: Option<PathBuf>,
}

/// Contexts of landscapes in a file.
pub(crate) fn contexts(path: &Path) -> Result<Vec<FoundContext>, Failure> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let mut file = read(path)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let clusters = entries(&mut file, "clusters").clone();
    let server =
        |name: &str| clusters.iter().find(|entry| entry["name"] == name).map(|entry| text(&entry["cluster"]["server"]));
    let contexts = entries(&mut file, "contexts").iter().map(|entry| FoundContext {
        name: text(&entry["name"]),
        server: server(&text(&entry["context"]["cluster"])).unwrap_or_default(),
        directory: directory_of(entry).map(Path::to_owned),
    });
    Ok(contexts.filter(|context| context.name.starts_with("terrarium-")).collect())
}

/// True if an entry of a file belongs to a landscape.
pub(crate) fn is_of(entry: &str, landscape: &str) -> bool {
    let rest = entry.strip_prefix("terrarium-").and_then(|entry| entry.strip_prefix(landscape));
    let is_of = |rest: &str| rest.is_empty() || rest.starts_with("-as-");
    rest.is_some_and(|rest| rest.starts_with("-seed-") || is_of(rest.strip_prefix("-runtime").unwrap_or(rest)))
}

/// Removes every entry of a landscape from a file; entries of another landscape with this name stay.
pub(crate) fn unmerge(path: &Path, landscape: &str, directory: &Path) -> Result<(), Failure> {
    let own = Directory::at(directory);
    let is_ours = |entry: &Value| directory_of(entry).is_none_or(|found| own.is(&Directory::at(found)));
    remove_if(path, |name, entry| is_of(name, landscape) && is_ours(entry))
}

/// Removes entries with these names from a file.
pub(crate) fn remove(path: &Path, names: &[&str]) -> Result<(), Failure> {
    remove_if(path, |name, _| names.contains(&name))
}

/// Removes entries from a file. A file without content is removed.
fn remove_if(path: &Path, is_ours: impl Fn(&str, &Value) -> bool) -> Result<(), Failure> {
    if !path.exists() {
        return Ok(());
    }
    let _held = hold(path);
    let mut file = read(path)?;
    let mut found = Vec::new();
    for (list, _) in LISTS {
        entries(&mut file, list).retain(|entry| {
            let name = entry["name"].as_str().filter(|name| is_ours(name, entry));
            found.extend(name.map(|name| (list, name.to_owned())));
            name.is_none()
        });
    }
    if found.is_empty() {
        return Ok(());
    }
    let current = file.get("current-context").and_then(Value::as_str);
    if current.is_some_and(|current| found.iter().any(|(list, name)| *list == "contexts" && name == current)) {
        file.insert("current-context".to_owned(), Value::String(String::new()));
    }
    // A link was created by a user, and is kept.
    if says_nothing(&file) && fs::symlink_metadata(path).is_ok_and(|file| file.is_file()) {
        return fs::remove_file(path)
            .map_err(|error| Failure::Failed(format!("cannot remove {}: {error}", path.display())));
    }
    write(path, file)
}

/// True if a file has no entries, no current context, and no unknown content.
fn says_nothing(file: &Map<String, Value>) -> bool {
    file.iter().all(|(key, value)| match key.as_str() {
        "apiVersion" | "kind" => true,
        "current-context" => value == "",
        list if LISTS.iter().any(|(known, _)| *known == list) => value.as_array().is_some_and(Vec::is_empty),
        _ => false,
    })
}

/// Locks the file against changes by other commands until the guard is dropped: two landscapes may start simultaneously.
/// The folder is locked, so that no lock file is left behind; if that is impossible, the last writer wins.
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
    // A device or a pipe may have no end.
    if fs::metadata(path).is_ok_and(|file| !file.is_file()) && place_of(path).is_some() {
        return Err(unreadable(path, "it is not a regular file"));
    }
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::input(format!("cannot read {}: {error}", path.display()), OTHER_FILE)),
    };
    if text.trim().is_empty() {
        let empty = json!({ "apiVersion": "v1", "kind": "Config" });
        return Ok(empty.as_object().cloned().unwrap_or_default());
    }
    match yaml::from_str(&text) {
        Ok(Value::Object(file)) => match unlike(&file) {
            None => Ok(file),
            Some(why) => Err(unreadable(path, &why)),
        },
        Ok(_) => Err(unreadable(path, "it is not a mapping")),
        Err(error) => Err(unreadable(path, &error.to_string())),
    }
}

/// Returns the first field that kubectl cannot read because of its type; `None`: there is none. A field without a value,
/// and an entry without one, are empty for kubectl.
fn unlike(file: &Map<String, Value>) -> Option<String> {
    let is_text = |value: &Value| value.is_null() || value.is_string();
    let is_map = |value: &Value| value.is_null() || value.is_object();
    if file.get("current-context").is_some_and(|name| !is_text(name)) {
        return Some("current-context is not a text".to_owned());
    }
    LISTS.into_iter().find_map(|(list, field)| {
        let entries = match file.get(list)? {
            Value::Null => return None,
            Value::Array(entries) => entries,
            _ => return Some(format!("{list} is not a list")),
        };
        entries.iter().enumerate().find_map(|(index, entry)| {
            let place = format!("{list}[{index}]");
            let of = |name: &str| entry.get(name).unwrap_or(&Value::Null);
            if !is_map(entry) {
                Some(format!("{place} is not a mapping"))
            } else if !is_text(of("name")) {
                Some(format!("{place}.name is not a text"))
            } else if !is_map(of(field)) {
                Some(format!("{place}.{field} is not a mapping"))
            } else {
                None
            }
        })
    })
}

fn unreadable(path: &Path, why: &str) -> Failure {
    Failure::input(format!("{} is not a kubeconfig: {why}", path.display()), OTHER_FILE)
}

const OTHER_FILE: &str = "name another file with --kubeconfig, or none with --kubeconfig ''";

fn write(path: &Path, file: Map<String, Value>) -> Result<(), Failure> {
    // A link is kept as a link.
    let Some(place) = place_of(path) else { return Ok(()) };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)
            .map_err(|error| Failure::input(format!("cannot make {}: {error}", folder.display()), OTHER_FILE))?;
    }
    let text = yaml(&Value::Object(file))?;
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
                scope.spawn(move || merge(path, &config(&format!("terrarium-{name}")), false, &[]).expect("written"));
            }
        });
        assert_eq!(contexts(&path).map(|found| found.len()), Ok(4));
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn merging_touches_nothing_else_and_unmerging_leaves_nothing() {
        let folder = std::env::temp_dir().join(format!("terrarium-kubeconfig-{}", std::process::id()));
        let path = folder.join("config");
        assert_eq!(merge(&path, &config("mine"), false, &[]), Ok(Current::IsOurs), "there was none");
        assert_eq!(merge(&path, &config("mine"), true, &[]), Ok(Current::WasOurs));
        let before = fs::read_to_string(&path).expect("there");
        for switch in [false, true] {
            let expected = if switch { Current::IsOurs } else { Current::OfOthers };
            assert_eq!(merge(&path, &config("terrarium-a"), switch, &[]), Ok(expected));
            let file = read(&path).expect("readable");
            assert_eq!(file["clusters"].as_array().map(Vec::len), Some(2), "replaced, not added twice");
            let current = if switch { "terrarium-a" } else { "mine" };
            assert_eq!(file["current-context"], current);
        }
        merge(&path, &config("terrarium-ab"), false, &[]).expect("written");
        unmerge(&path, "a", &folder).expect("written");
        let file = read(&path).expect("readable");
        assert_eq!(file["users"].as_array().map(Vec::len), Some(2), "another landscape's are another's");
        assert_eq!(file["current-context"], "");
        merge(&path, &config("mine"), true, &[]).expect("written");
        unmerge(&path, "ab", &folder).expect("written");
        assert_eq!(fs::read_to_string(&path).expect("there"), before);
        fs::remove_dir_all(folder).expect("removed");
    }

    /// `KUBECONFIG=own:prod`, where `own` is missing or has no current context.
    #[test]
    fn the_current_context_of_a_later_file_stays() {
        let folder = std::env::temp_dir().join(format!("terrarium-kubeconfig-files-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for temporary files");
        let (own, prod, other) = (folder.join("own"), folder.join("prod"), folder.join("other"));
        fs::write(&prod, "contexts: [{name: prod}]\ncurrent-context: prod\n").expect("ours");
        let files = [folder.join("missing"), own.clone(), prod];
        let merge = |path: &Path, switch: bool| merge(path, &config("terrarium-a"), switch, &files);
        for text in [None, Some(""), Some("current-context: ''\n")] {
            match text {
                Some(text) => fs::write(&own, text).expect("ours"),
                None => assert!(!own.exists()),
            }
            assert_eq!(merge(&own, false), Ok(Current::OfOthers), "{text:?}");
            assert_eq!(current(&files).as_deref(), Some("prod"), "{text:?}");
        }
        assert_eq!(merge(&other, false), Ok(Current::IsOurs), "kubectl does not read it together with the others");
        assert_eq!(merge(&own, true), Ok(Current::IsOurs));
        assert_eq!(current(&files).as_deref(), Some("terrarium-a"));
        assert_eq!(merge(&own, false), Ok(Current::WasOurs));
        fs::remove_dir_all(folder).expect("ours");
    }

    #[test]
    fn a_file_with_our_entries_only_is_removed() {
        let folder = std::env::temp_dir().join(format!("terrarium-empty-kubeconfig-{}", std::process::id()));
        let (path, link) = (folder.join("config"), folder.join("link"));
        let come_and_go = |path: &Path| {
            merge(path, &config("terrarium-a"), false, &[]).expect("written");
            unmerge(path, "a", &folder).expect("removed");
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

    /// A landscape's directory that contains only its facts.
    fn landscape(folder: &Path, name: &str) -> PathBuf {
        let facts = json!({
            "name": name, "gardenerVersion": "v1.120.0", "profile": "documents", "seed": 1, "seeds": 1,
            "startTime": "2023-07-27T20:00:00Z", "log": "sled", "durable": true, "port": 1,
        });
        fs::create_dir_all(folder).expect("a folder for temporary files");
        fs::write(folder.join("landscape.json"), facts.to_string()).expect("ours");
        folder.to_owned()
    }

    #[test]
    fn entries_of_another_directory_stay() {
        let folder = std::env::temp_dir().join(format!("terrarium-kubeconfig-of-two-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let (one, two) = (landscape(&folder.join("1"), "a"), landscape(&folder.join("2"), "a"));
        let path = folder.join("config");
        let of = |directory: &Path| {
            let extensions = json!([{ "name": EXTENSION, "extension": { "directory": directory } }]);
            json!({
                "clusters": [{ "name": "terrarium-a", "cluster": { "extensions": extensions } }],
                "contexts": [{ "name": "terrarium-a", "context": { "extensions": extensions } }],
                "users": [{ "name": "terrarium-a", "user": { "extensions": extensions } }],
                "current-context": "terrarium-a",
            })
        };
        assert_eq!(merge(&path, &of(&one), false, &[]), Ok(Current::IsOurs));
        let refused = check(&path, "a", &two).expect_err("it is of another landscape");
        assert!(refused.to_string().contains("/1") && refused.exit_code() == 2, "{refused}");
        assert_eq!(merge(&path, &of(&two), false, &[]).map_err(|it| it.exit_code()), Err(2));
        assert_eq!((check(&path, "a", &one), check(&path, "b", &two)), (Ok(()), Ok(())));
        unmerge(&path, "a", &two).expect("nothing is to be done");
        assert_eq!(contexts(&path).map(|found| found.len()), Ok(1));
        // Entries of a removed landscape can be overwritten.
        fs::remove_dir_all(&one).expect("ours");
        assert_eq!(check(&path, "a", &two), Ok(()));
        merge(&path, &of(&two), false, &[]).expect("written");
        unmerge(&path, "a", &two).expect("written");
        assert!(!path.exists());
        fs::remove_dir_all(folder).expect("ours");
    }

    #[test]
    fn fields_of_another_type_are_refused_and_kept() {
        let folder = std::env::temp_dir().join(format!("terrarium-kubeconfig-types-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for temporary files");
        let path = folder.join("config");
        for (text, why) in [
            ("clusters: 5\n", Some("clusters is not a list")),
            ("users: hello\n", Some("users is not a list")),
            ("contexts: [{name: a}, 5]\n", Some("contexts[1] is not a mapping")),
            ("contexts: [{name: 5}]\n", Some("contexts[0].name is not a text")),
            ("clusters: [{name: a, cluster: x}]\n", Some("clusters[0].cluster is not a mapping")),
            ("users: [{name: a, user: []}]\n", Some("users[0].user is not a mapping")),
            ("current-context: [a]\n", Some("current-context is not a text")),
            ("clusters:\nusers: []\ncontexts: [{name: a}]\ncurrent-context:\n", None),
        ] {
            fs::write(&path, text).expect("ours");
            let found = check(&path, "a", &folder).map_err(|failure| failure.to_string());
            let expected = why.map_or(Ok(()), |why| Err(format!("{} is not a kubeconfig: {why}", path.display())));
            assert_eq!(found, expected, "{text}");
            let merged = merge(&path, &config("terrarium-a"), false, &[]).map(drop);
            assert_eq!(merged.map_err(|failure| failure.exit_code()), why.map_or(Ok(()), |_| Err(2)), "{text}");
            assert_eq!(fs::read_to_string(&path).expect("there") == text, why.is_some(), "{text}");
        }
        fs::remove_dir_all(folder).expect("ours");
    }

    /// An endless device is not read; kubectl reads /dev/null as an empty file, and discards what it writes there.
    #[test]
    fn only_regular_files_are_kubeconfigs() {
        let folder = std::env::temp_dir().join(format!("terrarium-kubeconfig-device-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder for temporary files");
        let linked = |name: &str, to: &Path| {
            let link = folder.join(name);
            std::os::unix::fs::symlink(to, &link).expect("a link");
            link
        };
        fs::write(folder.join("file"), "contexts: []\n").expect("ours");
        for path in ["/dev/full".into(), "/dev/zero".into(), folder.clone(), linked("full", Path::new("/dev/full"))] {
            let refused = check(&path, "a", &folder).expect_err("refused");
            let what = format!("{} is not a kubeconfig: it is not a regular file", path.display());
            assert_eq!((refused.to_string(), refused.exit_code(), refused.hint()), (what, 2, OTHER_FILE));
            assert!(contexts(&path).is_err() && current(std::slice::from_ref(&path)).is_none(), "{}", path.display());
        }
        let null = PathBuf::from("/dev/null");
        for path in [null.clone(), linked("null", &null), linked("link", &folder.join("file"))] {
            assert_eq!(check(&path, "a", &folder), Ok(()), "{}", path.display());
            assert_eq!(contexts(&path), Ok(Vec::new()), "{}", path.display());
        }
        assert_eq!((place_of(&null), place_of(&folder.join("null"))), (None, None), "the device is not replaced");
        fs::remove_dir_all(folder).expect("ours");
    }

    #[test]
    fn files_that_cannot_be_written_are_found_before() {
        let folder = std::env::temp_dir().join(format!("terrarium-kubeconfig-check-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for temporary files");
        let file = folder.join("file");
        fs::write(&file, "[]").expect("ours");
        for path in [file.clone(), file.join("config"), folder.clone()] {
            assert_eq!(check(&path, "a", &folder).map_err(|it| it.exit_code()), Err(2), "{}", path.display());
        }
        assert_eq!(check(&folder.join("new/config"), "a", &folder), Ok(()));
        assert!(!folder.join("new").exists(), "nothing is made");
        let left = fs::read_dir(&folder).expect("ours").count();
        assert_eq!(left, 1, "nothing is left of the check");
        // /proc permits root to write, and refuses.
        let nowhere = check(Path::new("/proc/nosuch/config"), "a", &folder).expect_err("refused");
        assert_eq!((nowhere.exit_code(), nowhere.hint()), (2, OTHER_FILE), "{nowhere}");
        fs::remove_dir_all(folder).expect("ours");
    }
}
