// A terminal on the page: xterm, without what the page's policy forbids and without answers that nobody typed. It is a file of
// its own, loaded when a run with a terminal is shown, so it imports nothing of the page.
import { Terminal, type ITheme } from "@xterm/xterm";

/// Stands for the <style> elements that xterm makes (web/xterm_for_csp.mjs): its text becomes a style sheet of the document, which
/// the policy allows to a script.
class SheetElement extends HTMLElement {
  readonly #sheet = new CSSStyleSheet();
  override set textContent(css: string) { this.#sheet.replaceSync(css); }
  override get textContent(): string { return ""; }
  connectedCallback(): void { document.adoptedStyleSheets = [...document.adoptedStyleSheets, this.#sheet]; }
  disconnectedCallback(): void { document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== this.#sheet); }
}
customElements.define("cru-sheet", SheetElement);

/// Of xterm's inside: tells that the data which follows was typed, pasted or clicked by the user.
interface Inside {
  _core: { coreService: { onUserInput: (listener: () => void) => void } };
}

function theme(): ITheme {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const [background, foreground, cursor] = [colour("--out-paper"), colour("--out-ink"), colour("--accent")];
  return { background, foreground, cursor, cursorAccent: background, selectionBackground: `${cursor}55`, scrollbarSliderBackground: `${foreground}44` };
}

export class TerminalScreen {
  readonly #terminal: Terminal;
  readonly #box: HTMLElement;
  readonly #scheme = matchMedia("(prefers-color-scheme: dark)");
  readonly #changeTheme = () => { this.#terminal.options.theme = theme(); };

  /// Opens in `box`. `typed` receives what the user types; `leave` is called for Ctrl-].
  constructor(box: HTMLElement, { typed, leave }: { typed: (bytes: Uint8Array) => void; leave: () => void }) {
    this.#box = box;
    const font = getComputedStyle(document.documentElement).getPropertyValue("--mono").trim();
    const terminal = new Terminal({ theme: theme(), fontFamily: font, fontSize: 13, scrollback: 5000, minimumContrastRatio: 4.5, disableStdin: true });
    this.#terminal = terminal;
    // A link's text can differ from its address, so that none is made.
    terminal.parser.registerOscHandler(8, () => true);
    terminal.attachCustomKeyEventHandler((event) => {
      if (!(event.ctrlKey && event.key === "]")) return true;
      if (event.type === "keydown") leave();
      event.preventDefault();
      return false;
    });
    terminal.open(box);
    // A program can ask a terminal something, and the terminal answers as if it were typed. Here only a person types: an old
    // question is read again whenever the page is opened, and many pages would answer at once.
    let is_users = false;
    (terminal as unknown as Inside)._core.coreService.onUserInput(() => { is_users = true; });
    terminal.onData((data) => {
      if (is_users) typed(new TextEncoder().encode(data));
      is_users = false;
    });
    terminal.onBinary((data) => typed(Uint8Array.from(data, (c) => c.charCodeAt(0))));
    this.#scheme.addEventListener("change", this.#changeTheme);
  }

  write(text: string): void {
    if (text) this.#terminal.write(text);
  }

  /// Empties it, also of the modes that a program has set.
  reset(): void {
    this.#terminal.reset();
  }

  acceptInput(is_accepted: boolean): void {
    this.#terminal.options.disableStdin = !is_accepted;
  }

  /// The size of one cell in pixels; 0 as long as it is not shown.
  get cell(): { width: number; height: number } {
    const screen = this.#box.querySelector(".xterm-screen")?.getBoundingClientRect();
    return { width: (screen?.width ?? 0) / this.#terminal.cols, height: (screen?.height ?? 0) / this.#terminal.rows };
  }

  resize({ rows, cols }: { rows: number; cols: number }): void {
    this.#terminal.resize(cols, rows);
  }

  close(): void {
    this.#scheme.removeEventListener("change", this.#changeTheme);
    this.#terminal.dispose();
  }
}
