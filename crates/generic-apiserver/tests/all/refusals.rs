// SPDX-License-Identifier: Apache-2.0
//! Refused requests, with the texts of the real server, in one table.

use serde_json::json;

use crate::support::World;

const WIDGETS: &str = "/clusters/a/apis/example.com/v1/namespaces/n/widgets";
const GADGETS: &str = "/clusters/a/apis/custom.example.com/v1alpha1/namespaces/n/gadgets";

/// One refused request: method, path below `/clusters/a`, media type, body, code, reason, message.
type Row = (&'static str, &'static str, &'static str, &'static str, u16, &'static str, &'static str);

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const PATCH: &str = "application/json-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const W: &str = "/apis/example.com/v1/namespaces/n/widgets";
const WW: &str = "/apis/example.com/v1/namespaces/n/widgets/w";
const WS: &str = "/apis/example.com/v1/namespaces/n/widgets/w/status";
const G: &str = "/apis/custom.example.com/v1alpha1/namespaces/n/gadgets/g";

const REFUSED: &[Row] = &[
    (
        "GET",
        "/apis/example.com/v1/namespaces/n/widgets/x",
        JSON,
        "",
        404,
        "NotFound",
        "widgets.example.com \"x\" not found",
    ),
    (
        "PUT",
        "/apis/example.com/v1/namespaces/n/widgets/x",
        JSON,
        r#"{"metadata":{"name":"x"}}"#,
        404,
        "NotFound",
        "widgets.example.com \"x\" not found",
    ),
    (
        "PATCH",
        "/apis/example.com/v1/namespaces/n/widgets/x",
        MERGE,
        "{}",
        404,
        "NotFound",
        "widgets.example.com \"x\" not found",
    ),
    (
        "DELETE",
        "/apis/example.com/v1/namespaces/n/widgets/x",
        JSON,
        "",
        404,
        "NotFound",
        "widgets.example.com \"x\" not found",
    ),
    (
        "POST",
        "/apis/example.com/v1/widgets",
        JSON,
        r#"{"metadata":{"name":"x"}}"#,
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
    ),
    (
        "POST",
        WW,
        JSON,
        r#"{"metadata":{"name":"x"}}"#,
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
    ),
    (
        "PATCH",
        "/apis/example.com/v1/namespaces/n/widgets",
        JSON,
        "{}",
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
    ),
    ("POST", W, JSON, r#"{"metadata":{"name":"w"}}"#, 409, "AlreadyExists", "widgets.example.com \"w\" already exists"),
    (
        "POST",
        W,
        JSON,
        r#"{"metadata":{}}"#,
        422,
        "Invalid",
        "Widget.example.com \"\" is invalid: metadata.name: Required value: name or generateName is required",
    ),
    (
        "POST",
        W,
        JSON,
        r#"{"metadata":{"name":"y","resourceVersion":"1"}}"#,
        500,
        "",
        "resourceVersion should not be set on objects to be created",
    ),
    (
        "POST",
        W,
        JSON,
        r#"{"metadata":{"name":"y","namespace":"m"}}"#,
        400,
        "BadRequest",
        "the namespace of the provided object does not match the namespace sent on the request",
    ),
    (
        "POST",
        "/apis/example.com/v1/namespaces/none/widgets",
        JSON,
        r#"{"metadata":{"name":"y"}}"#,
        404,
        "NotFound",
        "namespaces \"none\" not found",
    ),
    (
        "POST",
        W,
        JSON,
        r#"{"metadata":{"name":"y"},"spec":{"size":-1}}"#,
        422,
        "Invalid",
        "Widget.example.com \"y\" is invalid: spec.size: Invalid value: -1: must be greater than or equal to 0",
    ),
    (
        "POST",
        W,
        JSON,
        r#"{"metadata":{"name":"Y"}}"#,
        422,
        "Invalid",
        "Widget.example.com \"Y\" is invalid: metadata.name: Invalid value: \"Y\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ),
    (
        "POST",
        W,
        JSON,
        r#"{"apiVersion":"example.com/v2","metadata":{"name":"y"}}"#,
        400,
        "BadRequest",
        "Widget in version \"v2\" cannot be handled as a Widget: no kind \"Widget\" is registered for version \"example.com/v2\" in scheme \"pkg/api/legacyscheme/scheme.go:30\"",
    ),
    (
        "POST",
        W,
        JSON,
        r#"{"kind":"Wodget","metadata":{"name":"y"}}"#,
        400,
        "BadRequest",
        "Wodget in version \"v1\" cannot be handled as a Widget: no kind \"Wodget\" is registered for version \"example.com/v1\" in scheme \"pkg/api/legacyscheme/scheme.go:30\"",
    ),
    (
        "POST",
        W,
        JSON,
        r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"y"}}"#,
        400,
        "BadRequest",
        "Namespace in version \"v1\" cannot be handled as a Widget: converting (v1.Namespace) to (example.Widget): unknown conversion",
    ),
    (
        "POST",
        "/apis/custom.example.com/v1alpha1/namespaces/n/gadgets",
        JSON,
        r#"{"kind":"Gudget","metadata":{"name":"y"}}"#,
        422,
        "Invalid",
        "Gadget.custom.example.com \"y\" is invalid: kind: Invalid value: \"Gudget\": must be Gadget",
    ),
    (
        "POST",
        "/apis/custom.example.com/v1alpha1/namespaces/n/gadgets",
        JSON,
        r#"{"apiVersion":"custom.example.com/v2","metadata":{"name":"y"}}"#,
        400,
        "BadRequest",
        "the API version in the data (custom.example.com/v2) does not match the expected API version (custom.example.com/v1alpha1)",
    ),
    (
        "POST",
        W,
        JSON,
        r#"{"metadata":{"name":"a long name"}"#,
        400,
        "BadRequest",
        "the object provided is unrecognized (must be of type Widget): couldn't get version/kind; json parse error: unexpected end of JSON input ({\"metadata\":{\"name\":\"a long na ...)",
    ),
    (
        "POST",
        W,
        JSON,
        "x",
        400,
        "BadRequest",
        "the object provided is unrecognized (must be of type Widget): couldn't get version/kind; json parse error: invalid character 'x' looking for beginning of value (78)",
    ),
    (
        "POST",
        W,
        JSON,
        "",
        400,
        "BadRequest",
        "the object provided is unrecognized (must be of type Widget): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)",
    ),
    (
        "POST",
        W,
        JSON,
        "[]",
        400,
        "BadRequest",
        "the object provided is unrecognized (must be of type Widget): couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" } (5b5d)",
    ),
    (
        "POST",
        W,
        JSON,
        r#"{"kind":5}"#,
        400,
        "BadRequest",
        "the object provided is unrecognized (must be of type Widget): couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string ({\"kind\":5})",
    ),
    (
        "PUT",
        WW,
        JSON,
        r#"{"metadata":{"name":"w","resourceVersion":"x"}}"#,
        500,
        "",
        "strconv.ParseUint: parsing \"x\": invalid syntax",
    ),
    (
        "PATCH",
        WW,
        MERGE,
        r#"{"metadata":{"resourceVersion":"99999999999999999999"}}"#,
        500,
        "",
        "strconv.ParseUint: parsing \"99999999999999999999\": value out of range",
    ),
    (
        "PATCH",
        WW,
        MERGE,
        r#"{"metadata":{"deletionTimestamp":"2023-07-27T21:00:00Z","deletionGracePeriodSeconds":5}}"#,
        422,
        "Invalid",
        "Widget.example.com \"w\" is invalid: [metadata.deletionTimestamp: Invalid value: 2023-07-27 21:00:00 +0000 UTC: field is immutable, metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable]",
    ),
    (
        "POST",
        G,
        JSON,
        "{}",
        405,
        "MethodNotAllowed",
        "create is not supported on resources of kind \"gadgets.custom.example.com\"",
    ),
    (
        "POST",
        W,
        "text/plain",
        "x",
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
    ),
    (
        "POST",
        "/apis/example.com/v1/namespaces/n/widgets?fieldValidation=Strict",
        JSON,
        r#"{"metadata":{"name":"y"},"spec":{"sise":1,"size":1,"size":2}}"#,
        400,
        "BadRequest",
        "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: unknown field \"spec.sise\", duplicate field \"spec.size\"",
    ),
    (
        "POST",
        "/apis/example.com/v1/namespaces/n/widgets?fieldValidation=Maybe",
        JSON,
        r#"{"metadata":{"name":"y"}}"#,
        422,
        "Invalid",
        "CreateOptions.meta.k8s.io \"\" is invalid: fieldValidation: Unsupported value: \"Maybe\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"",
    ),
    (
        "POST",
        "/apis/example.com/v1/namespaces/n/widgets?dryRun=x",
        JSON,
        r#"{"metadata":{"name":"y"}}"#,
        422,
        "Invalid",
        "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"x\"]: supported values: \"All\"",
    ),
    (
        "PUT",
        WW,
        JSON,
        r#"{"metadata":{"name":"v"}}"#,
        400,
        "BadRequest",
        "the name of the object (v) does not match the name on the URL (w)",
    ),
    (
        "PUT",
        WW,
        JSON,
        "{}",
        400,
        "BadRequest",
        "the name of the object (w based on URL) was undeterminable: name must be provided",
    ),
    (
        "PUT",
        WW,
        JSON,
        r#"{"metadata":{"name":"w"}}"#,
        422,
        "Invalid",
        "widgets.example.com \"w\" is invalid: metadata.resourceVersion: Invalid value: 0x0: must be specified for an update",
    ),
    (
        "PUT",
        WW,
        JSON,
        r#"{"metadata":{"name":"w","resourceVersion":"1"}}"#,
        409,
        "Conflict",
        "Operation cannot be fulfilled on widgets.example.com \"w\": the object has been modified; please apply your changes to the latest version and try again",
    ),
    (
        "PATCH",
        WW,
        MERGE,
        r#"{"metadata":{"resourceVersion":"1"}}"#,
        409,
        "Conflict",
        "Operation cannot be fulfilled on widgets.example.com \"w\": the object has been modified; please apply your changes to the latest version and try again",
    ),
    (
        "PATCH",
        WW,
        MERGE,
        r#"{"metadata":{"uid":"x"}}"#,
        422,
        "Invalid",
        "Widget.example.com \"w\" is invalid: metadata.uid: Invalid value: \"x\": field is immutable",
    ),
    (
        "PATCH",
        WS,
        MERGE,
        r#"{"metadata":{"name":"v"}}"#,
        400,
        "BadRequest",
        "the name of the object (v) does not match the name on the URL (w)",
    ),
    ("PATCH", WW, MERGE, "[]", 400, "BadRequest", "error decoding patch: the patch is not a JSON object"),
    ("PATCH", WW, MERGE, "{", 400, "BadRequest", "error decoding patch: unexpected end of JSON input"),
    (
        "PATCH",
        WW,
        STRATEGIC,
        r#"{"spec":{"size":"much"}}"#,
        422,
        "Invalid",
        " \"\" is invalid: patch: Invalid value: \"map[spec:map[size:much]]\": json: cannot unmarshal string into Go struct field WidgetSpec.spec.size of type int64",
    ),
    (
        "PATCH",
        "/apis/example.com/v1/namespaces/n/widgets/w?fieldValidation=Strict",
        STRATEGIC,
        r#"{"spec":{"sise":1}}"#,
        422,
        "Invalid",
        " \"\" is invalid: patch: Invalid value: \"map[spec:map[sise:1]]\": strict decoding error: unknown field \"spec.sise\"",
    ),
    (
        "PATCH",
        WW,
        MERGE,
        r#"{"spec":{"size":"much"}}"#,
        422,
        "Invalid",
        " \"\" is invalid: patch: Invalid value: \"{\\\"apiVersion\\\":\\\"example.com/v1\\\",\\\"kind\\\":\\\"Widget\\\",\\\"metadata\\\":{\\\"creationTimestamp\\\":\\\"2023-07-27T20:00:00Z\\\",\\\"generation\\\":1,\\\"name\\\":\\\"w\\\",\\\"namespace\\\":\\\"n\\\",\\\"resourceVersion\\\":\\\"5\\\",\\\"uid\\\":\\\"59af1971-c401-4174-b903-475c19414c43\\\"},\\\"spec\\\":{\\\"color\\\":\\\"grey\\\",\\\"size\\\":\\\"much\\\"},\\\"status\\\":{}}\": json: cannot unmarshal string into Go struct field WidgetSpec.spec.size of type int64",
    ),
    (
        "GET",
        "/apis/example.com/v1/namespaces/n/widgets/%2e%2e",
        JSON,
        "",
        400,
        "BadRequest",
        "Name parameter invalid: \"..\": may not be '..'",
    ),
    (
        "DELETE",
        "/apis/example.com/v1/namespaces/n/widgets/a%25",
        JSON,
        "",
        400,
        "BadRequest",
        "Name parameter invalid: \"a%\": may not contain '%'",
    ),
    (
        "DELETE",
        WW,
        JSON,
        r#"{"gracePeriodSeconds":"x"}"#,
        400,
        "BadRequest",
        "DeleteOptions in version \"v1\" cannot be handled as a DeleteOptions: json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
    ),
    (
        "GET",
        "/apis/example.com/v1/widgets?resourceVersionMatch=Some&continue=x",
        JSON,
        "",
        422,
        "Invalid",
        "ListOptions.meta.k8s.io \"\" is invalid: [resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided, resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided, resourceVersionMatch: Unsupported value: \"Some\": supported values: \"Exact\", \"NotOlderThan\", \"\"]",
    ),
    (
        "GET",
        "/apis/example.com/v1/widgets?continue=xx",
        JSON,
        "",
        400,
        "BadRequest",
        "invalid continue token: continue key is not valid: invalid character 'Ç' looking for beginning of value",
    ),
    (
        "GET",
        "/apis/example.com/v1/widgets?timeoutSeconds=x",
        JSON,
        "",
        400,
        "BadRequest",
        "strconv.ParseInt: parsing \"x\": invalid syntax",
    ),
    (
        "PUT",
        "/apis/example.com/v1/namespaces/n/widgets/w/scale",
        JSON,
        r#"{"spec":{"replicas":"x"}}"#,
        400,
        "BadRequest",
        "Scale in version \"v1\" cannot be handled as a Scale: json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32",
    ),
    (
        "PATCH",
        WW,
        PATCH,
        r#"[{"op":"test","path":"/spec/size","value":7}]"#,
        422,
        "Invalid",
        "the server rejected our request due to an error in our request",
    ),
    (
        "PATCH",
        WW,
        "application/apply-patch+yaml",
        "{}",
        422,
        "Invalid",
        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch",
    ),
    (
        "PATCH",
        WW,
        "application/vnd.kubernetes.protobuf",
        "{}",
        415,
        "UnsupportedMediaType",
        "415: Unsupported Media Type",
    ),
    (
        "PATCH",
        G,
        STRATEGIC,
        "{}",
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
    ),
    (
        "PATCH",
        "/apis/example.com/v1/namespaces/n/widgets/w?force=true",
        MERGE,
        "{}",
        422,
        "Invalid",
        "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified for non-apply patch",
    ),
    (
        "PATCH",
        "/apis/example.com/v1/namespaces/n/widgets/w?fieldValidation=Strict",
        MERGE,
        r#"{"spec":{"sise":1}}"#,
        422,
        "Invalid",
        " \"\" is invalid: patch: Invalid value: ",
    ),
    (
        "DELETE",
        WW,
        JSON,
        r#"{"propagationPolicy":"Never"}"#,
        422,
        "Invalid",
        "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported value: \"Never\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"",
    ),
    (
        "DELETE",
        WW,
        JSON,
        r#"{"propagationPolicy":"Orphan","orphanDependents":true}"#,
        422,
        "Invalid",
        "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Invalid value: \"Orphan\": orphanDependents and deletionPropagation cannot be both set",
    ),
    (
        "GET",
        "/apis/example.com/v1/widgets?labelSelector=%3D",
        JSON,
        "",
        400,
        "BadRequest",
        "found '=', expected: !, identifier, or 'end of string'",
    ),
    (
        "GET",
        "/apis/example.com/v1/widgets?fieldSelector=spec.size%3D1",
        JSON,
        "",
        400,
        "BadRequest",
        "field label not supported: spec.size",
    ),
    (
        "GET",
        "/apis/custom.example.com/v1alpha1/gadgets?fieldSelector=a%3D1",
        JSON,
        "",
        400,
        "BadRequest",
        "\"a\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
    ),
    (
        "GET",
        "/apis/example.com/v1/widgets?resourceVersion=x",
        JSON,
        "",
        400,
        "BadRequest",
        "invalid resource version: resourceVersion: Invalid value: \"x\": strconv.ParseUint: parsing \"x\": invalid syntax",
    ),
    (
        "GET",
        "/apis/example.com/v1/widgets?resourceVersionMatch=Exact",
        JSON,
        "",
        422,
        "Invalid",
        "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
    ),
    (
        "GET",
        "/apis/example.com/v1/widgets?resourceVersionMatch=Exact&resourceVersion=0",
        JSON,
        "",
        422,
        "Invalid",
        "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
    ),
    (
        "GET",
        "/apis/example.com/v1/widgets?sendInitialEvents=true",
        JSON,
        "",
        422,
        "Invalid",
        "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list",
    ),
    (
        "GET",
        "/apis/example.com/v1/widgets?continue=x&resourceVersion=5",
        JSON,
        "",
        400,
        "BadRequest",
        "specifying resource version is not allowed when using continue",
    ),
    (
        "GET",
        "/apis/example.com/v1/widgets?continue=bm8",
        JSON,
        "",
        400,
        "BadRequest",
        "invalid continue token: continue key is not valid: invalid character 'o' in literal null (expecting 'u')",
    ),
    (
        "GET",
        "/apis/example.com/v1/widgets?limit=1&continue=abc",
        JSON,
        "",
        400,
        "BadRequest",
        "invalid continue token: continue key is not valid: invalid character 'i' looking for beginning of value",
    ),
    (
        "GET",
        "/apis/example.com/v1/widgets?continue=x",
        JSON,
        "",
        400,
        "BadRequest",
        "invalid continue token: continue key is not valid: illegal base64 data at input byte 0",
    ),
    (
        "GET",
        "/apis/example.com/v1/widgets?continue=e30=",
        JSON,
        "",
        400,
        "BadRequest",
        "invalid continue token: continue key is not valid: illegal base64 data at input byte 3",
    ),
    (
        "GET",
        // {"v":"x"}
        "/apis/example.com/v1/widgets?limit=1&continue=eyJ2IjoieCJ9",
        JSON,
        "",
        400,
        "BadRequest",
        "invalid continue token: continue key is not valid: server does not recognize this encoded version x",
    ),
    (
        "GET",
        // {}
        "/apis/example.com/v1/widgets?continue=e30",
        JSON,
        "",
        400,
        "BadRequest",
        "invalid continue token: continue key is not valid: server does not recognize this encoded version ",
    ),
    (
        "GET",
        // null
        "/apis/example.com/v1/widgets?continue=bnVsbA",
        JSON,
        "",
        400,
        "BadRequest",
        "invalid continue token: continue key is not valid: server does not recognize this encoded version ",
    ),
    (
        "GET",
        // "x"
        "/apis/example.com/v1/widgets?continue=Ingi",
        JSON,
        "",
        400,
        "BadRequest",
        "invalid continue token: continue key is not valid: json: cannot unmarshal string into Go value of type storage.continueToken",
    ),
    (
        "GET",
        // {"v":1}
        "/apis/example.com/v1/widgets?continue=eyJ2IjoxfQ",
        JSON,
        "",
        400,
        "BadRequest",
        "invalid continue token: continue key is not valid: json: cannot unmarshal number into Go struct field continueToken.v of type string",
    ),
    (
        "GET",
        // {"v":"meta.k8s.io/v1","rv":"x"}
        "/apis/example.com/v1/widgets?continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6IngifQ",
        JSON,
        "",
        400,
        "BadRequest",
        "invalid continue token: continue key is not valid: json: cannot unmarshal string into Go struct field continueToken.rv of type int64",
    ),
    (
        "GET",
        // {"v":"meta.k8s.io/v1","rv":1.5}
        "/apis/example.com/v1/widgets?continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MS41fQ",
        JSON,
        "",
        400,
        "BadRequest",
        "invalid continue token: continue key is not valid: json: cannot unmarshal number 1.5 into Go struct field continueToken.rv of type int64",
    ),
    (
        "GET",
        "/apis/example.com/v1/widgets?continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI",
        JSON,
        "",
        400,
        "BadRequest",
        "invalid continue token: continue key is not valid: unexpected end of JSON input",
    ),
    (
        "GET",
        // {"v":"meta.k8s.io/v1","rv":1,"start":"n/../x"}
        "/apis/example.com/v1/widgets?continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJuLy4uL3gifQ",
        JSON,
        "",
        400,
        "BadRequest",
        "invalid continue token: continue key is not valid: n/../x",
    ),
    (
        "GET",
        "/apis/example.com/v1/widgets?continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6OTk5OTk5OTksInN0YXJ0IjoiYSJ9",
        JSON,
        "",
        400,
        "BadRequest",
        "invalid continue token: continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
    ),
    (
        "GET",
        "/apis/example.com/v1/widgets?limit=99999999999999999999",
        JSON,
        "",
        400,
        "BadRequest",
        "strconv.ParseInt: parsing \"99999999999999999999\": value out of range",
    ),
];

#[tokio::test]
async fn refusals_have_the_texts_of_the_real_server() {
    let world = World::new().await;
    world.send("POST", WIDGETS, &json!({"metadata": {"name": "w"}})).await.expect_code(201);
    world.send("POST", GADGETS, &json!({"metadata": {"name": "g"}})).await.expect_code(201);
    let before = world.server.position();
    for (method, path, media, body, code, reason, message) in REFUSED {
        let path = format!("/clusters/a{path}");
        let answer = world.raw(method, &path, &[("content-type", media)], *body).await;
        let status = answer.json();
        let told = status["message"].as_str().unwrap_or_default();
        assert_eq!(
            (answer.code, status["reason"].as_str().unwrap_or_default()),
            (*code, *reason),
            "{method} {path} {body}: {told}"
        );
        // Texts that end with a blank are followed by a text of the library.
        let same = if message.ends_with(' ') { told.starts_with(message) } else { told == *message };
        assert!(same, "{method} {path} {body}:\n  left: {told}\n right: {message}");
    }
    assert_eq!(world.server.position(), before, "refusals change nothing");
}

#[tokio::test]
async fn unknown_paths_are_not_found_in_plain_text() {
    let world = World::new().await;
    for path in [
        "/apis/example.org/v1/things",
        "/x",
        "/apis/custom.example.com/v1alpha1/things",
        "/apis/custom.example.com/v2/gadgets",
    ] {
        let answer = world.get(&format!("/clusters/a{path}")).await;
        assert_eq!((answer.code, answer.text.as_str()), (404, "404 page not found\n"), "{path}");
        assert_eq!(answer.headers["content-type"], "text/plain; charset=utf-8");
    }
    let answer = world.get("/clusters/c/version").await;
    answer.expect_failure(404, "NotFound", "clusters \"c\" not found");
}

#[tokio::test]
async fn a_body_above_three_mebibytes_is_too_large() {
    let world = World::new().await;
    let body = format!("{{\"metadata\":{{\"name\":\"{}\"}}}}", "x".repeat(3 * 1024 * 1024));
    let answer = world.raw("POST", WIDGETS, &[], body).await;
    answer.expect_failure(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728");
}

#[tokio::test]
async fn a_scale_that_a_patch_makes_something_else_is_refused() {
    let world = World::new().await;
    world.send("POST", WIDGETS, &json!({"metadata": {"name": "w"}})).await.expect_code(201);
    let path = format!("{WIDGETS}/w/scale");
    for (value, kind) in [(json!(1), "number"), (json!("x"), "string"), (json!([]), "array")] {
        let patch = json!([{"op": "replace", "path": "", "value": value}]);
        let text = format!(
            "Scale in version \"v1\" cannot be handled as a Scale: json: cannot unmarshal {kind} into Go value of type v1.Scale"
        );
        world.patch("json-patch+json", &path, &patch).await.expect_failure(400, "BadRequest", &text);
    }
}

#[tokio::test]
async fn annotations_above_256_kibibytes_are_refused() {
    let world = World::new().await;
    let of = |length: usize| json!({"metadata": {"name": "w", "annotations": {"a": "x".repeat(length)}}});
    world.send("POST", WIDGETS, &of(256 * 1024 - 1)).await.expect_code(201);
    let text = "Widget.example.com \"w\" is invalid: metadata.annotations: Too long: may not be more than 262144 bytes";
    let path = format!("{WIDGETS}/w");
    world.patch("merge-patch+json", &path, &of(256 * 1024)).await.expect_failure(422, "Invalid", text);
    let stored = world.get(&path).await.expect_code(200);
    assert_eq!(stored["metadata"]["annotations"]["a"].as_str().map(str::len), Some(256 * 1024 - 1));
}

#[tokio::test]
async fn an_object_above_the_limit_of_the_log_is_refused() {
    let world = World::new().await;
    let body =
        format!("{{\"metadata\":{{\"name\":\"big\"}},\"spec\":{{\"parts\":[\"{}\"]}}}}", "x".repeat(2 * 1024 * 1024));
    let answer = world.raw("POST", WIDGETS, &[], body).await;
    answer.expect_failure(500, "", "etcdserver: request is too large");
}

/// Allows reading one widget.
#[derive(Debug)]
struct OnlyW;

impl generic_apiserver::Authorizer for OnlyW {
    fn authorize(&self, question: &generic_apiserver::authorization::Question<'_>) -> Result<(), String> {
        if question.resource == "namespaces" || question.name == "w" { Ok(()) } else { Err(String::new()) }
    }
}

#[tokio::test]
async fn a_list_of_one_name_needs_its_permission_only() {
    let world = World::with(|builder| builder.authorizer(OnlyW)).await;
    let list = |fields: &str| format!("/clusters/a/apis/example.com/v1/namespaces/n/widgets?fieldSelector={fields}");
    assert_eq!(world.get(&list("metadata.name%3Dw")).await.code, 200);
    assert_eq!(world.get(&list("spec.color%3Dgrey,metadata.name%3Dw")).await.code, 200);
    assert_eq!(world.get(&list("metadata.name!%3Dw")).await.code, 403);
    assert_eq!(world.get(&list("")).await.code, 403);
}

#[tokio::test]
async fn field_managers_have_a_readable_name() {
    let world = World::new().await;
    let path = format!("/clusters/a/apis/example.com/v1/namespaces/n/widgets?fieldManager={}", "x".repeat(129));
    world.send("POST", &path, &serde_json::json!({"metadata": {"name": "w"}})).await.expect_failure(
        422,
        "Invalid",
        "CreateOptions.meta.k8s.io \"\" is invalid: fieldManager: Too long: may not be more than 128 bytes",
    );
}

#[tokio::test]
async fn violations_of_metadata_are_reported_with_all_others() {
    let world = World::new().await;
    let body = json!({"metadata": {"name": "w", "labels": {"a b": "c"}}, "spec": {"size": -1}});
    let refused = world.send("POST", WIDGETS, &body).await.expect_code(422);
    let causes = refused["details"]["causes"].as_array().expect("causes");
    let fields: Vec<&str> = causes.iter().filter_map(|cause| cause["field"].as_str()).collect();
    assert_eq!(fields, ["metadata.labels", "spec.size"], "{refused}");

    let body = json!({"metadata": {"name": "w"}, "spec": {"size": 1}});
    world.send("POST", WIDGETS, &body).await.expect_code(201);
    let both = json!({"metadata": {"labels": {"a b": "c"}}, "spec": {"size": -1}});
    let refused = world.patch("merge-patch+json", &format!("{WIDGETS}/w"), &both).await.expect_code(422);
    assert_eq!(refused["details"]["causes"].as_array().map(Vec::len), Some(2), "{refused}");
}
