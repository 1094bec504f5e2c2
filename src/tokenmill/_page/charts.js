const byId = (id) => document.getElementById(id);
const milliseconds = (s) => s == null ? "-" : s < 1e-3 ? (s * 1e6).toFixed(0) + " us" : s < 1 ? (s * 1e3).toFixed(s < 0.1 ? 2 : 0) + " ms" : s.toFixed(1) + " s";
const short = (n) => n == null ? "-" : n >= 1e9 ? (n / 1e9).toFixed(1) + " G" : n >= 1e6 ? (n / 1e6).toFixed(1) + " M"
  : n >= 1e4 ? (n / 1e3).toFixed(1) + " k" : n >= 100 || Number.isInteger(n) ? n.toFixed(0) : n.toFixed(1);
const bytes = (n) => n == null ? "-" : n >= 2 ** 30 ? (n / 2 ** 30).toFixed(2) + " GiB" : (n / 2 ** 20).toFixed(1) + " MiB";
const percent = (n) => n == null ? "-" : (n * 100).toFixed(1) + " %";

const COLOURS = ["var(--a)", "var(--b)", "var(--c)"];
const HEIGHT = 116, TOP = 16, LEFT = 4, BOTTOM = 14;

// A section for each chart, in front of `before`. A chart is [title, how to write a value, lines], and
// a line is [key of a sample, name].
const makeViews = (charts, home, before) => charts.map(([title, format, lines]) => {
  const section = document.createElement("section");
  section.className = "chart";
  const heading = document.createElement("h2");
  heading.textContent = title;
  const now = document.createElement("div");
  now.className = "now";
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", title);
  const keys = document.createElement("div");
  keys.className = "keys";
  lines.forEach(([, name], i) => {
    const key = document.createElement("span");
    const swatch = document.createElement("i");
    swatch.style.background = COLOURS[i];
    key.append(swatch, name);
    keys.append(key);
  });
  section.append(heading, now, svg, keys);
  home.insertBefore(section, before);
  return { section, format, lines, now, svg };
});

function draw(view, samples, now, seconds = 300) {
  // What no sample knows, such as a cache that is off, has no chart.
  view.section.hidden = !samples.some((sample) => view.lines.some(([key]) => key in sample));
  const width = view.svg.clientWidth || 330;
  view.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  const last = samples[samples.length - 1] || {};
  view.now.textContent = view.lines.map(([key]) => view.format(last[key])).join("  /  ");
  let top = 0;
  for (const sample of samples) for (const [key] of view.lines) top = Math.max(top, sample[key] || 0);
  top = top || 1;
  const x = (t) => LEFT + (width - LEFT) * (1 - (now - t) / seconds);
  const y = (v) => TOP + (HEIGHT - BOTTOM - TOP) * (1 - Math.max(0, v) / top);
  let body = `<line class="grid" x1="0" x2="${width}" y1="${y(0)}" y2="${y(0)}"/>`
    + `<line class="grid" x1="0" x2="${width}" y1="${y(top)}" y2="${y(top)}"/>`;
  view.lines.forEach(([key], i) => {
    const points = samples.filter((s) => s[key] != null && now - s.at <= seconds)
      .map((s) => `${x(s.at).toFixed(1)},${y(s[key]).toFixed(1)}`);
    body += `<polyline fill="none" stroke="${COLOURS[i]}" stroke-width="1.5" points="${points.join(" ")}"/>`;
  });
  body += `<text x="${LEFT}" y="${HEIGHT - 2}">${seconds / 60} min ago</text>`
    + `<text x="${width}" y="${HEIGHT - 2}" text-anchor="end">now</text>`
    + `<text x="${LEFT}" y="${TOP - 5}">${view.format(top)}</text>`;
  view.svg.innerHTML = body;
}
