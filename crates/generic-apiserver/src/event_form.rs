// SPDX-License-Identifier: Apache-2.0
//! Conversion of watch events with whole objects to the form that a client requests, for servers that add events to a
//! watch.

use apimachinery::catalogue::Column;
use chrono::{DateTime, Utc};
use http::HeaderMap;
use http::header::ACCEPT;
use serde_json::{Value, json};

use crate::negotiation::{self, Form};
use crate::request::Query;
use crate::table::{self, AGES_AT, Include};

/// Form of the events of a watch: tables, or metadata only.
#[derive(Clone, Debug)]
pub struct EventForm {
    form: Form,
    include: Include,
    columns: &'static [Column],
    /// Instant up to which ages are counted, if the client names one.
    ages_at: Option<DateTime<Utc>>,
    /// True until an event was converted.
    first: bool,
}

impl EventForm {
    /// Returns the form that the headers and the query of a request select; `None`: whole objects, or a form that the
    /// server refuses.
    pub fn of(headers: &HeaderMap, query: Option<&str>, columns: &'static [Column]) -> Option<Self> {
        let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let form = negotiation::form(accept).filter(|form| *form != Form::Object)?;
        let query = Query::parse(query);
        let include = match form {
            Form::Table(_) => Include::parse(query.text("includeObject")).ok()?,
            Form::Object | Form::Partial(_) => Include::default(),
        };
        Some(Self { form, include, columns, ages_at: query.text(AGES_AT).parse().ok(), first: true })
    }

    /// Converts the object of an event of a type; the object of an `ERROR` stays as it is.
    pub fn convert(&mut self, type_: &str, mut object: Value, now: DateTime<Utc>) -> Value {
        if type_ == "ERROR" {
            return object;
        }
        let first = std::mem::take(&mut self.first);
        match self.form {
            Form::Object => object,
            Form::Table(version) if type_ == "BOOKMARK" => {
                table::bookmark(self.columns, version, object["metadata"].take(), first)
            }
            Form::Table(version) => {
                let now = self.ages_at.unwrap_or(now);
                table::of_event(object, self.columns, now, (version, self.include), first)
            }
            Form::Partial(version) => json!({
                "kind": "PartialObjectMetadata",
                "apiVersion": format!("meta.k8s.io/{version}"),
                "metadata": object["metadata"].take(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use apimachinery::catalogue::Cell;

    use super::*;

    const COLUMNS: &[Column] = &[Column::new("Holder", "string", Cell::Path(".spec.holder"), 0)];

    fn form(accept: &'static str, query: &str) -> Option<EventForm> {
        let headers = HeaderMap::from_iter([(ACCEPT, http::HeaderValue::from_static(accept))]);
        EventForm::of(&headers, Some(query), COLUMNS)
    }

    #[test]
    fn events_have_the_requested_form() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        let partial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
        assert!(form("application/json", "").is_none() && form(table, "includeObject=Some").is_none());
        let now = "2026-01-01T01:00:00Z".parse().expect("an instant");
        let object =
            || json!({"kind": "K", "metadata": {"name": "a", "resourceVersion": "3"}, "spec": {"holder": "h"}});

        let mut tables = form(table, "watch=1").expect("tables");
        let first = tables.convert("ADDED", object(), now);
        assert_eq!(first["columnDefinitions"].as_array().map(Vec::len), Some(2));
        assert_eq!(first["rows"][0]["cells"], json!(["a", "h"]));
        assert_eq!(first["rows"][0]["object"]["kind"], "PartialObjectMetadata");
        let next = tables.convert("MODIFIED", object(), now);
        assert_eq!((&next["columnDefinitions"], &next["metadata"]["resourceVersion"]), (&Value::Null, &json!("3")));
        let mark = tables.convert("BOOKMARK", json!({"kind": "K", "metadata": {"resourceVersion": "9"}}), now);
        assert_eq!(
            (&mark["rows"][0]["cells"], &mark["metadata"]["resourceVersion"]),
            (&json!([null, null]), &json!("9"))
        );

        for (query, expected) in [("includeObject=Object", object()), ("includeObject=None", Value::Null)] {
            let table = form(table, query).expect("tables").convert("ADDED", object(), now);
            assert_eq!(table["rows"][0]["object"], expected, "{query}");
        }
        let mut partials = form(partial, "").expect("metadata");
        let shown = partials.convert("ADDED", object(), now);
        assert_eq!(
            (&shown["kind"], &shown["metadata"], &shown["spec"]),
            (&json!("PartialObjectMetadata"), &object()["metadata"], &Value::Null)
        );
        assert_eq!(partials.convert("ERROR", json!({"kind": "Status"}), now), json!({"kind": "Status"}));
    }
}
