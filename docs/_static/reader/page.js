// Puts a reader's files on a page and takes them off again. Names come from files: they only ever
// become text.
"use strict";

const readerPage = (() => {
  const { FileError, deviceName, parse, read, readable } = readerResults;
  const { element, fill, draw } = readerTables;
  const MAX_FILES = 200;
  const NAMED_FILES = 5; // at most
  const ENVIRONMENT_FILE = "environment.json"; // beside recordings: it has no results

  let files = []; // with their names, texts, environments and results; the newest last

  // What tells machines apart: Environment.is_same_hardware.
  const hardware = ({ device, cpu, cores, cache_bytes }) =>
    JSON.stringify([device.platform, device.name, cpu, cores, cache_bytes]);

  // Files by machine; of each experiment, a machine has the results of the newest file.
  function machines() {
    const known = new Map();
    for (const { environment, results } of files) {
      const key = hardware(environment);
      if (!known.has(key)) known.set(key, { device: environment.device, sets: new Map() });
      const { sets } = known.get(key);
      for (const [name, part] of Map.groupBy(results, (result) => result.experiment))
        sets.set(name, { environment, results: part });
    }
    const names = new Map();
    return [...known.values()].map((machine) => {
      const name = deviceName(machine.device);
      names.set(name, (names.get(name) ?? 0) + 1);
      const number = names.get(name) > 1 ? ` no. ${names.get(name)}` : "";
      return { ...machine, name: `${name}${number}`, number };
    });
  }

  // Leave out files of which newer ones have all experiments again.
  function withoutOutdated() {
    const seen = new Set();
    const isNews = ({ environment, results }) => {
      const keys = new Set(results.map(({ experiment }) => hardware(environment) + experiment));
      const news = [...keys].some((key) => !seen.has(key));
      for (const key of keys) seen.add(key);
      return news;
    };
    return files.toReversed().filter(isNews).toReversed();
  }

  // What was measured of an experiment on each device, with what heads its column: Recording.on_each_device.
  const partsOn = (all) => (experiment) =>
    all.flatMap(({ device, number, sets }) => {
      const { environment, results: everywhere } = sets.get(experiment) ?? { results: [] };
      const parts = Map.groupBy(everywhere, (result) => deviceName(result.device));
      return [...parts].map(([name, results]) => {
        const host = name === deviceName(device) ? "" : ` beside ${device.name}`;
        return { label: `${name}${host}${number}, yours`, results, everywhere, environment };
      });
    });

  // All claims of the site, as one machine decides them: null where it did not measure what they are about.
  function judged({ sets }) {
    return jaxcapRules.statements.map((statement) => {
      const set = sets.get(statement.experiment);
      return { statement, claim: set ? readerClaims.judge(statement, set) : null };
    });
  }

  const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
  const capitalised = (text) => `${text[0].toUpperCase()}${text.slice(1)}`;

  // Such as "41 of 47 claims hold on your machine; 2 do not hold, 3 are undecided, 1 was not measured".
  function tally(claims, on = "") {
    const count = (words) => claims.filter(({ claim }) => claim?.words === words).length;
    const [holds, fails, close, undecided] = Object.keys(readerClaims.SIGNS).map(count);
    const unmeasured = claims.length - holds - fails - close - undecided;
    const rest = [
      [fails, "does not hold", "do not hold"],
      [close, "came out about as fast", "came out about as fast"],
      [undecided, "is undecided", "are undecided"],
      [unmeasured, "was not measured", "were not measured"],
    ];
    const others = rest.filter(([n]) => n).map(([n, one, many]) => `${n} ${n === 1 ? one : many}`);
    const hold = `${holds} of ${claims.length} claims ${holds === 1 ? "holds" : "hold"}${on}`;
    return [hold, others.join(", ")].filter(Boolean).join("; ");
  }

  // Where a page shows a claim: in the list of all, in a callout of its own, or in an experiment's list.
  function place(id) {
    const target = document.getElementById(id);
    if (target) return target.closest("tr") ?? target.nextElementSibling?.querySelector(".jaxcap-claim");
    const links = [...document.querySelectorAll(".jaxcap-claimed a")];
    return links.find((link) => link.hash === `#${id}`)?.closest("li");
  }

  function callout({ sign, words, outcome, sentence, measured }, { name }, isOnlyMachine) {
    const box = element("div", "", { className: `jaxcap-claim jaxcap-${outcome}` });
    box.setAttribute("role", "note");
    const head = element("p", "", { className: "jaxcap-outcome" });
    const drawn = element("span", sign);
    drawn.setAttribute("aria-hidden", "true");
    head.append(drawn, ` ${capitalised(words)} on ${isOnlyMachine ? "your machine" : name}`);
    box.append(head, element("p", sentence), element("p", measured, { className: "jaxcap-note" }));
    return box;
  }

  // A machine's column in each table of claims.
  function addColumns(rows, name) {
    const heads = new Set(rows.map(([row]) => row.closest("table").tHead.rows[0]));
    for (const head of heads) {
      head.insertBefore(element("th", `${name}, yours`, { scope: "col" }), head.cells[1]);
    }
    for (const [row, claim] of rows) {
      const cell = element("td", claim ? "" : "not measured");
      if (claim) {
        const { sign, words, outcome, estimate } = claim;
        const className = `jaxcap-outcome jaxcap-${outcome}`;
        const evidence = element("p", estimate.factorInFull, { className: "jaxcap-note" });
        cell.append(element("p", `${sign} ${words}`, { className }), evidence);
      }
      row.insertBefore(cell, row.cells[1]);
    }
  }

  // Show what a machine says of the claims of this page, and count them.
  function showClaims(machine, isOnlyMachine) {
    const all = judged(machine);
    const here = all.map((one) => ({ ...one, at: place(one.statement.id) })).filter(({ at }) => at);
    const rows = here.filter(({ at }) => at.matches("tr")).map(({ at, claim }) => [at, claim]);
    addColumns(rows, machine.name);
    for (const { at, claim } of here) {
      if (at.matches("tr") || !claim) continue;
      const box = callout(claim, machine, isOnlyMachine);
      if (at.matches("li")) at.append(box);
      else at.after(box);
    }
    const on = isOnlyMachine ? " on your machine" : ` on ${machine.name}`;
    const isPart = here.length < all.length;
    return {
      ofPage: here.length && isPart ? `On this page, ${tally(here, on)}.` : "",
      ofSite: all.length ? `On all pages, ${tally(all, on)}.` : "",
      inShort: all.length ? tally(here.length ? here : all) : "your numbers are on this page",
    };
  }

  function takeOff() {
    for (const added of document.querySelectorAll(".jaxcap-yours")) added.remove();
    for (const box of document.querySelectorAll(".jaxcap-explore")) draw(box, () => []);
  }

  // Such as "Your files: jit.json, keys.json."
  function listing() {
    const named = files.slice(0, NAMED_FILES).map(({ name }) => name);
    const more = files.length - named.length;
    return `Your files: ${named.join(", ")}${more ? ` and ${more} more` : ""}.`;
  }

  // Show all files, and return sentences about that.
  function show() {
    takeOff();
    const all = machines();
    const parts = partsOn(all);
    const tables = [...document.querySelectorAll(".jaxcap-table:has(> script)")];
    const filled = tables.filter((table) => fill(table, parts)).length;
    for (const box of document.querySelectorAll(".jaxcap-explore")) draw(box, parts);
    const counts = all.map((machine) => showClaims(machine, all.length === 1));
    const inTables = tables.length
      ? [`Your numbers are in ${filled} of ${plural(tables.length, "table")} of results on this page.`]
      : [];
    const claims = counts.flatMap(({ ofPage, ofSite }) => [ofPage, ofSite].filter(Boolean));
    const inShort = all.length === 1 ? counts[0].inShort : "your numbers are on this page";
    const headline = `Your ${all.length === 1 ? "machine" : "machines"}: ${inShort}`;
    return { sentences: [...inTables, ...claims, listing()], headline };
  }

  // Read files, without holding up the page for longer than each takes. Return a sentence for each of
  // those that can't be used.
  async function readAll(chosen, how) {
    const refused = [];
    for (const file of chosen) {
      await new Promise((resolve) => setTimeout(resolve));
      try {
        files.push(await how(file));
      } catch (error) {
        if (!(error instanceof FileError)) console.error(error);
        const unexpected = `${file.name} can't be read: choose another file.`;
        refused.push(error instanceof FileError ? error.message : unexpected);
      }
    }
    files = withoutOutdated();
    return refused;
  }

  async function update(refused) {
    const areKept = await readerKept.save(files.map(({ name, text }) => ({ name, text })));
    const { sentences, headline } = files.length ? show() : { sentences: [] };
    if (files.length && !areKept)
      sentences.push("This browser keeps no files, so other pages won't show them.");
    return { sentences: [...refused, ...sentences], headline, areKept };
  }

  async function add(chosen) {
    if (chosen.length > MAX_FILES)
      return update([`At most ${MAX_FILES} files can be read at a time: choose fewer.`]);
    const isOfUse = ({ name }) => chosen.length === 1 || name !== ENVIRONMENT_FILE;
    return update(await readAll(chosen.filter(isOfUse), read));
  }

  async function restore() {
    const kept = await readerKept.load();
    return update(await readAll(kept, ({ name, text }) => ({ name: readable(name), text, ...parse(text, readable(name)) })));
  }

  async function clear() {
    files = [];
    takeOff();
    return update(["Your numbers are off this page, and this browser keeps none of your files."]);
  }

  return { add, restore, clear };
})();
