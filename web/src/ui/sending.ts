import { useState } from "preact/hooks";

/// Something that is sent to the daemon: whether it is under way, and what went wrong (with which field, if one is to blame).
export function useSending(): { is_sending: boolean; trouble: string; field: string; send: (act: () => Promise<unknown>) => Promise<boolean> } {
  const [is_sending, setSending] = useState(false);
  const [trouble, setTrouble] = useState("");
  const [field, setField] = useState("");
  const send = async (act: () => Promise<unknown>) => {
    setSending(true);
    setTrouble("");
    setField("");
    try {
      await act();
      return true;
    } catch (error) {
      setTrouble(error instanceof Error ? error.message : String(error));
      setField((error as { field?: string } | null)?.field ?? "");
      return false;
    } finally {
      setSending(false);
    }
  };
  return { is_sending, trouble, field, send };
}
