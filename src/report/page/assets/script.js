// What pointer and keyboard do on the page. Everything that it shows stands in the markup as well.
"use strict";
(() => {
  const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

  // As the program writes bytes: two decimals, halves to the even one.
  function bytesText(count) {
    let amount = count, unit = 0;
    for (; Math.abs(amount) >= 1024 && unit + 1 < UNITS.length; ++unit) amount /= 1024;
    if (unit === 0) return count + " B";
    const hundredths = Math.floor(amount * 100), rest = amount * 100 - hundredths;
    const up = rest > 0.5 || (rest === 0.5 && hundredths % 2 === 1);
    return ((hundredths + (up ? 1 : 0)) / 100).toFixed(2) + " " + UNITS[unit];
  }

  // A list that was written as differences.
  function summed(differences) {
    let sum = 0;
    return differences.map((difference) => (sum += difference));
  }

  // The last of an ascending list that is not above the value; the first where all are.
  function lastAtMost(list, value) {
    let low = 0, high = list.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (list[middle] <= value) low = middle; else high = middle - 1;
    }
    return low;
  }

  // Calls `go` with the index that a key moves to. `moves`: by key, from the current index.
  function onKeys(element, moves, go) {
    element.addEventListener("keydown", (event) => {
      const move = moves[event.key];
      if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      go(move());
    });
  }

  // What the timeline holds: by account, then "total", one number a drawn step.
  function readTimeline() {
    const data = JSON.parse(document.getElementById("timeline-data").textContent);
    const held = {total: data.names.map(() => 0)};
    for (const [account, differences] of Object.entries(data.held)) {
      held[account] = summed(differences);
      held[account].forEach((bytes, i) => { held.total[i] += bytes; });
    }
    return {numSteps: data.num_steps, peak: data.peak, steps: summed(data.steps), held,
            names: data.names};
  }

  // The chart as a slider over its steps. A chosen step stays when the pointer leaves.
  class Timeline {
    constructor(element, readout) {
      Object.assign(this, readTimeline());
      this.element = element;
      this.readout = readout;
      this.cursor = element.querySelector(".cursor");
      this.last = this.steps.length - 1;
      this.becomeSlider();
      this.listen();
      this.choose(this.peak);
    }

    becomeSlider() {
      const attributes = {role: "slider", tabindex: 0, "aria-label": "Step of the training step",
                          "aria-valuemin": 1, "aria-valuemax": this.numSteps};
      for (const [name, value] of Object.entries(attributes)) {
        this.element.setAttribute(name, value);
      }
      this.cursor.hidden = false;
    }

    listen() {
      const page = Math.max(2, Math.round(this.last / 20));
      const by = (steps) => () => this.shown + steps;
      const toPeak = () => this.peak;
      onKeys(this.element, {
        ArrowLeft: by(-1), ArrowDown: by(-1), ArrowRight: by(1), ArrowUp: by(1),
        PageDown: by(-page), PageUp: by(page), Home: () => 0, End: () => this.last,
        p: toPeak, P: toPeak,
      }, (i) => this.choose(i));
      this.element.addEventListener("pointermove", (event) => this.show(this.at(event)));
      this.element.addEventListener("pointerdown", (event) => this.choose(this.at(event)));
      this.element.addEventListener("pointerleave", () => this.show(this.chosen));
      window.addEventListener("beforeprint", () => this.choose(this.peak));
    }

    at(event) {
      const box = this.element.getBoundingClientRect();
      const share = (event.clientX - box.left) / box.width;
      return lastAtMost(this.steps, Math.floor(share * this.numSteps));
    }

    choose(i) {
      this.chosen = Math.min(Math.max(i, 0), this.last);
      this.show(this.chosen);
    }

    show(i) {
      this.shown = i;
      const step = this.steps[i];
      const name = `step ${step + 1} of ${this.numSteps}, ${this.names[i]}`;
      this.readout.querySelector(".where").textContent = name;
      for (const row of this.readout.rows) {
        const count = this.held[row.dataset.account][i];
        const cell = row.querySelector("data");
        cell.value = count;
        cell.textContent = bytesText(count);
      }
      this.cursor.style.left = (100 * (step + 0.5)) / this.numSteps + "%";
      this.element.setAttribute("aria-valuenow", step + 1);
      this.element.setAttribute("aria-valuetext", `${name}: ${bytesText(this.held.total[i])}`);
    }
  }

  // Marks of a chart: one tab stop a list, arrows move inside it, from the lowest peak on.
  function connectMarks(list, reading) {
    const buttons = [...list.querySelectorAll("button")];
    if (buttons.length === 0) return;
    let current = Math.max(0, [...list.children].findIndex((item) => item.matches(".this, .nearest")));
    buttons[current].tabIndex = 0;

    const tell = (i) => { reading.textContent = buttons[i].querySelector(".unseen").textContent; };
    buttons.forEach((button, i) => {
      button.addEventListener("pointerenter", () => tell(i));
      button.addEventListener("focus", () => {
        buttons[current].tabIndex = -1;
        current = i;
        button.tabIndex = 0;
        tell(i);
      });
    });
    const last = buttons.length - 1;
    const back = () => Math.max(current - 1, 0), on = () => Math.min(current + 1, last);
    onKeys(list, {
      ArrowLeft: back, ArrowDown: back, ArrowRight: on, ArrowUp: on,
      Home: () => 0, End: () => last,
    }, (i) => buttons[i].focus());
  }

  // Paper cannot be asked for more: what is folded is printed, the long table of steps apart.
  function unfoldForPrint() {
    let closed = [];
    window.addEventListener("beforeprint", () => {
      closed = [...document.querySelectorAll("details:not(.long, [open])")];
      for (const fold of closed) fold.open = true;
    });
    window.addEventListener("afterprint", () => {
      for (const fold of closed) fold.open = false;
    });
  }

  new Timeline(document.getElementById("timeline"), document.getElementById("timeline-readout"));
  for (const list of document.querySelectorAll("#curve .marks")) {
    connectMarks(list, document.getElementById("curve-reading"));
  }
  unfoldForPrint();
  document.documentElement.classList.add("scripted");
})();
