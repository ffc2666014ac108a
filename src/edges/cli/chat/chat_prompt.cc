#include "edges/cli/chat/chat_prompt.h"

#include <fmt/format.h>

#include "base/text.h"
#include "edges/cli/chat/chat_editor.h"
#include "edges/cli/chat/chat_minds.h"
#include "edges/cli/chat/chat_texts.h"
#include "edges/cli/core/command.h"
#include "edges/cli/terminal/markdown.h"
#include "platform/terminal/terminal.h"

namespace cru::cli {
namespace {

class Conversation {
 public:
  Conversation(Context& context, Signals& signals, ChatSession& chat)
      : context_(context),
        signals_(signals),
        chat_(chat),
        editor_(signals, chat_history_file(), context.out.colour) {}

  Result<int> hold() {
    if (!has_mind()) return 1;
    greet();
    while (!leaving_) {
      auto line = editor_.read(lines_.is_open() ? "..." : prompt(), lines_.is_quoted());
      if (line.got == LineEditor::Got::interrupted) {
        interrupted();
        continue;
      }
      if (line.got == LineEditor::Got::ended) {
        context_.print("\n");
        break;
      }
      interrupts_ = 0;
      if (auto message = lines_.take(std::move(line.text))) take(*std::move(message));
    }
    return leave();
  }

 private:
  std::string prompt() const { return safe_for_terminal(chat_.agent()) + ">"; }

  void greet() {
    if (!chat_.has_begun())
      context_.print(context_.out.paint(fmt::format("Chat with {}. /help for help, Ctrl-D to exit.",
                                                    safe_for_terminal(chat_.agent())),
                                        Colour::dim) +
                     "\n");
  }

  /// Before anything is typed: is there something to think with?
  bool has_mind() {
    if (chat_.has_begun() || chat_.wanted().contains("model")) return true;
    auto minds = context_.client().get("/minds");
    if (!minds) return true;
    std::string model(text_or(*minds, "default_model"));
    if (chat_.wanted().contains("agent"))
      if (auto agent = context_.client().get("/definitions/" + percent_encode(chat_.agent())))
        model = text_or(*agent, "model", model);
    if (can_think(*minds, model)) return true;
    context_.show({Code::conflict,
                   fmt::format("no mind is configured for the model {}", model),
                   {},
                   missing_minds(*minds)});
    return offer_script();
  }

  bool offer_script() {
    if (!ask_yes_no(context_, "Use the scripted mind instead?", signals_)) {
      write_out(standard_error, "  to chat without a model: cru chat --model scripted\n");
      return false;
    }
    chat_.use_model("scripted");
    return true;
  }

  void interrupted() {
    context_.print("^C\n");
    if (lines_.is_open()) {
      lines_.clear();
      interrupts_ = 0;
    } else if (++interrupts_ == 1) {
      context_.print(context_.out.paint("press Ctrl-C again or Ctrl-D to exit", Colour::dim) + "\n");
    } else {
      leaving_ = true;
    }
  }

  void take(std::string message) {
    if (is_blank(message)) return;
    editor_.remember(message);
    auto slash = slash_of(message);
    if (slash.name.empty())
      say(without_slash_quote(std::move(message)));
    else if (!slash.known)
      context_.print(slash.meant.empty()
                         ? fmt::format("no such command: /{}; see /help\n", safe_for_terminal(slash.name))
                         : fmt::format("no such command: /{}; did you mean: /{}\n",
                                       safe_for_terminal(slash.name), slash.meant));
    else if (auto done = obey(slash.name); !done)
      context_.show(done.error());
  }

  Result<ChatSession::End> quietly_say(const std::string& message) {
    NoEcho silent(standard_input);  // what is typed during a turn waits, unseen, for the prompt
    return chat_.say(message);
  }

  void say(const std::string& message) {
    auto end = quietly_say(message);
    if (!end && is_about_minds(end.error()) && !chat_.has_begun()) {
      context_.show(end.error());
      if (!offer_script()) return;
      end = quietly_say(message);
    }
    editor_.type(chat_.take_typed_ahead());
    if (!end) context_.show(end.error());
    leaving_ = end && *end == ChatSession::End::left;
    left_turn_ = leaving_;
    context_.print("\n");
  }

  Result<> obey(const std::string& name) {
    if (name == "help") {
      context_.print(slash_help());
    } else if (name == "end" || name == "quit") {
      leaving_ = true;
    } else if (name == "agents") {
      for (const auto& command : context_.commands.all())
        if (command.path == "agents list")
          if (auto listed = command.run(context_, {}); !listed) return fail(listed.error());
    } else if (name == "cancel") {
      if (!chat_.has_begun()) return {};
      return chat_.cancel();
    } else {
      return tell(name);
    }
    return {};
  }

  /// /model, /status, /files: of a chat that has begun.
  Result<> tell(const std::string& name) {
    if (!chat_.has_begun()) {
      auto model = text_or(chat_.wanted(), "model", "the agent's default");
      context_.print(name == "model" ? fmt::format("{}\n", safe_for_terminal(model)) : "no messages yet\n");
      return {};
    }
    auto chat = chat_.look(0);
    if (!chat) return fail(chat.error());
    if (name == "model") {
      context_.print(fmt::format("{} ({}{}{})\n", safe_for_terminal(text_or(*chat, "model")),
                                 safe_for_terminal(text_or(*chat, "provider")),
                                 text_or(*chat, "model_version").empty() ? "" : ", ",
                                 safe_for_terminal(text_or(*chat, "model_version"))));
      return {};
    }
    context_.print(name == "status" ? status_page(*chat) : files_page(*chat));
    return {};
  }

  std::string status_page(const json::object& chat) const {
    size_t over = 0, all = 0;
    if (const auto* subagents = array_at(chat, "subagents"))
      for (const auto& each : *subagents) {
        ++all;
        auto status = each.is_object() ? text_or(each.get_object(), "status") : "";
        over += status != "queued" && status != "running";
      }
    json::object shown{
        {"chat", text_or(chat, "id")},
        {"turn", text_or(chat, "turn")},
        {"spent", spent_words(int_or(chat, "total_tokens"), chat)},
        {"subagents", fmt::format("{}, {} finished", all, over)},
        {"queue", fmt::format("{} waiting", int_or(chat, "queue_depth"))},
        {"permissions", chat.contains("permissions") ? chat.at("permissions") : json::value()}};
    return record(shown, context_.out);
  }

  static std::string files_page(const json::object& chat) {
    std::string folder(text_or(chat, "folder"));
    auto out = fmt::format("{}/session.md\n", safe_for_terminal(folder));
    if (const auto* subagents = array_at(chat, "subagents"))
      for (const auto& each : *subagents)
        if (each.is_object()) out += safe_for_terminal(text_or(each.get_object(), "file")) + "\n";
    return out;
  }

  Result<int> leave() {
    if (!chat_.has_begun()) return 0;
    if (!left_turn_)
      if (auto ended = chat_.end(); !ended) return fail(ended.error());
    context_.print(
        context_.out.paint(fmt::format("{}\nresume with: cru chat --resume {}", chat_.folder(), chat_.id()),
                           Colour::dim) +
        "\n");
    return 0;
  }

  Context& context_;
  Signals& signals_;
  ChatSession& chat_;
  LineEditor editor_;
  MessageLines lines_;
  int interrupts_ = 0;
  bool leaving_ = false, left_turn_ = false;
};

}  // namespace

Result<int> hold_chat(Context& context, Signals& signals, ChatSession& chat) {
  return Conversation(context, signals, chat).hold();
}

Result<> show_last_words(Context& context, const std::string& id) {
  auto chat = context.client().get(chat_path(id) + "?limit=1000");
  if (!chat) return fail(chat.error());
  context.print(context.out.paint(fmt::format("{} · {}", safe_for_terminal(text_or(*chat, "id")),
                                              safe_for_terminal(text_or(*chat, "agent"))),
                                  Colour::dim) +
                "\n");
  const auto* entries = array_at(*chat, "entries");
  if (!entries) return {};
  std::string said, answered;
  for (const auto& each : *entries) {
    if (!each.is_object() || text_or(each.get_object(), "text").empty()) continue;
    auto role = text_or(each.get_object(), "role");
    if (role == "user") said = text_or(each.get_object(), "text");
    if (role == "assistant") answered = text_or(each.get_object(), "text");
  }
  auto width = context.out.prose_width();
  if (!said.empty())
    context.print(wrap_words(
        context.out.paint("you> ", Colour::bold) + safe_for_terminal(said, Newlines::keep) + "\n", width));
  if (!answered.empty()) context.print(markdown_prose(answered, context.out.colour, width) + "\n");
  return {};
}

}  // namespace cru::cli
