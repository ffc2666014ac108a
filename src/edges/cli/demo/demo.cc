#include "edges/cli/demo/demo.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <filesystem>

#include "base/text.h"
#include "edges/cli/core/context.h"
#include "edges/cli/core/ids.h"
#include "edges/cli/core/page_url.h"
#include "edges/cli/core/trusting.h"
#include "edges/cli/demo/demo_cast.h"
#include "edges/cli/demo/demo_chat.h"
#include "edges/cli/demo/demo_live.h"
#include "edges/cli/terminal/output.h"
#include "platform/files/files.h"
#include "platform/files/pid_file.h"
#include "platform/files/readiness.h"
#include "platform/loop/clock.h"
#include "platform/process/process_exit.h"
#include "platform/process/self.h"
#include "platform/process/signals.h"
#include "platform/terminal/terminal.h"

namespace cru::cli {
namespace {

constexpr Duration kill_after = 2500ms, away_for = 1500ms, answer_after = 3s;

struct Actor : Role {
  explicit Actor(Role role) : Role(std::move(role)) {}
  int64_t seen = 0;      ///< lines shown so far
  int64_t gaps = 0;      ///< sequence numbers that were missing or repeated
  int64_t numbered = 0;  ///< the last number that the script itself printed
  std::string status = "starting";
};

/// A throw-away project that takes its processes with it.
class Stage {
 public:
  Stage() {
    std::error_code error;
    if (auto folder = make_temporary_folder("cru-demo-"))
      project.root = std::filesystem::canonical(*folder, error).string();
  }
  ~Stage() {
    if (project.root.empty()) return;
    Client::Options options;
    options.may_start = false;
    options.check_version = false;
    Client client(project, std::move(options));
    auto active = client.get("/agents?status=active", 5s);
    if (const auto* runs = active ? array_at(*active, "agents") : nullptr)
      for (const auto& run : *runs) {
        auto path = run_path(std::string(text_or(run.as_object(), "task_id")));
        (void)client.post(path + "/kill", {{"grace_seconds", 0}}, 5s);
        (void)client.get(path + "?wait_seconds=5", 10s);
      }
    (void)client.post("/trust/revoke", {}, 5s);
    (void)client.stop(5s);
    auto keeper =
        client::ask_keeper(project, {{"op", "hello"}, {"id", 1}, {"role", "cli"}, {"version", CRU_VERSION}});
    (void)client::ask_keeper(project, {{"op", "stop"}, {"id", 2}});
    if (keeper && int_or(*keeper, "pid") > 0) wait_for_end(static_cast<int>(int_or(*keeper, "pid")), 8s);
    std::error_code error;
    std::filesystem::remove_all(project.root, error);
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  api::Project project;
};

class Demo {
 public:
  Demo(Context& context, bool once, double speed)
      : context_(context), once_(once), speed_(speed), signals_({SIGINT, SIGTERM, SIGHUP}) {
    for (auto& role : demo_cast(speed)) actors_.emplace_back(std::move(role));
  }

  Result<int> play() {
    if (auto started = raise_curtain(); !started) return fail(started.error());
    auto begun = now();
    bool killed = false;
    while (!all_ended() || !chat_seen_.is_over || (!is_visitor_there() && approved_.outcome.empty())) {
      if (auto shown = show_output(); !shown) return fail(shown.error());
      if (!killed && now() - begun > paced(kill_after)) {
        killed = true;
        if (auto survived = kill_daemon(); !survived) return fail(survived.error());
      }
      if (auto asked = settle_question(); !asked) return fail(asked.error());
      if (auto settled = settle_approval(); !settled) return fail(settled.error());
      if (auto told = follow_chat(); !told) return fail(told.error());
      if (interrupted(120ms)) return exit_interrupted;
    }
    return close();
  }

 private:
  Duration paced(Duration pause) const {
    return Duration(static_cast<Duration::rep>(static_cast<double>(pause.count()) / speed_));
  }
  static BootTime now() { return system_clock().boot(); }
  void say(std::string_view text) const {
    if (!context_.json) context_.print(fmt::format("{}\n", context_.out.paint(text, Colour::bold)));
  }
  bool interrupted(Duration wait) { return wait_readable(signals_.fd(), wait); }
  bool all_ended() const {
    return std::ranges::all_of(actors_, [](const Actor& actor) { return has_ended(actor.status); });
  }

  Result<> raise_curtain() {
    auto self = own_executable();
    say(fmt::format("Temporary project: {}", context_.project.root));
    if (auto prepared = prepare_demo_chat(context_.project.root, speed_); !prepared) return prepared;
    // We have just written it ourselves; the folder is removed with it, and so is the record.
    if (auto trusted = trust_all(context_.client(), false); !trusted) return fail(trusted.error());
    for (auto& actor : actors_) {
      json::object environment{{"PATH", api::own_environment("PATH").value_or("/usr/bin:/bin")}};
      if (!actor.capabilities.empty()) environment["AGENT_CAPABILITIES"] = actor.capabilities;
      json::object body{{"argv", {"/bin/sh", "-c", actor.script, self}},
                        {"cwd", context_.project.root},
                        {"env", std::move(environment)}};
      auto run = context_.client().post("/tasks/" + actor.id + "/start", body);
      if (!run) return fail(run.error());
    }
    auto chat = begin_demo_chat(context_.client());
    if (!chat) return fail(chat.error());
    chat_ = *std::move(chat);
    if (auto editor = begin_demo_approval(context_.client()); !editor) return fail(editor.error());
    if (auto alive = begin_demo_lives(context_.client()); !alive) return alive;
    auto url = page_url(context_);
    if (!url) return fail(url.error());
    say(fmt::format("{} agents are working; see the board, the locks and the handoffs at {}", actors_.size(),
                    *url));
    say(fmt::format("{} live agents act autonomously in the world (key 5)\n", demo_lives));
    return {};
  }

  Result<> show_output() {
    for (auto& actor : actors_) {
      auto page = read_page(context_.client(), {.id = actor.id, .since = actor.seen});
      if (!page) return fail(page.error());
      if (const auto* lines = array_at(*page, "lines"))
        for (const auto& line : *lines)
          if (line.is_object()) show_line(actor, line.get_object());
      const auto* lines = array_at(*page, "lines");
      if (!lines || lines->empty()) actor.status = text_or(*page, "status");
    }
    return {};
  }

  void show_line(Actor& actor, const json::object& line) {
    auto seq = int_or(line, "seq");
    if (seq != actor.seen + 1) ++actor.gaps;
    actor.seen = seq;
    auto text = text_or(line, "data");
    int64_t number = 0;
    if (text.starts_with("line ")) {
      std::from_chars(text.data() + 5, text.data() + text.size(), number);
      if (number != actor.numbered + 1) ++actor.gaps;
      actor.numbered = number;
    }
    if (!context_.json)
      context_.print(fmt::format("{} {}\n",
                                 context_.out.paint(fmt::format("{:>8} │", actor.id), actor.colour),
                                 safe_for_terminal(text)));
  }

  /// Lines in the output files, counted without any daemon.
  int64_t written() const {
    int64_t count = 0;
    for (const auto& actor : actors_)
      if (auto text = read_file(context_.project.output_folder() + "/" + actor.id + ".jsonl"))
        count += std::ranges::count(*text, '\n');
    return count;
  }

  Result<> kill_daemon() {
    auto holder = server_of(context_.project.root, "covend");
    int pid = holder ? holder->pid : 0;
    // Only ever the process that answers on our own socket.
    if (pid <= 1 || pid != context_.client().daemon_pid()) return {};
    say(fmt::format("\n✂ kill -9 {}: the daemon was killed. The runs continue without it …", pid));
    auto before = written();
    auto killed = now();
    kill_process(pid);
    wait_for_end(pid, 5s);
    // Whoever needs the daemon starts it: the run that waits for an answer has the keeper do so, else we do.
    auto probe = context_.quiet_client();
    bool back = false;
    while (!back && now() - killed < paced(away_for) && !interrupted(5ms))
      back = static_cast<bool>(probe.connect());
    if (!back)
      if (auto started = context_.client().connect(); !started) return started;
    auto after = now() - killed;
    auto meanwhile = written() - before;
    auto active = context_.client().get("/agents?status=active");
    if (!active) return fail(active.error());
    const auto* runs = array_at(*active, "agents");
    say(fmt::format("↻ After {} a new daemon (pid {}) was running, started {}.", format_duration(after),
                    context_.client().daemon_pid(),
                    back ? "by the keeper for the waiting run" : "by this command"));
    say(fmt::format("  It reattached to {} active runs; {} lines were written in the meantime.\n",
                    runs ? runs->size() : 0, meanwhile));
    return {};
  }

  Result<> settle_question() {
    auto reply = context_.client().get("/questions?pending=true");
    if (!reply) return fail(reply.error());
    const auto* pending = array_at(*reply, "questions");
    if (!pending || pending->empty()) return {};
    const auto& question = pending->front().as_object();
    std::string id(text_or(question, "id"));
    if (question_ != id) {
      question_ = id;
      asked_ = now();
      say(fmt::format("\n? {} asks: {}", text_or(question, "task_id"),
                      safe_for_terminal(text_or(question, "prompt"))));
      say(is_terminal(standard_input) ? "  type yes or no, or answer on the web page:\n"
                                      : "  there is no terminal; the demo will answer shortly\n");
    }
    auto waiting =
        std::ranges::count_if(actors_, [](const Actor& actor) { return !has_ended(actor.status); });
    if (waiting == 1 && !reminded_ && is_terminal(standard_input)) {
      reminded_ = true;  // the question has scrolled away, and nothing else is going on
      say(fmt::format("\n? {} is still waiting: {}  (yes or no)", text_or(question, "task_id"),
                      safe_for_terminal(text_or(question, "prompt"))));
    }
    std::string answer;
    if (is_terminal(standard_input) && wait_readable(standard_input, 0ms)) {
      answer = read_in(standard_input, 256);
      while (answer.ends_with('\n')) answer.pop_back();
    } else if (!is_terminal(standard_input) && now() - asked_ > paced(answer_after)) {
      answer = "yes";
    }
    if (answer.empty()) return {};
    auto answered = context_.client().post(question_path(id) + "/answer", {{"answer", answer}});
    if (!answered && answered.error().code != Code::already_answered) return fail(answered.error());
    return {};
  }

  /// Whoever looks at the page decides for himself; in a show without a visitor the demo does.
  bool is_visitor_there() const { return !once_ && is_terminal(standard_input); }

  Result<> settle_approval() {
    if (!approved_.outcome.empty()) return {};
    auto seen = look_at_demo_approval(context_.client());
    if (!seen) return fail(seen.error());
    if (approved_.id.empty() && !seen->id.empty()) {
      waits_since_ = now();
      say(fmt::format("\n⚑ editor needs your approval {} to {}", seen->id, safe_for_terminal(seen->what)));
      say(is_visitor_there() ? "  look at the change and decide in the inbox of the web page\n"
                             : "  the demo will approve it shortly\n");
    }
    approved_ = *std::move(seen);
    if (!approved_.outcome.empty())
      say(fmt::format("\n⚑ {}: {}\n", approved_.id, safe_for_terminal(approved_.outcome)));
    bool is_due = !approved_.id.empty() && now() - waits_since_ > paced(answer_after);
    if (!approved_.outcome.empty() || is_visitor_there() || !is_due) return {};
    auto given = context_.client().post("/approvals/" + approved_.id + "/approve", {});
    if (!given && given.error().code != Code::conflict) return fail(given.error());
    return {};
  }

  /// The chat's progress, in a line each.
  Result<> follow_chat() {
    if (chat_seen_.is_over) return {};
    auto seen = look_at_demo_chat(context_.client(), chat_);
    if (!seen) return fail(seen.error());
    if (seen->subagents > chat_seen_.subagents)
      say(fmt::format("\n→ {} of 2 subagents of the chat have finished\n", seen->subagents));
    if (seen->is_over)
      say(fmt::format("\n✎ the chat's answer: {}\n  {}/session.md\n", safe_for_terminal(seen->answer),
                      seen->folder));
    chat_seen_ = *std::move(seen);
    return {};
  }

  /// What the agents left behind: no lock, and every piece of work ended.
  struct Shared {
    size_t locks = 0, open_work = 0, ended_work = 0, handoffs = 0;
  };
  Result<Shared> count_shared() {
    auto count = [&](const std::string& path, std::string_view list) -> Result<size_t> {
      auto reply = context_.client().get(path);
      if (!reply) return fail(reply.error());
      const auto* items = array_at(*reply, list);
      return items ? items->size() : 0;
    };
    auto locks = count("/locks", "result"), open = count("/work?status=open", "work");
    auto all = count("/work", "work"), handoffs = count("/handoffs?limit=100", "handoffs");
    for (const auto* counted : {&locks, &open, &all, &handoffs})
      if (!*counted) return fail(counted->error());
    return Shared{*locks, *open, *all - *open, *handoffs};
  }

  Result<int> close() {
    bool whole = true;
    json::array rows;
    for (const auto& actor : actors_) {
      bool counted_all = actor.id != "counter" || actor.numbered == counted_lines;
      whole = whole && actor.gaps == 0 && counted_all && actor.status == "completed";
      rows.push_back({{"task_id", actor.id},
                      {"status", actor.status},
                      {"last_seq", actor.seen},
                      {"missing", actor.gaps}});
    }
    auto shared = count_shared();
    if (!shared) return fail(shared.error());
    auto lives = look_at_demo_lives(context_.client());
    if (!lives) return fail(lives.error());
    whole = whole && shared->locks == 0 && shared->open_work == 0 && chat_seen_.is_whole &&
            lives->here == demo_lives && lives->thoughts > 0;
    auto url = page_url(context_);
    if (!url) return fail(url.error());
    if (context_.json) {
      context_.print_json(to_text(json::object{{"lost_nothing", whole},
                                               {"runs", rows},
                                               {"locks_left", shared->locks},
                                               {"work_ended", shared->ended_work},
                                               {"work_open", shared->open_work},
                                               {"handoffs", shared->handoffs},
                                               {"chat", chat_seen_.folder},
                                               {"subagents", chat_seen_.subagents},
                                               {"approval", approved_.outcome},
                                               {"live_agents", lives->here},
                                               {"url", *url}}));
    } else {
      constexpr std::array<std::string_view, 4> columns = {"task_id", "status", "last_seq", "missing"};
      context_.print("\n" + table(columns, rows, context_.out));
      say(whole ? "✓ Nothing was lost: every line was recorded once and in order."
                : "✗ Lines are missing or duplicated.");
      say(fmt::format("  {} work items finished, {} open; {} handoffs; {} locks still held.",
                      shared->ended_work, shared->open_work, shared->handoffs, shared->locks));
      context_.print(fmt::format("\nWeb page: {}\n", *url));
    }
    if (!whole || once_) return whole ? 0 : 1;
    if (auto talking = begin_demo_conversation(context_.client()); !talking) return fail(talking.error());
    say("Two more live agents now talk to each other about code review: see the World view (key 5).");
    context_.note("serving the web page until Ctrl-C");
    while (!interrupted(1min)) {
    }
    return 0;
  }

  Context& context_;
  bool once_;
  double speed_;
  Signals signals_;
  std::string chat_;
  DemoChat chat_seen_;
  DemoApproval approved_;
  BootTime waits_since_{};
  std::string question_;
  BootTime asked_{};
  bool reminded_ = false;
  std::vector<Actor> actors_;
};

}  // namespace

Result<int> run_demo(Context& context, bool once, double speed) {
  Stage stage;
  if (stage.project.root.empty()) return fail(Code::internal, "cannot create a temporary folder");
  context.project = stage.project;
  // The demo is its own project's person, whoever started it and wherever.
  set_environment("CRU_HOST_TOP", std::to_string(own_pid()), false);
  set_environment("CRU_START_HERE", "1");
  auto outcome = Demo(context, once, speed).play();
  if (!once && outcome && *outcome == 0) context.note("cleaning up");
  return outcome;
}

}  // namespace cru::cli
