// SPDX-License-Identifier: Apache-2.0
//! Rotation of a Garden's credentials in its status: Preparing → Prepared → Completing → Completed. An annotation
//! triggers the steps to Preparing and Completing, a successful reconciliation the others. The key of etcd may be
//! completed without another annotation. Observability has no phases.
//!
//! **Deliberately absent**: the credentials themselves. Nothing here is signed or encrypted with them.
//!
//! Source: pkg/operator/controller/garden/garden/reconciler.go @ v1.120.0, v1.128.0 and v1.133.0.

use api::constants::operation;
use api::operator::{CredentialsRotation, Garden, GardenStatus};
use apimachinery::meta::Time;

use crate::annotations;
use crate::release::Release;
use crate::rotation::{ALWAYS_WHOLE, COMPLETED, COMPLETING, KEY_ROTATES_AS_A_WHOLE, PREPARED, PREPARING};
use crate::versions::{Version, normalize};

/// True if every rotation of the key of etcd is completed without another operation.
pub fn is_always_whole(garden: &Garden, release: Release) -> bool {
    let version = Version::parse(&normalize(&garden.spec.virtual_cluster.kubernetes.version));
    // A version that cannot be parsed does not count as below, as upstream compares it.
    let is_below = version.is_ok_and(|version| (version.major, version.minor) < ALWAYS_WHOLE);
    KEY_ROTATES_AS_A_WHOLE.contain(release) && !is_below
}

/// True if the prepared rotation of the key of etcd is completed at once.
pub fn completes_itself(status: &GardenStatus) -> bool {
    let rotation = status.credentials.as_ref().and_then(|credentials| credentials.rotation.as_ref());
    let key = rotation.and_then(|rotation| rotation.etcd_encryption_key.as_ref());
    key.is_some_and(|key| key.phase == PREPARED && key.auto_complete_after_prepared == Some(true))
}

/// Credentials with phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    /// Rotation of `certificateAuthorities`.
    CertificateAuthorities,
    /// Rotation of `serviceAccountKey`.
    ServiceAccountKey,
    /// Rotation of `etcdEncryptionKey`.
    EtcdEncryptionKey,
    /// Rotation of `workloadIdentityKey`.
    WorkloadIdentityKey,
}

impl Credential {
    /// All of them, in the order of the status.
    pub const ALL: [Self; 4] =
        [Self::CertificateAuthorities, Self::ServiceAccountKey, Self::EtcdEncryptionKey, Self::WorkloadIdentityKey];

    /// Name of the rotation's field in the status.
    pub const fn field(self) -> &'static str {
        match self {
            Self::CertificateAuthorities => "certificateAuthorities",
            Self::ServiceAccountKey => "serviceAccountKey",
            Self::EtcdEncryptionKey => "etcdEncryptionKey",
            Self::WorkloadIdentityKey => "workloadIdentityKey",
        }
    }

    /// Name of its rotation in refusals.
    pub const fn what(self) -> &'static str {
        match self {
            Self::CertificateAuthorities => "CA rotation",
            Self::ServiceAccountKey => "service account key rotation",
            Self::EtcdEncryptionKey => "ETCD encryption key rotation",
            Self::WorkloadIdentityKey => "workload identity key rotation",
        }
    }

    /// The phase of its rotation; empty before the first one.
    pub fn phase(self, status: &GardenStatus) -> &str {
        let rotation = status.credentials.as_ref().and_then(|credentials| credentials.rotation.as_ref());
        let phase = rotation.and_then(|rotation| match self {
            Self::CertificateAuthorities => rotation.certificate_authorities.as_ref().map(|one| &one.phase),
            Self::ServiceAccountKey => rotation.service_account_key.as_ref().map(|one| &one.phase),
            Self::EtcdEncryptionKey => rotation.etcd_encryption_key.as_ref().map(|one| &one.phase),
            Self::WorkloadIdentityKey => rotation.workload_identity_key.as_ref().map(|one| &one.phase),
        });
        phase.map(String::as_str).unwrap_or_default()
    }
}

/// Step of a rotation that an operation requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Begins rotations.
    Start,
    /// Completes them.
    Complete,
}

/// Returns the step and the credentials of an operation; `None`: it is no operation of a rotation with phases.
/// `is_whole`: every rotation of the key of etcd is completed without another operation.
pub fn phased(operation: &str, is_whole: bool) -> Option<(Step, Vec<Credential>)> {
    use Credential::{CertificateAuthorities, EtcdEncryptionKey, ServiceAccountKey, WorkloadIdentityKey};
    Some(match operation {
        operation::ROTATE_CREDENTIALS_START => (Step::Start, Credential::ALL.to_vec()),
        operation::ROTATE_CREDENTIALS_COMPLETE => {
            let is_left = |one: &Credential| !is_whole || *one != EtcdEncryptionKey;
            (Step::Complete, Credential::ALL.into_iter().filter(is_left).collect())
        }
        operation::ROTATE_CA_START => (Step::Start, vec![CertificateAuthorities]),
        operation::ROTATE_CA_COMPLETE => (Step::Complete, vec![CertificateAuthorities]),
        operation::ROTATE_SERVICE_ACCOUNT_KEY_START => (Step::Start, vec![ServiceAccountKey]),
        operation::ROTATE_SERVICE_ACCOUNT_KEY_COMPLETE => (Step::Complete, vec![ServiceAccountKey]),
        operation::ROTATE_ETCD_ENCRYPTION_KEY | operation::ROTATE_ETCD_ENCRYPTION_KEY_START => {
            (Step::Start, vec![EtcdEncryptionKey])
        }
        operation::ROTATE_ETCD_ENCRYPTION_KEY_COMPLETE => (Step::Complete, vec![EtcdEncryptionKey]),
        operation::ROTATE_WORKLOAD_IDENTITY_KEY_START => (Step::Start, vec![WorkloadIdentityKey]),
        operation::ROTATE_WORKLOAD_IDENTITY_KEY_COMPLETE => (Step::Complete, vec![WorkloadIdentityKey]),
        _ => return None,
    })
}

/// Applies the operations of the annotation at the start of a reconciliation, and completes a prepared rotation of the key
/// of etcd that no operation completes.
///
/// Validation ensures that the phase allows the operations; other operations change nothing.
pub fn begin(status: &mut GardenStatus, asked: &str, is_whole: bool, now: Time) {
    let mut operations = annotations::operations(asked);
    // The rotation of all credentials takes precedence over the others, which it includes.
    operations.sort_by_key(|operation| {
        matches!(*operation, operation::ROTATE_CREDENTIALS_START | operation::ROTATE_CREDENTIALS_COMPLETE)
    });
    for operation in operations {
        begin_one(status, operation, is_whole, now);
    }
    let is_prepared = Credential::EtcdEncryptionKey.phase(status) == PREPARED;
    if completes_itself(status) || (is_prepared && is_whole) {
        begin_one(status, operation::ROTATE_ETCD_ENCRYPTION_KEY_COMPLETE, is_whole, now);
    }
}

fn begin_one(status: &mut GardenStatus, operation: &str, is_whole: bool, now: Time) {
    let observability =
        [operation::ROTATE_OBSERVABILITY_CREDENTIALS, operation::ROTATE_CREDENTIALS_START].contains(&operation);
    if let Some((step, credentials)) = phased(operation, is_whole) {
        let rotation = rotation_mut(status);
        for credential in credentials {
            change(rotation, credential, |phase, [initiation, finished, triggered, _]| match step {
                Step::Start => {
                    PREPARING.clone_into(phase);
                    (*initiation, *finished, *triggered) = (Some(now), None, None);
                }
                Step::Complete => {
                    COMPLETING.clone_into(phase);
                    *triggered = Some(now);
                }
            });
            if let (Step::Start, Credential::EtcdEncryptionKey, Some(key)) =
                (step, credential, &mut rotation.etcd_encryption_key)
            {
                let is_one_operation = operation == operation::ROTATE_ETCD_ENCRYPTION_KEY;
                key.auto_complete_after_prepared = (is_one_operation || is_whole).then_some(true);
            }
        }
    }
    if observability {
        rotation_mut(status).observability.get_or_insert_default().last_initiation_time = Some(now);
    }
}

/// Advances rotations after a successful reconciliation.
pub fn succeed(status: &mut GardenStatus, now: Time) {
    let Some(rotation) = status.credentials.as_mut().and_then(|credentials| credentials.rotation.as_mut()) else {
        return;
    };
    let has = [
        rotation.certificate_authorities.is_some(),
        rotation.service_account_key.is_some(),
        rotation.etcd_encryption_key.is_some(),
        rotation.workload_identity_key.is_some(),
    ];
    for (credential, _) in Credential::ALL.into_iter().zip(has).filter(|(_, has)| *has) {
        change(rotation, credential, |phase, [_, finished, triggered, completion]| match phase.as_str() {
            PREPARING => {
                PREPARED.clone_into(phase);
                *finished = Some(now);
            }
            COMPLETING => {
                COMPLETED.clone_into(phase);
                (*completion, *finished, *triggered) = (Some(now), None, None);
            }
            _ => {}
        });
    }
    if let Some(key) = &mut rotation.etcd_encryption_key {
        key.auto_complete_after_prepared.take_if(|_| key.phase == COMPLETED);
    }
    if let Some(one) = &mut rotation.observability
        && one.last_initiation_time.is_some_and(|began| one.last_completion_time.is_none_or(|ended| ended < began))
    {
        one.last_completion_time = Some(now);
    }
}

fn rotation_mut(status: &mut GardenStatus) -> &mut CredentialsRotation {
    status.credentials.get_or_insert_default().rotation.get_or_insert_default()
}

/// Writes phase and times of one credential: initiation, end of the initiation, trigger of the completion,
/// completion. The types of the API have the same fields, but share no trait.
fn change(
    rotation: &mut CredentialsRotation,
    credential: Credential,
    change: impl FnOnce(&mut String, [&mut Option<Time>; 4]),
) {
    macro_rules! show {
        ($field:ident) => {{
            let one = rotation.$field.get_or_insert_default();
            change(
                &mut one.phase,
                [
                    &mut one.last_initiation_time,
                    &mut one.last_initiation_finished_time,
                    &mut one.last_completion_triggered_time,
                    &mut one.last_completion_time,
                ],
            )
        }};
    }
    match credential {
        Credential::CertificateAuthorities => show!(certificate_authorities),
        Credential::ServiceAccountKey => show!(service_account_key),
        Credential::EtcdEncryptionKey => show!(etcd_encryption_key),
        Credential::WorkloadIdentityKey => show!(workload_identity_key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Time {
        Time(chrono::DateTime::from_timestamp(1_690_488_000 + second, 0).expect("in range"))
    }

    #[test]
    fn an_operation_and_a_success_take_turns() {
        let mut status = GardenStatus::default();
        let phases = |status: &GardenStatus| Credential::ALL.map(|one| one.phase(status).to_owned()).join(" ");
        begin(&mut status, "rotate-credentials-start", false, at(1));
        assert_eq!(phases(&status), "Preparing Preparing Preparing Preparing");
        succeed(&mut status, at(2));
        assert_eq!(phases(&status), "Prepared Prepared Prepared Prepared");
        begin(&mut status, "rotate-ca-complete", false, at(3));
        assert_eq!(phases(&status), "Completing Prepared Prepared Prepared");
        succeed(&mut status, at(4));
        assert_eq!(phases(&status), "Completed Prepared Prepared Prepared");
        let rotation = status.credentials.clone().and_then(|it| it.rotation).expect("it is there");
        let authorities = rotation.certificate_authorities.expect("it is there");
        assert_eq!((authorities.last_initiation_time, authorities.last_completion_time), (Some(at(1)), Some(at(4))));
        assert_eq!(
            (authorities.last_initiation_finished_time, authorities.last_completion_triggered_time),
            (None, None)
        );
        let observability = rotation.observability.expect("it is there");
        let times = (observability.last_initiation_time, observability.last_completion_time);
        assert_eq!(times, (Some(at(1)), Some(at(2))));
        let before = status.clone();
        succeed(&mut status, at(5));
        begin(&mut status, "reconcile", false, at(6));
        assert_eq!(status, before);
    }

    /// Operations, true if each rotation is completed without another operation, and the phases after the beginning, the first
    /// success, the second beginning without an annotation, and the second success: of the authorities and of etcd's key.
    #[test]
    fn the_key_of_etcd_is_completed_without_an_operation() {
        for (asked, is_whole, expected) in [
            ("rotate-etcd-encryption-key-start", false, ["/Preparing", "/Prepared", "/Prepared", "/Prepared"]),
            ("rotate-etcd-encryption-key", false, ["/Preparing", "/Prepared", "/Completing", "/Completed"]),
            ("rotate-etcd-encryption-key", true, ["/Preparing", "/Prepared", "/Completing", "/Completed"]),
            (
                "rotate-credentials-start",
                true,
                ["Preparing/Preparing", "Prepared/Prepared", "Prepared/Completing", "Prepared/Completed"],
            ),
            (
                "rotate-ca-start;rotate-etcd-encryption-key",
                false,
                ["Preparing/Preparing", "Prepared/Prepared", "Prepared/Completing", "Prepared/Completed"],
            ),
            (
                "rotate-credentials-start; rotate-etcd-encryption-key",
                false,
                ["Preparing/Preparing", "Prepared/Prepared", "Prepared/Prepared", "Prepared/Prepared"],
            ),
        ] {
            let mut status = GardenStatus::default();
            let phases = |status: &GardenStatus| {
                let phase = |one: Credential| one.phase(status).to_owned();
                format!("{}/{}", phase(Credential::CertificateAuthorities), phase(Credential::EtcdEncryptionKey))
            };
            let mut found = Vec::new();
            begin(&mut status, asked, is_whole, at(1));
            found.push(phases(&status));
            succeed(&mut status, at(2));
            found.push(phases(&status));
            assert_eq!(completes_itself(&status), expected[2] != expected[1], "{asked}");
            begin(&mut status, "", is_whole, at(3));
            found.push(phases(&status));
            succeed(&mut status, at(4));
            found.push(phases(&status));
            assert_eq!(found, expected, "{asked} {is_whole}");
        }
        let mut status = GardenStatus::default();
        begin(&mut status, "rotate-credentials-start", true, at(1));
        succeed(&mut status, at(2));
        begin(&mut status, "rotate-credentials-complete", true, at(3));
        succeed(&mut status, at(4));
        assert_eq!(Credential::ALL.map(|one| one.phase(&status).to_owned()), ["Completed"; 4]);
        let rotation = status.credentials.and_then(|it| it.rotation).expect("it is there");
        assert_eq!(rotation.etcd_encryption_key.expect("it is there").auto_complete_after_prepared, None);
    }
}
