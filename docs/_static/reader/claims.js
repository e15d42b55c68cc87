// Judges claims by a reader's results, as jaxcap.report.claims does.
"use strict";

const readerClaims = (() => {
  const rules = jaxcapRules;
  const WORDS = { holds: "holds", fails: "does not hold", undecided: "undecided" };
  const CLOSE = "about as fast"; // undecided, although any difference is small
  const SIGNS = { holds: "✓", "does not hold": "✗", [CLOSE]: "≈", undecided: "?" };

  // Whether a result has a value: of a parameter, or of its device's platform.
  function meets(result, name, value) {
    if (name === "device") return result.device.platform === value;
    if (["experiment", "variant", "allocator"].includes(name)) return result[name] === value;
    return result.parameters.has(name) && result.parameters.get(name) === value;
  }

  const pairs = new WeakMap(); // the first of each comparison and variant, by list of results

  function paired(results, { comparison }, variant) {
    const key = (result) => JSON.stringify([result.comparison, result.variant]);
    if (!pairs.has(results))
      pairs.set(results, new Map(results.toReversed().map((result) => [key(result), result])));
    return pairs.get(results).get(key({ comparison, variant }));
  }

  // The speed-up that decides a claim, from results of its experiment; null if they lack it.
  function evidence({ variant, over, criteria }, { environment, results }) {
    let chosen = variant === null ? results : results.filter((result) => result.variant === variant);
    for (const [name, value] of Object.entries(criteria)) {
      if (value?.chosen === "largest") continue;
      const wanted = value?.chosen === "best" ? environment.device.platform : value;
      chosen = chosen.filter((result) => meets(result, name, wanted));
    }
    if (variant === null)
      chosen = chosen.filter((result) => result.variant !== over && paired(results, result, over));
    for (const [name, value] of Object.entries(criteria)) {
      if (value?.chosen !== "largest") continue;
      const numbers = chosen.map((result) => result.parameters.get(name));
      const largest = Math.max(...numbers.filter((number) => typeof number === "number"));
      chosen = chosen.filter((result) => meets(result, name, largest));
    }
    const baseline = chosen.length === 1 && paired(results, chosen[0], over);
    return baseline ? chosen[0].speedup(baseline) : null;
  }

  // What becomes of a statement on a reader's machine; null if that did not measure it.
  function judge(statement, { environment, results }) {
    const own = results.filter((result) => result.experiment === statement.experiment);
    const estimate = evidence(statement.evidence, { environment, results: own });
    if (!estimate) return null;
    const outcome = outcomeOf(statement, estimate);
    const words = isClose(outcome, estimate) ? CLOSE : WORDS[outcome];
    return {
      estimate,
      outcome,
      words,
      sign: SIGNS[words],
      sentence: sentence(statement.text, outcome, estimate),
      measured:
        `Measured on ${estimate.devices.join(" and ")}: ${estimate.factorInFull}. ` +
        `The claim needs it to be ${statement.needs}.`,
    };
  }

  function outcomeOf({ above, below }, { low, high, confidence }) {
    const [least, most] = [above ?? -Infinity, below ?? Infinity];
    if (confidence < rules.confidence) return "undecided";
    if (least < low && high < most) return "holds";
    return high < least || low > most ? "fails" : "undecided";
  }

  function isClose(outcome, { verdictInWords }) {
    return outcome === "undecided" && verdictInWords === CLOSE;
  }

  function sentence(text, outcome, estimate) {
    if (outcome === "holds") return `${text[0].toUpperCase()}${text.slice(1)}.`;
    if (outcome === "fails") return `These measurements contradict the claim that ${text}.`;
    const but = isClose(outcome, estimate) ? " If there is a difference, it is smaller than a quarter." : "";
    return `These measurements can't tell whether ${text}.${but}`;
  }

  return { judge, paired, SIGNS };
})();
