// SPDX-License-Identifier: Apache-2.0
//! Changes the version of a component: the image of its Deployment. The landscape decides whether the version is allowed.

use api::kubernetes::apps::Deployment;
use domain::skew::GardenerVersion;
use http::Method;
use serde_json::json;

use crate::input::Fields;
use crate::message::{Message, Severity};
use crate::page::Outcome;
use crate::refusal::Refusal;
use crate::view::{View, object};

/// Sets the tag of the image of a Deployment's first container.
pub(super) async fn set_version(view: &View, form: &Fields) -> Result<Outcome, Refusal> {
    let (cluster, namespace, name) = (form.text("cluster"), form.text("namespace"), form.text("name"));
    let version = form.text("version");
    let what = format!("set {name} to {version}");
    let said = |message| Ok(Outcome::Back(vec![message]));
    let Some(deployment) = view.get::<Deployment>(cluster, namespace, name).await? else {
        return said(Message::new(Severity::Error, format!("{what}: there is no such Deployment")));
    };
    let Some(container) = deployment.spec.template.spec.containers.first() else {
        return said(Message::new(Severity::Error, format!("{what}: its Deployment has no container")));
    };
    let repository = container.image.rsplit_once(':').map_or(container.image.as_str(), |(repository, _)| repository);
    let containers = json!([{ "name": container.name, "image": format!("{repository}:{version}") }]);
    let patch = json!({ "spec": { "template": { "spec": { "containers": containers } } } }).to_string().into_bytes();
    let body = Some(("application/strategic-merge-patch+json", patch));
    said(match view.send(Method::PATCH, &object::<Deployment>(cluster, namespace, name), body).await {
        Ok(_) => Message::new(Severity::Done, format!("{what}: asked for; the table shows how far it is")),
        Err(error) => Message::of_error(&what, &error),
    })
}

/// Begins an upgrade, or pauses the running one.
pub(super) fn upgrade(view: &View, form: &Fields) -> Outcome {
    let said = |severity, text: String| Outcome::Back(vec![Message::new(severity, text)]);
    let Some(upgrades) = &view.dashboard.options().upgrades else {
        return said(Severity::Error, "nothing carries upgrades out here".to_owned());
    };
    if form.text("step") == "pause" {
        upgrades.pause();
        return said(Severity::Info, "the upgrade ends before the next component".to_owned());
    }
    let to = form.text("to");
    if GardenerVersion::parse(to).is_none() {
        return said(Severity::Error, format!("`{to}` is no version of Gardener as 1.120.0 or v1.120"));
    }
    if upgrades.progress().is_some_and(|progress| progress.is_running) {
        return said(Severity::Error, "an upgrade is going on already".to_owned());
    }
    upgrades.begin(view.session.user.clone(), to);
    said(Severity::Done, format!("the upgrade to {to} has begun"))
}
