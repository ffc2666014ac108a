#pragma once
/// Api: calls operations. Checks who calls and what with, answers a repeated
/// request from its stored reply, then hands over to the bound handler. Rooms
/// are bound to it in daemon/; edges see only this and the event log.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "api/operation.h"
#include "base/boxed.h"
#include "base/once.h"
#include "base/process_identity.h"
#include "platform/loop/task.h"
#include "platform/telemetry/span.h"
#include "store/replies_table.h"
#include "store/store.h"

namespace cru::api {

/// Who asks, and on what terms. Made by an edge from the peer, never from the request's own words.
struct Call {
  Callers caller = person;
  std::string why = {};      ///< why it is not a person
  std::string run_id;        ///< the task id, when the caller is a process of a run
  std::string trace;         ///< traceparent, if any
  std::string request_id;    ///< makes a write repeatable for 24 h
  std::string peer = "cli";  ///< for the log
  /// Whom the caller's environment says it is (Cru-Agent-Id, Cru-Agent-Type, Cru-Session-Id,
  /// Cru-Agent-Capabilities, Cru-Lock-Ttl-Minutes, Cru-Cwd). Binds nothing by itself: a session belongs to
  /// the run, or to the outside, that began it.
  std::string agent_id = {};
  std::string agent_type = {};
  std::string session_id = {};
  std::string capabilities = {};  ///< separated by commas
  std::string cwd = {};           ///< where relative paths of the caller begin
  int64_t lock_ttl_minutes = 0;   ///< 0: as configured
  /// A person's variables by which programs find their account (Cru-Account). Kept in memory only: never in a
  /// row, a log or an event.
  std::map<std::string, std::string> account = {};
  std::string client = {};  ///< what an MCP client calls itself: "codex-mcp-client 1.2"
  /// What the peer's process tells, as opposed to its words.
  std::string run_uid = {};                     ///< the execution, when the caller is a process of a run
  std::string run_member = {};                  ///< whose run that is
  std::optional<ProcessIdentity> host = {};     ///< the agent program that it descends from
  std::string host_program = {};                ///< "claude", "codex", …
  std::optional<ProcessIdentity> process = {};  ///< its own
  std::string connection = {};                  ///< an MCP connection's own id
  std::string inherited_session = {};  ///< what its MCP server was started with; see edges/identity.h
  /// The names of its permissions, when the caller is an agent that thinks here.
  std::optional<std::vector<std::string>> granted = {};
  /// The member that all this comes to. Filled in by the Api, for coordination rows; empty: nobody yet.
  std::string member = {};
  /// With the end of a session, told by a hook: the client's own id of the session that is over.
  std::string closes_session = {};
  /// Filled in by the Api where the request has an id: what the change's own transaction keeps its reply
  /// under (store/once.h).
  Once once = {};
};

/// The errors of a coordination row also say `success: false`.
json::object error_reply(const Operation& operation, const Error& error);

/// A reply as JSON text, so that large ones (output pages) need not be a tree.
class Reply {
 public:
  Reply(json::value value) : text_(to_text(value)) {}                  // NOLINT: implicit on purpose
  Reply(json::object value) : Reply(json::value(std::move(value))) {}  // NOLINT
  static Reply raw(std::string text, int status = 0) { return Reply(std::move(text), status); }
  /// One that the transaction of its change has stored: nobody needs to store it again.
  static Reply stored(json::object value) {
    Reply reply(std::move(value));
    reply.is_stored_ = true;
    return reply;
  }
  bool is_stored() const { return is_stored_; }
  const std::string& text() const { return text_; }
  /// The HTTP status, where it is not the row's own: a refusal that is told as a reply. 400 and 404 are
  /// the caller's mistake (an MCP tool error), 409 is how things are.
  int status() const { return status_; }

 private:
  Reply(std::string text, int status) : text_(std::move(text)), status_(status) {}
  std::string text_;
  int status_ = 0;
  bool is_stored_ = false;
};

using Handler = std::function<Task<Result<Reply>>(const Call& call, const json::object& input)>;

/// What a handler can make of a request whose first attempt was cut short by a crash. One that finds out
/// keeps the reply, or what leads to it, in the transaction of the change, so it may be called again. One
/// that claims with its change does the same and writes the claim in that transaction too: there is no commit
/// before it. Coordination rows keep theirs so too; one that cannot, because its change is outside of the
/// store, is claimed: it is begun once, whatever comes of it.
enum class AfterCrash { cannot_tell, finds_out, claims_with_change, claimed };

class Api {
 public:
  explicit Api(Store& store) : store_(store) {}
  void bind(std::string_view operation, Handler handler, AfterCrash after_crash = AfterCrash::cannot_tell);
  /// Asked before an operation that a run calls is carried out: what its agent may do. The id is empty for an
  /// agent whose run is not known.
  using Gate = std::function<Task<Result<>>(const Operation& operation, std::string run_id)>;
  void set_gate(Gate gate) { gate_ = std::move(gate); }
  /// Asked before a coordination row is carried out: fills in the member that calls, and what the member is
  /// called. Errors are the caller's.
  using Identify = std::function<Task<Result<Boxed<Call>>>(const Operation& operation, Boxed<Call> call,
                                                           const json::object& input)>;
  void set_identify(Identify identify) { identify_ = std::move(identify); }
  /// Awaited before the rows that `is_for` names are carried out, for whoever has to look at something first.
  using Before = std::function<Task<void>()>;
  void set_before(Before before, bool (*is_for)(std::string_view operation)) {
    before_ = std::move(before);
    is_before_ = is_for;
  }
  /// Told when a burst begins and when it ends.
  void set_burst(std::function<void(bool begins)> burst) { burst_ = std::move(burst); }
  /// While it lives, only requests that were read before are called, and nothing else is read: what is looked
  /// up outside of the store for one of them may serve the others.
  class Burst {
   public:
    explicit Burst(Api& api) : api_(api) {
      if (api_.burst_) api_.burst_(true);
    }
    ~Burst() {
      if (api_.burst_) api_.burst_(false);
    }
    Burst(const Burst&) = delete;

   private:
    Api& api_;
  };
  /// While this says why, only what reads is carried out; nothing lets everything through again.
  void set_reading_only(std::optional<Error> why) { reading_only_ = std::move(why); }
  /// Where the doors tell what they were asked.
  void set_telemetry(telemetry::Telemetry telemetry) { telemetry_ = telemetry; }
  telemetry::Telemetry telemetry() const { return telemetry_; }
  /// Rows without a handler: a test holds that there are none.
  std::vector<std::string_view> unbound() const;

  /// Whether this caller may call the row at all, whatever the input; `call` asks the same question first, so
  /// what is offered and what is carried out cannot differ. Outcomes: nothing; forbidden (not for this
  /// caller, or its agent lacks a permission); not_a_person (only a person may, and nobody can tell that this
  /// is one); the gate's error where it cannot tell.
  Task<Result<>> may_call(const Operation& operation, const Call& call) const;

  /// Outcomes: the handler's; invalid_argument; those of may_call;
  /// conflict (a repeated request whose first outcome is unknown, or whose input differs).
  /// A request id belongs to its caller: a run never gets another's stored reply.
  Task<Result<Reply>> call(const Operation& operation, Boxed<Call> call, json::object input);

 private:
  struct Bound {
    Handler handler;
    AfterCrash after_crash;
  };
  Task<Result<Reply>> call_once(const Operation& operation, const Bound& bound, Boxed<Call> call,
                                const json::object& input);
  Task<Result<StoredReply>> claim(const Bound& bound, Once once);
  Task<Result<Reply>> carry_out(const Operation& operation, const Bound& bound, const Call& call,
                                const json::object& input);
  Task<Result<Reply>> coordinate(const Operation& operation, const Bound& bound, Boxed<Call> call,
                                 const json::object& input);
  Store& store_;
  Gate gate_;
  Identify identify_;
  Before before_;
  std::function<void(bool begins)> burst_;
  bool (*is_before_)(std::string_view operation) = nullptr;
  std::optional<Error> reading_only_;
  telemetry::Telemetry telemetry_;
  std::unordered_map<std::string_view, Bound> handlers_;
  std::unordered_set<std::string> under_way_;  ///< keys of requests that are being carried out
};

}  // namespace cru::api
