// SPDX-License-Identifier: Apache-2.0
// Live regions, copying, and keys. Every page works without it.
const trusted = window.trustedTypes
  ? window.trustedTypes.createPolicy("terrarium", { createHTML: (text) => text })
  : { createHTML: (text) => text };
const byId = (id) => document.getElementById(id);

// --- messages for screen readers: at most one in five seconds, the last one always --------------------------------
let spoken = 0, waiting = null;
function say(text) {
  const place = byId("live");
  if (!place) return;
  clearTimeout(waiting);
  const wait = Math.max(0, spoken + 5000 - performance.now());
  waiting = setTimeout(() => { spoken = performance.now(); place.textContent = text; }, wait);
}

// --- regions -------------------------------------------------------------------------------------------------------
// The user's selections and input in a region are kept when it is replaced.
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
  // A dragged element stays under the pointer.
  if (!region || region.dataset.region === hash || region.querySelector("[data-busy]")) return;
  const kept = keep(region);
  region.innerHTML = trusted.createHTML(html);
  region.dataset.region = hash;
  restore(region, kept);
  prepare(region);
  document.dispatchEvent(new CustomEvent("region", { detail: id }));
}

// --- the stream ----------------------------------------------------------------------------------------------------
let source = null, attempts = 0, lost = null, heard = 0;
const PATIENCE = 2000;
function banner(text) {
  let place = byId("lost");
  if (!text) { if (place) place.remove(); return; }
  if (!place) {
    place = document.createElement("div");
    place.id = "lost"; place.className = "message m-warning lost";
    document.body.prepend(place);
  }
  if (place.textContent !== text) say(text);
  place.textContent = text;
}
// Pages with a form that the user fills in receive only the time.
const hasTimeAlone = document.body.dataset.only === "time";
const isLive = (id) => !hasTimeAlone || id === "clock" || id === "timebar";
function open() {
  const page = document.body.dataset.live;
  if (!page) return;
  const query = new URLSearchParams({ page });
  if (hasTimeAlone) query.set("only", "time");
  document.querySelectorAll("[data-region]").forEach((it) => { if (isLive(it.id)) query.append("region", it.id + ":" + it.dataset.region); });
  source = new EventSource("/dashboard/stream?" + query);
  const data = (act) => (event) => act(JSON.parse(event.data));
  heard = performance.now();
  ["open", "clock", "region", "trouble", "alive"].forEach((name) => source.addEventListener(name, () => { heard = performance.now(); }));
  source.addEventListener("open", () => { attempts = 0; clearTimeout(lost); lost = null; banner(""); });
  source.addEventListener("clock", data(replace));
  source.addEventListener("region", data((region) => { replace(region); if (region.id !== "timebar") say("The page shows something new"); }));
  source.addEventListener("gone", () => { source.close(); location.reload(); });
  source.addEventListener("behind", () => again());
  source.addEventListener("trouble", data(({ text }) => banner(text)));
  source.addEventListener("over", () => { source.close(); poll(""); });
  source.addEventListener("error", () => again());
}
function again() {
  source.close();
  attempts += 1;
  if (!lost) lost = setTimeout(() => {
    banner("The landscape does not answer. This page shows what was last known, and asks again.");
  }, 400);
  if (attempts > 5) banner("Landscape stopped. `terrarium up` resumes it.");
  if (attempts < 400) setTimeout(reopen, Math.min(8000, 250 * 2 ** attempts));
}
// A host that is stopped or disconnected sends nothing more, and does not close the stream either.
setInterval(() => { if (source && source.readyState !== EventSource.CLOSED && performance.now() - heard > PATIENCE) again(); }, 500);
// Sessions end with their host: then a stream is always refused, and only an answer has the reason.
async function reopen() {
  try {
    const answer = await fetch("/dashboard/session", { cache: "no-store", signal: AbortSignal.timeout(3000) });
    if (answer.status === 401) {
      clearTimeout(lost); lost = null;
      banner("You are logged out: sessions end with their landscape. `terrarium dashboard` opens these pages again.");
      return;
    }
  } catch { /* Nobody answers yet. */ }
  open();
}

function draw(text) {
  const page = new DOMParser().parseFromString(trusted.createHTML(text), "text/html");
  page.querySelectorAll("[data-region]").forEach((it) => isLive(it.id) && replace({ id: it.id, hash: it.dataset.region, html: it.innerHTML }));
}
// A page without a stream (a session has four) checks every two seconds whether it has changed.
async function poll(tag) {
  try {
    const answer = await fetch(location.href, { cache: "no-store", headers: tag ? { "If-None-Match": tag } : {} });
    if (answer.status === 401) { location.reload(); return; }
    banner("");
    if (answer.ok) {
      tag = answer.headers.get("ETag") || "";
      draw(await answer.text());
    }
  } catch { banner("The landscape does not answer. This page shows what was last known, and asks again."); }
  setTimeout(poll, 2000, tag);
}

// The rows of a list without the page around them.
function part(link) {
  const url = new URL(link, location.href);
  url.pathname = url.pathname.replace(/clusters$/, "rows");
  return url;
}

// --- the filter of the list, while the user types: only the last answer is shown ------------------------------------
let typing = null, asking = null;
document.addEventListener("input", (event) => {
  if (event.target.id !== "filter") return;
  clearTimeout(typing);
  typing = setTimeout(async () => {
    const url = new URL(location.href);
    url.searchParams.delete("page");
    url.searchParams.delete("windows");
    if (event.target.value) url.searchParams.set("filter", event.target.value); else url.searchParams.delete("filter");
    if (asking) asking.abort();
    asking = new AbortController();
    try {
      const answer = await fetch(part(url), { cache: "no-store", signal: asking.signal });
      if (!answer.ok) return;
      draw(await answer.text());
      history.replaceState(null, "", url);
      if (document.body.dataset.live) { document.body.dataset.live = url.pathname + url.search; source.close(); open(); }
    } catch { /* Another key was pressed, or nobody answers: the stream says so. */ }
  }, 150);
});

// --- the next rows of the list, when the user scrolls to its end -----------------------------------------------------
let fetching = false;
const end = new IntersectionObserver((seen) => { if (seen.some((it) => it.isIntersecting)) more(seen.at(-1).target); }, { rootMargin: "600px" });
async function more(pager) {
  const next = pager.dataset.next;
  if (!next || fetching || !pager.isConnected) return;
  fetching = true;
  try {
    const answer = await fetch(part(next), { cache: "no-store" });
    // A live region may have been drawn again meanwhile, and a filter typed.
    if (answer.ok && pager.isConnected) {
      const url = new URL(next, location.href);
      history.replaceState(null, "", url);
      draw(await answer.text());
      if (document.body.dataset.live) { document.body.dataset.live = url.pathname + url.search; source.close(); open(); }
    }
  } catch { /* Nobody answers: the stream says so, and the links stay. */ }
  fetching = false;
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
  root.querySelectorAll("[data-next]").forEach((pager) => end.observe(pager));
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
if (byId("messages")?.textContent) say(byId("messages").textContent);
open();
addEventListener("pagehide", () => source && source.close());
addEventListener("pageshow", (event) => { if (event.persisted) open(); });
