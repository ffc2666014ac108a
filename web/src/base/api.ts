// HTTP calls to the daemon that served this page, authorized by a key of this tab's own.

export interface Failure {
  code: string;
  message: string;
  hint?: string;
  details?: Record<string, unknown>;
}

const key = "cru.key";
const retry_ms = 500;

/// Exchanges the code in the address (`#code=`), or else the one that `other` finds where this tab has no key, for a key of this tab's own, and removes it from the address, so that it
/// is not copied along with a link and does not stay in the history. Session storage and not a cookie: a cookie would be
/// sent to every server on this machine, whatever its port, and some of them are agents'. Throws if the code is refused.
export async function enter(other: () => Promise<string | null> = async () => null): Promise<void> {
  const fragment = new URLSearchParams(location.hash.slice(1));
  let code = fragment.get("code");
  if (code) {
    fragment.delete("code");
    const rest = fragment.toString();
    history.replaceState(null, "", location.pathname + location.search + (rest ? `#${rest}` : ""));
  } else if (!tokenOfTab()) {
    code = await other();
  }
  if (!code) return;
  const previous = tokenOfTab(); // of the same tab: it is revoked
  for (;;) {
    try {
      sessionStorage.setItem(key, (await post<{ key: string }>("/pairings/redeem", previous ? { code, previous } : { code })).key);
      return;
    } catch (error) {
      if (error instanceof CallFailed) throw error;
      await new Promise((resolve) => setTimeout(resolve, retry_ms)); // the daemon is away; it may come back
    }
  }
}

export const tokenOfTab = (): string => sessionStorage.getItem(key) ?? "";

export function headers(extra: Record<string, string> = {}): Record<string, string> {
  const token = tokenOfTab();
  return token ? { Authorization: `Bearer ${token}`, ...extra } : extra;
}

export class CallFailed extends Error {
  constructor(readonly status: number, readonly failure: Failure) {
    super(failure.hint ? `${failure.message} (${failure.hint})` : failure.message);
  }
}

async function failureOf(response: Response): Promise<CallFailed> {
  let failure: Failure = { code: "internal", message: `the daemon returned HTTP status ${response.status}` };
  try {
    const body = (await response.json()) as { error?: Failure } & Partial<Failure>;
    const reported = body.error && typeof body.error === "object" ? body.error : body;
    if (reported.message) failure = { ...failure, ...(reported as Failure) };
  } catch {
    // Not JSON: the HTTP status is all we can report.
  }
  return new CallFailed(response.status, failure);
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await fetch(path, { headers: headers({ Accept: "application/json" }), ...(signal ? { signal } : {}) });
  if (!response.ok) throw await failureOf(response);
  return (await response.json()) as T;
}

export async function post<T>(path: string, body: unknown = {}): Promise<T> {
  const response = await fetch(path, {
    method: "POST",
    headers: headers({ Accept: "application/json", "Content-Type": "application/json" }),
    body: JSON.stringify(body),
  });
  if (!response.ok) throw await failureOf(response);
  return (await response.json()) as T;
}
