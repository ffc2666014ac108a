// Reads that are asked for whenever something changes.
import { messageOf } from "./text.ts";

/// A read that is never under way twice at once, and is done once more if it was asked for meanwhile. `trouble` tells
/// why it failed.
export function reader(trouble: { value: string }, read: () => Promise<void>): () => Promise<void> {
  let is_reading = false;
  let again = false;
  return async () => {
    again = true;
    if (is_reading) return;
    is_reading = true;
    while (again) {
      again = false;
      try {
        await read();
        trouble.value = "";
      } catch (error) {
        trouble.value = messageOf(error);
      }
    }
    is_reading = false;
  };
}
