// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::skew::Instance;

const API: Component = Component::Apiserver;
const GCM: Component = Component::ControllerManager;
const SCH: Component = Component::Scheduler;
const ADM: Component = Component::AdmissionController;
const LET: Component = Component::Gardenlet;
const OP: Component = Component::Operator;
const EXT: Component = Component::Extension;

fn version(text: &str) -> GardenerVersion {
    GardenerVersion::parse(text).expect("a version of Gardener")
}

fn landscape(all: &[(Component, &str, &str)], garden: Option<&str>) -> Landscape {
    let instances = all.iter().map(|(component, owner, version)| Instance::owned(*component, owner, version)).collect();
    Landscape { instances, garden: garden.map(str::to_owned), ..Landscape::default() }
}

fn replacements(landscape: &Landscape, plan: &Plan) -> Vec<Replacement> {
    let mut instances = landscape.instances.clone();
    let replace = |step: &Step| {
        let from = instances[step.index].clone();
        step.to.to_string().clone_into(&mut instances[step.index].version);
        Replacement { from, to: step.to.to_string() }
    };
    plan.steps.iter().map(replace).collect()
}

/// Returns the steps of a plan in short, after asserting that they are legal.
#[track_caller]
fn steps(landscape: &Landscape, to: &str, profile: Profile) -> String {
    let plan = match plan(landscape, &version(to), profile) {
        Ok(plan) => plan,
        Err(error) => return error.to_string(),
    };
    assert_eq!(check(landscape, &replacements(landscape, &plan), profile), Ok(()), "the plan is legal");
    let short = |step: &Step| {
        let name = step.component.name().trim_start_matches("gardener-");
        let owner = if step.owner.is_empty() { String::new() } else { format!(" {}", step.owner) };
        format!("{name}{owner} {}", step.to)
    };
    let mut words: Vec<String> = plan.steps.iter().map(short).collect();
    if plan.steps_back > 0 {
        words.insert(plan.steps_back, "|".to_owned());
    }
    words.join(", ")
}

/// docs/deployment/version_skew_policy.md, from 1.37 to 1.38, with each of its components.
#[test]
fn the_documents_order_is_kept() {
    let start = landscape(
        &[
            (API, "", "1.37.2"),
            (API, "", "1.37.2"),
            (GCM, "", "1.37.2"),
            (SCH, "", "1.37.2"),
            (ADM, "", "1.37.2"),
            (LET, "a", "1.37.2"),
            (LET, "b", "1.36.9"),
            (OP, "", "1.37.2"),
            (EXT, "local", "1.36.0"),
        ],
        Some("1.37.2"),
    );
    assert_eq!(
        steps(&start, "1.38.0", Profile::Documents),
        "gardenlet b 1.37.2, operator 1.38.0, apiserver 1.38.0, apiserver 1.38.0, admission-controller 1.38.0, \
         controller-manager 1.38.0, scheduler 1.38.0, gardenlet a 1.38.0, gardenlet b 1.38.0, extension local 1.38.0"
    );
    assert_eq!(
        steps(&start, "1.38.0", Profile::Upstream),
        "operator 1.38.0, apiserver 1.38.0, apiserver 1.38.0, admission-controller 1.38.0, controller-manager 1.38.0, \
         scheduler 1.38.0, gardenlet b 1.38.0, gardenlet a 1.38.0, extension local 1.38.0",
        "gardenlet b may skip a minor there"
    );
    assert_eq!(steps(&start, "1.37.2", Profile::Documents), "gardenlet b 1.37.2, extension local 1.37.2");
}

#[test]
fn plans_over_several_minors_raise_gardenlets_seldom() {
    let start = landscape(&[(API, "", "1.37.0"), (GCM, "", "1.36.3"), (LET, "a", "1.37.0")], None);
    assert_eq!(
        steps(&start, "1.39.4", Profile::Documents),
        "controller-manager 1.37.0, apiserver 1.38.0, controller-manager 1.38.0, gardenlet a 1.38.0, apiserver 1.39.4, \
         controller-manager 1.39.4, gardenlet a 1.39.4"
    );
    assert_eq!(
        steps(&start, "1.39.4", Profile::Upstream),
        "controller-manager 1.37.0, apiserver 1.38.0, controller-manager 1.38.0, apiserver 1.39.4, \
         controller-manager 1.39.4, gardenlet a 1.39.4"
    );
}

/// Extensions are the last steps, the one with the oldest library first, and delay no other component.
#[test]
fn several_extensions_follow_the_last_gardenlet() {
    let start = landscape(
        &[
            (API, "", "1.37.0"),
            (LET, "a", "1.37.0"),
            (LET, "b", "1.37.0"),
            (EXT, "x", "1.35.2"),
            (EXT, "y", "1.37.0"),
            (EXT, "z", "1.36.0"),
        ],
        None,
    );
    let extensions = |to: &str| format!("extension x {to}, extension z {to}, extension y {to}");
    assert_eq!(
        steps(&start, "1.38.0", Profile::Documents),
        format!("apiserver 1.38.0, gardenlet a 1.38.0, gardenlet b 1.38.0, {}", extensions("1.38.0"))
    );
    assert_eq!(
        steps(&start, "1.39.1", Profile::Documents),
        format!(
            "apiserver 1.38.0, gardenlet a 1.38.0, gardenlet b 1.38.0, apiserver 1.39.1, gardenlet a 1.39.1, gardenlet b \
             1.39.1, {}",
            extensions("1.39.1")
        ),
        "an extension skips the minors between"
    );
}

/// Steps back to a legal landscape come before the bar.
#[test]
fn steps_to_a_legal_landscape_are_first() {
    for (start, expected) in [
        // A1: the oldest gardener-apiserver is raised.
        (
            landscape(&[(API, "", "1.36.0"), (API, "", "1.38.0"), (LET, "a", "1.36.0")], None),
            "apiserver 1.37.0, gardenlet a 1.37.0, |, apiserver 1.38.0, gardenlet a 1.38.0",
        ),
        // C1: a component that is too new waits for gardener-apiserver, which waits for gardenlet.
        (
            landscape(&[(API, "", "1.37.0"), (GCM, "", "1.38.0"), (LET, "a", "1.36.0")], None),
            "gardenlet a 1.37.0, apiserver 1.38.0, |, gardenlet a 1.38.0",
        ),
        // C2, G2: outdated components are raised minor by minor.
        (
            landscape(&[(API, "", "1.38.0"), (GCM, "", "1.36.0"), (LET, "a", "1.35.0")], None),
            "controller-manager 1.37.0, gardenlet a 1.36.0, gardenlet a 1.37.0, |, controller-manager 1.38.0, gardenlet \
             a 1.38.0",
        ),
        // E1: gardenlets are raised to the library of the extension.
        (landscape(&[(API, "", "1.38.0"), (LET, "a", "1.37.0"), (EXT, "e", "1.38.0")], None), "gardenlet a 1.38.0, |"),
        // O2: gardener-apiserver follows its operator.
        (
            landscape(&[(API, "", "1.36.0"), (OP, "", "1.38.0")], Some("1.38.0")),
            "apiserver 1.37.0, |, apiserver 1.38.0",
        ),
        // O1: the other operator is raised, to the Garden's version at once.
        (landscape(&[(OP, "", "1.35.0"), (OP, "", "1.38.0")], Some("1.38.0")), "operator 1.38.0, |"),
        (landscape(&[(OP, "", "1.36.0"), (OP, "", "1.38.0")], None), "operator 1.37.0, |, operator 1.38.0"),
    ] {
        assert_eq!(steps(&start, "1.38.0", Profile::Documents), expected, "{start:?}");
    }
}

/// An extension with a library above the target is not moved, and bounds no other component: the steps are those of the
/// landscape without it, and it is out of skew before and after them.
#[test]
fn an_extension_above_the_target_changes_no_step() {
    let raised = "apiserver 1.38.0, controller-manager 1.38.0, gardenlet a 1.38.0";
    let from_37 = [(API, "", "1.37.0"), (GCM, "", "1.37.0"), (LET, "a", "1.37.0")];
    let at_38 = [(API, "", "1.38.0"), (GCM, "", "1.38.0"), (LET, "a", "1.38.0")];
    let behind = [(API, "", "1.38.0"), (GCM, "", "1.36.0"), (LET, "a", "1.37.0")];
    for (others, library, expected) in [
        (&from_37[..], "1.39.0", raised),
        (&from_37[..], "2.1.0", raised),
        (&from_37[..], "1.38.4", "apiserver 1.38.0, gardenlet a 1.38.0, |, controller-manager 1.38.0"),
        (&at_38[..], "1.39.0", ""),
        (&at_38[..], "2.1.0", ""),
        (&at_38[..], "1.38.4", ""),
        (&at_38[2..], "1.39.0", ""),
        (&from_37[2..], "1.40.2", "gardenlet a 1.38.0"),
        (&behind[..], "1.39.0", "controller-manager 1.37.0, |, controller-manager 1.38.0, gardenlet a 1.38.0"),
    ] {
        let mut all = others.to_vec();
        all.push((EXT, "e", library));
        let start = landscape(&all, None);
        for profile in [Profile::Documents, Profile::Upstream] {
            assert_eq!(steps(&start, "1.38.0", profile), expected, "{start:?}");
        }
    }
}

/// Steps back over several minors end when the gardenlets have the library of the extension, if the target is above it.
#[test]
fn gardenlets_are_raised_to_an_extension_below_the_target_first() {
    let start =
        landscape(&[(API, "", "1.37.0"), (LET, "a", "1.36.0"), (EXT, "e", "1.38.2"), (EXT, "f", "1.41.0")], None);
    assert_eq!(
        steps(&start, "1.40.0", Profile::Documents),
        "gardenlet a 1.37.0, apiserver 1.38.0, gardenlet a 1.38.0, |, apiserver 1.39.0, gardenlet a 1.39.0, apiserver 1.40.0, \
         gardenlet a 1.40.0, extension e 1.40.0"
    );
}

#[test]
fn an_interrupted_upgrade_continues_from_mixed_versions() {
    let start = landscape(
        &[(OP, "", "1.38.0"), (API, "", "1.37.2"), (API, "", "1.38.0"), (GCM, "", "1.37.2"), (LET, "a", "1.37.0-dev")],
        Some("v1.37.2"),
    );
    assert_eq!(
        steps(&start, "1.39.0", Profile::Documents),
        "apiserver 1.38.0, controller-manager 1.38.0, gardenlet a 1.38.0, operator 1.39.0, apiserver 1.39.0, apiserver \
         1.39.0, controller-manager 1.39.0, gardenlet a 1.39.0",
        "the operator that runs has written its version into the Garden by then"
    );
    assert_eq!(steps(&landscape(&[], None), "1.39.0", Profile::Documents), "");
}

#[test]
fn versions_in_between_are_those_that_are_seen() {
    let start = landscape(&[(API, "", "1.37.1"), (API, "", "1.38.2"), (SCH, "", "1.37.1"), (LET, "a", "1.37.4")], None);
    assert_eq!(
        steps(&start, "1.38.5", Profile::Documents),
        "apiserver 1.38.5, apiserver 1.38.5, scheduler 1.38.5, gardenlet a 1.38.5"
    );
    assert_eq!(
        steps(&start, "1.39.0", Profile::Documents),
        "apiserver 1.38.2, scheduler 1.38.2, gardenlet a 1.38.2, apiserver 1.39.0, apiserver 1.39.0, scheduler 1.39.0, \
         gardenlet a 1.39.0"
    );
}

#[test]
fn impossible_plans_return_their_reason() {
    let one = |component, version| landscape(&[(component, "x", version)], None);
    for (start, to, expected) in [
        (
            one(LET, "1.39.0"),
            "1.38.0",
            "gardenlet of seed x is at 1.39.0 already, above 1.38.0, and downgrades are not supported (T1)",
        ),
        (
            one(GCM, "0.39.0"),
            "1.38.0",
            "gardener-controller-manager is at 0.39.0: no rule allows a step from there to another major version, such as 1.38.0",
        ),
        (
            one(API, "latest"),
            "1.38.0",
            "failed parsing version of gardener-apiserver \"latest\": Invalid Semantic Version",
        ),
        (
            one(API, "1.37.0"),
            "1.18446744073709551615",
            "1.18446744073709551615 is 18446744073709551578 minors ahead: plans end at 1000",
        ),
        (
            landscape(&[(API, "", "1.38.0"), (OP, "", "1.37.0")], Some("1.40.0")),
            "1.40.0",
            "no legal order leads on: gardener-operator cannot go from 1.37.0 to 1.40.0: O2: gardener-operator and \
             gardener-apiserver instances must be within one minor version (oldest: 1.38.0, newest: 1.40.0)",
        ),
        (
            landscape(&[(OP, "", "1.37.0")], Some("1.38.1")),
            "1.38.0",
            "the Garden is at 1.38.1 already, above 1.38.0, and downgrades are not supported (T1)",
        ),
        // An extension bounds no other component.
        (
            landscape(&[(EXT, "a", "0.9.0"), (EXT, "b", "1.39.0"), (EXT, "c", "1.30.0")], None),
            "1.38.0",
            "extension c 1.38.0",
        ),
    ] {
        assert_eq!(steps(&start, to, Profile::Documents), expected);
    }
}

#[test]
fn steps_name_their_conditions() {
    let start = landscape(
        &[
            (OP, "", "1.37.0"),
            (API, "", "1.37.0"),
            (API, "", "1.37.0"),
            (SCH, "", "1.37.0"),
            (LET, "a", "1.37.0"),
            (EXT, "e", "1.37.0"),
        ],
        Some("1.37.0"),
    );
    let plan = plan(&start, &version("1.38.0"), Profile::Documents).expect("a plan");
    let waits: Vec<Vec<String>> = plan
        .steps
        .iter()
        .map(|step| step.waits_for.iter().map(|wait| condition(&wait.shown(None)).to_owned()).collect())
        .collect();
    assert_eq!(
        waits,
        [
            vec![
                "every gardener-apiserver is at 1.37 or newer (O2)",
                "gardener-scheduler is at 1.37 or newer (C2)",
                "every gardenlet is at 1.37 or newer (G2)",
                "gardener-operator 1.37.0 has reconciled the Garden (O3b)",
                "recommended: the Garden is ready (status.gardener.version is 1.37.0",
                "recommended: all conditions of Extensions are True",
                "recommended: every Seed is ready",
                "recommended: gardenlets have reconciled every Shoot since the last minor (W1)",
            ],
            vec![
                "every gardener-apiserver is at 1.37 or 1.38 (A1)",
                "gardener-scheduler is at 1.37 or newer (C2)",
                "every gardenlet is at 1.37 or newer (G2)",
                "gardener-operator, which rolls it out, is at 1.38",
            ],
            vec![
                "every gardener-apiserver is at 1.37 or 1.38 (A1)",
                "gardener-scheduler is at 1.37 or newer (C2)",
                "every gardenlet is at 1.37 or newer (G2)",
                "gardener-operator, which rolls it out, is at 1.38",
                "the instance before it is ready",
            ],
            vec!["every gardener-apiserver is at 1.38 or newer (C1)"],
            vec![
                "every gardener-apiserver is at 1.38 or newer (G1)",
                "recommended: the Garden is ready (status.gardener.version is 1.38.0",
                "recommended: all conditions of Extensions are True",
            ],
            vec!["every gardenlet is at 1.38 or newer (E1)"],
        ]
    );
}

/// Returns the condition of a text `CONDITION: COMMAND`, without the description of a ready object that Gardens and Seeds have
/// in common.
fn condition(text: &str) -> &str {
    let condition = text.split(": `").next().unwrap_or_default();
    condition.split("no annotation").next().unwrap_or_default().trim_end_matches([' ', '(', ','])
}

/// Deployments and the Garden are in the runtime cluster, Seeds and Shoots in the garden cluster.
#[test]
fn commands_name_the_context_of_a_running_landscape() {
    let start = landscape(
        &[(OP, "", "1.37.0"), (API, "", "1.37.0"), (API, "", "1.37.0"), (LET, "a", "1.37.0")],
        Some("1.37.0"),
    );
    let plan = plan(&start, &version("1.38.0"), Profile::Documents).expect("a plan");
    let commands = |name: Option<&str>| -> Vec<String> {
        let waits = plan.steps.iter().flat_map(|step| &step.waits_for);
        let mut texts: Vec<String> = waits.map(|wait| wait.shown(name).split('`').nth(1).unwrap().to_owned()).collect();
        texts.sort();
        texts.dedup();
        texts
    };
    assert_eq!(
        commands(Some("l8")),
        [
            "kubectl --context terrarium-l8 get seeds",
            "kubectl --context terrarium-l8 get seeds -o yaml",
            "kubectl --context terrarium-l8 get shoots -A -o wide",
            "kubectl --context terrarium-l8-runtime -n garden get deployments -o wide",
            "kubectl --context terrarium-l8-runtime -n garden rollout status deployment gardener-apiserver",
            "kubectl --context terrarium-l8-runtime get garden",
            "kubectl --context terrarium-l8-runtime get garden -o yaml",
        ]
    );
    assert_eq!(
        commands(None),
        [
            "kubectl -n garden get deployments -o wide",
            "kubectl -n garden rollout status deployment gardener-apiserver",
            "kubectl get garden",
            "kubectl get garden -o yaml",
            "kubectl get seeds",
            "kubectl get seeds -o yaml",
            "kubectl get shoots -A -o wide",
        ]
    );
}

#[test]
fn the_first_illegal_step_is_found() {
    let start =
        landscape(&[(API, "", "1.37.0"), (API, "", "1.37.0"), (GCM, "", "1.37.0"), (OP, "", "1.37.0")], Some("1.37.0"));
    let step =
        |component, from: &str, to: &str| Replacement { from: Instance::new(component, from), to: to.to_owned() };
    let first = |steps: &[Replacement]| {
        check(&start, steps, Profile::Documents).err().map(|illegal| {
            let violation = &illegal.refusal.violations[0];
            let text = violation_text(&illegal.before, violation, Profile::Documents);
            (illegal.index, format!("{} {text}", violation.rule))
        })
    };
    assert_eq!(first(&[]), None);
    assert_eq!(
        first(&[step(OP, "1.37.0", "1.38.0"), step(API, "1.37.0", "1.38.0"), step(API, "1.37.0", "1.38.0")]),
        None
    );
    assert_eq!(
        first(&[step(API, "1.37.0", "1.38.0"), step(GCM, "1.37.0", "1.38.0")]),
        Some((
            1,
            "C1 gardener-controller-manager version must not be newer than gardener-apiserver version \
             (gardener-apiserver version: 1.37.0, gardener-controller-manager version: 1.38.0)"
                .to_owned()
        ))
    );
    // Each version of a component once: the other gardener-apiserver, and the only gardener-controller-manager.
    let steps = [step(API, "1.37.0", "1.38.0"), step(GCM, "1.37.0", "1.38.0")];
    let before = check(&start, &steps, Profile::Documents).expect_err("it comes too early").before.instances;
    let mut shown: Vec<String> = before.iter().map(|it| format!("{} {}", it.component.name(), it.version)).collect();
    shown.sort();
    assert_eq!(
        shown,
        [
            "gardener-apiserver 1.37.0",
            "gardener-apiserver 1.38.0",
            "gardener-controller-manager 1.37.0",
            "gardener-operator 1.37.0"
        ]
    );
    let (index, text) = first(&[step(OP, "1.37.0", "1.38.0"), step(OP, "1.38.0", "1.37.0")]).expect("a downgrade");
    assert_eq!(index, 1);
    assert!(text.starts_with("O3a downgrading Gardener is not supported (old version was 1.38.0"), "{text}");
}

/// Rule P1: the operator rolls out gardener-apiserver immediately.
#[test]
fn operator_that_would_leave_a_component_behind_is_refused() {
    let all = [(API, "", "1.37.0"), (GCM, "", "1.37.0"), (LET, "a", "1.36.2"), (OP, "", "1.37.0")];
    let start = landscape(&all, Some("1.37.0"));
    let operator = Replacement { from: Instance::new(OP, "1.37.0"), to: "1.38.0".to_owned() };
    let gardenlet = Replacement { from: Instance::owned(LET, "a", "1.36.2"), to: "1.37.0".to_owned() };
    let illegal =
        check(&start, std::slice::from_ref(&operator), Profile::Documents).expect_err("the gardenlet is left behind");
    let violation = &illegal.refusal.violations[0];
    assert_eq!((illegal.index, violation.rule), (0, Rule::P1));
    assert_eq!(
        violation_text(&illegal.before, violation, Profile::Documents),
        "cannot roll out gardener-apiserver 1.38.0: gardenlet 1.36.2 would be too old"
    );
    assert_eq!(check(&start, &[gardenlet, operator.clone()], Profile::Documents), Ok(()));
    assert_eq!(check(&start, &[operator], Profile::Upstream), Ok(()), "profile upstream has no rule P1");

    // A component that is already left behind is not affected.
    let all = [(API, "", "1.37.0"), (API, "", "1.35.0"), (LET, "a", "1.35.0"), (OP, "", "1.34.0")];
    let operator = Replacement { from: Instance::new(OP, "1.34.0"), to: "1.35.0".to_owned() };
    assert_eq!(check(&landscape(&all, None), &[operator], Profile::Documents), Ok(()));
}

/// 30,000 steps: the move of all gardenlets of a version is planned once.
#[test]
fn a_thousand_seeds_and_thirty_minors_are_planned() {
    let mut all = vec![(OP, String::new()), (API, String::new()), (API, String::new()), (GCM, String::new())];
    all.extend((0..1000).map(|seed| (LET, format!("seed-{seed}"))));
    let instances = all.iter().map(|(component, owner)| Instance::owned(*component, owner, "1.119.3")).collect();
    let start = Landscape { instances, garden: Some("v1.119.3".to_owned()), ..Landscape::default() };
    let plan = plan(&start, &version("1.149.0"), Profile::Documents).expect("a plan");
    assert_eq!(plan.steps.len(), 30 * all.len());
    assert_eq!(check(&start, &replacements(&start, &plan), Profile::Documents), Ok(()));
}
