import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { visibleText } from "../base/safe_text.ts";
import { Lines } from "../ui/lines.tsx";
import { speakerOf, type AutoMode } from "./auto_mode.ts";
import { world } from "./model.ts";

const at_end = (list: HTMLElement) => list.scrollHeight - list.scrollTop - list.clientHeight < 40;

/// What was said. Of a conversation in progress the newest message is in view, from the first look on, unless the reader has
/// scrolled up; one that is over begins with its beginning.
export function Transcript({ auto }: { auto: AutoMode }) {
  const list = useRef<HTMLOListElement>(null);
  const [follows, follow] = useState(auto.is_active);
  const place = useRef({ top: 0, size: "" });
  const last = auto.lines.at(-1)?.number ?? 0;
  useLayoutEffect(() => {
    const element = list.current;
    if (!element || !follows) return;
    element.scrollTop = element.scrollHeight;
    const observer = new ResizeObserver(() => { element.scrollTop = element.scrollHeight; });
    observer.observe(element);
    return () => observer.disconnect();
  }, [last, follows]);
  const scrolled = () => {
    const element = list.current!;
    const before = place.current;
    place.current = { top: element.scrollTop, size: `${element.clientWidth} ${element.clientHeight}` };
    if (at_end(element)) follow(auto.is_active);
    // A change of size also scrolls.
    else if (element.scrollTop < before.top && place.current.size === before.size) follow(false);
  };
  if (!auto.lines.length) return <p class="hint">{auto.is_active ? "Nobody has spoken yet." : "Nothing was said."}</p>;
  return (
    <ol class="auto-lines" aria-label="Transcript" ref={list} onScroll={scrolled} tabIndex={0}>
      {auto.lines.map((line) => <li key={line.number}><strong>{visibleText(speakerOf(line, world.value.person))}</strong> <Lines text={line.text} /></li>)}
    </ol>
  );
}
