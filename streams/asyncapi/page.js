"use strict";
// Shows the sections that hold every word that is looked for. Without this file everything is shown.
const search = document.querySelector("input[type=search]");
const links = [...document.querySelectorAll("nav a")];
const sections = [...document.querySelectorAll("main section")].map((section) => ({
  section,
  entry: links.find((link) => link.getAttribute("href") === `#${section.id}`),
  text: section.textContent.toLowerCase(),
}));
function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const { section, entry, text } of sections) {
    const found = words.every((word) => text.includes(word));
    shown += found;
    section.classList.toggle("none", !found);
    entry?.parentElement.classList.toggle("none", !found);
  }
  document.getElementById("nothing").classList.toggle("none", shown > 0);
}
search.addEventListener("input", filter);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== search) {
    event.preventDefault();
    search.focus();
  } else if (event.key === "Escape" && document.activeElement === search) {
    search.value = "";
    filter();
  }
});
// A link to a section that is filtered out shows everything again.
window.addEventListener("hashchange", () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target?.classList.contains("none")) {
    search.value = "";
    filter();
    target.scrollIntoView();
  }
});
