import { useState } from "preact/hooks";
import { messageOf } from "../base/text.ts";

/// A button that needs a second press as confirmation. `about` distinguishes several such buttons for screen readers.
export function ConfirmButton({ label, confirm_label, about, act }: { label: string; confirm_label: string; about?: string; act: () => Promise<unknown> }) {
  const [armed, arm] = useState(false);
  const [error, setError] = useState("");
  // Armed until it is pressed or left: no time limit, for some people need longer than others.
  const press = async (event: MouseEvent) => {
    (event.currentTarget as HTMLButtonElement).focus();  // not every browser does so by itself, and leaving is noticed by it
    if (!armed) return arm(true);
    arm(false);
    setError("");
    try {
      await act();
    } catch (error) {
      setError(messageOf(error));
    }
  };
  const disarm = (event: KeyboardEvent) => {
    if (!armed || event.key !== "Escape") return;
    event.stopPropagation();
    arm(false);
  };
  return (
    <>
      {error && <span class="error" role="alert">{error}</span>}
      <button type="button" class={`button is-danger ${armed ? "is-armed" : ""}`} onClick={press} onBlur={() => arm(false)} onKeyDown={disarm}>
        {armed ? confirm_label : label}{about && <span class="visually-hidden"> {about}</span>}
      </button>
    </>
  );
}
