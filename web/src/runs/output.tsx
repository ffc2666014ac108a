import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { signal } from "@preact/signals";
import { styledText } from "../base/styled_text.ts";
import { Styled } from "../ui/styled.tsx";
import { followAgain, following, output, output_error, readEarlier, run, selected } from "./model.ts";
import { hasEarlier, last, rowsOf, rowsOfTerminal, type Row as OutputRow } from "./output_window.ts";
import { isActive } from "./state.ts";

const row_height = 20;
const spare_rows = 12;
const max_line_length = 4000;
const viewport = signal({ top: 0, height: 600 });

function Row({ row: { line, text, style }, at }: { row: OutputRow; at: number }) {
  const { spans, rest } = styledText(text, style, max_line_length);
  return (
    <div class={`line is-${line.stream}`} style={{ top: `${at * row_height}px` }}>
      <span class="line-seq">{line.seq}</span>
      <span class="line-text"><Styled spans={spans} />{rest > 0 && ` … ${rest} more characters`}</span>
    </div>
  );
}

/// A run's output. Only the visible rows are in the document, so that a long output stays fast. It follows the newest line
/// until the user scrolls away.
export function Output() {
  const box = useRef<HTMLDivElement>(null);
  const anchor = useRef<{ id: string | null; first: number }>({ id: null, first: 0 });
  const { lines, known } = output.value;
  const has_terminal = !!run.value?.pty;
  const rows = useMemo(() => (has_terminal ? rowsOfTerminal : rowsOf)(lines), [lines, has_terminal]);
  const begin = lines[0]?.seq ?? 0;

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => { viewport.value = { top: element.scrollTop, height: element.clientHeight }; };
    const observer = new ResizeObserver(() => {
      if (following.peek()) element.scrollTop = element.scrollHeight;
      measure();
    });
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const before = anchor.current;
    if (following.value) element.scrollTop = element.scrollHeight;
    else if (before.id === selected.value && before.first > begin) element.scrollTop += rows.findIndex(({ line }) => line.seq >= before.first) * row_height;
    else if (before.id === selected.value && before.first) element.scrollTop -= (begin - before.first) * row_height;
    anchor.current = { id: selected.value, first: begin };
    viewport.value = { top: element.scrollTop, height: element.clientHeight };
  }, [lines, following.value]);

  const scrolled = () => {
    const element = box.current!;
    const at_end = element.scrollHeight - element.scrollTop - element.clientHeight < row_height * 1.5;
    viewport.value = { top: element.scrollTop, height: element.clientHeight };
    if (following.value && !at_end) following.value = false;
    else if (!following.value && at_end && last(output.value) >= output.value.known) following.value = true;
    if (element.scrollTop < row_height * 40 && hasEarlier(output.value) && !following.value) void readEarlier();
  };

  const from = Math.max(0, Math.floor(viewport.value.top / row_height) - spare_rows);
  const to = Math.min(rows.length, Math.ceil((viewport.value.top + viewport.value.height) / row_height) + spare_rows);
  const seen = rows[Math.min(rows.length, Math.ceil((viewport.value.top + viewport.value.height) / row_height)) - 1]?.line.seq ?? begin;
  const unseen = Math.max(0, known - seen);
  const alive = run.value && isActive(run.value);

  return (
    <div class="output">
      <div class="output-box" ref={box} onScroll={scrolled} tabIndex={0} role="log" aria-live="off" aria-label="Output" data-testid="output">
        <div class="output-rows" style={{ height: `${Math.max(1, rows.length) * row_height}px` }}>
          {rows.slice(from, to).map((row, i) => <Row key={from + i} row={row} at={from + i} />)}
        </div>
        {!lines.length && <p class="hint">{output_error.value || (alive ? "No output yet." : "No output.")}</p>}
      </div>
      {!following.value && (
        <button type="button" class="follow" onClick={followAgain}>
          <span aria-hidden="true">↓</span> {unseen > 0 && alive ? `Follow · ${unseen} new` : "Follow"}
        </button>
      )}
      <p class="output-foot">
        <span>{known ? `${known.toLocaleString("en")} lines` : "no lines"}</span>
        <span>{following.value ? (alive ? "following" : "end of output") : "paused"}</span>
      </p>
    </div>
  );
}
