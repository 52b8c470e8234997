// SPDX-License-Identifier: Apache-2.0
//! Checks whether the versions of a landscape may run at the same time, and lists the versions that may.

use chrono::{DateTime, Utc};
use domain::profile::Profile;
use domain::skew::allowed::{Allowed, beside};
use domain::skew::notes::{self, GateSetting, Noted, ShootVersions};
use domain::skew::start_up::violation_text;
use domain::skew::{Component, GardenerVersion, Instance, Landscape, Rule, Violation, violations};
use serde_json::{Value, json};

use crate::Error;
use crate::upgrade::fleet::Fleet;

/// Returns the name of a profile.
pub const fn name_of(profile: Profile) -> &'static str {
    match profile {
        Profile::Documents => "documents",
        Profile::Upstream => "upstream",
    }
}

/// A violated rule with the violating instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The violated rule.
    pub rule: Rule,
    /// Name of the violating component.
    pub component: &'static str,
    /// Name of the violating instance among several: a seed, an extension, or a position.
    pub instance: Option<String>,
    /// Version of the violating instance.
    pub version: Option<String>,
    /// `FILE:LINE` where the version is written.
    pub place: Option<String>,
    /// Description of the violation.
    pub message: String,
}

impl Row {
    fn of(violation: &Violation, fleet: &Fleet, seen: &mut Vec<usize>, profile: Profile) -> Self {
        let landscape = &fleet.landscape;
        // Each of several instances with the same component and version is reported under its own name.
        let index = violation.offender.as_ref().and_then(|offender| {
            let all = landscape.instances.iter().enumerate();
            let mut own = all.filter(|(index, one)| *one == offender && !seen.contains(index));
            own.next().map(|(index, _)| index)
        });
        if violation.rule == Rule::V0 || violation.offender.is_some() {
            seen.extend(index);
        }
        let component = match (violation.rule, &violation.offender) {
            (_, Some(offender)) => offender.component.name(),
            (Rule::O1 | Rule::O2, None) => Component::Operator.name(),
            _ => Component::Apiserver.name(),
        };
        Self {
            rule: violation.rule,
            component,
            instance: index.and_then(|index| fleet.name_of(index)),
            version: violation.offender.as_ref().map(|offender| offender.version.clone()),
            place: index.and_then(|index| fleet.origin(index)).map(|origin| origin.to_string()),
            message: violation_text(landscape, violation, profile),
        }
    }

    /// Formats the row as JSON for scripts.
    pub fn object(&self) -> Value {
        json!({
            "rule": self.rule.to_string(),
            "component": self.component,
            "instance": self.instance,
            "version": self.version,
            "message": self.message,
        })
    }
}

/// Returns the violations of a landscape, in the order of the rules.
pub fn rows(fleet: &Fleet, profile: Profile) -> Vec<Row> {
    let mut found = Vec::new();
    let (mut rule, mut seen) = (None, Vec::new());
    for violation in violations(&fleet.landscape, profile) {
        if rule != Some(violation.rule) {
            rule = Some(violation.rule);
            seen.clear();
        }
        found.push(Row::of(&violation, fleet, &mut seen, profile));
    }
    found
}

/// Returns the versions that may run at the same time as gardener-apiservers of the given versions.
///
/// # Errors
/// The gardener-apiservers violate a rule themselves; the error names it.
pub fn allowed(apiservers: &[GardenerVersion], profile: Profile) -> Result<Vec<Allowed>, Error> {
    let allowed = beside(apiservers, profile);
    if !allowed.is_empty() {
        return Ok(allowed);
    }
    let instances = apiservers.iter().map(|one| Instance::new(Component::Apiserver, &one.to_string()));
    let landscape = Landscape { instances: instances.collect(), ..Landscape::default() };
    let found = violations(&landscape, profile);
    let text = found.first().map(|first| format!("{}: {}", first.rule, violation_text(&landscape, first, profile)));
    Err(Error::Failed(text.unwrap_or_default()))
}

/// Result of a rule for a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// The rule is not about the component, or the component does not run.
    Unconcerned,
    /// The component complies with the rule.
    Kept,
    /// The component violates the rule; a description of each violation.
    Violated(Vec<String>),
}

/// Compliance of a landscape with each rule, by component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// Running components, in the order of their names in the documentation: the columns.
    pub components: Vec<Component>,
    /// Rules with their cells, in the order of [`MATRIX_RULES`].
    pub rows: Vec<(Rule, Vec<Cell>)>,
}

/// Rules about components that run at the same time, with the components that each is about.
pub const MATRIX_RULES: [(Rule, &[Component]); 8] = [
    (Rule::A1, &[Component::Apiserver]),
    (Rule::C1, &[Component::ControllerManager, Component::Scheduler, Component::AdmissionController]),
    (Rule::C2, &[Component::ControllerManager, Component::Scheduler, Component::AdmissionController]),
    (Rule::G1, &[Component::Gardenlet]),
    (Rule::G2, &[Component::Gardenlet]),
    (Rule::O1, &[Component::Operator]),
    (Rule::O2, &[Component::Operator]),
    (Rule::E1, &[Component::Extension]),
];

/// Returns the matrix of a landscape.
pub fn matrix(landscape: &Landscape, profile: Profile) -> Matrix {
    let runs = |component: &Component| landscape.instances.iter().any(|one| one.component == *component);
    let components: Vec<Component> = Component::ALL.into_iter().filter(runs).collect();
    let found = violations(landscape, profile);
    let cell = |rule: Rule, concerned: &[Component], component: Component| {
        if !concerned.contains(&component) {
            return Cell::Unconcerned;
        }
        let of_it = |violation: &&Violation| {
            violation.rule == rule && violation.offender.as_ref().is_none_or(|offender| offender.component == component)
        };
        let texts = found.iter().filter(of_it).map(|violation| violation_text(landscape, violation, profile));
        let texts: Vec<String> = texts.collect();
        if texts.is_empty() { Cell::Kept } else { Cell::Violated(texts) }
    };
    let rows = MATRIX_RULES.iter().map(|(rule, concerned)| {
        (*rule, components.iter().map(|component| cell(*rule, concerned, *component)).collect())
    });
    Matrix { rows: rows.collect(), components }
}

/// Notes W1 to W7 about legal but risky states, as far as they apply to a running landscape. W2 never applies: the cluster
/// of gardener-operator is no Seed. W7 is about the minor after the newest gardener-apiserver, W4 about the first of the
/// newest gardener-apiserver's version and the minor after it. W3 is about the emulated version: Shoots with a version
/// outside of its list continue to work in profile `documents`, and fail in profile `upstream`.
pub fn unwise(
    landscape: &Landscape,
    gardener: &str,
    shoots: &[ShootVersions],
    gates: &[GateSetting],
    first_hash_forms: &[String],
    profile: Profile,
    now: DateTime<Utc>,
) -> Vec<String> {
    let apiservers = landscape.instances.iter().filter(|instance| instance.component == Component::Apiserver);
    let newest = apiservers.filter_map(|instance| GardenerVersion::parse(&instance.version)).max();
    let clusters: Vec<(String, String)> =
        shoots.iter().map(|shoot| (shoot.name.clone(), shoot.kubernetes.clone())).collect();
    let dropped = GardenerVersion::parse(gardener).and_then(|it| notes::kubernetes_dropped(&it, &clusters));
    let laggards = newest.as_ref().map(|newest| notes::laggards(landscape, newest, profile)).unwrap_or_default();
    let next = newest.as_ref().map(|newest| GardenerVersion::release(newest.minor().0, newest.minor().1 + 1, 0));
    let of_gate = |gate: &GateSetting| {
        let versions = newest.iter().chain(&next);
        let found = versions.map(|version| notes::gates_gone(version, std::slice::from_ref(gate)));
        found.into_iter().find(|noted| !noted.is_empty()).unwrap_or_default()
    };
    let gone: Vec<Noted> = gates.iter().flat_map(of_gate).collect();
    let replaced = next.and_then(|next| notes::first_hash_forms(landscape, &next, first_hash_forms));
    let found = notes::shoots_not_reconciled(landscape, shoots).into_iter().chain(dropped).chain(gone).chain(laggards);
    found.chain(notes::out_of_maintenance(landscape, now)).chain(replaced).map(|note| note.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_has_the_violations_of_each_component() {
        let instance = |component: Component, version: &str| Instance::new(component, version);
        let instances = vec![
            instance(Component::Apiserver, "v1.120.0"),
            instance(Component::Scheduler, "v1.121.0"),
            Instance::owned(Component::Gardenlet, "a", "v1.120.0"),
        ];
        let landscape = Landscape { instances, ..Landscape::default() };
        let matrix = matrix(&landscape, Profile::Documents);
        let at = |rule: Rule, component: Component| {
            let (_, cells) = matrix.rows.iter().find(|(known, _)| *known == rule).expect("a rule of the matrix");
            let column = matrix.components.iter().position(|known| *known == component).expect("it runs");
            cells[column].clone()
        };
        assert_eq!(matrix.components.len(), 3);
        assert_eq!(at(Rule::A1, Component::Apiserver), Cell::Kept);
        assert_eq!(at(Rule::A1, Component::Scheduler), Cell::Unconcerned);
        assert_eq!(at(Rule::G1, Component::Gardenlet), Cell::Kept);
        let Cell::Violated(texts) = at(Rule::C1, Component::Scheduler) else { panic!("{:?}", matrix.rows) };
        assert_eq!(texts.len(), 1);
        assert!(texts[0].contains("gardener-scheduler"), "{texts:?}");
    }

    #[test]
    fn gates_are_gone_in_the_first_version_that_does_not_start() {
        let setting = |name: &str| GateSetting {
            component: Component::Gardenlet,
            owner: "a".to_owned(),
            name: name.to_owned(),
            on: false,
        };
        let gates = [setting("Foo"), setting("NewWorkerPoolHash")];
        let landscape =
            Landscape { instances: vec![Instance::new(Component::Apiserver, "v1.140.2")], ..Landscape::default() };
        let now = "2026-01-01T00:00:00Z".parse().expect("RFC 3339");
        let found = unwise(&landscape, "v1.140.2", &[], &gates, &[], Profile::Documents, now);
        let found: Vec<&String> = found.iter().filter(|note| note.starts_with("W4")).collect();
        assert_eq!(
            found,
            [
                "W4 FeatureGateGone: gardenlet of Seed a sets Foo=false, with which 1.140.2 does not start: unrecognized \
                 feature gate: Foo",
                "W4 FeatureGateGone: gardenlet of Seed a sets NewWorkerPoolHash=false, with which 1.141.0 does not start: \
                 cannot set feature gate NewWorkerPoolHash to false, feature is locked to true",
            ]
        );
    }
}
