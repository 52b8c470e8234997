// SPDX-License-Identifier: Apache-2.0
//! Whether the versions of a landscape may run beside each other, and which may.

use domain::profile::Profile;
use domain::skew::allowed::{Allowed, beside};
use domain::skew::start_up::violation_text;
use domain::skew::{Component, GardenerVersion, Instance, Landscape, Rule, Violation, violations};
use serde_json::{Value, json};

use crate::Error;
use crate::fleet::Fleet;

/// A profile by its name.
pub const fn name_of(profile: Profile) -> &'static str {
    match profile {
        Profile::Documents => "documents",
        Profile::Upstream => "upstream",
    }
}

/// A violated rule with whom it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The rule.
    pub rule: Rule,
    /// The component that violates it, by its name.
    pub component: &'static str,
    /// Which of its instances, where there are several: a seed, an extension, a position.
    pub instance: Option<String>,
    /// Version of the instance.
    pub version: Option<String>,
    /// `FILE:LINE` where the version is written.
    pub place: Option<String>,
    /// In words.
    pub message: String,
}

impl Row {
    fn of(violation: &Violation, fleet: &Fleet, seen: &mut Vec<usize>, profile: Profile) -> Self {
        let landscape = &fleet.landscape;
        // Instances of the same component and version are told one by one, each with its own name.
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

    /// As scripts read it.
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

/// The violations of a landscape, in the order of the rules.
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

/// Who may run beside gardener-apiservers of some versions.
///
/// # Errors
/// These may not run beside each other: the rule that they violate.
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
