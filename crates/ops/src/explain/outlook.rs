// SPDX-License-Identifier: Apache-2.0
//! Outlook on each version that a Shoot uses, with its severity.
//!
//! | gravity | condition | text |
//! | --- | --- | --- |
//! | info | the next maintenance updates it | target, instant, reason |
//! | warning | it expires within 30 days or has, and maintenance forces an update | date, days, first window after it, target, pools that roll |
//! | error | it expires within 30 days or has, and there is no target | missing version, remedy |
//!
//! Maintenance is not computed here: the changes come from `domain::forecast`.

use api::core::{CloudProfileSpec, Shoot};
use chrono::{DateTime, TimeDelta, Utc};
use domain::forecast::choice::{self, Choice};
use domain::forecast::{Change, Subject};
use domain::versions::Moment;
use domain::versions::{Gap, Version, gap};
use domain::worker_pool::{Effect, following};

use crate::show;
use crate::spelling::plural;

/// Time before its expiration from which on a version gets a warning.
pub const WARNED: TimeDelta = TimeDelta::days(30);

/// Severity of an outlook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gravity {
    /// Maintenance updates the version automatically.
    Info,
    /// Maintenance forces an update.
    Warning,
    /// The version expires, and there is no version to update to.
    Error,
}

/// Outlook on a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// Severity of the outlook.
    pub gravity: Gravity,
    /// Sentence without its full stop.
    pub text: String,
}

/// Inputs of the outlooks on a Shoot's versions.
#[derive(Clone, Copy, Debug)]
pub struct Course<'a> {
    /// The Shoot.
    pub shoot: &'a Shoot,
    /// Kind and name of its profile.
    pub profile: &'a str,
    /// Versions and images that the profile offers.
    pub offered: &'a CloudProfileSpec,
    /// Instant from which the outlook is computed.
    pub at: Moment,
    /// Instant of the next maintenance run.
    pub run: DateTime<Utc>,
    /// Changes that maintenance makes from `at` on, ordered by time.
    pub changes: &'a [Change],
}

/// Computes the outlooks on the versions of a Shoot: control plane, Kubernetes versions of pools, images of pools.
pub fn of(course: &Course) -> Vec<Outlook> {
    let choices = choice::choices(course.shoot, course.profile, course.offered, course.at);
    choices.iter().filter_map(|choice| one(choice, course)).collect()
}

fn one(choice: &Choice, course: &Course) -> Option<Outlook> {
    let Course { shoot, profile, offered, at, run, changes } = *course;
    let now = at.now;
    let subject = if choice.image.is_some() { Subject::MachineImage } else { Subject::Kubernetes };
    let is_of_it = |change: &&Change| {
        change.subject == subject && change.pool == choice.pool && change.from.as_deref() == Some(&*choice.current)
    };
    let moved = changes.iter().filter(is_of_it).find(|change| change.to.is_some() && change.failure.is_none());
    let name = choice.image.as_deref().unwrap_or("Kubernetes");
    let pool = choice.pool.as_ref().map_or_else(String::new, |pool| format!(" of worker pool {pool}"));
    let what = format!("{name} {}{pool}", choice.current);
    if let Some(change) = moved.filter(|change| !change.is_forced && change.time <= run) {
        let (to, at) = (change.to.as_deref().unwrap_or_default(), show(change.time));
        let text = format!("{what}: the next maintenance, at {at}, updates it to {to}: {}", change.reason);
        return Some(Outlook { gravity: Gravity::Info, text });
    }
    let date = choice.expires.filter(|date| *date - now < WARNED)?;
    let days = (date - now).num_seconds().div_euclid(86_400);
    let when = match usize::try_from(days) {
        _ if date <= now => format!("expired on {}", show(date)),
        Ok(days) => format!("expires on {}, in {}", show(date), plural(days, "day")),
        Err(_) => format!("expires on {}", show(date)),
    };
    match moved {
        Some(change) => {
            let (to, at) = (change.to.as_deref().unwrap_or_default(), show(change.time));
            let how = if change.is_forced { "is forced to" } else { "goes to" };
            let rolls = match rolling(change, shoot) {
                pools if pools.is_empty() => "no nodes are replaced".to_owned(),
                pools => format!("pools that roll: {}", pools.join(", ")),
            };
            let text = format!("{what} {when}; in the window after that, at {at}, it {how} {to}; {rolls}");
            Some(Outlook { gravity: Gravity::Warning, text })
        }
        None => {
            let missing = match &choice.image {
                Some(image) => format!("no version of {image} follows it that the pool can run"),
                None => gap(&offered.kubernetes.versions, &choice.current, at.at(date.max(now))).map_or_else(
                    || {
                        // Another change blocks the update.
                        let fails = |change: &&Change| {
                            change.failure.is_some() && (is_of_it(change) || change.subject == Subject::Blocked)
                        };
                        let failure = changes.iter().find(fails).and_then(|change| change.failure.as_deref());
                        format!(
                            "maintenance does not get there: {}",
                            failure.unwrap_or("no run of it lies within what is foreseen")
                        )
                    },
                    |gap| missing(&choice.current, &gap),
                ),
            };
            let text = format!(
                "{what} {when}, and there is no version to go to: {missing}; offer one in {profile}, or give this one a later expiration date"
            );
            Some(Outlook { gravity: Gravity::Error, text })
        }
    }
}

/// Pools whose nodes a change replaces.
fn rolling<'a>(change: &'a Change, shoot: &'a Shoot) -> Vec<&'a str> {
    if !matches!(change.effect, Effect::Rolling | Effect::Moving) {
        return Vec::new();
    }
    match &change.pool {
        Some(pool) => vec![pool],
        None => following(shoot).map(|worker| worker.name.as_str()).collect(),
    }
}

/// Reason for which no version of Kubernetes follows.
fn missing(version: &str, gap: &Gap<'_>) -> String {
    let Ok(own) = Version::parse(version) else { return format!("{version} is no version") };
    match gap {
        Gap::Unreadable => format!("{version} is no version"),
        Gap::EndOfLife => {
            format!("{}.{} is at the end of its life, and nothing higher is offered", own.major, own.minor)
        }
        Gap::NextMinorMissing => {
            let next = own.minor.saturating_add(1);
            format!("the next minor, {}.{next}, is missing, and a minor cannot be skipped", own.major)
        }
        Gap::Previews(versions) => format!("only previews are ahead: {}", versions.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use apimachinery::Resource;
    use clock::Random;
    use domain::forecast::{Offer, Settings, course, next_run};
    use domain::release::DOCUMENTED;
    use serde_json::{Value, json};

    use super::*;
    use crate::gates::{gates_for, pool_forms};

    const NOW: &str = "2023-07-27T20:00:00Z";

    fn outlook(versions: Value, version: &str, auto: bool) -> Vec<(Gravity, String)> {
        let profile = json!({ "metadata": { "name": "local" }, "spec": { "type": "local", "kubernetes": { "versions": versions },
            "machineImages": [{ "name": "gardenlinux", "versions": [{ "version": "1.0.0", "architectures": ["amd64"], "cri": [{ "name": "containerd" }] }] }],
            "machineTypes": [{ "name": "local", "cpu": "4", "gpu": "0", "memory": "8Gi", "architecture": "amd64" }],
            "regions": [{ "name": "local" }] } });
        let profile = api::core::CloudProfile::read(profile.to_string().as_bytes()).expect("a profile");
        let machine = json!({ "type": "local", "image": { "name": "gardenlinux", "version": "1.0.0" } });
        let shoot = json!({
            "metadata": { "name": "a", "namespace": "garden-demo", "uid": "a" },
            "spec": {
                "cloudProfile": { "kind": "CloudProfile", "name": "local" }, "region": "local", "kubernetes": { "version": version },
                "maintenance": { "timeWindow": { "begin": "090000+0000", "end": "100000+0000" },
                    "autoUpdate": { "kubernetesVersion": auto, "machineImageVersion": false } },
                "provider": { "type": "local", "workers": [
                    { "name": "x", "minimum": 1, "maximum": 1, "machine": machine },
                    { "name": "y", "minimum": 1, "maximum": 1, "machine": machine, "kubernetes": { "version": version } },
                ] },
            },
        });
        let shoot = Shoot::read(shoot.to_string().as_bytes()).expect("a Shoot");
        let now: DateTime<Utc> = NOW.parse().expect("an instant");
        let random = Random::new(1);
        let draw = |purpose: &str, key: &str, ordinal: u64| random.draw(purpose, key, ordinal);
        let settings = Settings {
            from: now,
            until: now + TimeDelta::days(90),
            draw: &draw,
            gates: gates_for(DOCUMENTED),
            disables_nginx_ingress: false,
            forms: &|_| pool_forms(DOCUMENTED),
        };
        let offer = Offer { name: "local".to_owned(), first: profile.spec.clone(), changes: Vec::new() };
        let changes = course(&shoot, &offer, &settings).changes;
        let (run, _) = next_run(&shoot, now, &draw);
        let (profile, offered) = ("CloudProfile local", &profile.spec);
        let all =
            of(&Course { shoot: &shoot, profile, offered, at: Moment::new(now, DOCUMENTED), run, changes: &changes });
        all.into_iter().map(|outlook| (outlook.gravity, outlook.text)).collect()
    }

    /// Outlook on the control plane only.
    fn first(versions: Value, auto: bool) -> Option<(Gravity, String)> {
        outlook(versions, "1.26.4", auto).into_iter().find(|(_, text)| !text.contains("of worker pool"))
    }

    fn of_date(date: &str) -> Value {
        json!({ "version": "1.26.4", "classification": "deprecated", "expirationDate": date })
    }

    #[test]
    fn automatic_updates_are_information() {
        let (gravity, text) =
            first(json!([{ "version": "1.26.5" }, { "version": "1.26.4" }]), true).expect("it is updated");
        assert_eq!(gravity, Gravity::Info);
        assert!(text.starts_with("Kubernetes 1.26.4: the next maintenance, at 2023-07-28T09:"), "{text}");
        assert!(text.contains("updates it to 1.26.5: "), "{text}");
        assert_eq!(first(json!([{ "version": "1.26.5" }, { "version": "1.26.4" }]), false), None);
    }

    #[test]
    fn forced_updates_are_warnings_from_30_days_before() {
        let next = json!({ "version": "1.27.1", "classification": "supported" });
        for (date, said) in [
            ("2023-08-26T19:59:59Z", Some("expires on 2023-08-26T19:59:59Z, in 29 days")),
            ("2023-08-26T20:00:00Z", None),
            ("2023-07-28T00:00:00Z", Some("expires on 2023-07-28T00:00:00Z, in 0 days")),
            ("2023-07-27T20:00:00Z", Some("expired on 2023-07-27T20:00:00Z")),
            ("2023-07-01T00:00:00Z", Some("expired on 2023-07-01T00:00:00Z")),
        ] {
            let found = first(json!([next, of_date(date)]), false);
            let Some(said) = said else {
                assert_eq!(found, None, "{date}");
                continue;
            };
            let (gravity, text) = found.expect(date);
            assert_eq!(gravity, Gravity::Warning, "{text}");
            for part in [said, "it is forced to 1.27.1", "pools that roll: x"] {
                assert!(text.contains(part), "{part}: {text}");
            }
        }
    }

    #[test]
    fn where_nothing_follows_it_says_what_is_missing() {
        let soon = of_date("2023-08-01T00:00:00Z");
        for (versions, said) in [
            (json!([soon]), "1.26 is at the end of its life, and nothing higher is offered"),
            (json!([soon, { "version": "1.28.0", "classification": "supported" }]), "the next minor, 1.27, is missing"),
            (json!([soon, { "version": "1.27.0", "classification": "preview" }]), "only previews are ahead: 1.27.0"),
        ] {
            let (gravity, text) = first(versions, false).expect(said);
            assert_eq!(gravity, Gravity::Error, "{text}");
            assert!(text.contains(said) && text.contains("offer one in CloudProfile local"), "{text}");
        }
    }
}
