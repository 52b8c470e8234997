// SPDX-License-Identifier: Apache-2.0
//! Cluster objects of extensions: copies of a Shoot, its Seed and its CloudProfile, kept as texts.
//!
//! As for every kind that a CustomResourceDefinition defines, keys are served in alphabetical order, whatever order the
//! client used.

use api::extensions::{Cluster, ClusterSpec};
use apimachinery::meta::RawExtension;
use generic_apiserver::{RequestContext, Strategy};

/// Strategy of Cluster objects.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CopiesStrategy;

impl Strategy<Cluster> for CopiesStrategy {
    fn prepare_for_create(&self, object: &mut Cluster, _: &RequestContext) {
        sort(&mut object.spec, &ClusterSpec::default());
    }

    fn prepare_for_update(&self, object: &mut Cluster, old: &Cluster, _: &RequestContext) {
        sort(&mut object.spec, &old.spec);
    }
}

/// Sorts the keys of the copies that differ from those of an older specification; unchanged copies are sorted already.
fn sort(spec: &mut ClusterSpec, old: &ClusterSpec) {
    let sorted = |copy: &mut RawExtension| *copy = RawExtension(copy.0.sorted());
    if spec.cloud_profile != old.cloud_profile {
        sorted(&mut spec.cloud_profile);
    }
    if spec.shoot != old.shoot {
        sorted(&mut spec.shoot);
    }
    if spec.seed != old.seed {
        spec.seed.as_mut().into_iter().for_each(sorted);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spec(shoot: &str) -> ClusterSpec {
        let read = |text: &str| serde_json::from_str::<RawExtension>(text).expect("JSON");
        ClusterSpec { cloud_profile: json!({ "kind": "CloudProfile" }).into(), seed: None, shoot: read(shoot) }
    }

    #[test]
    fn keys_of_differences_are_sorted() {
        let old = spec(r#"{"a":1,"z":2}"#);
        let mut new = spec(r#"{"z":3,"a":{"y":1,"b":[{"d":1,"c":"<"}]}}"#);
        sort(&mut new, &old);
        assert_eq!(new.shoot.0.text(), r#"{"a":{"b":[{"c":"\u003c","d":1}],"y":1},"z":3}"#);
        assert_eq!(new.cloud_profile, old.cloud_profile);
        let mut seed = ClusterSpec { seed: serde_json::from_str(r#"{"b":1,"a":2}"#).expect("JSON"), ..old.clone() };
        sort(&mut seed, &old);
        assert_eq!(seed.seed.expect("it stays").0.text(), r#"{"a":2,"b":1}"#);
    }
}
