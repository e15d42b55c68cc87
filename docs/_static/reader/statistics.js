// Estimates and speed-ups as jaxcap.results.statistics makes them, and the same words for them. `rules`
// holds that module's constants: see jaxcap_docs.finish.rules.
"use strict";

const readerStatistics = (() => {
  const rules = jaxcapRules;
  const UNITS_OF_TIME = [[0, "s"], [-3, "ms"], [-6, "µs"], [-9, "ns"]];

  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

  function median(numbers) {
    const ordered = numbers.toSorted((a, b) => a - b);
    const half = ordered.length >> 1;
    return ordered.length % 2 ? ordered[half] : (ordered[half - 1] + ordered[half]) / 2;
  }

  // As Python rounds: a tie goes to the even neighbour. Negative places are zeros before the point.
  function rounded(number, asked) {
    const places = Math.min(asked, 100);
    if (!Number.isFinite(number)) return Number.isNaN(number) ? "nan" : number < 0 ? "-inf" : "inf";
    const size = Math.abs(number);
    const digits = size < 1e21 ? size.toFixed(100).replace(".", "") : `${BigInt(size)}${"0".repeat(100)}`;
    const unit = 10n ** BigInt(100 - places);
    let [count, rest] = [BigInt(digits) / unit, BigInt(digits) % unit];
    if (2n * rest > unit || (2n * rest === unit && count % 2n)) count += 1n;
    const text = `${count * (places < 0 ? 10n ** BigInt(-places) : 1n)}`.padStart(places + 1, "0");
    const decimals = Math.max(places, 0);
    const sign = number < 0 ? "-" : "";
    return decimals ? `${sign}${text.slice(0, -decimals)}.${text.slice(-decimals)}` : sign + text;
  }

  // With separators for thousands, of which decimals have none.
  const shown = (number, places) => rounded(number, places).replace(/(?<!\.\d*)\B(?=(\d{3})+(?!\d))/g, ",");
  const percent = (share) => `${rounded(100 * share, 0)}%`;

  // Where the median of further processes will lie: `prediction_interval`.
  function predictionInterval(medians, drift) {
    const n = medians.length;
    const logs = medians.map(Math.log);
    const mean = sum(logs) / n;
    const deviation = Math.sqrt(sum(logs.map((log) => (log - mean) ** 2)) / (n - 1));
    const varianceOfMedian = Math.PI / (2 * n + (n % 2 ? Math.PI - 2 : 2 * Math.PI - 4));
    const byChance = rules.quantiles_of_t[n - 2] * deviation * Math.sqrt(1 / n + varianceOfMedian);
    const reach = Math.hypot(byChance, rules.quantile * Math.SQRT2 * drift);
    const middle = median(medians);
    const low = Math.min(Math.exp(mean - reach), middle);
    return [low, Math.max(Math.exp(mean + reach), middle), rules.confidence];
  }

  // An interval for the median that samples come from: `median_interval`.
  function medianInterval(samples) {
    const ordered = samples.toSorted((a, b) => a - b);
    const n = ordered.length;
    const coverage = [];
    let [logTerm, below] = [-n * Math.LN2, 0];
    for (let i = 0; i < Math.max(n >> 1, 1); i += 1) {
      below += Math.exp(logTerm);
      coverage.push(1 - 2 * below);
      logTerm += Math.log((n - i) / (i + 1));
    }
    const d = coverage.filter((share) => share >= rules.confidence).length;
    if (d === 0) return [ordered[0], ordered.at(-1), Math.max(coverage[0], 0)];
    const share = (coverage[d - 1] - rules.confidence) / (coverage[d - 1] - coverage[d]);
    const inward = ((n - d) * share) / (d + (n - 2 * d) * share);
    const low = ordered[d - 1] + inward * (ordered[d] - ordered[d - 1]);
    const high = ordered[n - d] - inward * (ordered[n - d] - ordered[n - d - 1]);
    return [low, high, rules.confidence];
  }

  class Estimate {
    static drift = rules.drift;

    constructor(properties) {
      Object.assign(this, properties);
    }

    // From what each process measured: a list of samples for each.
    static fromRuns(runs, unit = "", devices = []) {
      const medians = runs.map(median);
      const numbers = runs.length === 1 ? runs[0] : medians;
      const basis = runs.length === 1 ? "one process" : `${runs.length} processes`;
      const isPrediction = runs.length > 1 && Math.min(...medians) > 0;
      const [low, high, confidence] = isPrediction
        ? predictionInterval(medians, this.drift)
        : medianInterval(numbers);
      const kind = isPrediction ? "prediction" : "median";
      const value = median(numbers);
      return new this({ value, low, high, confidence, unit, basis, kind, devices, medians });
    }

    get short() {
      const [scale, unit] = this.scale;
      return `${shown(this.value / scale, this.places)} ${unit}`.trimEnd();
    }

    get range() {
      return this.asRange(this.low, this.high);
    }

    // What the processes saw, or the interval if there is only one.
    get observed() {
      if (this.medians.length < 2) return [this.low, this.high];
      return [Math.min(...this.medians), Math.max(...this.medians)];
    }

    get spread() {
      return this.asRange(...this.observed);
    }

    get inFull() {
      if (!this.confidence) return `${this.short} (a single sample, ${this.basis})`;
      return `${this.short} (${percent(this.confidence)} interval ${this.range}, ${this.basis})`;
    }

    get intervalName() {
      if (!this.confidence) return `range (${this.basis})`;
      const kind = this.kind === "prediction" ? "prediction" : "confidence";
      return `${percent(this.confidence)} ${kind} interval (${this.basis})`;
    }

    asRange(low, high, unit = "") {
      const [scale, ownUnit] = this.scale;
      let [start, end] = [low, high].map((number) => shown(number / scale, this.rangePlaces));
      if (low > 0 && Number(rounded(low / scale, this.rangePlaces)) === 0) {
        start = Estimate.fromRuns([[low]], this.unit).short;
        unit = ownUnit;
      }
      return `${start} to ${end} ${unit}`.trimEnd();
    }

    get isQuotable() {
      return this.high <= rules.quotable_spread * this.low;
    }

    quotation(hedge = "") {
      if (this.isQuotable) return this.short;
      return `${hedge}${this.asRange(this.low, this.high, this.scale[1])}`;
    }

    get scale() {
      if (this.unit !== "s") return [1, this.unit];
      const magnitude = this.powerOfTen(Number(rounded(this.value, -this.lastDigit)));
      const [power, unit] =
        UNITS_OF_TIME.find(([least]) => magnitude >= least) ?? UNITS_OF_TIME.at(-1);
      return [Number(`1e${power}`), unit];
    }

    get lastDigit() {
      const first = this.powerOfTen(this.value);
      const width = this.high - this.low;
      if (Number.isFinite(width) && width > 0)
        return Math.min(Math.max(this.powerOfTen(width / 3), first - 3), first - 1);
      return first - (this.confidence && Number.isFinite(width) ? 3 : 1);
    }

    powerOfTen(number) {
      if (!number || !Number.isFinite(number)) return this.unit === "s" ? -9 : 0;
      return Number(number.toExponential(1).split("e")[1]);
    }

    get places() {
      return Math.round(Math.log10(this.scale[0])) - this.lastDigit;
    }

    get rangePlaces() {
      return this.places;
    }
  }

  // How many times as fast one variant is as another: words follow its direction.
  class Speedup extends Estimate {
    static drift = rules.drift_of_ratios;

    get verdict() {
      if (this.confidence < rules.confidence || (this.low <= 1 && 1 <= this.high)) return "undecided";
      return this.low > 1 ? "faster" : "slower";
    }

    get verdictInWords() {
      if (this.verdict !== "undecided") return this.inItsDirection.quotation();
      const isSure = this.confidence >= rules.confidence;
      const isNarrow = this.low * rules.no_difference >= 1 && this.high <= rules.no_difference;
      return isSure && isNarrow ? "about as fast" : "undecided";
    }

    get words() {
      if (this.verdict === "undecided") return `${this.verdictInWords} (${this.range})`;
      return this.inItsDirection.quotation("somewhere from ");
    }

    get inFull() {
      if (this.verdict !== "undecided") return this.factorInFull;
      const whether = this.verdictInWords === "undecided" ? " whether faster" : "";
      return `${this.verdictInWords}${whether}, ${this.factorInFull}`;
    }

    get factorInFull() {
      if (this.verdict !== "undecided" && !this.isQuotable) return `${this.words}, ${this.intervalName}`;
      const estimate = this.inItsDirection;
      return Object.getOwnPropertyDescriptor(Estimate.prototype, "inFull").get.call(estimate);
    }

    get inItsDirection() {
      if (this.verdict !== "slower") {
        const unit = this.verdict === "faster" ? "times faster" : "times as fast";
        return new Speedup({ ...this, unit });
      }
      const [value, low, high] = [this.value, this.high, this.low].map((number) => 1 / number);
      const medians = this.medians.map((number) => 1 / number);
      return new Speedup({ ...this, value, low, high, medians, unit: "times slower" });
    }

    get places() {
      let places = super.places;
      if (this.verdict !== "undecided")
        while (this.value !== 1 && Number(rounded(this.value, places)) === 1) places += 1;
      return places; // no factor of 1.0 is faster
    }

    get rangePlaces() {
      let places = this.places;
      const sideOf1 = (number) => Number(number > 1) - Number(number < 1);
      const isHidden = (end) => sideOf1(Number(rounded(end, places))) !== sideOf1(end);
      while ([this.low, this.high].some(isHidden)) places += 1;
      return places; // readers must see whether the interval includes 1
    }
  }

  return { Estimate, Speedup, percent };
})();
