// SPDX-License-Identifier: Apache-2.0
// Expiration dates and starts of stages that are dragged, and pictures of time that are clicked. A date that was moved becomes a field of the
// page's address, or fills in a form and sends it; so the server says what comes of it.
const DAY = 86400;
// What is moved until the answer has come is not sent: no more than one request is ever under way.
let going = false;
function leave(box) {
  going = true;
  box.setAttribute("aria-busy", "true");
  box.querySelectorAll("input[type=range]").forEach((input) => { input.disabled = true; });
  const place = document.getElementById("live");
  if (place) place.textContent = "The forecast is being made";
}

function dayOf(box, input) {
  if (Number(input.value) >= Number(input.max)) return null;
  return new Date((Number(box.dataset.dates) + Number(input.value) * DAY) * 1000).toISOString().slice(0, 10);
}
function take(box, input) {
  if (going) return;
  const [version, stage, day] = [input.dataset.version, input.dataset.stage, dayOf(box, input)];
  sessionStorage.setItem("dragged", input.id);
  if (box.dataset.form) {
    const form = document.getElementById(box.dataset.form);
    form.elements.version.value = version;
    if (stage) form.elements.stages.value = stage + "@" + (day || "none");
    else form.elements.expires.value = day || "none";
    form.requestSubmit(form.querySelector('button[value="look"]'));
    leave(box);
    return;
  }
  const url = new URL(location.href);
  // A stage that begins is a classification with a time; expiration is a field of its own.
  const begins = stage && stage !== "expired";
  const [field, start] = begins ? ["classify", version + "=" + stage + "@"] : [box.dataset.field, version + "="];
  const others = url.searchParams.getAll(field).filter((text) => text && !text.startsWith(start));
  url.searchParams.delete(field);
  others.forEach((text) => url.searchParams.append(field, text));
  if (day) url.searchParams.append(field, start + day);
  location.assign(url);
  leave(box);
}
// Who comes back to a page that the browser has kept may drag again.
addEventListener("pageshow", () => {
  going = false;
  document.querySelectorAll("[data-dates] input[type=range]").forEach((input) => { input.disabled = false; });
});
function prepare(root) {
  root.querySelectorAll("[data-dates]").forEach((box) => {
    if (!box.hidden) return;
    box.hidden = false;
    box.querySelectorAll("input[type=range]").forEach((input) => {
      let waiting = null;
      input.addEventListener("input", () => {
        clearTimeout(waiting);
        const text = dayOf(box, input) || "no date";
        input.setAttribute("aria-valuetext", text);
        document.getElementById(input.id + "-text").textContent = text;
      });
      // Each press of an arrow is a change: the last one counts.
      input.addEventListener("change", () => { clearTimeout(waiting); waiting = setTimeout(() => take(box, input), 700); });
    });
    const dragged = document.getElementById(sessionStorage.getItem("dragged") || "");
    if (dragged && box.contains(dragged)) { box.open = true; dragged.focus(); sessionStorage.removeItem("dragged"); }
  });
}

prepare(document);
document.addEventListener("region", (event) => prepare(document.getElementById(event.detail)));
document.addEventListener("click", (event) => {
  const part = event.target.closest("[data-at]");
  if (part) location.assign(part.dataset.at);
});
