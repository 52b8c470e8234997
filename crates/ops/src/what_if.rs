// SPDX-License-Identifier: Apache-2.0
//! Other expiration dates and classifications than the CloudProfiles have, `kubernetes/1.31=2027-01-31`, and other automatic
//! updates than the Shoots have, `garden-local=off`.

use std::cmp::Reverse;
use std::str::FromStr;

use api::constants::classification;
use api::core::{CloudProfile, Shoot};
use apimachinery::meta::Time;
use chrono::{DateTime, Utc};
use domain::profile::Profile;
use domain::release::Release;
use domain::validation::cloud_profile::cloud_profile_update;

use crate::Error;
use crate::forecast::gates_for;
use crate::instant::When;
use crate::spelling::{distance, nearest};

/// Versions by kind or image, and by version or its beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// `kubernetes`, or the name of a machine image.
    subject: String,
    /// `1.31.2`, or all of `1.31`.
    version: String,
}

impl Selector {
    fn parse(text: &str) -> Result<Self, String> {
        let parts = text.rsplit_once('/').filter(|(subject, version)| !subject.is_empty() && !version.is_empty());
        let (subject, version) =
            parts.ok_or_else(|| format!("`{text}` names no version: use kubernetes/1.31, or IMAGE/VERSION"))?;
        Ok(Self { subject: subject.to_owned(), version: version.trim_start_matches('v').to_owned() })
    }

    fn takes(&self, subject: &str, version: &str) -> bool {
        let rest = version.strip_prefix(self.version.as_str());
        subject == self.subject && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// How far a version is from what is meant, given as `SUBJECT/VERSION`: its subject by letters, then its numbers, the
    /// first one before the next; of equal ones the highest is nearest.
    fn remoteness(&self, name: &str) -> (usize, Vec<u64>, Reverse<Vec<u64>>) {
        let (subject, version) = name.rsplit_once('/').unwrap_or((name, ""));
        let numbers =
            |version: &str| -> Vec<u64> { version.split('.').map(|part| part.parse().unwrap_or_default()).collect() };
        let (wanted, offered) = (numbers(&self.version), numbers(version));
        let far = wanted.iter().zip(&offered).map(|(wanted, offered)| wanted.abs_diff(*offered)).collect();
        (distance(subject, &self.subject), far, Reverse(offered))
    }
}

/// Versions expire at another time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expire(Selector, When);

impl FromStr for Expire {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (selector, date) = text.split_once('=').ok_or("use kubernetes/1.31=2027-01-31, or IMAGE/VERSION=DATE")?;
        Ok(Self(Selector::parse(selector)?, date.parse()?))
    }
}

/// Versions are classified otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classify(Selector, String);

impl FromStr for Classify {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (selector, class) =
            text.split_once('=').ok_or("use kubernetes/1.31.2=deprecated, or IMAGE/VERSION=CLASS")?;
        if ![classification::PREVIEW, classification::SUPPORTED, classification::DEPRECATED].contains(&class) {
            return Err(format!("`{class}` is no classification: use preview, supported or deprecated"));
        }
        Ok(Self(Selector::parse(selector)?, class.to_owned()))
    }
}

/// Automatic updates, of Kubernetes and of machine images, are on or off for the Shoots of a namespace, or for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Auto {
    /// `None`: all.
    namespace: Option<String>,
    is_on: bool,
}

impl FromStr for Auto {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is not NAMESPACE=on or NAMESPACE=off; all=on and all=off are for all namespaces");
        let (whose, state) = text.split_once('=').filter(|(whose, _)| !whose.is_empty()).ok_or_else(wrong)?;
        let is_on = match state {
            "on" => true,
            "off" => false,
            _ => return Err(wrong()),
        };
        Ok(Self { namespace: Some(whose.to_owned()).filter(|whose| whose != "all"), is_on })
    }
}

/// Changes automatic updates of Shoots; of several that fit a Shoot, the last one counts.
///
/// # Errors
/// A namespace without a Shoot.
pub fn apply_to_shoots(shoots: &mut [Shoot], auto: &[Auto]) -> Result<(), Error> {
    for Auto { namespace, is_on } in auto {
        let is_meant = |shoot: &&mut Shoot| namespace.as_ref().is_none_or(|own| shoot.metadata.namespace == *own);
        let mut found = false;
        for shoot in shoots.iter_mut().filter(is_meant) {
            let updates = shoot.spec.maintenance.get_or_insert_default().auto_update.get_or_insert_default();
            (updates.kubernetes_version, updates.machine_image_version) = (*is_on, Some(*is_on));
            found = true;
        }
        if let Some(namespace) = namespace.as_ref().filter(|_| !found) {
            let hint = nearest(namespace, shoots.iter().map(|shoot| shoot.metadata.namespace.as_str()));
            return Err(Error::input(format!("no Shoot is in namespace {namespace}"), hint));
        }
    }
    Ok(())
}

/// Changes the profiles; dates are counted from `now` where they are distances. What the API server would say against
/// the change comes back in lines.
///
/// # Errors
/// A selector that no version of any profile fits.
pub fn apply(
    profiles: &mut [CloudProfile],
    expire: &[Expire],
    classify: &[Classify],
    rules: Profile,
    release: Release,
    now: DateTime<Utc>,
) -> Result<Vec<String>, Error> {
    let before = profiles.to_vec();
    for Expire(selector, date) in expire {
        each(profiles, selector, |expiration, _| *expiration = Some(Time(date.behind(now))))?;
    }
    for Classify(selector, class) in classify {
        each(profiles, selector, |_, classification| *classification = Some(class.clone()))?;
    }
    let gates = gates_for(release);
    let refused = |new: &CloudProfile, old: &CloudProfile| {
        let known = cloud_profile_update(old, old, rules, gates, now);
        let errors =
            cloud_profile_update(new, old, rules, gates, now).into_iter().filter(|error| !known.contains(error));
        let name = &new.metadata.name;
        let told = errors.map(|error| format!("what if: the API server would refuse CloudProfile {name:?}: {error}"));
        told.collect::<Vec<_>>()
    };
    Ok(profiles.iter().zip(&before).flat_map(|(new, old)| refused(new, old)).collect())
}

fn each(
    profiles: &mut [CloudProfile],
    selector: &Selector,
    change: impl Fn(&mut Option<Time>, &mut Option<String>),
) -> Result<(), Error> {
    let (mut found, mut offered) = (false, Vec::new());
    for profile in profiles {
        for entry in &mut profile.spec.kubernetes.versions {
            offered.push(format!("kubernetes/{}", entry.version));
            if selector.takes("kubernetes", &entry.version) {
                change(&mut entry.expiration_date, &mut entry.classification);
                found = true;
            }
        }
        for image in &mut profile.spec.machine_images {
            for entry in &mut image.versions {
                offered.push(format!("{}/{}", image.name, entry.version));
                if selector.takes(&image.name, &entry.version) {
                    change(&mut entry.expiration_date, &mut entry.classification);
                    found = true;
                }
            }
        }
    }
    if found {
        return Ok(());
    }
    let wanted = format!("{}/{}", selector.subject, selector.version);
    let nearest = offered.into_iter().min_by_key(|name| selector.remoteness(name));
    let hint = nearest.map_or_else(|| "no CloudProfile is given".to_owned(), |name| format!("the nearest is `{name}`"));
    Err(Error::input(format!("no CloudProfile has a version {wanted}"), hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_take_whole_segments() {
        let selector = Selector::parse("kubernetes/1.3").expect("a selector");
        assert!(selector.takes("kubernetes", "1.3.1") && selector.takes("kubernetes", "1.3"));
        assert!(!selector.takes("kubernetes", "1.31.1") && !selector.takes("gardenlinux", "1.3.1"));
        for text in ["kubernetes", "kubernetes/", "/1.3", ""] {
            assert!(Selector::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_not_offered_is_an_error_with_the_nearest_name() {
        let mut profile = CloudProfile::default();
        profile.spec.kubernetes.versions =
            vec![api::core::ExpirableVersion { version: "1.31.2".into(), ..Default::default() }];
        let mut profiles = [profile];
        let mut apply = |text: &str| {
            let expire = [text.parse::<Expire>().expect("an expiration")];
            super::apply(
                &mut profiles,
                &expire,
                &[],
                Profile::Documents,
                domain::release::DOCUMENTED,
                DateTime::UNIX_EPOCH,
            )
        };
        assert_eq!(
            apply("kubernetes/1.31=2027-01-31").expect("it is offered"),
            ["what if: the API server would refuse CloudProfile \"\": spec.kubernetes.versions[].expirationDate: \
                 Invalid value: 2027-01-31 00:00:00 +0000 UTC: expiration date of latest kubernetes version ('1.31.2') must \
                 not be set"]
        );
        assert_eq!(
            apply("kubernetes/1.32=2027-01-31"),
            Err(Error::input("no CloudProfile has a version kubernetes/1.32", "the nearest is `kubernetes/1.31.2`"))
        );
        assert!(profiles[0].spec.kubernetes.versions[0].expiration_date.is_some());
        assert!("kubernetes/1.31=soon".parse::<Expire>().is_err());
        assert!("kubernetes/1.31=expired".parse::<Classify>().is_err());
    }

    #[test]
    fn automatic_updates_are_switched_by_namespace() {
        let shoot = |namespace: &str| {
            let mut shoot = Shoot::default();
            shoot.metadata.namespace = namespace.to_owned();
            shoot
        };
        let mut shoots = [shoot("garden-a"), shoot("garden-b")];
        let auto: Vec<Auto> = ["all=on", "garden-b=off"].map(|text| text.parse().expect("a switch")).to_vec();
        apply_to_shoots(&mut shoots, &auto).expect("both are there");
        let updates = |shoot: &Shoot| {
            let updates = shoot.spec.maintenance.clone().unwrap_or_default().auto_update.expect("they were switched");
            (updates.kubernetes_version, updates.machine_image_version)
        };
        assert_eq!([updates(&shoots[0]), updates(&shoots[1])], [(true, Some(true)), (false, Some(false))]);
        let unknown = ["garden-c=off".parse().expect("a switch")];
        let error = Error::input("no Shoot is in namespace garden-c", "the nearest is `garden-a`");
        assert_eq!(apply_to_shoots(&mut shoots, &unknown), Err(error));
        for wrong in ["", "=on", "all", "all=", "all=yes"] {
            assert!(wrong.parse::<Auto>().is_err_and(|text| text.contains("NAMESPACE=on")), "{wrong}");
        }
    }

    #[test]
    fn the_nearest_version_is_so_by_its_numbers() {
        let mut profile = CloudProfile::default();
        let version = |version: &str| api::core::ExpirableVersion { version: version.into(), ..Default::default() };
        profile.spec.kubernetes.versions = ["1.9.9", "1.30.14", "1.31.2", "1.31.10"].map(version).to_vec();
        for (wanted, nearest) in [
            ("kubernetes/1.99", "kubernetes/1.31.10"),
            ("kubernetes/1.30.13", "kubernetes/1.30.14"),
            ("kubernetes/1.8", "kubernetes/1.9.9"),
            ("kubernets/1.31", "kubernetes/1.31.10"),
        ] {
            let expire = [format!("{wanted}=2027-01-31").parse::<Expire>().expect("an expiration")];
            let profiles = &mut [profile.clone()];
            let refused = super::apply(
                profiles,
                &expire,
                &[],
                Profile::Documents,
                domain::release::DOCUMENTED,
                DateTime::UNIX_EPOCH,
            );
            let hint = format!("the nearest is `{nearest}`");
            assert_eq!(refused, Err(Error::input(format!("no CloudProfile has a version {wanted}"), hint)));
        }
    }
}
