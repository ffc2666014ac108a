#include "edges/cli/chat/chat_turn.h"

#include <fmt/format.h>

#include "base/text.h"
#include "edges/cli/chat/chat_texts.h"
#include "edges/cli/core/asking.h"
#include "platform/files/readiness.h"
#include "platform/terminal/terminal.h"

namespace cru::cli {
namespace {

/// How the daemon marks a text that was too long (crew/chat.h, `bounded`).
bool is_cut(std::string_view text) { return text.ends_with(" more bytes]"); }

}  // namespace

std::string chat_path(const std::string& id) { return "/chats/" + percent_encode(id); }

TurnPrinter::TurnPrinter(const Context& context, Options options)
    : context_(context), options_(std::move(options)), markdown_(context.out.colour) {}

void TurnPrinter::begin_turn(std::string agent) {
  agent_ = std::move(agent);
  auto size = terminal_size(standard_output);  // it may have another by now
  markdown_ = Markdown(context_.out.colour, size ? static_cast<size_t>(size->cols) : 0);
  shown_.clear();
  again_.reset();
  something_shown_ = over_ = false;
  error_.clear();
  show_status("thinking");
}

void TurnPrinter::take(std::string_view type, const json::object& data) {
  bool of_primary = text_or(data, "task_id").empty();
  if (type == "chat.text" && of_primary) {
    words(text_or(data, "text"));
  } else if (type == "chat.restarted" && of_primary) {
    begin_again();
  } else if (type == "chat.entry") {
    entry(data);
  } else if (type == "chat.tool" || type == "subagent.tool") {
    tool(data, type == "subagent.tool");
  } else if (type == "chat.waiting") {
    const auto* seconds = data.if_contains("seconds");
    double wait = seconds && seconds->is_number() ? seconds->to_number<double>() : 0;
    progress(context_.err.paint(
                 fmt::format("  waiting {:.0f} s: {}", wait, safe_for_terminal(text_or(data, "why"))),
                 Colour::dim) +
             "\n");
  } else if (type == "budget.exhausted") {
    if (!options_.inbox)
      progress(budget_text(data, options_.progress_fd == standard_output ? context_.out : context_.err));
  } else if (type == "chat.parked" || type == "subagent.parked") {
    parked(data);
  } else if (type.starts_with("approval.")) {
    approval(type.substr(9), data);
  } else if (type == "chat.turn") {
    turn(data);
  } else if (type.starts_with("subagent.")) {
    subagent(type.substr(9), data);
  } else if (type == "chat.ended" || type == "chat.pruned") {
    over_ = true;
  }
}

void TurnPrinter::words(std::string_view piece) {
  if (!options_.streaming) return;
  if (!again_) {
    shown_ += piece;
    show(piece);
    return;
  }
  *again_ += piece;
  if (shown_.starts_with(*again_)) return;  // the same words as before
  if (!again_->starts_with(shown_)) {
    end_words();
    progress(context_.err.paint("  (restarting the reply)", Colour::dim) + "\n");
    shown_.clear();
  }
  auto more = again_->substr(shown_.size());
  shown_ = *std::move(again_);
  again_.reset();
  show(more);
}

/// The entry that is coming comes anew: a retry, or another daemon.
void TurnPrinter::begin_again() {
  if (!shown_.empty()) again_ = "";
}

void TurnPrinter::entry(const json::object& data) {
  if (text_or(data, "role") != "assistant") return;
  std::string text(text_or(data, "text"));
  if (is_cut(text) && options_.whole)
    if (auto whole = options_.whole(int_or(data, "n")); !whole.empty()) text = std::move(whole);
  if (!options_.streaming) {
    if (!text.empty()) show(text);
  } else if (text.starts_with(shown_)) {
    again_.reset();
    words(std::string_view(text).substr(shown_.size()));
  } else if (!is_cut(text)) {
    again_ = "";
    words(text);
  }
  end_words();
  shown_.clear();
  again_.reset();
}

void TurnPrinter::subagent(std::string_view what, const json::object& data) {
  std::string id(text_or(data, "task_id"));
  auto agent = safe_for_terminal(text_or(data, "agent"));
  const auto& style = options_.progress_fd == standard_output ? context_.out : context_.err;
  if (what == "queued") {
    queued_.insert(id);
  } else if (what == "started") {
    queued_.erase(id);
    if (!running_.insert(id).second) return;  // taken up again by another daemon
    progress(fmt::format("{} Running {} agent...\n", style.paint("→", Colour::cyan), agent));
    if (!queued_.empty())
      progress(style.paint(fmt::format("    {} more in the queue", queued_.size()), Colour::dim) + "\n");
  } else if (what == "reflected") {
    auto verdict = bool_or(data, "passed")    ? std::string("meets its criteria")
                   : bool_or(data, "retried") ? "does not meet its criteria; trying again"
                                              : "does not meet its criteria";
    auto critique =
        bool_or(data, "passed") ? std::string() : truncate(safe_for_terminal(text_or(data, "critique")), 100);
    progress(style.paint(fmt::format("    ↻ attempt {} {}{}{}", int_or(data, "attempt"), verdict,
                                     critique.empty() ? "" : ": ", critique),
                         Colour::dim) +
             "\n");
  } else if (what == "completed") {
    bool is_cut = bool_or(data, "abbreviated");
    progress(fmt::format("    {}{}\n", safe_for_terminal(text_or(data, "summary")), is_cut ? "…" : ""));
    if (is_cut && !options_.whole_follows)
      progress(style.paint(fmt::format("    all of it: {}", safe_for_terminal(text_or(data, "file"))),
                           Colour::dim) +
               "\n");
    if (auto partial = text_or(data, "partial"); !partial.empty())
      progress(
          style.paint(fmt::format("    partial success: {}", safe_for_terminal(partial)), Colour::yellow) +
          "\n");
  } else if (what == "failed" || what == "cancelled") {
    progress(failure_line(data, style));
    progress(style.paint(fmt::format("    {}", safe_for_terminal(text_or(data, "file"))), Colour::dim) +
             "\n");
  }
  bool ended = what == "completed" || what == "failed" || what == "cancelled";
  if (ended) {
    queued_.erase(id);
    running_.erase(id);
    show_status("thinking");
  }
}

void TurnPrinter::tool(const json::object& data, bool of_subagent) {
  auto name = text_or(data, "name");
  if (name == "spawn_agent") return;  // its own events tell of it
  auto what = fmt::format("· {} {}", safe_for_terminal(name), safe_for_terminal(text_or(data, "summary")));
  if (of_subagent) {
    show_status(fmt::format("  {}: {}", safe_for_terminal(text_or(data, "agent")), what));
    return;
  }
  if (context_.err.tty) what = truncate(what, context_.err.width > 2 ? context_.err.width - 1 : 1);
  progress(context_.err.paint(what, Colour::dim) + "\n");
}

void TurnPrinter::approval(std::string_view what, const json::object& data) {
  auto id = safe_for_terminal(text_or(data, "id"));
  const auto& style = options_.progress_fd == standard_output ? context_.out : context_.err;
  if (what == "requested" || what == "waits") {
    if (options_.inbox) return;
    // What a rule decides waits for nobody; what still waits is told again with every connection.
    bool is_open = is_one_of(text_or(data, "status", "pending"), {"pending", "held", "asking"});
    if (!is_open || !approvals_shown_.insert(id).second) return;
    progress(hanging(approval_text(data, style), style));
  } else if (is_one_of(what, {"approved", "denied", "expired", "withdrawn"})) {
    if (options_.inbox && options_.inbox->has_told(id, what)) return show_status("thinking");
    progress(
        style.paint(fmt::format("    {} {}", id, safe_for_terminal(text_or(data, "outcome"))), Colour::dim) +
        "\n");
  }
}

void TurnPrinter::parked(const json::object& data) {
  const auto* parked = object_at(data, "parked");
  if (!parked) return;
  progress(fmt::format("{} waits: usage limit of {}, until {}\n", context_.err.paint("⏸", Colour::yellow),
                       safe_for_terminal(text_or(*parked, "provider")),
                       safe_for_terminal(text_or(*parked, "until"))));
}

void TurnPrinter::turn(const json::object& data) {
  if (text_or(data, "turn") != "idle") return;
  over_ = true;
  finish();
  const auto* error = object_at(data, "error");
  if (!error) return;
  error_ = *error;
  if (text_or(error_, "type") == "cancelled") return;  // the agent's last entry says so
  progress(fmt::format("{} {} failed ({}, {}): {}\n", context_.err.paint("✗", Colour::red),
                       safe_for_terminal(agent_), safe_for_terminal(text_or(error_, "type")),
                       safe_for_terminal(text_or(error_, "severity", "error")),
                       safe_for_terminal(text_or(error_, "message"))));
}

void TurnPrinter::show(std::string_view text) {
  if (options_.silent || text.empty()) return;
  clear_status();
  if (!words_open_ && something_shown_) write_out(standard_output, "\n");
  words_open_ = something_shown_ = true;
  line_open_ = !text.ends_with('\n');
  write_out(standard_output, options_.streaming ? markdown_.feed(text) : std::string(text));
}

void TurnPrinter::end_words() {
  if (!words_open_) return;
  if (options_.streaming) write_out(standard_output, markdown_.finish());
  if (line_open_) write_out(standard_output, "\n");
  words_open_ = line_open_ = false;
}

void TurnPrinter::progress(const std::string& text) {
  if (options_.silent) return;
  clear_status();
  end_words();
  if (options_.streaming) something_shown_ = true;
  write_out(options_.progress_fd, text);
}

void TurnPrinter::show_status(const std::string& text) {
  bool erasable = context_.err.tty && context_.err.colour;
  if (options_.silent || !erasable || words_open_) return;
  clear_status();
  status_shown_ = true;
  write_out(standard_error, context_.err.paint(truncate("  … " + text, context_.err.width - 1), Colour::dim));
}

void TurnPrinter::clear_status() {
  if (std::exchange(status_shown_, false)) write_out(standard_error, "\r\x1b[K");
}

void TurnPrinter::finish() {
  clear_status();
  end_words();
}

Result<bool> follow_chat(Client& client, Signals& signals, const std::string& chat_id, EventCursor& cursor,
                         const OnChatEvent& on_event, const std::function<bool(int)>& on_signal,
                         InboxPrompt* inbox) {
  std::vector<int> interrupts{signals.fd()};
  if (inbox) interrupts.push_back(inbox->fd());
  client.interrupt_on(interrupts);
  for (;;) {
    auto target = "/events?entity=" + percent_encode(chat_id);
    if (cursor.last_id.empty()) target += "&since=" + percent_encode(cursor.since);
    bool enough = false, has_left = false;
    auto streamed = client.stream(target, cursor.last_id, [&](const ServerEvent& event) {
      if (!event.id.empty()) cursor.last_id = event.id;
      auto value = parse_json(event.data);
      const auto* data = value && value->is_object() ? object_at(value->get_object(), "data") : nullptr;
      static const json::object nothing;
      bool is_waiting = event.type == "approval.requested" && event.id.empty();
      enough = !on_event(is_waiting ? "approval.waits" : event.type, data ? *data : nothing);
      if (enough || !inbox) return !enough;
      if (event.type == "approval.requested" && !is_waiting) has_left = !inbox->show_approvals();
      if (event.type == "budget.exhausted") has_left = !inbox->show_questions();
      if (event.type == "log.truncated") has_left = !inbox->show_pending();
      return !has_left;
    });
    if (enough) return true;
    if (has_left) return false;
    if (!streamed && !client.interrupted()) return fail(streamed.error());
    if (!client.interrupted()) {
      // The stream broke: the daemon is being replaced. Give its own restart the first go.
      wait_readable(signals.fd(), 300ms);
    }
    for (int signal = signals.take(); signal != 0; signal = signals.take())
      if (!on_signal(signal)) return false;
    if (inbox && inbox->take() && !inbox->show_questions()) return false;
  }
}

}  // namespace cru::cli
