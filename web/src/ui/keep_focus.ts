import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";

/// Where the focus goes when `element`, which has it, is taken away: to the next of its list, the one before, what the list is
/// folded into, or the region that it is in.
function placesAfter(element: HTMLElement): HTMLElement[] {
  const places = [element.nextElementSibling, element.previousElementSibling, element.closest("details")?.querySelector("summary"), element.closest("section[tabindex]")];
  return places.filter((place) => place instanceof HTMLElement);
}

/// Whoever decides from the keyboard stays where the decision was: the focus of an entry that goes away passes to its neighbour.
export function useKeptFocus(entry: RefObject<HTMLElement>): void {
  useEffect(() => () => {
    const element = entry.current;
    if (!element?.contains(document.activeElement)) return;
    const places = placesAfter(element);
    queueMicrotask(() => places.find((place) => place.isConnected)?.focus());
  }, []);
}
