import { useEffect, useState } from "preact/hooks";

/// A button that takes two presses, so that a slip ends nothing. `about` tells many such buttons apart.
export function TwoPresses({ word, sure, about, act }: { word: string; sure: string; about?: string; act: () => Promise<unknown> }) {
  const [armed, arm] = useState(false);
  const [trouble, setTrouble] = useState("");
  useEffect(() => {
    if (!armed) return;
    const timer = setTimeout(() => arm(false), 4000);
    return () => clearTimeout(timer);
  }, [armed]);
  const press = async () => {
    if (!armed) return arm(true);
    arm(false);
    setTrouble("");
    try {
      await act();
    } catch (error) {
      setTrouble(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <>
      {trouble && <span class="trouble" role="alert">{trouble}</span>}
      <button type="button" class={`button is-danger ${armed ? "is-armed" : ""}`} onClick={press}>
        {armed ? sure : word}{about && <span class="unseen"> {about}</span>}
      </button>
    </>
  );
}
