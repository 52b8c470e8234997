// SPDX-License-Identifier: Apache-2.0
// The handle of the time bar: dragged, or moved by keys. When it is let go, the page is loaded at that moment; so no more
// than one request is ever under way.
const slide = document.querySelector("[data-bar]");
const link = (id) => document.getElementById(id);

function go(seconds) {
  const url = new URL(slide.dataset.bar, location.href);
  if (seconds < Number(slide.dataset.end)) url.searchParams.set("at", new Date(seconds * 1000).toISOString().slice(0, 19) + "Z");
  location.assign(url);
}
function instant(event) {
  const box = slide.getBoundingClientRect();
  const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  const [begin, end] = [Number(slide.dataset.begin), Number(slide.dataset.end)];
  return Math.round(begin + share * (end - begin));
}
function show(seconds) {
  const text = new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");
  link("bar-label").textContent = text;
  slide.setAttribute("aria-valuenow", String(seconds));
  slide.setAttribute("aria-valuetext", text);
  const handle = document.querySelector("#timebar .handle");
  const [begin, end] = [Number(slide.dataset.begin), Number(slide.dataset.end)];
  const x = String(900 * (seconds - begin) / Math.max(1, end - begin));
  handle.setAttribute("x1", x); handle.setAttribute("x2", x);
}

if (slide) {
  slide.hidden = false;
  slide.addEventListener("pointerdown", (event) => {
    slide.setPointerCapture(event.pointerId);
    show(instant(event));
    const move = (moved) => show(instant(moved));
    const end = (ended) => {
      slide.removeEventListener("pointermove", move);
      if (ended.type === "pointerup") go(instant(ended));
    };
    slide.addEventListener("pointermove", move);
    slide.addEventListener("pointerup", end, { once: true });
    slide.addEventListener("pointercancel", end, { once: true });
  });
  slide.addEventListener("keydown", (event) => {
    const at = Number(slide.getAttribute("aria-valuenow"));
    const to = { PageUp: at + 3600, PageDown: at - 3600, Home: Number(slide.dataset.begin), End: Number(slide.dataset.end) }[event.key];
    const step = { ArrowLeft: "bar-previous", ArrowDown: "bar-previous", ArrowRight: "bar-next", ArrowUp: "bar-next" }[event.key];
    if (to !== undefined) { event.preventDefault(); go(Math.max(to, Number(slide.dataset.begin))); }
    if (step) { event.preventDefault(); const target = link(step) || (step === "bar-next" && link("bar-now")); if (target) target.click(); }
  });
}
document.addEventListener("keydown", (event) => {
  if (!document.documentElement.dataset.keys || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea, [contenteditable], [role=slider]")) return;
  const target = link({ "[": "bar-previous", "]": "bar-next", ".": "bar-now" }[event.key] || "");
  if (target) { event.preventDefault(); target.click(); }
});
