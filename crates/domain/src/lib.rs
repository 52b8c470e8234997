// SPDX-License-Identifier: Apache-2.0
//! Gardener's rules as functions: values in, decisions out.
//!
//! A Gardener expert reads the product's behaviour here. Strings are upstream's; where the requirements documents and
//! upstream's code differ, the [`profile::Profile`] decides.
//!
//! **Invariants.** No async, no clock, no randomness, no logging, no maps with random order. Time is an argument.
//!
//! **Tour.**
//! - [`admission`] rules that need more than one object.
//! - [`annotations`] keys that steer the life of a Shoot, and its tasks.
//! - [`autoscaling`] HorizontalPodAutoscalers of Kubernetes, in two versions.
//! - [`care`] health of a Shoot: conditions, constraints, the label that sums them up.
//! - [`certificates`] CertificateSigningRequests of Kubernetes.
//! - [`cloud_profile`] what a CloudProfile offers, and the merge of a NamespacedCloudProfile with its parent.
//! - [`conditions`] how a condition is made and changed.
//! - [`defaulting`] what the API server fills in.
//! - [`definitions`] releases of CustomResourceDefinitions.
//! - [`error_codes`] codes that the extension of a provider finds in the text of an error.
//! - [`event_expiry`] how long Events of Kubernetes are kept.
//! - [`fault`] what goes wrong on purpose.
//! - [`features`] feature gates and admission plugins of Kubernetes versions.
//! - [`forecast`] the maintenance of a Shoot over a stretch of time, and why a version is chosen or not.
//! - [`garden`] what gardener-operator makes of a Garden.
//! - [`generation`] when the generation of other kinds than the Shoot rises.
//! - [`hibernation`] schedules by which Shoots are hibernated and woken up.
//! - [`in_place`] pools that are updated in place, in the status of a Shoot.
//! - [`last_operation`] what a Shoot's last operation says.
//! - [`lifetime`] Shoots whose time is over, and Shoots that are tried again.
//! - [`maintenance`] the daily maintenance of a Shoot.
//! - [`observability`] credentials of observability that all Seeds share.
//! - [`placement`] which seed a Shoot is scheduled to.
//! - [`profile`] documents or upstream.
//! - [`project`] Projects and their namespaces.
//! - [`rbac`] role-based access control, and who may do what in the garden.
//! - [`reconcile`] when a Shoot is reconciled: its generation, operation annotations, confined roll-out.
//! - [`required_extensions`] which extensions a Seed needs.
//! - [`resource_quota`] what objects of a namespace use of its ResourceQuotas.
//! - [`rollout`] MachineDeployments, MachineSets, Machines and Nodes, pass by pass.
//! - [`rotation`] what a run of gardenlet makes of the state of credentials that rotate.
//! - [`seed_checks`] conditions of a Seed that follow from its extensions and backup buckets.
//! - [`seed_lifecycle`] Seeds and Shoots whose gardenlet does not show that it lives.
//! - [`skew`] which versions of Gardener may run beside each other, and what a release knows.
//! - [`upgrade`] the order in which a landscape gets to another version of Gardener, and what that changes.
//! - [`validation`] static validation per kind.
//! - [`versions`] semantic versions, expiry, selections.
//! - [`warnings`] what the API server says beside its answer.
//! - [`window`] maintenance time windows.
//! - [`worker_pool`] hashes of a pool, and what a change does to its nodes.

pub mod admission;
pub mod annotations;
pub mod autoscaling;
pub mod capabilities;
pub mod care;
pub mod certificates;
pub mod cloud_profile;
pub mod conditions;
pub mod defaulting;
pub mod definitions;
pub mod emergency_stop;
pub mod encryption;
pub mod error_codes;
pub mod event_expiry;
pub mod events;
pub mod fault;
pub mod features;
pub mod forecast;
pub mod garden;
pub mod generation;
pub mod hibernation;
pub mod in_place;
pub mod last_operation;
pub mod lifetime;
pub mod maintenance;
pub mod observability;
pub mod placement;
pub mod profile;
pub mod project;
pub mod rbac;
pub mod reconcile;
pub mod release;
pub mod required_extensions;
pub mod resource_quota;
pub mod rollout;
pub mod rotation;
pub mod seed_checks;
pub mod seed_lifecycle;
pub mod seed_readiness;
pub mod skew;
pub mod upgrade;
pub mod validation;
pub mod versions;
pub mod warnings;
pub mod window;
pub mod worker_pool;
