// SPDX-License-Identifier: Apache-2.0
//! The page of a cluster, and its operations.

use serde_json::json;

use crate::support::{Answer, PROFILES, SHOOTS, Stage, failure, landscape, log, old, profile, shoot};

const PAGE: &str = "/dashboard/clusters/demo/local";
const OBJECT: &str = "/clusters/garden/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/shoots/local";

/// Returns a region of a page.
fn region<'a>(text: &'a str, id: &str) -> &'a str {
    let begin = text.find(&format!("<section id=\"{id}\"")).unwrap_or_else(|| panic!("no region {id}: {text}"));
    text[begin..].split_once("</section>").expect("it ends").0
}

/// Sends a form about demo/local.
async fn ask(stage: &Stage, fields: &str) -> Answer {
    stage.post("cluster", &format!("namespace=garden-demo&name=local&back={PAGE}&{fields}")).await
}

#[tokio::test]
async fn consequences_of_a_clusters_versions_have_their_severity() {
    let soon = json!({ "version": "1.26.4", "classification": "deprecated", "expirationDate": "2023-07-28T00:00:00Z" });
    for (versions, auto, severity, said) in [
        (json!([{ "version": "1.26.5" }, { "version": "1.26.4" }]), true, "m-note", "updates it to 1.26.5"),
        (
            json!([{ "version": "1.27.1", "classification": "supported" }, soon]),
            false,
            "m-warning",
            "is forced to 1.27.1",
        ),
        (json!([{ "version": "1.28.1" }, soon]), false, "m-error", "the next minor, 1.27, is missing"),
    ] {
        let mut object = shoot("local", "1.26.4");
        object["spec"]["maintenance"]["autoUpdate"] = json!({ "kubernetesVersion": auto });
        let stage = Stage::new(landscape().with(PROFILES, &[profile(versions)]).with(SHOOTS, &[object]));
        let text = stage.get(PAGE).await.text;
        let versions = region(&text, "versions");
        assert!(versions.contains(&format!("message {severity}")) && versions.contains(said), "{said}: {versions}");
    }
}

#[tokio::test]
async fn lines_of_why_lead_to_the_history_of_their_field() {
    let text = Stage::new(landscape()).get(PAGE).await.text;
    let why = region(&text, "why");
    let link = "/dashboard/time?object=shoot%2Fgarden-demo%2Flocal&amp;field=spec.maintenance.timeWindow";
    assert!(why.contains(&format!("<a href=\"{link}\">spec.maintenance.timeWindow</a>")), "{why}");
    let first = why.split_once("<ul class=\"lines\"><li>").expect("a list").1;
    assert!(
        first.contains(">status.lastOperation</a>: none yet") && first.find("lastOperation") < first.find("<ul"),
        "{why}"
    );
    let below = "</a>)<ul class=\"lines\"><li><a href=";
    assert!(why.contains(below), "what maintenance does stands below it: {why}");
    let past = Stage::with_log(old(), log(5).await).get(&format!("{PAGE}?at=3")).await.text;
    assert!(region(&past, "why").contains("time?at=3&amp;object="), "the past has its reasons: {past}");
}

#[tokio::test]
async fn an_image_of_a_pool_is_looked_at_and_changed() {
    let mut api = landscape();
    api.answers.insert(format!("{OBJECT}?dryRun=All"), shoot("local", "1.26.4"));
    let stage = Stage::new(api);
    let text = stage.get(PAGE).await.text;
    let versions = region(&text, "versions");
    assert!(
        versions.contains("gardenlinux/2.0.0 (preview)") && versions.contains("name=\"pool\" value=\"a\""),
        "{versions}"
    );
    let answer = ask(&stage, "step=look-image&pool=a&image=gardenlinux/2.0.0").await;
    assert_eq!(answer.code, 200, "{}", answer.text);
    assert!(answer.text.contains("To gardenlinux 2.0.0 in pool a: nothing is changed yet"), "{}", answer.text);
    assert!(answer.text.contains("name=\"step\" value=\"image\""), "{}", answer.text);
    assert_eq!(stage.writes(), [format!("PATCH {OBJECT}?dryRun=All")]);
    assert_eq!(ask(&stage, "step=image&pool=a&image=gardenlinux/2.0.0").await.code, 303);
    assert_eq!(stage.writes()[1..], [format!("PATCH {OBJECT}")]);
    for (fields, said) in [
        ("step=image&pool=a&image=", "choose an image"),
        ("step=image&pool=b&image=gardenlinux/2.0.0", "it has no pool b"),
    ] {
        ask(&stage, fields).await;
        assert!(stage.get(PAGE).await.text.contains(said), "{fields}");
    }
    assert_eq!(stage.writes().len(), 2, "nothing more was sent");
}

#[tokio::test]
async fn an_operation_waits_for_the_next_maintenance() {
    let mut object = shoot("local", "1.26.4");
    object["metadata"]["annotations"] = json!({ "maintenance.gardener.cloud/operation": "rotate-credentials-start" });
    let stage = Stage::new(landscape().with(SHOOTS, &[object]));
    let text = stage.get(PAGE).await.text;
    let maintenance = region(&text, "maintenance");
    assert!(maintenance.contains("<option value=\"rotate-credentials-start\" selected>"), "{maintenance}");
    for operation in ["reconcile", "rotate-ca-start", "rotate-ssh-keypair"] {
        assert!(maintenance.contains(&format!("<option value=\"{operation}\">")), "{operation}: {maintenance}");
    }
    assert_eq!(ask(&stage, "step=operation&operation=").await.code, 303);
    assert_eq!(stage.writes(), [format!("PATCH {OBJECT}")]);
}

#[tokio::test]
async fn a_manifest_is_replaced_after_its_changes_were_shown() {
    let mut api = landscape();
    let mut after = shoot("local", "1.26.4");
    after["spec"]["purpose"] = json!("testing");
    api.answers.insert(format!("{OBJECT}?fieldValidation=Strict&dryRun=All"), after);
    let stage = Stage::new(api);
    let text = stage.get(PAGE).await.text;
    let form = region(&text, "manifest-form");
    assert!(form.contains("value=\"check\"") && !form.contains("value=\"replace\""), "{form}");
    let answer = ask(&stage, "step=check&manifest=spec").await;
    for part in
        ["What this would change", "spec.purpose", "<ins>testing</ins>", "value=\"replace\"", ">spec</textarea>"]
    {
        assert!(answer.text.contains(part), "{part}: {}", answer.text);
    }
    let past = Stage::with_log(old(), log(5).await).get(&format!("{PAGE}?at=3")).await.text;
    let shown = region(&past, "manifest-form");
    assert!(shown.contains("<pre class=\"manifest\"") && !shown.contains("<form"), "it is read only: {shown}");
}

#[tokio::test]
async fn a_refused_manifest_is_kept_in_the_form() {
    let mut api = landscape();
    api.refusal = Some(failure(422, "Invalid", "Shoot is invalid: spec.region: Required value"));
    let stage = Stage::new(api);
    let answer = ask(&stage, "step=check&manifest=kind%3A+Shoot").await;
    assert_eq!(answer.code, 422);
    for part in ["spec.region: Required value", "kind: Shoot</textarea>"] {
        assert!(answer.text.contains(part), "{part}: {}", answer.text);
    }
    assert!(!answer.text.contains("value=\"replace\""), "what the API refuses cannot be sent");
}

#[tokio::test]
async fn an_error_of_a_cluster_is_explained() {
    let mut object = shoot("local", "1.26.4");
    object["status"] = json!({ "lastErrors": [{ "description": "no quota", "codes": ["ERR_INFRA_QUOTA_EXCEEDED"] }] });
    let text = Stage::new(landscape().with(SHOOTS, &[object])).get(PAGE).await.text;
    let overview = region(&text, "overview");
    assert!(
        overview.contains("no quota") && overview.contains("`terrarium explain ERR_INFRA_QUOTA_EXCEEDED` says more"),
        "{overview}"
    );
}
