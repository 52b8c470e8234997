// SPDX-License-Identifier: Apache-2.0
//! Names of Shoots on the command line: `shoot/PROJECT/NAME`. Other accepted forms: the Project's namespace in place of its
//! name, the kind in upper or lower case, and no `shoot/`.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use api::cluster;
use api::constants::api_version;
use api::core::{Project, Shoot};
use controller::{Api, ListOptions};
use process::{Context, Transport};

use super::clusters::{NamedCluster, is_name};
use crate::Error;
use crate::spelling::nearest;

/// A Shoot of a Project. `shoot/` is optional where only Shoots are accepted. Names are compared regardless of the form in
/// which they were given.
#[derive(Clone, Debug)]
pub struct ShootName {
    /// Name of its Project.
    pub project: String,
    /// Name of the Shoot.
    pub name: String,
    /// Text that was given, in another form than `shoot/PROJECT/NAME`.
    given: Option<String>,
}

impl PartialEq for ShootName {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ShootName {}

impl PartialOrd for ShootName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ShootName {
    fn cmp(&self, other: &Self) -> Ordering {
        (&self.project, &self.name).cmp(&(&other.project, &other.name))
    }
}

impl FromStr for ShootName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split('/').collect();
        let is_kind = |part: &str| ["shoot", "shoots"].iter().any(|kind| part.eq_ignore_ascii_case(kind));
        let (project, name) = match parts[..] {
            [kind, project, name] if is_kind(kind) && is_name(project) && is_name(name) => (project, name),
            [project, name] if !is_kind(project) && is_name(project) && is_name(name) => (project, name),
            _ => return Err(format!("`{text}` is not shoot/PROJECT/NAME")),
        };
        let usual = Self::of(project, name);
        let given = (text != usual.address()).then(|| text.to_owned());
        Ok(Self { given, ..usual })
    }
}

impl fmt::Display for ShootName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.project, self.name)
    }
}

impl ShootName {
    fn of(project: &str, name: &str) -> Self {
        Self { project: project.to_owned(), name: name.to_owned(), given: None }
    }

    /// Returns the usual form, with the kind.
    fn address(&self) -> String {
        format!("shoot/{self}")
    }

    /// Returns a note with the `usual` name of the Shoot; `None`: it was given in that form.
    pub fn note(&self, usual: &Self) -> Option<String> {
        let (given, usual) = (self.given.clone().unwrap_or_else(|| self.address()), usual.address());
        (given != usual).then(|| format!("note: {given} is {usual}"))
    }

    /// Like [`ShootName::note`] for a flag `--shoot`, which names the kind: `PROJECT/NAME` is usual, too.
    pub fn note_of_flag(&self, usual: &Self) -> Option<String> {
        self.note(usual).filter(|_| self.given.as_deref() != Some(usual.to_string().as_str()))
    }

    /// Returns the cluster of the Shoot.
    pub fn cluster(&self) -> NamedCluster {
        NamedCluster::Shoot(self.clone())
    }

    /// Returns the usual form of a name that may have a Project's namespace in place of its name.
    ///
    /// # Errors
    /// The Projects cannot be read.
    pub async fn usual(&self, transport: &Transport) -> Result<Self, Error> {
        let projects = projects(transport).await?;
        Ok(self.usual_among(&projects).unwrap_or_else(|| self.clone()))
    }

    /// Returns the usual form of the name by the known Projects and their namespaces; `None` if it is of none of them. The
    /// name of a Project has priority over the namespace of another.
    pub fn usual_among(&self, projects: &[(String, String)]) -> Option<Self> {
        let of_name = projects.iter().find(|(project, _)| *project == self.project);
        let found = of_name.or_else(|| projects.iter().find(|(_, namespace)| *namespace == self.project));
        found.map(|(project, _)| Self::of(project, &self.name))
    }

    /// Returns `NAMESPACE/NAME` of the Shoot among the Shoots of an inventory, by the known Projects and their namespaces; for
    /// an unknown Project by the default namespace, `garden-PROJECT`.
    pub fn object_in(&self, shoots: &[Shoot], projects: &[(String, String)]) -> String {
        let Self { project, name, .. } = self;
        let known = projects.iter().filter(|(known, _)| known == project).map(|(_, namespace)| namespace.clone());
        let usual = format!("garden-{project}");
        let names = known.chain([project.clone(), usual]).map(|namespace| format!("{namespace}/{name}"));
        let is_there = |object: &String| shoots.iter().any(|shoot| name_of(shoot) == *object);
        names.into_iter().find(is_there).unwrap_or_else(|| format!("{project}/{name}"))
    }

    /// Returns the namespace of its Project.
    ///
    /// # Errors
    /// There is no such Project, or it has no namespace yet.
    pub async fn namespace(&self, context: &Context) -> Result<String, Error> {
        let project = &self.project;
        let api = Api::<Project>::all(context, cluster::GARDEN);
        if let Some(found) = api.get_opt(project).await.map_err(failed)? {
            return found
                .spec
                .namespace
                .ok_or_else(|| Error::Failed(format!("Project {project} has no namespace yet")));
        }
        let (projects, _) = api.list(&ListOptions::default()).await.map_err(failed)?;
        let hint = nearest(project, projects.iter().map(|project| project.metadata.name.as_str()));
        Err(Error::input(format!("there is no Project {project}"), or(hint, "there are no Projects")))
    }

    /// Reads the Shoot in its current state.
    ///
    /// # Errors
    /// There is no such Project, or no such Shoot in it.
    pub async fn find(&self, context: &Context) -> Result<Shoot, Error> {
        let Self { project, name, .. } = self;
        let namespace = self.namespace(context).await?;
        let api = Api::<Shoot>::namespaced(context, cluster::GARDEN, &namespace);
        if let Some(found) = api.get_opt(name).await.map_err(failed)? {
            return Ok(found);
        }
        let (shoots, _) = api.list(&ListOptions::default()).await.map_err(failed)?;
        let hint = nearest(name, shoots.iter().map(|shoot| shoot.metadata.name.as_str()));
        Err(Error::input(format!("there is no Shoot {name} in Project {project}"), or(hint, "it has no Shoots")))
    }
}

/// Returns the Projects of a landscape and their namespaces.
///
/// # Errors
/// The Projects cannot be read.
pub async fn projects(transport: &Transport) -> Result<Vec<(String, String)>, Error> {
    let path = format!("/clusters/{}/apis/{}/projects", cluster::GARDEN, api_version::CORE);
    let list = crate::read::tree(transport, &path, "application/json").await?;
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let items = list["items"].as_array().into_iter().flatten();
    Ok(items.map(|item| (text(&item["metadata"]["name"]), text(&item["spec"]["namespace"]))).collect())
}

fn failed(error: controller::Error) -> Error {
    Error::Failed(format!("from server: {error}"))
}

fn or(hint: String, otherwise: &str) -> String {
    if hint.is_empty() { otherwise.to_owned() } else { hint }
}

/// Returns `NAMESPACE/NAME` of a Shoot.
pub fn name_of(shoot: &Shoot) -> String {
    format!("{}/{}", shoot.metadata.namespace, shoot.metadata.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shoot_has_a_project_and_a_name() {
        for text in ["shoot/demo/local", "demo/local", "Shoot/demo/local", "shoots/demo/local"] {
            let name: ShootName = text.parse().expect("a name");
            assert_eq!(
                (name.to_string().as_str(), name.cluster().to_string().as_str()),
                ("demo/local", "shoot/demo/local")
            );
        }
        for text in
            ["", "shoot", "shoot/", "local", "shoot/demo/", "/local", "shoot/demo/local/x", "a/b/c", "demo/..%2f"]
        {
            let refused = text.parse::<ShootName>().expect_err("it is none");
            assert_eq!(refused, format!("`{text}` is not shoot/PROJECT/NAME"));
        }
    }

    #[test]
    fn namespaces_lead_to_projects_and_names_have_priority() {
        let projects = [("demo", "garden-demo"), ("a", "garden-b"), ("garden-b", "c")];
        let projects = projects.map(|(project, namespace)| (project.to_owned(), namespace.to_owned()));
        for (given, usual) in [
            ("demo/shop", Some("demo/shop")),
            ("garden-demo/shop", Some("demo/shop")),
            ("Shoot/garden-demo/shop", Some("demo/shop")),
            ("c/shop", Some("garden-b/shop")),
            ("garden-b/shop", Some("garden-b/shop")),
            ("garden-a/shop", None),
        ] {
            let given: ShootName = given.parse().expect("a name");
            let found = given.usual_among(&projects).map(|usual| usual.to_string());
            assert_eq!(found.as_deref(), usual, "{given}");
        }
    }

    #[test]
    fn every_other_form_is_noted_with_the_usual_one() {
        let projects = [("demo".to_owned(), "garden-demo".to_owned())];
        for text in
            ["demo/shop", "garden-demo/shop", "Shoot/garden-demo/shop", "shoots/demo/shop", "shoot/garden-demo/shop"]
        {
            let given: ShootName = text.parse().expect("a name");
            let usual = given.usual_among(&projects).expect("of a Project");
            assert_eq!(given.note(&usual), Some(format!("note: {text} is shoot/demo/shop")));
            assert_eq!(usual.note(&usual), None);
        }
        let usual: ShootName = "shoot/demo/shop".parse().expect("a name");
        assert_eq!(usual.note(&usual), None);
        for (text, is_noted) in [("shoot/demo/shop", false), ("demo/shop", false), ("garden-demo/shop", true)] {
            let given: ShootName = text.parse().expect("a name");
            assert_eq!(given.note_of_flag(&usual).is_some(), is_noted, "{text}");
        }
        let other: ShootName = "demo/shop".parse().expect("a name");
        assert_eq!((usual == other, usual.cmp(&other)), (true, Ordering::Equal), "one Shoot");
        assert!("demo/zoo".parse::<ShootName>().expect("a name") > usual);
    }
}
