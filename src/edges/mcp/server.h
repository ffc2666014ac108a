#pragma once
/// Server: one client's conversation in MCP, without its transport. Takes messages as text, calls the rows
/// of the operation table, and hands answers to a sink. Speaks both eras: the one that begins with
/// `initialize`, and 2026-07-28, in which every request stands for itself. Knows no socket.
///
/// Lives on the loop. Destroying it ends what is in flight, without an answer.
#include <coroutine>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>

#include "api/api.h"
#include "edges/mcp/catalog.h"
#include "edges/mcp/changes.h"
#include "edges/mcp/elicitation.h"
#include "edges/mcp/observation.h"
#include "edges/mcp/protocol.h"

namespace cru::mcp {

inline constexpr size_t max_message_bytes = 4u << 20;
inline constexpr size_t max_waiting = 64;         ///< calls that wait for something, each up to minutes
inline constexpr size_t max_subscriptions = 256;  ///< and as many listening streams with their addresses

/// Who carries out calls.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual Task<Result<api::Reply>> call(const api::Operation& operation, Boxed<api::Call> call,
                                        json::object input) = 0;
  /// Whether it would carry out calls of this row for this caller. Errors: forbidden; others where it cannot
  /// tell.
  virtual Task<Result<>> may_call(const api::Operation& operation, const api::Call& call) = 0;
  virtual telemetry::Telemetry telemetry() const { return {}; }
};

/// The operation table of this process.
class ApiBackend final : public Backend {
 public:
  explicit ApiBackend(api::Api& api) : api_(api) {}
  Task<Result<api::Reply>> call(const api::Operation& operation, Boxed<api::Call> call,
                                json::object input) override {
    return api_.call(operation, std::move(call), std::move(input));
  }
  Task<Result<>> may_call(const api::Operation& operation, const api::Call& call) override {
    return api_.may_call(operation, call);
  }
  telemetry::Telemetry telemetry() const override { return api_.telemetry(); }

 private:
  api::Api& api_;
};

/// Where messages to the client go. None of these may call back into the server, nor destroy it.
class Sink {
 public:
  virtual ~Sink() = default;
  /// The answer to what `receive` was given with this sink.
  virtual void respond(std::string message) = 0;
  virtual void notify(std::string message) = 0;
  /// There will be no answer: the request was cancelled.
  virtual void dropped() {}
  /// The client does not read: what can wait, waits for `drained`.
  virtual bool is_congested() const { return false; }
  /// Whether `notify` reaches the client before the answer: only then may a request of ours go there.
  virtual bool is_stream() const { return true; }
};

/// How long a call waits for what it asks for.
struct Wait {
  int64_t seconds = 0;
  bool is_open = false;  ///< it does not say, and hears of the progress: as long as the work takes
};

/// On what terms one message was sent.
struct Terms {
  Boxed<api::Call> call;                ///< who sends it; its request id makes it repeatable
  std::optional<Version> version = {};  ///< what the transport says about it, where it says anything
};

class Server {
 public:
  /// `feed` may be null: then nothing ever changes.
  Server(Loop& loop, Backend& backend, ChangeFeed* feed);
  ~Server();
  Server(const Server&) = delete;

  /// Takes one message, or a batch where the version has them. True if it calls for an answer, which `sink`
  /// gets sooner or later, perhaps before this returns. The sink must live until then, or be forgotten.
  bool receive(std::string_view text, Terms terms, Sink& sink);
  /// Ends what is in flight for this sink.
  void forget(Sink& sink);

  /// Where unsolicited notifications go; null: nowhere.
  void set_notifications(Sink* sink) { notifications_ = sink; }
  /// The client was here before: what it subscribes to may have changed in between.
  void set_resumed() { resumed_ = true; }
  /// Tells the client of everything that it may have missed.
  void catch_up();
  /// A sink that was congested no longer is.
  void drained();
  /// Requests whose answer is still to come.
  size_t in_flight() const { return in_flight_.size(); }
  /// Of these, the ones that do not merely wait for something to happen.
  size_t at_work() const { return in_flight_.size() - waiting_; }
  /// A tool was called: there may be a session to end.
  bool is_used() const { return used_; }
  /// What the client calls itself; empty if it has not said so.
  const std::string& client() const { return client_; }

 private:
  struct Batch;
  struct PendingCall;
  /// The one answer to a request. If it goes away without one, the sink is told.
  class Answer {
   public:
    Answer(Sink& sink, std::shared_ptr<Batch> batch, std::string id)
        : sink_(&sink), batch_(std::move(batch)), id_(std::move(id)) {}
    Answer(Answer&& other) noexcept
        : sink_(std::exchange(other.sink_, nullptr)),
          batch_(std::move(other.batch_)),
          id_(std::move(other.id_)),
          observed_(std::move(other.observed_)) {}
    Answer& operator=(Answer&&) = delete;
    ~Answer();
    void result(std::string_view result) {
      if (observed_) observed_->end("");
      send(response_text(id_, result));
    }
    void error(const RpcError& error) {
      if (observed_) observed_->end(std::to_string(error.code));
      send(error_text(id_, error));
    }
    void observe(std::unique_ptr<Observation> observation) { observed_ = std::move(observation); }
    void tool_failed() {
      if (observed_) observed_->tool_failed();
    }
    const std::string& id() const { return id_; }
    Sink& sink() const { return *sink_; }

   private:
    void send(std::string message);
    Sink* sink_;
    std::shared_ptr<Batch> batch_;
    std::string id_;  ///< as JSON text
    std::unique_ptr<Observation> observed_;
  };
  struct Request {
    Message message;
    Version version = newest_with_handshake;
    Boxed<api::Call> call = {};
    std::string progress_token = {};  ///< JSON text; empty: none wanted
    std::string log_level = {};       ///< modern: what the request itself asks for
    bool shows_forms = false;         ///< the client can ask its person
    bool takes_tasks = false;
  };
  /// A `subscriptions/listen` that is open.
  struct Listen {
    Answer answer;
    json::value id;
    std::set<std::string> uris;
    bool list = false;
  };
  class Asking;
  using RpcResult = std::expected<std::string, RpcError>;  ///< the result's JSON text

  bool receive_one(json::value&& value, Terms terms, Sink& sink, std::shared_ptr<Batch> batch);
  std::expected<Request, RpcError> read_terms(Message message, Terms terms);
  void dispatch(Request request, Answer answer);
  void observe(Request& request, Answer& answer);
  void take_notification(const Message& message);
  void cancel(const std::string& id);

  // Answered at once.
  RpcResult initialize(const json::object& params);
  RpcResult set_level(const json::object& params);
  RpcResult unsubscribe(const json::object& params);

  // Answered by the daemon.
  void call_tool(Request request, Answer answer);
  /// One call of a tool, as `run_tool` and its kin take it.
  struct ToolCall {
    const api::Operation& operation;
    json::object input;
    Request request;
    Wait wait;
  };
  Task<void> run_tool(ToolCall call, Answer answer);
  /// What a tool's outcome is to its caller.
  std::string tell_tool(const api::Operation& operation, const Result<api::Reply>& reply,
                        const Request& request, Answer& answer);

  // ask_user at a client that can ask its person. server_asking.cc
  static bool is_elicited(const ToolCall& call, Sink& sink);
  Task<void> run_asking(ToolCall call, Answer answer);
  Task<void> run_asking_in_rounds(ToolCall call, Answer answer);
  Task<void> take_round(ToolCall call, OpenQuestion question, Answer answer);
  void take_response(const Message& message);
  static Task<void> give_answer(Backend& backend, std::string question_id, std::string answer);

  // The extension for long tasks. server_tasks.cc
  Task<void> run_as_task(ToolCall call, Answer answer);
  Task<RpcResult> get_task(Request request);
  Task<RpcResult> update_task(Request request);
  Task<RpcResult> cancel_task(Request request);
  /// The reply of the operation that tells of the task that the request names.
  Task<std::expected<json::value, RpcError>> look_at_task(const Request& request);
  using Work = Task<RpcResult> (Server::*)(Request request);
  Task<void> run(Work work, Request request, Answer answer);
  Task<RpcResult> list_tools(Request request);
  Task<RpcResult> list_resources(Request request);
  Task<RpcResult> list_templates(Request request);
  Task<RpcResult> list_prompts(Request request);
  Task<RpcResult> subscribe(Request request);
  Task<void> listen(Request request, Answer answer);
  Task<RpcResult> read_resource(Request request);
  Task<RpcResult> get_prompt(Request request);
  Task<RpcResult> complete(Request request);
  /// What of `all` this caller may use. Errors: those of a backend that cannot tell.
  Task<std::expected<std::vector<std::string>, RpcError>> offered(const std::vector<Offer>& all,
                                                                  const api::Call& call);
  Task<Result<json::object>> ask(std::string_view operation, Boxed<api::Call> call, json::object input);
  Task<std::vector<std::string>> known(std::string_view operation, json::object input, std::string list,
                                       std::string member, Boxed<api::Call> call);
  /// Starts work that `cancel` can end.
  void start_call(std::string id, Sink& sink, bool waits, Task<void> work);

  // What clients listen to: server_changes.cc, with subscribe, unsubscribe and listen.
  void follow_changes();
  void tell(const Changes& news);
  void tell_now(const Changes& changes);
  /// False if the list was told of a moment ago: then it will be again, soon.
  bool is_list_due();
  void say(Sink& sink, const Request* request, std::string_view level, std::string_view text);

  Loop& loop_;
  Backend& backend_;
  ChangeFeed* feed_;
  Sink* notifications_ = nullptr;
  std::optional<Version> version_;  ///< agreed on by `initialize`
  bool resumed_ = false, used_ = false;
  bool shows_forms_ = false;  ///< as `initialize` says
  const Time began_;
  std::map<std::string, Asking*> asking_;  ///< by the id of our request, as JSON text
  std::map<std::string, json::object> early_;
  std::string client_;
  std::string log_level_ = "warning";
  std::set<std::string> subscribed_;
  std::map<std::string, Listen> listens_;  ///< by the request's id
  struct InFlight {
    std::coroutine_handle<> frame;
    Sink* sink;
    bool waits;
  };
  std::unordered_map<std::string, InFlight> in_flight_;  ///< by the request's id
  size_t waiting_ = 0;
  uint64_t observed_ = 0;  ///< requests
  Changes held_;           ///< what a congested client has yet to be told
  bool holds_ = false;
  std::optional<BootTime> list_told_;
  Loop::TimerId list_timer_ = 0;
  std::unique_ptr<ChangeFeed::Listening> listening_;
};

}  // namespace cru::mcp
