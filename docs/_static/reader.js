// Lets readers put their own results on a page. What reads their files is loaded when they choose some,
// or if they chose some on another page. Nothing leaves the browser.
"use strict";

{
  const HERE = document.currentScript.src;
  const NAMES = ["rules", "statistics", "results", "claims", "tables", "kept", "page"];
  const SCRIPTS = ["vendor/json-schema", ...NAMES.map((name) => `reader/${name}`)];
  const KEPT = "jaxcap-reader"; // in localStorage: whether there are files from another page
  const OFFER = "Put your numbers on this page";
  const FORM = "https://github.com/jaxcap/jaxcap/issues/new?template=results.yml";

  function element(name, properties, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  }

  const code = (text) => element("code", {}, text);
  const link = (href, text) => element("a", { href: new URL(href, HERE) }, text);

  let loading; // all scripts, one after another
  function load() {
    const one = (name) =>
      new Promise((onload, onerror) => {
        const src = new URL(`${name}.js`, HERE);
        document.head.append(element("script", { src, onload, onerror }));
      });
    loading ??= SCRIPTS.reduce((before, name) => before.then(() => one(name)), Promise.resolve());
    return loading;
  }

  function hasKept() {
    try {
      return localStorage.getItem(KEPT) !== null;
    } catch {
      return false; // the browser keeps nothing
    }
  }

  function noteKept(areKept) {
    try {
      if (areKept) localStorage.setItem(KEPT, "files");
      else localStorage.removeItem(KEPT);
    } catch {}
  }

  function offer(box) {
    const summary = element("summary", {}, OFFER);
    const input = element("input", { type: "file", multiple: true, accept: ".json,application/json" });
    const status = element("div", { className: "jaxcap-reader-status" });
    status.setAttribute("role", "status");
    const remove = element("button", { type: "button", hidden: true }, "Remove my numbers");

    function say(...sentences) {
      status.replaceChildren(...sentences.map((sentence) => element("p", {}, sentence)));
    }

    // `change` of readerPage says what became of the files, and how the page summarises them.
    async function show(change, ...values) {
      box.setAttribute("aria-busy", "true");
      try {
        await load();
        const { sentences, headline, areKept } = await readerPage[change](...values);
        say(...sentences);
        summary.textContent = headline ?? OFFER;
        remove.hidden = !headline;
        noteKept(areKept);
      } catch (error) {
        console.error(error);
        say(
          "The scripts that read files can't be loaded, or don't run in this browser: reload the page, or " +
            "try another browser.",
        );
      }
      box.removeAttribute("aria-busy");
    }

    async function choose(files) {
      if (files.length === 0) return say("That was no file: drop files of results here.");
      say(files.length === 1 ? "Reading the file …" : `Reading ${files.length} files …`);
      await show("add", files);
    }

    input.onchange = async () => {
      await choose([...input.files]);
      input.value = ""; // so that the same file can be chosen again
    };
    remove.onclick = async () => {
      await show("clear");
      input.focus(); // the button is gone
    };
    box.ondragover = (event) => {
      event.preventDefault();
      box.classList.add("jaxcap-dragged");
    };
    box.ondragleave = () => box.classList.remove("jaxcap-dragged");
    box.ondrop = (event) => {
      event.preventDefault();
      box.classList.remove("jaxcap-dragged");
      details.open = true;
      choose([...event.dataTransfer.files]);
    };

    const details = element(
      "details",
      {},
      summary,
      element(
        "p",
        {},
        "Choose files of results, or drop them here: those that ",
        code("jaxcap record"),
        " and ",
        code("jaxcap report --results FILE"),
        " wrote, or a measurement such as ",
        code("jaxcap jit --json FILE"),
        ". They appear in the tables of results, and each claim is judged by them.",
      ),
      element("p", {}, element("label", {}, "Files of results: ", input), remove),
      element(
        "p",
        { className: "jaxcap-note" },
        "Your files stay in this browser, and nothing is sent. The other pages show them as well, until " +
          "you remove them. ",
        link("../results/recording.html", "How to record them"),
        " · ",
        link(FORM, "Contribute recordings by a form"),
      ),
      status,
    );
    box.append(details);
    if (hasKept()) show("restore");
  }

  for (const box of document.querySelectorAll(".jaxcap-reader")) offer(box);
}
