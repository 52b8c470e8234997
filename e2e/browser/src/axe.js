// SPDX-License-Identifier: Apache-2.0
// Violations that axe-core finds in a page. The expression returns a promise of a list of texts: `axe RULE: violation, place`.
axe.run(document, {
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  resultTypes: ["violations"],
}).then((found) => found.violations.flatMap((rule) => rule.nodes.map((node) =>
  "axe " + rule.id + ": " + rule.help + ", " + node.html.replace(/\s+/g, " ").slice(0, 120))))
