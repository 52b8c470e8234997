// SPDX-License-Identifier: Apache-2.0
//! The moment that a page shows: the field `at` of its query, a revision or an instant.

use eventlog::Revision;
use http::StatusCode;
use maud::{Markup, html};
use ops::instant::Place;
use ops::past::{NoMoment, moment};

use crate::input::Fields;
use crate::parts::time;
use crate::refusal::Refusal;
use crate::view::{Moment, link};
use crate::{Dashboard, PREFIX};

/// Returns the moment that a query names; `None`: the present.
///
/// # Errors
/// `at` is not a moment of the log: the cause, and links to moments that the log has.
pub async fn read(dashboard: &Dashboard, path: &str, query: &Fields) -> Result<Option<Moment>, Refusal> {
    let text = query.text("at");
    if text.is_empty() {
        return Ok(None);
    }
    let here = RequestedPage { path, query };
    let place: Place = text.parse().map_err(|why: String| here.unreadable(&why))?;
    let log = &dashboard.options().log;
    let (head, now) = (log.head(), dashboard.now());
    let refused = |why: NoMoment| here.refused(why);
    let revision = moment::find(&**log, head, place, now).await.map_err(refused)?;
    // An instant before the first retained entry is outside the history.
    if let Place::At(when) = place
        && let Some(first) = moment::first(&**log, head).await.map_err(refused)?
        && when.before(now) < first.time
    {
        return Err(here.refused(NoMoment::Forgotten(Revision(first.revision.0))));
    }
    let begin = match place {
        // The requested instant itself is shown: nothing happened between the entry before it and it.
        Place::At(when) => Some(when.before(now)),
        Place::Revision(_) => moment::time_at(&**log, revision).await.map_err(refused)?,
    };
    Ok(Some(Moment { revision: revision.0, time: begin.unwrap_or(now) }))
}

/// The requested page.
struct RequestedPage<'a> {
    path: &'a str,
    query: &'a Fields,
}

impl RequestedPage<'_> {
    fn at(&self, at: &str) -> String {
        link(&format!("{PREFIX}{}", self.path), &self.query.with(&[("at", at)]))
    }

    fn now(&self) -> Markup {
        html! { p { a href=(self.at("")) { "Show the present" } } }
    }

    fn unreadable(&self, why: &str) -> Refusal {
        let field = |name: &str, label: &str, example: &str| {
            html! {
                form.filter method="get" action={(PREFIX) (self.path)} {
                    @for (name, value) in self.query.iter().filter(|(name, _)| *name != "at") {
                        input type="hidden" name=(name) value=(value);
                    }
                    div.field {
                        label for=(name) { (label) }
                        input type="text" id=(name) name="at" placeholder=(example) autocomplete="off";
                    }
                    button type="submit" { "Go there" }
                }
            }
        };
        Refusal {
            code: StatusCode::BAD_REQUEST,
            title: "That is not an instant".to_owned(),
            body: html! {
                p { (why) }
                (field("at-revision", "A revision", "1042"))
                (field("at-time", "An instant, UTC, or how long ago", "2023-07-28T09:20:00Z"))
                (self.now())
            },
        }
    }

    fn refused(&self, why: NoMoment) -> Refusal {
        let (code, title, nearest) = match why {
            NoMoment::Forgotten(base) => {
                let to = html! { p { a href=(self.at(&base.to_string())) { "Show revision " (base) ", the first that is kept" } } };
                (StatusCode::GONE, "That is not kept any more".to_owned(), to)
            }
            NoMoment::RevisionToCome(head) => {
                let to =
                    html! { p { a href=(self.at(&head.to_string())) { "Show revision " (head) ", the last one" } } };
                (StatusCode::NOT_FOUND, "That is still to come".to_owned(), to)
            }
            NoMoment::InstantToCome(_) => (StatusCode::NOT_FOUND, "That is still to come".to_owned(), html! {}),
            NoMoment::Closed => (StatusCode::SERVICE_UNAVAILABLE, "The log does not answer".to_owned(), html! {}),
        };
        let sentence = match why {
            NoMoment::Forgotten(base) => format!("History begins at revision {base}."),
            NoMoment::RevisionToCome(head) => format!("The last revision is {head}."),
            NoMoment::InstantToCome(instant) => format!("{} is still to come.", time::text(instant)),
            NoMoment::Closed => "The log is closed.".to_owned(),
        };
        Refusal { code, title, body: html! { p { (sentence) } (nearest) (self.now()) } }
    }
}
