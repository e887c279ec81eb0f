'use strict';
// Draws the curves of a page, whose data are next to them as JSON, and shows their values on hover.
(() => {
  const palette = 6;
  const room = {right: 12, top: 24, bottom: 38};  // the left side depends on the labels

  const svg = (name, attributes = {}, text) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const html = (name, className, text) => {
    const element = document.createElement(name);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };

  // Four digits, or all digits of a whole number.
  const format = (value) => {
    const size = Math.abs(value);
    if (Number.isInteger(value) && size < 1e6) return String(value);
    if (size >= 1e5 || size < 1e-3) return Number(value.toPrecision(4)).toExponential();
    return String(Number(value.toPrecision(4)));
  };
  // The digits that distinguish a value from one that is a step away.
  const stepped = (value, step, largest) => {
    if (Math.abs(value) < step * 1e-6) return '0';
    const last = Math.floor(Math.log10(step) + 1e-9);
    const first = Math.max(last, Math.floor(Math.log10(largest) + 1e-9));
    if (first < -3 || first > 5) return Number(value.toExponential(Math.min(20, first - last))).toExponential();
    return value.toFixed(Math.max(0, -last));
  };

  const color = (series) => `var(--series-${series.color % palette})`;
  // From the seventh series on, colours repeat.
  const dashes = (series) => {
    const again = series.color >= palette;
    if (series.dashed) return again ? '6 2 1.5 2' : '6 3';
    return again ? '2 2.5' : 'none';
  };

  // The range of values on an axis, and their positions from 0 to 1.
  class Axis {
    constructor(values, log, integer, extra) {
      this.log = log;
      let low = Infinity;
      let high = -Infinity;
      for (const value of values) {
        if (value === null || (log && value <= 0)) continue;
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
      this.empty = low > high;
      if (this.empty) [low, high] = log ? [1, 10] : [0, 1];
      if (low === high) [low, high] = log ? [low / 2, high * 2] : [low - (Math.abs(low) / 10 || 1), high + (Math.abs(high) / 10 || 1)];
      this.integer = integer;
      extra *= this.to(high) - this.to(low);
      this.low = this.to(low) - (!log && low >= 0 ? Math.min(extra, low) : extra);
      this.high = this.to(high) + extra;
    }
    to(value) { return this.log ? Math.log10(value) : value; }
    place(value) { return (this.to(value) - this.low) / (this.high - this.low); }
    value(place) {
      const at = this.low + place * (this.high - this.low);
      return this.log ? 10 ** at : at;
    }
    ticks(count) {
      const all = this.log && this.high - this.low >= 0.8 ? this.powers(count) : this.multiples(count);
      return all.filter(({value}) => this.place(value) >= -1e-9 && this.place(value) <= 1 + 1e-9);
    }
    powers(count) {
      const decades = this.high - this.low;
      const every = Math.max(1, Math.floor(decades / count));
      const out = [];
      for (let e = Math.floor(this.low); e <= Math.ceil(this.high); e += every)
        for (const factor of decades < 2 ? [1, 2, 5] : [1]) out.push(factor * 10 ** e);
      return out.map((value) => ({value, label: format(value)}));
    }
    multiples(count) {
      const [low, high] = [this.value(0), this.value(1)];
      const rough = (high - low) / count;
      const power = 10 ** Math.floor(Math.log10(rough));
      const steps = [0.5, 1, 2, 5, 10].map((factor) => factor * power);
      let at = steps.findIndex((s) => s >= 0.8 * rough);
      while (at > 0 && Math.floor(high / steps[at]) - Math.ceil(low / steps[at]) < 1) --at;  // a
                                                                                             // single
                                                                                             // label
                                                                                             // does
                                                                                             // not
                                                                                             // show
                                                                                             // a
                                                                                             // scale
      const step = this.integer ? Math.max(1, Math.round(steps[at])) : steps[at];
      const out = [];
      for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; ++k) out.push(k * step);
      const largest = Math.max(Math.abs(low), Math.abs(high));
      return out.map((value) => ({value, label: stepped(value, step, largest)}));
    }
  }

  class Chart {
    constructor(figure) {
      this.figure = figure;
      this.data = JSON.parse(figure.querySelector('script').textContent);
      this.legend = figure.querySelector('.legend');
      this.plot = figure.querySelector('.plot');
      this.logY = this.data.log_y;
      this.hidden = new Set();
      this.tip = html('div', 'tip');
      this.tip.setAttribute('role', 'status');
      this.tip.hidden = true;
      figure.append(this.tip);
      this.fillLegend();
      this.draw();
      // Drawing changes the height of the observed elements, which must not happen during the
      // callback.
      new ResizeObserver(() => {
        if (this.plot.clientWidth !== this.width) requestAnimationFrame(() => this.draw());
      }).observe(this.plot);
      document.addEventListener('pointerdown', (event) => { if (!this.plot.contains(event.target)) this.hide(); });
    }

    fillLegend() {
      for (const series of this.data.series) {
        if (!series.name) continue;
        const button = html('button');
        button.type = 'button';
        button.setAttribute('aria-pressed', 'true');
        const sample = svg('svg', {viewBox: '0 0 22 10', 'aria-hidden': 'true'});
        sample.append(this.line('M0 5H22', series));
        button.append(sample, series.name);
        button.addEventListener('click', () => {
          if (!this.hidden.delete(series)) this.hidden.add(series);
          button.setAttribute('aria-pressed', String(!this.hidden.has(series)));
          this.draw();
        });
        this.legend.append(button);
      }
      if (!this.data.may_change) return;
      if (!this.data.series.some((series) => series.y.some((y) => y > 0))) return;
      const scale = html('button', 'scale');
      scale.type = 'button';
      const name = () => { scale.textContent = this.logY ? 'linear scale' : 'log scale'; };
      name();
      scale.addEventListener('click', () => {
        this.logY = !this.logY;
        name();
        this.draw();
      });
      this.legend.append(scale);
    }

    line(path, series) {
      return svg('path', {
        d: path,
        fill: 'none',
        'stroke-width': series.faint ? 1 : 1.8,
        'stroke-linejoin': 'round',
        style: `stroke:${color(series)}`,
        'stroke-dasharray': dashes(series),
        opacity: series.faint ? 0.4 : 1,
      });
    }

    shows(x, y) {
      return x !== null && y !== null && (!this.logY || y > 0) && (!this.data.log_x || x > 0);
    }

    draw() {
      this.width = this.plot.clientWidth;
      const width = Math.max(200, this.width);
      const height = Math.round(Math.min(360, Math.max(220, width * 0.6)));
      const visible = this.data.series.filter((series) => !this.hidden.has(series));
      const xs = [];
      const ys = [];
      for (const series of visible)
        series.x.forEach((x, i) => {
          if (!this.shows(x, series.y[i])) return;
          xs.push(x);
          ys.push(series.y[i]);
        });
      this.x = new Axis(xs, this.data.log_x, this.data.integer_x, 0);
      this.y = new Axis(ys, this.logY, false, 0.05);
      const innerHeight = height - room.top - room.bottom;
      this.yTicks = this.y.ticks(Math.max(2, Math.floor(innerHeight / 45)));
      const letter = 6.5;
      this.edge = 14 + letter * Math.max(4, ...this.yTicks.map(({label}) => label.length));
      this.inner = {width: width - this.edge - room.right, height: innerHeight};
      this.left = (x) => this.edge + this.x.place(x) * this.inner.width;
      this.top = (y) => room.top + (1 - this.y.place(y)) * innerHeight;
      this.visible = visible;

      const root = svg('svg', {
        viewBox: `0 0 ${width} ${height}`,
        height,
        tabindex: 0,
        role: 'img',
        'aria-label': `${this.figure.querySelector('figcaption').textContent}: ${visible.map((s) => s.name).join(', ')}; ` +
          'arrow keys read the values',
      });
      this.drawAxes(root, width, height);
      for (const faint of [true, false])
        for (const series of visible) if (series.faint === faint) this.drawSeries(root, series);
      this.cursor = svg('line', {class: 'cursor', y1: room.top, y2: height - room.bottom, visibility: 'hidden'});
      root.append(this.cursor);
      this.listen(root, width);
      this.plot.replaceChildren(root);
      this.hide();
    }

    drawAxes(root, width, height) {
      const bottom = height - room.bottom;
      for (const {value, label} of this.x.ticks(Math.max(2, Math.floor(this.inner.width / 70)))) {
        const x = this.left(value);
        root.append(svg('line', {class: 'grid', x1: x, x2: x, y1: room.top, y2: bottom}),
                    svg('text', {x, y: bottom + 15, 'text-anchor': 'middle'}, label));
      }
      for (const {value, label} of this.yTicks) {
        const y = this.top(value);
        root.append(svg('line', {class: 'grid', x1: this.edge, x2: width - room.right, y1: y, y2: y}),
                    svg('text', {x: this.edge - 6, y: y + 4, 'text-anchor': 'end'}, label));
      }
      root.append(svg('path', {class: 'axis', fill: 'none', d: `M${this.edge} ${room.top}V${bottom}H${width - room.right}`}),
                  svg('text', {x: this.edge + this.inner.width / 2, y: height - 6, 'text-anchor': 'middle'}, this.data.x_label),
                  svg('text', {x: 0, y: 12}, this.data.y_label));
      if (this.x.empty)
        root.append(svg('text', {x: width / 2, y: height / 2, 'text-anchor': 'middle'}, 'no values'));
    }

    drawSeries(root, series) {
      let path = '';
      let pen = 'M';
      series.x.forEach((x, i) => {
        if (!this.shows(x, series.y[i])) {
          pen = 'M';
          return;
        }
        const at = `${this.left(x).toFixed(1)} ${this.top(series.y[i]).toFixed(1)}`;
        path += pen + at;
        pen = 'L';
        if (series.markers)
          root.append(svg('circle', {cx: at.split(' ')[0], cy: at.split(' ')[1], r: 2.5, style: `fill:${color(series)}`}));
      });
      if (path) root.append(this.line(path, series));
    }

    listen(root, width) {
      const at = (event) => {
        const box = root.getBoundingClientRect();
        return (event.clientX - box.left) * (width / box.width);
      };
      root.addEventListener('pointermove', (event) => this.show(at(event)));
      root.addEventListener('pointerdown', (event) => this.show(at(event)));
      // Lifting a finger is a leave, too; its values stay until another place is touched.
      root.addEventListener('pointerleave', (event) => { if (event.pointerType !== 'touch') this.hide(); });
      root.addEventListener('blur', () => this.hide());
      root.addEventListener('keydown', (event) => {
        const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
        if (event.key === 'Escape') this.hide();
        if (!step) return;
        event.preventDefault();
        const from = this.at === undefined ? this.edge + this.inner.width / 2 : this.at;
        this.show(from + step * Math.max(1, this.inner.width / 100));
      });
    }

    // The series' value at the visible point nearest to x.
    nearest(series, x) {
      let best = -1;
      series.x.forEach((one, i) => {
        if (!this.shows(one, series.y[i])) return;
        if (best < 0 || Math.abs(one - x) < Math.abs(series.x[best] - x)) best = i;
      });
      if (best < 0) return null;
      // A record of several batches has two points, its lowest and its highest value.
      const next = series.x[best + 1] === series.x[best] ? series.y[best + 1] : null;
      return {x: series.x[best], y: series.y[best], to: next !== null && next !== undefined && next !== series.y[best] ? next : null};
    }

    show(left) {
      if (this.x.empty) return;
      this.at = Math.min(this.edge + this.inner.width, Math.max(this.edge, left));
      const x = this.x.value((this.at - this.edge) / this.inner.width);
      this.tip.replaceChildren(html('b', '', `${this.data.x_label} ${format(x)}`));
      for (const series of this.visible) {
        const found = this.nearest(series, x);
        if (!found) continue;
        const far = Math.abs(this.left(found.x) - this.at) > 0.02 * this.inner.width;
        const value = found.to === null ? format(found.y) : `${format(found.y)} to ${format(found.to)}`;
        const row = html('span', '', `${series.name}: ${value}${far ? ` (at ${format(found.x)})` : ''}`);
        row.style.color = color(series);
        this.tip.append(row);
      }
      this.cursor.setAttribute('x1', this.at);
      this.cursor.setAttribute('x2', this.at);
      this.cursor.setAttribute('visibility', 'visible');
      this.tip.hidden = false;
      const widest = this.figure.clientWidth - this.tip.offsetWidth;
      const beside = this.at + 12 > widest ? this.at - 12 - this.tip.offsetWidth : this.at + 12;
      this.tip.style.left = `${Math.max(0, Math.min(widest, beside))}px`;
      this.tip.style.top = `${this.plot.offsetTop + room.top}px`;
    }

    hide() {
      this.at = undefined;
      this.tip.hidden = true;
      this.cursor.setAttribute('visibility', 'hidden');
    }
  }

  // A click copies a path; where copying is not allowed, it still selects the path.
  for (const source of document.querySelectorAll('.source'))
    source.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(source.title);
      } catch {
        return;
      }
      source.classList.add('copied');
      setTimeout(() => source.classList.remove('copied'), 1500);
    });

  const theme = document.getElementById('theme');
  theme.hidden = false;
  theme.addEventListener('click', () => {
    const dark = document.documentElement.dataset.theme
      ? document.documentElement.dataset.theme === 'dark'
      : matchMedia('(prefers-color-scheme: dark)').matches;
    document.documentElement.dataset.theme = dark ? 'light' : 'dark';
  });
  for (const figure of document.querySelectorAll('.chart')) new Chart(figure);
})();
