// SPDX-License-Identifier: Apache-2.0
//! Certificate authorities of a landscape.
//!
//! | authority | signs | validity counts in |
//! | --- | --- | --- |
//! | that of the landscape ([`LandscapeAuthority`]) | the host's server certificate, components, our own commands | wall time |
//! | one for each of `garden`, `runtime`, `seed--NAME` ([`ClusterAuthorities`]) | users of that cluster | landscape time |
//!
//! Tokens of ServiceAccounts are signed with the key of the landscape's authority.
//!
//! The names of all authorities that a landscape has had are in `pki/made` ([`Made`]), and at each start in the facts of its
//! log, so that a lost authority is never created again silently.
//!
//! They are stored in the landscape's directory, so that kubeconfigs stay valid when the host is restarted. Their keys are
//! random: the seed of a landscape must not be sufficient to become its administrator. Authorities of shoots are objects of
//! the landscape, and derived from its seed.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use api::cluster::{self, ClusterName};
use chrono::{DateTime, TimeDelta, Utc};
use clock::Clock;
use eventlog::sled::SledLog;
use process::pki::{Authority, Badge, Key, Leaf, Pair, Validity};

use crate::failure::Failure;
use crate::live::directory::Directory;
use crate::live::up;

/// Lifetime of a user's certificate for a cluster, long enough for all advances of the clock.
const CLUSTER_LIFETIME: TimeDelta = TimeDelta::days(36_500);
const LIFETIME: TimeDelta = TimeDelta::days(3650);
/// Time before the current instant at which validity begins, since clocks of machines differ.
const BEFORE: TimeDelta = TimeDelta::hours(1);
/// Folder of the keys in a landscape's directory.
const FOLDER: &str = "pki";

/// Authority of a landscape. Cheap to clone.
#[derive(Clone)]
pub(crate) struct LandscapeAuthority {
    authority: Arc<Authority>,
    validity: Validity,
}

impl fmt::Debug for LandscapeAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LandscapeAuthority")
    }
}

impl LandscapeAuthority {
    /// Reads the authority of a directory.
    ///
    /// # Errors
    /// The certificate or key is missing or damaged.
    pub(crate) fn of(directory: &Directory) -> Result<Self, Failure> {
        let authority = Self::read(directory)?.ok_or_else(|| lost(directory, &Self::missing(directory)))?;
        Ok(Self::new(authority))
    }

    /// Reads the authority of a directory, or creates it if the landscape never had one. Only the process that holds the
    /// directory may call this.
    ///
    /// # Errors
    /// Those of [`LandscapeAuthority::of`].
    pub(crate) fn make(directory: &Directory) -> Result<Self, Failure> {
        let made = Made::of(directory)?;
        if let Some(authority) = Self::read(directory)? {
            made.note(Self::NAME)?;
            return Ok(Self::new(authority));
        }
        if made.has(Self::NAME) {
            return Err(lost(directory, &Self::missing(directory)));
        }
        let failed = |error: process::pki::PkiError| Failure::Failed(error.to_string());
        directory.make_key_folder()?;
        let authority = Authority::new("terrarium", Key::transport().map_err(failed)?, Self::validity());
        let authority = authority.map_err(failed)?;
        directory.write("pki/ca.crt", &authority.pair().certificate)?;
        directory.write("pki/ca.key", &authority.pair().key)?;
        made.note(Self::NAME)?;
        if directory.has_listened() {
            process::child::say("note: the landscape has new keys: kubeconfigs that were written before are refused");
        }
        Ok(Self::new(authority))
    }

    /// Name of the authority in the list of created ones.
    pub(crate) const NAME: &str = "ca";

    fn new(authority: Authority) -> Self {
        Self { authority: Arc::new(authority), validity: Self::validity() }
    }

    fn validity() -> Validity {
        let now = Clock::wall().now();
        Validity { not_before: now - BEFORE, not_after: now + LIFETIME }
    }

    /// Missing files of the authority.
    fn missing(directory: &Directory) -> Vec<&'static str> {
        ["pki/ca.crt", "pki/ca.key"].into_iter().filter(|name| !directory.join(name).exists()).collect()
    }

    /// Reads the authority's certificate and key in a directory; `None`: one of them is missing.
    ///
    /// # Errors
    /// One of them is unreadable, or they do not belong together.
    pub(crate) fn read(directory: &Directory) -> Result<Option<Authority>, Failure> {
        let (certificate, key) = (directory.text("pki/ca.crt")?, directory.text("pki/ca.key")?);
        let (Some(certificate), Some(key)) = (certificate, key) else { return Ok(None) };
        let read = Authority::from_pem(&certificate, &key);
        let path = |name: &str| directory.join(name).display().to_string();
        read.map(Some).map_err(|error| damaged(&[path("pki/ca.crt"), path("pki/ca.key")], &error))
    }

    /// Certificate of the authority, as PEM.
    pub(crate) fn certificate(&self) -> &str {
        &self.authority.pair().certificate
    }

    /// Returns the private key that signs tokens of ServiceAccounts, the authority's, PKCS #8 as DER.
    pub(crate) fn token_key(&self) -> Result<Vec<u8>, Failure> {
        let key = Key::from_pem(&self.authority.pair().key).map_err(|error| Failure::Failed(error.to_string()))?;
        Ok(key.der())
    }

    /// Issues a certificate for the host.
    pub(crate) fn server(&self, names: &[&str]) -> Result<Pair, Failure> {
        self.issue(Leaf::Server(names)).map_err(Failure::Failed)
    }

    /// Issues a certificate for a user.
    pub(crate) fn client(&self, user: &str, groups: &[&str]) -> Result<Pair, String> {
        self.issue(Leaf::Client(user, groups))
    }

    /// Issues a certificate for a component.
    pub(crate) fn component(&self, user: &str, groups: &[&str], badge: &Badge) -> Result<Pair, String> {
        self.issue(Leaf::Component(user, groups, badge))
    }

    fn issue(&self, leaf: Leaf<'_>) -> Result<Pair, String> {
        let key = Key::transport().map_err(|error| error.to_string())?;
        self.authority.issue(leaf, &key, self.validity).map_err(|error| error.to_string())
    }
}

/// Fact of the log: names of the authorities that the landscape had at its last start, one on each line.
const FACT: &str = "authorities";

/// Names of the authorities that a landscape has had; a missing one was lost, and is not created again.
pub(crate) struct Made<'a> {
    directory: &'a Directory,
    names: BTreeSet<String>,
    /// True if the landscape has listened, and the file of the names is missing or damaged.
    is_lost: bool,
}

impl<'a> Made<'a> {
    const FILE: &'static str = "pki/made";

    /// Line of the file that records that the landscape's authority was given up.
    const GIVEN_UP: &'static str = "-ca";

    /// Reads the names of a landscape.
    ///
    /// The file of a landscape that has listened has a line for the landscape's authority. Without it the file was lost or
    /// damaged, or the landscape is of an earlier version: the names are those of the log's facts, of the clusters with
    /// which each landscape begins, and of the existing files.
    pub(crate) fn of(directory: &'a Directory) -> Result<Self, Failure> {
        let text = directory.text(Self::FILE)?.unwrap_or_default();
        let (given_up, names): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| *line == Self::GIVEN_UP);
        let mut names: BTreeSet<String> = names.into_iter().map(str::to_owned).collect();
        let is_lost = given_up.is_empty() && !names.contains(LandscapeAuthority::NAME) && directory.has_listened();
        if is_lost {
            names.retain(|name| is_cluster(name));
            names.extend(Self::expected(directory)?);
        }
        Ok(Self { directory, names, is_lost })
    }

    /// Names of the authorities of a landscape that has listened, without the file of the names.
    fn expected(directory: &Directory) -> Result<BTreeSet<String>, Failure> {
        let mut names = BTreeSet::from([LandscapeAuthority::NAME.to_owned()]);
        let files = std::fs::read_dir(directory.join(FOLDER)).into_iter().flatten().filter_map(Result::ok);
        let files = files.filter_map(|file| file.file_name().into_string().ok());
        names.extend(files.filter_map(|file| Some(file.strip_suffix(".json")?.to_owned())));
        match noted(directory) {
            Some(noted) => names.extend(noted),
            None => names.extend(directory.facts()?.into_iter().flat_map(|facts| first_clusters(facts.seeds))),
        }
        names.retain(|name| name == LandscapeAuthority::NAME || is_cluster(name));
        Ok(names)
    }

    /// Writes the file of the names again if it was lost; returns a note about it. Writes nothing if the folder of the keys
    /// was lost as a whole, so that users can move a copy to its place. Only the process that holds the directory may call
    /// this.
    pub(crate) fn restore(&self) -> Result<Option<String>, Failure> {
        if !self.is_lost || !self.directory.join(FOLDER).exists() {
            return Ok(None);
        }
        let note = format!("{}: written again, with authorities {}", self.loss(), self.listed());
        self.directory.write(Self::FILE, &self.lines())?;
        Ok(Some(note))
    }

    /// Describes the loss of the file of the names; `None`: it is intact.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.is_lost.then(|| self.loss())
    }

    fn loss(&self) -> String {
        let path = self.directory.join(Self::FILE);
        let state = if path.exists() { "lacks the landscape's authority" } else { "is missing" };
        format!("{} {state}", path.display())
    }

    fn listed(&self) -> String {
        self.names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
    }

    /// Names, one on each line.
    fn lines(&self) -> String {
        self.names.iter().flat_map(|name| [name.as_str(), "\n"]).collect()
    }

    /// Returns the names as a fact of the log, in case their file is lost.
    pub(crate) fn fact(&self) -> (String, Vec<u8>) {
        (FACT.to_owned(), self.lines().into_bytes())
    }

    /// True if the landscape has had the authority.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Names without a file.
    pub(crate) fn lost(&self) -> Vec<&str> {
        let is_lost = |name: &&str| match *name {
            LandscapeAuthority::NAME => !LandscapeAuthority::missing(self.directory).is_empty(),
            cluster => !self.directory.join(&file_of(cluster)).exists(),
        };
        self.names.iter().map(String::as_str).filter(is_lost).collect()
    }

    /// Adds a name. A lost file is not written: [`Made::restore`] does, and finds the name by its authority's file.
    fn note(&self, name: &str) -> Result<(), Failure> {
        if self.is_lost || self.has(name) {
            return Ok(());
        }
        self.directory.append(Self::FILE, &format!("{name}\n"))
    }

    /// Removes names, so that their authorities are created again.
    pub(crate) fn forget(&self, names: &[String]) -> Result<(), Failure> {
        let kept = self.names.iter().filter(|name| !names.contains(name));
        let keeps_own =
            self.has(LandscapeAuthority::NAME) && !names.iter().any(|name| name == LandscapeAuthority::NAME);
        let given_up = (!keeps_own).then_some(Self::GIVEN_UP);
        let lines: Vec<&str> = kept.map(String::as_str).chain(given_up).flat_map(|name| [name, "\n"]).collect();
        self.directory.make_key_folder()?;
        self.directory.write(Self::FILE, &lines.concat())
    }
}

/// Names of the authorities that a landscape had at its last start or stop, by its log; `None`: it does not have them.
fn noted(directory: &Directory) -> Option<Vec<String>> {
    // Damaged facts are reported with the log.
    let noted = SledLog::facts_in(directory.join("log")).ok()?.remove(FACT)?;
    Some(String::from_utf8(noted).ok()?.lines().map(str::to_owned).collect())
}

/// Clusters whose authorities are created before a landscape first listens; `seeds`: number of its Seeds.
fn first_clusters(seeds: u32) -> Vec<String> {
    let seeds = up::seed_names(seeds).into_iter().map(|name| cluster::of_seed(&name));
    [cluster::RUNTIME.to_owned(), cluster::GARDEN.to_owned()].into_iter().chain(seeds).collect()
}

/// True if the landscape issues certificates for the users of the cluster with this name.
fn is_cluster(name: &str) -> bool {
    !matches!(ClusterName::parse(name), None | Some(ClusterName::Shoot(_)))
}

/// File of a cluster's authority.
fn file_of(cluster: &str) -> String {
    format!("pki/{cluster}.json")
}

/// Returns a failure with the missing keys, or their folder, and the remedy.
fn lost(directory: &Directory, names: &[impl AsRef<str>]) -> Failure {
    let files = || names.iter().map(AsRef::as_ref).collect();
    let names: Vec<&str> = if directory.join(FOLDER).exists() { files() } else { vec![FOLDER] };
    let names: Vec<String> = names.iter().map(|name| directory.join(name).display().to_string()).collect();
    let are = if names.len() == 1 { "is" } else { "are" };
    Failure::input(
        format!("{} {are} missing, and the landscape's kubeconfigs depend on it", names.join(" and ")),
        "restore it from a copy; `terrarium doctor --fix` has new keys made",
    )
}

/// Returns a failure for unusable keys, with the remedy.
fn damaged(paths: &[String], error: &process::pki::PkiError) -> Failure {
    let (it, copy) = if paths.len() == 1 { ("it", "a copy") } else { ("both", "the same copy") };
    Failure::input(
        format!("{}: {error}", paths.join(" and ")),
        format!("restore {it} from {copy}; `terrarium doctor --fix` has new keys made"),
    )
}

/// Creates a new authority by which servers behind a host recognize it, as PEM, and the host's own certificate. Both are
/// kept in memory until the host ends.
pub(crate) fn front_proxy(name: &str) -> Result<(String, Pair), Failure> {
    let now = Clock::wall().now();
    let validity = Validity { not_before: now - BEFORE, not_after: now + LIFETIME };
    let key = || Key::transport();
    let made = key().and_then(|own| Authority::new("terrarium-front-proxy", own, validity)).and_then(|authority| {
        let pair = authority.issue(Leaf::Client(name, &[]), &key()?, validity)?;
        Ok((authority.pair().certificate.clone(), pair))
    });
    made.map_err(|error| Failure::Failed(error.to_string()))
}

/// Authorities of the clusters except shoots. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ClusterAuthorities {
    directory: Directory,
    validity: Validity,
}

impl ClusterAuthorities {
    /// Returns the authorities of a directory, in a landscape that began at `start_time`.
    pub(crate) fn of(directory: &Directory, start_time: DateTime<Utc>) -> Self {
        let validity = Validity { not_before: start_time - BEFORE, not_after: start_time + CLUSTER_LIFETIME };
        Self { directory: directory.clone(), validity }
    }

    /// Creates the authorities that a landscape with this number of Seeds begins with, and those that it had at its last
    /// start, as far as they are missing. Returns the clusters of a landscape that has listened whose authorities are new:
    /// the ones before were given up. Only the process that holds the directory may call this.
    ///
    /// # Errors
    /// An authority is lost or damaged.
    pub(crate) fn make(&self, seeds: u32) -> Result<Vec<String>, Failure> {
        let mut clusters = first_clusters(seeds);
        let noted = noted(&self.directory).unwrap_or_default();
        let others = noted.into_iter().filter(|name| is_cluster(name) && !clusters.contains(name));
        let others: Vec<String> = others.collect();
        clusters.extend(others);
        let is_new = |cluster: &&String| !self.directory.join(&file_of(cluster)).exists();
        let new: Vec<String> = clusters.iter().filter(is_new).cloned().collect();
        for cluster in &clusters {
            self.authority(cluster)?;
        }
        Ok(if self.directory.has_listened() { new } else { Vec::new() })
    }

    /// Returns the authority of a cluster, by its name in paths, and creates it at first use. `None`: the landscape does not
    /// issue certificates for the cluster's users.
    pub(crate) fn authority(&self, cluster: &str) -> Result<Option<Authority>, Failure> {
        if !is_cluster(cluster) {
            return Ok(None);
        }
        let failed = |error: process::pki::PkiError| Failure::Failed(error.to_string());
        let (file, made) = (file_of(cluster), Made::of(&self.directory)?);
        if !self.directory.join(&file).exists() {
            if made.has(cluster) {
                return Err(lost(&self.directory, &[file]));
            }
            let key = Key::transport().map_err(failed)?;
            let authority = Authority::new(&format!("terrarium-{cluster}"), key, self.validity).map_err(failed)?;
            // Another process may create one at the same time: the first one counts, for both.
            self.directory.write_new_json(&file, authority.pair())?;
        }
        let Some(Pair { certificate, key }) = self.directory.read(&file)? else {
            return Err(lost(&self.directory, &[file]));
        };
        let read = Authority::from_pem(&certificate, &key);
        let read = read.map_err(|error| damaged(&[self.directory.join(&file).display().to_string()], &error))?;
        made.note(cluster)?;
        Ok(Some(read))
    }

    /// Certificate of a cluster's authority, as PEM.
    pub(crate) fn certificate(&self, cluster: &str) -> Result<Option<String>, Failure> {
        Ok(self.authority(cluster)?.map(|authority| authority.pair().certificate.clone()))
    }

    /// Issues a certificate for a user of a cluster; returns the authority's certificate as well.
    pub(crate) fn client(&self, cluster: &str, user: &str, groups: &[&str]) -> Result<(Pair, String), Failure> {
        let failed = |error: process::pki::PkiError| Failure::input(format!("user `{user}`: {error}"), "");
        let none = || {
            Failure::input(
                format!("cluster {cluster} has users of its own"),
                "`terrarium kubeconfig shoot/PROJECT/NAME` asks for one",
            )
        };
        let authority = self.authority(cluster)?.ok_or_else(none)?;
        let key = Key::transport().map_err(failed)?;
        let pair = authority.issue(Leaf::Client(user, groups), &key, self.validity).map_err(failed)?;
        Ok((pair, authority.pair().certificate.clone()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn directory(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("terrarium-keys-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        let directory = Directory::at(&path);
        directory.make().expect("a folder for temporary files");
        directory
    }

    #[test]
    fn keys_that_are_made_at_once_are_the_same() {
        let directory = directory("race");
        let make = || {
            let authorities = ClusterAuthorities::of(&directory, DateTime::UNIX_EPOCH + TimeDelta::days(1));
            authorities.certificate("garden").expect("made").expect("a cluster with users")
        };
        let made: BTreeSet<String> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..16).map(|_| scope.spawn(make)).collect();
            all.into_iter().map(|one| one.join().expect("made")).collect()
        });
        assert_eq!(made.len(), 1);
        let names = fs::read_dir(directory.join("pki")).expect("there").map(|file| file.expect("there").file_name());
        let names: BTreeSet<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
        assert_eq!(names, ["garden.json", "made"].map(str::to_owned).into());
        let _ = fs::remove_dir_all(directory.path());
    }

    #[test]
    fn clusters_with_new_keys_are_named_once() {
        let directory = directory("new");
        let authorities = ClusterAuthorities::of(&directory, DateTime::UNIX_EPOCH + TimeDelta::days(1));
        LandscapeAuthority::make(&directory).expect("a new landscape");
        assert_eq!(authorities.make(1), Ok(Vec::new()), "no kubeconfig was written before");
        authorities.authority("seed--later").expect("a new Seed");
        fs::write(directory.join("clock"), "").expect("written");
        fs::create_dir(directory.join("log")).expect("created");
        let log = SledLog::open(directory.join("log"), eventlog::sled::Options::default()).expect("a new log");
        log.set_facts([Made::of(&directory).expect("readable").fact()]).expect("written");
        drop(log);
        assert_eq!(authorities.make(1), Ok(Vec::new()));
        for given_up in [&["garden"][..], &["seed--later"], &["runtime", "seed--later"]] {
            let names: Vec<String> = given_up.iter().map(|name| (*name).to_owned()).collect();
            for name in &names {
                fs::remove_file(directory.join(&file_of(name))).expect("there");
            }
            assert!(authorities.make(1).is_err(), "{names:?} are lost, and not given up");
            Made::of(&directory).expect("readable").forget(&names).expect("written");
            assert_eq!(authorities.make(1), Ok(names));
            assert_eq!(authorities.make(1), Ok(Vec::new()), "said once");
        }
        let _ = fs::remove_dir_all(directory.path());
    }

    #[test]
    fn a_lost_list_of_authorities_is_restored() {
        let directory = directory("list");
        let authorities = ClusterAuthorities::of(&directory, DateTime::UNIX_EPOCH + TimeDelta::days(1));
        LandscapeAuthority::make(&directory).expect("a new landscape");
        for cluster in ["garden", "runtime", "seed--a"] {
            authorities.authority(cluster).expect("a new landscape");
        }
        assert_eq!(Made::of(&directory).expect("readable").restore(), Ok(None), "it is intact");
        fs::write(directory.join("clock"), "").expect("written");
        fs::create_dir(directory.join("log")).expect("created");
        let log = SledLog::open(directory.join("log"), eventlog::sled::Options::default()).expect("a new log");
        log.set_facts([Made::of(&directory).expect("readable").fact()]).expect("written");
        drop(log);
        let pem = fs::read(directory.join("pki/seed--a.json")).expect("there");
        for text in [None, Some(""), Some("c"), Some("garden\n")] {
            match text {
                None => fs::remove_file(directory.join("pki/made")).expect("there"),
                Some(text) => fs::write(directory.join("pki/made"), text).expect("written"),
            }
            fs::remove_file(directory.join("pki/seed--a.json")).expect("there");
            // Also before the list is written again.
            for _ in 0..2 {
                let refused = authorities.authority("seed--a").map(drop).expect_err("lost").to_string();
                assert!(refused.contains("pki/seed--a.json is missing"), "{text:?}: {refused}");
                authorities.authority("garden").expect("there");
                assert_eq!(Made::of(&directory).expect("readable").lost(), ["seed--a"], "{text:?}");
                let note = Made::of(&directory).expect("readable").restore().expect("written");
                let expected = "written again, with authorities ca, garden, runtime, seed--a";
                assert!(note.is_none_or(|note| note.contains("pki/made ") && note.ends_with(expected)), "{text:?}");
            }
            fs::write(directory.join("pki/seed--a.json"), &pem).expect("written");
            assert_eq!(Made::of(&directory).expect("readable").trouble(), None, "{text:?}");
            authorities.authority("seed--a").expect("there");
        }
        let _ = fs::remove_dir_all(directory.path());
    }

    #[test]
    fn a_key_of_another_certificate_is_refused() {
        let directory = directory("pair");
        LandscapeAuthority::make(&directory).expect("a new landscape");
        let key = Key::transport().expect("a key").pem();
        fs::write(directory.join("pki/ca.key"), key).expect("written");
        let refused = LandscapeAuthority::make(&directory).expect_err("not a pair");
        let text = refused.to_string();
        assert!(text.contains("pki/ca.crt and ") && text.contains("pki/ca.key: the key does not belong"), "{text}");
        assert_eq!(refused.hint(), "restore both from the same copy; `terrarium doctor --fix` has new keys made");
        let _ = fs::remove_dir_all(directory.path());
    }

    #[test]
    fn lost_keys_are_created_on_request_only() {
        let directory = directory("lost");
        let cluster = |directory: &Directory| {
            let authorities = ClusterAuthorities::of(directory, DateTime::UNIX_EPOCH + TimeDelta::days(1));
            authorities.certificate("garden")
        };
        assert!(LandscapeAuthority::of(&directory).is_err(), "a command makes no keys");
        let first = LandscapeAuthority::make(&directory).expect("a new landscape").certificate().to_owned();
        let garden = cluster(&directory).expect("a new landscape");
        let again = LandscapeAuthority::make(&directory).expect("they are there");
        assert_eq!((again.certificate(), cluster(&directory)), (first.as_str(), Ok(garden.clone())));
        for lost in [&["pki/ca.key"][..], &["pki/ca.crt"], &["pki/ca.crt", "pki/ca.key"]] {
            let kept: Vec<_> = lost.iter().map(|name| fs::read(directory.join(name)).expect("there")).collect();
            for name in lost {
                fs::remove_file(directory.join(name)).expect("there");
            }
            let refused = LandscapeAuthority::make(&directory).expect_err("lost").to_string();
            assert!(lost.iter().all(|name| refused.contains(name)), "{refused}");
            assert_eq!(Made::of(&directory).expect("readable").lost(), ["ca"]);
            lost.iter().zip(kept).for_each(|(name, bytes)| fs::write(directory.join(name), bytes).expect("written"));
        }
        fs::remove_file(directory.join("pki/garden.json")).expect("there");
        let refused = cluster(&directory).expect_err("lost").to_string();
        assert!(refused.contains("pki/garden.json is missing"), "{refused}");
        Made::of(&directory).expect("readable").forget(&["garden".to_owned()]).expect("written");
        assert_ne!(cluster(&directory).expect("made again"), garden);
        // A landscape that has not listened gets the folder again, too: no client has its keys.
        fs::remove_dir_all(directory.join("pki")).expect("there");
        let second = LandscapeAuthority::make(&directory).expect("a new landscape").certificate().to_owned();
        assert_ne!(second, first);
        // The folder is removed with all authorities and the file of their names; the clock shows that the landscape has run.
        fs::write(directory.join("clock"), "").expect("written");
        fs::remove_dir_all(directory.join("pki")).expect("there");
        assert_eq!(Made::of(&directory).expect("readable").restore(), Ok(None));
        let refused = LandscapeAuthority::make(&directory).expect_err("lost");
        assert!(refused.to_string().contains("pki is missing, and "), "{refused}");
        assert_eq!(refused.hint(), "restore it from a copy; `terrarium doctor --fix` has new keys made");
        assert!(!directory.join("pki").exists(), "a copy can take its place");
        Made::of(&directory).expect("readable").forget(&["ca".to_owned()]).expect("written");
        let again = LandscapeAuthority::make(&directory).expect("made again").certificate().to_owned();
        assert_ne!(again, second);
        let second = LandscapeAuthority::make(&directory).expect("complete").certificate().to_owned();
        assert!(Made::of(&directory).expect("readable").has("ca"));
        // An emptied or unreadable list of names is treated as missing.
        for text in ["", "c", "xxxxxxxxxxxxxxxxxxxxxxxx\n"] {
            fs::write(directory.join("pki/made"), text).expect("written");
            let kept = fs::read(directory.join("pki/ca.key")).expect("there");
            fs::remove_file(directory.join("pki/ca.key")).expect("there");
            assert!(LandscapeAuthority::make(&directory).is_err(), "{text:?}");
            fs::write(directory.join("pki/ca.key"), kept).expect("written");
            assert_eq!(LandscapeAuthority::make(&directory).expect("complete").certificate(), second);
        }
        let _ = fs::remove_dir_all(directory.path());
    }
}
