// SPDX-License-Identifier: Apache-2.0
//! Rotation of a Garden's credentials in its status: Preparing → Prepared → Completing → Completed. An annotation
//! triggers the steps to Preparing and Completing, a successful reconciliation the others. Observability has no
//! phases.
//!
//! **Deliberately absent**: the credentials themselves. Nothing here is signed or encrypted with them.
//!
//! Source: pkg/operator/controller/garden/garden/reconciler.go @ v1.120.0.

use api::constants::operation;
use api::operator::{CredentialsRotation, GardenStatus};
use apimachinery::meta::Time;

use crate::rotation::{COMPLETED, COMPLETING, PREPARED, PREPARING};

/// Credentials with phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    /// `certificateAuthorities`
    CertificateAuthorities,
    /// `serviceAccountKey`
    ServiceAccountKey,
    /// `etcdEncryptionKey`
    EtcdEncryptionKey,
    /// `workloadIdentityKey`
    WorkloadIdentityKey,
}

impl Credential {
    /// All of them, in the order of the status.
    pub const ALL: [Self; 4] =
        [Self::CertificateAuthorities, Self::ServiceAccountKey, Self::EtcdEncryptionKey, Self::WorkloadIdentityKey];

    /// Its name in the status.
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
pub fn phased(operation: &str) -> Option<(Step, Vec<Credential>)> {
    use Credential::{CertificateAuthorities, EtcdEncryptionKey, ServiceAccountKey, WorkloadIdentityKey};
    Some(match operation {
        operation::ROTATE_CREDENTIALS_START => (Step::Start, Credential::ALL.to_vec()),
        operation::ROTATE_CREDENTIALS_COMPLETE => (Step::Complete, Credential::ALL.to_vec()),
        operation::ROTATE_CA_START => (Step::Start, vec![CertificateAuthorities]),
        operation::ROTATE_CA_COMPLETE => (Step::Complete, vec![CertificateAuthorities]),
        operation::ROTATE_SERVICE_ACCOUNT_KEY_START => (Step::Start, vec![ServiceAccountKey]),
        operation::ROTATE_SERVICE_ACCOUNT_KEY_COMPLETE => (Step::Complete, vec![ServiceAccountKey]),
        operation::ROTATE_ETCD_ENCRYPTION_KEY_START => (Step::Start, vec![EtcdEncryptionKey]),
        operation::ROTATE_ETCD_ENCRYPTION_KEY_COMPLETE => (Step::Complete, vec![EtcdEncryptionKey]),
        operation::ROTATE_WORKLOAD_IDENTITY_KEY_START => (Step::Start, vec![WorkloadIdentityKey]),
        operation::ROTATE_WORKLOAD_IDENTITY_KEY_COMPLETE => (Step::Complete, vec![WorkloadIdentityKey]),
        _ => return None,
    })
}

/// Applies the operation of the annotation at the start of a reconciliation.
pub fn begin(status: &mut GardenStatus, operation: &str, now: Time) {
    let observability =
        [operation::ROTATE_OBSERVABILITY_CREDENTIALS, operation::ROTATE_CREDENTIALS_START].contains(&operation);
    if let Some((step, credentials)) = phased(operation) {
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
        begin(&mut status, "rotate-credentials-start", at(1));
        assert_eq!(phases(&status), "Preparing Preparing Preparing Preparing");
        succeed(&mut status, at(2));
        assert_eq!(phases(&status), "Prepared Prepared Prepared Prepared");
        begin(&mut status, "rotate-ca-complete", at(3));
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
        begin(&mut status, "reconcile", at(6));
        assert_eq!(status, before);
    }
}
