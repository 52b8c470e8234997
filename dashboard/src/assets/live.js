// SPDX-License-Identifier: Apache-2.0
// Live regions, copying, and keys. Every page works without it.
const trusted = window.trustedTypes
  ? window.trustedTypes.createPolicy("terrarium", { createHTML: (text) => text })
  : { createHTML: (text) => text };
const byId = (id) => document.getElementById(id);

// --- messages for who cannot see the page: at most one in five seconds, the last one always -----------------------
let spoken = 0, waiting = null;
function say(text) {
  const place = byId("live");
  if (!place) return;
  clearTimeout(waiting);
  const wait = Math.max(0, spoken + 5000 - performance.now());
  waiting = setTimeout(() => { spoken = performance.now(); place.textContent = text; }, wait);
}

// --- regions -------------------------------------------------------------------------------------------------------
// What a person has chosen or typed in a region outlives its replacement.
function keep(region) {
  const kept = { open: [], values: [], focus: null, scrolled: [] };
  region.querySelectorAll("details").forEach((it, at) => { if (it.open !== it.hasAttribute("data-opens")) kept.open.push(at); });
  region.querySelectorAll("input, select, textarea").forEach((it) => {
    if (it.type === "hidden") return;
    const key = it.id || (it.name + "=" + (it.type === "checkbox" ? it.value : ""));
    if (it.type === "checkbox") { if (it.checked !== it.defaultChecked) kept.values.push([key, it.checked]); }
    else if (it.value !== it.defaultValue) kept.values.push([key, it.value]);
  });
  region.querySelectorAll(".scrolled, .picture").forEach((it, at) => kept.scrolled.push([at, it.scrollLeft]));
  const active = document.activeElement;
  if (active && region.contains(active)) {
    const all = [...region.querySelectorAll("a, button, input, select, textarea, summary, [tabindex]")];
    kept.focus = { id: active.id, at: all.indexOf(active), start: active.selectionStart, end: active.selectionEnd };
  }
  return kept;
}
function restore(region, kept) {
  const details = region.querySelectorAll("details");
  kept.open.forEach((at) => { if (details[at]) details[at].open = true; });
  const fields = [...region.querySelectorAll("input, select, textarea")];
  for (const [key, value] of kept.values) {
    const field = fields.find((it) => (it.id || (it.name + "=" + (it.type === "checkbox" ? it.value : ""))) === key);
    if (!field) continue;
    if (typeof value === "boolean") field.checked = value; else field.value = value;
  }
  const wide = region.querySelectorAll(".scrolled, .picture");
  kept.scrolled.forEach(([at, left]) => { if (wide[at]) wide[at].scrollLeft = left; });
  if (kept.focus) {
    const all = [...region.querySelectorAll("a, button, input, select, textarea, summary, [tabindex]")];
    const place = (kept.focus.id && byId(kept.focus.id)) || all[kept.focus.at];
    if (place) {
      place.focus({ preventScroll: true });
      if (kept.focus.start !== undefined && kept.focus.start !== null && place.setSelectionRange) {
        try { place.setSelectionRange(kept.focus.start, kept.focus.end); } catch { /* not a text */ }
      }
    }
  }
}
function replace({ id, hash, html }) {
  const region = byId(id);
  if (!region || region.dataset.region === hash) return;
  const kept = keep(region);
  region.innerHTML = trusted.createHTML(html);
  region.dataset.region = hash;
  restore(region, kept);
  prepare(region);
  document.dispatchEvent(new CustomEvent("region", { detail: id }));
}

// --- the stream ----------------------------------------------------------------------------------------------------
let source = null, attempts = 0, lost = null;
function banner(text) {
  let place = byId("lost");
  if (!text) { if (place) place.remove(); return; }
  if (!place) {
    place = document.createElement("div");
    place.id = "lost"; place.className = "message m-warning lost"; place.setAttribute("role", "status");
    document.body.prepend(place);
  }
  place.textContent = text;
}
function open() {
  const page = document.body.dataset.live;
  if (!page) return;
  const query = new URLSearchParams({ page });
  document.querySelectorAll("[data-region]").forEach((it) => query.append("region", it.id + ":" + it.dataset.region));
  source = new EventSource("/dashboard/stream?" + query);
  const data = (act) => (event) => act(JSON.parse(event.data));
  source.addEventListener("open", () => { attempts = 0; clearTimeout(lost); lost = null; banner(""); });
  source.addEventListener("clock", data(replace));
  source.addEventListener("region", data((region) => { replace(region); say("The page shows something new"); }));
  source.addEventListener("gone", () => { source.close(); location.reload(); });
  source.addEventListener("behind", () => again());
  source.addEventListener("over", () => { source.close(); banner("This page is not updated any more: load it again."); });
  source.addEventListener("error", () => again());
}
function again() {
  source.close();
  attempts += 1;
  if (!lost) lost = setTimeout(() => {
    banner("The landscape does not answer. This page shows what was last known, and asks again.");
    say("The landscape does not answer");
  }, 1500);
  if (attempts > 12) { banner("Landscape stopped. `terrarium up` resumes it; then load this page again."); return; }
  setTimeout(open, Math.min(8000, 250 * 2 ** attempts));
}

// --- copying -------------------------------------------------------------------------------------------------------
function prepare(root) {
  root.querySelectorAll("[data-copy]").forEach((button) => {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(byId(button.dataset.copy).textContent);
      button.textContent = "Copied"; say("Copied");
    });
  });
  root.querySelectorAll("[data-all]").forEach((box) => {
    box.hidden = false;
    box.addEventListener("change", () => {
      root.querySelectorAll('input[name="' + box.dataset.all + '"]').forEach((it) => { it.checked = box.checked; });
    });
  });
}

// --- keys ----------------------------------------------------------------------------------------------------------
let leading = false;
document.addEventListener("keydown", (event) => {
  if (!document.documentElement.dataset.keys || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea, [contenteditable], [role=slider]")) return;
  if (leading) {
    leading = false;
    const link = document.querySelector('nav a[data-key="' + CSS.escape(event.key) + '"]');
    if (link) { event.preventDefault(); link.click(); }
    return;
  }
  if (event.key === "g") { leading = true; setTimeout(() => { leading = false; }, 1500); }
  else if (event.key === "/") { event.preventDefault(); byId("search").focus(); }
  else if (event.key === "?") { const keys = byId("keys"); keys.open = !keys.open; keys.querySelector("summary").focus(); }
  else if (event.key === " " && !event.target.closest("a, button, summary")) {
    const field = [...document.querySelectorAll('#clock input[name="command"]')].find((it) => /^(pause|resume)$/.test(it.value));
    if (field) { event.preventDefault(); field.form.requestSubmit(); }
  }
});

prepare(document);
open();
addEventListener("pagehide", () => source && source.close());
addEventListener("pageshow", (event) => { if (event.persisted) open(); });
