// SPDX-License-Identifier: Apache-2.0
//! The directory of a landscape.
//!
//! | file | holds |
//! | --- | --- |
//! | `landscape.json` | [`Facts`]: what the landscape was created with, and where its pages are |
//! | `host.json` | [`HostFile`]: which process runs it and where it listens; gone when it was stopped |
//! | `lock` | held by the process that runs it, which it names ([`lock`]) |
//! | `pki/` | the authority of the landscape's certificates |
//! | `log/` | the event log |
//! | `host.log` | what the host process says |
//! | `demo` | there while a story of `up --demo` is told |

mod lock;

use std::fs::{self, File};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub(crate) use self::lock::{HOST, Held, Holder};
use crate::failure::Failure;
use crate::live::binaries::{ComponentForms, INSIDE};
use crate::live::retention::Retention;

/// What a landscape was created with.
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
    /// Kubernetes version of the clusters `runtime`, `garden` and of Seeds, without `v`; `None`: it was made before it could
    /// be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kubernetes_version: Option<String>,
    /// `documents` or `upstream`.
    pub(crate) profile: String,
    /// Seed of all randomness.
    pub(crate) seed: u64,
    /// Number of Seeds.
    pub(crate) seeds: u32,
    /// Number of gardener-apiservers at the beginning.
    #[serde(default = "two")]
    pub(crate) apiservers: u32,
    /// Whether gardener-operator makes the control plane; `None`: it was made before that could be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) operator: Option<bool>,
    /// What becomes of versions that must not run beside the others: `enforce`, `warn` or `off`; `None`: as usual in the
    /// profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) skew_enforcement: Option<String>,
    /// Whether components may go back to older versions.
    #[serde(default)]
    pub(crate) allow_downgrade: bool,
    /// Who may do what: `always-allow` or `rbac`; `None`: `rbac`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) authorization: Option<String>,
    /// Form of the components: `inside` or `processes`; `None`: the landscape is older than the choice, and has processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) components: Option<String>,
    /// Seconds of landscape time for which Events are kept; `None`: as usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) event_ttl: Option<i64>,
    /// Landscape time at the beginning.
    pub(crate) start_time: DateTime<Utc>,
    /// `sled` or `memory`.
    pub(crate) log: String,
    /// Whether acknowledged writes are synced.
    pub(crate) durable: bool,
    /// The host's port; 0 until it was chosen.
    pub(crate) port: u16,
    /// Where the host listens.
    #[serde(default = "loopback")]
    pub(crate) bind: IpAddr,
    /// Names under which the host is reached, beside the usual ones.
    #[serde(default)]
    pub(crate) san: Vec<String>,
    /// How much of the past is kept.
    #[serde(default)]
    pub(crate) history: Retention,
    /// Where its pages for browsers are; `None`: no command has asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dashboard: Option<PagesFile>,
    /// Whether it begins as a demo: days are to go by quickly, so gardenlets reconcile in maintenance windows only.
    #[serde(default)]
    pub(crate) demo: bool,
    /// Set: gone with the process that runs it, contexts in this kubeconfig included.
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

/// Where pages for browsers are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PagesFile {
    /// Host name, below `localhost`, that cannot be guessed: cookies know no ports.
    pub(crate) name: String,
    /// Port on the loopback device.
    pub(crate) port: u16,
}

/// A landscape that is gone with the process that runs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ephemeral {
    /// Where its contexts are.
    pub(crate) kubeconfig: Option<PathBuf>,
}

/// Reached from this machine only.
pub(crate) const fn loopback() -> IpAddr {
    IpAddr::V4(Ipv4Addr::LOCALHOST)
}

/// Landscapes that were made before it could be chosen.
const fn two() -> u32 {
    2
}

/// Which process runs a landscape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HostFile {
    /// Process id.
    pub(crate) pid: u32,
    /// `host:port`.
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
}

impl Directory {
    /// The one at a path.
    pub(crate) fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Where landscapes are, each in a folder of its name.
    pub(crate) fn parent(data_home: Option<&Path>) -> Result<PathBuf, Failure> {
        let home = match data_home.filter(|path| path.is_absolute()) {
            Some(path) => path.to_owned(),
            None => std::env::home_dir()
                .ok_or_else(|| Failure::input("there is no home directory", "name a folder with --data-dir"))?
                .join(".local/share"),
        };
        Ok(home.join("terrarium"))
    }

    /// Whether another path leads to it.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.real() == other.real()
    }

    /// Absolute path with all links resolved as far as the path exists.
    pub(crate) fn real(&self) -> PathBuf {
        let path = &self.path;
        fs::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.clone())
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A file or folder in it.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Fails if it holds anything that is no landscape's.
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
        // What is left where a start ended before it had made anything.
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

    /// Makes it, for its owner only.
    pub(crate) fn make(&self) -> Result<(), Failure> {
        let made = fs::create_dir_all(self.join("pki"))
            .and_then(|()| fs::set_permissions(&self.path, fs::Permissions::from_mode(0o700)));
        made.map_err(|error| self.failed("make", &error))
    }

    /// Says that there is no landscape in it.
    pub(crate) fn missing(&self) -> Failure {
        Failure::input(format!("there is no landscape in {}", self.path.display()), "`terrarium up` starts one")
    }

    /// Whether files can be made in its log.
    pub(crate) fn is_writable(&self) -> bool {
        rustix::fs::access(self.join("log"), rustix::fs::Access::WRITE_OK).is_ok()
    }

    /// Whether its log must be there: a host that had opened it has left traces.
    pub(crate) fn has_run(&self) -> bool {
        ["pki/ca.crt", "pki/ca.key", "clock"].iter().any(|name| self.join(name).exists())
    }

    /// True if a host of the landscape has listened, so that clients may have its keys.
    pub(crate) fn has_listened(&self) -> bool {
        self.join("clock").exists()
    }

    /// What the landscape was created with; `None`: there is none.
    pub(crate) fn facts(&self) -> Result<Option<Facts>, Failure> {
        self.read("landscape.json")
    }

    /// Says what the landscape is created with.
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

    /// The process that runs the landscape, if its file is there and it holds the lock.
    pub(crate) fn host(&self) -> Result<Option<HostFile>, Failure> {
        let host = self.read::<HostFile>("host.json")?;
        let Some(holder) = self.holder()? else { return Ok(None) };
        Ok(host.filter(|host| holder.pid.is_none_or(|pid| pid == host.pid)))
    }

    /// The process that runs the landscape begins to stop: it needs no further requests.
    pub(crate) fn remove_host(&self) {
        // It is removed when the directory is taken next, too.
        let _ = fs::remove_file(self.join("host.json"));
    }

    /// Says which process runs the landscape.
    pub(crate) fn write_host(&self, host: &HostFile) -> Result<(), Failure> {
        self.write_json("host.json", host)
    }

    /// Takes it and removes it; `role` says who does. One that is not there is removed already.
    pub(crate) fn remove(&self, role: &str) -> Result<(), Failure> {
        self.must_be_ours()?;
        match self.hold(role) {
            Ok(held) => self.purge(&held),
            Err(_) if !self.path.exists() => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// Removes it with everything in it, if it is a landscape's. Needs its lock.
    pub(crate) fn purge(&self, _held: &Held) -> Result<(), Failure> {
        self.must_be_ours()?;
        // Under another name first: a command that looks meanwhile finds the whole landscape or none.
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

    /// A text file in it; `None`: there is none.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, Failure> {
        match fs::read_to_string(self.join(name)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(&format!("read {name} in"), &error)),
        }
    }

    /// Writes a file that only its owner may read, whole or not at all.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        write_private(&self.join(name), text).map_err(|error| self.failed(&format!("write {name} in"), &error))
    }

    /// Adds lines to a file that only its owner may read.
    pub(crate) fn append(&self, name: &str, lines: &str) -> Result<(), Failure> {
        let file = File::options().create(true).append(true).mode(0o600).open(self.join(name));
        let written = file.and_then(|mut file| file.write_all(lines.as_bytes()).and_then(|()| file.sync_all()));
        written.map_err(|error| self.failed(&format!("write {name} in"), &error))
    }

    /// A file of JSON in it; `None`: there is none.
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

    /// Writes JSON as [`Directory::write_json`] unless the file exists; the first of several concurrent processes wins.
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

    /// Writes a file of JSON as [`Directory::write`].
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

/// Writes a file that only its owner may read, whole or not at all.
pub(crate) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    // Two processes may write one file: the last one wins, and neither finds the other's half.
    let aside = path.with_extension(format!("new-{}", std::process::id()));
    let mut file = File::options().create(true).truncate(true).write(true).mode(0o600).open(&aside)?;
    let written =
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&aside, path));
    if written.is_err() {
        let _ = fs::remove_file(&aside);
    }
    written
}
