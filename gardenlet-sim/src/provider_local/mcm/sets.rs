// SPDX-License-Identifier: Apache-2.0
//! The passes of a family's MachineSets.

use api::constants::{annotation, finalizer, label};
use api::machine::{Machine, MachineSet};
use apimachinery::meta::{ObjectMeta, Time};
use controller::{Error, EventType, ObjectRef};
use domain::rollout::machine::{Phase, deletion_requested};
use domain::rollout::machine_set::{self, Desired};
use domain::rollout::preservation;
use domain::rollout::safety;

use super::family::{Family, owner};
use super::machines::Individual;

impl Family<'_> {
    /// Runs one pass of each MachineSet, by creation. Returns true if anything changed.
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
        if set.metadata.is_being_deleted() && self.counts(name).machines == 0 {
            return self.release_set(name).await;
        }
        self.follow_template(&set);
        let desired = Desired {
            replicas: set.spec.replicas,
            frozen: safety::is_frozen(&set),
            scale_up_disabled: set.metadata.labels.contains_key(label::SCALE_UP_DISABLED),
            deleting: set.metadata.is_being_deleted(),
            auto_preserve_max: if self.provider.preserves() { set.spec.auto_preserve_failed_machine_max } else { 0 },
        };
        let mut pass = machine_set::pass(desired, &self.counts(name), || self.roster.members(name));
        let changed = pass != machine_set::Pass::default();
        let marks = pass.preserve.into_iter().map(|name| (name, true));
        let marks: Vec<(String, bool)> = marks.chain(pass.release.into_iter().map(|name| (name, false))).collect();
        if !marks.is_empty() {
            for (name, is_preserved) in &marks {
                self.mark_preserved(name, *is_preserved);
            }
            pass = machine_set::pass(desired, &self.counts(name), || self.roster.members(name));
        }
        for name in pass.delete {
            self.delete_machine(&set, &name).await?;
        }
        let ordinal = if pass.create > 0 { self.roster.most_ordinal() } else { 0 };
        for index in 0..pass.create {
            self.create_machine(&set, index, ordinal + index + 1).await?;
        }
        Ok(changed)
    }

    /// Adds or removes the annotation by which a Machine is preserved without a user's request.
    fn mark_preserved(&mut self, name: &str, is_preserved: bool) {
        let Some(individual) = self.load(name) else { return };
        let annotations = &mut individual.machine.edit().metadata.annotations;
        if is_preserved {
            annotations.insert(annotation::NODE_PRESERVE.to_owned(), preservation::AUTO_PRESERVED.to_owned());
        } else {
            annotations.remove(annotation::NODE_PRESERVE);
        }
        let position = individual.position();
        self.note(&position);
        self.todo.insert(position);
    }

    /// Copies fields of the set's template that apply to existing Machines: to all if the template changed, otherwise
    /// to the loaded ones.
    fn follow_template(&mut self, set: &MachineSet) {
        let name = &set.metadata.name;
        if self.roster.followed.get(name) != Some(&set.spec.template.spec) {
            self.load_all(Some(name));
            self.roster.followed.insert(name.clone(), set.spec.template.spec.clone());
        }
        self.of_set(name).for_each(|individual| individual.follow_template(set));
    }

    async fn release_set(&mut self, name: &str) -> Result<bool, Error> {
        let api = self.provider.api_of(&self.provider.sets);
        let set = self.set(name);
        set.edit().metadata.finalizers.retain(|finalizer| finalizer != finalizer::MACHINE_CONTROLLER_MANAGER);
        set.save(&api).await?;
        self.sets.retain(|set| set.get().metadata.name != name);
        self.roster.followed.remove(name);
        Ok(true)
    }

    async fn create_machine(&mut self, set: &MachineSet, index: i32, ordinal: i32) -> Result<(), Error> {
        let set_name = &set.metadata.name;
        let key = format!("{}/{}/{set_name}", self.provider.seed, self.namespace);
        // Instant and index distinguish the creations of one set, also after a restart.
        let instant = self.now.timestamp_millis().cast_unsigned().wrapping_mul(1000);
        let draw = instant.wrapping_add(u64::from(index.unsigned_abs()));
        let suffix = self.provider.context.random.suffix(5, "machine-name", &key, draw);
        let metadata = ObjectMeta::named(&self.namespace, &format!("{set_name}-{suffix}"));
        let mut machine = Machine { metadata, ..Machine::default() };
        machine.metadata.generate_name = format!("{set_name}-");
        machine.metadata.labels.clone_from(&set.spec.template.metadata.labels);
        machine.metadata.annotations.clone_from(&set.spec.template.metadata.annotations);
        machine.metadata.annotations.insert(annotation::MACHINE_ORDINAL.to_owned(), ordinal.to_string());
        machine.metadata.owner_references = vec![owner(set)];
        machine.metadata.finalizers = vec![finalizer::MACHINE_CONTROLLER_MANAGER.to_owned()];
        machine.spec = set.spec.template.spec.clone();
        let created = self.provider.api_of(&self.provider.machines).create(&machine).await?;
        let message = format!("Created Machine: {}", created.metadata.name);
        let position = self.keep(Individual::new(set_name.clone(), created.into(), None));
        self.todo.insert(position);
        self.roster.is_count_due = true;
        self.provider.recorder.publish(&ObjectRef::of(set), EventType::Normal, "SuccessfulCreate", &message).await
    }

    async fn delete_machine(&mut self, set: &MachineSet, name: &str) -> Result<(), Error> {
        let provider = self.provider;
        let api = provider.api_of(&provider.machines);
        let key = provider.seed_key(&self.namespace, name);
        let now = Time::from(self.now);
        let Some(individual) = self.load(name) else { return Ok(()) };
        let position = individual.position();
        individual.machine.save(&api).await?;
        api.delete_object(individual.machine.get(), false, None).await?;
        match provider.machines.get(&key) {
            Some(left) => {
                individual.machine.reset(left);
                individual.set_status(Phase::Terminating, deletion_requested(), false, now);
                self.note(&position);
                self.todo.insert(position);
            }
            None => self.drop_machine(&position),
        }
        let message = format!("Deleted machine: {name}");
        provider.recorder.publish(&ObjectRef::of(set), EventType::Normal, "SuccessfulDelete", &message).await
    }
}
