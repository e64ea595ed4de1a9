"use strict";
(() => {
  const main = document.querySelector("main");
  const status = document.getElementById("live");
  const say = (words) => { if (status.textContent !== words) status.textContent = words; };
  let busy = false, again = false;

  // Puts the new fragment in place; what is focused, opened or scrolled stays so.
  const replace = (text) => {
    const focused = document.activeElement && document.activeElement.id;
    const opened = [...main.querySelectorAll("details[open][id]")].map((one) => one.id);
    const scrolled = [...main.querySelectorAll(".wide[id]")].map((one) => [one.id, one.scrollLeft]);
    main.innerHTML = text;
    for (const id of opened) { const one = document.getElementById(id); if (one) one.open = true; }
    for (const [id, left] of scrolled) { const one = document.getElementById(id); if (one) one.scrollLeft = left; }
    if (focused) { const one = document.getElementById(focused); if (one) one.focus({ preventScroll: true }); }
  };

  const refresh = async () => {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const answer = await fetch(main.dataset.fragment, { cache: "no-store" });
      if (answer.status === 401) { location.reload(); return; }
      if (answer.ok) replace(await answer.text());
    } catch (_) {
      say("The server cannot be reached. This page shows its last state.");
    } finally {
      busy = false;
      if (again) { again = false; refresh(); }
    }
  };

  const events = new EventSource(main.dataset.events);
  events.addEventListener("open", () => say("Live"));
  events.addEventListener("change", refresh);
  events.addEventListener("error", () => say("The server cannot be reached. This page shows its last state."));
})();
