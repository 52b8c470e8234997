// SPDX-License-Identifier: Apache-2.0
//! A new cluster: a form, and the manifest that is made from it, which can be edited and is applied unchanged.
//!
//! Only chosen values are sent. The API reports what is wrong; each cause is shown at the field that it names.
//!
//! **Tour.** [`manifest`] from fields to the manifest; [`send`] dry run and creation.

mod manifest;
mod send;

use api::cluster::GARDEN;
use api::core::{CloudProfileSpec, SecretBinding, Shoot, Worker};
use api::security::CredentialsBinding;
use apimachinery::field::Path;
use apimachinery::{Resource, Status};
use domain::admission::shoot::default_kubernetes_version;
use domain::capabilities::{machine_type_architecture, registered};
use domain::cloud_profile::{counts_by_name, machine_type, shown_default_image};
use domain::versions::{Moment, State, Version, shown_default};
use maud::{Markup, html};
use ops::inventory::Inventory;
use ops::names::ProfileKey;

use super::inventory::{Projects, profiles};
use crate::input::Fields;
use crate::message::{Message, Severity};
use crate::page::{Page, Section};
use crate::parts::form::{self, Choice};
use crate::parts::time;
use crate::refusal::Refusal;
use crate::view::View;

pub(crate) use self::send::act;

/// Maximum number of pools of the form.
const MOST_POOLS: usize = 10;

/// Draws the page: the form with the values of the query.
///
/// # Errors
/// The API's error.
pub async fn draw(view: &View) -> Result<Page, Refusal> {
    if view.at.is_some() {
        let body = html! { p { "Nothing can be created in the past." } };
        return Ok(Page::new(Section::Create, "Create a cluster").region("past", "", body));
    }
    page(view, &view.query, None, None, &[]).await
}

/// Draws the page with a form as it was sent, the API's answer, and the manifest as it was edited.
async fn page(
    view: &View,
    fields: &Fields,
    edited: Option<&str>,
    refused: Option<&Status>,
    messages: &[Message],
) -> Result<Page, Refusal> {
    let inventory = profiles(view).await?;
    let projects = Projects::read(view).await;
    let form = Form::read(view, &inventory, &projects, fields).await;
    let manifest = edited.map_or_else(|| manifest::of(&form), str::to_owned);
    let top = html! {
        @for message in messages { (message.markup()) }
        @if let Some(status) = refused { (Message::of_status("the API refused this", status).markup()) }
    };
    let manifest_form = html! {
        p { "This manifest is sent unchanged. A change of the fields above replaces it." }
        form method="post" action="/dashboard/do/create" {
            (form::hidden(view, "create"))
            label for="manifest" { "Manifest" }
            textarea #manifest name="manifest" rows="24" spellcheck="false" autocomplete="off" { (manifest) }
            div.actions {
                button type="submit" name="step" value="check-manifest" { "Check the manifest" }
                button.main type="submit" name="step" value="create-manifest" { "Create from the manifest" }
            }
        }
    };
    let mut page = Page::new(Section::Create, "Create a cluster");
    if let Some(code) = refused.and_then(|status| http::StatusCode::from_u16(status.code).ok()) {
        page.code = code;
    }
    Ok(page
        .region("answer", "", top)
        .region("form", "", form.markup(view, refused))
        .region("manifest-form", "Manifest", manifest_form)
        .command("terrarium kubectl create -f shoot.yaml"))
}

/// A worker pool of the form.
#[derive(Clone, Debug, Default)]
struct Pool {
    name: String,
    machine: String,
    image: String,
    zones: String,
    minimum: String,
    maximum: String,
    surge: String,
    unavailable: String,
    strategy: String,
}

/// The form: chosen values, and the choices.
struct Form<'a> {
    fields: &'a Fields,
    profile: Option<(ProfileKey, CloudProfileSpec)>,
    profiles: Vec<String>,
    projects: Vec<(String, String)>,
    namespace: String,
    version: String,
    bindings: Vec<String>,
    pools: Vec<Pool>,
    at: Moment,
}

impl<'a> Form<'a> {
    async fn read(view: &View, inventory: &Inventory, projects: &Projects, fields: &'a Fields) -> Self {
        let at = view.moment();
        let mut offers = inventory.offers();
        // Shoots of older releases cannot refer to NamespacedCloudProfiles.
        offers.retain(|key, _| key.namespace.is_none() || !counts_by_name(at.release));
        let wanted = fields.text("profile");
        let profile = offers.iter().find(|(key, _)| key.shown() == wanted).or_else(|| offers.iter().next());
        let profile = profile.map(|(key, spec)| (key.clone(), spec.clone()));
        let known: Vec<(String, String)> =
            projects.iter().map(|(namespace, name)| (namespace.to_owned(), name.to_owned())).collect();
        let named = known.iter().find(|(_, name)| name == fields.text("project"));
        let namespace = named.or_else(|| known.first()).map(|(namespace, _)| namespace.clone()).unwrap_or_default();
        let of = |namespace: &str| (!namespace.is_empty()).then(|| namespace.to_owned());
        let mut bindings = Vec::new();
        if let Some(namespace) = of(&namespace) {
            // A user who may not list them can still write their names into the manifest.
            let secrets = view.list::<SecretBinding>(GARDEN, Some(&namespace), "").await.unwrap_or_default();
            let credentials = view.list::<CredentialsBinding>(GARDEN, Some(&namespace), "").await.unwrap_or_default();
            bindings.extend(credentials.iter().map(|it| format!("CredentialsBinding/{}", it.metadata.name)));
            bindings.extend(secrets.iter().map(|it| format!("SecretBinding/{}", it.metadata.name)));
        }
        let version = match fields.get("version") {
            // Another profile, chosen after the version, may not have it.
            Some(version)
                if !version.is_empty() && profile.as_ref().is_some_and(|(_, spec)| offered(spec, version)) =>
            {
                version.to_owned()
            }
            Some(_) if fields.get("step").is_some() => String::new(),
            _ => profile
                .as_ref()
                .and_then(|(_, spec)| shown_default(&spec.kubernetes.versions, at))
                .map(|entry| entry.version.clone())
                .unwrap_or_default(),
        };
        let count = fields.text("pools").parse().unwrap_or(1_usize).clamp(1, MOST_POOLS);
        let profiles = offers.keys().map(ProfileKey::shown).collect();
        let mut form =
            Self { fields, profile, profiles, projects: known, namespace, version, bindings, pools: Vec::new(), at };
        form.pools = (0..count).map(|index| form.pool(index)).collect();
        form
    }

    fn spec(&self) -> Option<&CloudProfileSpec> {
        self.profile.as_ref().map(|(_, spec)| spec)
    }

    fn pool(&self, index: usize) -> Pool {
        let get = |name: &str, default: &str| {
            let id = format!("pool{index}-{name}");
            self.fields.get(&id).map_or(default, str::trim).to_owned()
        };
        let first =
            self.spec().and_then(|spec| spec.machine_types.first()).map(|it| it.name.clone()).unwrap_or_default();
        let mut pool = Pool {
            name: get("name", &format!("pool-{}", index + 1)),
            machine: get("machine", &first),
            image: String::new(),
            zones: get("zones", ""),
            minimum: get("minimum", "1"),
            maximum: get("maximum", "3"),
            surge: get("surge", ""),
            unavailable: get("unavailable", ""),
            strategy: get("strategy", ""),
        };
        let is_there = |image: &String| self.images().contains(image);
        let chosen = Some(get("image", "")).filter(is_there);
        pool.image = chosen.or_else(|| self.default_image(&pool)).unwrap_or_default();
        pool
    }

    /// Returns the images that can be chosen: `NAME/VERSION`, without expired ones.
    fn images(&self) -> Vec<String> {
        let images = self.spec().into_iter().flat_map(|spec| &spec.machine_images);
        images
            .flat_map(|image| {
                let living = image.versions.iter().filter(|entry| self.at.state(*entry).is_active());
                living.map(move |entry| format!("{}/{}", image.name, entry.version))
            })
            .collect()
    }

    /// Returns [`Form::images`], each with its state and date.
    fn image_choices(&self) -> Vec<Choice> {
        let images = self.spec().into_iter().flat_map(|spec| &spec.machine_images);
        let of_image = |image: &'_ api::core::MachineImage| -> Vec<Choice> {
            let living = image.versions.iter().filter(|entry| self.at.state(*entry).is_active());
            let choice = |entry: &api::core::MachineImageVersion| {
                let value = format!("{}/{}", image.name, entry.version);
                let expires = self.at.expiration(entry).map(|date| format!(", expires {}", time::text(date)));
                Choice { label: format!("{value} ({}{})", self.at.state(entry), expires.unwrap_or_default()), value }
            };
            living.map(choice).collect()
        };
        images.flat_map(of_image).collect()
    }

    fn default_image(&self, pool: &Pool) -> Option<String> {
        let spec = self.spec()?;
        let mut worker = Worker::default();
        worker.machine.r#type.clone_from(&pool.machine);
        let found = machine_type(spec, &pool.machine);
        let architecture = found.and_then(|one| machine_type_architecture(one, registered(spec)));
        worker.machine.architecture = architecture.map(str::to_owned);
        worker.update_strategy = Some(pool.strategy.clone()).filter(|strategy| !strategy.is_empty());
        let kubelet = Version::parse(&self.version).ok()?;
        let (image, entry) = shown_default_image(spec, &worker, &kubelet, self.at)?;
        Some(format!("{}/{}", image.name, entry.version))
    }

    /// Returns the versions of Kubernetes that the API accepts for a new Shoot, the highest first: recommended ones, and the
    /// others.
    fn versions(&self) -> [Vec<Choice>; 2] {
        let mut all: Vec<_> = self
            .spec()
            .into_iter()
            .flat_map(|spec| &spec.kubernetes.versions)
            .filter(|entry| self.at.is_active(*entry))
            .filter_map(|entry| Some((Version::parse(&entry.version).ok()?, entry)))
            .collect();
        all.sort_by(|(one, _), (other, _)| other.cmp(one));
        let choice = |entry: &api::core::ExpirableVersion| {
            let expires = self.at.expiration(entry).map(|date| format!(", expires {}", time::text(date)));
            let label = format!("{} ({}{})", entry.version, self.at.state(entry), expires.unwrap_or_default());
            Choice { value: entry.version.clone(), label }
        };
        let is_other = |entry: &api::core::ExpirableVersion| self.at.is_preview(entry) || self.at.is_deprecated(entry);
        let of = |others: bool| {
            all.iter().filter(move |(_, entry)| is_other(entry) == others).map(|(_, entry)| choice(entry))
        };
        [of(false).collect(), of(true).collect()]
    }

    /// Returns notes about the chosen version.
    fn notes(&self, view: &View) -> Vec<Message> {
        let Some(spec) = self.spec() else {
            return vec![Message::new(Severity::Warning, "there is no CloudProfile, so nothing can be chosen")];
        };
        let versions = &spec.kubernetes.versions;
        let mut notes = Vec::new();
        let shown = shown_default(versions, self.at);
        let filled = default_kubernetes_version(versions, "", self.at, &Path::new("spec")).ok().flatten();
        if shown.is_none() {
            let text = "no version is supported or unclassified and not expired, so none is selected: choose one";
            notes.push(Message::new(Severity::Warning, text));
        }
        if let Some(filled) = filled.filter(|filled| shown.is_none_or(|shown| shown.version != *filled)) {
            let text = format!(
                "an empty spec.kubernetes.version would give {filled}: the API's own default is the highest one that is no preview and not expired"
            );
            notes.push(Message::new(Severity::Info, text));
        }
        if let Some(entry) = versions.iter().find(|entry| entry.version == self.version) {
            let judged = self.at.state(entry);
            if matches!(judged, State::Preview | State::Deprecated) {
                notes.push(Message::new(Severity::Warning, format!("{} is {judged}", entry.version)));
            }
            if let Some(date) = self.at.expiration(entry) {
                notes.push(self.expires(view, &entry.version, date));
            }
        }
        notes
    }

    /// Returns the effect of a version's expiration date, for the chosen window.
    fn expires(&self, view: &View, version: &str, date: chrono::DateTime<chrono::Utc>) -> Message {
        let has_window = !self.fields.text("begin").is_empty() && !self.fields.text("end").is_empty();
        let shoot = Shoot::read(manifest::tree(self).to_string().as_bytes());
        if let (true, Ok(shoot), Some(offered)) = (has_window, shoot, self.spec()) {
            return send::expires(view, &shoot, offered, version, date);
        }
        let (days, on) = (time::days_until(date, self.at.now), time::text(date));
        let text = format!(
            "{version} expires in {days} days, on {on}; where it is forced to, and when, is said for a window: choose one, or let Check draw one"
        );
        Message::new(Severity::Info, text)
    }

    fn markup(&self, view: &View, refused: Option<&Status>) -> Markup {
        let at = |path: &str| causes(refused, path);
        let get = |name: &str| self.fields.text(name);
        let plain = |names: Vec<String>| vec![("", names.into_iter().map(Choice::plain).collect::<Vec<_>>())];
        let [usual, others] = self.versions();
        let regions: Vec<String> =
            self.spec().map(|spec| spec.regions.iter().map(|it| it.name.clone()).collect()).unwrap_or_default();
        let machines: Vec<String> =
            self.spec().map(|spec| spec.machine_types.iter().map(|it| it.name.clone()).collect()).unwrap_or_default();
        let region = Some(get("region").to_owned())
            .filter(|it| !it.is_empty())
            .or_else(|| regions.first().cloned())
            .unwrap_or_default();
        let project =
            self.projects.iter().find(|(namespace, _)| *namespace == self.namespace).map_or("", |(_, name)| name);
        let binding = Some(get("credentials").to_owned())
            .filter(|it| !it.is_empty())
            .or_else(|| self.bindings.first().cloned())
            .unwrap_or_default();
        let optional = |names: &[&str]| {
            let none = Choice { value: String::new(), label: "not set".to_owned() };
            vec![("", std::iter::once(none).chain(names.iter().map(|name| Choice::plain(*name))).collect::<Vec<_>>())]
        };
        html! {
            form method="post" action="/dashboard/do/create" {
                (form::hidden(view, "create"))
                input type="hidden" name="pools" value=(self.pools.len());
                fieldset {
                    legend { "Cluster" }
                    div.fields {
                        (form::select("project", "Project", project, &plain(self.projects.iter().map(|(_, name)| name.clone()).collect()), "", &at("metadata.namespace")))
                        (form::text("name", "Name", get("name"), "", &at("metadata.name")))
                        (form::select("profile", "CloudProfile", &self.profile.as_ref().map(|(key, _)| key.shown()).unwrap_or_default(), &plain(self.profiles.clone()), "", &[at("spec.cloudProfile"), at("spec.cloudProfileName")].concat()))
                        (form::select("region", "Region", &region, &plain(regions), "", &at("spec.region")))
                        (form::select("version", "Kubernetes version", &self.version, &[("", usual), ("Previews and deprecated versions", others)], "", &at("spec.kubernetes.version")))
                        (form::select("credentials", "Credentials", &binding, &plain(self.bindings.clone()), "", &[at("spec.secretBindingName"), at("spec.credentialsBindingName")].concat()))
                        (form::text("networking", "Networking", self.fields.get("networking").unwrap_or("calico"), "the network extension", &at("spec.networking.type")))
                        (form::text("nodes", "Network of nodes", self.fields.get("nodes").unwrap_or("10.10.0.0/16"), "", &at("spec.networking.nodes")))
                        (form::select("purpose", "Purpose", get("purpose"), &optional(&["evaluation", "testing", "development", "production"]), "", &at("spec.purpose")))
                    }
                    @for note in self.notes(view) { (note.markup()) }
                    button type="submit" name="step" value="refresh" { "Use this project, profile and version" }
                }
                @for (index, pool) in self.pools.iter().enumerate() {
                    @let id = |name: &str| format!("pool{index}-{name}");
                    @let at = |path: &str| causes(refused, &format!("spec.provider.workers[{index}].{path}"));
                    fieldset {
                        legend { "Worker pool " (index + 1) }
                        div.fields {
                            (form::text(&id("name"), "Name", &pool.name, "", &at("name")))
                            (form::select(&id("machine"), "Machine type", &pool.machine, &plain(machines.clone()), "", &at("machine.type")))
                            (form::select(&id("image"), "Machine image", &pool.image, &[("", self.image_choices())], "", &at("machine.image")))
                            (form::text(&id("zones"), "Zones", &pool.zones, "with commas between them", &at("zones")))
                            (form::text(&id("minimum"), "Minimum", &pool.minimum, "", &at("minimum")))
                            (form::text(&id("maximum"), "Maximum", &pool.maximum, "", &at("maximum")))
                            (form::text(&id("surge"), "Surge", &pool.surge, "a number or a percentage; empty: the API's default", &at("maxSurge")))
                            (form::text(&id("unavailable"), "Unavailable", &pool.unavailable, "a number or a percentage; empty: the API's default", &at("maxUnavailable")))
                            (form::select(&id("strategy"), "Update strategy", &pool.strategy, &optional(&["AutoRollingUpdate", "AutoInPlaceUpdate", "ManualInPlaceUpdate"]), "", &at("updateStrategy")))
                        }
                    }
                }
                @if self.pools.len() < MOST_POOLS { button type="submit" name="step" value="pool" { "Another pool" } }
                fieldset {
                    legend { "Maintenance and hibernation" }
                    div.fields {
                        (form::text("begin", "Window begins", get("begin"), "as 220000+0100; empty: random, full hour", &at("spec.maintenance.timeWindow")))
                        (form::text("end", "Window ends", get("end"), "as 230000+0100", &[]))
                        (form::tick("auto-kubernetes", "Update Kubernetes automatically", self.ticked("auto-kubernetes")))
                        (form::tick("auto-image", "Update machine images automatically", self.ticked("auto-image")))
                        (form::tick("confine", "Roll out changes of the specification in the window only", get("confine") == "true"))
                        (form::text("sleep", "Hibernate", get("sleep"), "a schedule as 00 20 * * 1,2,3,4,5", &at("spec.hibernation")))
                        (form::text("wake", "Wake up", get("wake"), "a schedule as 00 6 * * 1,2,3,4,5", &[]))
                    }
                }
                div.actions {
                    button type="submit" name="step" value="check" { "Check" }
                    button.main type="submit" name="step" value="create" { "Create" }
                }
            }
        }
    }

    /// True if a box is ticked, which is its default.
    fn ticked(&self, name: &str) -> bool {
        self.fields.get("step").is_none() || self.fields.text(name) == "true"
    }
}

fn offered(spec: &CloudProfileSpec, version: &str) -> bool {
    spec.kubernetes.versions.iter().any(|entry| entry.version == version)
}

/// Returns the API's messages about a field or a part of it.
fn causes(status: Option<&Status>, path: &str) -> Vec<String> {
    let Some(status) = status else { return Vec::new() };
    let is_in =
        |field: &str| field.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
    let causes: Vec<_> = status.details.iter().flat_map(|details| &details.causes).collect();
    if causes.is_empty() {
        // Admission plugins name the field in their message.
        let named = status.message.split_whitespace().any(|word| is_in(word.trim_matches(['[', ']', ',', ':'])));
        return if named { vec![status.message.clone()] } else { Vec::new() };
    }
    causes.iter().filter(|cause| is_in(&cause.field)).map(|cause| cause.message.clone()).collect()
}

#[cfg(test)]
mod tests {
    use apimachinery::status::{StatusCause, StatusDetails};

    use super::*;

    #[test]
    fn causes_stand_at_the_field_that_they_name() {
        let cause =
            |field: &str| StatusCause { field: field.to_owned(), message: field.to_owned(), ..StatusCause::default() };
        let causes_of = vec![cause("spec.kubernetes.version"), cause("spec.provider.workers[0].machine.image.version")];
        let details = StatusDetails { causes: causes_of, ..StatusDetails::default() };
        let status = Status { details: Some(details), ..Status::default() };
        assert_eq!(causes(Some(&status), "spec.kubernetes.version"), ["spec.kubernetes.version"]);
        assert_eq!(causes(Some(&status), "spec.provider.workers[0].machine.image").len(), 1);
        assert_eq!(causes(Some(&status), "spec.provider.workers[0].machine.type").len(), 0);
        assert_eq!(causes(Some(&status), "spec.kubernetes.ver").len(), 0, "part of a name is no field");
        let message = "shoots \"a\" is forbidden: spec.kubernetes.version: Unsupported value: \"1.26.4\"".to_owned();
        let status = Status { message: message.clone(), ..Status::default() };
        assert_eq!(causes(Some(&status), "spec.kubernetes.version"), [message]);
        assert_eq!(causes(Some(&status), "spec.region").len(), 0);
    }
}
