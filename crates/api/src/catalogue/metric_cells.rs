// SPDX-License-Identifier: Apache-2.0
//! The cell of a HorizontalPodAutoscaler's metrics.
//!
//! Source: kubernetes pkg/printers/internalversion/printers.go (formatHPAMetrics) @ v1.32.

use serde_json::{Value, json};

use super::cells::items;

/// Maximum number of metrics in the cell.
const SHOWN_METRICS: usize = 2;

/// Current and target value of each metric: `cpu: <unknown>/80%`.
pub(super) fn metrics(object: &Value) -> Value {
    let mut measured = items(&object["status"]["currentMetrics"]);
    let texts: Vec<String> =
        items(&object["spec"]["metrics"]).map(|metric| metric_text(metric, measured.next())).collect();
    if texts.is_empty() {
        return json!("<none>");
    }
    let shown = texts.iter().take(SHOWN_METRICS).cloned().collect::<Vec<_>>().join(", ");
    json!(if texts.len() > SHOWN_METRICS {
        format!("{shown} + {} more...", texts.len() - SHOWN_METRICS)
    } else {
        shown
    })
}

fn metric_text(metric: &Value, measured: Option<&Value>) -> String {
    let kind = match metric["type"].as_str().unwrap_or_default() {
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        "Pods" => "pods",
        "Object" => "object",
        "External" => "external",
        _ => return "<unknown type>".to_owned(),
    };
    let target = &metric[kind]["target"];
    let current = measured.map(|measured| measured[kind]["current"].clone()).unwrap_or_default();
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let known = |value: &Value| if value.is_null() { "<unknown>".to_owned() } else { text(value) };
    let percent = |value: &Value, none: &str| value.as_i64().map_or_else(|| none.to_owned(), |it| format!("{it}%"));
    let average = (!target["averageValue"].is_null())
        .then(|| format!("{}/{}", known(&current["averageValue"]), text(&target["averageValue"])));
    match (kind, average) {
        ("resource" | "containerResource", average) => {
            let (current, wanted) = (&current["averageUtilization"], &target["averageUtilization"]);
            let percent = || format!("{}/{}", percent(current, "<unknown>"), percent(wanted, "<auto>"));
            format!("{}: {}", text(&metric[kind]["name"]), average.unwrap_or_else(percent))
        }
        ("pods", Some(average)) => average,
        (_, Some(average)) => format!("{average} (avg)"),
        (_, None) => format!("{}/{}", known(&current["value"]), known(&target["value"])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_autoscaler_shows_current_and_target_values() {
        let cpu = |target: Value| json!({"type": "Resource", "resource": {"name": "cpu", "target": target}});
        let queue = json!({"type": "External", "external": {"target": {"averageValue": "5"}}});
        let check = |wanted: Value, measured: Value, expected: &str| {
            let tree = json!({"spec": {"metrics": wanted}, "status": {"currentMetrics": measured}});
            assert_eq!(metrics(&tree), expected);
        };
        check(json!(null), json!(null), "<none>");
        check(json!([cpu(json!({"averageUtilization": 80}))]), json!(null), "cpu: <unknown>/80%");
        let measured =
            json!([{"type": "Resource", "resource": {"current": {"averageUtilization": 7, "averageValue": "1m"}}}]);
        check(json!([cpu(json!({"averageUtilization": 80}))]), measured.clone(), "cpu: 7%/80%");
        check(json!([cpu(json!({"averageValue": "2"})), queue]), measured, "cpu: 1m/2, <unknown>/5 (avg)");
        check(json!([queue, queue, {"type": "Luck"}]), json!([]), "<unknown>/5 (avg), <unknown>/5 (avg) + 1 more...");
    }
}
