// SPDX-License-Identifier: Apache-2.0
//! Steps of a plan that are executed together: a Deployment replaces all its instances.

use std::fmt;

use domain::skew::{Component, GardenerVersion};
use domain::upgrade::{Plan, shown};

/// Move of a component, of the gardenlets of one seed, or of one extension to another version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) component: Component,
    /// Seed of a gardenlet, name of an extension; empty for other components.
    pub(crate) owner: String,
    /// Oldest version that is replaced.
    pub(crate) from: GardenerVersion,
    pub(crate) to: GardenerVersion,
    pub(crate) instances: usize,
}

impl Move {
    /// Name of the moved component, for example `gardenlet of seed a`.
    pub(super) fn name(&self) -> String {
        shown(self.component, &self.owner)
    }
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} v{} -> v{}", self.name(), self.from, self.to)?;
        if self.instances > 1 { write!(f, " ({} instances)", self.instances) } else { Ok(()) }
    }
}

/// Returns the moves of a plan, in order.
pub(crate) fn of(plan: &Plan) -> Vec<Move> {
    let mut moves: Vec<Move> = Vec::new();
    for step in &plan.steps {
        let same = |known: &&mut Move| {
            known.component == step.component && known.owner == step.owner && known.to.full() == step.to.full()
        };
        match moves.iter_mut().find(same) {
            Some(known) => {
                known.instances += 1;
                if step.from < known.from {
                    known.from = step.from.clone();
                }
            }
            None => moves.push(Move {
                component: step.component,
                owner: step.owner.clone(),
                from: step.from.clone(),
                to: step.to.clone(),
                instances: 1,
            }),
        }
    }
    moves
}

#[cfg(test)]
mod tests {
    use domain::profile::Profile;
    use domain::skew::{Instance, Landscape};

    use super::*;

    #[test]
    fn instances_of_one_deployment_move_together() {
        let mut instances = vec![Instance::new(Component::Apiserver, "v1.120.0"); 2];
        instances.push(Instance::new(Component::ControllerManager, "v1.120.0"));
        instances.extend(["a", "b"].map(|seed| Instance::owned(Component::Gardenlet, seed, "v1.120.0")));
        let landscape = Landscape { instances, ..Landscape::default() };
        let target = GardenerVersion::parse("1.121.0").expect("a version");
        let plan = domain::upgrade::plan(&landscape, &target, Profile::Documents).expect("an order");
        let moves: Vec<String> = of(&plan).iter().map(ToString::to_string).collect();
        assert_eq!(
            moves,
            [
                "gardener-apiserver v1.120.0 -> v1.121.0 (2 instances)",
                "gardener-controller-manager v1.120.0 -> v1.121.0",
                "gardenlet of seed a v1.120.0 -> v1.121.0",
                "gardenlet of seed b v1.120.0 -> v1.121.0",
            ]
        );
    }
}
