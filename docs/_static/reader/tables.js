// Adds a reader's results to the tables and charts of a page, by the data that these bring along (see
// jaxcap_docs.read.rows) and as jaxcap.report.exports.with_other_machines adds other machines.
"use strict";

const readerTables = (() => {
  const { percent } = readerStatistics;
  const { deviceName } = readerResults;
  const { paired } = readerClaims;

  const unique = (values) => [...new Set(values)];

  // What a table shows of the results on one device: jaxcap.results.recordings.matching_results.
  function matching({ allocator, parameters, fixed }, results, everywhere) {
    const known = new Set(["device", ...parameters, ...Object.keys(fixed)]);
    const hasSame = everywhere.some((result) => result.allocator === allocator);
    return results.filter(
      (result) =>
        result.allocator === (hasSame ? allocator : "default") &&
        Object.entries(fixed).every(([name, value]) => result.parameters.get(name) === value) &&
        [...result.parameters.keys()].every((name) => known.has(name)),
    );
  }

  function detail(result, name) {
    if (name === "platform") return result.device.platform.toUpperCase();
    return name === "device" ? deviceName(result.device) : result[name];
  }

  // Identifies a row: jaxcap.results.tabulation.RowKey.
  const rowOf = ({ parameters, details }, result) => [
    ...parameters.map((name) => result.parameters.get(name) ?? ""),
    result.variant,
    ...details.map((name) => detail(result, name)),
  ];

  function shown(value) {
    if (typeof value === "boolean") return value ? "True" : "False";
    return Number.isInteger(value) ? value.toLocaleString("en") : String(value);
  }

  // Intervals, and their name; those of less confidence than it says show their own.
  function intervals(estimates) {
    const confidence = Math.max(...estimates.map((estimate) => estimate.confidence));
    const named = estimates.filter((estimate) => estimate.confidence === confidence);
    const texts = estimates.map((estimate) => {
      if (estimate.confidence === confidence) return estimate.range;
      return estimate.confidence ? `${estimate.range} (${percent(estimate.confidence)})` : "";
    });
    return [unique(named.map((estimate) => estimate.intervalName)).join(" or "), texts];
  }

  // What the processes saw, or the intervals if some results are from a single process.
  function spreads(estimates) {
    if (estimates.some(({ medians }) => medians.length < 2)) return intervals(estimates);
    const names = unique(estimates.map(({ basis }) => `range of ${basis}`));
    return [names.join(" or "), estimates.map((estimate) => estimate.spread)];
  }

  const inBrackets = ({ short }, text) => (text ? `${short} (${text})` : short);

  // Results with their texts, and what those have in brackets.
  function times(results) {
    const estimates = results.map((result) => result.time);
    const [brackets, ranges] = spreads(estimates);
    const cells = results.map((result, i) => [result, inBrackets(estimates[i], ranges[i])]);
    return { cells, brackets };
  }

  // Null if they did not take turns, or the clock was too coarse.
  function speedupOver(results, result, over) {
    const baseline = result.variant !== over && paired(results, result, over);
    return baseline ? result.speedup(baseline) : null;
  }

  function speedups(results, over) {
    const compared = results.flatMap((result) => {
      const speedup = speedupOver(results, result, over);
      return speedup ? [[result, speedup]] : [];
    });
    if (compared.length === 0) return { cells: [], brackets: "" };
    const cells = compared.map(([result, speedup]) => {
      const ratio = inBrackets(speedup, speedup.range);
      return [result, speedup.verdict === "undecided" ? `${ratio}, ${speedup.verdictInWords}` : ratio];
    });
    return { cells, brackets: intervals(compared.map(([, speedup]) => speedup))[0] };
  }

  // What a table shows of a part of a machine's results, or null if that is nothing.
  function columnOf(data, { label, results, everywhere, environment }) {
    const chosen = matching(data, results, everywhere);
    if (chosen.length === 0) return null;
    const { cells, brackets } = data.over === null ? times(chosen) : speedups(chosen, data.over);
    if (cells.length === 0) return null;
    const texts = new Map(cells.map(([result, text]) => [JSON.stringify(rowOf(data, result)), text]));
    const rows = cells.map(([result]) => rowOf(data, result));
    const jax = environment.versions.jax ?? "of unknown version";
    const isSameCode = chosen.every(({ code }) => (code ?? data.code) === data.code); // if known
    const code = isSameCode ? "" : ", by other code than this page's";
    const day = environment.measured_at.slice(0, 10);
    const note = `${label}: measured on ${day} with JAX ${jax}${code}.`;
    return { label, texts, rows, note: brackets ? `${note} In brackets: ${brackets}.` : note };
  }

  // What takeOff of readerPage removes.
  function element(name, text, properties) {
    const made = Object.assign(document.createElement(name), properties);
    made.textContent = text;
    made.classList.add("jaxcap-yours");
    return made;
  }

  // A row that only the reader has.
  function addRow(table, heads) {
    const row = element("tr", "");
    const [, ...others] = table.tHead.rows[0].cells;
    row.append(element("th", heads[0], { scope: "row" }));
    row.append(...others.map((_, i) => element("td", heads[i + 1] ?? "")));
    table.tBodies[0].append(row);
    return row;
  }

  // Add a column for each part of the reader's results behind what heads the rows; false if there is none.
  function fill(box, parts) {
    const data = JSON.parse(box.querySelector("script").textContent);
    const table = box.querySelector("table");
    const columns = parts(data.experiment).map((part) => columnOf(data, part)).filter(Boolean);
    const width = data.parameters.length + 1; // of what heads the rows
    const own = [...table.tBodies[0].rows];
    const rows = new Map(data.rows.map((values, i) => [JSON.stringify(values), own[i]]));
    for (const values of columns.flatMap((column) => column.rows)) {
      const key = JSON.stringify(values);
      if (!rows.has(key)) rows.set(key, addRow(table, values.slice(0, width).map(shown)));
    }
    columns.forEach(({ label, texts }, number) => {
      const insert = (row, cell) => row.insertBefore(cell, row.cells[width + number] ?? null);
      insert(table.tHead.rows[0], element("th", label, { scope: "col" }));
      for (const [key, row] of rows) insert(row, element("td", texts.get(key) ?? ""));
    });
    const folded = box.closest("details");
    if (folded && columns.length) folded.open = true; // so that readers see their numbers
    box.after(...columns.map(({ note }) => element("p", note, { className: "jaxcap-note" })));
    return columns.length > 0;
  }

  // The numbers of a chart: a value, and the ends of what processes observed.
  const numbers = (estimate) =>
    [estimate.value, ...estimate.observed].map((number) => Number(number.toPrecision(4)));

  // Lines of explore.js, as jaxcap_docs.read.results.experiments.explorer makes them.
  function linesOf({ x, parts, allocator }, { label, results, everywhere }) {
    const lines = new Map();
    const hasSame = everywhere.some((result) => result.allocator === allocator);
    const chosen = results.filter((result) => result.allocator === (hasSame ? allocator : "default"));
    const variants = unique(chosen.map((result) => result.variant));
    for (const result of chosen) {
      const { device: _, [x]: size, ...others } = Object.fromEntries(result.parameters);
      const isIn = ([, fixed]) =>
        Object.keys(fixed).length === Object.keys(others).length &&
        Object.entries(fixed).every(([name, value]) => result.parameters.get(name) === value);
      const part = Object.entries(parts).find(isIn)?.[0];
      if (part === undefined || typeof size !== "number") continue;
      const { variant, working_set_bytes: bytes } = result;
      const key = JSON.stringify([part, variant]);
      if (!lines.has(key)) lines.set(key, { part, variant, device: label, points: [] });
      const ratios = variants.flatMap((over) => {
        const speedup = speedupOver(chosen, result, over);
        return speedup ? [[over, numbers(speedup)]] : [];
      });
      const time = numbers(result.time);
      lines.get(key).points.push({ size, bytes, time, ratios: Object.fromEntries(ratios) });
    }
    return [...lines.values()];
  }

  // Let explore.js draw the reader's results as those of further devices.
  function draw(box, parts) {
    const data = JSON.parse(box.querySelector("script").textContent);
    box.yours = parts(data.experiment).flatMap((part) => linesOf(data, part));
    box.dispatchEvent(new Event("jaxcap-yours"));
  }

  return { element, fill, draw, times, speedups };
})();
