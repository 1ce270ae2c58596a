// Runs at the end of a page of `refrain plan --html` and checks what a browser made of it. kPlan is
// what `refrain plan --json` said, kMode how the page is shown: {dark, framed, scripted}. The
// outcome, a line a check, goes into a last element, or to the page around a frame.
"use strict";
(() => {
  const scripted = kMode.scripted !== false;
  const lines = [];
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const one = (selector, within = document) => {
    const found = all(selector, within);
    if (found.length !== 1) throw new Error(`${found.length} of ${selector}`);
    return found[0];
  };
  const is = (found, wanted, what) => {
    if (found !== wanted) throw new Error(`${what}: ${found}, not ${wanted}`);
  };
  const holds = (condition, what) => { if (!condition) throw new Error(what); };
  const number = (element) => Number(one("data", element).value);

  function check(name, run) {
    try {
      run();
      lines.push(`ok: ${name}`);
    } catch (error) {
      lines.push(`FAILED: ${name}: ${error.message}`);
    }
  }

  // Bytes as text, by another way than the page's own.
  function bytesText(count) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let unit = 0;
    while (unit < 5 && count >= 1024 ** (unit + 1)) ++unit;
    if (unit === 0) return `${count} B`;
    const divisor = 1024n ** BigInt(unit), hundred = BigInt(count) * 100n;
    let hundredths = hundred / divisor;
    const rest = 2n * (hundred % divisor);
    if (rest > divisor || (rest === divisor && hundredths % 2n === 1n)) ++hundredths;
    const digits = String(hundredths).padStart(3, "0");
    return `${digits.slice(0, -2)}.${digits.slice(-2)} ${units[unit]}`;
  }

  // ---- Numbers.

  function tile(name) {
    return all(".tile").find((t) => one("dt", t).textContent === name);
  }

  function headline() {
    is(one("h1").textContent.replaceAll("\u0001", "\uFFFD"),
       kPlan.model.replaceAll("\u0001", "\uFFFD"), "the model");
    is(number(tile("Budget")), kPlan.budget_bytes, "budget");
    is(number(tile("Peak")), kPlan.peak_bytes, "peak");
    is(one("data", tile("Peak")).textContent, bytesText(kPlan.peak_bytes), "peak, as text");
    is(number(tile("Recompute time")), kPlan.replay_s, "recompute");
    is(number(tile("Proven gap")), kPlan.gap, "gap");
    const share = 100 * kPlan.replay_s / (kPlan.step_s - kPlan.replay_s);
    is(one("data", tile("Recompute time")).textContent, `+${share.toFixed(1)} %`, "overhead");
  }

  function settings() {
    is(all("[data-setting]").length, kPlan.standard_settings.length + 1, "rows");
    for (const setting of kPlan.standard_settings) {
      const row = one(`[data-setting="${setting.setting}"]`);
      const [peak, replay, step] = all("data", row).map((d) => Number(d.value));
      is(peak, setting.peak_bytes, `${setting.setting}, peak`);
      is(replay, setting.replay_s, `${setting.setting}, replay`);
      is(step, setting.step_s, `${setting.setting}, step`);
      is(row.cells[2].textContent.startsWith("yes"), setting.fits, `${setting.setting}, fits`);
    }
  }

  function layers() {
    const tables = all("table.reasons");
    is(tables.length, kPlan.layers.length, "groups");
    kPlan.layers.forEach((group, g) => {
      const rows = all("tbody tr", tables[g]);
      is(rows.length, group.reasons.length, "activations");
      group.reasons.forEach((reason, r) => {
        const [freed, replay] = all("data", rows[r]).map((d) => Number(d.value));
        is(rows[r].cells[0].textContent, reason.activation, "activation");
        is(freed, reason.freed_bytes, `${reason.activation}, freed`);
        is(replay, reason.micro_batch_replay_s, `${reason.activation}, replay`);
        is(rows[r].cells[4].textContent === "recomputed", reason.recomputed, reason.activation);
      });
    });
  }

  function curve() {
    const rows = all("table.plans tbody tr").map((row) => all("data", row).map((d) => Number(d.value)));
    holds(rows.length > 5, `${rows.length} plans`);
    is(rows[0][1], kPlan.least_peak_bytes, "the first peak");
    is(rows.at(-1)[2], 0, "the last recompute time");
    for (const [budget, peak] of rows) holds(peak <= budget, `${peak} in ${budget}`);
  }

  function everyByteIsWritten() {
    const cells = all("data").filter((d) => /B$/.test(d.textContent));
    holds(cells.length > 50, `${cells.length} numbers`);
    for (const cell of cells) is(cell.textContent, bytesText(Number(cell.value)), cell.value);
  }

  // ---- The timeline.

  const slider = one("#timeline"), readout = one("#timeline-readout");
  const held = () => Object.fromEntries(
    [...readout.rows].map((row) => [row.dataset.account, number(row)]));
  const press = (element, key, more = {}) => element.dispatchEvent(
    new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true, ...more}));
  const where = () => Number(slider.getAttribute("aria-valuenow"));

  function readsThePeak() {
    const {total, ...accounts} = held();
    is(total, kPlan.peak_bytes, "total");
    is(Object.values(accounts).reduce((a, b) => a + b, 0), total, "sum of the accounts");
  }

  function arrowsMove() {
    const last = Number(slider.getAttribute("aria-valuemax"));
    const start = where();
    press(slider, "ArrowRight");
    holds(where() > start, "right");
    press(slider, "ArrowLeft");
    is(where(), start, "and left");
    press(slider, "ArrowLeft", {ctrlKey: true});
    is(where(), start, "with Control held");
    press(slider, "Home");
    is(where(), 1, "Home");
    press(slider, "ArrowLeft");
    is(where(), 1, "left of the first");
    press(slider, "PageUp");
    holds(where() > 2, "Page Up");
    press(slider, "End");
    is(where(), last, "End");
    holds(slider.getAttribute("aria-valuetext").includes(`step ${last} of ${last}`), "the text");
    press(slider, "p");
    is(held().total, kPlan.peak_bytes, "P");
  }

  // What is drawn and can be pointed at holds the peak, and nothing higher.
  function highestIsThePeak() {
    let highest = 0, count = 1;
    press(slider, "Home");
    for (let before = -1; where() !== before; ++count) {
      before = where();
      highest = Math.max(highest, held().total);
      press(slider, "ArrowRight");
    }
    holds(count > 100, `${count} steps`);
    is(highest, kPlan.peak_bytes, "highest");
    press(slider, "p");
  }

  function pointerReads() {
    const box = slider.getBoundingClientRect(), before = where();
    const at = (type, share) => slider.dispatchEvent(new PointerEvent(type, {
      bubbles: true, clientX: box.left + share * box.width, clientY: box.top + 50}));
    at("pointermove", 0.75);
    const share = where() / Number(slider.getAttribute("aria-valuemax"));
    holds(Math.abs(share - 0.75) < 0.01, `step at ${share}`);
    at("pointerleave", 0.75);
    is(where(), before, "after the pointer left");
    at("pointerdown", 0.25);
    at("pointerleave", 0.25);
    holds(where() !== before, "a pressed step stays");
    press(slider, "p");
  }

  function peakStandsOnTheBands() {
    for (const id of ["scale-zero", "scale-above"]) {
      document.getElementById(id).click();
      const plot = one(`.plot.${id}`), svg = one("svg", plot), box = svg.viewBox.baseVal;
      holds(plot.offsetHeight > 100, `${id} is shown`);
      const frame = svg.getBoundingClientRect();
      const top = Math.min(...all("#bands path").map((path) => path.getBBox().y));
      const y = frame.top + (top - box.y) / box.height * frame.height;
      const peak = one(".peak", plot).getBoundingClientRect();
      holds(Math.abs(peak.top - y) < 1.5, `${id}: the mark at ${peak.top}, the bands at ${y}`);
      const budget = one(".budget", plot).getBoundingClientRect();
      holds(budget.top <= peak.top + 1.5 && budget.top >= frame.top, `${id}: the budget line`);
    }
  }

  // ---- The curve.

  function marksAreReached() {
    for (const list of all(".marks")) {
      const buttons = all("button", list);
      is(buttons.filter((b) => b.tabIndex === 0).length, 1, "tab stops of a list");
      const steps = {ArrowRight: 1, ArrowLeft: 0, End: buttons.length - 1, Home: 0};
      buttons[0].focus();
      for (const [key, index] of Object.entries(steps)) {
        press(document.activeElement, key);
        is(buttons.indexOf(document.activeElement), index, key);
        is(one("#curve-reading").textContent, one(".unseen", buttons[index]).textContent, "reading");
      }
    }
  }

  function focusIsSeen() {
    for (const element of [slider, one('.marks button[tabindex="0"]', all(".marks")[1])]) {
      element.focus({focusVisible: true});
      const style = getComputedStyle(element);
      holds(style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
            `${style.outlineStyle} ${style.outlineWidth}`);
    }
  }

  // ---- How it looks.

  function channels(colour) {
    const [r, g, b, alpha = 1] = colour.match(/[\d.]+/g).map(Number);
    return {rgb: [r, g, b], alpha};
  }

  function luminance({rgb}) {
    const [r, g, b] = rgb.map((c) => c / 255).map(
      (c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  function background(element) {
    for (let e = element; e; e = e.parentElement) {
      const colour = channels(getComputedStyle(e).backgroundColor);
      if (colour.alpha === 1) return colour;
    }
    throw new Error("no background");
  }

  function texts() {
    return all("body *").filter((element) =>
      !element.closest("script, pre, .unseen") && element.checkVisibility() &&
      [...element.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim()));
  }

  function contrast() {
    for (const element of texts()) {
      const a = luminance(channels(getComputedStyle(element).color)), b = luminance(background(element));
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      holds(ratio >= 4.5, `${ratio.toFixed(2)} of "${element.textContent.slice(0, 40)}"`);
    }
  }

  function textSizes() {
    for (const element of texts()) {
      const size = parseFloat(getComputedStyle(element).fontSize);
      holds(size >= 12, `${size} px of "${element.textContent.slice(0, 40)}"`);
    }
  }

  function scheme() {
    const light = luminance(background(document.body));
    is(matchMedia("(prefers-color-scheme: dark)").matches, Boolean(kMode.dark), "the scheme");
    holds(kMode.dark ? light < 0.05 : light > 0.9, `luminance ${light}`);
  }

  function fitsTheWidth() {
    const page = document.documentElement;
    holds(page.scrollWidth <= page.clientWidth, `${page.scrollWidth} in ${page.clientWidth}`);
  }

  // ---- What it is made of.

  function structure() {
    const ids = all("[id]").map((e) => e.id);
    is(new Set(ids).size, ids.length, "ids");
    for (const e of all("[aria-labelledby], label[for]")) {
      const id = e.getAttribute("aria-labelledby") || e.htmlFor;
      holds(document.getElementById(id), `nothing is called ${id}`);
    }
    is(document.documentElement.lang, "en", "language");
    is(all("h1").length, 1, "h1");
    is(all("section").length, all("section > h2").length, "sections with a heading");
    for (const table of all("table")) {
      holds(table.caption.textContent.trim(), "a caption");
      for (const cell of all("th", table)) holds(cell.scope, `scope of ${cell.textContent}`);
      const widths = new Set([...table.rows].map((row) => row.cells.length));
      is(widths.size, 1, `widths of rows of "${table.caption.textContent}"`);
    }
    for (const e of all("button, [tabindex], input")) {
      const name = e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.[0].textContent;
      holds(name, `a name of ${e.outerHTML.slice(0, 80)}`);
    }
    is(all("body img, body iframe, head link").length, 0, "foreign elements");
  }

  function foldsPrint() {
    const open = () => all("details").filter((d) => d.open).length;
    const before = open();
    dispatchEvent(new Event("beforeprint"));
    is(open(), all("details:not(.long)").length, "open for print");
    dispatchEvent(new Event("afterprint"));
    is(open(), before, "afterwards");
  }

  function asksForNothing() {
    is(performance.getEntriesByType("resource").map((e) => e.name).join(), "", "requests");
  }

  function checkWhatStands() {
    check("the headline is the plan's: peak, budget, times, gap", headline);
    check("the settings are the plan's", settings);
    check("the layers are the plan's", layers);
    check("the curve goes from the leanest plan to no recompute", curve);
    check("bytes read as they are", everyByteIsWritten);
    check("the timeline reads the peak", readsThePeak);
    check("contrast of 4.5 and more", contrast);
    check("no text is below 12 px", textSizes);
    check("the scheme is the reader's", scheme);
    check("the page is no wider than its window", fitsTheWidth);
    check("ids, names, headings, tables", structure);
    check("it asks for nothing", asksForNothing);
    check("the peak stands on the bands", peakStandsOnTheBands);
  }

  function checkWhatMoves() {
    is(slider.getAttribute("role"), "slider", "role");
    check("arrow keys move along the timeline", arrowsMove);
    check("the highest step is the peak", highestIsThePeak);
    check("the pointer reads the timeline", pointerReads);
    check("marks are reached by keys", marksAreReached);
    check("focus is seen", focusIsSeen);
    check("what is folded is printed", foldsPrint);
  }

  function checkThatNothingMoves() {
    is(slider.getAttribute("role"), "img", "role");
    holds(slider.getAttribute("aria-label").includes("The peak is"), "a summary");
    for (const button of all(".marks button")) is(button.tabIndex, -1, "a dead tab stop");
    for (const hint of all(".scripted-only")) holds(!hint.checkVisibility(), "a dead hint");
  }

  function report() {
    const text = lines.join("\n");
    if (kMode.framed) return parent.postMessage(text, "*");
    const outcome = document.createElement("pre");
    outcome.id = "outcome";
    outcome.textContent = text;
    document.body.append(outcome);
  }

  addEventListener("load", () => {
    for (const fold of all("details")) fold.open = true;  // what is folded is looked at as well
    checkWhatStands();
    for (const fold of all("details")) fold.open = false;
    if (scripted) check("the script ran", checkWhatMoves);
    else check("without the script", checkThatNothingMoves);
    lines.push("all checks done");
    report();
  });
})();
