// Lets xterm work under the page's content security policy, which forbids <style> elements and style attributes: an esbuild
// plugin that replaces the four places in xterm that make them. The element <cru-sheet> is in src/runs/terminal_screen.ts.
import { readFileSync } from "node:fs";

const replacements = [
  { what: /\.createElement\("style"\)/g, by: '.createElement("cru-sheet")', times: 3 },
  { what: /(\w+)\.setAttribute\("style",`\$\{\1\.getAttribute\("style"\)\|\|""\}\$\{(\w+)\};`\)/g, by: "$1.style.cssText+=`$2;`".replace("$2", "${$2}"), times: 1 },
];

/// The source of xterm without inline styles. Throws if it does not look as expected: another version has to be looked at.
export function withoutInlineStyles(source) {
  for (const { what, by, times } of replacements) {
    const found = [...source.matchAll(what)].length;
    if (found !== times) throw new Error(`xterm has changed: ${what} was found ${found} times and not ${times}; see web/xterm_for_csp.mjs`);
    source = source.replace(what, by);
  }
  const left = /createElement\("style"\)|setAttribute\("style"|\beval\(|new Function\(|\.innerHTML\s*=/.exec(source);
  if (left) throw new Error(`xterm does what the page's policy forbids: ${left[0]}; see web/xterm_for_csp.mjs`);
  return source;
}

export const xterm_for_csp = {
  name: "xterm-for-csp",
  setup(build) {
    build.onLoad({ filter: /[\\/]@xterm[\\/]xterm[\\/]lib[\\/]xterm\.mjs$/ }, ({ path }) => ({ contents: withoutInlineStyles(readFileSync(path, "utf8")), loader: "js" }));
  },
};
