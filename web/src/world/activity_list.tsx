import { now } from "../base/clock.ts";
import { safeText } from "../base/safe_text.ts";
import { duration } from "../base/text.ts";
import { world } from "./model.ts";
import { activityText, receiptsText, recipientsText } from "./texts.ts";

/// What was said and done recently, newest first.
export function ActivityList() {
  const { activities } = world.value;
  if (!activities.length) return <p class="hint">Messages and actions of the live agents appear here.</p>;
  return (
    <ol class="life-notes" aria-label="Activity" tabIndex={0}>
      {[...activities].reverse().map((activity) => (
        <li key={activity.seq} class={`is-${activity.kind}`}>
          <b>{safeText(activity.name)}</b>{" "}
          {!!activity.to?.count && <span class="faint">{recipientsText(activity.to)} </span>}
          <span>{activity.kind === "said" ? `“${activityText(activity)}”` : activityText(activity)}</span>{" "}
          <span class="since">{duration(now.value - activity.at)} ago{activity.receipts && ` · ${receiptsText(activity.receipts)}`}</span>
        </li>
      ))}
    </ol>
  );
}
