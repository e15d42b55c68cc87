// Says on an old version of this site, and on the development version, which one is the newest. It
// asks the folder of all versions, and nobody where the page is read elsewhere.
"use strict";

{
  const root = new URL(".", document.currentScript.dataset.versions).href;
  const [here, ...path] = location.href.slice(root.length).split("/");
  const named = (version) => version.replace(/^v/, "");

  async function announce() {
    const answer = await fetch(`${root}versions.json`);
    const { newest } = await answer.json();
    if (here === newest || !/^v[\d.]+$/.test(newest)) return;
    const link = document.createElement("a");
    const banner = document.createElement("aside");
    // Each address of a version is kept in those after it.
    link.href = here === "latest" ? `${root}${newest}/` : [root + newest, ...path].join("/");
    link.textContent = `The newest release is ${named(newest)}.`;
    banner.className = "jaxcap-old";
    banner.setAttribute("aria-label", "Version");
    const kind = here === "latest" ? "the development version" : `version ${named(here)}`;
    banner.append(`This is ${kind}. `, link);
    document.body.append(banner);
  }

  // Offline, or before there is such a file, readers do without.
  if (location.href.startsWith(root)) announce().catch(() => {});
}
