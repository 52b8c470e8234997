// SPDX-License-Identifier: Apache-2.0
//! Lines as a list. Fields in them are links to their history in the log.

use maud::{Markup, html};
use ops::explain::lines::{About, Line, Words};

use crate::input::encoded;
use crate::view::View;

/// Returns lines about a Shoot, `NAMESPACE/NAME`: deeper ones are nested in the line above them.
pub fn list(view: &View, shoot: &str, lines: &[Line]) -> Markup {
    html! {
        ul.lines {
            @for group in groups(lines) {
                li {
                    @for words in &group[0].words { (linked(view, shoot, words)) }
                    @if group.len() > 1 { (list(view, shoot, &group[1..])) }
                }
            }
        }
    }
}

/// Splits lines into groups: each line with the deeper ones after it.
fn groups(lines: &[Line]) -> Vec<&[Line]> {
    let mut groups = Vec::new();
    let mut rest = lines;
    while let Some((first, behind)) = rest.split_first() {
        let deeper = behind.iter().take_while(|line| line.depth > first.depth).count();
        let (group, others) = rest.split_at(1 + deeper);
        groups.push(group);
        rest = others;
    }
    groups
}

fn linked(view: &View, shoot: &str, words: &Words) -> Markup {
    let to = |object: &str, more: &str| {
        let link = view.to("time");
        let sign = if link.contains('?') { '&' } else { '?' };
        format!("{link}{sign}object={}{more}", encoded(object))
    };
    let link = match &words.about {
        None => return html! { (words.text) },
        Some(About::Field(path)) => to(&format!("shoot/{shoot}"), &format!("&field={}", encoded(path))),
        Some(About::Object { kind, cluster, namespace, name }) => {
            let namespace = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
            let cluster = encoded(&cluster.to_string());
            to(&format!("{kind}/{namespace}{name}"), &format!("&cluster={cluster}"))
        }
    };
    html! { a href=(link) { (words.text) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_those_below_it() {
        let line = |depth: usize| (0..depth).fold(Line::of(depth.to_string()), |line, _| line.deeper());
        for (depths, expected) in [
            (&[][..], &[][..]),
            (&[0, 0], &[1, 1][..]),
            (&[0, 1, 2, 1, 0], &[4, 1]),
            (&[1, 0, 1], &[1, 2]),
            (&[1, 2, 1], &[2, 1]),
        ] {
            let lines: Vec<Line> = depths.iter().map(|depth| line(*depth)).collect();
            let found: Vec<usize> = groups(&lines).iter().map(|group| group.len()).collect();
            assert_eq!(found, expected, "{depths:?}");
        }
    }
}
