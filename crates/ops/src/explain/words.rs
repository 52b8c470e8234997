// SPDX-License-Identifier: Apache-2.0
//! Glossary of terms of Gardener and of a landscape.
//!
//! Source: docs/usage/shoot/{shoot_status,shoot_operations,shoot_maintenance}.md, docs/concepts/gardenlet.md,
//! docs/deployment/version_skew_policy.md, pkg/apis/core/v1beta1/constants @ v1.120.0.

use api::constants::{annotation, classification, condition, label, operation};
use api::joined;

/// A term.
#[derive(Debug)]
pub struct Word {
    /// Displayed name, followed by other spellings.
    pub names: &'static [&'static str],
    /// Kind of the term.
    pub kind: &'static str,
    /// Meaning, a sentence without its full stop.
    pub means: &'static str,
    /// Component or user that sets it, with the place or time.
    pub set: &'static str,
    /// Advice for users.
    pub to_do: &'static str,
}

/// Returns a row of the glossary: names, kind, meaning, origin, advice.
pub const fn word(
    names: &'static [&'static str],
    kind: &'static str,
    means: &'static str,
    set: &'static str,
    to_do: &'static str,
) -> Word {
    Word { names, kind, means, set, to_do }
}

const SHOOT: &str = "condition of a Shoot";
const CONSTRAINT: &str = "constraint of a Shoot";
const SEED: &str = "condition of a Seed";
const GARDEN: &str = "condition of a Garden";
const OPERATOR: &str = "by gardener-operator, in .status.conditions of the Garden";
const REASON: &str = "reason of an Event";
const CODE: &str = "error code";
const ANNOTATION: &str = "annotation";
const OPERATION: &str = "value of gardener.cloud/operation";
const RULE: &str = "rule about versions";
const PHASE: &str = "state of an operation";
const CARE: &str = "by gardenlet's care controller, in .status.conditions";
const CONSTRAINED: &str = "by gardenlet's care controller, in .status.constraints";

/// Names of a value of the operation annotation: alone, and after the annotation.
macro_rules! operation_names {
    ($name:ident) => {
        &[operation::$name, joined!(annotation::OPERATION, "=", operation::$name)]
    };
}

/// All terms.
#[rustfmt::skip]
pub const WORDS: &[Word] = &[
    word(&[condition::API_SERVER_AVAILABLE], SHOOT, "the Shoot's kube-apiserver answers /healthz within its time-out", CARE,
        "look at Deployment kube-apiserver in the control plane's namespace on the seed: `terrarium get pods --cluster seed/NAME -n shoot--PROJECT--NAME`"),
    word(&[condition::CONTROL_PLANE_HEALTHY], SHOOT, "every required Deployment, etcd and extension object of the control plane is healthy", CARE,
        "the message names what is not; `terrarium events shoot/PROJECT/NAME` says why"),
    word(&[condition::OBSERVABILITY_COMPONENTS_HEALTHY], SHOOT, "monitoring and logging of the control plane are healthy", CARE,
        "the message names what is not; the cluster itself works without"),
    word(&[condition::EVERY_NODE_READY], SHOOT, "each pool has its number of nodes, all are Ready and run the version and image that is wanted", CARE,
        "`terrarium get nodes --cluster shoot/PROJECT/NAME`; during a roll-out it is Progressing"),
    word(&[condition::SYSTEM_COMPONENTS_HEALTHY], SHOOT, "managed resources, DaemonSets and the tunnel in the Shoot's kube-system are healthy", CARE,
        "the message names what is not; `terrarium get pods --cluster shoot/PROJECT/NAME -n kube-system`"),
    word(&[condition::HIBERNATION_POSSIBLE], CONSTRAINT, "no webhook of the Shoot would keep it from waking up", CONSTRAINED,
        "a webhook with failurePolicy Fail that matches pods or nodes of kube-system must be changed before hibernating"),
    word(&[condition::MAINTENANCE_PRECONDITIONS_SATISFIED], CONSTRAINT, "no webhook of the Shoot would keep maintenance from succeeding", CONSTRAINED,
        "the message names the webhook: narrow its selector, or let it fail open"),
    word(&[condition::CA_CERTIFICATE_VALIDITIES_ACCEPTABLE], CONSTRAINT, "no CA of the Shoot expires within a year", CONSTRAINED,
        "rotate: annotate the Shoot with gardener.cloud/operation=rotate-ca-start, later rotate-ca-complete"),
    word(&[condition::CRDS_WITH_PROBLEMATIC_CONVERSION_WEBHOOKS], CONSTRAINT, "no CustomResourceDefinition with several stored versions depends on a conversion webhook", CONSTRAINED,
        "migrate its objects to one stored version before the control plane moves or updates"),
    word(&[condition::MANUAL_IN_PLACE_WORKERS_UPDATED], CONSTRAINT, "no pool with update strategy ManualInPlaceUpdate has nodes that wait to be selected", CONSTRAINED,
        "label the nodes that may be updated with node.machine.sapcloud.io/selected-for-update=true"),
    word(&[condition::SEED_GARDENLET_READY], SEED, "the Seed's gardenlet renews its Lease", "by gardenlet; to Unknown by gardener-controller-manager when the Lease is old",
        "`terrarium logs gardenlet/SEED`; Shoots of the Seed stay as they are meanwhile, and their conditions become Unknown"),
    word(&[condition::SEED_SYSTEM_COMPONENTS_HEALTHY], SEED, "what the Seed itself needs is healthy", "by gardenlet's care controller, in the Seed's .status.conditions",
        "the message names what is not"),
    word(&[condition::SEED_EXTENSIONS_READY], SEED, "every ControllerInstallation of the Seed is valid, installed, healthy and not progressing", "by gardener-controller-manager",
        "`terrarium get controllerinstallations` shows which is not"),
    word(&[condition::SEED_BACKUP_BUCKETS_READY], SEED, "the Seed's BackupBuckets have no error", "by gardener-controller-manager",
        "`terrarium get backupbuckets` shows the error; without backup no etcd of a new Shoot starts"),
    word(&[condition::SEED_EMERGENCY_STOP_SHOOT_RECONCILIATIONS, annotation::SHOOT_EMERGENCY_STOP_RECONCILIATIONS], SEED, "gardenlet reconciles and deletes no Shoot of this Seed; since 1.126 (whose condition has status False)", "by an operator, with annotation shoot.gardener.cloud/emergency-stop-reconciliations=true on the Seed",
        "remove the annotation when the reason is removed; each Shoot is then reconciled in its next regular turn, or at once with operation reconcile"),
    word(&["Progressing"], "status of a condition", "it would be False, and has been for less than its threshold", CARE,
        "wait: it becomes True again, or False when the threshold has passed"),
    word(&["Processing"], PHASE, "the operation goes on; progress and description say how far it is", "by gardenlet, in .status.lastOperation",
        "`terrarium why shoot/PROJECT/NAME` says what it waits for"),
    word(&["Succeeded"], PHASE, "the operation is done", "by gardenlet, in .status.lastOperation", "nothing"),
    word(&["Error"], PHASE, "the operation failed and is tried again", "by gardenlet, in .status.lastOperation; .status.lastErrors says why",
        "read .status.lastErrors; what is transient goes away by itself"),
    word(&["Failed"], PHASE, "the operation failed and is not tried again: its code says so, or it was tried for 12 hours", "by gardenlet, in .status.lastOperation",
        "repair the cause, then annotate the Shoot with gardener.cloud/operation=retry"),
    word(&["Pending"], PHASE, "the operation waits for something before it starts", "by gardenlet, in .status.lastOperation", "the description says for what"),
    word(&["Aborted"], PHASE, "the operation was given up", "by gardenlet, in .status.lastOperation", "start it again with gardener.cloud/operation=reconcile"),
    word(&["ERR_INFRA_UNAUTHENTICATED"], CODE, "the infrastructure does not accept the credentials", "by gardenlet from the provider's words, in .status.lastErrors; not retried",
        "correct the Secret behind the Shoot's binding, then retry"),
    word(&["ERR_INFRA_UNAUTHORIZED"], CODE, "the credentials lack a permission", "by gardenlet from the provider's words, in .status.lastErrors; not retried",
        "grant what the error names, then retry"),
    word(&["ERR_INFRA_QUOTA_EXCEEDED"], CODE, "the account's quota is used up", "by gardenlet from the provider's words, in .status.lastErrors; not retried",
        "raise the quota or free resources, then retry"),
    word(&["ERR_INFRA_RATE_LIMITS_EXCEEDED"], CODE, "the infrastructure was asked too often", "by gardenlet from the provider's words, in .status.lastErrors; not retried by it, but by gardener-controller-manager after 10 to 15 minutes",
        "raise the limit, or ask less often from elsewhere"),
    word(&["ERR_INFRA_DEPENDENCIES"], CODE, "something that the user made depends on what is to change or go", "by gardenlet from the provider's words, in .status.lastErrors; not retried",
        "remove what the error names, then retry"),
    word(&["ERR_RETRYABLE_INFRA_DEPENDENCIES"], CODE, "the same, where trying again may help", "by gardenlet from the provider's words, in .status.lastErrors; retried",
        "wait; remove what the error names if it stays"),
    word(&["ERR_INFRA_RESOURCES_DEPLETED"], CODE, "the infrastructure has no such machines left", "by gardenlet from the provider's words, in .status.lastErrors; retried",
        "another machine type or zone, or wait"),
    word(&["ERR_CLEANUP_CLUSTER_RESOURCES"], CODE, "objects in the Shoot do not go away", "by gardenlet when a Shoot is deleted, in .status.lastErrors; retried",
        "look for finalizers in the Shoot's cluster that no controller removes"),
    word(&["ERR_CONFIGURATION_PROBLEM"], CODE, "the Shoot's configuration cannot work", "by gardenlet, in .status.lastErrors; not retried",
        "correct what the error names: a new generation starts again by itself"),
    word(&["ERR_RETRYABLE_CONFIGURATION_PROBLEM"], CODE, "the same, where trying again may help: a PodDisruptionBudget that allows nothing, say", "by gardenlet, in .status.lastErrors; retried",
        "correct what the error names"),
    word(&["ERR_PROBLEMATIC_WEBHOOK"], CODE, "a webhook of the Shoot keeps Gardener from working", "by gardenlet, in .status.lastErrors; not retried",
        "let the webhook fail open or exclude kube-system, then retry"),
    word(&["SchedulingSuccessful"], REASON, "the Shoot has a Seed", "by gardener-scheduler", "nothing"),
    word(&["SchedulingFailed"], REASON, "no Seed fits the Shoot; the message has each Seed's reason", "by gardener-scheduler, again whenever something changes",
        "make room on a Seed, relax the Shoot's selectors, or add a Seed"),
    word(&["KubernetesVersionMaintenance"], REASON, "maintenance raised the Shoot's Kubernetes version", "by gardener-controller-manager, in the maintenance window",
        "nothing; the message says from what, to what and why"),
    word(&["MachineImageVersionMaintenance"], REASON, "maintenance raised a pool's machine image", "by gardener-controller-manager, in the maintenance window",
        "nothing; the pool's nodes are replaced or updated as its strategy says"),
    word(&["MaintenanceFailed"], REASON, "maintenance could not raise something, or its update was refused", "by gardener-controller-manager, in the maintenance window",
        "the message names what is missing: often a version that the CloudProfile does not offer"),
    word(&["Reconciling"], REASON, "gardenlet began to reconcile the Shoot", "by gardenlet", "nothing"),
    word(&["Reconciled"], REASON, "gardenlet has reconciled the Shoot", "by gardenlet", "nothing"),
    word(&["ReconcileError"], REASON, "creating or reconciling the Shoot failed", "by gardenlet", "read .status.lastErrors"),
    word(&["DeleteError"], REASON, "deleting the Shoot failed", "by gardenlet", "read .status.lastErrors"),
    word(&["task-fails"], "kind of fault", "a task of a Shoot's flow ends with an error", "by `terrarium fault inject`, as a Fault in cluster runtime",
        "`terrarium fault list` shows what it has done, `terrarium fault clear` takes it away"),
    word(&[annotation::OPERATION], ANNOTATION, "asks gardenlet to do something now: reconcile, retry, maintain, rotate-…", "by a user; taken away when it begins",
        "`kubectl annotate shoot NAME gardener.cloud/operation=reconcile`"),
    word(operation_names!(RECONCILE), OPERATION, "reconcile now, not in the next window", "by a user", "nothing"),
    word(operation_names!(RETRY), OPERATION, "try again what is Failed", "by a user who has repaired the cause", "nothing"),
    word(operation_names!(MAINTAIN), OPERATION, "carry maintenance out now, whatever the window says", "by a user", "nothing"),
    word(operation_names!(ROTATE_CA_START), OPERATION, "begin to replace the Shoot's CAs: new ones are trusted in addition to the old", "by the owner",
        "update every kubeconfig and client, then gardener.cloud/operation=rotate-ca-complete"),
    word(operation_names!(ROTATE_CA_COMPLETE), OPERATION, "end it: the old CAs are trusted no more", "by the owner, after rotate-ca-start has been Prepared", "nothing"),
    word(operation_names!(ROTATE_CREDENTIALS_START), OPERATION, "begin to rotate all credentials of the Shoot", "by the owner",
        "renew what depends on them, then rotate-credentials-complete"),
    word(operation_names!(ROTATE_CREDENTIALS_COMPLETE), OPERATION, "end the rotation of all credentials", "by the owner", "nothing"),
    word(operation_names!(ROTATE_CREDENTIALS_START_WITHOUT_WORKERS), OPERATION, "as rotate-credentials-start, but no node is replaced yet", "by the owner, with feature gate CredentialsRotationWithoutWorkersRollout",
        "gardener.cloud/operation=rotate-rollout-workers=POOL,… until no pool is left, then rotate-credentials-complete"),
    word(operation_names!(ROTATE_ROLLOUT_WORKERS), OPERATION, "replace the nodes of these pools, in a rotation that waits for it (WaitingForWorkersRollout)", "by the owner: rotate-rollout-workers=POOL,…",
        "what is left: .status.credentials.rotation.certificateAuthorities.pendingWorkersRollouts"),
    word(operation_names!(ROTATE_SERVICE_ACCOUNT_KEY_START), OPERATION, "begin to replace the key that signs tokens of service accounts; nodes are replaced", "by the owner",
        "renew tokens that were copied, then gardener.cloud/operation=rotate-serviceaccount-key-complete"),
    word(operation_names!(ROTATE_ETCD_ENCRYPTION_KEY_START), OPERATION, "begin to replace the key that encrypts etcd's content; no node is replaced", "by the owner",
        "gardener.cloud/operation=rotate-etcd-encryption-key-complete once it is Prepared"),
    word(operation_names!(ROTATE_SSH_KEYPAIR), OPERATION, "a new SSH key pair for the nodes; the old one stays in Secret NAME.ssh-keypair.old", "by the owner", "read Secret NAME.ssh-keypair again"),
    word(operation_names!(ROTATE_OBSERVABILITY_CREDENTIALS), OPERATION, "a new password for monitoring", "by the owner", "read Secret NAME.monitoring again"),
    word(operation_names!(FORCE_IN_PLACE_UPDATE), OPERATION, "take an update although pending in-place updates of nodes would be overtaken", "by the owner",
        "only if the nodes that wait are broken"),
    word(&[annotation::MAINTENANCE_OPERATION], ANNOTATION, "as gardener.cloud/operation, in the next maintenance window", "by a user; moved over by gardener-controller-manager",
        "`terrarium clock until window shoot/PROJECT/NAME` goes there"),
    word(&[annotation::CONFIRMATION_DELETION], ANNOTATION, "confirms that the object may be deleted", "by the user who deletes, before", "`kubectl annotate shoot NAME confirmation.gardener.cloud/deletion=true`"),
    word(&[annotation::CONFIRMATION_FORCE_DELETION], ANNOTATION, "gives up what deletion cannot clean up", "by the owner, while deletion fails", "clean up at the infrastructure by hand"),
    word(&[annotation::SHOOT_IGNORE], ANNOTATION, "gardenlet does not reconcile the Shoot", "by an operator", "take it away when the reason has gone"),
    word(&[annotation::SHOOT_TASKS], ANNOTATION, "what the next reconciliation does in addition: deployInfrastructure, restartControlPlanePods, …", "by gardener-apiserver when the spec changes; taken away task by task", "nothing"),
    word(&[annotation::SHOOT_SKIP_READINESS], ANNOTATION, "the next reconciliation does not wait for readiness", "by an operator; taken away afterwards", "nothing"),
    word(&[annotation::SHOOT_EXPIRATION_TIMESTAMP], ANNOTATION, "when the Shoot is deleted because of its quota's lifetime", "by gardener-controller-manager", "a later instant keeps it, up to the quota's lifetime"),
    word(&[label::SHOOT_STATUS], "label", "the worst of the Shoot's last operation and conditions: healthy, progressing, unhealthy, unknown", "by gardener-controller-manager", "`terrarium get shoots -A -o wide`"),
    word(&[annotation::NEEDS_RETRY_OPERATION], ANNOTATION, "the next maintenance retries a Shoot that has Failed", "by gardener-apiserver when the spec of a Failed Shoot changes that confines changes to its window", "nothing"),
    word(&[label::CANDIDATE_FOR_UPDATE], "label of a Node", "the node waits for an in-place update", "by machine-controller-manager", "with the manual strategy: select it"),
    word(&[label::SELECTED_FOR_UPDATE], "label of a Node", "the node may be drained and updated now", "by the user (manual strategy) or machine-controller-manager (automatic)", "nothing"),
    word(&[classification::SUPPORTED], "classification of a version", "offered, and chosen by automatic updates", "in the CloudProfile", "nothing"),
    word(&[classification::PREVIEW], "classification of a version", "offered, and never chosen by automatic updates or defaults", "in the CloudProfile", "name it in the Shoot to try it"),
    word(&[classification::DEPRECATED], "classification of a version", "offered until it expires, and left by automatic updates", "in the CloudProfile", "update before its expirationDate"),
    word(&[classification::EXPIRED], "classification of a version", "its expirationDate has passed: no new Shoot or pool may use it, and maintenance forces those off it that do", "computed from the expirationDate", "`terrarium forecast` shows who moves when"),
    word(&[condition::VIRTUAL_GARDEN_API_SERVER_AVAILABLE], GARDEN, "kube-apiserver of the virtual garden answers", OPERATOR, "`terrarium status`"),
    word(&[condition::RUNTIME_COMPONENTS_HEALTHY], GARDEN, "the components of the runtime cluster are healthy", OPERATOR, "nothing: none of them is simulated"),
    word(&[condition::VIRTUAL_COMPONENTS_HEALTHY], GARDEN, "gardener-apiserver, gardener-controller-manager, gardener-scheduler and gardener-admission-controller are available", OPERATOR,
        "the message names the Deployment: `kubectl --context …-runtime -n garden get pods`"),
    word(&[condition::GARDENLET_RECONCILED], "condition of a Gardenlet", "gardenlet has deployed itself as the object says", "by gardenlet, in .status.conditions of the Gardenlet", "the message says what is wrong with the object"),
    word(&[label::AUTO_UPDATE_GARDENLET], "label of a Gardenlet", "gardener-operator gives the Gardenlet the chart of its own version when it has reconciled the Garden", "by `up`, or by a user", "take it away to raise this gardenlet by hand"),
    word(&["gardener-info"], "ConfigMap", "version of gardener-apiserver, which every user may read", "by gardener-operator, in namespace gardener-system-public of the garden", "nothing"),
    word(&["V0"], RULE, "a version cannot be read", "wherever versions are checked", "write it as v1.120.0"),
    word(&["A1"], RULE, "instances of gardener-apiserver may be at most one minor apart", "at start-up of an instance, by `terrarium status` and `terrarium skew check`", "raise the oldest first"),
    word(&["C1"], RULE, "gardener-controller-manager, gardener-scheduler and gardener-admission-controller may not be newer than the oldest gardener-apiserver", "at start-up of the component, by `terrarium status` and `terrarium skew check`", "raise gardener-apiserver first"),
    word(&["C2"], RULE, "gardener-controller-manager, gardener-scheduler and gardener-admission-controller may be at most one minor older than the newest gardener-apiserver", "at start-up, by `terrarium status` and `terrarium skew check`", "raise these before gardener-apiserver goes on"),
    word(&["G1"], RULE, "gardenlet may not be newer than the oldest gardener-apiserver", "at start-up of gardenlet, by `terrarium status` and `terrarium skew check`", "raise gardener-apiserver first"),
    word(&["G2"], RULE, "gardenlet may be only so many minors older than the newest gardener-apiserver (which depends on the profile)", "at start-up, by `terrarium status` and `terrarium skew check`", "raise gardenlets before gardener-apiserver goes on"),
    word(&["O1"], RULE, "instances of gardener-operator may be at most one minor apart", "at start-up of gardener-operator", "raise the oldest first"),
    word(&["O2"], RULE, "gardener-operator and gardener-apiserver may be at most one minor apart", "at start-up of gardener-operator", "raise them in turns"),
    word(&["O3a"], RULE, "gardener-operator may not be older than the one that operated the Garden last", "at start-up of gardener-operator", "go back to the newer one: downgrades are not supported"),
    word(&["O3b"], RULE, "gardener-operator may not skip a minor since the one that operated the Garden last", "at start-up of gardener-operator", "raise it minor by minor"),
    word(&["E1"], RULE, "an extension's library may not be newer than the oldest gardenlet", "at start-up of the extension, by `terrarium status` and `terrarium skew check`", "raise gardenlets first"),
    word(&["T1"], RULE, "a downgrade is not supported", "at start-up of a component, and by `terrarium upgrade check`", "restore the landscape as it was before the upgrade"),
    word(&["T2"], RULE, "a minor may not be skipped", "at start-up of a component that ran with another version before, and by `terrarium upgrade check`", "raise minor by minor"),
    word(&["P1"], RULE, "the gardener-apiserver that a gardener-operator brings along must not leave a component behind", "at start-up of gardener-operator", "raise first the components that the message names"),
    word(&["K1"], RULE, "a release of Gardener does not support a Kubernetes version", "when a component connects to a cluster; in profile documents note W3 says so instead", "`terrarium upgrade plan --to V --notes` says which releases support which versions"),
    word(&["F1"], RULE, "a release of Gardener does not know a feature gate", "at start-up of the component that sets it; note W4 says so before", "take the gate out of the component's configuration before its version changes"),
    word(&["CrashLoopBackOff"], "state of a pod", "its container ended again and again; it is started after a pause that doubles up to five minutes", "by the process kubelet, in the pod's status", "`terrarium logs COMPONENT --previous` has its last lines"),
    word(&["eager"], "mode of the clock", "while work is due within an hour the clock jumps to it; otherwise time passes as on the wall", "by `up`, or `terrarium clock mode eager`", "nothing"),
    word(&["stepped"], "mode of the clock", "time does not move, unless a command advances it", "by `terrarium clock mode stepped`", "`terrarium clock advance 1h`"),
    word(&["auto"], "mode of the clock", "the clock jumps from timer to timer, calendar or work", "by `terrarium clock mode auto`", "nothing"),
    word(&["documents", "profile documents"], "profile", "where the requirements documents and upstream's code differ, the documents hold", "by `terrarium up --profile`, for good", "docs/fidelity.md names each difference"),
    word(&["upstream", "profile upstream"], "profile", "where the requirements documents and upstream's code differ, the code holds", "by `terrarium up --profile`, for good", "docs/fidelity.md names each difference"),
];

/// Returns the meaning of a term by one of its names.
pub fn meaning(name: &str) -> Option<&'static str> {
    WORDS.iter().find(|word| word.names.contains(&name)).map(|word| word.means)
}
