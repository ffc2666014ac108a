import { useEffect, useState } from "preact/hooks";
import { messageOf } from "../base/text.ts";

/// A button that needs a second press as confirmation. `about` distinguishes several such buttons for screen readers.
export function ConfirmButton({ label, confirm_label, about, act }: { label: string; confirm_label: string; about?: string; act: () => Promise<unknown> }) {
  const [armed, arm] = useState(false);
  const [error, setError] = useState("");
  useEffect(() => {
    if (!armed) return;
    const timer = setTimeout(() => arm(false), 4000);
    return () => clearTimeout(timer);
  }, [armed]);
  const press = async () => {
    if (!armed) return arm(true);
    arm(false);
    setError("");
    try {
      await act();
    } catch (error) {
      setError(messageOf(error));
    }
  };
  return (
    <>
      {error && <span class="error" role="alert">{error}</span>}
      <button type="button" class={`button is-danger ${armed ? "is-armed" : ""}`} onClick={press}>
        {armed ? confirm_label : label}{about && <span class="visually-hidden"> {about}</span>}
      </button>
    </>
  );
}
