import { useState } from "preact/hooks";
import { messageOf } from "../base/text.ts";

/// State of a request to the daemon: whether it is running, and why it failed (`field` names the invalid field, if any).
export function useSending(): { is_sending: boolean; error: string; field: string; send: (act: () => Promise<unknown>) => Promise<boolean> } {
  const [is_sending, setSending] = useState(false);
  const [error, setError] = useState("");
  const [field, setField] = useState("");
  const send = async (act: () => Promise<unknown>) => {
    setSending(true);
    setError("");
    setField("");
    try {
      await act();
      return true;
    } catch (error) {
      setError(messageOf(error));
      const { field, failure } = (error ?? {}) as { field?: string; failure?: { field?: string } };
      setField(failure?.field ?? field ?? "");
      return false;
    } finally {
      setSending(false);
    }
  };
  return { is_sending, error, field, send };
}
