#pragma once
/// Crew: chats with primary agents, and the subagents they hand work to. Everything said is a row before it
/// is acted on, so a daemon that dies goes on where it was: a thread's entries alone tell what comes next.
/// Files under .crucible/sessions are made from the rows.
#include <map>
#include <memory>
#include <set>

#include "approvals/approvals_service.h"
#include "base/id.h"
#include "base/once.h"
#include "budgets/budgets_service.h"
#include "crew/accounts.h"
#include "crew/chat.h"
#include "crew/external_tools.h"
#include "crew/queue.h"
#include "crew/reflection.h"
#include "crew/spawning.h"
#include "crew/workbench.h"
#include "definitions/registry.h"
#include "inbox/inbox_service.h"
#include "minds/observed_mind.h"
#include "platform/telemetry/span.h"
#include "store/store.h"

namespace cru::crew {

struct Options {
  std::string root;
  int64_t max_concurrent = 1;
  /// Of work that an agent handed to another, not of what a person started; and not while a question waits.
  Duration delegation_timeout = std::chrono::seconds(300);
  size_t result_limit = 51'200;
  /// Model calls in one turn of a primary, or in all of a subagent, unless its definition says less.
  int64_t max_calls = 100;
  int64_t max_queued = 256;  ///< subagents of one chat that wait
  Permissions client_permissions = Permissions::baseline();
  Permissions chat_permissions = Permissions::baseline();  ///< of a chat without a definition
  budgets::Budgets* budgets = nullptr;                     ///< none: nothing is limited
  bool asks_to_resume = false;  ///< a person is asked when a provider's usage limit is over
  /// Keeps a text beyond our own end, in no file; an empty one is forgotten. Absent: nothing does.
  std::function<Task<void>(std::string key, std::string text)> remember = {};
  /// All that is remembered, by its key.
  std::function<Task<std::map<std::string, std::string>>()> recall = {};
  telemetry::Telemetry telemetry = {};
};

struct NewChat {
  std::string agent = {};
  std::string model = {};
  std::string message = {};
  std::string title = {};
  std::vector<std::string> permissions = {};  ///< beyond the definition's; "all" for every one
  budgets::Budget budget = {};
  Account account = {};
  std::string traceparent = {};  ///< of whoever asks
  Once once = {};                ///< a request that may be sent again
};

/// A chat as it is told.
struct ChatView {
  Chat chat = {};
  std::vector<Subagent> subagents = {};
  std::vector<Entry> entries = {};
  bool more = false;
  int64_t queue_depth = 0;
  int64_t last_event = 0;
};
json::object to_json(const ChatView& view);

/// Who asks for a spawn.
struct Spawner {
  enum class Kind { person, run, client };
  Kind kind = Kind::person;
  std::string id = {};    ///< the run's task id, or the client's session
  std::string name = {};  ///< of a client: what it calls itself
  std::string member = {};
  Once once;
};

struct SpawnRequest {
  std::string agent = {};
  std::string task = {};
  std::optional<std::vector<std::string>> permissions = {};  ///< none of its own: all of the parent\'s
  std::string model = {};
  budgets::Budget budget = {};
  Account account = {};
  std::string traceparent = {};  ///< of what asks for it
};

class Crew {
 public:
  Crew(Loop& loop, Store& store, Pool& pool, Random& random, definitions::Registry& registry,
       minds::Minds& minds, Workbench& workbench, ExternalTools& external_tools, inbox::Inbox& inbox,
       approvals::Approvals& approvals, Options options);
  ~Crew();

  /// Finds out which threads `recover` will go on with. They count as at work from here on.
  Task<Result<>> expect();
  /// Goes on with every turn and subagent that an earlier daemon left.
  Task<Result<>> recover();
  /// Whether a chat's turn or a subagent runs, or is about to.
  bool is_at_work(const std::string& thread) const {
    return active_.contains(thread) || expected_.contains(thread) || queue_.has(thread);
  }

  /// Errors: not_found for the agent; invalid_argument; mind_failure("not_configured"), and nothing is
  /// recorded.
  Task<Result<ChatView>> start_chat(NewChat wanted);
  /// The answer comes as events. Errors: not_found; conflict while a turn is running.
  Task<Result<ChatView>> send(std::string chat_id, std::string text, Account account = {}, Once once = {});
  Task<Result<ChatView>> cancel_turn(std::string chat_id);
  Task<Result<ChatView>> end_chat(std::string chat_id);
  Task<Result<ChatView>> view(std::string chat_id, int64_t after, int64_t limit);
  Task<Result<std::vector<ChatView>>> list(std::string status, int64_t limit);
  /// The ids of chats that ended longer ago than `age`, removed unless `dry_run`.
  Task<Result<std::vector<std::string>>> prune(Duration age, bool dry_run);

  /// Errors: not_found ("agent not found"), forbidden (depth, permissions), invalid_argument, overloaded.
  Task<Result<Subagent>> spawn(Spawner spawner, SpawnRequest request);
  /// The subagent once it is over, or as it is when `limit` has passed.
  Task<Result<Subagent>> wait_for(std::string task_id, Duration limit);
  /// The same for the one who asks for its report: if that is the agent that spawned it, and it is over, it
  /// counts as told.
  Task<Result<Subagent>> report_to(Spawner spawner, std::string task_id, Duration limit);
  Task<Result<std::vector<Subagent>>> subagents(std::string chat_id, int64_t limit);
  /// Errors: not_found. One that is over is left as it is.
  Task<Result<Subagent>> cancel(std::string task_id);

  /// A command for the agent whose mind is this run, confined to what the agent may. Errors: forbidden for
  /// any other run and where the agent's definition does not list the tool, and those of the tool.
  Task<Result<std::string>> run_command(std::string run_id, json::object input);
  /// Whether it is to be offered. Errors: forbidden as above.
  Task<Result<>> may_run_command(std::string run_id);
  /// What a run of ours is allowed; nothing for a run that is no thread's mind.
  Task<Result<std::optional<Permissions>>> permissions_of_run(std::string run_id);
  /// The newest subagent of the one who asks, for whoever gave up waiting and never learned its id. Errors:
  /// not_found.
  Task<Result<std::string>> latest_of(Spawner spawner);
  /// Whether this is a chat of the one who asks. A person's are all.
  Task<Result<bool>> is_of(Spawner spawner, std::string chat_id);

  /// What the action of an approval would do with this input, by the agent that asked for it. Errors: those
  /// of the tool's schema and the tool's own.
  Task<Result<approvals::Proposal>> examine(approvals::Approval approval, json::object input);

  /// What a parent gets of it, bounded.
  std::string result_of(const Subagent& subagent) const;
  int64_t queue_position(const std::string& task_id) const { return queue_.position(task_id); }

 private:
  Task<Result<ToolCall>> command_of(std::string run_id, json::object input);
  struct ActiveThread;
  class TimeLimit;
  struct Thread;
  struct SoFar;
  struct Speech;
  using ActiveThreadPtr = std::shared_ptr<ActiveThread>;
  /// Where a spawn belongs: the chat, the thread, and whom it inherits from.
  struct Place {
    Parent parent;
    std::string chat_id;  ///< empty: a chat is to be made
    std::string thread;
    std::string member;  ///< whose spawn it is
    Chat new_chat;
  };

  // crew_service.cc
  Task<Result<Subagent>> queue_spawn(Place place, SpawnRequest request, std::string use, Once once);
  Task<Result<Subagent>> prepare(const Place& place, const SpawnRequest& request, std::string use);
  Task<Result<Place>> place_of(Spawner spawner, std::string task, std::string traceparent);
  Task<std::set<std::string>> taken_folders();
  void pump();
  void stop_subagent(const std::string& task_id, bool timed_out);
  /// `why` is told in the children's files: nobody else asked for their end.
  Task<void> cancel_children(std::string thread, std::string why);
  Task<void> cancel_child(std::string task_id, std::string why);
  Task<Result<Subagent>> cancel_because(std::string task_id, std::string why);

  // chatting.cc
  /// The keeper remembers the account of a chat while something of the chat is at work, and no longer.
  void remember_account(const std::string& chat_id);
  void forget_account_at_rest(const std::string& chat_id);
  Task<void> recall_accounts(std::set<std::string> at_work);
  Task<Result<ChatView>> open_chat(Chat chat, std::string message, budgets::Setting budget, Account account,
                                   Once once);
  Task<Result<ChatView>> take_turn(std::string chat_id, std::string text, Once once);
  Task<Result<ChatView>> carry_on(std::string chat_id, bool has_turn);
  void start_turn(const std::string& chat_id);
  Task<Result<std::vector<std::string>>> remove_chats(Duration age, bool dry_run);

  // running.cc
  Task<void> run_subagent(std::string task_id);
  Task<void> end_of_time(std::string task_id);
  Task<Result<Subagent>> begin_subagent(std::string task_id);
  Task<void> end_subagent(Subagent subagent, Result<std::string> outcome, bool timed_out);
  Task<void> record_end(Subagent subagent, Result<std::string> outcome, bool timed_out);
  Task<void> run_turn(std::string chat_id);
  Task<void> end_turn(std::string chat_id, std::string trace_id, Result<std::string> outcome);

  // thinking.cc
  Task<Result<std::string>> converse(Thread thread, ActiveThreadPtr active);
  Task<Result<>> think(Thread& thread, ActiveThreadPtr active, SoFar so_far);
  /// A program's subagents go on when it gives up waiting for them. Its turn is held open for those whose
  /// reports it has not been given, and goes on with them. Outcomes: whether there were any.
  Task<Result<bool>> bring_reports(Thread& thread, ActiveThreadPtr active, Time since);
  Task<Result<>> record_reply(const Thread& thread, const minds::Choice& choice, minds::Reply reply,
                              Spent wasted, std::string run);
  Task<std::vector<minds::ToolSpec>> tools_for(const Thread& thread);

  // observing.cc
  static minds::SpanOwner owner_of(const Thread& thread);
  /// A reply, told to whoever collects spans and counts. `what` names it among the replies of the thread.
  Task<Result<minds::Reply>> ask_mind(const Thread& thread, const minds::Choice& choice,
                                      minds::Request request, std::string what, minds::Listener& listener,
                                      Stop& stop);
  /// For a question to the thread's mind beside the thread: without tools, abilities and a conversation to go
  /// on with.
  minds::Request request_beside(const Thread& thread, const minds::Choice& choice, std::string system,
                                std::vector<minds::Message> messages) const;
  void count_spent(const minds::Choice& choice, const minds::Usage& usage,
                   std::optional<double> cost_usd) const;
  void tell_use(const Thread& thread, const minds::ToolUse& use, const minds::ToolResult& result,
                Time began) const;
  void tell_wait(const Thread& thread, const approvals::Approval& approval) const;
  void tell_end_of(const Subagent& subagent) const;
  Task<void> tell_turn(Chat as_it_began, Failure failure) const;

  // parking.cc
  /// A reply did not come about. If it can begin again later, that is recorded and nothing has failed: a
  /// provider's usage limit ends at a known time, and a budget can be raised. Errors: else `failure`.
  Task<Result<>> take_failure(Thread& thread, const minds::Choice& choice, std::string run,
                              std::string resume, Error failure);
  /// What waits for somebody else takes neither a place in the line nor its time meanwhile.
  void hold(const std::string& thread, ActiveThread& active, bool is_held);
  /// Until the usage limit is over. Errors: cancelled.
  Task<Result<>> wait_parked(Thread& thread, ActiveThreadPtr active);
  Task<Result<>> ask_to_resume(const Thread& thread, ActiveThreadPtr active);
  Task<void> withdraw_question(std::string id);

  // reflecting.cc
  /// The agent has had its say. Outcomes: its answer, the best of its attempts if it reflects; or nothing,
  /// and another attempt follows.
  Task<Result<std::optional<std::string>>> conclude(Thread& thread, ActiveThreadPtr active,
                                                    std::vector<Entry> entries);
  /// A further attempt has failed: the best of those before. Errors: `failure`, if there is none.
  Task<Result<std::string>> keep_best(Thread thread, std::vector<Entry> entries, Error failure);
  /// What its mind says of its answer; it waits where a reply of its own would.
  Task<Result<minds::Reply>> evaluate(Thread& thread, ActiveThreadPtr active, std::string task,
                                      std::string answer, int64_t attempt, minds::Listener& listener);
  Task<Result<Subagent>> record_iteration(const Thread& thread, Iteration iteration, Verdict verdict,
                                          Spent spent);

  // using_tools.cc
  static Result<> may_use(const Thread& thread, std::string_view name, const json::object& input);
  Task<Result<>> use_tools(const Thread& thread, ActiveThreadPtr active, Entry asked);
  Task<minds::ToolResult> use_tool(const Thread& thread, ActiveThreadPtr active, minds::ToolUse use,
                                   std::string said, bool was_begun);
  /// `approved`: the digest of what a person approved; empty where no approval is needed.
  Task<Result<std::string>> carry_out(const Thread& thread, ActiveThreadPtr active, const minds::ToolUse& use,
                                      std::string approved);
  Task<minds::ToolResult> spawn_result(ActiveThreadPtr active, std::string thread, std::string use_id);
  Task<Result<Subagent>> queue_spawn_of(const Thread& thread, ActiveThreadPtr active, minds::ToolUse use,
                                        std::string said);
  Task<Result<>> queue_spawns(const Thread& thread, ActiveThreadPtr active, const Entry& asked,
                              const std::set<std::string>& answered);

  // approving.cc
  bool is_gated(const Thread& thread, const std::string& name) const;
  /// What a mind that is a program must ask for of its own tools.
  std::vector<std::string> rules_to_ask(const Thread& thread) const;
  Task<Result<approvals::Proposal>> propose(const Thread& thread, std::string name, json::object input);
  approvals::Request request_for(const Thread& thread, const minds::ToolUse& use, std::string said,
                                 approvals::Proposal proposal) const;
  Task<Result<approvals::Approval>> ask_approval(approvals::Request request);
  Task<Result<approvals::Approval>> wait_for_approval(const Thread& thread, ActiveThreadPtr active,
                                                      minds::ToolUse use, std::string said);
  Task<void> explain(const Thread& thread, ActiveThreadPtr active, approvals::Approval approval);
  Task<minds::ToolResult> request_approval(const Thread& thread, ActiveThreadPtr active, minds::ToolUse use);
  Task<minds::ToolResult> refuse_use(const Thread& thread, std::string use_id, Error error);

  // writing_files.cc
  /// Brings the files of a chat up to date in the background; one writer a chat at a time.
  void update_files(const std::string& chat_id);
  Task<void> write_chat_folder(std::string chat_id);
  Task<void> wait_for_files(std::string chat_id);
  Task<void> write_subagent_file(Subagent subagent);
  Task<void> clean_folders(std::vector<Chat> chats);

  ActiveThreadPtr find_active(const std::string& thread);
  void changed();

  Loop& loop_;
  Store& store_;
  Pool& pool_;
  Random& random_;
  definitions::Registry& registry_;
  minds::Minds& minds_;
  Workbench& workbench_;
  ExternalTools& external_tools_;
  inbox::Inbox& inbox_;
  approvals::Approvals& approvals_;
  const Options options_;
  Queue queue_;
  std::map<std::string, ActiveThreadPtr> active_;  ///< by thread, while it runs
  std::set<std::string> expected_;                 ///< threads to go on with, before that is done
  /// What runs of threads were granted when that was last asked: it never changes while they run.
  std::map<std::string, Permissions> granted_;
  Signal changed_;
  uint64_t version_ = 0;  ///< tells a change that came while rows were being read
  struct FileWriter {
    bool dirty = false;
  };
  std::map<std::string, FileWriter> file_writers_;
  Accounts accounts_;
  std::set<std::string> remembered_;  ///< chats whose account the keeper has
  Signal files_written_;
};

}  // namespace cru::crew
