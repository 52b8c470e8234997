// SPDX-License-Identifier: Apache-2.0
//! The directory of a landscape.
//!
//! | file | content |
//! | --- | --- |
//! | `landscape.json` | [`Facts`]: creation parameters of the landscape, and address of its pages |
//! | `host.json` | [`HostFile`]: process that runs it, and its address; removed when it stops |
//! | `lock` | held by the process that runs the landscape; its id and role ([`lock`]) |
//! | `pki/` | the authority of the landscape's certificates |
//! | `log/` | the event log |
//! | `host.log` | output of the host process |
//! | `demo` | exists while a story of `up --demo` runs |

mod lock;

use std::fs::{self, File};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::{DateTime, Utc};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};

pub(crate) use self::lock::{HOST, Held, Holder, IS_HELD_BY};
use crate::failure::Failure;
use crate::live::binaries::{ComponentForms, INSIDE, PROCESSES};
use crate::live::retention::Retention;

/// Creation parameters of a landscape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Facts {
    /// Name of the landscape.
    pub(crate) name: String,
    /// Emulated version of Gardener, with `v`.
    pub(crate) gardener_version: String,
    /// Version at the last observation by a command; `None`: the version at creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gardener_found: Option<String>,
    /// Kubernetes version of the clusters `runtime`, `garden` and of Seeds, without `v`; `None`: the landscape is older
    /// than this option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kubernetes_version: Option<String>,
    /// Profile of the rules: `documents` or `upstream`.
    pub(crate) profile: String,
    /// Seed of all randomness.
    pub(crate) seed: u64,
    /// Number of Seeds.
    pub(crate) seeds: u32,
    /// Number of gardener-apiservers at the creation.
    #[serde(default = "two")]
    pub(crate) apiservers: u32,
    /// True if gardener-operator creates the control plane; `None`: the landscape is older than this option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) operator: Option<bool>,
    /// Treatment of versions that must not run together: `enforce`, `warn` or `off`; `None`: default of the profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) skew_enforcement: Option<String>,
    /// True if components may go back to older versions.
    #[serde(default)]
    pub(crate) allow_downgrade: bool,
    /// Authorization mode: `always-allow` or `rbac`; `None`: `rbac`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) authorization: Option<String>,
    /// Form of the components: `inside` or `processes`; `None`: the landscape is older than this option, and has processes.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "form_of_components")]
    pub(crate) components: Option<String>,
    /// Seconds of landscape time for which Events are kept; `None`: default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) event_ttl: Option<i64>,
    /// Landscape time at the creation.
    pub(crate) start_time: DateTime<Utc>,
    /// Storage of the log: `sled` or `memory`.
    pub(crate) log: String,
    /// True if acknowledged writes are synced.
    pub(crate) durable: bool,
    /// Port of the host; 0 before it is chosen.
    pub(crate) port: u16,
    /// Address on which the host listens.
    #[serde(default = "loopback")]
    pub(crate) bind: IpAddr,
    /// Names of the host in addition to the default ones.
    #[serde(default)]
    pub(crate) san: Vec<String>,
    /// Amount of the past that is kept.
    #[serde(default)]
    pub(crate) history: Retention,
    /// Address of its pages for browsers; `None`: no command has requested them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dashboard: Option<PagesFile>,
    /// True if it was created as a demo: days pass quickly, so gardenlets reconcile in maintenance windows only.
    #[serde(default)]
    pub(crate) demo: bool,
    /// Set for an ephemeral landscape, which is removed with its process, including its contexts in this kubeconfig.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ephemeral: Option<Ephemeral>,
}

impl Facts {
    /// True if components run as tasks of the host's process.
    pub(crate) fn is_inside(&self) -> bool {
        self.components.as_deref() == Some(INSIDE)
    }

    /// Last known emulated version of Gardener.
    pub(crate) fn gardener(&self) -> &str {
        self.gardener_found.as_deref().unwrap_or(&self.gardener_version)
    }
}

/// Address of the pages for browsers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PagesFile {
    /// Host name below `localhost` that cannot be guessed: cookies are not separated by port.
    pub(crate) name: String,
    /// Port on the loopback device.
    pub(crate) port: u16,
}

/// An ephemeral landscape, which is removed with the process that runs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ephemeral {
    /// Kubeconfig with its contexts.
    pub(crate) kubeconfig: Option<PathBuf>,
}

/// Address that is reachable from this machine only.
pub(crate) const fn loopback() -> IpAddr {
    IpAddr::V4(Ipv4Addr::LOCALHOST)
}

/// Default for landscapes that are older than this option.
const fn two() -> u32 {
    2
}

/// Reads a form of components, which must be a known one.
fn form_of_components<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    let form = Option::<String>::deserialize(value)?;
    match form.as_deref() {
        None | Some(INSIDE | PROCESSES) => Ok(form),
        Some(other) => {
            Err(D::Error::custom(format!("components: {other:?} is no form: expected {INSIDE} or {PROCESSES}")))
        }
    }
}

/// Process that runs a landscape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HostFile {
    /// Process id.
    pub(crate) pid: u32,
    /// Address of the server, `host:port`.
    pub(crate) address: String,
    /// Version of the program.
    pub(crate) program: String,
    /// Form in which components run.
    #[serde(default)]
    pub(crate) components: ComponentForms,
}

/// The directory of a landscape.
#[derive(Clone, Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    /// Options of a command that selects it, each after a space.
    options: String,
}

impl Directory {
    /// Returns the directory at a path.
    pub(crate) fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), options: String::new() }
    }

    /// Returns the directory with the options of a command that selects it, each after a space.
    pub(in crate::live) fn selected_by(self, options: String) -> Self {
        Self { options, ..self }
    }

    /// Formats a command for this landscape as its user would type it, with the options that select the landscape if
    /// needed.
    pub(in crate::live) fn hint(&self, command: &str) -> String {
        format!("{command}{}", self.options)
    }

    /// Parent folder of landscapes, each in a folder of its name.
    pub(crate) fn parent(data_home: Option<&Path>) -> Result<PathBuf, Failure> {
        let home = match data_home.filter(|path| path.is_absolute()) {
            Some(path) => path.to_owned(),
            None => std::env::home_dir()
                .ok_or_else(|| Failure::input("there is no home directory", "name a folder with --data-dir"))?
                .join(".local/share"),
        };
        Ok(home.join("terrarium"))
    }

    /// True if another path leads to the same directory.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.real() == other.real()
    }

    /// Absolute path with all links resolved as far as the path exists.
    pub(crate) fn real(&self) -> PathBuf {
        let path = &self.path;
        fs::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.clone())
    }

    /// Path of the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of a file or folder in the directory.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Fails if the directory contains files that do not belong to a landscape.
    pub(crate) fn must_be_ours(&self) -> Result<(), Failure> {
        let entries = match fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                let what = format!("{} cannot be a landscape's directory: {error}", self.path.display());
                return Err(Failure::input(what, "name another folder with --data-dir"));
            }
        };
        let names: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.file_name()).collect();
        // Files of a start that ended before it had created a landscape.
        let is_ours = |name: &str| {
            ["lock", "pki", "host.log", "landscape.json"].contains(&name) || name.starts_with("landscape.new-")
        };
        if names.iter().all(|name| name.to_str().is_some_and(is_ours))
            || names.iter().any(|name| name == "landscape.json")
        {
            return Ok(());
        }
        let what = format!("{} is not empty and holds no landscape", self.path.display());
        Err(Failure::input(what, "name an empty folder with --data-dir, or none"))
    }

    /// Creates the directory, for its owner only.
    pub(crate) fn make(&self) -> Result<(), Failure> {
        let made = fs::create_dir_all(self.join("pki"))
            .and_then(|()| fs::set_permissions(&self.path, fs::Permissions::from_mode(0o700)));
        made.map_err(|error| self.failed("make", &error))
    }

    /// Creates the folder of the keys again if it was lost as a whole. Unlike [`Directory::make`] it does not create the
    /// directory.
    pub(crate) fn make_key_folder(&self) -> Result<(), Failure> {
        match fs::create_dir(self.join("pki")) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(self.failed("make pki in", &error)),
            _ => Ok(()),
        }
    }

    /// Returns the failure that there is no landscape in the directory.
    pub(crate) fn missing(&self) -> Failure {
        Failure::input(format!("there is no landscape in {}", self.path.display()), "`terrarium up` starts one")
    }

    /// True if files can be created in its log.
    pub(crate) fn is_writable(&self) -> bool {
        rustix::fs::access(self.join("log"), rustix::fs::Access::WRITE_OK).is_ok()
    }

    /// True if its log must exist: a host that had opened it has left traces.
    pub(crate) fn has_run(&self) -> bool {
        ["pki/ca.crt", "pki/ca.key", "clock"].iter().any(|name| self.join(name).exists())
    }

    /// True if a host of the landscape has listened, so that clients may have its keys.
    pub(crate) fn has_listened(&self) -> bool {
        self.join("clock").exists()
    }

    /// Reads the creation parameters of the landscape; `None`: there is none.
    pub(crate) fn facts(&self) -> Result<Option<Facts>, Failure> {
        self.read("landscape.json")
    }

    /// Writes the creation parameters of the landscape.
    pub(crate) fn write_facts(&self, facts: &Facts) -> Result<(), Failure> {
        self.write_json("landscape.json", facts)
    }

    /// Records the version of Gardener for commands that read it while the landscape is stopped.
    pub(crate) fn found_gardener(&self, version: &str) -> Result<(), Failure> {
        match self.facts()? {
            Some(facts) if facts.gardener() != version => {
                self.write_facts(&Facts { gardener_found: Some(version.to_owned()), ..facts })
            }
            _ => Ok(()),
        }
    }

    /// Returns the process that runs the landscape, if its file exists and it holds the lock.
    pub(crate) fn host(&self) -> Result<Option<HostFile>, Failure> {
        let host = self.read::<HostFile>("host.json")?;
        let Some(holder) = self.holder()? else { return Ok(None) };
        Ok(host.filter(|host| holder.pid.is_none_or(|pid| pid == host.pid)))
    }

    /// Removes the host's file when the host begins to stop, so that no command sends it further requests.
    pub(crate) fn remove_host(&self) {
        // It is also removed when the directory is taken the next time.
        let _ = fs::remove_file(self.join("host.json"));
    }

    /// Writes the process that runs the landscape.
    pub(crate) fn write_host(&self, host: &HostFile) -> Result<(), Failure> {
        self.write_json("host.json", host)
    }

    /// Takes the lock and removes the directory; `role`: purpose of the lock. A missing directory counts as removed.
    pub(crate) fn remove(&self, role: &str) -> Result<(), Failure> {
        self.must_be_ours()?;
        match self.hold(role) {
            Ok(held) => self.purge(&held),
            Err(_) if !self.path.exists() => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// Removes the directory with all its contents, if it belongs to a landscape. Requires its lock.
    pub(crate) fn purge(&self, _held: &Held) -> Result<(), Failure> {
        self.must_be_ours()?;
        // It is renamed first: concurrent commands see either the whole landscape or none.
        let mut name = std::ffi::OsString::from(".removed-");
        name.push(std::process::id().to_string());
        name.push(self.path.file_name().unwrap_or_default());
        let aside = self.path.with_file_name(name);
        let place = if fs::rename(&self.path, &aside).is_ok() { &aside } else { &self.path };
        match fs::remove_dir_all(place) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.failed("remove", &error)),
            _ => Ok(()),
        }
    }

    /// Reads a text file in the directory; `None`: there is none.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, Failure> {
        match fs::read_to_string(self.join(name)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(&format!("read {name} in"), &error)),
        }
    }

    /// Writes a file that only its owner may read, completely or not at all.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        write_private(&self.join(name), text).map_err(|error| self.failed(&format!("write {name} in"), &error))
    }

    /// Appends lines to a file that only its owner may read.
    pub(crate) fn append(&self, name: &str, lines: &str) -> Result<(), Failure> {
        let file = File::options().create(true).append(true).mode(0o600).open(self.join(name));
        let written = file.and_then(|mut file| file.write_all(lines.as_bytes()).and_then(|()| file.sync_all()));
        written.map_err(|error| self.failed(&format!("write {name} in"), &error))
    }

    /// Reads a JSON file in the directory; `None`: there is none.
    pub(in crate::live) fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Failure> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        serde_json::from_str(&text).map(Some).map_err(|error| {
            Failure::input(
                format!("{}: {error}", self.join(name).display()),
                match name {
                    "landscape.json" => {
                        "restore it from a copy; `terrarium doctor --fix` writes it again from what the log says"
                    }
                    name if name.starts_with("pki/") => {
                        "restore it from a copy; `terrarium doctor --fix` has new keys made"
                    }
                    _ => "it is damaged, or of another version: `terrarium doctor` says more",
                },
            )
        })
    }

    /// Writes JSON like [`Directory::write_json`] unless the file exists; the first of several concurrent processes wins.
    pub(in crate::live) fn write_new_json(&self, name: &str, value: &impl Serialize) -> Result<(), Failure> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let aside = format!("{name}-{}-{number}.new", std::process::id());
        self.write_json(&aside, value)?;
        let linked = fs::hard_link(self.join(&aside), self.join(name));
        let _ = fs::remove_file(self.join(&aside));
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(self.failed(&format!("write {name} in"), &error))
            }
            _ => Ok(()),
        }
    }

    /// Writes a JSON file like [`Directory::write`].
    pub(in crate::live) fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value).map_err(|error| Failure::Failed(error.to_string()))?;
        self.write(name, &format!("{text}\n"))
    }

    /// Removes a file in the directory; a missing file is no error.
    pub(crate) fn remove_file(&self, name: &str) -> Result<(), Failure> {
        match fs::remove_file(self.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.failed(&format!("remove {name} in"), &error))
            }
            _ => Ok(()),
        }
    }

    fn failed(&self, what: &str, error: &io::Error) -> Failure {
        Failure::Failed(format!("cannot {what} {}: {error}", self.path.display()))
    }
}

/// Writes a file that only its owner may read, completely or not at all.
pub(crate) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    // Two processes may write one file: the last one wins, and neither sees a partial file of the other.
    let aside = path.with_extension(format!("new-{}", std::process::id()));
    let mut file = File::options().create(true).truncate(true).write(true).mode(0o600).open(&aside)?;
    let written =
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&aside, path));
    if written.is_err() {
        let _ = fs::remove_file(&aside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_form_of_components_is_refused() {
        let path = std::env::temp_dir().join(format!("terrarium-facts-{}", std::process::id()));
        let directory = Directory::at(&path);
        directory.make().expect("a folder for temporary files");
        let facts = |components: &str| {
            let text = format!(
                "{{\"name\": \"a\", \"gardenerVersion\": \"v1.120.0\", \"profile\": \"documents\", \"seed\": 1, \
                 \"seeds\": 1, {components}\"startTime\": \"2023-07-27T20:00:00Z\", \"log\": \"sled\", \"durable\": true, \
                 \"port\": 1}}"
            );
            directory.write("landscape.json", &text).expect("ours");
            directory.facts().map(|facts| facts.expect("there").is_inside())
        };
        for (components, expected) in [
            ("", false),
            ("\"components\": null, ", false),
            ("\"components\": \"processes\", ", false),
            ("\"components\": \"inside\", ", true),
        ] {
            assert_eq!(facts(components), Ok(expected), "{components}");
        }
        for other in ["", "Inside", "process"] {
            let refused = facts(&format!("\"components\": \"{other}\", ")).expect_err("it is unknown");
            let (file, text) = (path.join("landscape.json"), refused.to_string());
            let begin = format!("{}: components: {other:?} is no form: expected inside or processes", file.display());
            assert!(text.starts_with(&begin), "{text}");
            assert!(refused.exit_code() == 2 && refused.hint().starts_with("restore it from a copy"), "{refused:?}");
        }
        fs::remove_dir_all(path).expect("ours");
    }
}
