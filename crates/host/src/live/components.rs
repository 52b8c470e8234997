// SPDX-License-Identifier: Apache-2.0
//! The host's own components: kube-controllers, the kubelet, and the controller of the APIServices' condition.

use std::io;
use std::sync::Arc;

use api::cluster;
use chrono::TimeDelta;
use clock::{Clock, TimerClass};
use eventlog::EventLog;
use futures::FutureExt;
use generic_apiserver::http;
use generic_apiserver::webhooks::Names;
use kube_controllers::{namespace_objects, workload};
use process::Transport;
use process::polls::Polls;
use process::{child, inside};

use super::Live;
use super::landscape_thread::{COMPONENTS, LandscapeThread};
use crate::clusters::aggregated_roles;
use crate::identity::signing_requests;
use crate::identity::signing_requests::OwnSigners;
use crate::kinds::timing::PodEnd;
use crate::pods::kubelet::{self, Before, Inside, Launcher, Listener, Logs};

/// Wall time between two looks at the component that occupies the thread.
const LOOK: TimeDelta = TimeDelta::seconds(1);

/// Looks at the polls of a thread indefinitely, so that the duration of the present one is known.
async fn look_at(polls: Polls) {
    let wall = Clock::wall();
    loop {
        wall.sleep(LOOK, TimerClass::Calendar).await;
        polls.look(wall.now());
    }
}

impl Live {
    /// Starts the controller of the APIServices and their condition.
    pub(super) fn follow_availability(&self) {
        let services = self.client.api_services.clone();
        self.following.restarting("availability of APIServices", move || services.clone().follow());
    }

    /// Starts kube-controller-manager.
    ///
    /// # Errors
    /// The system cannot create another thread.
    pub(super) fn start_controllers(
        &mut self,
        launch: &Launcher,
        authorities: &str,
        own_signers: OwnSigners,
    ) -> io::Result<()> {
        let (is_process, pod_end) = (launch.clone(), PodEnd::default());
        let ends = pod_end.clone();
        let workload = workload::Options {
            is_process: Arc::new(move |cluster, labels, image| is_process.runs(cluster, labels, image)),
            node_of: Arc::new(|cluster| (!cluster::is_technical_id(cluster)).then(|| "terrarium".to_owned())),
            pod_end_of: Arc::new(move |cluster| ends.of(cluster)),
            pod_network_of: self.host.networks().of_pods(),
            ..workload::Options::default()
        };
        let namespace_objects = namespace_objects::Options { root_ca: authorities.to_owned() };
        let has_roles = self.host.rbac().is_some();
        self.spawn("kube-controller-manager", move |context, _| {
            context.tasks.spawn(pod_end.clone().follow(context.clone()));
            if has_roles {
                context.tasks.spawn(aggregated_roles::run(context.clone()));
            }
            let options = kube_controllers::Options {
                workload: Some(workload.clone()),
                namespace_objects: Some(namespace_objects.clone()),
                certificates: Some(signing_requests::options(&context, own_signers.clone())),
            };
            kube_controllers::run(context, options)
        })
    }

    /// Starts components on the landscape's thread: one participant in landscape time for all of them, the host's own
    /// included.
    pub(super) fn start_inside(&mut self, thread: LandscapeThread, log: Arc<dyn EventLog>, names: Names) -> Inside {
        let (starter, starts) = inside::starter();
        let host = self.host.clone();
        // Each request carries its user.
        let transport = Transport::new(http::guarded(move |request| host.call(request)));
        let run = Arc::new(move |context, _: Option<&str>| inside::run(context, starts.clone()).boxed());
        let polls = starter.polls();
        self.following.show_on(polls, "the host");
        self.client.clock.drive_on(COMPONENTS, polls.clone());
        let polls = polls.clone();
        self.tasks.restarting("polls of the components", move || look_at(polls.clone()));
        self.spawn_on(COMPONENTS, thread, transport, run);
        self.starter = Some(starter.clone());
        Inside { starter, log, time: self.client.clock.clock(), names }
    }

    /// Starts the kubelet, which starts the processes.
    ///
    /// # Errors
    /// The system cannot create another thread.
    pub(super) fn start_kubelet(
        &mut self,
        launch: Launcher,
        listener: Listener,
        logs: Logs,
        before: Before,
        inside: Option<Inside>,
    ) -> io::Result<()> {
        let (holding, instances) = (self.client.clock.clone(), self.client.instances.clone());
        let options = kubelet::Options {
            launch,
            listener,
            faults: self.host.faults().clone(),
            readiness_listener: Arc::new(move |pod, is_ready| {
                instances.set_ready(&child::participant(&pod.cluster, &pod.name), is_ready);
            }),
            hold: Arc::new(move |name, holds| {
                holding.with(|keeper, wall| if holds { keeper.hold(name, wall) } else { keeper.release(name, wall) });
            }),
            logs,
            before,
            pod_network_of: self.host.networks().of_pods(),
            inside,
        };
        self.spawn("kubelet", move |context, ended| {
            let mut options = options.clone();
            if let Some(why) = ended {
                options.before = Before::Lost(format!("the kubelet was started again: {why}"));
            }
            kubelet::run(context, options)
        })
    }
}
