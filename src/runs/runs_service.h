#pragma once
/// Runs: starts, follows, stops and takes back the processes of agents. Their
/// output is read from its file, never kept here.
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/id.h"
#include "base/once.h"
#include "budgets/budget.h"
#include "inbox/inbox_service.h"
#include "platform/loop/loop.h"
#include "platform/telemetry/span.h"
#include "runs/adapters/adapter.h"
#include "runs/confinement.h"
#include "runs/jails.h"
#include "runs/keeper.h"
#include "runs/output.h"
#include "runs/recovery.h"
#include "runs/run.h"
#include "runs/run_table.h"
#include "runs/worktree.h"
#include "store/store.h"

namespace cru::runs {

/// Commands by name, for `--backend NAME`, beyond the built-in ones.
using Backends = std::map<std::string, std::vector<std::string>>;

struct Options {
  std::string root;
  Duration kill_grace = 10s;
  int64_t output_limit = int64_t(2) << 30;
  int64_t min_free_disk = int64_t(256) << 20;
  Backends backends;  ///< until they are set anew
  /// What every run inherits; the allow-listed part of our own environment.
  std::map<std::string, std::string> environment;
  std::string program = {};  ///< of cru, for runs that are confined
  /// Looks whether a program can be executed before anything is recorded. Absent in the simulator.
  bool check_program = true;
  bool confines = false;   ///< `confine` is not off
  Jails* jails = nullptr;  ///< none: nothing can be jailed
  telemetry::SpanSink* spans = nullptr;
};

/// Keeps the reply to a request in the transaction in which its run is running: there is no commit for the
/// reply alone, and no moment at which one is there without the other.
using KeepReply = std::function<void(Tx& tx, const Run& running)>;

struct StartRequest {
  std::string id;  ///< empty: made up from the command
  std::vector<std::string> argv;
  std::string backend;
  std::string task;
  std::string cwd;
  std::map<std::string, std::string> env;
  bool worktree = false;
  bool pty = false;
  std::optional<bool> has_stdin;
  int64_t rows = 24, cols = 80;
  std::string traceparent;
  std::string member = {};                      ///< whose run it is; empty: a member of its own
  std::string parent = {};                      ///< the member that starts it; empty: a person
  std::string within = {};                      ///< the run that starts it, by task id; empty: none
  std::string token = {};                       ///< made by start: what its processes show at the doors
  std::optional<Confinement> confinement = {};  ///< none: it may do what the user may
  std::optional<JailRights> jail = {};          ///< the same, of an agent that is a program
  bool is_by_confined = false;                  ///< its starter names no place of its jail
  std::optional<Launch> recorded = {};          ///< of a run that is started again: no backend is asked
  budgets::Budget budget = {};                  ///< of this run and all that it starts
  bool is_budget_of_person = false;             ///< else it can only narrow what there is
  bool is_anew = false;                         ///< by a person: what a run of that id spent before is past
  std::string share = {};                       ///< a further scope that it draws from: "team:NAME"
  Once once = {};                               ///< a request that may be sent again, claimed with the record
  KeepReply keep_reply = {};                    ///< of that request
};

/// What a run that is started again gets anew: no record keeps an environment.
struct RestartRequest {
  std::map<std::string, std::string> env;
  std::optional<Duration> grace = {};  ///< between TERM and KILL, where it is active
  int64_t rows = 24, cols = 80;
  std::string traceparent = {};
  std::string parent = {};
  std::string within = {};
  Once once = {};  ///< a request that may be sent again
  KeepReply keep_reply = {};
};

/// What to start for the same command as `run`, in the same folder; an agent is confined, whatever it was.
/// Errors: forbidden for a command that ran on an agent's word: the record does not have its limits.
Result<StartRequest> to_start_again(const Run& run);

struct OutputQuery {
  int64_t since = 0;
  int64_t limit = 1000;
  std::string stream;
  std::optional<int64_t> tail;
  Duration wait{0};
};

struct OutputPage {
  std::vector<std::string> lines;  ///< records as JSON text
  int64_t last_seq = 0;
  bool more = false;
  int64_t damaged = 0;
  int64_t missing = 0;  ///< lines after these that the record tells of and the file does not have
  Status status = Status::running;
};

/// Whether a program of this backend can be told to end its turn, and to begin another.
bool can_be_interrupted(std::string_view backend);

class Runs {
 public:
  Runs(Loop& loop, Store& store, inbox::Inbox& inbox, Keeper& keeper, Output& output, Worktrees& worktrees,
       Random& random, Options options);
  ~Runs();

  /// Takes back what an earlier daemon left. Before anything else is asked.
  Task<Result<>> recover();

  /// Outcomes: the running run; invalid_argument; cannot_execute, and nothing is recorded;
  /// conflict (a run with this id is active); keeper_unavailable. A repeated request gets the run that the
  /// first one has started, as it is now; cannot_execute if that one had come to nothing.
  Task<Result<Run>> start(StartRequest request);
  Task<Result<Run>> find(std::string task_id);
  /// The run once it has ended, or as it is when `limit` has passed.
  Task<Result<Run>> wait_for_end(std::string task_id, Duration limit);
  Task<Result<std::vector<Run>>> list(ListQuery query);
  /// Records the intent, then signals. Where the store takes nothing (a full disk), it signals all the same
  /// and records the intent with the end. Errors: not_found, not_running.
  Task<Result<Run>> kill(std::string task_id, std::optional<Duration> grace, std::string error = {},
                         std::string detail = {});
  /// Stops the run if it is active, and starts its command again under the same id. Errors: those of `start`;
  /// not_found; timed_out when it does not end; forbidden, see to_start_again. A repeated request gets the
  /// run that the first one has started, and stops nothing.
  Task<Result<Run>> restart(std::string task_id, RestartRequest asked);
  /// Removes the record, the questions and the output of a run that has ended. Returns what it was.
  /// Errors: not_found; conflict while it is active. A repeated request has succeeded if the first one had.
  Task<Result<Run>> remove(std::string task_id, Once once = {});

  /// What the keeper keeps for us in memory, beyond our own end.
  Task<void> remember(std::string key, std::string text) {
    return keeper_.remember(std::move(key), std::move(text));
  }
  Task<std::map<std::string, std::string>> recall() { return keeper_.recall(); }

  Task<Result<OutputPage>> read_output(std::string task_id, OutputQuery query);
  /// Errors: not_found; not_running; conflict when standard input is closed. What was delivered by an earlier
  /// request with the same key is not sent again, and has succeeded although the run may have ended since.
  Task<Result<>> send(std::string task_id, std::string bytes, bool eof, Once once = {});
  Task<Result<>> resize(std::string task_id, int64_t rows, int64_t cols);

  // Of a program that is talked to, by its uid; each key is delivered once. Errors: not_running; the
  // keeper's.
  /// It ends its turn.
  Task<Result<>> interrupt(std::string uid, std::string key);
  /// It begins another with these words.
  Task<Result<>> go_on(std::string uid, std::string key, std::string words);
  /// After its last turn: then it ends.
  Task<void> close_input(std::string uid);
  /// Those for which this is true have their input closed by whoever set it, and not after a turn.
  void set_input_keeper(std::function<bool(const std::string& uid)> keeps) {
    keeps_input_ = std::move(keeps);
  }
  /// What holds up its next turn, for people; empty: nothing.
  void set_parked(const std::string& uid, std::string why);

  /// Asks for a run that is active; the same `key` asks once, an empty one each time anew.
  /// Errors: not_found, not_running.
  Task<Result<inbox::Question>> ask(std::string key, std::string task_id, std::string prompt,
                                    std::vector<std::string> options);
  /// The same, and waits for the answer, which needs no delivery. Errors: also not_running, if the run ends.
  Task<Result<std::string>> ask_and_wait(std::string key, std::string task_id, std::string prompt,
                                         std::vector<std::string> options);
  /// Records the answer, then delivers it: the reply says whether the agent has it.
  Task<Result<inbox::Question>> answer(std::string question_id, std::vector<std::string> texts,
                                       inbox::FreeText free_text = inbox::FreeText::allowed);
  /// Delivers an answer that was recorded by whoever decides.
  Task<void> hand_over(inbox::Question answered);
  /// Asked before an answer of an earlier daemon's is delivered that did not reach the keeper: the question
  /// with the answer that it is to have now.
  using LookAgain = std::function<Task<Result<inbox::Question>>(inbox::Question answered)>;
  void set_look_again(LookAgain look_again) { look_again_ = std::move(look_again); }
  /// The oldest question that the run has open. Errors: not_found when there is none.
  Task<Result<inbox::Question>> first_question(std::string task_id);

  /// Looks whether the files of runs that have ended have all the lines that their records tell of, and tells
  /// the trouble where they do not. Of the newest 1,000 runs.
  Task<void> check_outputs();
  /// The data of an `agent.output` event with its lines.
  Task<std::string> expand_output(Event event);
  /// The task id of an active run's uid; empty if there is none.
  std::string task_of(const std::string& uid) const;
  /// The context that its processes were given; empty if it has ended.
  std::string traceparent_of(const std::string& uid) const;
  /// Whose run this execution is; empty if it has ended.
  std::string member_of(const std::string& uid) const;
  /// The active run whose token has this SHA-256; empty if there is none.
  std::string uid_of_token(const std::string& hash) const;
  /// The active run whose main process this is; empty if it is none's.
  std::string uid_of_process(int64_t pid, int64_t start_time) const;
  /// The main process of an active run. Waits a moment for one that is being started: its first words may
  /// come before the keeper's reply. Empty if there is no such run.
  Task<std::optional<ProcessIdentity>> process_of(std::string uid);
  /// Task ids whose files are being removed: they cannot be started meanwhile. Shared with the retention.
  std::set<std::string>& purging() { return purging_; }
  /// Whether agents that are programs are confined here.
  bool confines() const { return options_.confines; }
  /// For runs that are started from now on.
  void set_backends(Backends backends) { backends_ = std::move(backends); }
  /// Where the daemon is reached over TCP.
  void set_url(std::string url) { url_ = std::move(url); }
  /// The same, if that is the only way for a confined run here: it may have no unix socket. Else empty.
  Task<std::string> url_for_confined();
  bool is_running(const std::string& task_id) const { return find_active(task_id) != nullptr; }
  /// Whether this active run is a command that runs confined, on an agent's word.
  bool is_confined(const std::string& task_id) const;
  /// Active runs whose output the keeper cannot write, by task id, and why: "the disk is full".
  std::map<std::string, std::string> waiting() const;
  /// Whether a run of this member is active.
  bool has_run_of(const std::string& member) const;
  /// Called when a run has started that is nobody's mind.
  void when_started(std::function<void(const Run&)> started) { started_ = std::move(started); }
  /// Called after the end of a run is recorded.
  void when_ended(std::function<void(const Run&)> ended) { ended_ = std::move(ended); }
  int64_t active_count() const { return static_cast<int64_t>(active_.size()); }

 private:
  struct ActiveRun;
  using ActiveRunPtr = std::shared_ptr<ActiveRun>;

  // start.cc
  Result<Launch> prepare(StartRequest& request) const;
  Task<Result<std::string>> make_up_id(std::string command);
  Task<Result<std::optional<Run>>> find_started(Once once);
  Task<Result<Run>> record_start(StartRequest request, Launch launch);
  std::vector<std::string> confined(const Run& run, const Confinement& confinement) const;
  StartSpec to_spec(const Run& run, const StartRequest& request, std::string mark) const;
  Task<Result<>> build_jail(StartSpec& spec, const Run& run, const StartRequest& request);
  Task<Result<>> send_first_input(const ActiveRunPtr& active, const Run& run);
  Task<void> fail_start(ActiveRunPtr active, Error error);
  Task<Result<Run>> launch(Run run, StartRequest request);

  // again.cc
  Task<Result<Run>> end_first(std::string task_id, Duration grace);

  // runs_service.cc
  Task<Result<Run>> apply(std::string task_id, std::string uid, Input input,
                          std::vector<inbox::Question> asked = {}, KeepReply keep_reply = {});
  Task<void> perform(std::string uid, Effect effect);
  void tell_span(const Run& run);
  ActiveRunPtr find_active(const std::string& task_id) const;
  void note_pause(const std::string& uid, const std::string& reason);
  void tell_waiting() const;
  Task<void> emit_waiting(std::string task_id, std::string why);
  Task<Result<std::pair<Run, ActiveRunPtr>>> find_running(std::string task_id);

  // following.cc
  ActiveRunPtr follow(const Run& run);
  void unfollow(const ActiveRunPtr& active);
  void note_process(const ActiveRunPtr& active, const ProcessIdentity& process);
  void note_growth(const Growth& growth);
  void note_end(const ActiveRunPtr& active, Input end);
  void wake_pump(const ActiveRunPtr& active);
  Task<void> pump(ActiveRunPtr active);
  Task<bool> tell_growth(const ActiveRunPtr& active);
  Task<Report> read_report(ActiveRunPtr active);
  Task<Result<Run>> record_end(ActiveRunPtr active);
  Task<void> close_stdin(const ActiveRunPtr& active);
  /// What a search for questions found, and up to where it saw whole lines.
  struct Scan {
    std::vector<inbox::Question> asked;
    int64_t scanned_seq;
  };
  Task<Result<Scan>> find_questions(const ActiveRunPtr& active, int64_t to);
  Task<void> read_line(const ActiveRunPtr& active, int64_t seq, const std::string& line,
                       std::vector<inbox::Question>& asked);
  void mark_recorded(const ActiveRunPtr& active);

  // reattaching.cc
  Task<Result<>> take_back(ActiveRunPtr active, Run run, const KeptRun* kept, Facts facts);
  Task<void> wait_for_ends();
  Run to_adopted_run(const KeptRun& kept) const;
  Task<Result<>> adopt(KeptRun kept);
  Task<void> end_lost(std::map<std::string, ActiveRunPtr> gone, std::map<std::string, KeptRun> records);
  Task<void> keeper_lost();

  // reading.cc
  Task<bool> has_line(std::string file, int64_t seq);
  Task<int64_t> count_missing(Run run);

  // delivering.cc
  Task<Result<inbox::Question>> deliver(inbox::Question question);
  Task<void> write_answer(inbox::Question question);
  Task<void> confirm_deliveries(std::string uid, std::vector<std::string> delivered);
  Task<void> deliver_again();
  Task<void> deliver_late(inbox::Question question);

  Loop& loop_;
  Store& store_;
  inbox::Inbox& inbox_;
  Keeper& keeper_;
  Output& output_;
  Worktrees& worktrees_;
  Random& random_;
  const Options options_;
  Backends backends_;
  std::string url_;
  std::map<std::string, ActiveRunPtr> active_;  ///< by uid
  std::set<std::string> purging_;
  std::function<bool(const std::string& uid)> keeps_input_;
  std::function<void(const Run&)> started_;
  std::function<void(const Run&)> ended_;
  LookAgain look_again_;
};

/// True if a record of the output log is of this stream. Looks at the text: parsing every line would cost
/// more.
bool is_of_stream(std::string_view record, std::string_view stream);

/// The id of a question found in a run's output: the same each time it is found.
std::string question_id(std::string_view uid, std::string_view key);

}  // namespace cru::runs
