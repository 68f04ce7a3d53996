// Applies the chosen colour scheme before the first paint. Runs before the page, so it is no module.
(() => {
  try {
    const chosen = localStorage.getItem("scheme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.scheme = chosen;
  } catch { /* storage is blocked: the system's preference holds */ }
})();
