// SPDX-License-Identifier: Apache-2.0
//! Computes the size of each ReplicaSet of a Deployment in one pass, from numbers only.
//!
//! Source: k8s.io/kubernetes pkg/controller/deployment/{rolling,sync}.go, deployment/util/deployment_util.go; the tests
//! quote the concept page on Deployments.

use apimachinery::meta::IntOrString;

/// Desired state of a Deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    /// Value of `spec.replicas`.
    pub(crate) replicas: i32,
    /// Pods allowed above `replicas`; 0 for strategy Recreate.
    pub(crate) surge: i32,
    /// Pods allowed to be missing; 0 for strategy Recreate.
    pub(crate) unavailable: i32,
    /// True if the strategy is RollingUpdate.
    pub(crate) is_rolling: bool,
}

/// Numbers of one ReplicaSet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Set {
    /// Value of `spec.replicas`.
    pub(crate) replicas: i32,
    /// Value of `status.availableReplicas`.
    pub(crate) available: i32,
    /// Maximum number of pods (replicas and surge) when the Deployment last scaled this set; from an annotation.
    pub(crate) max_replicas: Option<i32>,
}

/// Returns `maxSurge` rounded up and `maxUnavailable` rounded down, both of `replicas`. If both are 0, one pod may be
/// missing, or the roll-out could not proceed. A text that is not a percentage counts as 0.
pub(crate) fn fenceposts(surge: &IntOrString, unavailable: &IntOrString, replicas: i32) -> (i32, i32) {
    let surge = surge.scaled(replicas, true).unwrap_or(0).max(0);
    let unavailable = unavailable.scaled(replicas, false).unwrap_or(0).max(0);
    if surge == 0 && unavailable == 0 { (0, 1) } else { (surge, unavailable) }
}

impl Wish {
    /// Returns the desired state for a rolling update; `None`: the default of 25%.
    pub(crate) fn rolling(replicas: i32, surge: Option<&IntOrString>, unavailable: Option<&IntOrString>) -> Self {
        let quarter = IntOrString::String("25%".to_owned());
        let (surge, unavailable) = fenceposts(surge.unwrap_or(&quarter), unavailable.unwrap_or(&quarter), replicas);
        let unavailable = if replicas == 0 { 0 } else { unavailable.min(replicas) };
        Self { replicas, surge, unavailable, is_rolling: true }
    }

    /// Returns the desired state for strategy Recreate.
    pub(crate) fn recreate(replicas: i32) -> Self {
        Self { replicas, surge: 0, unavailable: 0, is_rolling: false }
    }

    /// Returns the size of the new set, which has `current` of the `total` replicas of all sets.
    pub(crate) fn new_set(self, current: i32, total: i32) -> i32 {
        if !self.is_rolling || current > self.replicas {
            return self.replicas;
        }
        let room = self.replicas.saturating_add(self.surge) - total;
        if room <= 0 { current } else { current + room.min(self.replicas - current) }
    }

    /// Returns the sizes of the old sets, which are in the order of their creation: unavailable pods are removed first,
    /// then as many as the available pods of all sets allow.
    pub(crate) fn old_sets(self, new: Set, old: &[Set]) -> Vec<i32> {
        let mut sizes: Vec<i32> = old.iter().map(|set| set.replicas).collect();
        let total = sizes.iter().sum::<i32>() + new.replicas;
        let needed = self.replicas - self.unavailable;
        let most = total - needed - (new.replicas - new.available);
        if most <= 0 {
            return sizes;
        }
        let mut cleaned = 0;
        for (size, set) in sizes.iter_mut().zip(old) {
            let unhealthy = (*size - set.available).max(0).min(most - cleaned);
            *size -= unhealthy;
            cleaned += unhealthy;
        }
        let available = old.iter().map(|set| set.available).sum::<i32>() + new.available;
        let mut left = (available - needed).max(0);
        for size in &mut sizes {
            let down = left.min(*size);
            *size -= down;
            left -= down;
        }
        sizes
    }

    /// Returns the sizes of several non-empty sets when the Deployment is scaled during an update: in proportion.
    ///
    /// `sets` are sorted largest first (of equal ones the newer first for scaling up, the older first otherwise); the
    /// remainder of rounding is added to the first. `status_replicas` replaces a missing [`Set::max_replicas`].
    pub(crate) fn proportional(self, sets: &[Set], status_replicas: i32) -> Vec<i32> {
        let total: i32 = sets.iter().map(|set| set.replicas).sum();
        let to_add = self.to_add(total);
        let mut added = 0;
        let mut sizes = Vec::with_capacity(sets.len());
        for set in sets {
            let share = if set.replicas == 0 || to_add == 0 || to_add == added {
                0
            } else {
                let (fraction, allowed) = (self.fraction(*set, status_replicas), to_add - added);
                if to_add > 0 { fraction.min(allowed) } else { fraction.max(allowed) }
            };
            sizes.push(set.replicas + share);
            added += share;
        }
        if let Some(first) = sizes.first_mut() {
            *first = (*first + to_add - added).max(0);
        }
        sizes
    }

    /// Returns how many pods may be added up to the Deployment's maximum; negative: how many are too many.
    pub(crate) fn to_add(self, total: i32) -> i32 {
        let most = if self.replicas > 0 { self.replicas.saturating_add(self.surge) } else { 0 };
        most - total
    }

    fn fraction(self, set: Set, status_replicas: i32) -> i32 {
        if self.replicas == 0 {
            return -set.replicas;
        }
        let before = set.max_replicas.filter(|most| *most > 0).unwrap_or(status_replicas);
        if before <= 0 {
            return 0;
        }
        let after = i64::from(self.replicas) + i64::from(self.surge);
        // Rounded to the nearest, halves up.
        let (product, before) = (i64::from(set.replicas) * after, i64::from(before));
        let rounded = (2 * product + before).div_euclid(2 * before);
        i32::try_from(rounded).unwrap_or(i32::MAX) - set.replicas
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percent(text: &str) -> IntOrString {
        IntOrString::String(text.to_owned())
    }

    fn set(replicas: i32, available: i32) -> Set {
        Set { replicas, available, max_replicas: None }
    }

    /// "By default, at most 25% of pods are unavailable (rounded down) and at most 25% above desired (rounded up)."
    #[test]
    fn surge_rounds_up_and_unavailable_rounds_down() {
        for (surge, unavailable, replicas, expected) in [
            (percent("25%"), percent("25%"), 1, (1, 0)),
            (percent("25%"), percent("25%"), 3, (1, 0)),
            (percent("25%"), percent("25%"), 4, (1, 1)),
            (percent("25%"), percent("25%"), 10, (3, 2)),
            (percent("30%"), percent("30%"), 10, (3, 3)),
            (IntOrString::Int(2), IntOrString::Int(0), 5, (2, 0)),
            (IntOrString::Int(0), percent("5%"), 10, (0, 1)),
            (percent("nonsense"), IntOrString::Int(1), 10, (0, 1)),
        ] {
            assert_eq!(fenceposts(&surge, &unavailable, replicas), expected, "{surge:?} {unavailable:?} of {replicas}");
        }
        assert_eq!(Wish::rolling(0, None, None).unavailable, 0);
        assert_eq!(Wish::rolling(1, None, Some(&IntOrString::Int(5))).unavailable, 1);
    }

    /// Source: k8s.io/api apps/v1, `RollingUpdateDeployment.maxSurge`.
    #[test]
    fn the_new_set_grows_into_the_room_that_surge_leaves() {
        for (surge, replicas, current, total, expected) in [
            ("0%", 10, 0, 10, 0),
            ("30%", 10, 0, 10, 3),
            ("30%", 10, 3, 13, 3),
            ("30%", 10, 3, 8, 8),
            ("30%", 10, 8, 8, 10),
            ("30%", 10, 0, 0, 10),
            ("30%", 5, 7, 7, 5),
        ] {
            let wish = Wish::rolling(replicas, Some(&percent(surge)), None);
            assert_eq!(wish.new_set(current, total), expected, "{surge} of {replicas}: {current} of {total}");
        }
        assert_eq!(Wish::recreate(4).new_set(0, 4), 4);
    }

    /// Source: k8s.io/api apps/v1, `RollingUpdateDeployment.maxUnavailable`.
    #[test]
    fn old_sets_shrink_within_limits_and_lose_unhealthy_pods_first() {
        let unavailable = |text| Wish::rolling(10, Some(&IntOrString::Int(0)), Some(&percent(text)));
        for (wish, new, old, expected) in [
            (unavailable("30%"), set(0, 0), vec![set(10, 10)], vec![7]),
            // New pods that are not available yet allow no removal.
            (unavailable("30%"), set(3, 0), vec![set(7, 7)], vec![7]),
            (unavailable("30%"), set(3, 2), vec![set(7, 7)], vec![5]),
            // No pod may be missing: one is removed for each available new pod.
            (
                Wish::rolling(10, Some(&IntOrString::Int(3)), Some(&IntOrString::Int(0))),
                set(3, 2),
                vec![set(10, 10)],
                vec![8],
            ),
            // Unavailable pods are removed without a loss.
            (unavailable("20%"), set(0, 0), vec![set(8, 0), set(2, 2)], vec![6, 2]),
            (unavailable("20%"), set(0, 0), vec![set(4, 2), set(6, 6)], vec![2, 6]),
            // The oldest sets shrink first.
            (unavailable("50%"), set(5, 5), vec![set(3, 3), set(5, 5)], vec![0, 0]),
            (unavailable("50%"), set(0, 0), vec![set(4, 4), set(6, 6)], vec![0, 5]),
        ] {
            assert_eq!(wish.old_sets(new, &old), expected, "{wish:?} {new:?} {old:?}");
        }
    }

    /// Source: kubernetes.io, Deployments, proportional scaling: 10 replicas in sets of 8 and 5 are scaled to 15.
    #[test]
    fn additional_replicas_are_spread_in_proportion() {
        let of = |replicas| Set { replicas, available: 0, max_replicas: Some(13) };
        let wish = |replicas| Wish { replicas, surge: 3, unavailable: 2, is_rolling: true };
        assert_eq!(wish(15).proportional(&[of(8), of(5)], 13), [11, 7]);
        assert_eq!(wish(5).proportional(&[of(8), of(5)], 13), [5, 3]);
        assert_eq!(wish(0).proportional(&[of(8), of(5)], 13), [0, 0]);
        assert_eq!(wish(10).proportional(&[of(8), of(5)], 13), [8, 5]);
        // Without the annotation, the status provides the former number.
        assert_eq!(wish(15).proportional(&[set(8, 8), set(5, 0)], 13), [11, 7]);
    }

    /// No step of a small roll-out has more pods than allowed or fewer available ones; and each roll-out ends.
    #[test]
    fn every_small_rollout_keeps_its_promises_and_ends() {
        for replicas in 1..=5 {
            for surge in 0..=3 {
                for unavailable in 0..=3 {
                    let (s, u) = (IntOrString::Int(surge), IntOrString::Int(unavailable));
                    let wish = Wish::rolling(replicas, Some(&s), Some(&u));
                    let (mut new, mut old) = (set(0, 0), set(replicas, replicas));
                    let mut steps = 0;
                    while (new, old) != (set(replicas, replicas), set(0, 0)) {
                        let size = wish.new_set(new.replicas, new.replicas + old.replicas);
                        if size == new.replicas {
                            old.replicas = wish.old_sets(new, &[old])[0];
                            old.available = old.available.min(old.replicas);
                            // New pods become available one by one.
                            new.available = (new.available + 1).min(new.replicas);
                        }
                        new.replicas = size;
                        assert!(new.replicas + old.replicas <= replicas + wish.surge, "{wish:?} {new:?} {old:?}");
                        assert!(
                            new.available + old.available >= replicas - wish.unavailable,
                            "{wish:?} {new:?} {old:?}"
                        );
                        steps += 1;
                        assert!(steps < 100, "{wish:?} gets stuck at {new:?} {old:?}");
                    }
                }
            }
        }
    }
}
