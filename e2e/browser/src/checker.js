// SPDX-License-Identifier: Apache-2.0
// Barriers of a page for users without sight or pointer (WCAG 2.2 AA, as far as a program can check). The expression returns
// a list of texts: `RULE: violation, place`.
(() => {
  const wrong = [];
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const where = (it) => {
    const name = it.tagName.toLowerCase() + (it.id ? "#" + it.id : "") + (it.getAttribute("class") ? "." + it.getAttribute("class").trim().split(/\s+/).join(".") : "");
    return name + " “" + (it.textContent || it.getAttribute("aria-label") || "").trim().replace(/\s+/g, " ").slice(0, 40) + "”";
  };
  const say = (rule, text, it) => wrong.push(rule + ": " + text + (it ? ", " + where(it) : ""));
  const shown = (it) => it.checkVisibility({ checkOpacity: true, visibilityProperty: true, contentVisibilityAuto: true });
  const unseen = (it) => !!it.closest(".unseen");
  const text = (it) => (it ? it.textContent.trim().replace(/\s+/g, " ") : "");

  // --- the document -------------------------------------------------------------------------------------------------
  const root = document.documentElement;
  if (!/^[a-z]{2}/.test(root.lang)) say("lang", "the document names no language");
  if (!document.title.trim()) say("title", "the document has no title");
  if (root.scrollWidth > innerWidth) say("reflow", "the page is wider than the window: " + root.scrollWidth + " > " + innerWidth);
  for (const [selector, name] of [["main", "main"], ["body > header", "banner"], ["footer", "footer"]]) {
    const count = all(selector).length;
    if (count !== 1) say("landmark", count + " landmarks " + name);
  }
  const navigations = all("nav").filter(shown);
  if (navigations.length > 1) navigations.filter((it) => !named(it)).forEach((it) => say("landmark", "one of several navigations has no name", it));
  const skip = all("a[href^='#']")[0];
  if (!skip || !document.getElementById(skip.hash.slice(1))) say("bypass", "the first link does not lead to the content");

  // --- headings -----------------------------------------------------------------------------------------------------
  const headings = all("h1, h2, h3, h4, h5, h6").filter(shown);
  if (headings.filter((it) => it.tagName === "H1").length !== 1) say("headings", "not exactly one h1");
  let rank = 0;
  for (const it of headings) {
    const own = Number(it.tagName[1]);
    if (own > rank + 1) say("headings", "h" + own + " behind h" + rank, it);
    if (!text(it)) say("headings", "a heading without text", it);
    rank = own;
  }

  // --- ids and references -------------------------------------------------------------------------------------------
  const ids = new Set();
  for (const it of all("[id]")) { if (ids.has(it.id)) say("ids", "id " + it.id + " is there twice"); ids.add(it.id); }
  for (const key of ["for", "aria-labelledby", "aria-describedby", "aria-controls", "aria-owns"]) {
    for (const it of all("[" + key + "]")) {
      for (const id of it.getAttribute(key).split(/\s+/)) if (!ids.has(id)) say("ids", key + " names " + id + ", which is not there", it);
    }
  }
  const known = /^aria-(label|labelledby|describedby|hidden|live|current|sort|invalid|valuenow|valuemin|valuemax|valuetext|expanded|controls|owns|pressed|selected)$/;
  const roles = ["img", "region", "group", "search", "status", "note", "slider", "alert", "presentation", "none"];
  for (const it of all("*")) {
    for (const { name, value } of it.attributes) {
      if (name.startsWith("aria-") && !known.test(name)) say("aria", "attribute " + name, it);
      if (name === "role" && !roles.includes(value)) say("aria", "role " + value, it);
      if (name === "aria-sort" && !["ascending", "descending", "none"].includes(value)) say("aria", "aria-sort " + value, it);
      if (name === "tabindex" && Number(value) > 0) say("focus-order", "tabindex " + value, it);
    }
  }

  // --- names --------------------------------------------------------------------------------------------------------
  function named(it) {
    const by = it.getAttribute("aria-labelledby");
    if (by) return by.split(/\s+/).map((id) => text(document.getElementById(id))).join(" ").trim();
    const own = it.getAttribute("aria-label");
    if (own && own.trim()) return own.trim();
    if (it.labels && it.labels.length) return [...it.labels].map(text).join(" ").trim();
    if (it.matches("input[type=submit], input[type=button]")) return it.value.trim();
    if (it.matches("img")) return (it.getAttribute("alt") || "").trim();
    if (it.matches("a, button, summary, [role=note]")) return text(it) || (it.getAttribute("title") || "").trim();
    if (it.matches("fieldset")) return text(it.querySelector("legend"));
    if (it.matches("table")) return text(it.querySelector("caption"));
    return (it.getAttribute("title") || "").trim();
  }
  const controls = "a[href], button, input:not([type=hidden]), select, textarea, summary, [role=slider], [tabindex='0']";
  const operable = all(controls).filter((it) => shown(it) && !it.disabled);
  for (const it of operable) if (!named(it)) say("name", "no accessible name", it);
  for (const it of all("svg[role=img], [role=img], progress, fieldset, [role=region], [role=group], img").filter(shown)) {
    if (!named(it)) say("name", "no accessible name", it);
  }
  for (const it of all("svg").filter(shown)) if (it.getAttribute("role") !== "img" && it.getAttribute("aria-hidden") !== "true") say("name", "a picture that is neither an image nor hidden", it);
  for (const it of all("a[aria-label], button[aria-label]").filter(shown)) {
    if (!named(it).toLowerCase().includes(text(it).toLowerCase())) say("label-in-name", "its text is not in its name “" + named(it) + "”", it);
  }
  for (const it of all("[role=img], button, summary, a[href]")) {
    const within = all("a[href], button, input, select, textarea, [tabindex='0']", it).filter(shown)[0];
    if (within) say("nested", "something that can be focused is in what has no parts: " + where(within), it);
  }
  for (const it of all("[aria-hidden=true]")) if (it.matches(controls) || it.querySelector(controls)) say("hidden", "something that can be focused is hidden", it);

  // --- structure ----------------------------------------------------------------------------------------------------
  for (const it of all("table").filter(shown)) {
    if (!named(it)) say("table", "no caption", it);
    if (all("thead th", it).some((th) => th.getAttribute("scope") !== "col")) say("table", "a header of a column without scope", it);
    if (all("tbody tr", it).some((tr) => tr.querySelectorAll("th[scope=row]").length !== 1)) say("table", "a row without its header", it);
    if (all("thead th", it).some((th) => !text(th))) say("table", "an empty header", it);
    const width = all("thead th", it).length;
    const odd = all("tbody tr", it).find((tr) => tr.children.length !== width);
    if (odd) say("table", odd.children.length + " cells below " + width + " headers", it);
  }
  for (const it of all("ul, ol")) if ([...it.children].some((child) => child.tagName !== "LI")) say("list", "something else than items in it", it);
  for (const it of all("dl")) if ([...it.children].some((child) => !["DIV", "DT", "DD"].includes(child.tagName))) say("list", "something else than terms in it", it);
  for (const it of all("[role=slider]").filter(shown)) {
    for (const key of ["aria-valuenow", "aria-valuemin", "aria-valuemax", "aria-valuetext"]) if (!it.getAttribute(key)) say("slider", "no " + key, it);
    if (it.tabIndex < 0) say("slider", "it cannot be focused", it);
  }
  for (const it of all("input[type=range]").filter(shown)) if (!it.getAttribute("aria-valuetext")) say("slider", "no aria-valuetext", it);
  if (document.body.dataset.live && !all("[aria-live=polite]").length) say("live", "no polite live region");

  // --- scrollable areas are reachable by keyboard ------------------------------------------------------------------------
  for (const it of all("main *").filter(shown)) {
    const style = getComputedStyle(it);
    const scrolls = /auto|scroll/.test(style.overflowX + style.overflowY) && (it.scrollWidth > it.clientWidth + 1 || it.scrollHeight > it.clientHeight + 1);
    if (scrolls && it.tabIndex < 0 && !it.querySelector(controls)) say("scroll", "it is scrolled, and has no focus", it);
  }

  // --- size of targets: 24 pixels, or as much room around ---------------------------------------------------------------
  const targets = operable.filter((it) => !unseen(it) && !it.matches(".skip, [tabindex='0']:not([role=slider])"));
  const boxes = targets.map((it) => {
    // A click on a label activates its control, too.
    const box = it.getBoundingClientRect();
    return { it, box, x: box.left + box.width / 2, y: box.top + box.height / 2, small: Math.min(box.width, box.height) < 23.5 };
  }).filter(({ box }) => box.width > 0);
  const isInline = (it) => getComputedStyle(it).display === "inline" && [...(it.closest("p, li, td, th, dd, span, caption") || it).childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  for (const one of boxes.filter(({ small }) => small)) {
    if (isInline(one.it)) continue;
    const crowded = boxes.find((other) => {
      if (other.it === one.it || other.it.contains(one.it) || one.it.contains(other.it)) return false;
      if (other.small) return Math.hypot(other.x - one.x, other.y - one.y) < 24;
      const x = Math.max(other.box.left, Math.min(one.x, other.box.right)), y = Math.max(other.box.top, Math.min(one.y, other.box.bottom));
      return Math.hypot(x - one.x, y - one.y) < 12;
    });
    if (crowded) say("target", Math.round(one.box.width) + " × " + Math.round(one.box.height) + " pixels, too near to " + where(crowded.it), one.it);
  }

  // --- contrast -----------------------------------------------------------------------------------------------------------
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const cache = new Map();
  const rgba = (colour) => {
    if (!cache.has(colour)) {
      canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      cache.set(colour, [r, g, b, a / 255]);
    }
    return cache.get(colour);
  };
  const light = ([r, g, b]) => {
    const part = (value) => { const share = value / 255; return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const ratio = (one, other) => { const [a, b] = [light(one), light(other)]; return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); };
  // All possible backgrounds of an element: a striped one has several.
  const grounds = (it) => {
    for (let at = it; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      const stripes = (style.backgroundImage.match(/rgba?\([^)]*\)/g) || []).map(rgba).filter((colour) => colour[3] > 0.5);
      const own = rgba(style.backgroundColor);
      if (stripes.length) return own[3] > 0.5 ? [...stripes, own] : [...stripes, ...grounds(at.parentElement || document.documentElement)];
      if (own[3] > 0.5) return [own];
    }
    return [rgba(matchMedia("(prefers-color-scheme: dark)").matches ? "#121212" : "#ffffff")];
  };
  const behind = (it) => {
    if (!it.closest("svg")) return grounds(it);
    const rects = it.closest("g") ? all("rect.band", it.closest("g")) : [];
    return rects.length && it.tagName === "text" ? rects.map((rect) => rgba(getComputedStyle(rect).fill)) : grounds(it.closest("svg").parentElement);
  };
  const contrast = (it, colour, least, what) => {
    const worst = Math.min(...behind(it).map((ground) => ratio(rgba(colour), ground)));
    if (worst < least) say("contrast", what + " has " + worst.toFixed(2) + " instead of " + least, it);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (walker.nextNode()) {
    const it = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || seen.has(it) || !shown(it) || unseen(it) || it.closest("script, style, title, option")) continue;
    seen.add(it);
    const style = getComputedStyle(it), size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    contrast(it, it.closest("svg") ? style.fill : style.color, isLarge ? 3 : 4.5, "text");
  }
  for (const it of all("input:not([type=hidden]):not([type=range]), select, textarea").filter(shown)) {
    if (it.type !== "checkbox") contrast(it.parentElement, getComputedStyle(it).borderTopColor, 3, "the edge of a field");
    if (it.placeholder && !it.value) contrast(it, getComputedStyle(it, "::placeholder").color, 4.5, "the example in a field");
  }
  for (const it of all("svg .band, svg .mark, svg .handle, svg .density, svg .now-line, svg .mark-forced, svg .mark-failed, svg .mark-rolling, svg .mark-quiet").filter(shown)) {
    const style = getComputedStyle(it);
    const colour = it.matches("line, .mark-failed, .mark-quiet") ? style.stroke : style.fill;
    const ground = grounds(it.closest("svg").parentElement);
    const worst = Math.min(...ground.map((one) => ratio(rgba(colour), one)));
    if (worst < 3) say("contrast", "a mark has " + worst.toFixed(2) + " instead of 3", it);
  }

  // --- focus: visible, and not behind the bar ---------------------------------------------------------------------------
  const before = document.activeElement, [left, top] = [scrollX, scrollY];
  const bar = document.getElementById("timebar");
  for (const it of operable.filter((it) => it.tabIndex >= 0 && !unseen(it)).slice(0, 400)) {
    it.focus({ focusVisible: true });
    if (document.activeElement !== it) { say("focus", "it cannot be focused", it); continue; }
    const style = getComputedStyle(it);
    if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) say("focus", "its focus is not seen", it);
    else contrast(it.closest("svg") ? it.closest("svg").parentElement : it.parentElement, style.outlineColor, 3, "the mark of focus");
    const box = it.getBoundingClientRect();
    const isFixed = bar && getComputedStyle(bar).position === "sticky" && !bar.contains(it);
    if (isFixed && box.top >= bar.getBoundingClientRect().top && bar.getBoundingClientRect().bottom >= innerHeight) say("focus", "it has focus behind the bar", it);
  }
  if (before && before.focus) before.focus({ preventScroll: true });
  if (document.activeElement && document.activeElement !== before) document.activeElement.blur();
  scrollTo(left, top);
  return wrong;
})()
