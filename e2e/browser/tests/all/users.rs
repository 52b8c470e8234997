// SPDX-License-Identifier: Apache-2.0
//! A user who is not the landscape's administrator.

use crate::support::{evening, garden, manifest, with_browser};

#[test]
fn another_user_sees_only_permitted_objects() {
    with_browser("user", |browser| async move {
        let sandbox = evening("user", &[]);
        let other = sandbox.file("other.yaml", "apiVersion: core.gardener.cloud/v1beta1\nkind: Project\nmetadata: {name: other}\nspec: {namespace: garden-other}\n");
        garden(&sandbox, &["apply", "-f", &other]);
        sandbox.terrarium(&["clock", "advance", "1m"]);
        let text = std::fs::read_to_string(manifest("shoot")).expect("the manifest is there");
        let text = text
            .replace("garden-demo", "garden-other")
            .replace("{name: local, namespace: garden-other}\nspec", "{name: hidden, namespace: garden-other}\nspec");
        garden(&sandbox, &["apply", "-f", &sandbox.file("hidden.yaml", &text)]);
        let role = ["create", "role", "look", "--verb=get,list,watch", "--resource=shoots.core.gardener.cloud"];
        garden(&sandbox, &[&["-n", "garden-demo"], &role[..]].concat());
        garden(&sandbox, &["-n", "garden-demo", "create", "rolebinding", "look", "--role=look", "--user=eve"]);

        browser.log_in(&sandbox, &[]).await;
        browser.until_text("#list", "hidden").await;
        browser.log_in(&sandbox, &["--as", "eve"]).await;
        browser.until_text("footer", "You are eve").await;
        let list = browser.text("#list").await;
        assert!(list.contains("local") && !list.contains("hidden"), "{list}");
        for page in ["time", "forecast", "versions", "landscape", "clusters?filter=hidden"] {
            browser.open(page).await;
            let text = browser.evaluate("document.querySelector('main').textContent").await.to_string();
            let bar = browser.evaluate("document.querySelector('#timebar').textContent").await.to_string();
            assert!(!text.replace("clusters?filter=hidden", "").contains("garden-other/hidden"), "{page}: {text}");
            assert!(!bar.contains("hidden"), "{page}: {bar}");
        }
        let _ = browser.problems().await;
        browser.open("clusters/other/hidden").await;
        browser.until_text("h1", "You may not see this").await;
        browser.expect_code(403).await;
        // The API refuses operations that he may not perform, with its own text.
        browser.open("clusters/demo/local").await;
        browser.follow("#overview form:has(input[value=reconcile]) button").await;
        browser.until_text("#messages", "403 Forbidden").await;
        browser.until_text("#messages", "eve").await;
        sandbox
    });
}
