/// Moves through a list of buttons with the arrow keys, or j and k, and activates the button that receives the focus.
export function moveByKey(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
  const rows = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLButtonElement>("button")];
  const at = rows.indexOf(document.activeElement as HTMLButtonElement);
  const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))];
  if (!next) return;
  event.preventDefault();
  next.focus();
  next.click();
}
