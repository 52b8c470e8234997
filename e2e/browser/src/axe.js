// SPDX-License-Identifier: Apache-2.0
// What axe-core finds wrong with a page. An expression that gives a promise of a list of texts: `axe RULE: what is wrong, where`.
// The bar of time keeps its place while one scrolls, and axe-core takes what lies under it for a target that is too small: it is
// looked at where it stands at the end of the page.
document.querySelector("#timebar")?.style.setProperty("position", "static");
axe.run(document, {
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  resultTypes: ["violations"],
}).then((found) => found.violations.flatMap((rule) => rule.nodes.map((node) =>
  "axe " + rule.id + ": " + rule.help + ", " + node.html.replace(/\s+/g, " ").slice(0, 120)))).finally(() => document.querySelector("#timebar")?.style.removeProperty("position"))
