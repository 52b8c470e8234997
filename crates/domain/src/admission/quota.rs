// SPDX-License-Identifier: Apache-2.0
//! Quotas: limits of the resources that the Shoots of a binding use in total, and of a Shoot's lifetime
//! (plugin/pkg/shoot/quotavalidator).

use api::constants::annotation;
use api::core::{Addons, CloudProfileSpec, Quota, Shoot, ShootSpec};
use apimachinery::meta::Quantity;
use chrono::{DateTime, TimeDelta, Utc};

use super::Refusal;

/// Metrics, in the order in which exceeded ones are reported.
const METRICS: [&str; 6] = ["cpu", "gpu", "memory", "storage.standard", "storage.premium", "loadbalancer"];

/// Scope of a quota: the Shoots that count against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Shoots in the Shoot's own namespace.
    Project,
    /// All Shoots whose credentials reference the quota.
    Credentials,
}

/// Returns the scope of a quota.
///
/// # Errors
/// 500 for a reference of another kind.
pub fn scope(quota: &Quota) -> Result<Scope, Refusal> {
    let reference = &quota.spec.scope;
    let group = reference.api_version.split_once('/').map_or("", |(group, _)| group);
    match (group, &*reference.kind) {
        ("core.gardener.cloud", "Project") => Ok(Scope::Project),
        ("security.gardener.cloud", "WorkloadIdentity") => Ok(Scope::Credentials),
        ("", "Secret") if reference.api_version == "v1" => Ok(Scope::Credentials),
        _ => Err(Refusal::Internal("unknown quota scope".to_owned())),
    }
}

/// Resources used by Shoots: an amount for each metric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage([Quantity; METRICS.len()]);

impl Usage {
    /// Returns the sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let mut others = other.0.into_iter();
        Self(self.0.map(|own| own.plus(others.next().unwrap_or_default())))
    }

    /// Returns the maximum usage of a Shoot.
    ///
    /// # Errors
    /// 500 if a type of its machines or volumes is not in the CloudProfile.
    pub fn of(shoot: &ShootSpec, profile: &CloudProfileSpec) -> Result<Self, Refusal> {
        let [mut cpu, mut gpu, mut memory, mut standard, mut premium] = [const { Quantity::from_integer(0) }; 5];
        for worker in &shoot.provider.workers {
            let wanted = &worker.machine.r#type;
            let missing = |what: &str| Refusal::Internal(format!("{what} {wanted} not found in CloudProfile"));
            let machine = profile.machine_types.iter().find(|one| one.name == *wanted);
            let machine = machine.ok_or_else(|| missing("machineType"))?;
            let storage = machine.storage.as_ref();
            let size = match &worker.volume {
                Some(volume) => {
                    let size = volume.size.parse::<Quantity>();
                    Some(size.map_err(|error| Refusal::Internal(error.to_string()))?)
                }
                None => storage.and_then(|storage| storage.size),
            };
            let size = size.ok_or_else(|| missing("VolumeType"))?;
            let class = storage.map(|storage| &storage.class).or_else(|| {
                let wanted = worker.volume.as_ref()?.r#type.as_ref()?;
                let found = profile.volume_types.iter().find(|one| one.name == *wanted);
                found.map(|found| &found.class)
            });
            let storage = match class.ok_or_else(|| missing("VolumeType"))?.as_str() {
                "standard" => &mut standard,
                "premium" => &mut premium,
                class => return Err(Refusal::Internal(format!("unknown volumeType class {class}"))),
            };
            let parts =
                [(&mut cpu, machine.cpu), (&mut gpu, machine.gpu), (&mut memory, machine.memory), (storage, size)];
            for (sum, one) in parts {
                *sum = sum.plus(times(one, worker.maximum));
            }
        }
        let balancers = if ingress(shoot.addons.as_ref()) { 2 } else { 1 };
        Ok(Self([cpu, gpu, memory, standard, premium, Quantity::from_integer(balancers)]))
    }
}

/// Returns `count` times a quantity, by doubling.
fn times(one: Quantity, count: i32) -> Quantity {
    let (mut sum, mut power, mut left) = (Quantity::default(), one, count.max(0));
    while left > 0 {
        if left % 2 == 1 {
            sum = sum.plus(power);
        }
        left /= 2;
        if left > 0 {
            power = power.plus(power);
        }
    }
    sum
}

fn ingress(addons: Option<&Addons>) -> bool {
    addons.and_then(|addons| addons.nginx_ingress.as_ref()).is_some_and(|addon| addon.enabled)
}

/// True if a request can use more than the stored Shoot, so that the quota must be checked.
pub fn counts(new: &Shoot, old: Option<&Shoot>) -> bool {
    let Some(old) = old else { return true };
    if ingress(new.spec.addons.as_ref()) && !ingress(old.spec.addons.as_ref()) {
        return true;
    }
    let old = &old.spec.provider.workers;
    new.spec.provider.workers.iter().any(|worker| {
        let before = old.iter().find(|before| before.name == worker.name);
        before.is_none_or(|before| {
            before.machine.r#type != worker.machine.r#type
                || before.maximum != worker.maximum
                || before.volume != worker.volume
        })
    })
}

/// Checks that the total usage, including the Shoot's, is within the quota.
///
/// # Errors
/// 403 with each exceeded metric.
pub fn check(quota: &Quota, needed: &Usage) -> Result<(), Refusal> {
    let exceeded = METRICS.iter().zip(&needed.0);
    let exceeded =
        exceeded.filter(|(metric, needed)| quota.spec.metrics.get(**metric).is_some_and(|most| most < needed));
    let names: String = exceeded.flat_map(|(metric, _)| [*metric, " "]).collect();
    if names.is_empty() {
        return Ok(());
    }
    Err(Refusal::Forbidden(format!("quota limits exceeded. Unable to allocate further {names}")))
}

/// Checks that a changed expiration is within the shortest lifetime of the quotas, counted from now.
///
/// # Errors
/// 403 for a later one, 500 for an invalid time.
pub fn check_lifetime<'a>(
    new: &Shoot,
    old: Option<&Shoot>,
    quotas: impl IntoIterator<Item = &'a Quota>,
    now: DateTime<Utc>,
) -> Result<(), Refusal> {
    let (Some(old), Some(planned)) = (old, new.metadata.annotation(annotation::SHOOT_EXPIRATION_TIMESTAMP)) else {
        return Ok(());
    };
    let days = quotas.into_iter().filter_map(|quota| quota.spec.cluster_lifetime_days).min();
    let Some(days) = days.filter(|_| old.metadata.annotation(annotation::SHOOT_EXPIRATION_TIMESTAMP) != Some(planned))
    else {
        return Ok(());
    };
    let planned = DateTime::parse_from_rfc3339(planned).map_err(|_| {
        let text = format!("parsing time {planned:?} as \"2006-01-02T15:04:05Z07:00\": cannot parse");
        Refusal::Internal(text)
    })?;
    if planned > now + TimeDelta::days(days.into()) {
        let text = format!("requested shoot expiration time is too long. Can only be extended by {days} day(s)");
        return Err(Refusal::Forbidden(text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn profile() -> CloudProfileSpec {
        from_value(json!({
            "machineTypes": [
                {"name": "small", "cpu": "2", "gpu": "0", "memory": "4Gi"},
                {"name": "disk", "cpu": "500m", "gpu": "1", "memory": "1Gi",
                 "storage": {"class": "premium", "type": "ssd", "size": "20Gi"}},
            ],
            "volumeTypes": [{"name": "hdd", "class": "standard"}],
        }))
        .expect("a profile")
    }

    fn shoot(workers: &Value) -> Shoot {
        from_value(json!({"spec": {"provider": {"type": "local", "workers": workers}}})).expect("a Shoot")
    }

    fn quota(spec: &Value) -> Quota {
        from_value(json!({"spec": spec})).expect("a Quota")
    }

    #[test]
    fn a_quota_counts_the_maximum_of_each_pool() {
        let workers = json!([
            {"name": "a", "machine": {"type": "small"}, "maximum": 3, "volume": {"type": "hdd", "size": "10Gi"}},
            {"name": "b", "machine": {"type": "disk"}, "maximum": 5},
        ]);
        let needed = Usage::of(&shoot(&workers).spec, &profile()).expect("known types");
        let amounts = ["8500m", "5", "17Gi", "30Gi", "100Gi", "1"];
        for (metric, amount) in METRICS.iter().zip(amounts) {
            check(&quota(&json!({"metrics": {*metric: amount}})), &needed).expect("enough");
        }
        let less =
            json!({"metrics": {"cpu": "8499m", "memory": "17Gi", "storage.premium": "99Gi", "loadbalancer": "0"}});
        let text = "quota limits exceeded. Unable to allocate further cpu storage.premium loadbalancer ";
        assert_eq!(check(&quota(&less), &needed), Err(Refusal::Forbidden(text.to_owned())));
        let twice = needed.clone().plus(needed);
        check(&quota(&json!({"metrics": {"cpu": "17"}})), &twice).expect("enough");
        check(&quota(&json!({"metrics": {"cpu": "16"}})), &twice).expect_err("too little");
    }

    #[test]
    fn types_that_the_profile_lacks_cannot_be_counted() {
        let cases = [
            (
                json!([{"name": "a", "machine": {"type": "big"}, "maximum": 1}]),
                "machineType big not found in CloudProfile",
            ),
            (
                json!([{"name": "a", "machine": {"type": "small"}, "maximum": 1}]),
                "VolumeType small not found in CloudProfile",
            ),
        ];
        for (workers, text) in cases {
            let result = Usage::of(&shoot(&workers).spec, &profile());
            assert_eq!(result, Err(Refusal::Internal(text.to_owned())));
        }
    }

    #[test]
    fn quotas_are_counted_when_a_request_can_use_more() {
        let pool = |maximum: i32| shoot(&json!([{"name": "a", "machine": {"type": "small"}, "maximum": maximum}]));
        let mut ingress = pool(1);
        ingress.spec.addons = from_value(json!({"nginxIngress": {"enabled": true}})).expect("addons");
        let none = shoot(&json!([]));
        assert!(counts(&pool(1), None));
        assert!(!counts(&pool(1), Some(&pool(1))));
        assert!(counts(&pool(2), Some(&pool(1))));
        assert!(counts(&pool(1), Some(&none)) && !counts(&none, Some(&pool(1))));
        assert!(counts(&ingress, Some(&pool(1))) && !counts(&pool(1), Some(&ingress)));
    }

    #[test]
    fn the_lifetime_of_a_shoot_is_bounded_by_its_quotas() {
        let until = |time: &str| -> Shoot {
            from_value(json!({"metadata": {"annotations": {"shoot.gardener.cloud/expiration-timestamp": time}}}))
                .expect("a Shoot")
        };
        let now = "2023-07-27T20:00:00Z".parse().expect("an instant");
        let quotas = [quota(&json!({"clusterLifetimeDays": 14})), quota(&json!({"clusterLifetimeDays": 7}))];
        let old = Shoot::default();
        let latest = until("2023-08-03T20:00:00Z");
        let late = until("2023-08-03T20:00:01Z");
        check_lifetime(&latest, Some(&old), &quotas, now).expect("seven days");
        let text = "requested shoot expiration time is too long. Can only be extended by 7 day(s)";
        assert_eq!(check_lifetime(&late, Some(&old), &quotas, now), Err(Refusal::Forbidden(text.to_owned())));
        check_lifetime(&late, Some(&late), &quotas, now).expect("unchanged");
        check_lifetime(&late, None, &quotas, now).expect("new ones are not asked");
        check_lifetime(&late, Some(&old), &[], now).expect("no quota");
    }

    #[test]
    fn scopes_are_projects_and_credentials() {
        let of =
            |api_version: &str, kind: &str| scope(&quota(&json!({"scope": {"apiVersion": api_version, "kind": kind}})));
        assert_eq!(of("core.gardener.cloud/v1beta1", "Project"), Ok(Scope::Project));
        assert_eq!(of("v1", "Secret"), Ok(Scope::Credentials));
        assert_eq!(of("security.gardener.cloud/v1alpha1", "WorkloadIdentity"), Ok(Scope::Credentials));
        assert_eq!(of("v2", "Secret"), Err(Refusal::Internal("unknown quota scope".to_owned())));
    }
}
