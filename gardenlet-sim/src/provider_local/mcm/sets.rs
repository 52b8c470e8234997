// SPDX-License-Identifier: Apache-2.0
//! The passes of a family's MachineSets.

use api::constants::{finalizer, label};
use api::machine::{Machine, MachineSet};
use apimachinery::meta::{ObjectMeta, Time};
use controller::{Error, EventType, ObjectRef};
use domain::rollout::machine::{Phase, deletion_requested};
use domain::rollout::machine_set::{self, Wish};

use super::family::{Family, owner};
use super::machines::Individual;

impl Family<'_> {
    /// One pass of each MachineSet, by creation. Says whether anything changed.
    pub(super) async fn set_passes(&mut self) -> Result<bool, Error> {
        let mut names: Vec<_> = self
            .sets
            .iter()
            .map(|set| (set.get().metadata.creation_timestamp, set.get().metadata.name.clone()))
            .collect();
        names.sort();
        let mut changed = false;
        for (_, name) in names {
            changed |= self.set_pass(&name).await?;
        }
        Ok(changed)
    }

    async fn set_pass(&mut self, name: &str) -> Result<bool, Error> {
        let set = self.set(name).get().clone();
        let members: Vec<_> =
            self.machines.iter().filter(|individual| individual.set == name).map(Individual::member).collect();
        if set.metadata.is_being_deleted() && members.is_empty() {
            return self.release_set(name).await;
        }
        for individual in self.machines.iter_mut().filter(|individual| individual.set == name) {
            individual.follow_template(&set);
        }
        let wish = Wish {
            replicas: set.spec.replicas,
            frozen: set.metadata.label("freeze") == Some("True"),
            scale_up_disabled: set.metadata.labels.contains_key(label::SCALE_UP_DISABLED),
            deleting: set.metadata.is_being_deleted(),
        };
        let pass = machine_set::pass(wish, &members);
        let changed = pass.create > 0 || !pass.delete.is_empty();
        for name in pass.delete {
            self.delete_machine(&set, &name).await?;
        }
        for index in 0..pass.create {
            self.create_machine(&set, index).await?;
        }
        Ok(changed)
    }

    async fn release_set(&mut self, name: &str) -> Result<bool, Error> {
        let provider = self.provider;
        let api = provider.seed_api::<MachineSet>(&self.namespace);
        let set = self.set(name);
        set.edit().metadata.finalizers.retain(|finalizer| finalizer != finalizer::MACHINE_CONTROLLER_MANAGER);
        set.save(&provider.sets, &api, &provider.seed).await?;
        self.sets.retain(|set| set.get().metadata.name != name);
        Ok(true)
    }

    async fn create_machine(&mut self, set: &MachineSet, index: i32) -> Result<(), Error> {
        let api = self.provider.seed_api::<Machine>(&self.namespace);
        let set_name = &set.metadata.name;
        let key = format!("{}/{}/{set_name}", self.provider.seed, self.namespace);
        // The instant and the position in it tell creations of one set apart, also after a restart.
        let instant = self.now.timestamp_millis().cast_unsigned().wrapping_mul(1000);
        let ordinal = instant.wrapping_add(u64::from(index.unsigned_abs()));
        let suffix = self.provider.context.random.suffix(5, "machine-name", &key, ordinal);
        let metadata = ObjectMeta::named(&self.namespace, &format!("{set_name}-{suffix}"));
        let mut machine = Machine { metadata, ..Machine::default() };
        machine.metadata.generate_name = format!("{set_name}-");
        machine.metadata.labels.clone_from(&set.spec.template.metadata.labels);
        machine.metadata.annotations.clone_from(&set.spec.template.metadata.annotations);
        machine.metadata.owner_references = vec![owner(set)];
        machine.metadata.finalizers = vec![finalizer::MACHINE_CONTROLLER_MANAGER.to_owned()];
        machine.spec = set.spec.template.spec.clone();
        let created = self.provider.machines.create(&api, &self.provider.seed, &machine).await?;
        let message = format!("Created Machine: {}", created.metadata.name);
        self.machines.push(Individual::new(set_name.clone(), created, None));
        self.provider.recorder.publish(&ObjectRef::of(set), EventType::Normal, "SuccessfulCreate", &message).await
    }

    async fn delete_machine(&mut self, set: &MachineSet, name: &str) -> Result<(), Error> {
        let provider = self.provider;
        let api = provider.seed_api::<Machine>(&self.namespace);
        let now = Time::from(self.now);
        let Some(index) = self.machines.iter().position(|individual| individual.machine.get().metadata.name == name)
        else {
            return Ok(());
        };
        let individual = &mut self.machines[index];
        individual.machine.save(&provider.machines, &api, &provider.seed).await?;
        match provider.machines.delete(&api, &provider.seed, individual.machine.get()).await? {
            Some(left) => {
                individual.machine.reset(left);
                individual.set_status(Phase::Terminating, deletion_requested(), false, now);
            }
            None => drop(self.machines.remove(index)),
        }
        let message = format!("Deleted machine: {name}");
        provider.recorder.publish(&ObjectRef::of(set), EventType::Normal, "SuccessfulDelete", &message).await
    }
}
