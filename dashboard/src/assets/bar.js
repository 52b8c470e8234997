// SPDX-License-Identifier: Apache-2.0
// The handle of the time bar: dragged, or moved by keys. When it is let go, the page is loaded at that moment; what is done
// until it has come is not sent, so no more than one request is ever under way. The bar is live: it is looked for each time.
const byId = (id) => document.getElementById(id);
const bar = () => document.querySelector("[data-bar]");
const number = (slide, name) => Number(slide.dataset[name]);
let going = false;

function go(slide, seconds) {
  if (going) return;
  going = true;
  setTimeout(() => { going = false; }, 10000);
  const url = new URL(slide.dataset.bar, location.href);
  if (seconds < number(slide, "end")) url.searchParams.set("at", new Date(seconds * 1000).toISOString().slice(0, 19) + "Z");
  location.assign(url);
}
function instant(slide, event) {
  const box = slide.getBoundingClientRect();
  const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  return Math.round(number(slide, "begin") + share * (number(slide, "end") - number(slide, "begin")));
}
const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
function show(slide, seconds) {
  const date = new Date(seconds * 1000);
  const text = date.toISOString().slice(0, 19).replace("T", " ");
  byId("bar-label").textContent = text;
  slide.setAttribute("aria-valuenow", String(seconds));
  slide.setAttribute("aria-valuetext", date.getUTCDate() + " " + MONTHS[date.getUTCMonth()] + " " + date.getUTCFullYear() + " " + text.slice(11, 16));
  const handle = document.querySelector("#timebar .handle");
  const [begin, end] = [number(slide, "begin"), number(slide, "end")];
  const x = String(900 * (seconds - begin) / Math.max(1, end - begin));
  handle.setAttribute("x1", x); handle.setAttribute("x2", x);
}

function prepare() {
  const slide = bar();
  if (!slide || !slide.hidden) return;
  slide.hidden = false;
  slide.addEventListener("pointerdown", (event) => {
    if (going) return;
    slide.setPointerCapture(event.pointerId);
    slide.dataset.busy = "";
    show(slide, instant(slide, event));
    const move = (moved) => show(slide, instant(slide, moved));
    const end = (ended) => {
      slide.removeEventListener("pointermove", move);
      slide.removeEventListener("pointerup", end);
      slide.removeEventListener("pointercancel", end);
      delete slide.dataset.busy;
      if (ended.type === "pointerup") go(slide, instant(slide, ended));
    };
    slide.addEventListener("pointermove", move);
    slide.addEventListener("pointerup", end);
    slide.addEventListener("pointercancel", end);
  });
  slide.addEventListener("keydown", (event) => {
    const at = Number(slide.getAttribute("aria-valuenow"));
    const to = { PageUp: at + 3600, PageDown: at - 3600, Home: number(slide, "begin"), End: number(slide, "end") }[event.key];
    const step = { ArrowLeft: "bar-previous", ArrowDown: "bar-previous", ArrowRight: "bar-next", ArrowUp: "bar-next" }[event.key];
    if (to !== undefined) { event.preventDefault(); go(slide, Math.max(to, number(slide, "begin"))); }
    if (step) { event.preventDefault(); follow(byId(step) || (step === "bar-next" && byId("bar-now"))); }
  });
}
function follow(target) {
  if (!target || going) return;
  going = true;
  setTimeout(() => { going = false; }, 10000);
  target.click();
}
prepare();
addEventListener("pageshow", () => { going = false; });
document.addEventListener("region", (event) => { if (event.detail === "timebar") prepare(); });
document.addEventListener("keydown", (event) => {
  if (!document.documentElement.dataset.keys || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea, [contenteditable], [role=slider]")) return;
  const target = byId({ "[": "bar-previous", "]": "bar-next", ".": "bar-now" }[event.key] || "");
  if (target) { event.preventDefault(); follow(target); }
});
