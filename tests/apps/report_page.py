#!/usr/bin/env python3
"""The page of `learn report` in a browser: report_page.py PATH/TO/learn.

Chromium opens it at the widths of a desk and of a phone, in light and in dark: values are read by pointing and by keys, lines are
hidden, nothing is wider than the screen, nothing is loaded, and the console stays empty. Without Chromium it is skipped. Prints what
failed; exit status 1 then.
"""
import csv
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from browser import Browser, missing
from png import write_png

LEARN = str(Path(sys.argv[1]).resolve())
SKIPPED = 77
RIGHT, LEFT = "\ue014", "\ue012"  # arrow keys, as WebDriver has them
failures = []


def check(what, ok, seen=""):
    if not ok:
        failures.append(what)
        print(f"FAILED: {what}\n  {str(seen)[:2000]}")


def learn(*words):
    subprocess.run([LEARN, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True, timeout=120)


def results(run):
    with open(f"{run}/results.csv", encoding="utf-8", newline="") as table:
        return list(csv.DictReader(table))


def short(value):
    return f"{float(f'{float(value):.4g}'):g}"


class Chart:
    """The curves under a caption."""

    def __init__(self, page, caption):
        self.page, self.caption = page, caption
        captions = page.run("return [...document.querySelectorAll('.chart figcaption')].map(c => c.textContent)")
        self.place = captions.index(caption)

    def js(self, script):
        return self.page.run(f"const chart = document.querySelectorAll('.chart')[{self.place}]; {script}")

    def svg(self):
        return self.page.find(".chart .plot svg")[self.place]

    def point_at(self, share):
        """Share of the width of the axis, from its left end; it ends 12 before the border."""
        self.js("chart.scrollIntoView({block: 'center'});")
        left = float(self.js("return chart.querySelector('.axis').getAttribute('d').match(/^M([0-9.]+)/)[1];"))
        width = self.js("return chart.querySelector('.plot svg').getBoundingClientRect().width;")
        self.page.point_at(self.svg(), round(left + share * (width - left - 12) - width / 2), 0)

    def tip(self):
        """Text at the pointer; None if it shows nothing."""
        return self.js("const tip = chart.querySelector('.tip');"
                       "return tip.hidden ? null : [...tip.children].map(line => line.textContent);")

    def buttons(self):
        return self.js("return [...chart.querySelectorAll('.legend button')].map(b => b.textContent);")

    def press(self, name):
        place = sum(self.page.run("return [...document.querySelectorAll('.chart')].map(c => c.querySelectorAll('.legend "
                                  "button').length);")[:self.place]) + self.buttons().index(name)
        self.page.click(self.page.find(".legend button")[place])

    def lines(self):
        return self.js("return chart.querySelectorAll('.plot path:not(.axis)').length;")


def whole(page, width, what):
    check(f"{what}: the console is empty", page.console() == [], page.console())
    wide = page.run("return document.documentElement.scrollWidth")
    check(f"{what}: nothing is wider than the screen", wide <= width, wide)
    loaded = page.run("return performance.getEntriesByType('resource').map(r => r.name).filter(n => !n.startsWith('data:'))")
    check(f"{what}: nothing is loaded", loaded == [], loaded)
    broken = page.run("return [...document.images].filter(i => !i.complete || i.naturalWidth === 0).length")
    check(f"{what}: all images are seen", broken == 0 and page.run("return document.images.length") > 20, broken)
    empty = page.run("return [...document.querySelectorAll('.chart')].filter(c => !c.querySelector('.plot path:not(.axis)'))"
                     ".map(c => c.querySelector('figcaption').textContent)")
    check(f"{what}: every plot has a line", empty == [], empty)
    for axis, least in (("middle", 3), ("end", 2)):  # the title of the horizontal one stands in the middle, too
        labels = page.run(LABELS, axis)
        check(f"{what}: every axis has labels, and no two say the same ({axis})",
              all(least <= len(some) == len(set(some)) for some in labels), labels)
    contrast = page.run(CONTRAST)
    check(f"{what}: all of the matrix can be read", 4.5 <= contrast <= 21, contrast)
    outside = page.run("return [...document.querySelectorAll('.plot text')].filter(t => { const b = t.getBoundingClientRect(), "
                       "p = t.closest('svg').getBoundingClientRect(); return b.left < p.left - 1 || b.right > p.right + 8; })"
                       ".map(t => t.textContent)")
    check(f"{what}: no text of a plot is cut off", outside == [], outside)


# Contrast of the least readable cell of the matrix, by the formula of WCAG 2.2.
CONTRAST = """
const light = (color) => {
  const parts = color.match(/[0-9.]+/g).slice(0, 3).map(Number);
  const [r, g, b] = parts.map((c) => color.startsWith('rgb') ? c / 255 : c)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
};
return Math.min(...[...document.querySelectorAll('.matrix td[title]')].filter((cell) => cell.textContent).map((cell) => {
  const style = getComputedStyle(cell), text = light(style.color), paper = light(style.backgroundColor);
  return Math.max(text / paper, paper / text);
}));
"""

LABELS = """
return [...document.querySelectorAll('.chart')].map((chart) =>
  [...chart.querySelectorAll(`.plot text[text-anchor=${arguments[0]}]`)].map((label) => label.textContent));
"""


def pointing(page, what):
    epochs = results("runs/t")
    loss = Chart(page, "Loss")
    loss.point_at(1)
    tip = loss.tip()
    check(f"{what}: the losses of the last epoch are read by pointing", tip is not None
          and abs(float(tip[0].split()[1]) - len(epochs)) < 0.02 and f"validation: {short(epochs[-1]['valid_loss'])}" in tip, (tip, epochs[-1]))
    check(f"{what}: there is a value of each line", tip is not None and len(tip) == 4, tip)
    accuracy = Chart(page, "Metrics")
    accuracy.point_at(0)
    check(f"{what}: the accuracy of the first epoch, too",
          f"accuracy: {short(epochs[0]['accuracy'])}" in (accuracy.tip() or []), (accuracy.tip(), epochs[0]))
    check(f"{what}: where the pointer is not, nothing is shown", loss.tip() is None, loss.tip())
    scale = Chart(page, "Loss scale")
    scale.point_at(0)
    check(f"{what}: whole numbers are read with all digits", any(line.endswith(" 65536") for line in scale.tip() or []), scale.tip())
    # Left of the first validation, the nearest one is shown with its epoch.
    loss.point_at(0)
    check(f"{what}: a value from elsewhere says where",
          f"validation: {short(epochs[0]['valid_loss'])} (at 1)" in (loss.tip() or []), loss.tip())


def buttons(page):
    loss = Chart(page, "Loss")
    before = loss.lines()
    loss.press("validation")
    loss.point_at(1)
    check("a line that is switched off is gone", loss.lines() == before - 1
          and not any("validation" in line for line in loss.tip() or ["validation"]), (before, loss.lines(), loss.tip()))
    loss.press("validation")
    check("and comes back", loss.lines() == before, loss.lines())
    ticks = "return [...chart.querySelectorAll('.plot text[text-anchor=end]')].map(t => t.textContent + ' at ' + t.getAttribute('y'));"
    linear = loss.js(ticks)
    loss.press("log scale")
    check("a logarithmic axis has its ticks elsewhere", loss.js(ticks) != linear and len(loss.js(ticks)) >= 2 and "linear scale" in loss.buttons(), loss.js(ticks))
    loss.press("linear scale")
    check("and back", loss.js(ticks) == linear, loss.js(ticks))
    rows = "return [...document.querySelectorAll('.table:has(.toggle) tr')].filter(r => r.offsetParent !== null).length;"
    changed = page.run(rows)
    page.click(page.find(".toggle input")[0])
    check("all settings are shown, if asked for", 0 < changed < page.run(rows), (changed, page.run(rows)))
    paper = "return getComputedStyle(document.body).backgroundColor;"
    light = page.run(paper)
    page.click(page.find("#theme")[0])
    dark = page.run(paper)
    page.click(page.find("#theme")[0])
    check("the button changes the colours, and back", light != dark and page.run(paper) == light, (light, dark))


def keys(page):
    schedule = Chart(page, "Learning rate")
    schedule.js("chart.scrollIntoView({block: 'center'}); chart.querySelector('.plot svg').focus();")
    svg = schedule.svg()
    page.keys(svg, RIGHT)
    first = schedule.tip()
    page.keys(svg, RIGHT * 9)
    second = schedule.tip()
    page.keys(svg, LEFT * 9)
    check("values are read by arrow keys", first is not None and second != first and schedule.tip() == first, (first, second))


def layout(page, width):
    """The head of a single run's page, and the blocks next to each other."""
    text = page.run("return document.querySelector('header').innerText;")
    check("the head has the date and the command", "started 20" in text and "learn train --data synthetic10" in text, text)
    right = page.run("return Math.max(...[...document.querySelectorAll('#s1 .pairs td')].map(d => d.getBoundingClientRect().left));")
    check("the summary fills both halves of a wide screen", (right > width / 2) == (width > 1000), (width, right))
    for caption, has in (("Calibration", False), ("Loss", True), ("Learning rate", True)):
        check(f"{caption} has {'a' if has else 'no'} button for its scale", ("log scale" in Chart(page, caption).buttons()) == has,
              Chart(page, caption).buttons())


def names_of_images(page):
    page.open("runs/files/report.html")
    names = page.run("return [...document.querySelectorAll('.source')].map(s => s.innerText.replace('\\n', ''));")
    check("images of the largest losses have the names of their files", len(names) == 8 and all(
        name.startswith("files/") and os.path.exists(name) for name in names), names)
    page.click(page.find(".source")[2])
    picked = page.run("return getSelection().toString().replace('\\n', '');")
    check("a click selects all of a name", picked == names[2], (picked, names))
    copied = page.run("return navigator.clipboard.readText().catch((error) => String(error));")
    check("and copies it", copied == names[2], (copied, names))


def brightness(page):
    red, green, blue = page.run("return getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).slice(0, 3).map(Number);")
    return red + green + blue


def main():
    if reason := missing():
        print(f"skipped: {reason}: framework/cmake/install_packages.sh --browser")
        sys.exit(SKIPPED)
    train = ("train --data synthetic10 --train-limit 480 --valid-limit 60 --width 4 -b 16 -e 3 --threads 1 --workers 1 --no-plots "
             "--precision fp16 --inject overflow@9").split()
    learn(*train, "--name", "t")
    learn(*train, "--name", "u", "--lr", "0.02", "--no-report", "--callbacks", "step_norms")
    learn("report", "runs/t", "runs/u", "--threads", "1", "--out", "both.html")
    for number in range(16):
        write_png(Path("files", "valid" if number % 2 else "train", "ab"[number // 2 % 2], f"{number}.png"), 8, 8, (number, 9, 99))
    learn("train", "--data", "files", "--model", "linear", "-e", "1", "-b", "4", "--threads", "1", "--name", "files", "--no-plots")
    for width, height, dark in ((1280, 900, False), (390, 844, True), (1280, 900, True), (390, 844, False)):
        what = f"{width} pixels, {'dark' if dark else 'light'}"
        with Browser(width, height, dark, phone=width < 1000) as page:
            page.open("runs/t/report.html")
            whole(page, width, what)
            pointing(page, what)
            layout(page, width)
            check(f"{what}: the colours of the system", (brightness(page) < 200) == dark, brightness(page))
            if not dark and width > 1000:
                buttons(page)
                keys(page)
                names_of_images(page)
            check(f"{what}: the console is still empty", page.console() == [], page.console())
            page.open("both.html")
            whole(page, width, what + ", two runs")
            Chart(page, "Loss").point_at(1)
            tip = Chart(page, "Loss").tip() or []
            valid = [f"{run}: validation: {short(results(run)[-1]['valid_loss'])}" for run in ("runs/t", "runs/u")]
            check(f"{what}: both runs are read by pointing", all(line in tip for line in valid), (tip, valid))


with tempfile.TemporaryDirectory(prefix="learn page ") as folder:
    os.chdir(folder)
    os.environ.pop("LEARN_DATA", None)
    try:
        main()
    finally:
        os.chdir("/")
print("FAILED" if failures else "the page: all as promised")
sys.exit(1 if failures else 0)
