// SPDX-License-Identifier: Apache-2.0
//! Selection of the seed for a Shoot: filters in upstream's order, then a strategy, then the seed with the fewest Shoots.
//!
//! Source: pkg/scheduler/controller/shoot/reconciler.go @ v1.120.0.

mod distance;
mod networks;

use std::collections::BTreeMap;
use std::fmt;

use api::constants::condition;
use api::core::{CloudProfileSpec, Seed, SeedSelector, Shoot, Toleration};
use apimachinery::meta::LabelSelector;
use apimachinery::selector::Labels;

use crate::{cloud_profile, conditions};

pub use self::distance::distance;

/// Strategy for the selection of candidates by region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Seeds of the Shoot's region.
    SameRegion,
    /// Seeds of the nearest region. Configured by gardener-operator, and therefore the default of a landscape (the code's
    /// own default is `SameRegion`).
    #[default]
    MinimalDistance,
}

impl Strategy {
    /// Returns the name in a configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SameRegion => "SameRegion",
            Self::MinimalDistance => "MinimalDistance",
        }
    }

    /// Parses the name in a configuration.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::SameRegion, Self::MinimalDistance].into_iter().find(|strategy| strategy.as_str() == text)
    }
}

/// Inputs of a selection in addition to Shoot and Seeds.
pub struct Placement<'a> {
    /// Specification of the CloudProfile that the Shoot references; of a NamespacedCloudProfile the merged one.
    pub cloud_profile: &'a CloudProfileSpec,
    /// Strategy by region.
    pub strategy: Strategy,
    /// Configured distances of regions from the Shoot's region; empty if unknown.
    pub distances: BTreeMap<String, i64>,
    /// Number of Shoots of a seed: each counts for `spec.seedName`, and for `status.seedName` if that differs.
    pub usage: &'a dyn Fn(&str) -> usize,
}

impl fmt::Debug for Placement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Placement").field("strategy", &self.strategy).finish_non_exhaustive()
    }
}

/// Reason for which no seed was found, as upstream's message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoSeed(String);

type Seeds<'a> = Vec<&'a Seed>;

/// Returns the seed for a Shoot. `seeds` are ordered by name; of several with the same lowest number of Shoots the first
/// is selected (upstream: the first in the order of its cache, which is undefined).
///
/// # Errors
/// The first filter without a result.
pub fn determine_seed<'a>(
    shoot: &Shoot,
    seeds: impl IntoIterator<Item = &'a Seed>,
    placement: &Placement<'_>,
) -> Result<&'a Seed, NoSeed> {
    let seeds = usable(seeds.into_iter().collect())?;
    let seeds = matching_labels(seeds, placement.cloud_profile.seed_selector.as_ref(), "CloudProfile")?;
    let seeds = matching_labels(seeds, shoot.spec.seed_selector.as_ref(), "Shoot")?;
    let seeds = matching_provider(seeds, shoot, placement.cloud_profile)?;
    let seeds = with_zones(seeds, shoot)?;
    let seeds = supporting_access_restrictions(seeds, shoot)?;
    let seeds = candidates(seeds, shoot, placement)?;
    let seeds = nearest(seeds, shoot, placement)?;
    let best = seeds.into_iter().min_by_key(|seed| (placement.usage)(&seed.metadata.name));
    Ok(best.expect("every filter leaves a seed or fails"))
}

/// Returns the seeds that pass a filter, or its error if there are none; `count`: number of seeds before the filter.
fn keep<'a>(
    seeds: Seeds<'a>,
    wanted: impl Fn(&Seed) -> bool,
    nothing: impl FnOnce(usize) -> String,
) -> Result<Seeds<'a>, NoSeed> {
    let count = seeds.len();
    let kept: Seeds<'a> = seeds.into_iter().filter(|seed| wanted(seed)).collect();
    if kept.is_empty() { Err(NoSeed(nothing(count))) } else { Ok(kept) }
}

fn usable(seeds: Seeds<'_>) -> Result<Seeds<'_>, NoSeed> {
    keep(seeds, is_usable, |count| {
        format!("none of the {count} seeds is valid for scheduling (not deleting, visible and ready)")
    })
}

/// True if new Shoots may be scheduled to a seed: it is not being deleted, it is visible, gardenlet has reconciled it and
/// is alive, and its backup bucket, if it has one, is ready.
pub fn is_usable(seed: &Seed) -> bool {
    let is_true = |type_| conditions::get(&seed.status.conditions, type_).is_some_and(|it| it.status == "True");
    let scheduling = seed.spec.settings.as_ref().and_then(|settings| settings.scheduling.as_ref());
    seed.metadata.deletion_timestamp.is_none()
        && scheduling.is_none_or(|scheduling| scheduling.visible)
        && seed.status.last_operation.is_some()
        && is_true(condition::SEED_GARDENLET_READY)
        && (seed.spec.backup.is_none() || is_true(condition::SEED_BACKUP_BUCKETS_READY))
}

fn matching_labels<'a>(seeds: Seeds<'a>, selector: Option<&SeedSelector>, kind: &str) -> Result<Seeds<'a>, NoSeed> {
    let Some(selector) = selector else { return Ok(seeds) };
    let selector = LabelSelector {
        match_labels: selector.match_labels.clone(),
        match_expressions: selector.match_expressions.clone(),
    };
    let labels = Labels::from_selector(&selector)
        .map_err(|error| NoSeed(format!("label selector conversion failed: {selector:?} for seedSelector: {error}")))?;
    keep(
        seeds,
        |seed| labels.matches(&seed.metadata.labels),
        |count| {
            format!(
                "none out of the {count} seeds has the matching labels required by seed selector of '{kind}' (selector: '{}')",
                selector_text(&selector)
            )
        },
    )
}

/// Formats a selector as Go prints it: requirements in order of their keys.
fn selector_text(selector: &LabelSelector) -> String {
    let equal = selector.match_labels.iter().map(|(key, value)| (key.as_str(), format!("{key}={value}")));
    let expressions = selector.match_expressions.iter().map(|requirement| {
        let mut values: Vec<&str> = requirement.values.iter().map(String::as_str).collect();
        values.sort_unstable();
        let (key, values) = (requirement.key.as_str(), values.join(","));
        let text = match requirement.operator.as_str() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        };
        (key, text)
    });
    let mut requirements: Vec<(&str, String)> = equal.chain(expressions).collect();
    requirements.sort_by_key(|(key, _)| *key);
    requirements.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")
}

fn matching_provider<'a>(seeds: Seeds<'a>, shoot: &Shoot, profile: &CloudProfileSpec) -> Result<Seeds<'a>, NoSeed> {
    // Only the CloudProfile's list is considered; a Shoot's own is ignored, as upstream does.
    let allowed = profile.seed_selector.as_ref().map(|selector| selector.provider_types.as_slice()).unwrap_or_default();
    let wanted = &shoot.spec.provider.r#type;
    keep(
        seeds,
        |seed| {
            let type_ = &seed.spec.provider.r#type;
            if allowed.is_empty() {
                type_ == wanted
            } else {
                allowed.iter().any(|allowed| allowed == "*" || allowed == type_)
            }
        },
        |count| format!("none out of the {count} seeds has a matching provider for {wanted:?}"),
    )
}

fn failure_tolerance(shoot: &Shoot) -> Option<&str> {
    let high_availability = shoot.spec.control_plane.as_ref()?.high_availability.as_ref()?;
    Some(&high_availability.failure_tolerance.r#type)
}

fn with_zones<'a>(seeds: Seeds<'a>, shoot: &Shoot) -> Result<Seeds<'a>, NoSeed> {
    if failure_tolerance(shoot) != Some("zone") {
        return Ok(seeds);
    }
    keep(
        seeds,
        |seed| seed.spec.provider.zones.len() >= 3,
        |count| {
            format!(
                "none of the {count} seeds has at least 3 zones for hosting a shoot control plane with failure tolerance type 'zone'"
            )
        },
    )
}

fn supporting_access_restrictions<'a>(seeds: Seeds<'a>, shoot: &Shoot) -> Result<Seeds<'a>, NoSeed> {
    keep(
        seeds,
        |seed| {
            shoot
                .spec
                .access_restrictions
                .iter()
                .all(|wanted| seed.spec.access_restrictions.iter().any(|supported| supported.name == wanted.name))
        },
        |count| {
            format!("none of the {count} seeds supports the access restrictions configured in the shoot specification")
        },
    )
}

fn candidates<'a>(seeds: Seeds<'a>, shoot: &Shoot, placement: &Placement<'_>) -> Result<Seeds<'a>, NoSeed> {
    let count = seeds.len();
    let mut refused = BTreeMap::new();
    let mut candidates = Seeds::new();
    for seed in seeds {
        match refusal(seed, shoot, placement) {
            Some(reason) => {
                refused.insert(seed.metadata.name.as_str(), reason);
            }
            None => candidates.push(seed),
        }
    }
    if !candidates.is_empty() {
        return Ok(candidates);
    }
    let reasons: Vec<String> = refused.into_iter().map(|(seed, reason)| format!("{seed} => {reason}")).collect();
    Err(NoSeed(format!("0/{count} seed cluster candidate(s) are eligible for scheduling: {{{}}}", reasons.join(", "))))
}

fn refusal(seed: &Seed, shoot: &Shoot, placement: &Placement<'_>) -> Option<String> {
    let conflicts = networks::conflicts(seed, shoot);
    if !conflicts.is_empty() {
        return Some(format!("invalid networks: [{}]", conflicts.join(" ")));
    }
    if !tolerates(seed, &shoot.spec.tolerations) {
        return Some("shoot does not tolerate the seed's taints".to_owned());
    }
    let used = (placement.usage)(&seed.metadata.name);
    let limit = seed.status.allocatable.get("shoots")?;
    (i64::try_from(used).unwrap_or(i64::MAX) >= limit.value())
        .then(|| "seed does not have available capacity for shoots".to_owned())
}

/// True if each taint is tolerated: by key alone, or by key and equal value.
fn tolerates(seed: &Seed, tolerations: &[Toleration]) -> bool {
    seed.spec.taints.iter().all(|taint| {
        tolerations.iter().any(|toleration| {
            toleration.key == taint.key
                && toleration.value.as_ref().is_none_or(|value| Some(value) == taint.value.as_ref())
        })
    })
}

fn nearest<'a>(seeds: Seeds<'a>, shoot: &Shoot, placement: &Placement<'_>) -> Result<Seeds<'a>, NoSeed> {
    let same_type = |seed: &Seed| seed.spec.provider.r#type == shoot.spec.provider.r#type;
    let region = &shoot.spec.region;
    let found: Seeds<'a> = if shoot.spec.purpose.as_deref() == Some("testing") {
        seeds.into_iter().filter(|seed| same_type(seed)).collect()
    } else {
        match placement.strategy {
            Strategy::SameRegion => {
                seeds.into_iter().filter(|seed| same_type(seed) && seed.spec.provider.region == *region).collect()
            }
            Strategy::MinimalDistance => {
                let configured = configured_distances(placement, region);
                let near = minimal(&seeds, i64::from(i32::MAX), |seed| {
                    configured.as_ref()?.get(&seed.spec.provider.region).copied()
                });
                if near.is_empty() {
                    minimal(&seeds, 1000, |seed| {
                        let penalty = if same_type(seed) { 0 } else { 2 };
                        Some(distance(&seed.spec.provider.region, region) + penalty)
                    })
                } else {
                    near
                }
            }
        }
    };
    if !found.is_empty() {
        return Ok(found);
    }
    let profile = cloud_profile::reference(&shoot.spec).map(|reference| reference.name).unwrap_or_default();
    Err(NoSeed(format!(
        "no matching seed candidate found for Configuration (Cloud Profile '{profile}', Region '{region}', SeedDeterminationStrategy '{}')",
        placement.strategy.as_str()
    )))
}

/// Returns the configured distances; the distance of a region to itself is 0 unless configured otherwise.
fn configured_distances(placement: &Placement<'_>, region: &str) -> Option<BTreeMap<String, i64>> {
    if placement.distances.is_empty() {
        return None;
    }
    let mut distances = placement.distances.clone();
    distances.entry(region.to_owned()).or_insert(0);
    Some(distances)
}

/// Returns all seeds at the smallest distance, which is at most `limit`; seeds without a distance are excluded.
fn minimal<'a>(seeds: &[&'a Seed], limit: i64, distance: impl Fn(&Seed) -> Option<i64>) -> Seeds<'a> {
    let distances: Vec<(i64, &'a Seed)> =
        seeds.iter().filter_map(|seed| Some((distance(seed)?, *seed))).filter(|(it, _)| *it <= limit).collect();
    let Some(least) = distances.iter().map(|(distance, _)| *distance).min() else { return Vec::new() };
    distances.into_iter().filter(|(distance, _)| *distance == least).map(|(_, seed)| seed).collect()
}

#[cfg(test)]
mod tests;
