// SPDX-License-Identifier: Apache-2.0
//! Other expiration dates, classifications and stages than the CloudProfiles have, `kubernetes/1.31=2027-01-31`, and other
//! automatic updates than the Shoots have, `garden-local=off`.
//!
//! | what-if | version with a date and a classification | version with stages |
//! | --- | --- | --- |
//! | `--expire V=T` | expires at T | stage `expired` begins at T |
//! | `--classify V=C` | is classified as C | an error: a stage has a start |
//! | `--classify V=C@T` | an error: there are no stages | stage C begins at T |

use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;

use api::constants::classification;
use api::core::{CloudProfile, LifecycleStage, Shoot};
use apimachinery::field::FieldError;
use apimachinery::meta::Time;
use chrono::{DateTime, Utc};
use domain::profile::Profile;
use domain::release::Release;
use domain::validation::cloud_profile::cloud_profile_update;
use domain::versions::set_stage;

use crate::Error;
use crate::gates::gates_for;
use crate::instant::When;
use crate::spelling::{distance, nearest};

/// Versions of Kubernetes or an image, by version or its prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// `kubernetes`, or the name of a machine image.
    subject: String,
    /// Version `1.31.2`, or prefix `1.31` for all of its patches.
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

    /// Distance of the version `SUBJECT/VERSION` from the selector: first by letters of the subject, then by its numbers,
    /// the first one first; among equal distances the highest version is nearest.
    fn remoteness(&self, name: &str) -> (usize, Vec<u64>, Reverse<Vec<u64>>) {
        let (subject, version) = name.rsplit_once('/').unwrap_or((name, ""));
        let numbers =
            |version: &str| -> Vec<u64> { version.split('.').map(|part| part.parse().unwrap_or_default()).collect() };
        let (wanted, offered) = (numbers(&self.version), numbers(version));
        let far = wanted.iter().zip(&offered).map(|(wanted, offered)| wanted.abs_diff(*offered)).collect();
        (distance(subject, &self.subject), far, Reverse(offered))
    }
}

/// Changes the expiration of versions: their date, or the start of their stage `expired`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expire(Selector, When);

impl FromStr for Expire {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (selector, date) = text.split_once('=').ok_or("use kubernetes/1.31=2027-01-31, or IMAGE/VERSION=DATE")?;
        Ok(Self(Selector::parse(selector)?, date.parse()?))
    }
}

/// Changes the classification of versions, or the start of one of their stages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classify(Selector, String, Option<When>);

impl FromStr for Classify {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (selector, class) = text
            .split_once('=')
            .ok_or("use kubernetes/1.31.2=deprecated, IMAGE/VERSION=CLASS, or =CLASS@TIME for a stage")?;
        let (class, start) = match class.split_once('@') {
            Some((class, start)) => (class, Some(start.parse()?)),
            None => (class, None),
        };
        if class == classification::EXPIRED {
            return Err(format!("`{class}` is set by --expire {selector}=TIME"));
        }
        if ![classification::PREVIEW, classification::SUPPORTED, classification::DEPRECATED].contains(&class) {
            return Err(format!("`{class}` is no classification: use preview, supported or deprecated"));
        }
        Ok(Self(Selector::parse(selector)?, class.to_owned(), start))
    }
}

/// Enables or disables automatic updates, of Kubernetes and of machine images, for the Shoots of a namespace, or for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Auto {
    /// Namespace of the Shoots; `None`: all.
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

/// Changes automatic updates of Shoots; if several match a Shoot, the last one counts.
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

/// Violation of a rule of the API server by a what-if; displays the refusal and the advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Refusal of the API server.
    pub what: String,
    /// Advice; empty if none is known.
    pub advice: &'static str,
    /// True if the profile has stages: such a what-if has a meaning only if the API server accepts it.
    pub is_of_stages: bool,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if self.advice.is_empty() { Ok(()) } else { write!(f, "; {}", self.advice) }
    }
}

/// Fragments of refusals, and what to do about them.
const ADVICE: [(&str, &str); 5] = [
    ("monotonically increasing", "a stage begins no earlier than the one before it: move the other stage as well"),
    ("only the leading lifecycle elements", "give the stages behind the new one a start, by --classify V=CLASS@TIME"),
    ("cannot be turned unavailable", "let the first stage begin no later than the forecast"),
    ("must not overlap", "end the supported stage of the other version, by --classify V=deprecated@TIME"),
    ("classification expired of latest", "leave out the newest version: name others with all their numbers"),
];

impl Refused {
    fn of(error: &FieldError, profile: &CloudProfile) -> Self {
        let images = profile.spec.machine_images.iter().flat_map(|image| &image.versions);
        let is_of_stages = profile.spec.kubernetes.versions.iter().any(|entry| !entry.lifecycle.is_empty())
            || images.into_iter().any(|entry| !entry.lifecycle.is_empty());
        let what = format!("what if: the API server would refuse CloudProfile {:?}: {error}", profile.metadata.name);
        let advice = ADVICE.iter().find(|(fragment, _)| what.contains(fragment)).map_or("", |(_, advice)| *advice);
        Self { what, advice, is_of_stages }
    }
}

/// Changes the profiles; relative dates count from `now`. Returns the refusals of the API server.
///
/// # Errors
/// A selector matches no version of any profile; a stage for versions without stages, or one without a start.
pub fn apply(
    profiles: &mut [CloudProfile],
    expire: &[Expire],
    classify: &[Classify],
    rules: Profile,
    release: Release,
    now: DateTime<Utc>,
) -> Result<Vec<Refused>, Error> {
    let before = profiles.to_vec();
    for Expire(selector, date) in expire {
        let start = date.behind(now);
        each(profiles, selector, |entry| {
            if entry.stages.is_empty() {
                *entry.expiration_date = Some(Time(start));
            } else {
                set_stage(entry.stages, classification::EXPIRED, start);
            }
            Ok(())
        })?;
    }
    for Classify(selector, class, start) in classify {
        each(profiles, selector, |entry| {
            match (entry.stages.is_empty(), start) {
                (true, None) => *entry.classification = Some(class.clone()),
                (false, Some(start)) => set_stage(entry.stages, class, start.behind(now)),
                (true, Some(_)) => {
                    let what = format!("{} has no stages, so a classification has no start", entry.name);
                    return Err(Error::input(what, format!("leave out the time: --classify {}={class}", entry.name)));
                }
                (false, None) => {
                    let what = format!("{} has stages, and the start of stage {class} is not given", entry.name);
                    return Err(Error::input(what, format!("add it: --classify {}={class}@TIME", entry.name)));
                }
            }
            Ok(())
        })?;
    }
    let gates = gates_for(release);
    let refused = |new: &CloudProfile, old: &CloudProfile| {
        let known = cloud_profile_update(old, old, rules, gates, now);
        let errors =
            cloud_profile_update(new, old, rules, gates, now).into_iter().filter(|error| !known.contains(error));
        errors.map(|error| Refused::of(&error, new)).collect::<Vec<_>>()
    };
    Ok(profiles.iter().zip(&before).flat_map(|(new, old)| refused(new, old)).collect())
}

/// Life cycle of a version, to be changed.
struct Entry<'a> {
    /// `kubernetes/1.31.2`, or `IMAGE/VERSION`.
    name: String,
    expiration_date: &'a mut Option<Time>,
    classification: &'a mut Option<String>,
    stages: &'a mut Vec<LifecycleStage>,
}

fn each(
    profiles: &mut [CloudProfile],
    selector: &Selector,
    change: impl Fn(Entry<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let (mut found, mut offered) = (false, Vec::new());
    let mut visit = |subject: &str, version: &str, entry: Entry<'_>| -> Result<(), Error> {
        offered.push(entry.name.clone());
        if selector.takes(subject, version) {
            found = true;
            change(entry)?;
        }
        Ok(())
    };
    for profile in profiles {
        for entry in &mut profile.spec.kubernetes.versions {
            visit(
                "kubernetes",
                &entry.version,
                Entry {
                    name: format!("kubernetes/{}", entry.version),
                    expiration_date: &mut entry.expiration_date,
                    classification: &mut entry.classification,
                    stages: &mut entry.lifecycle,
                },
            )?;
        }
        for image in &mut profile.spec.machine_images {
            for entry in &mut image.versions {
                visit(
                    &image.name,
                    &entry.version,
                    Entry {
                        name: format!("{}/{}", image.name, entry.version),
                        expiration_date: &mut entry.expiration_date,
                        classification: &mut entry.classification,
                        stages: &mut entry.lifecycle,
                    },
                )?;
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
mod tests;
