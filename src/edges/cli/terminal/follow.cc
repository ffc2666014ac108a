#include "edges/cli/terminal/follow.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <set>

#include "base/text.h"
#include "edges/cli/core/asking.h"
#include "edges/cli/core/ids.h"
#include "edges/cli/terminal/question_watch.h"
#include "platform/files/readiness.h"
#include "platform/process/signals.h"
#include "platform/terminal/terminal.h"

namespace cru::cli {
namespace {

class Follower {
 public:
  Follower(Context& context, std::string id, const FollowOptions& options)
      : context_(context),
        client_(context.client()),
        id_(std::move(id)),
        options_(options),
        printer_(context, options.print),
        signals_({SIGINT, SIGTERM, SIGHUP}) {
    if (options_.show_questions) watch_ = std::make_unique<QuestionWatch>(context.quiet_client(), id_);
    hear_questions(true);
  }
  ~Follower() { client_.interrupt_on({}); }

  Result<Followed> follow() {
    auto since = options_.since;
    for (;;) {
      auto page = read_page(client_, {.id = id_,
                                      .since = since,
                                      .stream = options_.stream,
                                      .wait = 30s,
                                      .raw = options_.print.raw || options_.json_lines});
      if (!page && !client_.interrupted()) return fail(page.error());
      if (int signal = signals_.take(); signal != 0 && !go_on_after(signal))
        return Followed{.interrupted = true};
      if (watch_ && watch_->take())
        if (!show_questions()) return Followed{.interrupted = true};
      if (!page) continue;
      const auto* lines = array_at(*page, "lines");
      if (lines && !lines->empty()) show(*lines);
      since = std::max(since, int_or(*page, "last_seq", since));
      // Only an empty page after the end is the last: lines may stand between the status and the page.
      bool drained = !bool_or(*page, "more") && (!lines || lines->empty());
      if (drained && has_ended(text_or(*page, "status"))) break;
    }
    printer_.finish();
    client_.interrupt_on({});
    auto run = client_.get(run_path(id_));
    if (!run) return fail(run.error());
    return Followed{.run = std::move(*run), .interrupted = kill_sent_};
  }

 private:
  void show(const json::array& lines) {
    if (options_.json_lines)
      for (const auto& line : lines) context_.print_json(to_text(line));
    else if (!options_.quiet)
      printer_.print(lines);
  }

  /// False to leave. Hang-up and TERM leave the run alone: it is not ours to end with our terminal.
  bool go_on_after(int signal) {
    printer_.finish();
    if (signal != SIGINT || !options_.kill_on_interrupt) return false;
    if (std::exchange(kill_sent_, true)) {
      context_.note(fmt::format("stopped waiting; the run is ending: cru show {}", id_));
      return false;
    }
    context_.note(fmt::format("stopping {}; press Ctrl-C again to return immediately", id_));
    hear_questions(false);
    auto killed = client_.post(run_path(id_) + "/kill", {});
    bool left = client_.interrupted();
    hear_questions(true);
    if (!killed && !left && killed.error().code != Code::not_running) context_.show(killed.error());
    return true;
  }

  /// A question ends a wait for output; it must not end the call that answers another.
  void hear_questions(bool hear) {
    std::vector<int> interrupts{signals_.fd()};
    if (watch_ && hear) interrupts.push_back(watch_->fd());
    client_.interrupt_on(interrupts);
  }

  bool show_questions() {
    hear_questions(false);
    bool go_on = show_pending();
    hear_questions(true);
    return go_on;
  }

  /// What waits for an approval: decided elsewhere, for a person looks at it first. Those who may not see it
  /// see nothing.
  void show_approvals() {
    auto reply = client_.get("/approvals?pending=true&limit=1000");
    const auto* approvals = reply ? array_at(*reply, "approvals") : nullptr;
    for (const auto& value : approvals ? *approvals : json::array()) {
      const auto* approval = value.if_object();
      bool is_ours =
          approval && text_or(*approval, "task_id") == id_ && text_or(*approval, "chat_id").empty();
      if (!is_ours || !shown_.insert(std::string(text_or(*approval, "id"))).second) continue;
      printer_.finish();
      write_out(standard_error, approval_text(*approval, context_.err));
    }
  }

  bool show_pending() {
    show_approvals();
    auto reply = client_.get("/questions?pending=true&task_id=" + percent_encode(id_));
    const auto* questions = reply ? array_at(*reply, "questions") : nullptr;
    if (!questions) return true;
    for (const auto& value : *questions)
      if (value.is_object() && shown_.insert(std::string(text_or(value.get_object(), "id"))).second)
        if (!show_question(value.get_object())) return false;
    return true;
  }

  bool show_question(const json::object& question) {
    printer_.finish();
    std::string id(text_or(question, "id"));
    bool asks_here = options_.answers_here && is_terminal(standard_input);
    bool one_by_one = asks_here && parts_in(question).size() > 1;
    auto text = one_by_one ? fmt::format("{} questions\n", parts_in(question).size()) : asked_text(question);
    write_out(standard_error, fmt::format("{} {}  → cru questions answer {}\n",
                                          context_.err.paint("?", Colour::cyan), text, id));
    return !asks_here || ask_here(id, question);
  }

  /// Reads the answers from the terminal, unless they are given elsewhere first.
  bool ask_here(const std::string& id, const json::object& question) {
    AnswerSheet sheet(question);
    write_out(standard_error, sheet.prompt());
    for (;;) {
      std::array<Awaited, 2> awaited = {{{.fd = standard_input}, {.fd = signals_.fd()}}};
      auto waited = wait_ready(awaited, 1s);
      if (awaited[1].is_readable) {
        write_out(standard_error, "\n");
        int signal = signals_.take();
        return signal == 0 || go_on_after(signal);
      }
      if (waited == Waited::ready) {
        auto typed = read_in(standard_input);
        if (typed.empty()) return true;
        take_lines(sheet, typed);
        if (!sheet.is_complete()) continue;
        auto sent = client_.post(question_path(id) + "/answer", sheet.body());
        if (sent) return true;
        context_.show(sent.error());
        if (sent.error().code != Code::invalid_argument) return true;
        sheet = AnswerSheet(question);
        write_out(standard_error, sheet.prompt());
        continue;
      }
      show_approvals();
      auto now = client_.get(question_path(id));
      if (now && text_or(*now, "status") != "pending") {
        write_out(standard_error,
                  fmt::format("\ncru: the question was {} by another client\n", text_or(*now, "status")));
        return true;
      }
    }
  }

  /// Of a terminal, which gives whole lines: what is typed ahead may be several.
  static void take_lines(AnswerSheet& sheet, std::string_view typed) {
    while (!typed.empty() && !sheet.is_complete()) {
      auto line = typed.substr(0, typed.find('\n'));
      typed.remove_prefix(std::min(typed.size(), line.size() + 1));
      write_out(standard_error, sheet.take(line));
      if (!sheet.is_complete()) write_out(standard_error, sheet.prompt());
    }
  }

  Context& context_;
  Client& client_;
  std::string id_;
  FollowOptions options_;
  OutputPrinter printer_;
  Signals signals_;
  std::unique_ptr<QuestionWatch> watch_;
  std::set<std::string> shown_;
  bool kill_sent_ = false;
};

}  // namespace

Result<Followed> follow(Context& context, const std::string& id, const FollowOptions& options) {
  return Follower(context, id, options).follow();
}

int report_end(const Context& context, const json::object& run) {
  auto status = text_or(run, "status");
  if (status == "completed") {
    if (bool_or(run, "left_behind"))
      context.note(fmt::format("{}: {}", text_or(run, "task_id"), text_or(run, "error_detail")));
    return 0;
  }
  std::string why(text_or(run, "error"));
  if (auto detail = text_or(run, "error_detail"); !detail.empty()) why += fmt::format(" ({})", detail);
  if (why.empty() && int_or(run, "signal") > 0) why = fmt::format("signal {}", int_or(run, "signal"));
  if (why.empty() && run.contains("exit_code"))
    why = fmt::format("exit code {}", int_or(run, "exit_code", -1));
  context.note(fmt::format("{} {}: {}", text_or(run, "task_id"), status, why));
  return exit_run_failed;
}

}  // namespace cru::cli
