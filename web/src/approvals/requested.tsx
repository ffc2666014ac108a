import { useEffect, useState } from "preact/hooks";
import { get } from "../base/api.ts";
import { loaded } from "../base/connection.ts";
import { visibleText } from "../base/safe_text.ts";
import { messageOf } from "../base/text.ts";
import { approvals, pathOf, requested } from "./model.ts";
import type { Approval } from "./wire.ts";

/// What became of the approval that a link names, where it does not wait any more.
export function RequestedApproval() {
  const id = requested.value;
  const is_waiting = approvals.value.some((approval) => approval.id === id);
  const [text, setText] = useState("");
  useEffect(() => {
    setText("");
    if (!id || is_waiting || !loaded.value) return;
    let is_current = true;
    get<Approval>(pathOf(id)).then(({ what, outcome }) => (outcome ? `${id} (${what}): ${outcome}` : ""), messageOf)
      .then((said) => { if (is_current) setText(said); });
    return () => { is_current = false; };
  }, [id, is_waiting, loaded.value]);
  return text ? <p class="approval-facts" role="status">{visibleText(text)}</p> : null;
}
