// Files of results, which anyone may have written: read as jaxcap.results.files reads them, by the same
// schema and the same limits. What passes holds plain text and finite numbers.
"use strict";

const readerResults = (() => {
  const { Estimate, Speedup } = readerStatistics;
  const rules = jaxcapRules;
  const validator = new jsonSchema.Validator(rules.schema, "2020-12");
  const NOT_PRINTED = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/u;

  // What is wrong with a file, in a sentence to show.
  class FileError extends Error {}

  class Result {
    constructor(data) {
      Object.assign(this, data);
      this.parameters = new Map(Object.entries(data.parameters));
      this.runs = data.runs.map(rounded);
    }

    get time() {
      return this.estimate(this.runs.map((run) => run.samples_s));
    }

    // How many times as fast as `over` it is, from rounds that both took part in; null if there were
    // none, or if the clock was too coarse.
    speedup(over) {
      const counts = ({ runs }) => `${runs.map((run) => run.samples_s.length)}`;
      if (over.comparison !== this.comparison || counts(over) !== counts(this)) return null;
      if (this.runs.flatMap((run) => run.samples_s).includes(0)) return null;
      const pairs = this.runs.map((run, i) => [over.runs[i], run]);
      const ratios = pairs.map(([a, b]) => b.samples_s.map((fast, i) => a.samples_s[i] / fast));
      const undisturbed = pairs.map(([a, b]) => {
        const flags = areUndisturbed(a);
        return areUndisturbed(b).map((flag, i) => flag && flags[i]);
      });
      const devices = [...new Set([this.device, over.device].map(deviceName))];
      const speedup = Speedup.fromRuns(withoutDisturbed(ratios, undisturbed), "", devices);
      return speedup.low === 0 ? null : speedup;
    }

    estimate(runs) {
      const kept = withoutDisturbed(runs, this.runs.map(areUndisturbed));
      return Estimate.fromRuns(kept, "s", [deviceName(this.device)]);
    }

    get key() {
      const parameters = [...this.parameters].sort(([a], [b]) => (a < b ? -1 : 1));
      const { experiment, variant, device, allocator } = this;
      return JSON.stringify([experiment, variant, parameters, device.platform, device.name, allocator]);
    }
  }

  // In as many digits as Python keeps: jaxcap.results.models.
  function rounded({ samples_s, other_work = [], slowness = [], ...run }) {
    const twoPlaces = (number) => Math.round(100 * number) / 100;
    return {
      ...run,
      samples_s: samples_s.map((seconds) => Number(seconds.toPrecision(6))),
      other_work: other_work.map(twoPlaces),
      slowness: slowness.map(twoPlaces),
    };
  }

  const deviceName = ({ name, platform }) => `${name} (${platform.toUpperCase()})`;

  function areUndisturbed({ samples_s, other_work, slowness }) {
    const isQuiet = (_, i) =>
      (other_work[i] ?? 0) <= rules.disturbed_share && (slowness[i] ?? 1) <= rules.slow;
    return samples_s.map(isQuiet);
  }

  // Leave the disturbed samples of each process out, if all processes have enough others.
  function withoutDisturbed(runs, undisturbed) {
    const kept = runs.map((run, i) => run.filter((_, j) => undisturbed[i][j]));
    return kept.every((run) => run.length >= rules.min_undisturbed) ? kept : runs;
  }

  // Read the text of a file: its environment, and its results.
  function parse(text, name) {
    const data = parseJson(text, name);
    const version = data?.schema_version;
    if (typeof version !== "number")
      throw noResults(name);
    if (version !== rules.schema_version)
      throw new FileError(
        `${name} has schema version ${version}, but this page reads version ` +
          `${rules.schema_version}: measure again, or use the site of the version of jaxcap that wrote it.`,
      );
    const { valid, errors } = validate(data);
    if (!valid) {
      const place = readable(placeOf(errors)) || "the file";
      const reason = readable(reasonOf(errors));
      throw new FileError(`${name} is not a valid result file: ${place}: ${reason}: measure again.`);
    }
    checkTexts(text, name);
    const results = data.results.map((result) => new Result(result));
    check(results, name);
    return { environment: data.environment, device: deviceName(data.environment.device), results };
  }

  const noResults = (name) =>
    new FileError(
      `${name} is not a file of results: choose one that “jaxcap record”, “jaxcap report --results ` +
        "FILE” or a measurement such as “jaxcap jit --json FILE” wrote.",
    );

  function parseJson(text, name) {
    try {
      return JSON.parse(text);
    } catch {
      if (/^\s*[^\s[{]/.test(text)) throw noResults(name); // such as a page or a table
      throw new FileError(
        `${name} is not valid JSON, perhaps because it was cut short: measure again, or choose another ` +
          "copy of the file.",
      );
    }
  }

  function validate(data) {
    try {
      return validator.validate(data);
    } catch {
      // A name is no text, so that the validator can't say where it is.
      return { valid: false, errors: [{ instanceLocation: "#", error: "a name can't be read." }] };
    }
  }

  // Such as "results.0.variant", from a JSON pointer in an address.
  function placeOf(errors) {
    const [, ...names] = errors.at(-1).instanceLocation.split("/");
    const decoded = names.map((name) => decodeURI(name).replaceAll("%23", "#"));
    return decoded.map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~")).join(".");
  }

  // What the validator says, but for what only those understand who know schemas.
  function reasonOf(errors) {
    const { error } = errors.at(-1);
    if (errors.some(({ keyword }) => keyword === "anyOf")) return "a value like this is not allowed";
    if (error.startsWith("False boolean schema")) return "a field of this name is not known";
    return error
      .replace(/Instance type "(\w+)" is invalid. Expected "(\w+)"/, "expected $2, not $1")
      .replace(/^Instance does not match any of/, "expected one of")
      .replace(/\.$/, "");
  }

  // Refuse what can't be printed, and objects with two entries of a name: of them, JSON.parse keeps one.
  function checkTexts(text, name) {
    let entries = -1; // without the file itself
    JSON.parse(text, function (key, value) {
      if (!Array.isArray(this)) entries += 1;
      const hidden = [key, value].find((part) => typeof part === "string" && NOT_PRINTED.test(part));
      if (hidden === undefined) return value;
      const code = NOT_PRINTED.exec(hidden)[0].codePointAt(0).toString(16).toUpperCase();
      throw new FileError(
        `${name} contains the character U+${code.padStart(4, "0")}, which can't be printed: ` +
          "measure again.",
      );
    });
    const colons = text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"/g, "").split(":").length - 1;
    if (colons !== entries)
      throw new FileError(
        `${name} is not valid JSON: an object has two entries of the same name: measure again.`,
      );
  }

  // What the schema can't say.
  function check(results, name) {
    const keys = new Set();
    for (const result of results) {
      const where = `${name}, experiment ${readable(result.experiment)}:`;
      if (/[/\\]/.test(result.experiment))
        throw new FileError(`${where} the name must not contain a slash: measure again.`);
      if (result.runs.length > rules.max_processes)
        throw new FileError(
          `${where} at most ${rules.max_processes} processes can be read: measure with fewer.`,
        );
      if (!result.runs.every(hasEqualLengths))
        throw new FileError(`${where} lists of samples differ in length: measure again.`);
      if (keys.has(result.key))
        throw new FileError(
          `${where} there are two results for the same variant and parameters: keep one.`,
        );
      keys.add(result.key);
    }
  }

  function hasEqualLengths({ samples_s, dispatch_s, ...counted }) {
    const lists = ["minor_faults", "involuntary_switches", "other_work", "slowness"];
    const lengths = lists.map((list) => counted[list]?.length || samples_s.length);
    return [dispatch_s.length, ...lengths].every((length) => length === samples_s.length);
  }

  // What a file holds, in a sentence: not too long, and without what would move or hide its words.
  function readable(value) {
    const text = String(value).slice(0, 101).replace(new RegExp(NOT_PRINTED, "gu"), "�");
    return text.length > 100 ? `${text.slice(0, 100)}…` : text;
  }

  // Read a chosen file.
  async function read(file) {
    const name = readable(file.name);
    if (file.size > rules.max_bytes)
      throw new FileError(
        `${name} is too large, because files of results may have at most ` +
          `${rules.max_bytes.toLocaleString("en")} bytes: save fewer experiments in each.`,
      );
    const text = await textOf(file, name);
    return { name, text, ...parse(text, name) };
  }

  async function textOf(file, name) {
    let bytes;
    try {
      bytes = await file.arrayBuffer();
    } catch {
      throw new FileError(`${name} can't be read: choose a file, not a folder.`);
    }
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      throw new FileError(
        `${name} is not text in UTF-8, so it is not a file of results: choose another file.`,
      );
    }
  }

  return { FileError, deviceName, parse, read, readable };
})();
