// SPDX-License-Identifier: Apache-2.0
//! Freezes MachineSets with far too many Machines.

use api::constants::annotation;
use apimachinery::meta::Time;
use controller::{Error, EventType, ObjectRef};
use domain::rollout::safety::{self, Verdict};

use super::family::{Family, desired};

impl Family<'_> {
    /// Counts the Machines of each MachineSet if a count is due. Returns true if anything changed.
    pub(super) async fn safety_pass(&mut self) -> Result<bool, Error> {
        let deployment = self.deployment.get();
        let (replicas, limits) = (deployment.spec.replicas, desired(deployment).strategy.limits().clone());
        let is_asked = deployment.metadata.annotations.contains_key(annotation::UNFREEZE);
        let arguments = &self.provider.arguments;
        let is_time = std::mem::take(&mut self.roster.is_count_due) || safety::is_count_due(self.now, arguments);
        self.roster.next_count = None;
        let now = Time::from(self.now);
        let mut changed = false;
        for index in 0..self.sets.len() {
            let set = self.sets[index].get();
            let name = set.metadata.name.clone();
            let verdict = safety::judge(set, self.counts(&name).machines, replicas, &limits, is_asked, arguments);
            if verdict == Verdict::Keep {
                continue;
            }
            if !is_time {
                self.roster.next_count = Some(safety::next_count(self.now, arguments));
                continue;
            }
            let (reason, text) = match verdict {
                Verdict::Freeze(message) => {
                    safety::freeze_set(self.sets[index].edit(), &message, now);
                    safety::freeze_deployment(self.deployment.edit(), &message, now);
                    ("FrozeMachineSet", format!("Froze MachineSet {name} due to replica overshooting"))
                }
                _ => {
                    safety::unfreeze_set(self.sets[index].edit());
                    ("UnfrozeMachineSet", format!("Unfroze MachineSet {name}"))
                }
            };
            let (about, text) = (ObjectRef::of(self.sets[index].get()), format!("SafetyController: {text}"));
            self.provider.recorder.publish(&about, EventType::Normal, reason, &text).await?;
            changed = true;
        }
        let is_any_frozen = self.sets.iter().any(|set| safety::is_frozen(set.get()));
        if !is_any_frozen && safety::is_deployment_marked(self.deployment.get()) {
            safety::unfreeze_deployment(self.deployment.edit());
        }
        Ok(changed)
    }
}
