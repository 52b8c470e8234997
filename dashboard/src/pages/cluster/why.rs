// SPDX-License-Identifier: Apache-2.0
//! What a cluster waits for: the lines of `terrarium why`, each with links to the history of the object and of the field that
//! it was read from.

use api::core::Shoot;
use maud::{Markup, html};

use crate::input::encoded;
use crate::parts::message::{Message, Severity};
use crate::view::View;

/// Where fields of a Shoot begin.
const ROOTS: [&str; 3] = ["spec.", "status.", "metadata."];

/// The lines, now or at a moment of the past.
pub(super) async fn draw(view: &View, shoot: &Shoot, shown: &str) -> Markup {
    let seed = view.dashboard.options().seed;
    match ops::why::lines(&view.reading_context(), shown, shoot, view.now(), seed, None).await {
        Ok(lines) => html! { ul.lines { @for line in lines.iter().skip(1) {
            li.deeper[line.starts_with("  ")] { (linked(view, shoot, shown, line.trim())) }
        } } },
        Err(error) => Message::new(Severity::Error, error.to_string()).markup(),
    }
}

/// What a line is about.
#[derive(Clone, Debug, PartialEq, Eq)]
enum About<'a> {
    /// Kind and name of an object, and the length of both in the line.
    Object(&'a str, &'a str, usize),
    /// A field of the Shoot, and where its name begins and ends in the line.
    Field(String, usize, usize),
    Nothing,
}

fn about(line: &str) -> About<'_> {
    for kind in ["MachineDeployment", "Machine", "Node"] {
        let name =
            line.strip_prefix(kind).and_then(|rest| rest.strip_prefix(' ')).and_then(|rest| rest.split(':').next());
        if let Some(name) = name.filter(|name| !name.contains(' ')) {
            return About::Object(kind, name, kind.len() + 1 + name.len());
        }
    }
    if let Some(key) = line.strip_prefix("annotation ").and_then(|rest| rest.split(['=', ':', ' ']).next()) {
        return About::Field(format!("metadata.annotations.{key}"), 11, 11 + key.len());
    }
    let is_begin = |at: usize| at == 0 || !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '.');
    let found = ROOTS.iter().flat_map(|root| line.match_indices(root)).filter(|(at, _)| is_begin(*at));
    if let Some(begin) = found.map(|(at, _)| at).min() {
        let is_of_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '[' | ']');
        let end = line[begin..].find(|c| !is_of_path(c)).map_or(line.len(), |end| begin + end);
        let path = line[begin..end].trim_end_matches('.');
        return About::Field(path.to_owned(), begin, begin + path.len());
    }
    for (word, path) in [("kubernetes ", "spec.kubernetes.version"), ("machineImage ", "spec.provider.workers")] {
        if line.starts_with(word) {
            return About::Field(path.to_owned(), 0, word.trim_end().len());
        }
    }
    About::Nothing
}

fn linked(view: &View, shoot: &Shoot, shown: &str, line: &str) -> Markup {
    let (namespace, name) = (&shoot.metadata.namespace, &shoot.metadata.name);
    let to = |object: &str, more: &str| {
        let link = view.to("time");
        let sign = if link.contains('?') { '&' } else { '?' };
        format!("{link}{sign}object={}{more}", encoded(object))
    };
    match about(line) {
        About::Object(kind, object, length) => {
            let control_plane = &shoot.status.technical_id;
            let (object, cluster) = match (kind, shoot.status.seed_name.as_ref()) {
                ("Node", _) => (format!("node/{object}"), format!("shoot/{shown}")),
                (_, Some(seed)) => {
                    (format!("{}/{control_plane}/{object}", kind.to_lowercase()), format!("seed/{seed}"))
                }
                (_, None) => return html! { (line) },
            };
            let link = to(&object, &format!("&cluster={}", encoded(&cluster)));
            html! { a href=(link) { (line[..length]) } (line[length..]) }
        }
        About::Field(path, begin, end) => {
            let link = to(&format!("shoot/{namespace}/{name}"), &format!("&field={}", encoded(&path)));
            html! { (line[..begin]) a href=(link) { (line[begin..end]) } (line[end..]) }
        }
        About::Nothing => html! { (line) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_about_objects_and_fields() {
        let field = |line: &'static str, path: &str, text: &str| match about(line) {
            About::Field(found, begin, end) => {
                assert_eq!((found.as_str(), &line[begin..end]), (path, text), "{line}");
            }
            other => panic!("{line}: {other:?}"),
        };
        field("status.lastOperation: Create Succeeded (100%): done", "status.lastOperation", "status.lastOperation");
        field("status.conditions EveryNodeReady: False", "status.conditions", "status.conditions");
        field(
            "Next maintenance at T, in the window from A to B (spec.maintenance.timeWindow)",
            "spec.maintenance.timeWindow",
            "spec.maintenance.timeWindow",
        );
        field(
            "annotation gardener.cloud/operation=retry: waits for gardenlet",
            "metadata.annotations.gardener.cloud/operation",
            "gardener.cloud/operation",
        );
        field(
            "spec.provider.workers[0].machine.image.version: 1 to 2",
            "spec.provider.workers[0].machine.image.version",
            "spec.provider.workers[0].machine.image.version",
        );
        field("kubernetes 1.26.4 to 1.27.1: forced", "spec.kubernetes.version", "kubernetes");
        assert_eq!(
            about("Machine shoot--a--b-x-z1-0: phase Pending"),
            About::Object("Machine", "shoot--a--b-x-z1-0", 26)
        );
        assert_eq!(
            about("MachineDeployment shoot--a--b-x-z1: 3 wanted"),
            About::Object("MachineDeployment", "shoot--a--b-x-z1", 34)
        );
        for line in ["it changes nothing", "", "é", "Machines are there"] {
            assert_eq!(about(line), About::Nothing, "{line}");
        }
    }
}
