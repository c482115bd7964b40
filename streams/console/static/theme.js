// Runs before the page is drawn, so that a chosen theme does not flash.
try {
  const chosen = localStorage.getItem("assay-theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
} catch { /* storage is off */ }
