// Markdown with frontmatter, read strictly: the part of YAML that a file of ours may use, and an error for the rest, so that
// any reader of frontmatter can be trusted with it. And YAML written, for what the tests configure.

const plain_refused = /^[-?:,[\]{}#&*!|>'"%@`]|: | #|:$/;
const words = { null: null, "~": null, "": null, true: true, false: false };

function scalar(text, line) {
  const value = text.trim();
  if (value in words) return words[value];
  if (/^-?\d+$/.test(value)) return Number(value);
  if (/^-?\d+\.\d+([eE][-+]?\d+)?$/.test(value)) return Number(value);
  if (plain_refused.test(value)) throw new Error(`line ${line}: ${value} must be quoted`);
  return value;
}

/// A value on one line: quoted, a flow list or map, or plain.
function inline(text, line) {
  let at = 0;
  const space = () => { while (text[at] === " ") ++at; };
  const quoted = () => {
    const [whole] = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')/.exec(text.slice(at)) ?? [null];
    if (!whole) throw new Error(`line ${line}: an open quote`);
    at += whole.length;
    return whole[0] === "'" ? whole.slice(1, -1).replaceAll("''", "'") : JSON.parse(whole.replace(/\\x(..)/g, "\\u00$1"));
  };
  const flow = (end, add) => {
    ++at;
    for (space(); text[at] !== end; space()) {
      add();
      space();
      if (text[at] === ",") ++at;
      else if (text[at] !== end) throw new Error(`line ${line}: ${end} is missing in ${text}`);
    }
    ++at;
  };
  const value = (nested) => {
    space();
    if (text[at] === '"' || text[at] === "'") return quoted();
    if (text[at] === "[") { const list = []; flow("]", () => list.push(value(true))); return list; }
    if (text[at] === "{") { const map = {}; flow("}", () => { const key = value(true); space(); if (text[at++] !== ":") throw new Error(`line ${line}: a colon is missing`); map[key] = value(true); }); return map; }
    const [word] = (nested ? /^[^,\]}:]*/ : /^.*/).exec(text.slice(at));
    at += word.length;
    return scalar(word.replace(/ #.*$/, ""), line);
  };
  const got = value(false);
  if (!/^ *(#.*)?$/.test(text.slice(at))) throw new Error(`line ${line}: ${JSON.stringify(text.slice(at))} stands after the value`);
  return got;
}

/// The indented lines below line `n`: a list, or a literal text.
function below(lines, n, mark) {
  const taken = [];
  while (n < lines.length && (/^\s/.test(lines[n]) || lines[n] === "" || (!mark && /^- /.test(lines[n])))) taken.push(lines[n++]);
  if (!mark) return taken.filter((line) => line.trim()).map((line, index) => {
    const [, item] = /^ *- (.*)$/.exec(line) ?? [];
    if (item === undefined) throw new Error(`line ${n - taken.length + index + 2}: not an item of a list: ${line}`);
    return inline(item, n - taken.length + index + 2);
  });
  const indent = /^ */.exec(taken.find((line) => line.trim()) ?? "")[0].length;
  const text = taken.map((line) => line.slice(indent)).join(mark[0] === "|" ? "\n" : " ").trimEnd();
  return mark.endsWith("-") ? text : `${text}\n`;
}

/// {front, body}: an error names the line.
export function parseMarkdown(text) {
  const [, head, body] = /^---\n([\s\S]*?)(?:^|\n)---\n([\s\S]*)$/m.exec(text) ?? [];
  if (head === undefined || !text.startsWith("---\n")) throw new Error("there is no frontmatter");
  // eslint-disable-next-line no-control-regex
  if (/[\u0000-\u0008\u000b-\u001f\u007f]/.test(head)) throw new Error("a control character in the frontmatter");
  const [lines, front] = [head.split("\n"), {}];
  for (let n = 0; n < lines.length; ++n) {
    const line = lines[n];
    if (!line.trim() || line.startsWith("#")) continue;
    const [, key, rest] = /^([A-Za-z_][\w-]*):(?: +(.*)|)$/.exec(line) ?? [];
    if (!key) throw new Error(`line ${n + 2}: not a key and a value: ${line}`);
    if (Object.hasOwn(front, key)) throw new Error(`line ${n + 2}: the key ${key} stands twice`);
    const mark = /^[|>]-?$/.exec(rest ?? "")?.[0];
    const nested = mark || (!rest && /^\s*- /.test(lines[n + 1] ?? ""));
    front[key] = nested ? below(lines, n + 1, mark) : inline(rest ?? "", n + 2);
    if (nested) while (n + 1 < lines.length && (/^\s/.test(lines[n + 1]) || lines[n + 1] === "" || (!mark && /^- /.test(lines[n + 1])))) ++n;
  }
  return { front, body };
}

/// A value as YAML in block form.
export function toYaml(value, indent = "") {
  if (Array.isArray(value)) return value.length ? value.map((item) => `${indent}- ${toYaml(item, `${indent}  `).trimStart()}`).join("") : `${indent}[]\n`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).filter(([, item]) => item !== undefined);
    if (!members.length) return `${indent}{}\n`;
    return members.map(([key, item]) => {
      const name = /^[A-Za-z_][\w-]*$/.test(key) ? key : JSON.stringify(key);
      const is_deep = typeof item === "object" && item !== null && Object.keys(item).length > 0;
      return `${indent}${name}:${is_deep ? `\n${toYaml(item, `${indent}  `)}` : ` ${toYaml(item)}`}`;
    }).join("");
  }
  return `${indent}${JSON.stringify(value)}\n`;
}

/// A markdown file: frontmatter, then the text.
export const toMarkdown = (front, body) => `---\n${toYaml(front)}---\n\n${body}\n`;
