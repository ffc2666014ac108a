import type { ComponentChildren } from "preact";
import { safeText } from "../base/safe_text.ts";

/// What went wrong, and whether a field of the form is to blame.
export interface Blame {
  trouble: string;
  field: string;
}

export const isBlamed = (blame: Blame, name: string): boolean => blame.trouble !== "" && blame.field === name;

/// What a field is given so that its trouble is announced with it.
export const blamed = (blame: Blame, id: string, name: string) => (isBlamed(blame, name) ? { "aria-invalid": true, "aria-describedby": `${id}-${name}-trouble` } as const : {});

/// A field with its label, and what was wrong with it.
export function Field({ label, id, name, blame, wide, children }: { label: string; id: string; name: string; blame: Blame; wide?: boolean; children: ComponentChildren }) {
  return (
    <div class={`field ${wide ? "is-whole" : ""}`}>
      <label for={`${id}-${name}`}>{label}</label>
      {children}
      {isBlamed(blame, name) && <p class="trouble" role="alert" id={`${id}-${name}-trouble`}>{safeText(blame.trouble)}</p>}
    </div>
  );
}

/// What went wrong with the whole, or with a field that this form does not have.
export function FormTrouble({ blame, fields }: { blame: Blame; fields: readonly string[] }) {
  if (!blame.trouble || fields.includes(blame.field)) return null;
  return <p class="trouble is-whole" role="alert">{blame.field && <><code>{safeText(blame.field)}</code>: </>}{safeText(blame.trouble)}</p>;
}
