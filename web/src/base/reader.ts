// Reads that are requested whenever something changes.
import { messageOf } from "./text.ts";

/// A function that runs `read`, but never twice at the same time: if it is called while a read is running, one more read
/// follows. `error` receives the message of a failed read, and is empty after a successful one.
export function reader(error: { value: string }, read: () => Promise<void>): () => Promise<void> {
  let is_reading = false;
  let read_again = false;
  return async () => {
    read_again = true;
    if (is_reading) return;
    is_reading = true;
    while (read_again) {
      read_again = false;
      try {
        await read();
        error.value = "";
      } catch (failure) {
        error.value = messageOf(failure);
      }
    }
    is_reading = false;
  };
}
