#include "edges/cli/terminal/inbox_prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "edges/cli/core/approval_page.h"
#include "edges/cli/core/asking.h"
#include "edges/cli/core/cli.h"
#include "edges/cli/core/ids.h"
#include "platform/files/readiness.h"
#include "platform/terminal/line_mode.h"
#include "platform/terminal/terminal.h"

namespace cru::cli {
namespace {

std::string approval_path(const std::string& id) { return "/approvals/" + percent_encode(id); }

size_t exchanges_in(const json::object& approval) {
  const auto* context = array_at(approval, "context");
  return context ? context->size() : 0;
}

}  // namespace

bool InboxPrompt::has_person() {
  for (int fd : {standard_input, standard_output, standard_error})
    if (!is_terminal(fd)) return false;
  return !api::own_environment("CRU_RUN");
}

InboxPrompt::InboxPrompt(Context& context, Signals& signals, InboxOf of, Options options)
    : context_(context),
      signals_(signals),
      of_(of),
      options_(std::move(options)),
      watch_(context.quiet_client(), std::move(of)) {
  options_.asks_here = options_.asks_here && has_person();
}

void InboxPrompt::say(std::string_view text) const {
  auto style = context_.err;
  if (auto size = terminal_size(standard_error); size && size->cols > 0)
    style.width = static_cast<size_t>(size->cols);  // it may have changed
  write_out(standard_error, hanging(text, style));
}

/// What a signal interrupts is asked again, unless the person leaves.
Result<json::object> InboxPrompt::get(const std::string& target) {
  auto& client = context_.client();
  for (;;) {
    auto reply = client.get(target);
    if (reply || !client.interrupted()) return reply;
    for (int signal = signals_.take(); signal != 0; signal = signals_.take()) {
      if (!options_.signal(signal)) has_left_ = true;
      if (signal == SIGINT) is_stopped_ = true;
    }
    if (has_left_) return reply;
  }
}

/// What a program asks that thinks for a chat is the chat's; its questions show where its run is followed,
/// too.
bool InboxPrompt::is_ours(const json::object& item, bool is_approval) const {
  auto chat = text_or(item, "chat_id");
  if (!of_.chat.empty()) return chat == of_.chat;
  return text_or(item, "task_id") == of_.run && (chat.empty() || !is_approval);
}

/// Those of ours, oldest first. Who may not see them sees nothing.
json::array InboxPrompt::waiting(const std::string& kind) {
  bool is_approval = kind == "approvals";
  auto target = fmt::format("/{}?pending=true", kind);
  if (is_approval)
    target += "&limit=1000";
  else if (of_.chat.empty())
    target += "&task_id=" + percent_encode(of_.run);
  auto reply = get(target);
  if (is_approval) sees_approvals_ = reply.has_value();
  json::array found;
  if (const auto* list = reply ? array_at(*reply, kind) : nullptr)
    for (const auto& value : *list)
      if (const auto* item = value.if_object(); item && is_ours(*item, is_approval)) found.push_back(value);
  return found;
}

bool InboxPrompt::show_approvals() {
  for (bool has_more = true; has_more && !has_left_;) {
    has_more = false;
    for (const auto& value : waiting("approvals")) {
      const auto& approval = value.get_object();
      std::string id(text_or(approval, "id"));
      if (!shown_.insert(id).second) continue;
      if (!options_.asks_here) {
        options_.before();
        say(approval_text(approval, context_.err));
        continue;
      }
      if (!decide(id)) return false;
      has_more = true;  // others may have come, or have been decided meanwhile
      break;
    }
  }
  return !has_left_;
}

bool InboxPrompt::show_questions() {
  for (const auto& value : waiting("questions")) {
    const auto& question = value.get_object();
    // A program's request for a permission is shown as the approval that it is.
    if (text_or(question, "kind") == "permission" && sees_approvals_) continue;
    if (!shown_.insert(std::string(text_or(question, "id"))).second) continue;
    options_.before();
    if (!answer(question)) return false;
  }
  return !has_left_;
}

/// The next line that is typed, or that something happened. Of a terminal, which gives whole lines.
InboxPrompt::Heard InboxPrompt::listen(std::string& line) {
  for (;;) {
    if (auto end = unread_.find('\n'); end != std::string::npos) {
      line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return Heard::line;
    }
    std::array<Awaited, 3> awaited = {{{.fd = standard_input}, {.fd = signals_.fd()}, {.fd = watch_.fd()}}};
    if (wait_ready(awaited) != Waited::ready) continue;
    if (awaited[1].is_ready) {
      int signal = signals_.take();
      if (signal == 0 || signal == SIGWINCH || signal == SIGCONT) continue;
      say("\n");
      return options_.signal(signal) ? Heard::stopped : Heard::left;
    }
    if (awaited[2].is_ready && watch_.take()) return Heard::news;
    if (!awaited[0].is_ready) continue;
    auto typed = read_in(standard_input);
    if (typed.empty()) return Heard::end;
    unread_ += typed;
    if (!typed.ends_with('\n')) unread_ += '\n';  // ended with Ctrl-D
  }
}

/// Those that wait beside the one that is being decided: told at once, asked afterwards.
void InboxPrompt::announce_others(const std::string& than) {
  for (const auto& value : waiting("approvals")) {
    const auto& other = value.get_object();
    std::string id(text_or(other, "id"));
    if (id == than || shown_.contains(id) || !told_.insert(id + " waits").second) continue;
    say(fmt::format("\n{} {} also waits: {} wants to {}", context_.err.paint("⚑", Colour::yellow),
                    safe_for_terminal(id), asker_name(other),
                    truncate(safe_for_terminal(text_or(other, "what")), 60)));
  }
}

/// The command that was typed, as at any other terminal.
void InboxPrompt::carry_out(const TypedDecision& typed) {
  auto commands = context_.commands.all();
  auto command = std::ranges::find(commands, "approvals " + typed.verb, &Command::path);
  if (command == commands.end()) return;
  auto args = parse_words(*command, typed.words, typed.verbatim);
  if (!args) {
    context_.show(args.error());
    return;
  }
  auto done = command->run(context_, *args);
  if (!done && !context_.client().interrupted()) context_.show(done.error());
}

bool InboxPrompt::decide(const std::string& id) {
  context_.client().interrupt_on({signals_.fd()});
  auto approval = get(approval_path(id));
  if (!approval && !has_left_) {
    context_.show(approval.error());
    say(fmt::format("  {0} waits; see: cru approvals show {0}\n", safe_for_terminal(id)));
  }
  if (!approval || !is_undecided(*approval)) return !has_left_;
  options_.before();
  is_stopped_ = false;
  // What was typed before it was shown decides nothing.
  typed_ahead_ += take_typed(standard_input);
  LineMode lines(standard_input);
  say(approval_notice(*approval, context_.err));
  say(context_.err.paint(fmt::format("  type: {}", decisions_for(*approval)), Colour::dim) + "\n");
  // The person may still be typing an answer to the one that ended meanwhile.
  bool needs_id = std::exchange(has_moved_, false);
  std::string status(text_or(*approval, "status"));
  auto exchanges = exchanges_in(*approval);
  for (bool prompts = true;;) {
    if (prompts) say(fmt::format("{}> ", safe_for_terminal(id)));
    prompts = true;
    std::string line;
    auto heard = listen(line);
    if (heard == Heard::left) return false;
    if (heard == Heard::stopped) return true;
    auto typed = heard == Heard::line ? read_decision(*approval, line, needs_id) : TypedDecision{};
    if (heard == Heard::end || typed.is_later) {
      say(fmt::format("{}{} still waits\n{}", heard == Heard::end ? "\n" : "  ", safe_for_terminal(id),
                      context_.err.paint(ways_to_decide(*approval), Colour::dim)));
      return true;
    }
    if (heard == Heard::line && typed.verb.empty()) {
      say("  " + typed.say);
      continue;
    }
    if (heard == Heard::line) carry_out(typed);
    context_.client().interrupt_on({signals_.fd()});
    auto now = get(approval_path(id));
    if (has_left_) return false;
    if (is_stopped_) return true;
    if (!now) {
      context_.show(now.error());
      return true;
    }
    approval = std::move(now);
    if (!is_undecided(*approval)) {
      if (heard == Heard::news) {
        has_moved_ = true;
        say(fmt::format("\n  {} {}\n", safe_for_terminal(id),
                        safe_for_terminal(text_or(*approval, "outcome"))));
      }
      told_.insert(fmt::format("{} {}", id, text_or(*approval, "status")));
      return true;
    }
    if (heard == Heard::line) {
      status = text_or(*approval, "status");
      exchanges = exchanges_in(*approval);
      continue;
    }
    // Somebody else held it, or asked about it.
    bool is_changed = std::exchange(exchanges, exchanges_in(*approval)) != exchanges ||
                      text_or(*approval, "status") != status;
    status = text_or(*approval, "status");
    auto before = told_.size();
    announce_others(id);
    if (is_changed)
      say(fmt::format("\n  {} is now {}{}", safe_for_terminal(id), safe_for_terminal(status),
                      status == "held" ? "; to release it, type: hold --release" : ""));
    prompts = is_changed || told_.size() != before;
    if (prompts) say("\n");
  }
}

bool InboxPrompt::answer(const json::object& question) {
  std::string id(text_or(question, "id"));
  auto parts = parts_in(question).size();
  auto text = options_.asks_here && parts > 1 ? fmt::format("{} questions\n", parts) : asked_text(question);
  say(fmt::format("{} {}  → cru questions answer {}\n", context_.err.paint("?", Colour::cyan), text,
                  safe_for_terminal(id)));
  if (!options_.asks_here) return true;
  // What was typed before it was shown answers nothing; in a chat it is for the agent.
  typed_ahead_ += take_typed(standard_input);
  LineMode lines(standard_input);
  context_.client().interrupt_on({signals_.fd()});
  AnswerSheet sheet(question);
  is_stopped_ = false;
  say(sheet.prompt());
  for (;;) {
    std::string line;
    auto heard = listen(line);
    if (heard == Heard::left) return false;
    if (heard == Heard::end || heard == Heard::stopped) return true;
    if (heard == Heard::line) {
      say(sheet.take(line));
      if (!sheet.is_complete()) {
        say(sheet.prompt());
        continue;
      }
      auto sent = context_.client().post(question_path(id) + "/answer", sheet.body());
      if (sent) return true;
      context_.show(sent.error());
      if (sent.error().code != Code::invalid_argument) return true;
      sheet = AnswerSheet(question);
      say(sheet.prompt());
      continue;
    }
    auto now = get(question_path(id));
    if (has_left_) return false;
    if (is_stopped_) return true;
    if (now && text_or(*now, "status") != "pending") {
      bool is_answered = text_or(*now, "status") == "answered";
      auto why = safe_for_terminal(text_or(*now, "withdrawn_because", "its asker has ended"));
      say(is_answered ? std::string("\ncru: the question was answered by another client\n")
                      : fmt::format("\ncru: the question was withdrawn: {}\n", why));
      return true;
    }
    announce_others({});
  }
}

}  // namespace cru::cli
