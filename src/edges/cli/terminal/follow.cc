#include "edges/cli/terminal/follow.h"

#include <fmt/format.h>

#include <memory>

#include "base/text.h"
#include "edges/cli/core/ids.h"
#include "edges/cli/terminal/inbox_prompt.h"
#include "platform/process/signals.h"

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
    if (options_.show_questions)
      inbox_ = std::make_unique<InboxPrompt>(
          context_, signals_, InboxOf{.run = id_},
          InboxPrompt::Options{.asks_here = options_.answers_here,
                               .before = [this] { printer_.finish(); },
                               .signal = [this](int signal) { return go_on_after(signal); }});
    hear_questions(true);
  }
  ~Follower() { client_.interrupt_on({}); }

  Result<Followed> follow() {
    auto since = options_.since;
    std::optional<json::object> run;
    for (;;) {
      auto page = read_page(client_, {.id = id_,
                                      .since = since,
                                      .stream = options_.stream,
                                      .wait = 30s,
                                      .raw = options_.print.raw || options_.json_lines,
                                      .with_run = asks_for_run_});
      // A daemon of an earlier version, which runs as long as there are runs, knows no such field.
      if (!page && page.error().field == "with_run" && std::exchange(asks_for_run_, false)) continue;
      if (!page && !client_.interrupted()) return fail(page.error());
      if (int signal = signals_.take(); signal != 0 && !go_on_after(signal))
        return Followed{.interrupted = true};
      if (inbox_ && inbox_->take())
        if (!show_inbox()) return Followed{.interrupted = true};
      if (!page) continue;
      const auto* lines = array_at(*page, "lines");
      if (lines && !lines->empty()) show(*lines);
      since = std::max(since, int_or(*page, "last_seq", since));
      // Only an empty page after the end is the last: lines may stand between the status and the page.
      bool drained = !bool_or(*page, "more") && (!lines || lines->empty());
      if (!drained || !has_ended(text_or(*page, "status"))) continue;
      if (const auto* record = object_at(*page, "run")) run = *record;
      break;
    }
    printer_.finish();
    client_.interrupt_on({});
    if (!run) {
      auto record = client_.get(run_path(id_));
      if (!record) return fail(record.error());
      run = std::move(*record);
    }
    return Followed{.run = std::move(run), .interrupted = kill_sent_};
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
    if (inbox_ && hear) interrupts.push_back(inbox_->fd());
    client_.interrupt_on(interrupts);
  }

  bool show_inbox() {
    hear_questions(false);
    show_wait();
    bool go_on = inbox_->show_pending();
    hear_questions(true);
    return go_on;
  }

  /// A usage limit, or anything else that holds it up and is no question.
  void show_wait() {
    auto run = client_.get(run_path(id_));
    std::string why(run && !has_ended(text_or(*run, "status")) ? text_or(*run, "waits_for") : "");
    if (std::exchange(waits_for_, why) == why || why.empty()) return;
    printer_.finish();
    write_out(standard_error,
              fmt::format("{} waits: {}\n", context_.err.paint("⏸", Colour::yellow), safe_for_terminal(why)));
  }

  Context& context_;
  bool asks_for_run_ = true;  ///< with the last page
  Client& client_;
  std::string id_;
  FollowOptions options_;
  OutputPrinter printer_;
  Signals signals_;
  std::unique_ptr<InboxPrompt> inbox_;
  bool kill_sent_ = false;
  std::string waits_for_;  ///< as shown
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
  if (why.empty() && int_or(run, "signal") > 0) why = fmt::format("signal {}", int_or(run, "signal"));
  if (why.empty() && run.contains("exit_code"))
    why = fmt::format("exit code {}", int_or(run, "exit_code", -1));
  if (auto detail = text_or(run, "error_detail"); !detail.empty()) why += fmt::format(" ({})", detail);
  context.note(fmt::format("{} {}: {}", text_or(run, "task_id"), status, why));
  return exit_run_failed;
}

}  // namespace cru::cli
