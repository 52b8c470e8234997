// SPDX-License-Identifier: Apache-2.0
//! Faults: created and deleted as objects of the API, which validates them.

use api::cluster::RUNTIME;
use api::terrarium::{Fault, FaultShoot, FaultSpec};
use apimachinery::meta::{ObjectMeta, TextMap, Time};
use http::Method;

use crate::input::Fields;
use crate::message::{Message, Severity};
use crate::page::Outcome;
use crate::pages;
use crate::refusal::Refusal;
use crate::view::{View, collection, object};

/// Creates a fault.
pub(super) async fn inject(view: &View, form: &Fields) -> Result<Outcome, Refusal> {
    let fault = match read(view, form) {
        Ok(fault) => fault,
        Err(sentence) => return again(view, form, Message::new(Severity::Error, sentence)).await,
    };
    let body = serde_json::to_vec(&fault).map_err(|error| controller::Error::Decode(error.to_string()))?;
    match view.send(Method::POST, &collection::<Fault>(RUNTIME, None), Some(("application/json", body))).await {
        Ok(_) => Ok(Outcome::To(
            view.to("faults"),
            vec![Message::new(Severity::Done, format!("{} injected", fault.spec.kind))],
        )),
        Err(error) => again(view, form, Message::of_error(&format!("inject {}", fault.spec.kind), &error)).await,
    }
}

/// Returns the form as it was sent, with the API's message.
async fn again(view: &View, form: &Fields, said: Message) -> Result<Outcome, Refusal> {
    let mut page = pages::faults::draw_with(view, form, &[said]).await?;
    page.code = http::StatusCode::UNPROCESSABLE_ENTITY;
    Ok(Outcome::Page(Box::new(page)))
}

/// Reads the fault of a form. Text that is not a number or a duration is refused here, all else by the API.
fn read(view: &View, form: &Fields) -> Result<Fault, String> {
    let kind = form.text("kind");
    let number = |name: &str| match form.text(name) {
        "" => Ok(None),
        text => text.parse::<i32>().map(Some).map_err(|_| format!("{name}: `{text}` is not a whole number")),
    };
    let shoot = match form.text("shoot") {
        "" => None,
        text => {
            let (namespace, name) =
                text.split_once('/').ok_or_else(|| format!("shoot: `{text}` is not NAMESPACE/NAME"))?;
            Some(FaultShoot { namespace: namespace.to_owned(), name: name.to_owned() })
        }
    };
    let until = match form.text("for") {
        "" => None,
        text => {
            let length = ops::instant::duration(text).map_err(|why| format!("for: {why}"))?;
            let until = ops::instant::after(view.now(), length).ok_or("for: that is further than time goes")?;
            Some(Time::from_instant(until))
        }
    };
    let mut settings = TextMap::new();
    for (name, value) in form.iter() {
        if let Some(name) = name.strip_prefix("set-").filter(|_| !value.trim().is_empty()) {
            settings.insert(name.to_owned(), value.trim().to_owned());
        }
    }
    Ok(Fault {
        metadata: ObjectMeta { generate_name: format!("{kind}-"), ..ObjectMeta::default() },
        spec: FaultSpec {
            kind: kind.to_owned(),
            shoot,
            component: form.text("component").to_owned(),
            instance: form.text("instance").to_owned(),
            seed_name: form.text("seed").to_owned(),
            pool: form.text("pool").to_owned(),
            zone: number("zone")?,
            machine: number("machine")?,
            node: form.text("node").to_owned(),
            times: number("times")?,
            always: form.text("always") == "true",
            until,
            settings,
        },
        ..Fault::default()
    })
}

/// Deletes one fault, or all.
pub(super) async fn clear(view: &View, form: &Fields) -> Result<Outcome, Refusal> {
    let names = match form.text("id") {
        "" if form.text("all") == "true" => {
            let faults = view.list::<Fault>(RUNTIME, None, "").await?;
            faults.into_iter().map(|fault| fault.metadata.name).collect()
        }
        id => vec![id.to_owned()],
    };
    let mut messages = Vec::new();
    for name in names {
        let answer = view.send(Method::DELETE, &object::<Fault>(RUNTIME, "", &name), None).await;
        messages.push(match answer {
            Ok(_) => Message::new(Severity::Done, format!("{name} cleared")),
            Err(error) => Message::of_error(&format!("clear {name}"), &error),
        });
    }
    Ok(Outcome::Back(messages))
}
