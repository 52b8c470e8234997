// SPDX-License-Identifier: Apache-2.0
//! How long things take: the parameters of the timing model that gardenlet plays, and their jitter.

use chrono::TimeDelta;
use clock::Random;

/// A duration of the timing model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parameter {
    /// Name, as an operator sets it.
    pub(crate) name: &'static str,
    /// Default.
    pub(crate) base: TimeDelta,
}

/// An etcd gets ready.
pub(crate) const ETCD: Parameter = Parameter { name: "flow.etcd", base: TimeDelta::seconds(10) };
/// kube-apiserver gets ready.
pub(crate) const KUBE_APISERVER: Parameter = Parameter { name: "flow.kubeAPIServer", base: TimeDelta::seconds(20) };
/// The provider's part of a control plane gets ready.
pub(crate) const CONTROL_PLANE: Parameter = Parameter { name: "flow.controlPlane", base: TimeDelta::seconds(10) };
/// Any other Deployment gets ready.
pub(crate) const COMPONENT: Parameter = Parameter { name: "component.ready", base: TimeDelta::seconds(5) };

/// Part of a duration by which it varies to either side.
const JITTER: f64 = 0.2;

impl Parameter {
    /// `base × (1 + 0.2 × u)` with `u` in `-1..=1` drawn for the object and the attempt; whole milliseconds.
    pub(crate) fn of(self, random: &Random, uid: &str, attempt: u64) -> TimeDelta {
        const STEPS: u64 = 2_000_001;
        let step = random.below(STEPS, self.name, uid, attempt);
        let unit = step as f64 / 1_000_000.0 - 1.0;
        let milliseconds = self.base.num_milliseconds() as f64 * (1.0 + JITTER * unit);
        #[expect(clippy::cast_possible_truncation, reason = "a duration of seconds in milliseconds is small")]
        let milliseconds = milliseconds.round() as i64;
        TimeDelta::milliseconds(milliseconds.max(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_stays_within_a_fifth_and_depends_on_its_key_alone() {
        let random = Random::new(7);
        for attempt in 0..200 {
            let duration = KUBE_APISERVER.of(&random, "uid", attempt).num_milliseconds();
            assert!((16_000..=24_000).contains(&duration), "{duration}");
        }
        assert_eq!(COMPONENT.of(&random, "a", 1), COMPONENT.of(&random, "a", 1));
        assert_ne!(COMPONENT.of(&random, "a", 1), COMPONENT.of(&random, "b", 1));
    }
}
