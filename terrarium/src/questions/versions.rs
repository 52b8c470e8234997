// SPDX-License-Identifier: Apache-2.0
//! `terrarium versions`: what a CloudProfile offers, who uses it, and what comes after it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use api::core::{CloudProfileSpec, MachineImage, Shoot, Worker};
use chrono::{DateTime, Utc};
use clap::Args;
use clock::{Clock, Random};
use domain::admission::shoot::default_kubernetes_version;
use domain::cloud_profile;
use domain::maintenance::kubernetes_update;
use domain::profile::Profile;
use domain::versions::{Expirable, State, Strategy, Version, choose, shown_default, state};
use serde_json::{Value, json};

use super::given::Reading;
use super::rows::{Form, print_objects};
use super::show;
use super::world::{ProfileKey, World};
use crate::failure::Failure;
use crate::live::ask::instant::When;
use crate::live::client::Client;
use crate::live::{Which, block_on};
use crate::output::Output;

/// Show versions with their state, expiration, targets and users
///
/// `*` marks the default to show to users: the highest supported version, else the highest unclassified one; never a
/// preview and never a deprecated version.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// One profile: NAME, or NAMESPACE/NAME of a NamespacedCloudProfile [default: all]
    #[arg(value_name = "CLOUDPROFILE")]
    name: Option<String>,
    /// Manifests instead of the landscape: files, folders, or `-` for standard input
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Go on although the API server would refuse the manifests: each refusal becomes a warning
    #[arg(long, requires = "files")]
    force: bool,
    /// Only versions that no Shoot uses
    #[arg(long)]
    unused: bool,
    /// As of another instant, or of so long from now (90d) [default: now, of the landscape or of this machine]
    #[arg(long, value_name = "T")]
    at: Option<When>,
    /// Form of the output
    #[arg(short = 'o', long = "output", value_enum, default_value_t = Form::Table)]
    output: Form,
}

const COLUMNS: [&str; 12] = [
    "profile",
    "subject",
    "version",
    "default",
    "state",
    "expires",
    "daysLeft",
    "automaticTarget",
    "forcedTarget",
    "shoots",
    "pools",
    "removable",
];

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let (mut world, now, profile) = if arguments.files.is_empty() {
        let client = Client::of(&arguments.which.directory()?)?;
        let (world, now) =
            block_on(async { Ok((World::of_landscape(&client.context()).await?, client.clock().await?.now)) })?;
        (world, now, profile_of(&client.facts.profile))
    } else {
        let now = Clock::wall().now();
        if arguments.at.is_none() {
            output.note(&format!("note: as of {}, which is now; --at T looks from another instant", show(now)));
        }
        let at = arguments.at.map_or(now, |at| at.behind(now));
        let reading = Reading { random: &Random::new(1), now: at, rules: Profile::default() };
        (World::of_files(&arguments.files, reading)?, now, Profile::default())
    };
    let now = arguments.at.map_or(now, |at| at.behind(now));
    world.complete(now);
    world.accept(arguments.force, output)?;
    for note in &world.notes {
        output.note(&format!("note: {note}"));
    }
    let offers = world.offers();
    let wanted = |key: &ProfileKey| match &arguments.name {
        None => true,
        Some(name) => shown_name(key) == *name,
    };
    let mut objects = Vec::new();
    let mut warnings = Vec::new();
    let mut found = false;
    for (key, offered) in offers.iter().filter(|(key, _)| wanted(key)) {
        found = true;
        let users: Vec<&Shoot> = world.shoots.iter().filter(|shoot| ProfileKey::of(shoot) == *key).collect();
        let view = View { name: shown_name(key), offered, users, now, profile };
        view.list(&mut objects);
        view.warn(&mut warnings);
    }
    if !found {
        let names: Vec<String> = offers.keys().map(shown_name).collect();
        let what = match &arguments.name {
            Some(name) => format!("there is no CloudProfile {name}"),
            None => "there is no CloudProfile".to_owned(),
        };
        let hint = match &names[..] {
            [] if arguments.files.is_empty() => "`kubectl apply` one".to_owned(),
            [] => "add the CloudProfile to the manifests".to_owned(),
            [one] => format!("there is {one}"),
            names => format!("there are {}", names.join(", ")),
        };
        return Err(Failure::input(what, hint));
    }
    if arguments.unused {
        objects.retain(|object| object["shoots"] == 0 && object["pools"] == 0);
    }
    print_objects(&objects, &COLUMNS, arguments.output, output)?;
    for warning in warnings {
        output.note(&format!("warning: {warning}"));
    }
    Ok(())
}

fn shown_name(key: &ProfileKey) -> String {
    match &key.namespace {
        None => key.name.clone(),
        Some(namespace) => format!("{namespace}/{}", key.name),
    }
}

/// One profile at an instant.
struct View<'a> {
    name: String,
    offered: &'a CloudProfileSpec,
    users: Vec<&'a Shoot>,
    now: DateTime<Utc>,
    profile: Profile,
}

impl View<'_> {
    fn list(&self, objects: &mut Vec<Value>) {
        let versions = &self.offered.kubernetes.versions;
        let default = shown_default(versions, self.now).map(|entry| entry.version.as_str());
        for entry in sorted(versions.iter()) {
            let own = |worker: &Worker| worker.kubernetes.as_ref().and_then(|kubernetes| kubernetes.version.clone());
            let shoots = self.users.iter().filter(|shoot| shoot.spec.kubernetes.version == entry.version).count();
            let workers = self.users.iter().flat_map(|shoot| &shoot.spec.provider.workers);
            let pools = workers.filter(|worker| own(worker).as_deref() == Some(&entry.version)).count();
            let blocking = if self.profile.worker_pool_versions_are_in_use() { shoots + pools } else { shoots };
            let (automatic, forced) = targets(versions, &entry.version, Strategy::Kubernetes, self.now);
            objects.push(self.object(
                "kubernetes",
                entry,
                (automatic, forced),
                (shoots, pools),
                blocking == 0,
                default,
            ));
        }
        for image in &self.offered.machine_images {
            for entry in sorted(image.versions.iter()) {
                let users = |shoot: &&&Shoot| uses(shoot, image, &entry.version) > 0;
                let shoots = self.users.iter().filter(users).count();
                let pools = self.users.iter().map(|shoot| uses(shoot, image, &entry.version)).sum();
                let targets = image_targets(image, &entry.version, self.now);
                objects.push(self.object(&image.name, entry, targets, (shoots, pools), pools == 0, None));
            }
        }
    }

    fn object(
        &self,
        subject: &str,
        entry: &impl Expirable,
        (automatic, forced): (Option<String>, Option<String>),
        (shoots, pools): (usize, usize),
        is_removable: bool,
        default: Option<&str>,
    ) -> Value {
        let expires = entry.expiration_date();
        json!({
            "profile": self.name,
            "subject": subject,
            "version": entry.version(),
            "default": if default == Some(entry.version()) { "*" } else { "" },
            "state": state(entry, self.now).to_string(),
            "expires": expires.map(show),
            "daysLeft": expires.map(|date| days_left(date, self.now)),
            "automaticTarget": automatic,
            "forcedTarget": forced,
            "shoots": shoots,
            "pools": pools,
            "removable": is_removable,
        })
    }

    fn warn(&self, warnings: &mut Vec<String>) {
        let versions = &self.offered.kubernetes.versions;
        let name = &self.name;
        let path = apimachinery::field::Path::new("spec");
        let shown = shown_default(versions, self.now).map(|entry| entry.version.clone());
        let filled = default_kubernetes_version(versions, "", self.now, &path).ok().flatten();
        match (&shown, &filled) {
            (None, Some(filled)) => warnings.push(format!(
                "{name}: no version is supported or unclassified, so none is marked; an empty spec.kubernetes.version gives {filled}"
            )),
            (Some(shown), Some(filled)) if shown != filled => warnings.push(format!(
                "{name}: {shown} is shown as the default, but an empty spec.kubernetes.version gives {filled}"
            )),
            _ => {}
        }
        self.warn_of_users(warnings);
        let mut ends = BTreeSet::new();
        for entry in versions {
            if Version::parse(&entry.version).is_err() {
                warnings.push(format!(
                    "{name}: kubernetes {} is no version; what stands behind it in the list may not be seen by maintenance",
                    entry.version
                ));
                continue;
            }
            let judged = state(entry, self.now);
            if judged == State::Deprecated && entry.expiration_date.is_none() {
                warnings
                    .push(format!("{name}: kubernetes {} is deprecated, but has no expiration date", entry.version));
            }
            if entry.expiration_date.is_none() {
                continue;
            }
            let expired_by_then = entry.expiration_date.map_or(self.now, |date| date.0.max(self.now));
            let outcome = kubernetes_update(&entry.version, false, versions, None, expired_by_then);
            if outcome.is_some_and(|outcome| outcome.result.is_err()) {
                warnings.push(format!("{name}: kubernetes {}: {}", entry.version, self.dead_end(&entry.version)));
                ends.extend(Version::parse(&entry.version).map(|version| (version.major, version.minor)));
            }
        }
        warnings.extend(self.gaps(&ends));
        for image in &self.offered.machine_images {
            for entry in &image.versions {
                if state(entry, self.now) == State::Deprecated && entry.expiration_date.is_none() {
                    warnings.push(format!(
                        "{name}: {} {} is deprecated, but has no expiration date",
                        image.name, entry.version
                    ));
                }
                let date = entry.expiration_date.map(|date| date.0.max(self.now));
                if let Some(then) = date
                    && image_targets(image, &entry.version, then).1.is_none()
                {
                    warnings.push(format!(
                        "{name}: {} {} expires, and no version follows it (update strategy: {})",
                        image.name,
                        entry.version,
                        image.update_strategy.as_deref().unwrap_or("major")
                    ));
                }
            }
        }
    }

    /// Versions that are in use and not offered.
    fn warn_of_users(&self, warnings: &mut Vec<String>) {
        let mut unknown: BTreeMap<(String, String), usize> = BTreeMap::new();
        let mut use_of = |subject: &str, version: &str, is_known: bool| {
            if !is_known {
                *unknown.entry((subject.to_owned(), version.to_owned())).or_default() += 1;
            }
        };
        let is_known = |version: &str| self.offered.kubernetes.versions.iter().any(|entry| entry.version == version);
        for shoot in &self.users {
            let version = &shoot.spec.kubernetes.version;
            use_of("kubernetes", version, is_known(version));
            for worker in &shoot.spec.provider.workers {
                if let Some(own) = worker.kubernetes.as_ref().and_then(|kubernetes| kubernetes.version.as_deref()) {
                    use_of("kubernetes", own, is_known(own));
                }
                if let Some(image) = &worker.machine.image {
                    let version = image.version.as_deref().unwrap_or_default();
                    let known = cloud_profile::machine_image_version(self.offered, &image.name, version);
                    use_of(&image.name, version, known.is_some());
                }
            }
        }
        for ((subject, version), count) in unknown {
            let uses = if count == 1 { "once".to_owned() } else { format!("{count} times") };
            warnings.push(format!("{}: {subject} {version} is in use ({uses}), but it is not offered", self.name));
        }
    }

    /// Minors whose next one is missing while a higher one is offered, without those of which this is said already.
    fn gaps(&self, told: &BTreeSet<(u64, u64)>) -> Vec<String> {
        let versions = &self.offered.kubernetes.versions;
        let minors: BTreeSet<(u64, u64)> = versions
            .iter()
            .filter_map(|entry| Version::parse(&entry.version).ok())
            .map(|version| (version.major, version.minor))
            .collect();
        let pairs = minors.iter().zip(minors.iter().skip(1));
        let gaps = pairs.filter(|((major, minor), (next_major, next))| major == next_major && *next > minor + 1);
        gaps.filter(|(minor, _)| !told.contains(*minor))
            .map(|((major, minor), (_, next))| {
                format!(
                    "{}: the next minor after kubernetes {major}.{minor}, {major}.{}, is missing, while {major}.{next} is \
                     offered: nobody gets there, since a minor cannot be skipped",
                    self.name,
                    minor + 1
                )
            })
            .collect()
    }

    /// Why no version follows one of Kubernetes that expires.
    fn dead_end(&self, version: &str) -> String {
        let Ok(current) = Version::parse(version) else { return "is no version".to_owned() };
        let next = format!("{}.{}", current.major, current.minor.saturating_add(1));
        let of_next = |entry: &&api::core::ExpirableVersion| {
            Version::parse(&entry.version)
                .is_ok_and(|other| other.major == current.major && Some(other.minor) == current.minor.checked_add(1))
        };
        if self.offered.kubernetes.versions.iter().any(|entry| of_next(&entry)) {
            format!("when it expires only previews of {next} are ahead")
        } else {
            format!("when it expires the next minor {next} is missing")
        }
    }
}

/// Whole days until a date; negative when it has passed, on its day already.
fn days_left(date: DateTime<Utc>, now: DateTime<Utc>) -> i64 {
    (date - now).num_seconds().div_euclid(24 * 60 * 60)
}

fn uses(shoot: &Shoot, image: &MachineImage, version: &str) -> usize {
    let images = shoot.spec.provider.workers.iter().filter_map(|worker| worker.machine.image.as_ref());
    images.filter(|used| used.name == image.name && used.version.as_deref() == Some(version)).count()
}

/// The automatic and the forced target of a version.
fn targets<V: Expirable>(
    versions: &[V],
    version: &str,
    strategy: Strategy,
    now: DateTime<Utc>,
) -> (Option<String>, Option<String>) {
    let target = |is_forced: bool| {
        let choice = choose(versions, version, strategy, is_forced, now).ok()?;
        choice.entry.map(|entry| entry.version().to_owned())
    };
    (target(false), target(true))
}

/// The automatic and the forced target of an image version, for a pool that can run every version.
fn image_targets(image: &MachineImage, version: &str, now: DateTime<Utc>) -> (Option<String>, Option<String>) {
    targets(&image.versions, version, Strategy::of_image(image.update_strategy.as_deref()), now)
}

/// Highest first; what does not parse comes last.
fn sorted<'a, V: Expirable + 'a>(entries: impl Iterator<Item = &'a V>) -> Vec<&'a V> {
    let mut entries: Vec<&V> = entries.collect();
    entries.sort_by_key(|entry| std::cmp::Reverse(Version::parse(entry.version()).ok()));
    entries
}

fn profile_of(name: &str) -> Profile {
    if name == "upstream" { Profile::Upstream } else { Profile::Documents }
}
