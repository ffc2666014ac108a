// HTTP calls to the daemon that served this page, authorized by its token.

export interface Failure {
  code: string;
  message: string;
  hint?: string;
}

const key = "cru.token";

/// Moves the token from `#token=` in the address to this tab's session storage, so that it is not copied along with a
/// link and does not stay in the history.
export function takeToken(): string {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const given = fragment.get("token");
  if (given) {
    sessionStorage.setItem(key, given);
    fragment.delete("token");
    const rest = fragment.toString();
    history.replaceState(null, "", location.pathname + location.search + (rest ? `#${rest}` : ""));
  }
  return sessionStorage.getItem(key) ?? "";
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
