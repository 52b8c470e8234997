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
//! - [`conditions`] creation and change of conditions.
//! - [`core_kinds`] writes of Kubernetes' own kinds.
//! - [`defaulting`] defaults of the API server.
//! - [`definitions`] releases of CustomResourceDefinitions.
//! - [`disruption`] disruptions that PodDisruptionBudgets of Kubernetes allow.
//! - [`error_codes`] codes that the extension of a provider finds in the text of an error.
//! - [`event_expiry`] retention of Events of Kubernetes.
//! - [`fault`] injected faults.
//! - [`features`] feature gates and admission plugins of Kubernetes versions.
//! - [`forecast`] the maintenance of a Shoot over a stretch of time, and the reasons for or against each version.
//! - [`garden`] the rules by which gardener-operator reconciles a Garden.
//! - [`gardener_version`] versions of Gardener.
//! - [`generation`] changes that raise the generation of other kinds than the Shoot.
//! - [`hibernation`] schedules by which Shoots are hibernated and woken up.
//! - [`in_place`] pools that are updated in place, in the status of a Shoot.
//! - [`last_operation`] the last operation of a Shoot.
//! - [`lifetime`] expired Shoots, and retries of failed Shoots.
//! - [`maintenance`] the daily maintenance of a Shoot.
//! - [`observability`] credentials of observability that all Seeds share.
//! - [`placement`] choice of the seed for a Shoot.
//! - [`profile`] the requirements documents or upstream.
//! - [`project`] Projects and their namespaces.
//! - [`rbac`] role-based access control, and the rights of users in the garden.
//! - [`reconcile`] triggers of a Shoot's reconciliation: its generation, operation annotations, confined roll-out.
//! - [`required_extensions`] extensions that a Seed needs.
//! - [`resource_quota`] usage that objects of a namespace charge to its ResourceQuotas.
//! - [`rollout`] MachineDeployments, MachineSets, Machines and Nodes, pass by pass.
//! - [`rotation`] effect of a run of gardenlet on the state of credentials that rotate.
//! - [`seed_checks`] conditions of a Seed that follow from its extensions and backup buckets.
//! - [`seed_lifecycle`] Seeds and Shoots whose gardenlet does not renew its Lease.
//! - [`shoot_components`] components of a Shoot.
//! - [`shoot_facts`] properties of a Shoot's spec.
//! - [`skew`] versions of Gardener that may run alongside each other, and the knowledge of each release.
//! - [`upgrade`] the order of a landscape's update to another version of Gardener, and the changes that this causes.
//! - [`validation`] static validation per kind.
//! - [`versions`] semantic versions, expiry, selections.
//! - [`warnings`] warnings in responses of the API server.
//! - [`window`] maintenance time windows.
//! - [`worker_pool`] hashes of a pool, and the effect of a change on its nodes.

pub mod admission;
pub mod annotations;
pub mod autoscaling;
pub mod capabilities;
pub mod care;
pub mod certificates;
pub mod cloud_profile;
pub mod conditions;
pub mod core_kinds;
pub mod defaulting;
pub mod definitions;
pub mod disruption;
pub mod emergency_stop;
pub mod encryption;
pub mod error_codes;
pub mod event_expiry;
pub mod events;
pub mod fault;
pub mod features;
pub mod forecast;
pub mod garden;
pub mod gardener_version;
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
pub mod shoot_components;
pub mod shoot_facts;
pub mod skew;
pub mod upgrade;
pub mod validation;
pub mod versions;
pub mod warnings;
pub mod window;
pub mod worker_pool;
