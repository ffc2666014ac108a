import { troubles } from "./daemon.ts";

/// What the daemon says is not well with it: shown over everything else, for as long as it lasts.
export function Troubles() {
  if (!troubles.value.length) return null;
  return <div class="troubles" role="status">{troubles.value.map((text) => <p key={text}>{text}</p>)}</div>;
}
