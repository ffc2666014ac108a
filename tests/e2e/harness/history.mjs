// Histories: who called what from when to when and what came of it, and the checks that some order of single steps
// explains them (linearizability). Locks and work carry fencing tokens, which give the only order there can be, so a
// check is one pass: each step must fit between its call and its return, after the step before it.
import { randomUUID } from "node:crypto";
import { performance } from "node:perf_hooks";
import { patience, sleep } from "./basics.mjs";

export class Recorder {
  calls = [];
  retries = 0;
  is_over = false;

  /// Calls until there is an answer, always under the one request id; the daemon may die over it as often as it likes.
  async call(agent, operation, input = {}, request_id = randomUUID()) {
    const call = performance.now();
    for (;;) {
      const reply = await agent.call(operation, input, { request_id }).catch(() => null);
      if (reply?.json && reply.status < 500) {
        const entry = { session: agent.session_id, agent: agent.agent_id, operation, input, call, ret: performance.now(), status: reply.status, reply: reply.json };
        this.calls.push(entry);
        return entry;
      }
      if (this.is_over || performance.now() - call > patience) throw new Error(`${operation} of ${agent.agent_id} got no answer: ${reply?.text}`);
      ++this.retries;
      await sleep(15);
    }
  }
}

/// The steps in this order, each within its own time? Gives back what is wrong.
function ordered(steps, what) {
  let now = -Infinity;
  for (const [index, step] of steps.entries()) {
    now = Math.max(now, step.call);
    if (now > step.ret) return [`${what}: ${step.name} came after ${steps[index - 1]?.name}, whose call began only after it had returned`];
  }
  return [];
}

const twice = (values) => values.filter((value, index) => values.indexOf(value) !== index);

/// Asked again after its reply was lost, a lock that was granted says "refreshed": a session's first success with a
/// token is the grant, whatever it is called.
export function firstGrants(calls) {
  const seen = new Set();
  return calls.filter(({ operation, reply }) => operation === "acquire_lock" && reply.success).sort((a, b) => a.ret - b.ret)
    .filter(({ session, reply }) => !seen.has(`${session} ${reply.fencing_token}`) && seen.add(`${session} ${reply.fencing_token}`));
}

/// I2. One holder at a time, tokens that grow, refusals that name somebody who may have held it then, no release of
/// what is another's. `key` picks the calls. Releases of ended sessions may be given as further steps.
export function lockViolations(calls, key) {
  const of = (operation) => calls.filter((one) => one.operation === operation && one.input.file_path === key);
  const grants = firstGrants(of("acquire_lock"))
    .map((one) => ({ ...one, token: one.reply.fencing_token, name: `acquire ${one.reply.fencing_token} by ${one.agent}` }))
    .sort((a, b) => a.token - b.token);
  const wrong = twice(grants.map(({ token }) => token)).map((token) => `${key}: token ${token} was given twice`);
  const releases = new Map();
  for (const one of of("release_lock")) {
    if (!one.reply.success) continue;
    const token = one.input.fencing_token;
    const grant = grants.find((grant) => grant.token === token);
    if (!grant || grant.session !== one.session) wrong.push(`${key}: ${one.agent} released ${token}, which was never its own`);
    else if (releases.has(token)) wrong.push(`${key}: token ${token} was released twice`);
    else releases.set(token, { ...one, name: `release ${token} by ${one.agent}` });
  }
  const steps = grants.flatMap((grant, index) => {
    const release = releases.get(grant.token);
    if (!release && index < grants.length - 1) wrong.push(`${key}: ${grants[index + 1].name} while ${grant.name} was never released`);
    return release ? [grant, release] : [grant];
  });
  wrong.push(...ordered(steps, key));
  for (const one of of("acquire_lock")) {
    if (one.reply.success) continue;
    if (one.reply.reason !== "locked_by_other") { wrong.push(`${key}: refused as ${JSON.stringify(one.reply)}`); continue; }
    // Nobody overtakes one who waits: then it is that one who is named.
    const in_line = one.reply.lock_reason === "waiting in the queue" && of("acquire_lock").some((other) => other.agent === one.reply.locked_by && other.session !== one.session && other.input.wait_seconds > 0 && other.call <= one.ret && other.ret >= one.call);
    const held = in_line || grants.some((grant) => grant.agent === one.reply.locked_by && grant.session !== one.session && grant.call <= one.ret && (releases.get(grant.token)?.ret ?? Infinity) >= one.call);
    if (!held) wrong.push(`${key}: ${one.agent} was refused for ${one.reply.locked_by}, who cannot have held it then`);
  }
  return wrong;
}

/// I3. Each piece of work is claimed by one at a time, completed by its claimer, once, and none is lost.
/// `items` is what the daemon has at the end.
export function workViolations(calls, items) {
  const wrong = [];
  const kept = new Map(items.map((item) => [item.task_id, item]));
  const submitted = calls.filter(({ operation, reply }) => operation === "submit_work" && reply.success);
  wrong.push(...twice(submitted.map(({ reply }) => reply.task_id)).map((id) => `${id}: submitted twice`));
  for (const submission of submitted) {
    const id = submission.reply.task_id;
    const claims = calls.filter(({ operation, reply }) => operation === "get_work" && reply.success && reply.task_id === id)
      .map((one) => ({ ...one, token: one.reply.fencing_token, name: `claim ${one.reply.fencing_token} by ${one.agent}` })).sort((a, b) => a.token - b.token);
    const ends = calls.filter(({ operation, input, reply }) => operation === "complete_work" && input.task_id === id && reply.success);
    const steps = [{ ...submission, name: "submit" }];
    wrong.push(...twice(claims.map(({ token }) => token)).map((token) => `${id}: token ${token} was given twice`));
    claims.forEach((claim, index) => {
      const own = ends.filter(({ input, session }) => input.fencing_token === claim.token && session === claim.session);
      if (own.length > 1) wrong.push(`${id}: completed ${own.length} times with token ${claim.token}`);
      if (!own.length && index < claims.length - 1) wrong.push(`${id}: ${claims[index + 1].name} while ${claim.name} was still at it`);
      steps.push(claim, ...own.slice(0, 1).map((end) => ({ ...end, name: `${end.reply.status} ${claim.token}` })));
    });
    const strangers = ends.filter(({ input, session }) => !claims.some((claim) => claim.token === input.fencing_token && claim.session === session));
    wrong.push(...strangers.map(({ agent, input }) => `${id}: ${agent} completed it with ${input.fencing_token}, which was never its own`));
    const completed = ends.filter(({ reply }) => reply.status === "completed");
    if (completed.length > 1) wrong.push(`${id}: ${completed.length} completions were accepted`);
    wrong.push(...ordered(steps, id));
    const item = kept.get(id);
    if (!item) wrong.push(`${id}: lost`);
    else if (completed.length && (item.status !== "completed" || JSON.stringify(item.result) !== JSON.stringify(completed[0].input.result))) wrong.push(`${id}: its completion was accepted and is lost: ${JSON.stringify(item)}`);
    else if (!completed.length && item.status === "completed") wrong.push(`${id}: completed by nobody`);
  }
  return wrong;
}
