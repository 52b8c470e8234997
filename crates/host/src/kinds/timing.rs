// SPDX-License-Identifier: Apache-2.0
//! Simulated durations as an object: `timings.terrarium.dev` in cluster `runtime`.
//!
//! The rules are [`domain::rollout::timing`]'s. Components read the object themselves; the host reads the duration of
//! pods' termination, since kube-controller-manager, which runs in it, has no code for Gardener.

use std::sync::Arc;

use api::cluster;
use api::terrarium::{Timing, TimingSpec};
use apimachinery::field::FieldError;
use chrono::TimeDelta;
use controller::{Api, Controller, ListOptions, ObjectKey, Requeue};
use domain::rollout::{self, Parameter, timing};
use generic_apiserver::{RequestContext, Strategy};
use parking_lot::Mutex;
use process::Context;

/// Path of the objects.
pub(crate) const PATH: &str = "/clusters/runtime/apis/terrarium.dev/v1alpha1/timings";

/// Defaults and validation of kind Timing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TimingStrategy;

impl Strategy<Timing> for TimingStrategy {
    fn default(&self, object: &mut Timing) {
        timing::default(&mut object.spec);
    }

    fn validate_create(&self, object: &Timing, _: &RequestContext) -> Vec<FieldError> {
        timing::validate(object)
    }

    fn validate_update(&self, object: &Timing, _: &Timing, _: &RequestContext) -> Vec<FieldError> {
        timing::validate(object)
    }
}

/// Termination duration of pods of shoots, from the object.
#[derive(Clone, Debug)]
pub(crate) struct PodEnd(Arc<Mutex<TimeDelta>>);

impl Default for PodEnd {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Parameter::PodTerminate.default_base())))
    }
}

impl PodEnd {
    /// Returns the termination duration of pods of a cluster.
    pub(crate) fn of(&self, cluster: &str) -> TimeDelta {
        if !cluster::is_technical_id(cluster) {
            return TimeDelta::zero();
        }
        *self.0.lock()
    }

    /// Follows the object indefinitely.
    pub(crate) async fn follow(self, context: Context) {
        let mut controller = Controller::new("timing", &context);
        let all = ObjectKey::new(cluster::RUNTIME, "", timing::NAME);
        let objects = Api::<Timing>::all(&context, cluster::RUNTIME);
        let store = controller.watch(objects, ListOptions::default(), move |_| vec![all.clone()]);
        let pass = move |key: ObjectKey| {
            let says = store.get(&key).map_or_else(TimingSpec::default, |object| object.spec.clone());
            // Pods of one node end at the same time: no jitter is drawn for them.
            let exact = rollout::Timing { jitter: 0.0, ..rollout::Timing::of(&says) };
            *self.0.lock() = exact.duration(Parameter::PodTerminate, 0);
            async { Ok(Requeue::OnChange) }
        };
        controller.run(1, pass).await;
    }
}
