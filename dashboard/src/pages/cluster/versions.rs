// SPDX-License-Identifier: Apache-2.0
//! The versions of a cluster: control plane and pools, the future of each, and those that can be chosen.

use api::core::{CloudProfileSpec, Shoot, Worker};
use domain::cloud_profile::{kubernetes_version, machine_image_version};
use domain::versions::{Expirable, Moment, Version};
use maud::{Markup, html};
use ops::explain::outlook::{self, Course, Gravity};
use ops::names::ProfileKey;

use super::about;
use crate::message::{Message, Severity};
use crate::pages::maintenance;
use crate::parts::form::{self, Choice};
use crate::parts::{badge, table, time};
use crate::view::View;

pub(super) fn draw(view: &View, shoot: &Shoot, offered: &CloudProfileSpec) -> Markup {
    let at = view.moment();
    let version = &shoot.spec.kubernetes.version;
    let of_kubernetes = |version: &str| match kubernetes_version(offered, version) {
        Some(entry) => badge::of_version(entry, at),
        None => badge::not_offered(),
    };
    let control_plane =
        vec![html! { "control plane" }, html! { (version) " " (of_kubernetes(version)) }, html! { (table::NONE) }];
    let pools = shoot.spec.provider.workers.iter().map(|worker| {
        let own = worker.kubernetes.as_ref().and_then(|own| own.version.as_deref()).unwrap_or(version);
        let (image, image_version) = image_of(worker);
        let entry = machine_image_version(offered, image, image_version);
        vec![
            html! { "pool " (worker.name) },
            html! { (own) " " (of_kubernetes(own)) },
            html! { (image) " " (image_version) " " @match entry { Some(entry) => { (badge::of_version(entry, at)) } None => { (badge::not_offered()) } } },
        ]
    });
    let rows: Vec<Vec<Markup>> = std::iter::once(control_plane).chain(pools).collect();
    html! {
        (table::plain("Control plane and worker pools", &["Of", "Kubernetes", "Machine image"], &rows))
        @for message in outlooks(view, shoot, offered) { (message.markup()) }
        (kubernetes(view, shoot, offered))
        @if view.at.is_none() { (images(view, shoot, offered)) }
    }
}

/// Returns name and version of a pool's image.
fn image_of(worker: &Worker) -> (&str, &str) {
    let image = worker.machine.image.as_ref();
    let version = image.and_then(|image| image.version.as_deref()).unwrap_or_default();
    (image.map(|image| image.name.as_str()).unwrap_or_default(), version)
}

/// Returns the future of each version, the gravest first.
fn outlooks(view: &View, shoot: &Shoot, offered: &CloudProfileSpec) -> Vec<Message> {
    if shoot.metadata.deletion_timestamp.is_some() {
        return Vec::new();
    }
    let now = view.now();
    let changes = maintenance::changes(view, shoot, offered, now + super::AHEAD);
    let (run, _) = maintenance::next_run(view, shoot);
    let key = ProfileKey::of(shoot);
    let profile = if key.namespace.is_some() { "NamespacedCloudProfile" } else { "CloudProfile" };
    let profile = format!("{profile} {}", key.shown());
    let mut all = outlook::of(&Course { shoot, profile: &profile, offered, at: view.moment(), run, changes: &changes });
    all.sort_by_key(|outlook| std::cmp::Reverse(outlook.gravity));
    let severity = |gravity| match gravity {
        Gravity::Info => Severity::Info,
        Gravity::Warning => Severity::Warning,
        Gravity::Error => Severity::Error,
    };
    all.into_iter().map(|outlook| Message::new(severity(outlook.gravity), outlook.text)).collect()
}

/// Formats a choice: `1.27.1 (supported, expires 2023-09-30 00:00:00)`.
fn choice(value: String, entry: &impl Expirable, at: Moment) -> Choice {
    let expires = at.expiration(entry).map(|date| {
        let verb = if date < at.now { "expired" } else { "expires" };
        format!(", {verb} {}", time::text(date))
    });
    let expires = expires.unwrap_or_default();
    Choice { label: format!("{value} ({}{expires})", at.state(entry)), value }
}

fn kubernetes(view: &View, shoot: &Shoot, offered: &CloudProfileSpec) -> Markup {
    let at = view.moment();
    let own = Version::parse(&shoot.spec.kubernetes.version).ok();
    let is_target = |version: &Version| {
        own.as_ref().is_some_and(|own| version > own && version.major == own.major && version.minor <= own.minor + 1)
    };
    let parsed =
        offered.kubernetes.versions.iter().filter_map(|entry| Some((Version::parse(&entry.version).ok()?, entry)));
    let living = parsed.filter(|(_, entry)| at.state(*entry).is_active());
    let (mut targets, further): (Vec<_>, Vec<_>) = living
        .filter(|(version, _)| own.as_ref().is_some_and(|own| version > own))
        .partition(|(version, _)| is_target(version));
    targets.sort_by(|(one, _), (other, _)| other.cmp(one));
    let choices: Vec<Choice> = targets.iter().map(|(_, entry)| choice(entry.version.clone(), *entry, at)).collect();
    html! {
        @if choices.is_empty() { p { "There is no version of Kubernetes to update to." } }
        @else if view.at.is_none() {
            form method="post" action="/dashboard/do/cluster" {
                (about(view, shoot))
                div.fields { (form::select("version", "Update the control plane to", "", &[("", choices)], "Patches of the minor, and the next minor.", &[])) }
                div.actions {
                    button.main type="submit" name="step" value="look" { "Show what this does to nodes" }
                    button type="submit" name="step" value="version" { "Update" }
                }
            }
        }
        @if !further.is_empty() { p.hint { (ops::spelling::counted(further.len(), "higher version", "higher versions")) " can be reached minor by minor." } }
    }
}

/// Returns a form for the image of each pool: images that are offered and have not expired. The API decides whether the pool can
/// run one.
fn images(view: &View, shoot: &Shoot, offered: &CloudProfileSpec) -> Markup {
    let at = view.moment();
    let of_image = |image: &api::core::MachineImage| -> Vec<Choice> {
        let mut living: Vec<_> = image.versions.iter().filter(|entry| at.state(*entry).is_active()).collect();
        living.sort_by_key(|entry| std::cmp::Reverse(Version::parse(entry.version()).ok()));
        living.into_iter().map(|entry| choice(format!("{}/{}", image.name, entry.version()), entry, at)).collect()
    };
    let choices: Vec<Choice> = offered.machine_images.iter().flat_map(of_image).collect();
    html! {
        @if !choices.is_empty() && !shoot.spec.provider.workers.is_empty() {
            details { summary { "Change machine images" }
                @for (index, worker) in shoot.spec.provider.workers.iter().enumerate() {
                    @let (image, version) = image_of(worker);
                    form method="post" action="/dashboard/do/cluster" {
                        (about(view, shoot))
                        input type="hidden" name="pool" value=(worker.name);
                        div.fields { (select(index, &worker.name, &format!("{image}/{version}"), &choices)) }
                        div.actions {
                            button.main type="submit" name="step" value="look-image" { "Show what this does to nodes" }
                            button type="submit" name="step" value="image" { "Change" }
                        }
                    }
                }
            }
        }
    }
}

fn select(index: usize, pool: &str, chosen: &str, choices: &[Choice]) -> Markup {
    let id = format!("image-{index}");
    let is_known = choices.iter().any(|choice| choice.value == chosen);
    html! {
        div.field {
            label for=(id) { "Image of pool " (pool) }
            select id=(id) name="image" {
                @if !is_known { option value="" selected { "choose one" } }
                @for choice in choices { option value=(choice.value) selected[choice.value == chosen] { (choice.label) } }
            }
        }
    }
}
