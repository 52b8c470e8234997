// SPDX-License-Identifier: Apache-2.0
//! Fields, feature gates and components in the requirements documents, and notes about versions.
//!
//! A field is named by its path, or by the end of its path: `updateStrategy`.
//!
//! Source: docs/usage/shoot/{shoot_maintenance,shoot_updates,shoot_versions}.md, docs/deployment/version_skew_policy.md
//! @ v1.120.0.

use api::constants::{annotation, operation, task, update_strategy};
use api::joined;
use domain::window::CUT_MINUTES;

use ops::explain::words::{Word, word};

const SHOOT: &str = "field of a Shoot";
const PROFILE: &str = "field of a CloudProfile";
const STATUS: &str = "field of a Shoot's status";
const STRATEGY: &str = "update strategy of a worker pool";
const IMAGES: &str = "update strategy of a machine image";
const GATE: &str = "feature gate";
const NOTE: &str = "note about versions, never a refusal";
pub(super) const COMPONENT: &str = "component";
const OWNER: &str = "by the Shoot's owner";
const OPERATOR: &str = "by the operator, in the CloudProfile";
const NOTED: &str =
    "by `terrarium status`, `terrarium upgrade plan` and `terrarium upgrade check`, where it applies to a landscape";
const TASK: &str = "value of shoot.gardener.cloud/tasks";
const MANAGER: &str = "by gardener-controller-manager in each maintenance; taken away when it is done";

/// All fields.
#[rustfmt::skip]
pub(super) const FIELDS: &[Word] = &[
    word(&["spec.maintenance.timeWindow", "maintenance time window"], SHOOT, joined!("time of day at which maintenance may begin: between 30 minutes and 6 hours a day; new maintenance begins until ", CUT_MINUTES, " minutes before its end"), "by the Shoot's owner; drawn by gardener-apiserver where it is left out",
        "`terrarium clock until window shoot/PROJECT/NAME` moves time there; with confineSpecUpdateRollout a changed window counts after the upcoming maintenance"),
    word(&["spec.maintenance.autoUpdate"], SHOOT, "updates of versions that have not expired; expired ones are replaced in any case", OWNER, "`terrarium forecast` shows what it does"),
    word(&["spec.maintenance.autoUpdate.kubernetesVersion"], SHOOT, "true: maintenance raises the Kubernetes version to the latest patch of its minor", OWNER, "`terrarium forecast` shows what it does"),
    word(&["spec.maintenance.autoUpdate.machineImageVersion"], SHOOT, "true: maintenance raises the machine images of the worker pools, within the image's updateStrategy", OWNER, "`terrarium forecast` shows what it does"),
    word(&["spec.maintenance.confineSpecUpdateRollout"], SHOOT, "changes of the specification wait for the maintenance time window, and raise .metadata.generation only there; hibernation and requests by hand do not wait", OWNER,
        "`terrarium why shoot/PROJECT/NAME` names what waits; gardener.cloud/operation=reconcile rolls it out now"),
    word(&["status.lastMaintenance"], STATUS, "changes and failures of the last maintenance with any: description, state, failureReason, triggeredTime", "by gardener-controller-manager, in the maintenance window; a run that changes nothing leaves it as it is",
        "`terrarium events shoot/PROJECT/NAME` has an Event for each change"),
    word(&["status.lastMaintenance.failureReason"], STATUS, "reason of the last maintenance's failure", "by gardener-controller-manager", "often a version is missing in the CloudProfile: `terrarium versions` shows what is offered"),
    word(&["status.lastOperation.state"], STATUS, "state of the operation: Processing, Succeeded, Error, Failed, Pending or Aborted", "by gardenlet", "`terrarium explain` each of them; maintenance skips the requested operation of a Shoot that has Failed"),
    word(&["status.inPlaceUpdates"], STATUS, "pending updates in place", "by gardenlet", "`terrarium why shoot/PROJECT/NAME` has a line for each"),
    word(&["status.inPlaceUpdates.pendingWorkerUpdates"], STATUS, "worker pools whose nodes are not all updated in place yet", "by gardenlet", "until they are, only gardener.cloud/operation=force-in-place-update lets another update in"),
    word(&["status.inPlaceUpdates.pendingWorkerUpdates.autoInPlaceUpdate"], STATUS, "pending worker pools with update strategy AutoInPlaceUpdate", "by gardenlet", "nothing: nodes are updated one after the other"),
    word(&["status.inPlaceUpdates.pendingWorkerUpdates.manualInPlaceUpdate"], STATUS, "pending worker pools with update strategy ManualInPlaceUpdate", "by gardenlet", "label nodes with node.machine.sapcloud.io/selected-for-update=true"),
    word(&["status.credentials.rotation.certificateAuthorities.lastInitiationTime", "status.credentials.rotation.serviceAccountKey.lastInitiationTime"], STATUS, "begin of the last rotation; a new instant replaces the nodes of each pool that is not in pendingWorkersRollouts", "by gardenlet, when a rotation begins", "nothing"),
    word(&["status.credentials.rotation.certificateAuthorities.pendingWorkersRollouts", "status.credentials.rotation.serviceAccountKey.pendingWorkersRollouts"], STATUS, "worker pools whose nodes the rotation has still to replace", "by gardenlet, in a rotation that began without roll-out of workers", joined!(annotation::OPERATION, "=", operation::ROTATE_ROLLOUT_WORKERS, "=POOL,…")),
    word(&["spec.kubernetes.version"], SHOOT, "Kubernetes version of the control plane, and of worker pools without their own; a new minor replaces or updates nodes, a new patch restarts kubelets", "by the Shoot's owner, or by maintenance", "`terrarium versions` shows what is offered"),
    word(&["spec.provider.workers[].kubernetes.version"], SHOOT, "Kubernetes version of a worker pool; left out: the control plane's", "by the Shoot's owner, or by maintenance", "it may be behind the control plane's, never before it"),
    word(&["spec.provider.workers[].machine.image.version", "spec.provider.workers[].machine.image.name"], SHOOT, "machine image of a worker pool; a change replaces its nodes, or updates them in place where only the version changes", "by the Shoot's owner, or by maintenance (the version)", "`terrarium versions` shows what is offered"),
    word(&["spec.provider.workers[].machine.type", "spec.provider.workers[].volume.type", "spec.provider.workers[].volume.size", "spec.provider.workers[].cri.name"], SHOOT, "kind of a pool's machines, of their disks and of their container runtime; a change replaces the pool's nodes and is refused for a pool that is updated in place", OWNER, "nothing"),
    word(&["spec.provider.workers[].providerConfig"], SHOOT, "settings of a worker pool for the provider's extension; a change replaces nodes, with gate NewWorkerPoolHash only if the extension requests it", OWNER, "nothing"),
    word(&["spec.systemComponents.nodeLocalDNS.enabled"], SHOOT, "true: each node has a cache for DNS; a change replaces the nodes", OWNER, "nothing"),
    word(&["spec.provider.workers[].updateStrategy"], SHOOT, "strategy for changes of a worker pool's nodes: AutoRollingUpdate (default) replaces them, AutoInPlaceUpdate and ManualInPlaceUpdate keep them", "by the Shoot's owner; between rolling and in place it cannot be changed",
        "`terrarium explain AutoInPlaceUpdate`"),
    word(&["spec.machineImages[].updateStrategy"], PROFILE, "limit of automatic updates of a machine image: patch, minor or major (default)", OPERATOR, "`terrarium explain major`; `terrarium versions` shows the targets"),
    word(&["patch"], IMAGES, "to the latest patch of the minor; forced from the latest one: to the next minor that has a version", OPERATOR, "nothing"),
    word(&["minor"], IMAGES, "to the latest version of the major; forced from the latest one: to the next major that has a version", OPERATOR, "nothing"),
    word(&["major"], IMAGES, "to the latest version of all; if that has expired, a forced update fails", OPERATOR, "offer a version that has not expired, or let pools move to another image"),
    word(&[update_strategy::ROLLING], STRATEGY, "nodes are replaced one after the other, at most maxSurge more and maxUnavailable fewer than desired at a time", "by the Shoot's owner; the default", "nothing"),
    word(&[update_strategy::AUTO_IN_PLACE], STRATEGY, "nodes are drained and updated one after the other without being replaced; with maxSurge above 0 so many are replaced nevertheless", "by the Shoot's owner, with feature gate InPlaceNodeUpdates", "nothing"),
    word(&[update_strategy::MANUAL_IN_PLACE], STRATEGY, "nodes become candidates, and each is drained and updated when its user selects it", "by the Shoot's owner, with feature gate InPlaceNodeUpdates",
        "label nodes with node.machine.sapcloud.io/selected-for-update=true"),
    word(&["spec.provider.workers[].maxSurge"], SHOOT, "maximum number of nodes above the desired number during a roll-out; a number or a percentage", OWNER, "0 only with maxUnavailable above 0"),
    word(&["spec.provider.workers[].maxUnavailable"], SHOOT, "maximum number of unavailable nodes during a roll-out; a number or a percentage", OWNER, "0 only with maxSurge above 0"),
    word(&["spec.provider.workers[].machineControllerManager", "spec.provider.worker[].machineControllerManager"], SHOOT, "time-outs of machine-controller-manager for the machines of a pool", OWNER, "its fields have words of their own: `terrarium explain machineDrainTimeout`"),
    word(&["machineControllerManager.machineDrainTimeout"], SHOOT, "maximum duration of a node's drain, after which its machine is deleted by force [default: 2h]", OWNER, "a PodDisruptionBudget that allows nothing holds a roll-out for so long"),
    word(&["machineControllerManager.machineHealthTimeout"], SHOOT, "duration after which an unhealthy machine has Failed and is replaced [default: 10m]", OWNER, "nothing"),
    word(&["machineControllerManager.machineCreationTimeout"], SHOOT, "duration after which a new machine that has not joined has Failed [default: 10m]", OWNER, "nothing"),
    word(&["machineControllerManager.maxEvictRetries"], SHOOT, "number of attempts to evict a pod before it is deleted by force [default: 10]", OWNER, "nothing"),
    word(&["machineControllerManager.nodeConditions"], SHOOT, "conditions of a node that make its machine unhealthy [default: KernelDeadlock, ReadonlyFilesystem, DiskPressure]", OWNER, "nothing"),
    word(&["machineControllerManager.machineInPlaceUpdateTimeout", "MachineInPlaceUpdateTimeout"], SHOOT, "duration after which an update in place has failed", OWNER, "a node that failed is repaired by hand"),
    word(&["machineControllerManager.disableHealthTimeout", "DisableHealthTimeout"], SHOOT, "true: unhealthy machines are not replaced; the default for pools that are updated in place", OWNER, "nothing"),
    word(&["KernelDeadlock", "ReadonlyFilesystem", "DiskPressure"], "condition of a Node", "something is wrong with the node; after machineHealthTimeout its machine is replaced", "by a program that watches the node, in its .status.conditions", "`terrarium get nodes --cluster shoot/PROJECT/NAME -o yaml`"),
    word(&["kubelet.kubeReserved", "kubelet.systemReserved"], SHOOT, "resources of a node that pods cannot use; with gate NewWorkerPoolHash a change of their sum replaces the nodes", OWNER, "nothing"),
    word(&["kubelet.evictionHard", "kubelet.cpuManagerPolicy"], SHOOT, "rules by which the kubelet evicts pods and assigns CPUs; with gate NewWorkerPoolHash a change replaces the nodes", OWNER, "nothing"),
    word(&["versions[].inPlaceUpdates"], PROFILE, "updates of nodes in place to a version of a machine image", OPERATOR, "set supported and minVersionForUpdate"),
    word(&["inPlaceUpdates.supported"], PROFILE, "true: nodes can be updated in place to this version of a machine image", OPERATOR, "nothing"),
    word(&["inPlaceUpdates.minVersionForUpdate"], PROFILE, "the oldest version from which an update in place reaches this one", OPERATOR, "update in two steps from older ones"),
    word(&["versions[].classification"], PROFILE, "state of a version: preview, supported, deprecated; expired follows from the date", OPERATOR, "`terrarium explain preview`"),
    word(&["versions[].expirationDate"], PROFILE, "from then on no new Shoot or worker pool may use the version, and maintenance moves off it the Shoots that do", OPERATOR, "`terrarium forecast` shows which Shoots move; the latest Kubernetes version cannot have one"),
    word(&["forced", "force update", "force update required"], "kind of an update", "maintenance leaves a version that has expired or is not offered any more, even if automatic updates are off", "by gardener-controller-manager, in the maintenance window; the Event's message names the reason",
        "`terrarium forecast --only forced` shows which Shoots move, `terrarium explain expired` why"),
    word(&["automatic update", "auto update"], "kind of an update", "maintenance raises a version whose owner has switched spec.maintenance.autoUpdate on", "by gardener-controller-manager, in the maintenance window", "`terrarium forecast` shows what comes"),
    word(&["rolling"], "effect of a change on nodes", "each node is replaced by a new one", "by machine-controller-manager, within maxSurge and maxUnavailable", "`terrarium status --rollouts` shows how far it is"),
    word(&["kubeletRestart"], "effect of a change on nodes", "nodes stay, and their kubelets restart", "by gardener-node-agent, for a new patch of Kubernetes", "nothing"),
    word(&["hibernated"], "state of a Shoot", "it has no nodes, and its control plane is scaled down", "by its owner, spec.hibernation.enabled, or a schedule", "changes of nodes come with the next wake-up"),
    word(&[task::DEPLOY_INFRASTRUCTURE, task::DEPLOY_DNS_RECORD_INTERNAL, task::DEPLOY_DNS_RECORD_EXTERNAL, task::DEPLOY_DNS_RECORD_INGRESS], TASK, "the next reconciliation looks after infrastructure, or after DNS records, too", "by gardener-controller-manager in each maintenance, by gardener-apiserver where the specification asks for it; taken away when it is done", "nothing"),
    word(&[task::RESTART_CONTROL_PLANE_PODS, "enableShootControlPlaneRestarter"], TASK, "the next reconciliation restarts controllers of the control plane, such as kube-controller-manager", MANAGER,
        "`terrarium config set gardener-controller-manager controllers.shootMaintenance.enableShootControlPlaneRestarter=false` ends it"),
    word(&[task::RESTART_CORE_ADDONS, "enableShootCoreAddonRestarter"], TASK, "the next reconciliation restarts CoreDNS", "by gardener-controller-manager in each maintenance, if its operator requests that; taken away when it is done",
        "`terrarium config set gardener-controller-manager controllers.shootMaintenance.enableShootCoreAddonRestarter=true` begins it"),
    word(&["controllers.shoot.reconcileInMaintenanceOnly"], "setting of gardenlet", "Shoots without a change are reconciled in their maintenance time windows only", "by the operator", "`terrarium config set gardenlet controllers.shoot.reconcileInMaintenanceOnly=true`"),
    word(&["NewWorkerPoolHash"], GATE, "the hash of a worker pool counts what replaces nodes field by field, kubelet settings among it", "by the operator, for gardenlet", "`terrarium config set gardenlet featureGates.NewWorkerPoolHash=true`"),
    word(&["InPlaceNodeUpdates"], GATE, "worker pools may be updated in place", "by the operator, for gardener-apiserver", "`terrarium config set gardener-apiserver featureGates.InPlaceNodeUpdates=true`"),
    word(&["CredentialsRotationWithoutWorkersRollout"], GATE, "a rotation may leave the roll-out of workers to its owner", "by the operator, for gardener-apiserver", "`terrarium explain rotate-credentials-start-without-workers-rollout`"),
    word(&["OpenTelemetryCollector"], GATE, "Shoots have opentelemetry-collector among their system components", "by the operator, for gardenlet", "nothing"),
    word(&["NodeAgentAuthorizer"], GATE, "requests of gardener-node-agent are authorized by a webhook of gardener-resource-manager", "by the operator, for gardenlet", "nothing"),
    word(&["W1", "ShootsNotReconciled"], NOTE, "Shoots have not been reconciled by the running version yet: the next minor should wait", NOTED, "reconcile them, or wait for their maintenance time windows"),
    word(&["W2", "OperatorGardenletLockStep"], NOTE, "gardener-operator and the gardenlet of a Seed that is the operator's own cluster are of different minors", NOTED, "raise them together: that gardenlet leaves out what the operator manages"),
    word(&["W3", "KubernetesVersionDropped"], NOTE, "clusters are on a Kubernetes version that a Gardener version does not support", NOTED, "update these clusters first"),
    word(&["W4", "FeatureGateGone"], NOTE, "a feature gate that is set does not exist, or is locked to the other value, in the version that runs or in the next one: the process does not start", NOTED, "`terrarium config set COMPONENT featureGates.NAME=` takes it away"),
    word(&["W5", "LaggardBlocksNext"], NOTE, "a step is allowed, but a component would be too old at the minor after it", NOTED, "raise the component that the note names before the next step"),
    word(&["W6", "OutOfMaintenance"], NOTE, "a component's minor is three or more behind the newest release, and gets no fixes any more", NOTED, "raise it minor by minor"),
    word(&["W7", "NodesReplaced"], NOTE, "worker pools have the first form of the hash, which Gardener 1.146 removes: its first reconciliation replaces their nodes", NOTED, "a roll-out of the pool with gate NewWorkerPoolHash on gives it the second form before"),
    word(&["upgrade order", "upgrade"], "order of steps", "in which Gardener's components get to another version, so that no rule about versions is violated on the way: gardener-operator, gardener-apiserver, the rest of the control plane, gardenlets, extensions", "docs/deployment/version_skew_policy.md", "`terrarium upgrade plan --to V` prints it, `terrarium upgrade check -f PLAN.yaml` judges one"),
    word(&["skew"], "distance of versions", "maximum distance of two components in minors", "docs/deployment/version_skew_policy.md", "`terrarium skew check` checks it, `terrarium skew table` which versions may run together with one; rules are A1, C1, C2, G1, G2, O1, O2, E1"),
    word(&["CloudProfile"], "kind", "offer of a landscape: Kubernetes versions, machine images and types, regions", "by the operator", "`terrarium versions` reads it with states, targets and users"),
    word(&["NamespacedCloudProfile"], "kind", "a CloudProfile of one Project: its parent's, with changes", "by a Project's member", "`terrarium versions NAMESPACE/NAME`"),
    word(&["PodDisruptionBudget"], "kind", "minimum number of an application's pods during disruptions; drains wait for it", "by the owner of the application, in the Shoot's cluster", "one that allows nothing holds a roll-out until machineDrainTimeout"),
    word(&["gardener-apiserver"], COMPONENT, "serves and checks Gardener's kinds", "in cluster runtime", "`terrarium logs gardener-apiserver`"),
    word(&["gardener-controller-manager"], COMPONENT, "maintenance, hibernation schedules, quotas, Projects and Seeds", "in cluster runtime", "`terrarium log --actor gardener-controller-manager`"),
    word(&["gardener-scheduler"], COMPONENT, "gives each Shoot its Seed", "in cluster runtime", "`terrarium log --actor gardener-scheduler`"),
    word(&["gardener-admission-controller"], COMPONENT, "checks requests for the garden by webhook", "in cluster runtime", "`terrarium logs gardener-admission-controller`"),
    word(&["gardener-operator"], COMPONENT, "rolls out the control plane that the Garden describes, in its own version, and raises the Gardenlets that follow it", "in cluster runtime, except with `up --operator=false`", "`terrarium log --actor gardener-operator`"),
    word(&["gardenlet"], COMPONENT, "creates, reconciles and judges the Shoots of its Seed", "in cluster seed/NAME", "`terrarium logs gardenlet`"),
    word(&["gardener-extension-provider-local"], COMPONENT, "the extension of provider local: gives a Shoot its infrastructure, machines and DNS records", "in cluster seed/NAME", "`terrarium logs gardener-extension-provider-local`"),
    word(&["machine-controller-manager"], COMPONENT, "makes machines, and replaces or updates them", "in a Shoot's control plane on the Seed", "`terrarium get machinedeployments,machines --cluster seed/NAME -n shoot--PROJECT--NAME`"),
    word(&["kube-controller-manager"], COMPONENT, "the controllers of Kubernetes", "in a Shoot's control plane on the Seed, and in every cluster of the landscape", "maintenance restarts a Shoot's: restartControlPlanePods"),
    word(&["CoreDNS"], COMPONENT, "DNS in a Shoot's cluster", "in kube-system of the Shoot's cluster", "maintenance restarts it where restartCoreAddons is wanted"),
];
