// SPDX-License-Identifier: Apache-2.0
//! PLAN.yaml: a landscape at the start and a sequence of steps. `upgrade plan -o yaml` prints this format.

use domain::skew::{Component, GardenerVersion, Instance};
use domain::upgrade::Replacement;

use super::file::{self, component};
use super::texts::{Document, Node};
use super::{Fleet, Place, name_of, shown};
use crate::Error;
use crate::manifests::Origin;
use crate::spelling::nearest;

/// Keys of a plan. `start` and `steps` are read; the others are output of `upgrade plan`.
pub(super) const KEYS: [&str; 8] =
    ["start", "steps", "notes", "minors", "stepsBack", "absent", "pending", "notStarted"];
/// Keys of a step.
const STEP_KEYS: [&str; 5] = ["component", "instance", "from", "to", "waitFor"];

/// Sequence of steps from a landscape.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Landscape before the first step.
    pub start: Fleet,
    /// Steps in order.
    pub steps: Vec<Replacement>,
    /// The instances after all steps.
    pub end: Vec<Instance>,
}

impl Plan {
    /// Place of a step in the file, counted from 0.
    pub fn origin(&self, index: usize) -> Option<Origin> {
        self.start.resolve(&Place::In { text: 0, path: format!("steps[{index}]") })
    }
}

/// Reads a plan.
///
/// # Errors
/// It cannot be read, or a step names no existing instance; the error has file and line.
pub fn read(name: &str, text: &str) -> Result<Plan, Error> {
    let document = Document::read(name, text)?;
    let Some(entries) = document.root.entries() else {
        return Err(Error::input(document.error("", "expected `start` and `steps`").to_string(), ""));
    };
    if let Some((key, _)) = entries.iter().find(|(key, _)| !KEYS.contains(&key.as_str())) {
        let hint = match component(key) {
            Some(_) => "components stand below `start`".to_owned(),
            None => nearest(key, KEYS.into_iter()),
        };
        return Err(Error::input(document.error(key, format!("a plan has no `{key}`")).to_string(), hint));
    }
    let mut start = Fleet::default();
    match document.root.get("start") {
        Some(node) => file::read_node(&document, node, "start", &mut start)?,
        None => {
            let what = document.error("", "`start`, the landscape to begin with, is missing");
            return Err(Error::input(what.to_string(), ""));
        }
    }
    let steps: &[Node] = match document.root.get("steps") {
        Some(Node::List(steps)) => steps,
        Some(Node::Empty) => &[],
        Some(_) => return Err(Error::input(document.error("steps", "`steps` is a list").to_string(), "")),
        None => return Err(Error::input(document.error("", "`steps` is missing").to_string(), "")),
    };
    let mut plan = Plan { end: start.landscape.instances.clone(), start, steps: Vec::new() };
    for (index, step) in steps.iter().enumerate() {
        let at = Step { document: &document, path: format!("steps[{index}]"), node: step };
        let (place, to) = at.read(&plan.end)?;
        let from = plan.end[place].clone();
        plan.end[place].version.clone_from(&to);
        plan.steps.push(Replacement { from, to });
    }
    plan.start.texts.push((name.to_owned(), text.to_owned()));
    Ok(plan)
}

/// A step as written in the file.
struct Step<'a> {
    document: &'a Document<'a>,
    path: String,
    node: &'a Node,
}

impl Step<'_> {
    fn error(&self, key: &str, what: impl Into<String>, hint: impl Into<String>) -> Error {
        let path = if key.is_empty() { self.path.clone() } else { format!("{}.{key}", self.path) };
        Error::input(self.document.error(&path, what).to_string(), hint)
    }

    fn text(&self, key: &str) -> Result<Option<&str>, Error> {
        match self.node.get(key) {
            None | Some(Node::Empty) => Ok(None),
            Some(Node::Text(text)) => Ok(Some(text)),
            Some(Node::List(_) | Node::Map(_)) => Err(self.error(key, format!("expected a text as `{key}`"), "")),
        }
    }

    /// Reads the index of the replaced instance and its new version.
    fn read(&self, instances: &[Instance]) -> Result<(usize, String), Error> {
        let Some(entries) = self.node.entries() else {
            return Err(self.error("", "expected a step with `component` and `to`", ""));
        };
        if let Some((key, _)) = entries.iter().find(|(key, _)| !STEP_KEYS.contains(&key.as_str())) {
            return Err(self.error(key, format!("a step has no `{key}`"), nearest(key, STEP_KEYS.into_iter())));
        }
        let name = self.text("component")?.ok_or_else(|| self.error("", "`component` is missing", ""))?;
        let Some(component) = component(name) else {
            let known = Component::ALL.map(Component::name).into_iter();
            return Err(self.error(
                "component",
                format!("`{name}` is not a component of Gardener"),
                nearest(name, known),
            ));
        };
        let to = self.text("to")?.ok_or_else(|| self.error("", "`to`, the version that comes, is missing", ""))?;
        let place = self.find(component, instances)?;
        if let Some(from) = self.text("from")? {
            let (written, is) = (GardenerVersion::parse(from), GardenerVersion::parse(&instances[place].version));
            if written.is_none() || written != is {
                let what = format!("{} is at {} then, not {from}", shown(&instances[place]), instances[place].version);
                return Err(self.error("from", what, "leave `from` out, or write the steps in their order"));
            }
        }
        Ok((place, to.to_owned()))
    }

    /// Index of the instance that the step names. Several gardenlets of a seed: the oldest.
    fn find(&self, component: Component, instances: &[Instance]) -> Result<usize, Error> {
        let mut own: Vec<usize> =
            (0..instances.len()).filter(|index| instances[*index].component == component).collect();
        let name = component.name();
        let Some(wanted) = self.text("instance")? else {
            let owners: Vec<&str> = own.iter().map(|index| instances[*index].owner.as_str()).collect();
            return match own[..] {
                [one] => Ok(one),
                [] => Err(self.error("component", format!("there is no {name} in `start`"), "")),
                _ => {
                    let hint = if owners.iter().any(|owner| !owner.is_empty()) {
                        format!("add `instance`: one of {}", crate::spelling::first_of(owners.into_iter(), 5))
                    } else {
                        format!("add `instance`: 0 to {}", own.len() - 1)
                    };
                    Err(self.error("", format!("there are {} of {name}: which one is meant?", own.len()), hint))
                }
            };
        };
        let is_meant = |index: &usize| {
            let owner = &instances[*index].owner;
            // A single instance has position 0, as well.
            let position = || own.iter().position(|other| other == index).map(|position| position.to_string());
            if owner.is_empty() { position().as_deref() == Some(wanted) } else { owner == wanted }
        };
        let meant: Vec<usize> = own.iter().copied().filter(|index| is_meant(index)).collect();
        let oldest = meant.into_iter().min_by_key(|index| GardenerVersion::parse(&instances[*index].version));
        oldest.ok_or_else(|| {
            own.dedup();
            let names: Vec<String> = own.iter().filter_map(|index| name_of(instances, *index)).collect();
            let hint = if names.is_empty() {
                String::new()
            } else {
                format!("there are {}", crate::spelling::first_of(names.iter().map(String::as_str), 5))
            };
            self.error("instance", format!("there is no {name} {wanted:?} in `start`"), hint)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let actual = match read("p.yaml", text) {
            Err(failure) => format!("error {failure}, hint {}", failure.hint()),
            Ok(plan) => {
                let line = |index| plan.origin(index).expect("it is written").line;
                let shown = |(index, step): (usize, &Replacement)| {
                    format!("{} {} {} {}", shown(&step.from), step.from.version, step.to, line(index))
                };
                let steps: Vec<String> = plan.steps.iter().enumerate().map(shown).collect();
                steps.join("; ")
            }
        };
        assert_eq!(actual, expected, "{text}");
    }

    const START: &str = "start:\n  gardener-apiserver: [1.37.0, 1.37.0]\n  gardener-scheduler: 1.37.0\n  gardenlet: {a: \
                         1.37.0, b: [1.37.0, 1.36.0]}\n  extensions: {local: 1.36.0}\n";

    #[test]
    fn steps_are_about_instances() {
        let plan = format!(
            "{START}steps:\n- {{component: gardener-apiserver, instance: 1, from: v1.37.0, to: 1.38.0}}\n- component: \
             gardener-scheduler\n  to: 1.120\n  waitFor: [x]\n- {{component: gardenlet, instance: b, to: 1.37.0}}\n- \
             {{component: extension, to: v1.37.0}}\n- {{component: gardener-scheduler, instance: 0, to: 1.121.0}}\n"
        );
        check(
            &plan,
            "gardener-apiserver 1.37.0 1.38.0 7; gardener-scheduler 1.37.0 1.120 8; gardenlet of seed b 1.36.0 1.37.0 11; \
             extension local 1.36.0 v1.37.0 12; gardener-scheduler 1.120 1.121.0 13",
        );
        check("start:\nsteps:\n", "");
        check("start:\nsteps:\nabsent: []\npending: []\nnotStarted: []\n", "");
    }

    #[test]
    fn errors_of_a_plan_name_the_line() {
        let step = |step: &str, expected: &str| check(&format!("{START}steps:\n- {step}\n"), expected);
        step(
            "{component: gardener-apiserver, to: 1.38.0}",
            "error p.yaml:7: there are 2 of gardener-apiserver: which one is meant?, hint add `instance`: 0 to 1",
        );
        step(
            "{component: gardenlet, instance: c, to: 1.38.0}",
            "error p.yaml:7: there is no gardenlet \"c\" in `start`, hint there are a, b, b",
        );
        step(
            "{component: gardener-operator, to: 1.38.0}",
            "error p.yaml:7: there is no gardener-operator in `start`, hint ",
        );
        step(
            "{component: gardenlets, to: 1.38.0}",
            "error p.yaml:7: `gardenlets` is not a component of Gardener, hint the nearest is `gardenlet`",
        );
        step("{component: gardener-scheduler}", "error p.yaml:7: `to`, the version that comes, is missing, hint ");
        step(
            "{component: gardener-scheduler, from: 1.36.0, to: 1.38.0}",
            "error p.yaml:7: gardener-scheduler is at 1.37.0 then, not 1.36.0, hint leave `from` out, or write the steps in \
             their order",
        );
        step(
            "{component: gardener-scheduler, too: 1.38.0}",
            "error p.yaml:7: a step has no `too`, hint the nearest is `to`",
        );
        step("1", "error p.yaml:7: expected a step with `component` and `to`, hint ");
        check("steps: []\n", "error p.yaml:1: `start`, the landscape to begin with, is missing, hint ");
        check("start: {}\n", "error p.yaml:1: `steps` is missing, hint ");
        check("start: {}\nsteps: 1\n", "error p.yaml:2: `steps` is a list, hint ");
        check(
            "gardenlet: {a: 1.37.0}\n",
            "error p.yaml:1: a plan has no `gardenlet`, hint components stand below `start`",
        );
    }
}
