import type { ComponentChildren } from "preact";
import { safeText } from "../base/safe_text.ts";

/// Why a form was rejected, and which of its fields is invalid, if any.
export interface FormFailure {
  error: string;
  field: string;
}

export const isInvalid = (failure: FormFailure, name: string): boolean => failure.error !== "" && failure.field === name;

/// The attributes of an input that associate it with its error message.
export const invalidProps = (failure: FormFailure, id: string, name: string) => (isInvalid(failure, name) ? { "aria-invalid": true, "aria-describedby": `${id}-${name}-error` } as const : {});

/// A form field with its label and its error message.
export function Field({ label, id, name, failure, wide, children }: { label: string; id: string; name: string; failure: FormFailure; wide?: boolean; children: ComponentChildren }) {
  return (
    <div class={`field ${wide ? "is-whole" : ""}`}>
      <label for={`${id}-${name}`}>{label}</label>
      {children}
      {isInvalid(failure, name) && <p class="error" role="alert" id={`${id}-${name}-error`}>{safeText(failure.error)}</p>}
    </div>
  );
}

/// An error message that belongs to no field of this form.
export function FormError({ failure, fields }: { failure: FormFailure; fields: readonly string[] }) {
  if (!failure.error || fields.includes(failure.field)) return null;
  return <p class="error is-whole" role="alert">{failure.field && <><code>{safeText(failure.field)}</code>: </>}{safeText(failure.error)}</p>;
}
