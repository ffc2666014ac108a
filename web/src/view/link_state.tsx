import type { Link } from "../connection.ts";
import { now } from "../model.ts";
import { duration } from "../words.ts";

/// How fresh what is shown is: live, or for how long it has not been.
export function LinkState({ at, id, title }: { at: Link; id: string; title?: string }) {
  return (
    <span class={`link is-${at.kind}`} role="status" aria-live={at.kind === "stale" ? "off" : "polite"} title={title} data-testid={id}>
      <span class="link-dot" aria-hidden="true" />{at.kind === "stale" ? `stale ${duration(now.value - at.since)}` : at.kind}
    </span>
  );
}
