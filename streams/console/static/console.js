// Behaviour of the console's pages. It has no dependency, and it writes texts of strangers as text only.
"use strict";

const one = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const isTyping = (target) => target.closest("input, textarea, select, [contenteditable]") !== null;

// Light or dark: the choice overrides that of the system.
const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};
const repaint = new Set();
function switchTheme() {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  try { localStorage.setItem("assay-theme", theme); } catch { /* storage is off */ }
  repaint.forEach((paint) => paint());
}
one("#theme").addEventListener("click", switchTheme);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => repaint.forEach((paint) => paint()));

// Times: the title has the instant, and the reader's own zone.
// In a list a time is relative to now.
const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const inOwnZone = (root) => all("time[datetime]", root).forEach((time) => {
  const at = new Date(time.dateTime), seconds = (at - Date.now()) / 1000;
  time.title = `${time.dateTime.replace("T", " ")} (${at.toLocaleString()} here)`;
  if (!time.closest(".when")) return;
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) || units[3];
  time.textContent = words.format(Math.round(seconds / size), unit);
});
inOwnZone(document);
setInterval(() => inOwnZone(document), 15000);

// What a search may go on with.
const find = one("#find"), scope = find.form.getAttribute("action");
let asked = "";
find.addEventListener("input", () => suggest(200));
find.addEventListener("focus", () => suggest(0));
function suggest(wait) {
  const text = asked = find.value;
  setTimeout(async () => {
    if (asked !== text) return;
    const answer = await fetch(`/suggest?${new URLSearchParams({ in: scope, q: text })}`).catch(() => null);
    if (!answer?.ok || asked !== text) return;
    one("#suggested").replaceChildren(...(await answer.json()).map((value) => new Option("", value)));
  }, wait);
}

// Saved searches: names and addresses of lists, in this browser.
const saved = one("#saved");
const searches = () => { try { return JSON.parse(localStorage.getItem("assay-searches")) || {}; } catch { return {}; } };
function showSearches() {
  const known = searches();
  one("ul", saved).replaceChildren(...Object.keys(known).map((name) => {
    const item = document.createElement("li"), link = document.createElement("a"), drop = document.createElement("button");
    link.href = known[name]; link.textContent = name;
    drop.className = "quiet"; drop.textContent = "Forget"; drop.setAttribute("aria-label", `Forget ${name}`);
    drop.addEventListener("click", () => { delete known[name]; keepSearches(known); });
    item.append(link, " ", drop);
    return item;
  }));
}
function keepSearches(known) {
  try { localStorage.setItem("assay-searches", JSON.stringify(known)); } catch { /* storage is off */ }
  showSearches();
}
one("form", saved).addEventListener("submit", (event) => {
  event.preventDefault();
  keepSearches({ ...searches(), [event.target.elements.name.value.trim()]: location.pathname + location.search });
  event.target.reset();
});
showSearches();

// Keys. A letter after g opens a screen; data-key="x" makes x press a button or follow a link.
const keys = one("#keys");
one("#keys-button").addEventListener("click", () => keys.showModal());
let goes = 0;
function moveRow(step) {
  const rows = all("tr[data-row]");
  if (!rows.length) return;
  const before = rows.findIndex((row) => row.classList.contains("current"));
  const next = rows[Math.min(rows.length - 1, Math.max(0, before + step))];
  rows.forEach((row) => row.classList.toggle("current", row === next));
  next.scrollIntoView({ block: "nearest" });
  (one("[data-open]", next) || one("a", next))?.focus();
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || keys.open) return;
  const key = event.key;
  if (Date.now() - goes < 1500) {
    goes = 0;
    const link = all("[data-go]").find((its) => its.dataset.go === key);
    if (link) { event.preventDefault(); link.click(); return; }
  }
  const own = all("[data-key]").find((its) => its.dataset.key === key && !its.disabled && its.offsetParent !== null);
  if (own) { event.preventDefault(); own.click(); if (own.matches("summary")) one("select, input", own.parentElement)?.focus(); return; }
  if (key === "g") goes = Date.now();
  else if (key === "/") { event.preventDefault(); one("#find").focus(); }
  else if (key === "t") switchTheme();
  else if (key === "?") keys.showModal();
  else if (key === "j") moveRow(1);
  else if (key === "k") moveRow(-1);
});

// A part of the page, as the server renders it. Rendered HTML is escaped there; the policy forbids scripts in it.
async function load(target, address, options) {
  const answer = await fetch(address, { headers: { accept: "text/html" }, ...options });
  if (!answer.ok && answer.status !== 422) throw new Error(answer.status);
  const html = await answer.text();
  const open = all("details", target).map((its) => its.open);
  const scrolled = all(".scroll", target).map((its) => its.scrollLeft);
  const focused = target.contains(document.activeElement);
  if (focused && target.dataset.poll) return;
  target.innerHTML = html;
  all("details", target).forEach((its, index) => { its.open = open[index] ?? its.open; });
  all(".scroll", target).forEach((its, index) => { its.scrollLeft = scrolled[index] ?? 0; });
  inOwnZone(target);
}

// data-poll="/part" data-seconds="5": the part is loaded again while the page is visible.
all("[data-poll]").forEach((target) => {
  setInterval(() => {
    if (!document.hidden) load(target, target.dataset.poll).catch(() => {});
  }, 1000 * Number(target.dataset.seconds || 5));
});

// data-load="/part": the part is loaded once, after the page.
all("[data-load]").forEach((target) => load(target, target.dataset.load).catch(() => {
  target.textContent = "The console does not answer.";
}));

// data-live="#target": the form is sent at each change, and the answer is shown in the target.
all("form[data-live]").forEach((form) => {
  const target = one(form.dataset.live);
  let timer = 0, number = 0;
  const send = async () => {
    const mine = ++number;
    target.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(form.action, { method: form.method, body: new URLSearchParams(new FormData(form)) });
      const html = await answer.text();
      if (mine !== number) return;
      if (answer.headers.get("content-type")?.startsWith("text/html")) target.innerHTML = html;
      else target.textContent = html;
      inOwnZone(target);
      const said = [...new FormData(form)].filter(([name, value]) => value && name !== "html");
      history.replaceState(null, "", `?${new URLSearchParams(said)}`);
    } catch { if (mine === number) target.textContent = "The console does not answer."; }
    if (mine === number) target.removeAttribute("aria-busy");
  };
  const soon = (wait) => { clearTimeout(timer); timer = setTimeout(send, wait); };
  form.addEventListener("input", () => soon(250));
  form.addEventListener("submit", (event) => { event.preventDefault(); soon(0); });
  if ("now" in form.dataset) soon(0);
});
all("form[data-submit-on-change]").forEach((form) => form.addEventListener("change", (event) => {
  if (event.target.name) form.requestSubmit();
}));
all("input[type=range][data-shows]").forEach((range) => {
  const shows = one(range.dataset.shows);
  range.addEventListener("input", () => { shows.textContent = range.value; });
});
document.addEventListener("submit", (event) => {
  const asked = event.submitter?.dataset.confirm || event.target.dataset.confirm;
  if (asked && !confirm(asked)) event.preventDefault();
});

// The dots: one canvas, a shape and a colour for each tone.
const dots = one("#dots");
if (dots) startDots(dots, one("canvas", dots), one(".tip", dots));

function startDots(box, canvas, tip) {
  const SHAPES = ["good", "fair", "low", "poor", "dead"];
  const WORDS = { good: "good: tier A, passed, relevant", fair: "fair: tier B, undecided", low: "low: tier C", poor: "poor: no content, not passed", dead: "dead letter" };
  const LEFT = 34, RIGHT = 10, TOP = 8, BOTTOM = 40, LANE = 16;
  let data = { topic: [], partition: [], offset: [], at: [], score: [], tone: [], seconds: 0 };
  let places = [], last = 0;
  // A canvas needs resolved colours.
  const style = (name) => { tip.style.outlineColor = `var(--${name})`; return getComputedStyle(tip).outlineColor; };

  function dotsOf() {
    const found = [];
    for (let i = 0; i < data.at.length; i++) {
      found.push({ at: data.at[i], score: data.score[i], tone: data.tone[i], topic: data.topic[i], partition: data.partition[i], offset: data.offset[i] });
    }
    return found;
  }
  let kept = [];

  function paint() {
    const began = performance.now();
    const ratio = devicePixelRatio || 1, width = box.clientWidth, height = 260;
    canvas.width = width * ratio; canvas.height = height * ratio;
    const draw = canvas.getContext("2d");
    draw.scale(ratio, ratio);
    const oldest = data.seconds ? Date.now() - 1000 * data.seconds : 0;
    const shown = kept.filter((dot) => dot.at >= oldest);
    let first = Infinity, end = -Infinity;
    for (const dot of shown) { if (dot.at < first) first = dot.at; if (dot.at > end) end = dot.at; }
    if (!shown.length) { end = Date.now(); first = end - 60000; }
    if (end - first < 10000) first = end - 10000;
    const x = (at) => LEFT + (at - first) / (end - first) * (width - LEFT - RIGHT - 6);
    const y = (score) => score === null ? height - BOTTOM + LANE : TOP + (1 - score / 100) * (height - TOP - BOTTOM);
    axes(draw, width, height, first, end, x, y);
    const groups = new Map();
    places = [];
    for (const dot of shown) {
      const name = dot.tone;
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(dot);
    }
    const size = shown.length > 3000 ? 2 : shown.length > 500 ? 2.6 : 3.6;
    for (const [name, members] of groups) {
      draw.fillStyle = style(name);
      draw.globalAlpha = shown.length > 3000 ? .55 : .85;
      draw.beginPath();
      for (const dot of members) {
        const px = x(dot.at), py = y(dot.score);
        places.push(px, py, dot);
        shape(draw, SHAPES.indexOf(name), px, py, size);
      }
      draw.fill();
    }
    draw.globalAlpha = 1;
    legend(groups);
    last = performance.now() - began;
    canvas.dataset.painted = String(shown.length);
    canvas.dataset.milliseconds = last.toFixed(1);
    one("#dots-count").textContent = `${shown.length.toLocaleString("en")} decisions`;
  }

  function shape(draw, kind, px, py, size) {
    if (kind === 1) draw.rect(px - size, py - size, 2 * size, 2 * size);
    else if (kind === 2) { draw.moveTo(px, py - size * 1.2); draw.lineTo(px + size * 1.15, py + size); draw.lineTo(px - size * 1.15, py + size); draw.closePath(); }
    else if (kind === 3) { const far = size * 1.3; draw.moveTo(px, py - far); draw.lineTo(px + far, py); draw.lineTo(px, py + far); draw.lineTo(px - far, py); draw.closePath(); }
    else if (kind === 4) { draw.rect(px - size, py - size / 3, 2 * size, size / 1.5); draw.rect(px - size / 3, py - size, size / 1.5, 2 * size); }
    else { draw.moveTo(px + size, py); draw.arc(px, py, size, 0, 7); }
  }

  function axes(draw, width, height, first, end, x, y) {
    draw.font = "11px system-ui, sans-serif";
    draw.fillStyle = style("muted"); draw.strokeStyle = style("line"); draw.lineWidth = 1;
    draw.textAlign = "right"; draw.textBaseline = "middle";
    for (const score of [0, 25, 50, 75, 100]) {
      const py = Math.round(y(score)) + .5;
      draw.beginPath(); draw.moveTo(LEFT, py); draw.lineTo(width - RIGHT, py); draw.stroke();
      draw.fillText(score, LEFT - 8, py);
    }
    draw.fillText("none", LEFT - 4, y(null));
    draw.textAlign = "center"; draw.textBaseline = "alphabetic";
    const steps = Math.max(2, Math.floor(width / 150)), long = end - first > 86400000;
    for (let i = 0; i <= steps; i++) {
      const at = first + (end - first) * i / steps;
      const text = new Date(at).toISOString();
      draw.textAlign = i === 0 ? "left" : i === steps ? "right" : "center";
      draw.fillText(long ? text.slice(5, 16).replace("T", " ") : text.slice(11, 19), x(at), height - 4);
    }
  }

  function legend(groups) {
    const list = one("#legend");
    list.replaceChildren(...[...groups].sort((a, b) => b[1].length - a[1].length).map(([name, members]) => {
      const item = document.createElement("li"), mark = document.createElement("span");
      mark.className = `tone ${name}`;
      item.append(mark, `${WORDS[name]} ${members.length.toLocaleString("en")}`);
      return item;
    }));
  }

  function nearest(event) {
    const frame = canvas.getBoundingClientRect(), px = event.clientX - frame.left, py = event.clientY - frame.top;
    let best = null, distance = 100;
    for (let i = 0; i < places.length; i += 3) {
      const away = (places[i] - px) ** 2 + (places[i + 1] - py) ** 2;
      if (away < distance) { distance = away; best = i; }
    }
    return best === null ? null : { x: places[best], y: places[best + 1], dot: places[best + 2] };
  }
  const pathOf = (dot) => `/decision/${dot.topic}/${dot.partition}/${dot.offset}`;
  canvas.addEventListener("mousemove", (event) => {
    const found = nearest(event);
    tip.hidden = !found;
    canvas.style.cursor = found ? "pointer" : "crosshair";
    if (!found) return;
    const { dot } = found, at = new Date(dot.at).toISOString().slice(0, 19).replace("T", " ");
    tip.style.left = `${Math.min(found.x + 12, box.clientWidth - 220)}px`;
    tip.style.top = `${found.y + 12}px`;
    tip.textContent = `${dot.topic}: ${dot.score === null ? "" : `${Math.round(dot.score)}, `}${WORDS[dot.tone]}, ${at}`;
  });
  canvas.addEventListener("mouseleave", () => { tip.hidden = true; });
  canvas.addEventListener("click", (event) => {
    const found = nearest(event);
    if (found) location.assign(pathOf(found.dot));
  });

  const query = new URLSearchParams({ span: box.dataset.span, topic: box.dataset.topic });
  async function reload() {
    const answer = await fetch(`/live/dots?${query}`);
    if (!answer.ok) throw new Error(answer.status);
    data = await answer.json();
    // Decisions that have arrived since the answer was made are kept.
    keep(dotsOf().concat(kept));
    paint();
  }
  // The newest of the span: a screen can be open for days.
  function keep(all) {
    const oldest = data.seconds ? Date.now() - 1000 * data.seconds : 0;
    const once = new Map(all.map((dot) => [pathOf(dot), dot]));
    kept = [...once.values()].filter((dot) => dot.at >= oldest).sort((a, b) => a.at - b.at).slice(-Number(box.dataset.most));
  }
  let frame = 0;
  const soon = () => { if (!frame) frame = requestAnimationFrame(() => { frame = 0; paint(); }); };
  function arrived({ dots, rows }) {
    keep(kept.concat(dots.filter((dot) => dot.tone !== "none")));
    soon();
    const body = one("#rows"), part = document.createElement("tbody");
    for (const row of rows) {
      part.innerHTML = row;  // The server has escaped it, as it does with the rows of the page.
      const fresh = part.firstElementChild;
      if (one(`[data-path="${CSS.escape(fresh.dataset.path)}"]`, body)) continue;
      one(".none", body)?.remove();
      fresh.className = "fresh";
      inOwnZone(fresh);
      body.prepend(fresh);
    }
    while (body.rows.length > Number(body.dataset.most)) body.lastElementChild.remove();
  }

  let stream = null;
  function open() {
    stream = new EventSource(`/live/events?${query}`);
    // Also after a lost connection, which the browser opens again: the dots have what was committed meanwhile.
    stream.addEventListener("open", () => reload().catch(() => {}));
    stream.addEventListener("decisions", (event) => arrived(JSON.parse(event.data)));
  }
  addEventListener("pagehide", () => stream?.close());
  addEventListener("pageshow", (event) => { if (event.persisted) open(); });
  repaint.add(soon);
  new ResizeObserver(soon).observe(box);
  open();
}
