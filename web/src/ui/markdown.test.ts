import assert from "node:assert/strict";
import { test } from "node:test";
import { beginning, parseMarkdown, type Block } from "../base/markdown.ts";
import { inlines, safeAddress, type Inline } from "../base/markdown_inline.ts";
import { renderBlocks } from "./markdown.tsx";

const kinds = (text: string) => parseMarkdown(text).map(({ kind }) => kind);
const plain = (list: readonly Inline[]): string =>
  list.map((each) => (each.kind === "wikilink" ? each.label : "inlines" in each ? plain(each.inlines) : each.text)).join("");

interface Node { type: unknown; props: Record<string, unknown> }

/// Every element that the page creates for a text.
function elements(text: string, resolveLink = (_: string) => ""): Node[] {
  const found: Node[] = [];
  const walk = (node: unknown): void => {
    if (Array.isArray(node)) return node.forEach(walk);
    if (!node || typeof node !== "object") return;
    const { type, props } = node as Node;
    found.push({ type, props });
    walk(props.children);
  };
  walk(renderBlocks(parseMarkdown(text), resolveLink));
  return found;
}
const leads = (text: string) => elements(text, (target) => `#view=chats&chat=c&subagent=${target}`).filter(({ type }) => type === "a").map(({ props }) => String(props.href));

test("headings, paragraphs, code, lists, quotes and rules", () => {
  assert.deepEqual(kinds("# Title\nwords\nmore words\n\n- a\n- b\n\n1. x\n2. y\n\n> said\n\n---\n```cpp\nint x;\n```\nafter"),
    ["heading", "paragraph", "list", "list", "quote", "rule", "code", "paragraph"]);
  assert.deepEqual(parseMarkdown("```cpp\nint x;\n\n# no heading\n```"), [{ kind: "code", language: "cpp", text: "int x;\n\n# no heading" }]);
});

test("a list item contains lists, code and paragraphs", () => {
  const [list] = parseMarkdown("1. one\n   - inner\n   - other\n\n   ```\n   code\n   ```\n2. two") as Extract<Block, { kind: "list" }>[];
  assert.equal(list?.ordered, true);
  assert.deepEqual(list?.items.map((item) => item.map(({ kind }) => kind)), [["paragraph", "list", "code"], ["paragraph"]]);
});

test("an unclosed fence is code to the end", () => {
  assert.deepEqual(parseMarkdown("so:\n```js\nlet a = **1**;"), [
    { kind: "paragraph", inlines: [{ kind: "text", text: "so:" }] }, { kind: "code", language: "js", text: "let a = **1**;" }]);
});

test("heading ranks never skip a level", () => {
  const ranks = parseMarkdown("### first\n###### second\n# third\n#### fourth").map((block) => (block.kind === "heading" ? [block.level, block.rank] : null));
  assert.deepEqual(ranks, [[3, 3], [6, 4], [1, 3], [4, 4]]);
});

test("emphasis can be nested, and is not found in names and formulas", () => {
  assert.deepEqual(inlines("a **b *c* d**"), [
    { kind: "text", text: "a " },
    { kind: "strong", inlines: [{ kind: "text", text: "b " }, { kind: "emphasis", inlines: [{ kind: "text", text: "c" }] }, { kind: "text", text: " d" }] }]);
  for (const text of ["snake_case_name", "2 * 3 * 4", "a ** b", "**", "* not *", "~~", "under_score and_more"]) assert.deepEqual(inlines(text), [{ kind: "text", text }], text);
  assert.deepEqual(inlines("\\*plain\\*"), [{ kind: "text", text: "*plain*" }]);
  assert.deepEqual(inlines("`a **b**` ``c ` d``"), [{ kind: "code", text: "a **b**" }, { kind: "text", text: " " }, { kind: "code", text: "c ` d" }]);
});

test("only http and https are linked, and the host is shown if the label hides it", () => {
  assert.deepEqual(inlines("[docs](https://example.org/a_(b))"), [{ kind: "link", href: "https://example.org/a_(b)", host: "example.org", inlines: [{ kind: "text", text: "docs" }] }]);
  assert.deepEqual(inlines("see https://example.org/x."), [
    { kind: "text", text: "see " }, { kind: "link", href: "https://example.org/x", host: "", inlines: [{ kind: "text", text: "https://example.org/x" }] }, { kind: "text", text: "." }]);
  const [lie] = inlines("[https://bank.example](https://evil.example/)");
  assert.ok(lie?.kind === "link" && lie.host === "evil.example");
  const [hidden] = inlines("https://bank.example@evil.example/");
  assert.ok(hidden?.kind === "link" && hidden.host === "evil.example");
});

test("an unsafe address is shown and not linked", () => {
  const hostile = ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,<script>alert(1)</script>", "vbscript:x", "file:///etc/passwd", "//evil.example", "/agents/x/kill", "#view=crew", "java\tscript:alert(1)", "\x01javascript:alert(1)", "https:"];
  for (const address of hostile) {
    assert.equal(safeAddress(address), null, address);
    assert.deepEqual(leads(`[click](${address}) ![x](${address}) <${address}>`), [], address);
  }
  assert.deepEqual(leads("![x](https://example.org/a.png)"), ["https://example.org/a.png"]);
  assert.equal(elements("![x](https://example.org/a.png)").filter(({ type }) => type === "img").length, 0, "no picture is loaded");
});

test("a wikilink leads to a subagent on the page, or nowhere", () => {
  assert.deepEqual(leads("see [[tester-3f]] and [[a/b|that]]"), ["#view=chats&chat=c&subagent=tester-3f", "#view=chats&chat=c&subagent=a/b"]);
  assert.equal(elements("[[tester-3f]]").filter(({ type }) => type === "a").length, 0);
  assert.equal(plain(inlines("[[x|<b>label</b>]]")), "<b>label</b>");
});

test("markup in the text stays text: only known elements and properties are created", () => {
  const text = "<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n# <b onclick=x>t</b>\n\n- <iframe src=//evil>\n\n```html\n</code></pre><script>x</script>\n```\n\n[<img src=x>](https://example.org) **<svg onload=x>**";
  const ours = new Set(["p", "pre", "code", "ul", "ol", "li", "span", "strong", "em", "del", "a", "blockquote", "hr"]);
  const properties = new Set(["children", "class", "role", "aria-level", "tabIndex", "start", "href", "target", "rel", "title"]);
  for (const { type, props } of elements(text)) {
    assert.ok(ours.has(String(type)), String(type));
    for (const name of Object.keys(props)) assert.ok(properties.has(name), name);
  }
  assert.equal(plain((parseMarkdown("<script>alert(1)</script>")[0] as Extract<Block, { kind: "paragraph" }>).inlines), "<script>alert(1)</script>");
});

test("escape sequences are removed and misleading characters are made visible", () => {
  const shown = (text: string) => plain((parseMarkdown(text)[0] as Extract<Block, { kind: "paragraph" }>).inlines);
  assert.equal(shown("\x1b[31mred\x1b[0m \x1b]8;;http://evil/\x07x\x1b]8;;\x07"), "red x");
  assert.equal(shown("a\u202eb \u2066c"), "a‹U+202E›b ‹U+2066›c");
  assert.equal(shown("shown\rand not written over"), "shown\nand not written over");
  assert.deepEqual(parseMarkdown("```\n\u202ex\x07\n```"), [{ kind: "code", language: "", text: "‹U+202E›x␇" }]);
});

// Four times the text takes about four times as long. By the time that this process worked, not by the clock: the machine
// may be busy. What is quick anyway is not measured.
test("hostile input takes neither long nor a deep stack", () => {
  const worked = (text: string) => {
    const before = process.cpuUsage();
    renderBlocks(parseMarkdown(text), () => "");
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
  const repeated = ["*", "**a ", "_", "`", "` ``  ``` ", "[", "[a](", "![", "[[", "h", "https://a ", "https://" + ")", "> ", "- ", "  - ", "\\", "~~a", "**a*b_", "#", "# ", "|", "\x1b]", "<", "1. ", "***a** ", "_a_b"].map((piece) => (size: number) => piece.repeat(Math.ceil(200_000 * size / piece.length)));
  repeated.push(...["- ", "> ", "* a\n", "**a\n", "[\n", "```\n", "|a|\n", "1. x\n", "  ".repeat(50) + "- a\n", "a\n\n"].map((piece) => (size: number) => piece.repeat(20_000 * size)));
  repeated.push((size) => Array.from({ length: 2000 * Math.sqrt(size) }, (_, i) => `${" ".repeat(i)}- x`).join("\n"), (size) => ">".repeat(5000 * size) + " x");
  for (const make of repeated) {
    const whole = worked(make(1));
    if (whole < 300) continue;
    const quarter = worked(make(0.25));
    assert.ok(whole < 10 * quarter, `${JSON.stringify(make(1).slice(0, 12))}: a quarter took ${Math.round(quarter)} ms, the whole ${Math.round(whole)} ms`);
  }
});

test("a huge line is truncated and shows how much is missing", () => {
  const [block] = parseMarkdown("x".repeat(1_000_000));
  assert.ok(block?.kind === "paragraph");
  assert.match(plain(block.inlines), /^x{20000} … 980000 more characters$/);
});

test("the beginning of a long text ends at a line end", () => {
  assert.deepEqual(beginning("a\nb\nc", 100, 100), { text: "a\nb\nc", is_cut: false });
  assert.deepEqual(beginning("a\nb\nc", 100, 2), { text: "a\nb", is_cut: true });
  assert.deepEqual(beginning("aaaa\nbbbb\ncccc", 10, 100), { text: "aaaa\nbbbb", is_cut: true });
  assert.deepEqual(beginning("x".repeat(50), 10, 100), { text: "x".repeat(10), is_cut: true });
  assert.deepEqual(beginning("", 10, 10), { text: "", is_cut: false });
});
