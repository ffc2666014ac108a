import type { ComponentChildren } from "preact";
import { shared_loaded, shared_trouble } from "../shared_model.ts";

/// What the views of coordination have in common: a title, what is counted, and what to say when there is nothing.
export function Sheet({ title, count, actions, is_empty, nothing, children }: {
  title: string; count: string; actions?: ComponentChildren; is_empty: boolean; nothing: ComponentChildren; children: ComponentChildren;
}) {
  return (
    <section class="sheet" aria-label={title} tabIndex={0}>
      <header class="sheet-head">
        <h2>{title}</h2>
        <span class="sheet-count">{shared_loaded.value ? count : ""}</span>
        <span class="spring" />
        {shared_loaded.value && actions}
      </header>
      {shared_trouble.value && <p class="trouble" role="alert">Could not be read: {shared_trouble.value}</p>}
      {!shared_loaded.value ? !shared_trouble.value && <p class="hint">Loading…</p> : is_empty ? <div class="empty">{nothing}</div> : children}
    </section>
  );
}
