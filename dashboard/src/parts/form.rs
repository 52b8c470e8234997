// SPDX-License-Identifier: Apache-2.0
//! Forms and their fields.
//!
//! Every form that changes something contains the token of its action, and the address of the page to return to.

use maud::{Markup, html};

use crate::view::View;

/// Returns the hidden fields of each form: its token, and the page to return to.
pub fn hidden(view: &View, action: &str) -> Markup {
    html! {
        input type="hidden" name="token" value=(view.session.token(action));
        input type="hidden" name="back" value=(view.here());
    }
}

/// Returns a form that is one button.
pub fn button(view: &View, action: &str, fields: &[(&str, &str)], label: &str, name: Option<&str>) -> Markup {
    html! {
        form.inline method="post" action={"/dashboard/do/" (action)} {
            (hidden(view, action))
            @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
            button type="submit" aria-label=[name] { (label) }
        }
    }
}

/// Returns the API's messages about a field.
pub fn causes(id: &str, causes: &[String]) -> Markup {
    html! { @if !causes.is_empty() { ul.causes id={(id) "-causes"} { @for cause in causes { li { (cause) } } } } }
}

/// Returns a labelled input; `found`: the API's messages about it.
pub fn text(id: &str, label: &str, value: &str, hint: &str, found: &[String]) -> Markup {
    html! {
        div.field {
            label for=(id) { (label) }
            input type="text" id=(id) name=(id) value=(value) autocomplete="off" spellcheck="false"
                aria-describedby=[described(id, hint, found)] aria-invalid=[(!found.is_empty()).then_some("true")];
            @if !hint.is_empty() { p.hint id={(id) "-hint"} { (hint) } }
            (causes(id, found))
        }
    }
}

/// An option of a choice.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Value in the form.
    pub value: String,
    /// Text that is shown.
    pub label: String,
}

impl Choice {
    /// Creates a choice whose value is its label.
    pub fn plain(value: impl Into<String>) -> Self {
        let value = value.into();
        Self { label: value.clone(), value }
    }
}

/// Returns a labelled choice in groups; the options of groups without a name stand alone. If `value` is not an option, an empty
/// one is selected.
pub fn select(
    id: &str,
    label: &str,
    value: &str,
    groups: &[(&str, Vec<Choice>)],
    hint: &str,
    found: &[String],
) -> Markup {
    let is_known = groups.iter().flat_map(|(_, choices)| choices).any(|choice| choice.value == value);
    html! {
        div.field {
            label for=(id) { (label) }
            select id=(id) name=(id) aria-describedby=[described(id, hint, found)]
                aria-invalid=[(!found.is_empty()).then_some("true")] {
                @if !is_known { option value="" selected { "choose one" } }
                @for (name, choices) in groups {
                    @if name.is_empty() { (options(choices, value)) }
                    @else { optgroup label=(name) { (options(choices, value)) } }
                }
            }
            @if !hint.is_empty() { p.hint id={(id) "-hint"} { (hint) } }
            (causes(id, found))
        }
    }
}

fn options(choices: &[Choice], value: &str) -> Markup {
    html! {
        @for choice in choices {
            option value=(choice.value) selected[choice.value == value] { (choice.label) }
        }
    }
}

/// Returns a labelled checkbox.
pub fn tick(id: &str, label: &str, is_on: bool) -> Markup {
    html! { div.field.tick { input type="checkbox" id=(id) name=(id) value="true" checked[is_on]; label for=(id) { (label) } } }
}

fn described(id: &str, hint: &str, found: &[String]) -> Option<String> {
    let hint = (!hint.is_empty()).then(|| format!("{id}-hint"));
    let causes = (!found.is_empty()).then(|| format!("{id}-causes"));
    let all: Vec<String> = hint.into_iter().chain(causes).collect();
    (!all.is_empty()).then(|| all.join(" "))
}
