// The choice of a version, where the folder above the site lists several: see docs/versions.py.
"use strict";
document.addEventListener("DOMContentLoaded", async () => {
  const root = new URL(document.documentElement.dataset.content_root, document.baseURI);
  const list = new URL("../versions.json", root);
  if (!list.protocol.startsWith("http")) return;
  const answer = await fetch(list).catch(() => null);
  if (!answer || !answer.ok) return;
  const choice = document.createElement("select");
  choice.className = "versions";
  choice.setAttribute("aria-label", "Version");
  for (const version of await answer.json()) {
    choice.add(new Option(version, version, false, root.pathname.endsWith(`/${version}/`)));
  }
  choice.addEventListener("change", () => {
    location.href = new URL(`../${choice.value}/`, root);
  });
  document.querySelector(".sidebar-brand")?.after(choice);
});
