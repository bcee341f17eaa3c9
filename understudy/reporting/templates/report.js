"use strict";
// Draws the charts of the page with uPlot, in the place of the still figures, which stay for print and for readers
// without scripts. All words come from the page's own data and are set as text, never as HTML: names are the user's.
(() => {
  const FULL = 1.03; // a little room behind the last reading, as the still figures have it
  const LEFT = 62,
    RIGHT = 18; // margins of all panels, so that their steps lie beneath each other
  const charts = JSON.parse(document.getElementById("chart-data").textContent);

  const whole = new Intl.NumberFormat("en-US");
  const few = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 4 });
  const number = (value) => (value == null ? "–" : few.format(value));
  const percent = (share) => (share == null ? "–" : `${few.format(Math.round(1000 * share) / 10)}%`);
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const colorOf = (set) => color(set.color ? `color-${set.color}` : "ink");

  /** Return an element with attributes and children; text children are text. */
  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value != null) element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }

  /** Return the place of the last entry of ascending numbers that is at most x; -1 where there is none. */
  function lastUpTo(numbers, x) {
    let low = 0,
      high = numbers.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (numbers[middle] <= x) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** Return the value of a line at x, between its neighbors; null where there are none. */
  function valueAt(steps, values, x) {
    const here = lastUpTo(steps, x),
      next = here + 1;
    if (here < 0) return null;
    if (steps[here] === x || next >= steps.length || values[next] == null) return values[here];
    const share = (x - steps[here]) / (steps[next] - steps[here]);
    return values[here] == null ? null : values[here] + share * (values[next] - values[here]);
  }

  /** Return the values of a set on the steps of all sets; undefined, which uPlot draws through, where it has none. */
  function spread(x, steps, values) {
    const places = new Map(steps.map((step, place) => [step, place]));
    return x.map((step) => (places.has(step) ? values[places.get(step)] : undefined));
  }

  class Chart {
    constructor(figure, chart) {
      this.chart = chart;
      this.sets = chart.sets;
      this.x = [...new Set(this.sets.flatMap((set) => set.x))].sort((a, b) => a - b);
      this.full = [0, FULL * Math.max(this.x[this.x.length - 1], ...this.sets.map((set) => set.longest))];
      this.view = this.full;
      this.on = this.sets.map(() => true);
      this.line = "mean"; // or "median"
      this.band = "mean"; // or "runs", "none"
      this.single = "none"; // or "all", or the place of a run
      this.at = this.begins();
      this.plots = [];
      this.figure = figure;
      this.place = figure.querySelector(".live");
      this.place.hidden = false;
      this.panels = make("div", { class: "panels", "aria-hidden": "true" });
      this.place.append(this.controls(), this.panels, this.reader());
      this.draw();
      this.read(this.at);
      figure.classList.add("drawn");
      new ResizeObserver(() => this.resize()).observe(this.place);
    }

    /** Return where the cursor begins: as far as a set can be believed, or else as far as one has nearly all runs. */
    begins() {
      const last = (field) => Math.max(...this.sets.map((set) => set[field] ?? -1));
      const x = last("trusted") > 0 ? last("trusted") : last("complete");
      return x < 0 ? this.x.length - 1 : Math.max(0, lastUpTo(this.x, x));
    }

    // --- what a reader can choose -------------------------------------------------------------------------------

    controls() {
      const key = this.chart.id;
      const change = (then) => (event) => {
        then(event.target);
        this.refresh();
      };
      const box = (name, ...inside) => make("fieldset", {}, make("legend", {}, name), ...inside);
      const radio = (group, value, words, then) =>
        make(
          "label",
          {},
          make("input", {
            type: "radio",
            name: `${key}-${group}`,
            value,
            checked: this[group] === value,
            onchange: change(then),
          }),
          ` ${words}`,
        );
      const sets = this.sets.map((set, place) =>
        make(
          "label",
          { class: "set" },
          make("input", {
            type: "checkbox",
            checked: true,
            onchange: change((box) => {
              this.on[place] = box.checked;
            }),
          }),
          this.swatch(set),
          make("span", {}, set.name),
        ),
      );
      const most = Math.max(...this.sets.map((set) => set.single.values.length));
      const choices = [
        ["none", "none"],
        ["all", "all"],
        ...Array.from({ length: most }, (_, run) => [`${run}`, `run ${run + 1}`]),
      ];
      const select = make(
        "select",
        {
          id: `${key}-single`,
          onchange: change((one) => {
            this.single = one.value;
          }),
        },
        ...choices.map(([value, words]) => make("option", { value }, words)),
      );
      const button = (words, action) => make("button", { type: "button", onclick: action }, words);
      return make(
        "div",
        { class: "controls", role: "group", "aria-label": `What to show of ${this.chart.title}` },
        box("Sets", ...sets),
        box(
          "Line",
          radio("line", "mean", "mean", (one) => {
            this.line = one.value;
          }),
          radio("line", "median", "median", (one) => {
            this.line = one.value;
          }),
        ),
        box(
          "Band",
          radio("band", "mean", "of the mean", (one) => {
            this.band = one.value;
          }),
          radio("band", "runs", "of eight of ten runs", (one) => {
            this.band = one.value;
          }),
          radio("band", "none", "none", (one) => {
            this.band = one.value;
          }),
        ),
        box("Single runs", make("label", { for: select.id, class: "hidden" }, "Which single runs to show"), select),
        box(
          "Zoom",
          button("in", () => this.zoom(0.5)),
          button("out", () => this.zoom(2)),
          button("earlier", () => this.move(-0.5)),
          button("later", () => this.move(0.5)),
          button("show all", () => this.show(...this.full)),
        ),
      );
    }

    swatch(set) {
      return make("span", { class: `swatch color-${set.color}`, "aria-hidden": "true" });
    }

    /** The cursor for keyboard and touch, a native slider, and the table of what is under it. */
    reader() {
      this.slider = make("input", {
        type: "range",
        min: 0,
        max: this.x.length - 1,
        step: 1,
        value: this.at,
        id: `${this.chart.id}-at`,
        oninput: () => this.read(Number(this.slider.value), true),
      });
      this.where = make("output", { for: this.slider.id });
      this.table = make("table", { class: "readout" });
      return make(
        "div",
        { class: "reader" },
        make(
          "div",
          { class: "read-at" },
          make(
            "label",
            { for: this.slider.id },
            `Read at ${this.chart.unit}`,
            make("span", { class: "hidden" }, `, ${this.chart.title}`), // which chart, for those who do not see it
          ),
          this.slider,
          this.where,
        ),
        make(
          "div",
          {
            class: "scroll",
            tabindex: "0",
            role: "region",
            "aria-label": `Values at the cursor, ${this.chart.title}`,
          },
          this.table,
        ),
      );
    }

    // --- zoom ---------------------------------------------------------------------------------------------------

    zoom(factor) {
      const [low, high] = this.view,
        at = this.x[this.at];
      const middle = at >= low && at <= high ? at : (low + high) / 2;
      this.show(middle - (middle - low) * factor, middle + (high - middle) * factor);
    }

    move(share) {
      const [low, high] = this.view,
        width = high - low;
      const by = Math.max(this.full[0] - low, Math.min(this.full[1] - high, share * width));
      this.show(low + by, high + by);
    }

    show(low, high) {
      const least = this.full[1] / 10000; // further in there is nothing to see
      if (high - low < least) return;
      const min = Math.max(this.full[0], low),
        max = Math.min(this.full[1], high);
      this.plots[0].setScale("x", { min, max }); // the hook of this panel moves the others
    }

    // --- reading ------------------------------------------------------------------------------------------------

    /** Show what all sets have at one place; with `move`, the cursor goes there, too. */
    read(at, move = false) {
      this.at = at;
      const x = this.x[at],
        unit = this.chart.unit;
      this.slider.value = at;
      this.where.textContent = whole.format(x);
      const bands = { mean: ["low", "high"], runs: ["run_low", "run_high"], none: null }[this.band];
      const chosen = this.single === "none" || this.single === "all" ? null : Number(this.single);
      const spoken = [],
        lines = [];
      this.sets.forEach((set, place) => {
        if (!this.on[place]) return;
        const here = x > set.x[set.x.length - 1] ? -1 : lastUpTo(set.x, x);
        const value = here < 0 ? null : set[this.line][here];
        const low = here < 0 || !bands ? null : set[bands[0]][here],
          high = here < 0 || !bands ? null : set[bands[1]][here];
        const band = low == null || high == null ? "–" : `${number(low)} to ${number(high)}`;
        const runs = here < 0 ? "–" : `${set.runs[here]} of ${set.n_runs}`;
        const notes = this.notes(set, x);
        lines.push([
          [this.swatch(set), set.name],
          number(value),
          band,
          runs,
          ...(chosen == null ? [] : [number(this.ofRun(set, chosen, x))]),
          notes.join("; "),
        ]);
        spoken.push(
          `${set.name}: ${number(value)}${band === "–" ? "" : `, ${band}`}, ${runs} runs${notes.length ? `, ${notes.join(", ")}` : ""}`,
        );
      });
      const narrow = this.width < 560; // there, what is to be said of a set has a line of its own
      const headings = [
        "",
        this.line,
        this.band === "none" ? "band" : this.band === "mean" ? "band of the mean" : "eight of ten runs",
        "runs with a reading",
        ...(chosen == null ? [] : [`run ${chosen + 1}`]),
        "",
      ];
      const cells = (tag, line, scopes) =>
        make(
          "tr",
          {},
          ...line.map((cell, place) =>
            make(
              place ? tag : "th",
              { scope: place ? scopes : "row", class: place && place < line.length - 1 ? "number" : null },
              ...[cell].flat(),
            ),
          ),
        );
      const folded = (line) => {
        const notes = line[line.length - 1];
        const rows = [cells("td", line.slice(0, -1).concat(""), null)];
        if (notes) rows.push(make("tr", { class: "note" }, make("td", { colspan: line.length }, notes)));
        return rows;
      };
      const head = make(
        "tr",
        {},
        ...headings.map((words, place) =>
          words
            ? make("th", { scope: "col", class: place < headings.length - 1 ? "number" : null }, words)
            : make("td"),
        ),
      );
      this.table.replaceChildren(
        make("thead", {}, head),
        make("tbody", {}, ...lines.flatMap((line) => (narrow ? folded(line) : [cells("td", line, null)]))),
      );
      this.slider.setAttribute("aria-valuetext", `${unit} ${whole.format(x)}. ${spoken.join(". ")}`);
      if (!move) return;
      const [low, high] = this.view;
      if (x < low || x > high) this.show(...this.around(x));
      for (const plot of this.plots.slice(0, 1))
        plot.setCursor({ left: plot.valToPos(x, "x"), top: plot.over.clientHeight / 2 });
    }

    /** Return a view as wide as now, with x in its middle. */
    around(x) {
      const width = this.view[1] - this.view[0];
      const low = Math.max(this.full[0], Math.min(this.full[1] - width, x - width / 2));
      return [low, low + width];
    }

    /** Return what is to be said of a set at x: how far to believe it, who is still going, and what served it. */
    notes(set, x) {
      const notes = [];
      if (x > set.x[set.x.length - 1]) return ["too few runs got so far"];
      if (set.trusted === 0) notes.push("not shown to be believable");
      else if (set.trusted != null && x > set.trusted) notes.push("beyond what can be believed");
      else if (set.trusted != null) notes.push("believable");
      if (set.exact != null) notes.push(x <= set.exact ? "exact" : "not exact");
      if (set.complete == null || x > set.complete) notes.push("mean of runs that lasted");
      if (set.going) {
        const share = set.going.share[lastUpTo(set.going.x, x)];
        if (share < 1) notes.push(`${percent(share)} of runs go on`);
      }
      if (set.rungs) {
        const { edges, shares, cut } = set.rungs,
          bin = Math.min(edges.length - 2, Math.max(0, lastUpTo(edges, x - 0.5)));
        for (const [rung, share] of Object.entries(shares)) {
          if (rung !== "own" && share[bin])
            notes.push(`${percent(share[bin])} served by ${this.chart.rungs[rung].words}`);
        }
        if (cut && cut[bin]) notes.push(`${percent(cut[bin])} of episodes cut`);
      }
      return notes;
    }

    ofRun(set, run, x) {
      const values = set.single.values[run],
        last = set.single.last[run];
      if (!values || !last || x > last[0]) return null;
      if (x === last[0]) return last[1];
      const place = lastUpTo(set.single.x, x);
      return place < 0 ? null : values[Math.min(place, values.length - 1)];
    }

    // --- drawing ------------------------------------------------------------------------------------------------

    /** Return the columns that uPlot draws: of each set two bands, the line, and the line beyond what is complete. */
    data() {
      const columns = [this.x];
      this.sets.forEach((set, place) => {
        const part = (values, within) =>
          spread(
            this.x,
            set.x,
            values.map((value, at) => (this.on[place] && within(set.x[at], at) ? value : null)),
          );
        const complete = set.complete ?? -1,
          seen = set.seen ?? Infinity,
          none = () => false;
        const [low, high] = this.band === "runs" ? [set.run_low, set.run_high] : [set.low, set.high];
        const firm =
          this.band === "none" ? none : this.band === "runs" ? () => true : (x) => x <= Math.min(complete, seen);
        const next = set.x.findIndex((x) => x > seen); // the lighter part begins where the other ends
        const light = this.band !== "mean" ? none : (x, at) => x <= complete && at >= next - 1 && next >= 0;
        const after = set.x.findIndex((x) => x > complete);
        columns.push(
          part(high, firm),
          part(low, firm),
          part(high, light),
          part(low, light),
          part(set[this.line], (x) => x <= complete),
          part(set[this.line], (x, at) => after >= 0 && at >= after - 1),
        );
      });
      return columns;
    }

    draw() {
      for (const plot of this.plots) plot.destroy();
      this.panels.replaceChildren();
      this.plots = [];
      this.width = this.place.clientWidth;
      const height = this.width < 560 ? 250 : 340;
      this.panels.append(make("p", { class: "panel-title" }, `${this.chart.title}, by ${this.chart.kind === "return" ? "its number in the run" : "step"}`));
      this.plots.push(this.main(height));
      if (this.sets.some((set) => set.going)) this.plots.push(this.going());
      for (const set of this.sets) if (set.rungs) this.plots.push(this.strip(set));
      if (this.sets.some((set) => set.rungs && set.rungs.cut)) this.plots.push(this.cut());
      this.panels.append(this.key());
    }

    /** Return the options that all panels share. */
    options(height, more) {
      const ink = color("muted"),
        rule = color("rule"),
        font = "12px system-ui, sans-serif";
      const axis = {
        stroke: ink,
        font,
        grid: { show: false },
        ticks: { stroke: rule, size: 4 },
        border: { show: false },
      };
      const steps = { ...axis, size: 30, values: (_, ticks) => ticks.map((tick) => whole.format(tick)), space: 70 };
      const values = { ...axis, size: LEFT, grid: { stroke: rule, width: 1 }, values: (_, ticks) => ticks.map(number) };
      return {
        class: more.zooms ? "main" : "beneath",
        width: this.width,
        height,
        legend: { show: false },
        padding: [8, RIGHT, more.bottom ?? 0, 0],
        scales: {
          x: { time: false, auto: false, range: (_, min, max) => (min == null ? this.view : [min, max]) },
          y: more.y,
        },
        axes: [
          { ...steps, ...more.steps },
          { ...values, ...more.values },
        ],
        series: [{}, ...more.series],
        bands: more.bands ?? [],
        cursor: {
          y: false,
          points: { show: false },
          sync: { key: this.chart.id, scales: ["x", null] },
          drag: { x: more.zooms, y: false, setScale: more.zooms, dist: 6 },
          bind: {
            dblclick: () => () => {
              this.show(...this.full);
              return null;
            },
          },
        },
        hooks: more.hooks ?? {},
      };
    }

    main(height) {
      const series = [],
        bands = [];
      this.sets.forEach((set, place) => {
        const stroke = colorOf(set),
          line = (plot) => this.paleBeyond(plot, set, stroke),
          first = 1 + 6 * place,
          width = set.color ? 2 : 1.4;
        const edge = { stroke: "transparent", width: 0, points: { show: false } };
        const dashed = { stroke: `${stroke}88`, width: 0.8, dash: [3, 3], points: { show: false } };
        series.push(
          edge,
          edge,
          dashed,
          dashed,
          { stroke: line, width, points: { show: false } },
          { stroke: line, width, dash: [5, 3], points: { show: false } },
        );
        if (set.x.length === 1)
          series[first + 3].points =
            // a single reading has no line
            { show: true, size: 6, fill: stroke, stroke };
        bands.push(
          { series: [first, first + 1], fill: `${stroke}2e` },
          { series: [first + 2, first + 3], fill: `${stroke}16` },
        );
      });
      const plot = new uPlot(
        this.options(height, {
          series,
          bands,
          zooms: true,
          y: { range: (_, low, high) => this.range(low, high) },
          hooks: {
            drawClear: [(plot) => this.veil(plot)],
            drawAxes: [(plot) => this.runs(plot)],
            draw: [(plot) => this.marks(plot)],
            setCursor: [
              (plot) => {
                const at = plot.cursor.idx;
                if (at != null && plot.cursor.left >= 0 && at !== this.at) this.read(at);
              },
            ],
            setScale: [
              (plot, scale) => {
                if (scale !== "x" || plot !== this.plots[0]) return;
                this.view = [plot.scales.x.min, plot.scales.x.max];
                [this.panels.dataset.from, this.panels.dataset.to] = this.view;
                for (const other of this.plots.slice(1)) other.setScale("x", { min: this.view[0], max: this.view[1] });
              },
            ],
          },
        }),
        this.data(),
        this.panels,
      );
      plot.setScale("x", { min: this.view[0], max: this.view[1] });
      return plot;
    }

    /** Return the range of the values shown, single runs and the log's own return included. */
    range(low, high) {
      const known = low == null ? [] : [low, high];
      if (this.chart.logged != null) known.push(this.chart.logged);
      if (this.chart.kind === "difference") known.push(0);
      this.singles((set, steps, values) => {
        values.forEach((value, place) => {
          if (value != null && steps[place] >= this.view[0] && steps[place] <= this.view[1]) known.push(value);
        });
      });
      if (!known.length) return [0, 1];
      const [least, most] = known.reduce(
        ([a, b], value) => [Math.min(a, value), Math.max(b, value)],
        [Infinity, -Infinity],
      );
      const room = 0.06 * (most - least || Math.abs(most) || 1);
      return [least - room, most + room];
    }

    /** Call a function with the steps and values of each single run that is shown. */
    singles(then) {
      if (this.single === "none") return;
      this.sets.forEach((set, place) => {
        if (!this.on[place]) return;
        set.single.values.forEach((values, run) => {
          if (this.single !== "all" && Number(this.single) !== run) return;
          const last = set.single.last[run];
          if (last) then(set, [...set.single.x.slice(0, values.length), last[0]], [...values, last[1]]);
        });
      });
    }

    runs(plot) {
      this.clipped(plot, (context) => {
        context.lineWidth = (this.single === "all" ? 0.7 : 1.4) * devicePixelRatio;
        this.singles((set, steps, values) => {
          context.strokeStyle = `${colorOf(set)}${this.single === "all" ? "55" : "cc"}`;
          context.beginPath();
          let joined = false;
          values.forEach((value, place) => {
            if (value == null) {
              joined = false;
              return;
            }
            const at = [plot.valToPos(steps[place], "x", true), plot.valToPos(value, "y", true)];
            if (joined) context.lineTo(...at);
            else context.moveTo(...at);
            joined = true;
          });
          context.stroke();
        });
      });
    }

    clipped(plot, then) {
      const { left, top, width, height } = plot.bbox,
        context = plot.ctx;
      context.save();
      context.beginPath();
      context.rect(left, top, width, height);
      context.clip();
      then(context);
      context.restore();
    }

    /** Return the color of a line, pale beyond the step up to which its set can be believed. */
    paleBeyond(plot, set, stroke) {
      const { left, width } = plot.bbox;
      if (set.trusted == null || !(width > 0)) return stroke;
      const share = (plot.valToPos(set.trusted, "x", true) - left) / width;
      if (!(share < 1)) return stroke;
      const pale = `${stroke}80`;
      if (share <= 0) return pale;
      const gradient = plot.ctx.createLinearGradient(left, 0, left + width, 0);
      for (const [place, shade] of [[0, stroke], [share, stroke], [share, pale], [1, pale]]) gradient.addColorStop(place, shade);
      return gradient;
    }

    /** Gray beyond the last step that can be believed of any set shown; all of it where no step of them can be. */
    veil(plot) {
      const horizons = this.sets
        .filter((set, place) => this.on[place] && set.trusted != null)
        .map((set) => set.trusted);
      if (!horizons.length) return;
      const { left, top, width, height } = plot.bbox;
      const from = Math.max(left, plot.valToPos(Math.max(...horizons), "x", true));
      this.clipped(plot, (context) => {
        context.fillStyle = `${color("muted")}1c`;
        context.fillRect(from, top, left + width - from, height);
      });
    }

    /** Marks of horizons: a diamond where the trusted one ends, a thin line at the exact one, a triangle at the longest run. */
    marks(plot) {
      const scale = devicePixelRatio,
        { left, top, width, height } = plot.bbox;
      this.clipped(plot, (context) => {
        if (this.chart.logged != null) {
          const y = plot.valToPos(this.chart.logged, "y", true);
          this.rule(context, [left, y], [left + width, y], color("muted"), 1.2 * scale, [6 * scale, 4 * scale]);
        }
        if (this.chart.kind === "difference") {
          const y = plot.valToPos(0, "y", true);
          this.rule(context, [left, y], [left + width, y], color("ink"), scale);
        }
        this.sets.forEach((set, place) => {
          if (!this.on[place]) return;
          const stroke = colorOf(set);
          if (set.exact != null) {
            const x = plot.valToPos(set.exact, "x", true);
            this.rule(context, [x, top], [x, top + height], stroke, scale);
          }
          if (this.chart.kind === "probe") {
            const x = plot.valToPos(set.longest, "x", true),
              bottom = top + height,
              size = 5 * scale;
            this.shape(
              context,
              [
                [x - size, bottom - 2 * size],
                [x + size, bottom - 2 * size],
                [x, bottom],
              ],
              stroke,
            );
          }
          if (set.trusted) {
            const x = plot.valToPos(set.trusted, "x", true),
              size = 6 * scale;
            this.rule(context, [x, top], [x, top + height], stroke, scale, [scale, 2 * scale]);
            const value = valueAt(set.x, set[this.line], set.trusted);
            if (value == null) return;
            const y = plot.valToPos(value, "y", true);
            this.shape(
              context,
              [
                [x, y - size],
                [x + size, y],
                [x, y + size],
                [x - size, y],
              ],
              stroke,
            );
          }
        });
      });
    }

    rule(context, from, to, stroke, width, dash = []) {
      context.strokeStyle = stroke;
      context.lineWidth = width;
      context.setLineDash(dash);
      context.beginPath();
      context.moveTo(...from);
      context.lineTo(...to);
      context.stroke();
      context.setLineDash([]);
    }

    shape(context, points, fill) {
      context.beginPath();
      points.forEach((point, place) => (place ? context.lineTo(...point) : context.moveTo(...point)));
      context.closePath();
      context.fillStyle = fill;
      context.fill();
      context.strokeStyle = color("card");
      context.lineWidth = devicePixelRatio;
      context.stroke();
    }

    /** The share of runs still going. */
    going() {
      this.panels.append(make("p", { class: "panel-title small" }, "runs still going, %"));
      const sets = this.sets.filter((set) => set.going);
      const x = [...new Set(sets.flatMap((set) => set.going.x))].sort((a, b) => a - b);
      const shares = sets.map((set) => x.map((step) => 100 * set.going.share[lastUpTo(set.going.x, step)]));
      const series = sets.map((set) => ({
        stroke: colorOf(set),
        width: 1.4,
        points: { show: false },
        paths: uPlot.paths.stepped({ align: 1 }),
      }));
      return new uPlot(
        this.options(96, { series, zooms: false, y: { range: [-4, 104] }, values: { splits: [0, 50, 100] } }),
        [x, ...shares],
        this.panels,
      );
    }

    /** Which rungs served the steps of a set, stacked to 100%. */
    strip(set) {
      const several = this.sets.filter((one) => one.rungs).length > 1;
      this.panels.append(
        make(
          "p",
          { class: "panel-title small" },
          `steps served by${several ? `, ${set.name}` : ""}: `,
          ...Object.keys(set.rungs.shares).map((rung) =>
            make(
              "span",
              { class: "served" },
              make("span", { class: `swatch block ${this.chart.rungs[rung].color}` }),
              this.chart.rungs[rung].words,
            ),
          ),
        ),
      );
      const { edges, shares } = set.rungs;
      const draw = (plot) =>
        this.clipped(plot, (context) => {
          const below = edges.map(() => 0);
          for (const [rung, served] of Object.entries(shares)) {
            context.fillStyle = color(this.chart.rungs[rung].color);
            served.forEach((share, bin) => {
              if (!share) return;
              const [from, to] = [edges[bin], edges[bin + 1]].map((edge) => plot.valToPos(edge, "x", true));
              const [low, high] = [below[bin], below[bin] + 100 * share].map((value) =>
                plot.valToPos(value, "y", true),
              );
              context.fillRect(from, high, to - from + 0.5, low - high);
              below[bin] += 100 * share;
            });
          }
        });
      const options = this.options(50, {
        bottom: 8,
        series: [{ show: false }],
        zooms: false,
        y: { range: [0, 100] },
        steps: { show: false },
        values: { splits: [0, 100], grid: { show: false } },
        hooks: { drawAxes: [draw] },
      });
      return new uPlot(options, [edges, edges.map(() => 0)], this.panels);
    }

    /** Which share of the episodes that ended was cut, since the log had no answer. */
    cut() {
      this.panels.append(make("p", { class: "panel-title small" }, "episodes cut, % of those that ended"));
      const sets = this.sets.filter((set) => set.rungs && set.rungs.cut);
      const x = [...new Set(sets.flatMap((set) => set.rungs.edges))].sort((a, b) => a - b);
      const ofBin = (set, step) => set.rungs.cut[lastUpTo(set.rungs.edges, step)] ?? null;
      const shares = sets.map((set) => x.map((step) => (ofBin(set, step) == null ? null : 100 * ofBin(set, step))));
      const series = sets.map((set) => ({
        stroke: colorOf(set),
        width: 1.4,
        points: { show: false },
        paths: uPlot.paths.stepped({ align: 1 }),
      }));
      return new uPlot(
        this.options(72, {
          bottom: 8,
          series,
          zooms: false,
          steps: { show: false },
          y: { range: (_, low, high) => [0, high || 1] },
          values: { space: 24 },
        }),
        [x, ...shares],
        this.panels,
      );
    }

    /** What the marks mean, those that are there. */
    key() {
      const any = (field) => this.sets.some((set) => set[field] != null);
      const trusted = this.sets.some((set) => set.trusted > 0);
      const one = `${this.chart.unit === "episode" ? "an" : "a"} ${this.chart.unit}`;
      const words = [
        trusted && "◆ as far as the log can be believed; pale, and gray: beyond that",
        !trusted && any("trusted") && "gray: not shown to be believable at any step",
        any("exact") && "│ as far as runs are exact",
        this.chart.kind === "probe" && "▼ the longest run",
        this.chart.kind === "difference" && "0: both earn the same",
        this.chart.kind !== "difference" && "dashed: runs that lasted, fewer than nine of ten",
        this.chart.logged != null && `gray dashes: what ${one} of the log earned, ${number(this.chart.logged)}`,
      ];
      return make("p", { class: "key" }, words.filter(Boolean).join(" · "));
    }

    // --- changes ------------------------------------------------------------------------------------------------

    refresh() {
      this.plots[0].setData(this.data(), false);
      this.plots[0].setScale("x", { min: this.view[0], max: this.view[1] });
      this.read(this.at);
    }

    resize() {
      if (!this.place.clientWidth || this.place.clientWidth === this.width) return;
      this.draw();
      this.read(this.at); // a narrow table is laid out in another way
    }
  }

  const drawn = [];
  const drawNext = (waiting) => {
    const [chart, ...others] = waiting;
    const figure = document.getElementById(chart.id);
    try {
      if (figure && chart.sets.length) drawn.push(new Chart(figure, chart));
    } catch (error) {
      figure.querySelector(".live").hidden = true; // the still figure tells the same
      figure.classList.remove("drawn");
      console.error(error);
    }
    if (drawn.length === 1) performance.mark("first chart drawn");
    // One after the other, so that the first can be used while those further down are being drawn.
    if (others.length) setTimeout(drawNext, 0, others);
    else performance.mark("charts drawn");
  };
  document.documentElement.classList.add("scripted");
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn.forEach((chart) => chart.draw()));
  // From the top of the page to its end, whatever their order in the data.
  const places = [...document.querySelectorAll("figure[id]")].map((figure) => figure.id);
  drawNext(charts.sort((one, other) => places.indexOf(one.id) - places.indexOf(other.id)));
})();
