import { now } from "../base/clock.ts";
import type { Link } from "../base/connection.ts";
import { duration } from "../base/text.ts";

/// The state of a connection: connected, or for how long it has been disconnected.
export function LinkState({ at, id, title }: { at: Link; id: string; title?: string }) {
  return (
    <span class={`link is-${at.kind}`} role="status" aria-live={at.kind === "disconnected" ? "off" : "polite"} title={title} data-testid={id}>
      <span class="link-dot" aria-hidden="true" />{at.kind === "disconnected" ? `disconnected for ${duration(now.value - at.since)}` : at.kind}
    </span>
  );
}
