// SPDX-License-Identifier: Apache-2.0
//! Rule vectors of roll-outs: passes their input to functions of `domain`, and converts the result to the vector's form.

use api::core::{KubeletConfig, KubeletConfigEviction, KubeletConfigReserved, PendingWorkersRollout, Shoot};
use apimachinery::meta::{IntOrString, RawExtension, Time};
use domain::release::DOCUMENTED;
use domain::rollout::Limits;
use domain::rollout::machine::Phase;
use domain::rollout::machine_set::{DEFAULT_PRIORITY, Member, first_to_delete};
use domain::rollout::replicas::Situation;
use domain::worker_pool::hash::Inputs;
use domain::worker_pool::zones;
use domain::worker_pool::{HashInputs, HashVersion};
use serde_json::{Value, json};

/// Returns the result of a rule vector, or `None` for a rule that has its own unit test. `expect` determines the parts of
/// the result that the vector compares.
pub(crate) fn apply_rule(rule: &str, input: &Value, expect: &Value) -> Option<Value> {
    let answer = match rule {
        "machineClassHashV1" => {
            let pool = pool(input);
            json!({"data": data(&pool.machine_class_inputs_v1(DOCUMENTED)), "hash": pool.machine_class_hash(None, DOCUMENTED)})
        }
        "machineClassHashV2" => {
            let pool = pool(input);
            let name = input["nodeAgentSecretName"].as_str().expect("the rule hashes the name");
            let mut all = vec![name.to_owned()];
            all.extend(data(&pool.provider_additions_v2()));
            json!({"data": all, "hash": pool.machine_class_hash(Some(name), DOCUMENTED)})
        }
        "machineClassHashInPlace" => {
            let pool = in_place(pool(input));
            let key = pool.osc_key(HashVersion::V1, DOCUMENTED);
            json!({"data": [key, pool.in_place_pool_hash()], "hash": pool.machine_class_hash(Some(&key), DOCUMENTED)})
        }
        "oscKeyV1" => json!({"key": pool(input).osc_key(HashVersion::V1, DOCUMENTED)}),
        "oscKeyV2" => {
            let pool = pool(input);
            json!({"data": data(&pool.osc_key_inputs_v2(DOCUMENTED)), "key": pool.osc_key(HashVersion::V2, DOCUMENTED)})
        }
        "inPlacePoolHash" => {
            let pool = in_place(pool(input));
            json!({"data": data(&pool.in_place_inputs()), "hash": pool.in_place_pool_hash()})
        }
        "distributeOverZones" => distribute(input),
        "resolveFenceposts" => {
            let limits =
                Limits { max_surge: limit(&input["maxSurge"]), max_unavailable: limit(&input["maxUnavailable"]) };
            let (surge, unavailable) = limits.resolve(number(&input["replicas"]));
            json!({"surge": surge, "unavailable": unavailable})
        }
        "machineDeploymentReplicas" => json!(situation(input).replicas()),
        "machineDeletionOrder" => deletion_order(input),
        _ => return None,
    };
    // A vector may compare a part of the result.
    Some(match (answer, expect.as_object()) {
        (Value::Object(answer), Some(asked)) => answer.into_iter().filter(|(key, _)| asked.contains_key(key)).collect(),
        (answer, _) => answer,
    })
}

fn data(inputs: &Inputs) -> Vec<String> {
    inputs.iter().map(|(_, value)| value.clone()).collect()
}

fn in_place(pool: HashInputs) -> HashInputs {
    HashInputs { strategy: domain::worker_pool::UpdateStrategy::AutoInPlaceUpdate, ..pool }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Returns a number; 0 if it is not set.
fn number(value: &Value) -> i32 {
    if value.is_null() { 0 } else { i32::try_from(value.as_i64().expect("a number")).expect("a small number") }
}

fn limit(value: &Value) -> IntOrString {
    text(value).map_or_else(|| IntOrString::Int(number(value)), IntOrString::String)
}

fn time(value: &Value) -> Option<Time> {
    serde_json::from_value::<Option<Time>>(value.clone()).expect("a time")
}

/// Returns the hash inputs of a pool, computed from a Shoot as in the product.
fn pool(input: &Value) -> HashInputs {
    let mut shoot = Shoot::default();
    shoot.spec.kubernetes.version = text(&input["kubernetesVersion"]).unwrap_or_default();
    let mut worker = api::core::Worker { name: text(&input["name"]).unwrap_or_default(), ..Default::default() };
    worker.machine.r#type = text(&input["machineType"]).unwrap_or_default();
    worker.machine.image = text(&input["image"]).map(|name| api::core::ShootMachineImage {
        name,
        version: text(&input["imageVersion"]),
        ..Default::default()
    });
    worker.volume = text(&input["volumeSize"]).map(|size| api::core::Volume {
        size,
        r#type: text(&input["volumeType"]),
        ..Default::default()
    });
    worker.cri = text(&input["cri"]).map(|name| api::core::CRI { name, ..Default::default() });
    worker.provider_config = text(&input["providerConfigRaw"])
        .map(|raw| RawExtension(serde_json::from_str(&raw).expect("providerConfig is JSON")));
    let reserved = |value: &Value| -> Option<KubeletConfigReserved> {
        (!value.is_null()).then(|| serde_json::from_value(value.clone()).expect("reserved resources"))
    };
    let eviction: Option<KubeletConfigEviction> = (!input["evictionHard"].is_null())
        .then(|| serde_json::from_value(input["evictionHard"].clone()).expect("eviction thresholds"));
    let kubelet = KubeletConfig {
        kube_reserved: reserved(&input["kubeReserved"]),
        system_reserved: reserved(&input["systemReserved"]),
        eviction_hard: eviction,
        cpu_manager_policy: text(&input["cpuManagerPolicy"]),
        ..KubeletConfig::default()
    };
    shoot.spec.kubernetes.kubelet = (kubelet != KubeletConfig::default()).then_some(kubelet);
    if input["nodeLocalDNS"] == true {
        shoot.spec.system_components = Some(api::core::SystemComponents {
            node_local_dns: Some(api::core::NodeLocalDNS { enabled: true, ..Default::default() }),
            ..Default::default()
        });
    }
    let pending = input["pendingWorkersRollouts"].as_array().into_iter().flatten().map(|entry| PendingWorkersRollout {
        name: text(&entry["name"]).expect("an entry has a name"),
        last_initiation_time: time(&entry["lastInitiationTime"]),
    });
    shoot.status.credentials = Some(api::core::ShootCredentials {
        rotation: Some(api::core::ShootCredentialsRotation {
            certificate_authorities: Some(api::core::CARotation {
                last_initiation_time: time(&input["caRotationLastInitiationTime"]),
                pending_workers_rollouts: pending.collect(),
                ..Default::default()
            }),
            service_account_key: Some(api::core::ServiceAccountKeyRotation {
                last_initiation_time: time(&input["saKeyRotationLastInitiationTime"]),
                ..Default::default()
            }),
            ..Default::default()
        }),
        ..api::core::ShootCredentials::default()
    });
    HashInputs::of_shoot(&shoot, &worker)
}

fn distribute(input: &Value) -> Value {
    let zones = usize::try_from(number(&input["zones"])).expect("a number of zones");
    let shares = zones::distribute(
        number(&input["minimum"]),
        number(&input["maximum"]),
        &limit(&input["maxSurge"]),
        &limit(&input["maxUnavailable"]),
        zones,
    );
    let written = |value: &IntOrString| match value {
        IntOrString::Int(number) => json!(number),
        IntOrString::String(text) => json!(text),
    };
    let share = |share: &zones::Share| {
        json!({
            "minimum": share.minimum, "maximum": share.maximum,
            "maxSurge": written(&share.max_surge), "maxUnavailable": written(&share.max_unavailable),
        })
    };
    shares.iter().map(share).collect()
}

fn situation(input: &Value) -> Situation {
    let optional = |value: &Value| (!value.is_null()).then(|| number(value));
    Situation {
        hibernated: input["hibernation"] == true,
        autoscaled: input["autoscaler"] == true,
        existing: optional(&input["existing"]),
        restored: optional(&input["stateReplicas"]),
        all_existing_are_zero: input["allExistingZero"] == true,
        minimum: number(&input["minimum"]),
        maximum: number(&input["maximum"]),
    }
}

fn deletion_order(input: &Value) -> Value {
    let member = |machine: &Value| Member {
        name: text(&machine["name"]).expect("a machine has a name"),
        phase: Phase::of(machine["phase"].as_str().expect("a machine has a phase")),
        created: Time::from_instant(super::instant(machine["created"].as_i64().expect("seconds"))),
        priority: machine["priority"].as_i64().map_or(DEFAULT_PRIORITY, |rank| i32::try_from(rank).expect("a rank")),
        is_updated_in_place: false,
        ..Member::default()
    };
    let members: Vec<Member> = input["machines"].as_array().expect("machines").iter().map(member).collect();
    let mut sorted: Vec<&Member> = members.iter().collect();
    let count = sorted.len();
    first_to_delete(&mut sorted, count).iter().map(|member| member.name.clone()).collect()
}
