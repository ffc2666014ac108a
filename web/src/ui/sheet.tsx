import type { ComponentChildren } from "preact";

/// What the views of lists have in common: a title, what is counted, and what to say when there is nothing.
export function Sheet({ title, count, actions, is_empty, nothing, children, loaded, trouble }: {
  title: string; count: string; actions?: ComponentChildren; is_empty: boolean; nothing: ComponentChildren; children: ComponentChildren;
  loaded: boolean; trouble: string;
}) {
  return (
    <section class="sheet" aria-label={title} tabIndex={0}>
      <header class="sheet-head">
        <h2>{title}</h2>
        <span class="sheet-count">{loaded ? count : ""}</span>
        <span class="spring" />
        {loaded && actions}
      </header>
      {trouble && <p class="trouble" role="alert">Could not load {title.toLowerCase()}: {trouble}</p>}
      {!loaded ? !trouble && <p class="hint">Loading…</p> : is_empty ? <div class="empty">{nothing}</div> : children}
    </section>
  );
}
