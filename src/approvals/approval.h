#pragma once
/// Approvals: what an agent may do only if a person says so, once, and with exactly the bytes that the person
/// saw. Rules only: `step` alone changes an approval, and the service calls it inside the transaction, on the
/// row that it has just read, so each has one outcome whoever comes at the same time.
#include <functional>
#include <optional>
#include <variant>

#include "approvals/proposal.h"
#include "base/moment.h"
#include "base/result.h"

namespace cru::approvals {

/// The first three wait for a person; the others are outcomes. A timeout is never a person's no.
enum class State {
  pending,
  held,    ///< a person stopped the clock
  asking,  ///< a person asked for context, and the agent has not answered yet: the clock stands still
  approved,
  denied,
  expired,
  withdrawn,
};
std::string_view name(State state);
std::optional<State> state_from(std::string_view name);
inline bool is_open(State state) {
  return state == State::pending || state == State::held || state == State::asking;
}

enum class OnTimeout { abort, approve };
std::string_view name(OnTimeout on_timeout);

/// What a person's rules say about a request (rules.h).
enum class Verdict { allow, ask, deny };
struct Ruling {
  Verdict verdict = Verdict::ask;
  std::string rule = {};    ///< its id, or those of several that allow it together
  std::string reason = {};  ///< of a denial: the person's; of asking: why a person is asked
  /// Whether the rules are still those that it was read from; empty where they cannot change. May be called
  /// on any thread.
  std::function<bool()> is_current = {};
};

/// By which way it was asked for, and so who carries the action out.
enum class Via {
  tool,      ///< a tool that we run
  question,  ///< a program of a run asks in its output: the question there carries the decision to it
  hook,      ///< an agent program's hook waits, and hands the decision to its program
  client,    ///< an agent asked with the MCP tool request_approval, and goes on by itself
};
std::string_view name(Via via);

/// A person's question about an approval, and the agent's answer.
struct Exchange {
  std::string question;
  std::optional<std::string> answer = {};
  Time asked_at = {};
  std::optional<Time> answered_at = {};
};

/// Who asks, for whom, on what terms.
struct Request {
  std::string thread = {};  ///< the chat or subagent, or a run's uid
  std::string use = {};     ///< the tool use in it
  std::string chat_id = {}, task_id = {}, member = {}, agent = {}, trace_id = {};
  std::vector<std::string> chain = {};  ///< "user", …, itself
  std::string task = {};                ///< what the agent is there for
  std::string reason = {};              ///< why, in the agent's words
  std::string schema = {};              ///< JSON Schema of the input, as text
  Proposal proposal = {};
  Via via = Via::tool;
  std::optional<Duration> timeout = {};  ///< none: it waits for ever
  OnTimeout on_timeout = OnTimeout::abort;
  std::string replaces = {};  ///< the approval that was asked for before, and does not hold any more

  /// Looked at again when it is carried out, by us; or only when the decision is handed to whoever carries it
  /// out itself.
  bool is_checked_at_execution() const { return via == Via::tool; }
  /// Whether a person can approve it with changes: whoever carries it out takes them.
  bool can_be_changed() const { return via == Via::tool || !schema.empty(); }
  /// Whether whoever asks can say more while it waits.
  bool can_be_asked() const { return via == Via::tool || via == Via::client; }
};

struct Approval {
  std::string id = {};
  Request request = {};
  std::string digest = {};  ///< of the proposal as it may be carried out
  State state = State::pending;
  State resumes = State::pending;  ///< of one that is asking: what it goes back to
  Time requested_at = {};
  std::optional<Deadline> deadline = {};  ///< while its clock runs
  std::optional<Duration> left = {};      ///< while it stands still
  std::string decided_by = {};            ///< "person", "timeout" or "rule"
  std::string rule = {};                  ///< the rule that decided, or because of which a person is asked
  std::string why_asked = {};             ///< why a person is asked, whatever its timeout would do
  std::string decision_reason = {};       ///< of a denial; of a withdrawal: what became of it
  std::optional<Time> decided_at = {}, used_at = {};
  json::array changes = {};  ///< {field, from, to} each, where a person approved with changes
  std::vector<Exchange> context = {};

  const Proposal& proposal() const { return request.proposal; }
  bool can_be_undone() const { return proposal().undo == Undo::reversible; }
};
/// Nothing is carried out with it any more: it was denied, expired, was withdrawn, or was used.
inline bool is_final(const Approval& approval) {
  return !is_open(approval.state) && (approval.state != State::approved || approval.used_at);
}

// What happens to one.
struct Approve {
  std::string confirm = {};              ///< the id, typed: for what cannot be undone
  std::optional<Proposal> changed = {};  ///< with changes: the proposal that they make
};
struct Deny {
  std::string reason = {};
};
struct Hold {};
struct Release {};
struct AskContext {
  std::string question;
};
struct GiveContext {
  std::string answer;
};
struct TimePasses {};
struct Withdraw {
  std::string why;
};
/// It is about to be carried out, with what has this digest.
struct Use {
  std::string digest;
};
/// Its use was recorded, and it is known that nobody was told: nothing was carried out, and nothing will be.
struct TakeBack {
  std::string why;
};
/// A daemon has begun, after another that was there for nobody knows how long.
struct Restart {};
using Input = std::variant<Approve, Deny, Hold, Release, AskContext, GiveContext, TimePasses, Withdraw, Use,
                           TakeBack, Restart, Ruling>;

struct Step {
  Approval approval;
  std::string event = {};  ///< "approval.denied"; empty: nothing has changed
};

/// What becomes of an approval. Errors:
///  - conflict, saying the outcome, for whatever comes to one that has it already;
///  - invalid_argument (`confirm`) where its id must be typed, for it cannot be undone;
///  - conflict for a use with other bytes, of one that is not approved, and for the second use;
///  - conflict for a rule that would allow what cannot be undone.
Result<Step> step(Approval approval, const Input& input, const Moment& now);

/// The approval as it is asked for.
Approval ask_for(std::string id, Request request, const Moment& now);

/// "approved", "denied by a person: too risky", "expired after 5m00s without an answer", …
std::string describe_outcome(const Approval& approval);
/// What a person changed: {field, from, to} of every field that differs.
json::array list_changes(const json::object& from, const json::object& to);
/// The input as the agent gave it.
json::object without_changes(json::object input, const json::array& changes);
/// "path: \"a\" → \"b\"", one after the other.
std::string describe_changes(const json::array& changes);

json::object to_record(const Approval& approval);
Approval approval_from(const json::object& record);
/// The wire form, whole. `now` tells the time that is left.
json::object to_json(const Approval& approval, const Moment& now);
/// What an event and a list carry: no bytes of files.
json::object to_summary(const Approval& approval);
/// What the files of a chat keep: who, what, the outcome, its reason and the changes.
json::object to_audit(const Approval& approval);

}  // namespace cru::approvals
