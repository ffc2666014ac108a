import { safeText } from "../base/safe_text.ts";
import { oneLine } from "../base/text.ts";

/// Names and values on as few lines as possible, without the empty ones.
export function Facts({ of }: { of: readonly (readonly [name: string, value: string | null | undefined])[] }) {
  const known = of.filter(([, value]) => value);
  if (!known.length) return null;
  return <dl class="facts">{known.map(([name, value]) => <div key={name}><dt>{name}</dt><dd title={safeText(value!)}>{oneLine(value!, 200)}</dd></div>)}</dl>;
}
