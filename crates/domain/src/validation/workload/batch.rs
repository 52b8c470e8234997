// SPDX-License-Identifier: Apache-2.0
//! Validation of Jobs and CronJobs, and the selector of a Job.
//!
//! Deliberately absent: policies for failures and success, limits per index.
//!
//! Source: k8s.io/kubernetes pkg/apis/batch/validation/validation.go, pkg/registry/batch/job/strategy.go @ v1.31.

use apimachinery::field::{FieldError, Path};
use chrono_tz::Tz;
use serde_json::{Map, Value, json};

use super::tree::{is_same, non_negative, number, one_of, set, text};
use super::{go, mismatch, pods, selector};
use crate::hibernation::cron::Schedule;
use crate::validation::Errors;

/// Labels of a Job's pods: its name, and its uid, which its selector uses; each with an old and a new key.
const NAME_LABELS: [&str; 2] = ["batch.kubernetes.io/job-name", "job-name"];
const UID_LABELS: [&str; 2] = ["batch.kubernetes.io/controller-uid", "controller-uid"];
/// Maximum length of a CronJob's name: names of its Jobs have eleven more characters.
const NAME_LENGTH: usize = 52;
/// Fields for the number of ended Jobs that a CronJob keeps.
const KEPT_JOBS: [&str; 2] = ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"];

/// Sets the selector of a new Job and the matching labels of its template, unless `manualSelector` is true.
pub fn select_own_pods(name: &str, uid: &str, fields: &mut Map<String, Value>) {
    let Some(Value::Object(spec)) = fields.get_mut("spec") else { return };
    if spec.get("manualSelector") == Some(&Value::Bool(true)) {
        return;
    }
    let Value::Object(template) = spec.entry("template").or_insert_with(|| json!({})) else { return };
    let mut into = template;
    for part in ["metadata", "labels"] {
        let inner = into.entry(part).or_insert_with(|| json!({}));
        if inner.is_null() {
            *inner = json!({});
        }
        let Value::Object(inner) = inner else { return };
        into = inner;
    }
    for (keys, value) in [(NAME_LABELS, name), (UID_LABELS, uid)] {
        for key in keys {
            into.entry(key).or_insert_with(|| json!(value));
        }
    }
    let selector = spec.entry("selector").or_insert_with(|| json!({}));
    if selector.is_null() {
        *selector = json!({});
    }
    if let Value::Object(selector) = selector {
        let labels = selector.entry("matchLabels").or_insert_with(|| json!({}));
        if let Value::Object(labels) = labels {
            labels.entry(UID_LABELS[0]).or_insert_with(|| json!(uid));
        }
    }
}

/// Returns all violations of a Job, in upstream's order. `uid`: uid of the Job, which it must select unless
/// `manualSelector` is true.
pub fn job(uid: &str, fields: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    let (path, null) = (Path::new("spec"), Value::Null);
    let spec = fields.get("spec").unwrap_or(&null);
    if spec.get("manualSelector") != Some(&Value::Bool(true)) {
        let own = set(spec, "selector").and_then(|selector| selector.get("matchLabels"));
        let is_own = own.is_some_and(|labels| UID_LABELS.iter().any(|key| text(labels, key) == uid));
        if set(spec, "selector").is_some() && !is_own {
            let value = go::label_selector(&spec["selector"]);
            errors.push(go::invalid(&path.child("selector"), &value, "`selector` not auto-generated"));
        }
    }
    job_spec(&mut errors, spec, &path);
    if let Ok(matching) = selector(&mut errors, spec, None, &path) {
        mismatch(&mut errors, matching.as_ref(), &spec["template"], &path.child("template"));
    }
    errors
}

/// Returns all violations of a changed Job.
pub fn job_update(uid: &str, fields: &Map<String, Value>, old: &Map<String, Value>) -> Errors {
    let mut errors = job(uid, fields);
    let (path, null) = (Path::new("spec"), Value::Null);
    let (spec, old) = (fields.get("spec").unwrap_or(&null), old.get("spec").unwrap_or(&null));
    let is_indexed = text(spec, "completionMode") == "Indexed";
    let may_scale = is_indexed && number(spec, "completions") == number(spec, "parallelism");
    if !may_scale && !is_same(spec.get("completions"), old.get("completions")) {
        let value = number(spec, "completions").map_or_else(|| json!(null), |number| json!(number));
        errors.push(FieldError::invalid(&path.child("completions"), value, "field is immutable"));
    }
    if !is_same(spec.get("selector"), old.get("selector")) {
        let value = set(spec, "selector").map_or_else(|| "null".to_owned(), go::label_selector);
        errors.push(go::invalid(&path.child("selector"), &value, "field is immutable"));
    }
    if !is_same(spec.get("template"), old.get("template")) && !may_change_template(spec, old) {
        errors.push(go::invalid(&path.child("template"), "core.PodTemplateSpec{…}", "field is immutable"));
    }
    for field in ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy"] {
        if !is_same(spec.get(field), old.get(field)) {
            let value = spec.get(field).cloned().unwrap_or_default();
            errors.push(FieldError::invalid(&path.child(field), value, "field is immutable"));
        }
    }
    errors
}

/// True if the stored Job is suspended and its template changes only in scheduling fields, labels and annotations.
fn may_change_template(spec: &Value, old: &Value) -> bool {
    let is_suspended = |spec: &Value| spec.get("suspend") == Some(&Value::Bool(true));
    if !is_suspended(old) {
        return false;
    }
    let fixed = |spec: &Value| {
        let mut template = spec["template"].clone();
        if let Some(Value::Object(pod)) = template.get_mut("spec") {
            for field in ["nodeSelector", "tolerations", "affinity", "schedulingGates"] {
                pod.remove(field);
            }
        }
        if let Some(Value::Object(metadata)) = template.get_mut("metadata") {
            metadata.remove("labels");
            metadata.remove("annotations");
        }
        template
    };
    is_same(Some(&fixed(spec)), Some(&fixed(old)))
}

fn job_spec(errors: &mut Errors, spec: &Value, path: &Path) {
    for field in ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"] {
        non_negative(errors, spec, field, path);
    }
    if let Some(mode) = set(spec, "completionMode").and_then(Value::as_str) {
        one_of(errors, spec, "completionMode", &["Indexed", "NonIndexed"], path);
        if mode == "Indexed" && set(spec, "completions").is_none() {
            let text = "when completion mode is Indexed";
            errors.push(FieldError::required(&path.child("completions"), text));
        }
    }
    let template = &spec["template"];
    let at = path.child("template");
    pods::template(errors, template, &at);
    let at = at.child("spec").child("restartPolicy");
    match text(&template["spec"], "restartPolicy") {
        "OnFailure" | "Never" => {}
        "" | "Always" => {
            errors.push(FieldError::required(&at, "valid values: \"OnFailure\", \"Never\""));
        }
        other => errors.push(FieldError::not_supported(&at, other, &["OnFailure", "Never"])),
    }
}

/// Returns all violations of a CronJob, in upstream's order.
pub fn cron_job(name: &str, fields: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    let (path, null) = (Path::new("spec"), Value::Null);
    let spec = fields.get("spec").unwrap_or(&null);
    let schedule = text(spec, "schedule");
    let at = path.child("schedule");
    if schedule.is_empty() {
        errors.push(FieldError::required(&at, ""));
    } else if schedule.contains("TZ") {
        let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        errors.push(FieldError::invalid(&at, schedule, detail));
    } else if let Err(detail) = Schedule::parse(schedule) {
        errors.push(FieldError::invalid(&at, schedule, &detail));
    }
    non_negative(&mut errors, spec, "startingDeadlineSeconds", &path);
    if let Some(zone) = set(spec, "timeZone") {
        let (at, zone) = (path.child("timeZone"), zone.as_str().unwrap_or_default());
        if zone.is_empty() {
            errors.push(FieldError::invalid(&at, zone, "timeZone must be nil or non-empty string"));
        } else if zone.eq_ignore_ascii_case("local") {
            let detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
            errors.push(FieldError::invalid(&at, zone, detail));
        } else if zone.parse::<Tz>().is_err() {
            errors.push(FieldError::invalid(&at, zone, &format!("unknown time zone {zone}")));
        }
    }
    one_of(&mut errors, spec, "concurrencyPolicy", &["Allow", "Forbid", "Replace"], &path);
    let (job, at) = (&spec["jobTemplate"]["spec"], path.child("jobTemplate").child("spec"));
    job_spec(&mut errors, job, &at);
    if set(job, "selector").is_some() {
        let value = go::label_selector(&job["selector"]);
        errors.push(go::invalid(&at.child("selector"), &value, "`selector` will be auto-generated"));
    }
    if job.get("manualSelector") == Some(&Value::Bool(true)) {
        errors.push(FieldError::not_supported(&at.child("manualSelector"), true, &["nil", "false"]));
    }
    for field in KEPT_JOBS {
        non_negative(&mut errors, spec, field, &path);
    }
    if name.len() > NAME_LENGTH {
        let path = Path::new("metadata").child("name");
        let detail = format!("must be no more than {NAME_LENGTH} characters");
        errors.push(FieldError::invalid(&path, name, &detail));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(spec: Value) -> Map<String, Value> {
        Map::from_iter([("spec".to_owned(), spec)])
    }

    fn good() -> Value {
        let containers = json!([{"name": "c", "image": "i"}]);
        json!({"template": {"spec": {"containers": containers, "restartPolicy": "Never"}}})
    }

    fn texts(errors: &Errors) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[track_caller]
    fn check_job(change: impl FnOnce(&mut Value), expected: &[&str]) {
        let mut spec = good();
        change(&mut spec);
        let mut fields = fields(spec);
        select_own_pods("j", "u", &mut fields);
        assert_eq!(texts(&job("u", &fields)), expected);
    }

    #[test]
    fn a_job_selects_its_own_pods() {
        let mut new = fields(good());
        select_own_pods("j", "u", &mut new);
        assert_eq!(new["spec"]["selector"], json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}));
        assert_eq!(
            new["spec"]["template"]["metadata"]["labels"],
            json!({
                "batch.kubernetes.io/controller-uid": "u", "batch.kubernetes.io/job-name": "j", "controller-uid": "u",
                "job-name": "j",
            })
        );
        check_job(|_| (), &[]);
        let other = json!({"matchLabels": {"app": "a"}});
        check_job(
            |spec| spec["selector"] = other.clone(),
            &[
                "spec.template.metadata.labels: Invalid value: map[string]string{\"batch.kubernetes.io/controller-uid\":\"u\", \
               \"batch.kubernetes.io/job-name\":\"j\", \"controller-uid\":\"u\", \"job-name\":\"j\"}: `selector` does \
               not match template `labels`",
            ],
        );
        let mut manual = fields(good());
        manual["spec"]["manualSelector"] = json!(true);
        select_own_pods("j", "u", &mut manual);
        assert_eq!(texts(&job("u", &manual))[0], "spec.selector: Required value");
    }

    #[test]
    fn a_job_is_rejected_as_upstream_does() {
        check_job(
            |spec| spec["template"]["spec"]["restartPolicy"] = json!("Always"),
            &["spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""],
        );
        check_job(
            |spec| spec["completions"] = json!(-1),
            &["spec.completions: Invalid value: -1: must be greater than or equal to 0"],
        );
        check_job(
            |spec| spec["completionMode"] = json!("Indexed"),
            &["spec.completions: Required value: when completion mode is Indexed"],
        );
        check_job(
            |spec| spec["template"]["spec"]["containers"][0] = json!({}),
            &[
                "spec.template.spec.containers[0].name: Required value",
                "spec.template.spec.containers[0].image: Required value",
            ],
        );
    }

    #[test]
    fn the_template_of_a_job_stays() {
        let with = |image: &str, suspend: bool, node: &str| {
            let mut spec = good();
            spec["template"]["spec"]["containers"][0]["image"] = json!(image);
            spec["template"]["spec"]["nodeSelector"] = json!({"node": node});
            spec["suspend"] = json!(suspend);
            let mut fields = fields(spec);
            select_own_pods("j", "u", &mut fields);
            fields
        };
        let update = |new, old| texts(&job_update("u", &new, &old));
        assert!(update(with("a", false, "x"), with("a", false, "x")).is_empty());
        let text = "spec.template: Invalid value: core.PodTemplateSpec{…}: field is immutable";
        assert_eq!(update(with("b", false, "x"), with("a", false, "x")), [text]);
        assert_eq!(update(with("a", false, "y"), with("a", false, "x")), [text]);
        assert!(update(with("a", true, "y"), with("a", true, "x")).is_empty(), "where it runs, while it is suspended");
        assert_eq!(update(with("b", true, "x"), with("a", true, "x")), [text]);
        let mut more = with("a", false, "x");
        more["spec"]["parallelism"] = json!(3);
        assert!(update(more.clone(), with("a", false, "x")).is_empty());
        more["spec"]["completions"] = json!(3);
        let text = "spec.completions: Invalid value: 3: field is immutable";
        more["spec"]["parallelism"] = json!(2);
        assert_eq!(update(more, with("a", false, "x")), [text]);
    }

    #[test]
    fn a_cron_job_has_a_schedule_that_can_be_read() {
        let check = |name: &str, change: Value, expected: &[&str]| {
            let mut spec = json!({"schedule": "*/5 * * * *", "jobTemplate": {"spec": good()}});
            for (field, value) in change.as_object().expect("fields") {
                spec[field] = value.clone();
            }
            assert_eq!(texts(&cron_job(name, &fields(spec))), expected, "{change}");
        };
        check("c", json!({}), &[]);
        check("c", json!({"timeZone": "Europe/Berlin", "schedule": "@daily"}), &[]);
        check("c", json!({"schedule": ""}), &["spec.schedule: Required value"]);
        check(
            "c",
            json!({"schedule": "every day"}),
            &["spec.schedule: Invalid value: \"every day\": Expected exactly 5 fields, found 2: every day"],
        );
        check(
            "c",
            json!({"timeZone": "Nowhere"}),
            &["spec.timeZone: Invalid value: \"Nowhere\": unknown time zone Nowhere"],
        );
        check(
            "c",
            json!({"concurrencyPolicy": "Queue"}),
            &[
                "spec.concurrencyPolicy: Unsupported value: \"Queue\": supported values: \"Allow\", \"Forbid\", \"Replace\"",
            ],
        );
        check(&"c".repeat(52), json!({}), &[]);
        let long = "c".repeat(53);
        check(
            &long,
            json!({}),
            &[&format!("metadata.name: Invalid value: \"{long}\": must be no more than 52 characters")],
        );
    }

    #[test]
    fn malformed_objects_do_not_panic() {
        for spec in [json!(null), json!(1), json!([]), json!({"template": 1, "selector": [], "jobTemplate": "x"})] {
            let mut given = fields(spec);
            job("", &given);
            job_update("", &given, &Map::new());
            cron_job("", &given);
            select_own_pods("j", "u", &mut given);
        }
        select_own_pods("j", "u", &mut Map::new());
    }
}
