// A plot with logarithmic axes as SVG, and the exponent of a curve. No dependency.
const width = 760, height = 420;
const left = 64, right = 250, top = 40, bottom = 48;
const colours = ["#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df", "#bf3989", "#0a7ea4", "#57606a"];

const escape = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const superscript = (number) => String(number).replace(/-/, "⁻").replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);
const power = (exponent) => (exponent >= 0 && exponent <= 3 ? String(10 ** exponent) : `10${superscript(exponent)}`);

/// The slope of the line of least squares through the logarithms: 1 is in proportion, 0 independent.
export function exponent(points) {
  const logs = points.map(([n, cost]) => [Math.log(n), Math.log(cost)]);
  const mean = (column) => logs.reduce((sum, each) => sum + each[column], 0) / logs.length;
  const [x, y] = [mean(0), mean(1)];
  const above = logs.reduce((sum, each) => sum + (each[0] - x) * (each[1] - y), 0);
  const below = logs.reduce((sum, each) => sum + (each[0] - x) ** 2, 0);
  return below === 0 ? 0 : above / below;
}

/// Moves labels apart that would stand on each other, from the lowest upward.
function spread(wanted, distance) {
  const placed = [...wanted];
  const order = wanted.map((_, index) => index).sort((a, b) => wanted[b] - wanted[a]);
  let floor = height - bottom;
  for (const index of order) {
    placed[index] = Math.min(wanted[index], floor);
    floor = placed[index] - distance;
  }
  return placed;
}

/// `curves` are {name, points: [[n, cost], …]}.
export function plot({ title, x, y, curves }) {
  const all = curves.flatMap((curve) => curve.points);
  const range = (column) => [Math.floor(Math.log10(Math.min(...all.map((point) => point[column]))) + 1e-9), Math.ceil(Math.log10(Math.max(...all.map((point) => point[column]))) - 1e-9)];
  const [x0, x1] = range(0);
  let [y0, y1] = range(1);
  if (y1 - y0 < 2) y1 = y0 + 2;
  const across = (n) => left + ((Math.log10(n) - x0) / Math.max(1, x1 - x0)) * (width - left - right);
  const up = (cost) => height - bottom - ((Math.log10(cost) - y0) / (y1 - y0)) * (height - top - bottom);
  const parts = [];
  for (let each = x0; each <= x1; ++each) {
    const at = across(10 ** each).toFixed(1);
    parts.push(`<line x1="${at}" y1="${top}" x2="${at}" y2="${height - bottom}" class="grid"/>`, `<text x="${at}" y="${height - bottom + 18}" text-anchor="middle">${power(each)}</text>`);
  }
  for (let each = y0; each <= y1; ++each) {
    const at = up(10 ** each).toFixed(1);
    parts.push(`<line x1="${left}" y1="${at}" x2="${width - right}" y2="${at}" class="grid"/>`, `<text x="${left - 8}" y="${Number(at) + 4}" text-anchor="end">${power(each)}</text>`);
  }
  const labels = spread(curves.map((curve) => up(curve.points.at(-1)[1])), 16);
  curves.forEach((curve, index) => {
    const colour = colours[index % colours.length];
    const points = curve.points.map(([n, cost]) => [across(n).toFixed(1), up(cost).toFixed(1)]);
    const [end_x, end_y] = points.at(-1);
    parts.push(`<polyline points="${points.map((point) => point.join(",")).join(" ")}" fill="none" stroke="${colour}" stroke-width="2"/>`);
    for (const [cx, cy] of points) parts.push(`<circle cx="${cx}" cy="${cy}" r="3" fill="${colour}"/>`);
    parts.push(`<line x1="${Number(end_x) + 5}" y1="${end_y}" x2="${width - right + 16}" y2="${labels[index].toFixed(1)}" stroke="${colour}" stroke-width="0.7"/>`);
    parts.push(`<text x="${width - right + 20}" y="${(labels[index] + 4).toFixed(1)}" fill="${colour}">${escape(curve.name)}</text>`);
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escape(title)}">
<style>text { font: 12px system-ui, sans-serif } .grid { stroke: #d0d7de } .title { font-size: 14px; font-weight: 600 }</style>
<rect width="100%" height="100%" fill="#ffffff"/>
<g fill="#1f2328">
<text x="${left}" y="22" class="title">${escape(title)}</text>
<text x="${(left + width - right) / 2}" y="${height - 10}" text-anchor="middle">${escape(x)}</text>
<text transform="translate(16 ${(top + height - bottom) / 2}) rotate(-90)" text-anchor="middle">${escape(y)}</text>
${parts.join("\n")}
</g>
</svg>
`;
}
