// SPDX-License-Identifier: Apache-2.0
//! Enforcement of the rules about versions: `--skew-enforcement`.
//!
//! | | at registration | at start | while it runs |
//! | --- | --- | --- | --- |
//! | `enforce` | no, 403 | no, exit code 3 | waits, and is not ready |
//! | `warn` | with a warning | with an Event and a line in its log | continues, with an Event and a line in its log |
//! | `off` | silently | silently | is not checked |
//!
//! The checks that gardener-operator makes upstream, its version against the Garden's (O3a, O3b, and V0 there), are
//! independent of this setting: the real one makes them everywhere.

use super::{Component, Rule};
use crate::profile::Profile;

/// Treatment of a component that violates a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enforcement {
    /// The component is refused, or waits.
    Enforce,
    /// The component runs; a warning is issued.
    Warn,
    /// Versions are not checked.
    Off,
}

impl Enforcement {
    /// All variants.
    pub const ALL: [Self; 3] = [Self::Enforce, Self::Warn, Self::Off];

    /// Name in flags and objects: `enforce`, `warn` or `off`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Warn => "warn",
            Self::Off => "off",
        }
    }

    /// Returns the value of this [`Enforcement::name`].
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    /// Returns the default: `enforce` in profile `documents`, `warn` in `upstream`.
    pub const fn usual(profile: Profile) -> Self {
        match profile {
            Profile::Documents => Self::Enforce,
            Profile::Upstream => Self::Warn,
        }
    }

    /// Returns true if a component starts although it violates a rule.
    pub const fn lets_start(self, component: Component, rule: Rule) -> bool {
        let is_upstreams = matches!(component, Component::Operator) && matches!(rule, Rule::V0 | Rule::O3a | Rule::O3b);
        !matches!(self, Self::Enforce) && !is_upstreams
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in ["enforce", "warn", "off"] {
            assert_eq!(Enforcement::named(name).map(Enforcement::name), Some(name));
        }
        assert_eq!(Enforcement::named("Warn"), None);
        assert_eq!(Enforcement::usual(Profile::Documents), Enforcement::Enforce);
        assert_eq!(Enforcement::usual(Profile::Upstream), Enforcement::Warn);
    }

    /// Enforcement, component, rule; true if it starts.
    #[test]
    fn the_check_of_the_real_operator_is_always_made() {
        for (enforcement, component, rule, expected) in [
            (Enforcement::Enforce, Component::Scheduler, Rule::C1, false),
            (Enforcement::Warn, Component::Scheduler, Rule::C1, true),
            (Enforcement::Off, Component::Scheduler, Rule::V0, true),
            (Enforcement::Warn, Component::Operator, Rule::O2, true),
            (Enforcement::Warn, Component::Operator, Rule::P1, true),
            (Enforcement::Warn, Component::Operator, Rule::O3a, false),
            (Enforcement::Off, Component::Operator, Rule::O3b, false),
            (Enforcement::Off, Component::Operator, Rule::V0, false),
        ] {
            assert_eq!(enforcement.lets_start(component, rule), expected, "{enforcement:?} {component:?} {rule}");
        }
    }
}
