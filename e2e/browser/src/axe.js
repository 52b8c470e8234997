// SPDX-License-Identifier: Apache-2.0
// What axe-core finds wrong with a page. An expression that gives a promise of a list of texts: `axe RULE: what is wrong, where`.
axe.run(document, {
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  resultTypes: ["violations"],
}).then((found) => found.violations.flatMap((rule) => rule.nodes.map((node) =>
  "axe " + rule.id + ": " + rule.help + ", " + node.html.replace(/\s+/g, " ").slice(0, 120))))
