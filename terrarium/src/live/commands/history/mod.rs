// SPDX-License-Identifier: Apache-2.0
//! Log of a landscape, running or stopped, and the API over it.
//!
//! | landscape | log | API |
//! | --- | --- | --- |
//! | running | the host's, over HTTPS, as administrator | the host's |
//! | stopped | its directory, held while it is open | servers in this process over that log |
//!
//! **Invariants.** Nothing is appended. Entries are read in pieces, so that a long history needs little memory. Opening the
//! log of a stopped landscape performs the same recovery as `up`: unacknowledged entries are removed.
//!
//! **Tour.** [`Past`] the log. Formatting of entries is in [`ops::history`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use api::cluster;
use chrono::{DateTime, Utc};
use clock::{Clock, Random, SimulatedClock};
use eventlog::{Entry, EventLog, ReadError, Revision, Snapshot, Subscription};
use eventlog_remote::{Options, Remote};
use generic_apiserver::Foundation;
use host::Host;
use http_body_util::BodyExt;
use process::https::Lasting;
use process::{Tasks, Transport, User};

use crate::failure::Failure;
use crate::live::ask::kinds;
use crate::live::bootstrap;
use crate::live::client::{Client, note_usual};
use crate::live::clock_file::time;
use crate::live::directory::{Directory, Facts, Held};
use crate::live::host::{Log, recovered};
use ops::history::entry::tree;
use ops::instant::{Place, When};
use ops::names::clusters::NamedCluster;
use ops::names::shoots::{self, ShootName};
use ops::past::moment::{self, NoMoment};

/// Number of revisions in one read.
const PIECE: u64 = 2048;
/// Maximum number of attempts of a request for the log.
const ATTEMPTS: u32 = 3;

/// The log of a landscape and the API over it.
pub(crate) struct Past {
    pub(crate) facts: Facts,
    pub(crate) transport: Transport,
    /// Current landscape time.
    pub(crate) now: DateTime<Utc>,
    source: Source,
}

enum Source {
    /// The landscape runs.
    Host(Box<Client>, Remote),
    /// The landscape is stopped, and its directory is held.
    Own(Log, Option<Box<Held>>, Tasks),
}

impl fmt::Debug for Past {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Past({})", self.facts.name)
    }
}

impl Past {
    /// Opens the log of a directory's landscape. The caller must [close](Past::close) it.
    ///
    /// # Errors
    /// There is no landscape, its log is in use or damaged, or its log was in memory.
    pub(crate) async fn open(directory: &Directory) -> Result<Self, Failure> {
        if directory.host()?.is_some() {
            let client = Client::of(directory)?;
            let remote = remote(&client.transport());
            let now = client.clock().await?.now;
            return Ok(Self {
                facts: client.facts.clone(),
                transport: client.transport(),
                now,
                source: Source::Host(Box::new(client), remote),
            });
        }
        let facts = directory.facts()?.ok_or_else(|| directory.missing())?;
        if facts.log == "memory" {
            let what = format!("landscape {} does not run, and had its log in memory", facts.name);
            return Err(Failure::input(
                what,
                "`terrarium up` starts it with an empty log; --log sled keeps its history",
            ));
        }
        // A directory without write permission is read without a lock.
        let (log, held) = match directory.hold("reads the log") {
            Ok(held) => match Log::open(directory, &facts, true) {
                Err(Failure::Input { .. }) if !directory.is_writable() => (Log::open_read_only(directory)?, None),
                log => (log?, Some(held)),
            },
            Err(Failure::Input { .. }) => (Log::open_read_only(directory)?, None),
            Err(failure) => return Err(failure),
        };
        let now = time(directory)?.unwrap_or(facts.start_time).max(facts.start_time).max(log.last_time());
        let tasks = Tasks::new();
        let transport = serve(&facts, &log, now, &tasks)?;
        Ok(Self { facts, transport, now, source: Source::Own(log, held.map(Box::new), tasks) })
    }

    /// True if the landscape runs.
    pub(crate) fn runs(&self) -> bool {
        matches!(self.source, Source::Host(..))
    }

    /// The landscape's client, if it runs.
    pub(crate) fn client(&self) -> Option<&Client> {
        match &self.source {
            Source::Host(client, _) => Some(client),
            Source::Own(..) => None,
        }
    }

    fn log(&self) -> Arc<dyn EventLog> {
        match &self.source {
            Source::Host(_, remote) => Arc::new(remote.clone()),
            Source::Own(log, ..) => log.events(),
        }
    }

    /// Returns the revision of the last entry.
    pub(crate) async fn head(&self) -> Result<Revision, Failure> {
        match &self.source {
            Source::Host(_, remote) => remote.fetch_head().await.map_err(|error| self.refused(error)),
            Source::Own(log, ..) => Ok(log.events().head()),
        }
    }

    /// Returns the revision up to which history is compacted; 0 if all of it is retained.
    pub(crate) async fn base(&self) -> Result<Revision, Failure> {
        moment::base(&*self.log()).await.map_err(|error| self.no_moment(error))
    }

    /// Returns all objects at a revision.
    pub(crate) async fn state_at(&self, revision: Revision) -> Result<Snapshot, Failure> {
        self.log().state_at(revision).await.map_err(|error| self.refused(error))
    }

    /// Passes the entries with `from < revision <= to` to a callback, in order, until it returns false.
    pub(crate) async fn each(
        &self,
        from: Revision,
        to: Revision,
        cluster: Option<&str>,
        mut each: impl FnMut(&Entry) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let (log, mut at) = (self.log(), from);
        while at < to {
            let end = Revision(to.0.min(at.0.saturating_add(PIECE)));
            for entry in log.read(at, end, cluster).await.map_err(|error| self.refused(error))? {
                if !each(&entry)? {
                    return Ok(());
                }
            }
            at = end;
        }
        Ok(())
    }

    /// Returns a cluster by its usual name, also one that exists only in the log; prints the name of a Shoot that was given
    /// in another form.
    ///
    /// # Errors
    /// Neither the landscape nor its log has the cluster.
    pub(crate) async fn cluster(&self, given: &NamedCluster) -> Result<NamedCluster, Failure> {
        let usual = match given {
            NamedCluster::Shoot(shoot) => NamedCluster::Shoot(self.shoot(shoot).await?),
            other => other.clone(),
        };
        let Err(unknown) = usual.must_exist(&self.transport).await else { return Ok(usual) };
        let mut is_known = false;
        self.each(self.base().await?, self.head().await?, Some(&usual.logical()), |_| {
            is_known = true;
            Ok(false)
        })
        .await?;
        if is_known { Ok(usual) } else { Err(unknown.into()) }
    }

    /// Returns the usual name of a Shoot by the Projects of the landscape, or else of its log; prints it if another form was
    /// given.
    async fn shoot(&self, given: &ShootName) -> Result<ShootName, Failure> {
        // If gardener-apiserver does not respond, the Projects are read from the log.
        let current = shoots::projects(&self.transport).await.unwrap_or_default();
        let usual = match given.usual_among(&current) {
            Some(usual) => usual,
            None => given.usual_among(&self.all_projects().await?).unwrap_or_else(|| given.clone()),
        };
        note_usual(given, &usual);
        Ok(usual)
    }

    /// Returns Projects and their namespaces, by the entries of the log.
    pub(crate) async fn all_projects(&self) -> Result<Vec<(String, String)>, Failure> {
        let resource = kinds::find(cluster::GARDEN, "projects")?.log_resource();
        let mut found = BTreeMap::new();
        self.each(self.base().await?, self.head().await?, Some(cluster::GARDEN), |entry| {
            if *entry.key.resource == *resource {
                let project = tree(&entry.object, entry.revision.0);
                let namespace = project["spec"]["namespace"].as_str().unwrap_or_default();
                found.insert(entry.key.name.to_string(), namespace.to_owned());
            }
            Ok(true)
        })
        .await?;
        Ok(found.into_iter().collect())
    }

    /// Subscribes to the entries after a revision.
    pub(crate) fn follow(&self, from: Revision, cluster: Option<&str>) -> Result<Subscription, Failure> {
        self.log().subscribe(from, cluster).map_err(|error| self.refused(error))
    }

    /// Returns the revision of a place: for an instant that of the last entry at or before it.
    pub(crate) async fn find(&self, place: Place) -> Result<Revision, Failure> {
        let head = self.head().await?;
        moment::find(&*self.log(), head, place, self.now).await.map_err(|error| self.no_moment(error))
    }

    /// Returns the range of entries between two places, both of which it includes, for [`Past::each`]; by default it is all
    /// that is retained.
    pub(crate) async fn range(
        &self,
        since: Option<Place>,
        until: Option<Place>,
    ) -> Result<(Revision, Revision), Failure> {
        let from = match since {
            None => self.base().await?,
            Some(Place::Revision(revision)) => {
                self.find(Place::Revision(revision)).await.map(|found| Revision(found.0.saturating_sub(1)))?
            }
            Some(Place::At(when)) => {
                let instant = When::At(when.before(self.now) - chrono::TimeDelta::nanoseconds(1));
                self.find(Place::At(instant)).await?
            }
        };
        let to = match until {
            None => self.head().await?,
            Some(place) => self.find(place).await?,
        };
        Ok((from.max(self.base().await?), to))
    }

    /// Returns the instant of a place: for a revision that of its entry, or of the last one before it.
    pub(crate) async fn time_of(&self, place: Place, revision: Revision) -> Result<DateTime<Utc>, Failure> {
        if let Place::At(when) = place {
            return Ok(when.before(self.now));
        }
        let time = moment::time_at(&*self.log(), revision).await.map_err(|error| self.no_moment(error))?;
        Ok(time.unwrap_or(self.facts.start_time))
    }

    /// Compacts history up to a revision.
    pub(crate) async fn compact(&self, revision: Revision) -> Result<(), Failure> {
        self.log().compact(revision).await.map_err(|error| self.refused(error))
    }

    /// Messages about the recovery of a log that was not closed cleanly.
    pub(crate) fn recovered(&self) -> Vec<String> {
        match &self.source {
            Source::Own(Log::Sled(log), ..) => recovered(log.recovery()),
            Source::Host(..) | Source::Own(..) => Vec::new(),
        }
    }

    /// Closes the log.
    pub(crate) async fn close(self) -> Result<(), Failure> {
        if let Source::Own(log, _held, tasks) = self.source {
            tasks.stop();
            tasks.ended().await;
            log.close().await?;
        }
        Ok(())
    }

    fn no_moment(&self, error: NoMoment) -> Failure {
        match error {
            NoMoment::Forgotten(oldest) => self.refused(ReadError::Compacted(oldest)),
            NoMoment::RevisionToCome(head) => self.refused(ReadError::Future(head)),
            NoMoment::Closed => self.refused(ReadError::Closed),
            NoMoment::InstantToCome(instant) => {
                let shown = |instant: DateTime<Utc>| instant.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true);
                let hint = format!("the clock is at {}", shown(self.now));
                Failure::input(format!("{} is still to come", shown(instant)), hint)
            }
        }
    }

    fn refused(&self, error: ReadError) -> Failure {
        match error {
            ReadError::Compacted(oldest) => Failure::input(
                format!("the log of landscape {} does not go back that far", self.facts.name),
                format!("the oldest revision is {oldest}"),
            ),
            ReadError::Future(head) => {
                Failure::input("that revision is still to come", format!("the last one is {head}"))
            }
            ReadError::Closed => Failure::Failed(format!(
                "the log of landscape {} does not answer: see `terrarium logs host`",
                self.facts.name
            )),
        }
    }
}

/// Returns the log of a running host.
fn remote(transport: &Transport) -> Remote {
    let transport = transport.clone();
    let send = move |request: http::Request<http_body_util::Full<bytes::Bytes>>| {
        let mut request = request.map(|body| body.map_err(|never| match never {}).boxed_unsync());
        // A piece of history is read from the disk before its response begins.
        request.extensions_mut().insert(Lasting);
        transport.send(request)
    };
    Remote::new(send, Clock::wall(), Options { attempts: ATTEMPTS, ..Options::default() })
}

/// Serves a log without a host.
fn serve(facts: &Facts, log: &Log, now: DateTime<Utc>, tasks: &Tasks) -> Result<Transport, Failure> {
    let clock = Clock::new(SimulatedClock::new(now));
    let foundation = |writer| Foundation {
        log: log.events(),
        clock: clock.clone(),
        wall: Clock::wall(),
        random: Random::new(facts.seed),
        writer,
        recent_bytes: generic_apiserver::RECENT_BYTES,
    };
    let host = Host::new(foundation(1), tasks);
    let aggregated = apiserver::service(foundation(2), &bootstrap::apiserver_options(facts)?);
    aggregated.start(tasks);
    host.aggregate(Some(aggregated));
    let groups = vec!["system:masters".into(), "system:authenticated".into()];
    Ok(host.transport(User { name: "admin".into(), groups, component: None }))
}

#[cfg(test)]
mod tests {
    use controller_manager::{
        binding, bootstrap, cloud_profile, controller_installation, project, project_activity, protection, seed_checks,
        seed_lifecycle, seed_secrets, shoot_hibernation, shoot_maintenance, shoot_quota, shoot_retry,
        shoot_status_label,
    };
    use ops::history::writers;

    #[test]
    fn controllers_are_named_in_entries() {
        for name in [
            binding::CREDENTIALS_BINDING,
            binding::SECRET_BINDING,
            cloud_profile::CLOUD_PROFILE,
            cloud_profile::NAMESPACED_CLOUD_PROFILE,
            controller_installation::NAME,
            bootstrap::NAME,
            project::NAME,
            project_activity::NAME,
            protection::CONTROLLER_DEPLOYMENT,
            protection::CONTROLLER_REGISTRATION,
            protection::EXPOSURE_CLASS,
            protection::QUOTA,
            protection::SEED,
            seed_checks::BACKUP_BUCKETS,
            seed_checks::EXTENSIONS,
            seed_lifecycle::NAME,
            seed_secrets::NAME,
            shoot_hibernation::NAME,
            shoot_maintenance::NAME,
            shoot_quota::NAME,
            shoot_retry::NAME,
            shoot_status_label::NAME,
        ] {
            assert!(writers::names().any(|known| known == name), "{name}");
        }
    }
}
