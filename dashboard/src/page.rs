// SPDX-License-Identifier: Apache-2.0
//! Pages as values, and results of forms.
//!
//! A page consists of regions. Each is a `section` with an id and the hash of its content, by which a live page detects the
//! regions that have changed ([`crate::stream`]).

use eventlog::Key;
use http::StatusCode;
use maud::{Markup, html};

use crate::assets::short_hash;
use crate::message::Message;

/// The pages of the navigation, in their order. A page whose part does not exist is not listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// All Shoots, and one.
    Clusters,
    /// A new Shoot.
    Create,
    /// Versions of CloudProfiles.
    Versions,
    /// Components of Gardener, and the rules about their versions.
    Landscape,
    /// The clock and the log.
    Time,
    /// Changes that maintenance will make.
    Forecast,
    /// Injected faults.
    Faults,
    /// A page outside the navigation.
    Other,
}

/// A part of a page that is updated separately.
#[derive(Clone, Debug)]
pub struct Region {
    /// Id, unique in the page.
    pub id: String,
    /// The heading; empty: none.
    pub title: String,
    /// Content.
    pub body: Markup,
}

impl Region {
    /// Creates a region.
    pub fn new(id: impl Into<String>, title: impl Into<String>, body: Markup) -> Self {
        Self { id: id.into(), title: title.into(), body }
    }

    /// Returns the content of its `section`.
    pub fn inner(&self) -> Markup {
        html! { @if !self.title.is_empty() { h2 id={(self.id) "-title"} { (self.title) } } (self.body) }
    }

    /// Returns a short hash of the content. Tokens of forms do not change while a session lasts.
    pub fn hash(&self) -> String {
        short_hash(self.inner().into_string().as_bytes())
    }

    /// Returns its `section`.
    pub(crate) fn markup(&self) -> Markup {
        html! {
            section id=(self.id) data-region=(self.hash()) aria-labelledby=[(!self.title.is_empty()).then(|| format!("{}-title", self.id))] {
                (self.inner())
            }
        }
    }
}

/// A page.
#[derive(Clone, Debug)]
pub struct Page {
    /// Status code of the answer.
    pub code: StatusCode,
    /// Title of the document, and text of its only `h1`.
    pub title: String,
    /// Place in the navigation.
    pub section: Section,
    /// Content, in order.
    pub regions: Vec<Region>,
    /// Command that prints the same.
    pub command: Option<String>,
    /// Resources whose changes in the log change the page, `core.gardener.cloud/shoots`; empty: the page is not live.
    pub follows: Vec<&'static str>,
    /// Object of the page, whose changes "previous change" and "next change" lead to; `None`: those of `follows`.
    pub about: Option<About>,
    /// True if a part of it cannot be shown, since an API server does not answer.
    pub lacks_answers: bool,
}

/// Object of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// A Shoot, a CloudProfile or a NamespacedCloudProfile.
    pub key: Key,
    /// Cluster and namespace of the Machines that belong to it.
    pub machines: Option<(String, String)>,
}

impl Page {
    /// Creates a page that is not live.
    pub fn new(section: Section, title: impl Into<String>) -> Self {
        Self {
            code: StatusCode::OK,
            title: title.into(),
            section,
            regions: Vec::new(),
            command: None,
            follows: Vec::new(),
            about: None,
            lacks_answers: false,
        }
    }

    /// Returns the content, without the frame.
    pub fn parts(&self) -> Markup {
        html! { @for region in &self.regions { (region.markup()) } }
    }

    /// Sets the page's object.
    #[must_use]
    pub fn about(mut self, key: Key, machines: Option<(String, String)>) -> Self {
        self.about = Some(About { key, machines });
        self
    }

    /// Appends a region.
    #[must_use]
    pub fn region(mut self, id: impl Into<String>, title: impl Into<String>, body: Markup) -> Self {
        self.regions.push(Region::new(id, title, body));
        self
    }

    /// Sets the command that prints the same.
    #[must_use]
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }

    /// Makes the page live: it is drawn again when an object of these resources changes.
    #[must_use]
    pub fn follows(mut self, resources: &[&'static str]) -> Self {
        self.follows = resources.to_vec();
        self
    }
}

/// Result of the action of a form.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// The page that has the form, with messages.
    Back(Vec<Message>),
    /// Redirection to another page, with messages.
    To(String, Vec<Message>),
    /// A page in answer to the form: the refusal, with the form as it was sent.
    Page(Box<Page>),
}
