import type { ComponentChildren } from "preact";

/// The layout of a view that shows a list: title, count, actions, and `empty` for an empty list.
export function Sheet({ title, count, actions, is_empty, empty, children, loaded, error }: {
  title: string; count: string; actions?: ComponentChildren; is_empty: boolean; empty: ComponentChildren; children: ComponentChildren;
  loaded: boolean; error: string;
}) {
  return (
    <section class="sheet" aria-label={title} tabIndex={0}>
      <header class="sheet-head">
        <h2>{title}</h2>
        <span class="sheet-count">{loaded ? count : ""}</span>
        <span class="spacer" />
        {loaded && actions}
      </header>
      {error && <p class="error" role="alert">Could not load {title.toLowerCase()}: {error}</p>}
      {!loaded ? !error && <p class="hint">Loading…</p> : is_empty ? <div class="empty">{empty}</div> : children}
    </section>
  );
}
