// SPDX-License-Identifier: Apache-2.0
//! Opaque JSON is served as it was written: order of keys, repeated keys and forms of numbers stay.

use apiserver::Options;
use serde_json::{Value, json};

use crate::support::{self, Garden};

const SHOOT: &str = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/shoots/local";
const SHOOTS: &str = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/shoots";
const WRITTEN: &str = r#"{ "z": 1.0, "kind": "C<D>", "a": {"y": [1e2, {"d": 1, "c": 2}], "b": null}, "z": 2 }"#;
const SERVED: &str = r#"{"z":1.0,"kind":"C\u003cD\u003e","a":{"y":[1e2,{"d":1,"c":2}],"b":null},"z":2}"#;
const SORTED: &str = r#"{"a":{"b":null,"y":[100,{"c":2,"d":1}]},"kind":"C\u003cD\u003e","z":2}"#;

/// The text of `providerConfig` of the first worker pool.
fn config(object: &str) -> &str {
    let start = object.find(r#""providerConfig":"#).expect("there is one") + r#""providerConfig":"#.len();
    let mut depth = 0;
    let end = object[start..].find(|c: char| {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        depth == 0
    });
    &object[start..=start + end.expect("it ends")]
}

fn generation(object: &str) -> i64 {
    let object: Value = serde_json::from_str(object).expect("JSON");
    object["metadata"]["generation"].as_i64().expect("a number")
}

/// A Shoot whose first pool has this text as its `providerConfig`.
fn shoot(config: &str) -> String {
    let mut shoot = support::shoot("local", "1.26.4");
    shoot["spec"]["provider"]["workers"][0]["providerConfig"] = json!("HERE");
    shoot.to_string().replace("\"HERE\"", config)
}

async fn garden() -> Garden {
    let garden = Garden::new(&Options { default_domains: vec!["example.org".to_owned()], ..Options::default() });
    garden.apply(include_str!("manifests/garden.yaml")).await;
    garden
}

#[test]
fn opaque_json_is_stored_and_served_as_written() {
    support::run(async {
        let garden = garden().await;
        let ask = async |method: &str, path: &str, type_: &str, text: &str| {
            let (code, answer) = garden.send_text(method, path, type_, text).await;
            assert!((200..300).contains(&code), "{method} {path}: {answer}");
            answer
        };
        const JSON: &str = "application/json";
        const MERGE: &str = "application/merge-patch+json";
        let created = ask("POST", SHOOTS, JSON, &shoot(WRITTEN)).await;
        assert_eq!(config(&created), SERVED);
        let read = ask("GET", SHOOT, JSON, "").await;
        assert_eq!(config(&read), SERVED);
        assert_eq!(config(&ask("GET", SHOOTS, JSON, "").await), SERVED);

        // A patch keeps the values that it does not name.
        let label = ask("PATCH", SHOOT, MERGE, r#"{"metadata":{"labels":{"a":"b"}}}"#).await;
        assert_eq!((config(&label), generation(&label)), (SERVED, 1));
        let purpose = ask("PATCH", SHOOT, MERGE, r#"{"spec":{"purpose":"testing"}}"#).await;
        assert_eq!((config(&purpose), generation(&purpose)), (SERVED, 2));
        let json_patch = r#"[{"op":"replace","path":"/spec/purpose","value":"development"}]"#;
        let patched = ask("PATCH", SHOOT, "application/json-patch+json", json_patch).await;
        assert_eq!((config(&patched), generation(&patched)), (SERVED, 3));
        let status = ask("PATCH", &format!("{SHOOT}/status"), MERGE, r#"{"status":{"technicalID":"t"}}"#).await;
        assert_eq!((config(&status), generation(&status)), (SERVED, 3));

        // The same object is not a change; another order of keys is one.
        let again = ask("PUT", SHOOT, JSON, &status).await;
        assert_eq!((config(&again), generation(&again)), (SERVED, 3));
        let other = status.replace(SERVED, r#"{"kind":"C\u003cD\u003e","z":2}"#);
        let other = ask("PUT", SHOOT, JSON, &other).await;
        assert_eq!((config(&other), generation(&other)), (r#"{"kind":"C\u003cD\u003e","z":2}"#, 4));
        let swapped = other.replace(r#""kind":"C\u003cD\u003e","z":2"#, r#""z":2,"kind":"C\u003cD\u003e""#);
        let swapped = ask("PUT", SHOOT, JSON, &swapped).await;
        assert_eq!((config(&swapped), generation(&swapped)), (r#"{"z":2,"kind":"C\u003cD\u003e"}"#, 5));

        // A JSON patch has its own text.
        let path = "/spec/provider/workers/0/providerConfig";
        let patch = format!(r#"[{{"op":"replace","path":"{path}","value":{WRITTEN}}}]"#);
        let patched = ask("PATCH", SHOOT, "application/json-patch+json", &patch).await;
        assert_eq!((config(&patched), generation(&patched)), (SERVED, 6));

        // YAML and strategic merge patches are converted through maps.
        let strategic =
            ask("PATCH", SHOOT, "application/strategic-merge-patch+json", r#"{"metadata":{"labels":{"a":"c"}}}"#).await;
        assert_eq!((config(&strategic), generation(&strategic)), (SORTED, 7));
    });
}
