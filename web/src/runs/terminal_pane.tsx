import { useEffect, useRef } from "preact/hooks";
import { computed, effect, signal } from "@preact/signals";
import { messageOf } from "../base/text.ts";
import { followAgain, input_error, output, resize, run, type } from "./model.ts";
import { isActive } from "./state.ts";
import { sizeFor, TerminalFeed } from "./terminal_text.ts";

type Screen = InstanceType<typeof import("./terminal_screen.ts").TerminalScreen>;

const size = signal<{ rows: number; cols: number } | null>(null);
const is_active = computed(() => !!run.value && isActive(run.value));
const resize_delay_ms = 120;
const scrollbar_width = 14;

/// Shows the output in `screen` and follows it; sends what fits when the box changes. Returns what ends it.
function connect(id: string, box: HTMLElement, screen: Screen): () => void {
  const feed = new TerminalFeed();
  const fit = () => {
    const style = getComputedStyle(box);
    const padding = (a: string, b: string) => parseFloat(style.getPropertyValue(a)) + parseFloat(style.getPropertyValue(b));
    const room = { width: box.clientWidth - padding("padding-left", "padding-right") - scrollbar_width, height: box.clientHeight - padding("padding-top", "padding-bottom") };
    const fits = sizeFor(room, screen.cell);
    if (!fits || (fits.rows === size.value?.rows && fits.cols === size.value.cols)) return;
    size.value = fits;
    screen.resize(fits);
  };
  let timer = 0;
  const observer = new ResizeObserver(() => {
    clearTimeout(timer);
    timer = window.setTimeout(fit, resize_delay_ms);
  });
  size.value = null;
  fit();
  followAgain();
  observer.observe(box);
  const ends = [
    effect(() => {
      const { text, is_anew } = feed.take(output.value.lines);
      if (is_anew) screen.reset();
      screen.write(text);
    }),
    effect(() => screen.acceptInput(is_active.value)),
    effect(() => { if (is_active.value && size.value) void resize(id, size.value); }),
  ];
  return () => {
    clearTimeout(timer);
    observer.disconnect();
    for (const end of ends) end();
    screen.close();
  };
}

/// A run with a terminal, as a terminal: it shows the recorded output and follows it, and takes input while the run is active.
/// `failed` is called with the reason if the browser cannot show it.
export function TerminalPane({ id, failed }: { id: string; failed: (why: string) => void }) {
  const box = useRef<HTMLDivElement>(null);
  const foot = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    let close = () => {};
    let is_gone = false;
    import("./terminal_screen.ts").then(({ TerminalScreen }) => {
      if (is_gone || !box.current) return;
      close = connect(id, box.current, new TerminalScreen(box.current, { typed: (bytes) => type(id, bytes), leave: () => foot.current?.focus() }));
    }).catch((error) => { if (!is_gone) failed(messageOf(error)); });
    return () => {
      is_gone = true;
      close();
    };
  }, [id]);
  return (
    <div class="output">
      <div class="terminal-box" ref={box} role="group" aria-label="Terminal" data-testid="terminal" />
      <p class="output-foot" ref={foot} tabIndex={-1}>
        <span class="is-size">{size.value ? `${size.value.cols} × ${size.value.rows}` : "loading the terminal…"}</span>
        {input_error.value ? <span class="output-error" role="alert">{input_error.value}</span>
          : <span>{is_active.value ? "typing goes to the run · Ctrl+] leaves it" : "the run has ended"}</span>}
      </p>
    </div>
  );
}
