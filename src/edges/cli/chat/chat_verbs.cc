// `cru chat`: at a terminal line by line, elsewhere message by message.
#include <fmt/format.h>

#include "base/text.h"
#include "edges/cli/chat/chat.h"
#include "edges/cli/chat/chat_minds.h"
#include "edges/cli/chat/chat_prompt.h"
#include "edges/cli/chat/chat_session.h"
#include "edges/cli/core/trusting.h"
#include "platform/terminal/terminal.h"

namespace cru::cli {
namespace {

constexpr size_t max_message_bytes = 1 << 20;

/// All of standard input, as one message.
Result<std::string> read_input() {
  std::string text;
  for (std::string piece; !(piece = read_in(standard_input, 65536)).empty();) {
    text += piece;
    if (text.size() > max_message_bytes)
      return fail(Code::too_large, "the message is longer than 1 MiB", "message",
                  "put the text in a file and mention the file in the message");
  }
  if (!is_utf8(text)) return fail(Code::invalid_argument, "the message is not valid UTF-8", "message");
  while (text.ends_with('\n')) text.pop_back();
  if (text.empty())
    return fail(Code::invalid_argument, "chat: the message is empty", "message",
                "use cru chat -m \"MESSAGE\", or pipe the message to standard input");
  return text;
}

int exit_of(ChatSession::End end) {
  switch (end) {
    case ChatSession::End::well:
      return 0;
    case ChatSession::End::failed:
      return exit_run_failed;
    case ChatSession::End::cancelled:
    case ChatSession::End::left:
      break;
  }
  return exit_interrupted;
}

/// No mind: what is missing and how to mend it, with the way to go on without.
Error without_mind(Context& context, Error error) {
  if (!is_about_minds(error) || context.json) return error;
  if (!error.hint.contains("--model scripted"))
    error.hint +=
        fmt::format("{}or continue without a model: --model scripted", error.hint.empty() ? "" : "\n");
  if (auto minds = context.client().get("/minds")) error.hint += "\n" + missing_minds(*minds);
  return error;
}

/// Every message, one after the other. The first that fails is the last.
Result<int> say_all(Context& context, ChatSession& chat, const std::vector<std::string>& messages) {
  int code = 0;
  for (const auto& message : messages) {
    auto end = chat.say(message);
    if (!end) {
      (void)chat.end();
      return fail(without_mind(context, end.error()));
    }
    code = exit_of(*end);
    if (code != 0) break;
  }
  if (auto ended = chat.end(); !ended) return fail(ended.error());
  context.note(fmt::format("{}; resume with: cru chat --resume {}", chat.folder(), chat.id()));
  return code;
}

/// The newest chat with a primary agent.
Result<std::string> newest_chat(Context& context) {
  auto reply = context.client().get("/chats?limit=100");
  if (!reply) return fail(reply.error());
  const auto* chats = array_at(*reply, "chats");
  for (const auto& chat : chats ? *chats : json::array())
    if (chat.is_object() && text_or(chat.get_object(), "kind", "chat") == "chat")
      return std::string(text_or(chat.get_object(), "id"));
  return fail(Code::not_found, "no chat to resume", {}, "start one with: cru chat");
}

Result<int> chat_verb(Context& context, const Args& args) {
  if (auto trusted = trust_once_if_asked(context, args); !trusted) return fail(trusted.error());
  bool resuming = args.has("resume");
  bool at_terminal =
      is_terminal(standard_input) && is_terminal(standard_output) && !context.json && !args.has("message");
  if (resuming && (args.has("model") || args.has("permit") || args.has("title")))
    return fail(Code::invalid_argument, "chat: a resumed chat keeps its model, permissions and title",
                "resume");
  json::object wanted;
  if (args.has("agent") && !resuming) wanted["agent"] = args.get("agent");
  if (args.has("title")) wanted["title"] = args.get("title");
  add_mind_fields(args, wanted);
  auto messages = args.all("message");
  if (!at_terminal && messages.empty()) {
    auto input = read_input();
    if (!input) return fail(input.error());
    messages.push_back(*std::move(input));
  }
  // A name that is none is told before anything is typed.
  if (wanted.contains("agent"))
    if (auto known = context.client().get("/definitions/" + percent_encode(args.get("agent"))); !known)
      return fail(known.error());
  offer_keys(context);
  Signals signals({SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGCONT});
  ChatSession chat(context, signals, std::move(wanted), context.out.tty && !context.json);
  if (resuming) {
    auto id = args.has("agent") ? Result<std::string>(args.get("agent")) : newest_chat(context);
    if (!id) return fail(id.error());
    if (at_terminal)
      if (auto shown = show_last_words(context, *id); !shown) return fail(shown.error());
    auto taken_up = chat.resume(*id);
    if (!taken_up) return fail(taken_up.error());
    if (*taken_up == ChatSession::End::left) return exit_interrupted;
  }
  return at_terminal ? hold_chat(context, signals, chat) : say_all(context, chat, messages);
}

}  // namespace

void add_chat_commands(std::vector<Command>& table) {
  Command chat{
      .path = "chat",
      .group = "Agents",
      .summary = "Starts a chat with an agent that can delegate work",
      .arguments = {{.name = "agent",
                     .summary =
                         "the primary agent (default: the general assistant), or with --resume the chat id",
                     .required = false}},
      .flags = mind_flags("additional permission: FilesystemWrite, ProcessSpawn, …, or all"),
      .examples = {"cru chat", "cru chat code-reviewer --model opus",
                   "cru chat -m \"where is the login checked?\"", "git diff | cru chat code-reviewer",
                   "cru chat --resume", "cru chat --resume 2026-11-15-login"},
      .run = chat_verb};
  chat.flags.push_back({.name = "resume", .letter = 'r', .summary = "resume the given chat, or the newest"});
  chat.flags.push_back({.name = "message",
                        .letter = 'm',
                        .kind = Kind::text,
                        .value = "TEXT",
                        .summary = "send this message, print the answer and exit; several are sent in order",
                        .repeats = true});
  chat.flags.push_back({.name = "title",
                        .kind = Kind::text,
                        .value = "TEXT",
                        .summary = "the title, which names the chat's folder"});
  chat.flags.push_back(trust_once_flag());
  chat.details =
      "In a terminal, the prompt has line editing and history; /help lists its commands, Ctrl-C stops a "
      "turn,\nand Ctrl-D exits. Otherwise, all of standard input is one message. The answer is printed to "
      "standard\noutput and the progress to standard error; --json prints one object per turn. Exits with 0, "
      "or with 6\nif a turn failed. Chats are stored in .crucible/sessions. --model scripted requires no API "
      "key.";
  table.push_back(std::move(chat));
}

}  // namespace cru::cli
