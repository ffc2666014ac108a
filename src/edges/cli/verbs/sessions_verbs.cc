// sessions: the chats there were, their transcripts and their folders.
#include <fmt/format.h>

#include <array>
#include <map>

#include "base/text.h"
#include "edges/cli/chat/chat.h"
#include "edges/cli/chat/chat_minds.h"
#include "edges/cli/chat/chat_texts.h"
#include "edges/cli/chat/chat_turn.h"
#include "edges/cli/chat/trace_text.h"
#include "edges/cli/core/context.h"
#include "edges/cli/terminal/markdown.h"
#include "edges/cli/verbs/all_commands.h"
#include "platform/process/subprocess.h"

namespace cru::cli {
namespace {

Result<int> list_verb(Context& context, const Args& args) {
  auto target = fmt::format("/chats?limit={}", args.number("limit").value_or(50));
  if (args.has("status")) target += "&status=" + args.get("status");
  auto text = context.client().call_text("GET", target);
  if (!text) return fail(text.error());
  if (context.json) {
    context.print_json(*text);
    return 0;
  }
  auto reply = parse_json(*text);
  const auto* chats = reply && reply->is_object() ? array_at(reply->get_object(), "chats") : nullptr;
  if (!chats || chats->empty()) {
    context.note("no chats or agent runs yet; start a chat with: cru chat");
    return 0;
  }
  json::array rows;
  for (const auto& each : *chats) {
    if (!each.is_object()) continue;
    const auto& chat = each.get_object();
    const auto* subagents = array_at(chat, "subagents");
    bool busy = text_or(chat, "turn") == "running";
    rows.push_back({{"id", text_or(chat, "id")},
                    {"status", busy ? "running" : text_or(chat, "status")},
                    {"agent", text_or(chat, "agent")},
                    {"model", text_or(chat, "model")},
                    {"subagents", subagents ? subagents->size() : 0},
                    {"spent", spent_words(int_or(chat, "total_tokens"), chat)},
                    {"started_at", text_or(chat, "started_at")},
                    {"title", text_or(chat, "title")}});
  }
  constexpr std::array<std::string_view, 8> columns = {"id",        "status", "agent",      "model",
                                                       "subagents", "spent",  "started_at", "title"};
  context.print(table(columns, rows, context.out));
  return 0;
}

/// The whole chat: every page of its entries in one record.
Result<json::object> whole_chat(Context& context, const std::string& id) {
  json::object whole;
  json::array entries;
  for (int64_t after = 0;;) {
    auto page = context.client().get(fmt::format("{}?after={}&limit=1000", chat_path(id), after));
    if (!page) {
      auto error = page.error();
      if (error.code == Code::not_found && error.hint.empty())
        error.hint = "list them with: cru sessions list";
      return fail(std::move(error));
    }
    const auto* more = array_at(*page, "entries");
    bool last = !more || more->empty() || !bool_or(*page, "more");
    for (const auto& entry : more ? *more : json::array()) {
      if (entry.is_object()) after = int_or(entry.get_object(), "n");
      entries.push_back(entry);
    }
    whole = *std::move(page);
    if (last) break;
  }
  whole["entries"] = std::move(entries);
  return whole;
}

std::string indented(std::string_view text, std::string_view by) {
  std::string out;
  while (!text.empty()) {
    auto line = text.substr(0, text.find('\n'));
    out += fmt::format("{}{}\n", line.empty() ? "" : by, line);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return out;
}

/// A transcript for people: who said what, with the subagents where they were called.
class Transcript {
 public:
  Transcript(const json::object& chat, const Style& style) : chat_(chat), style_(style) {
    if (const auto* subagents = array_at(chat, "subagents"))
      for (const auto& each : *subagents)
        if (each.is_object())
          subagents_[std::string(text_or(each.get_object(), "task_id"))] = &each.get_object();
  }

  std::string page() const {
    auto out = head();
    if (const auto* entries = array_at(chat_, "entries"))
      for (const auto& each : *entries)
        if (each.is_object()) out += entry(each.get_object());
    return out + total();
  }

 private:
  std::string head() const {
    json::object shown;
    for (auto key : {"id", "title", "status", "agent", "model", "model_version", "permissions", "started_at",
                     "ended_at", "folder"})
      if (const auto* value = chat_.if_contains(key); value && !value->is_null()) shown[key] = *value;
    return record(shown, style_);
  }

  std::string entry(const json::object& entry) const {
    auto role = text_or(entry, "role"), text = text_or(entry, "text");
    if (role == "note") return note(entry);
    if (role == "tool") return failed_tools(entry);
    std::string out;
    if (!text.empty()) {
      auto who = role == "user" ? "you" : safe_for_terminal(text_or(chat_, "agent"));
      auto width = style_.prose_width();
      auto shown = role == "user" ? wrap_words(safe_for_terminal(text, Newlines::keep), width)
                                  : markdown_prose(text, style_.colour, width);
      out = fmt::format("\n{}\n{}{}", style_.paint(who, Colour::bold), shown,
                        shown.ends_with('\n') ? "" : "\n");
    }
    const auto* tools = array_at(entry, "tools");
    for (const auto& each : tools ? *tools : json::array())
      if (each.is_object()) out += tool(each.get_object());
    return out;
  }

  std::string tool(const json::object& use) const {
    auto name = text_or(use, "name");
    if (name == "spawn_agent") return {};  // its note follows
    auto input = use.contains("input") ? to_text(use.at("input")) : std::string();
    auto line =
        truncate(safe_for_terminal(fmt::format("· {} {}", name, input)), style_.tty ? style_.width - 1 : 200);
    return style_.paint(line, Colour::dim) + "\n";
  }

  std::string failed_tools(const json::object& entry) const {
    std::string out;
    const auto* results = array_at(entry, "results");
    for (const auto& each : results ? *results : json::array())
      if (each.is_object() && bool_or(each.get_object(), "is_error"))
        out += style_.paint("  " + truncate(safe_for_terminal(text_or(each.get_object(), "text")), 160),
                            Colour::red) +
               "\n";
    return out;
  }

  std::string note(const json::object& entry) const {
    auto found = subagents_.find(std::string(text_or(entry, "about")));
    bool is_end = text_or(entry, "text").starts_with("- [[");  // the note of its start tells of it too
    if (found != subagents_.end() && is_end) return {};
    if (found == subagents_.end()) return safe_for_terminal(text_or(entry, "text")) + "\n";
    const auto& subagent = *found->second;
    auto status = text_or(subagent, "status");
    auto out = fmt::format("{} Running {} agent...\n", style_.paint("→", Colour::cyan),
                           safe_for_terminal(text_or(subagent, "agent")));
    out += style_.paint(indented(truncate(safe_for_terminal(text_or(subagent, "task")), 200), "    "),
                        Colour::dim);
    if (status == "queued" || status == "running") return out + fmt::format("    {}\n", status);
    if (status == "completed")
      out += fmt::format("    {}\n", safe_for_terminal(text_or(subagent, "summary")));
    return out + indented(end_line(subagent, style_), "  ");
  }

  std::string total() const {
    std::string took;
    auto began = parse_rfc3339(text_or(chat_, "started_at")),
         ended = parse_rfc3339(text_or(chat_, "ended_at"));
    if (began && ended) took = " in " + format_duration(*ended - *began);
    return fmt::format("\n{}{}, {} subagent{}\n", spent_words(int_or(chat_, "total_tokens"), chat_), took,
                       subagents_.size(), subagents_.size() == 1 ? "" : "s");
  }

  const json::object& chat_;
  const Style& style_;
  std::map<std::string, const json::object*> subagents_;
};

Result<int> show_verb(Context& context, const Args& args) {
  auto chat = whole_chat(context, args.get("id"));
  if (!chat) return fail(chat.error());
  if (context.json)
    context.print_json(to_text(*chat));
  else
    context.print(Transcript(*chat, context.out).page());
  return 0;
}

/// Runs the person's editor and waits for it. `editor` may carry options, separated by blanks.
Result<int> edit(const std::string& editor, const std::string& file) {
  std::vector<std::string> words;
  for (std::string_view rest = editor; !rest.empty();) {
    auto word = rest.substr(0, rest.find(' '));
    if (!word.empty()) words.emplace_back(word);
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  words.push_back(file);
  auto code = run_in_foreground(words);
  if (!code)
    return fail(Code::not_found, fmt::format("cannot start {}: {}", words[0], code.error().message()), {},
                "set VISUAL or EDITOR");
  return *code == 0 ? 0 : 1;
}

Result<int> open_chat_verb(Context& context, const Args& args) {
  auto chat = context.client().get(chat_path(args.get("id")) + "?limit=1");
  if (!chat) return fail(chat.error());
  auto folder = fmt::format("{}/{}", context.project.root, text_or(*chat, "folder"));
  if (context.json) {
    context.print_json(to_text(json::object{{"folder", folder}}));
    return 0;
  }
  context.print(safe_for_terminal(folder) + "\n");
  auto editor = api::own_environment("VISUAL").value_or(api::own_environment("EDITOR").value_or(""));
  if (!context.out.tty || editor.empty()) return 0;
  return edit(editor, folder + "/session.md");
}

Result<int> trace_verb(Context& context, const Args& args) {
  auto text = context.client().call_text("GET", "/traces/" + percent_encode(args.get("id")));
  if (!text) return fail(text.error());
  if (context.json) {
    context.print_json(*text);
    return 0;
  }
  auto trace = parse_json(*text);
  if (!trace || !trace->is_object()) return fail(Code::internal, "the daemon sent no trace");
  context.print(trace_text(trace->get_object(), context.out));
  return 0;
}

Result<int> prune_verb(Context& context, const Args& args) {
  auto age = parse_duration(args.get("older-than"));
  if (!age || *age % std::chrono::days(1) != Duration(0))
    return fail(Code::invalid_argument,
                fmt::format("sessions prune: --older-than must be a number of days, not \"{}\"",
                            args.get("older-than")),
                "older-than", "for example: --older-than 30d");
  json::object body{{"older_than_days", std::chrono::duration_cast<std::chrono::days>(*age).count()},
                    {"dry_run", true}};
  auto& client = context.client();
  if (!args.has("yes") || args.has("dry-run")) {
    auto text = client.call_text("POST", "/chats/prune", to_text(body));
    if (!text) return fail(text.error());
    auto reply = parse_json(*text);
    const auto* chats = reply && reply->is_object() ? array_at(reply->get_object(), "chats") : nullptr;
    if (args.has("dry-run") && context.json) {
      context.print_json(*text);
      return 0;
    }
    size_t count = chats ? chats->size() : 0;
    for (const auto& each : chats ? *chats : json::array())
      if (each.is_string() && !context.json) context.print(safe_for_terminal(each.get_string()) + "\n");
    if (count == 0) context.note(fmt::format("nothing ended more than {} ago", args.get("older-than")));
    if (args.has("dry-run") || count == 0) return 0;
    Signals signals({SIGINT, SIGTERM, SIGHUP});
    if (!ask_yes_no(context,
                    fmt::format("Delete {} session{} with their folders?", count, count == 1 ? "" : "s"),
                    signals))
      return fail(Code::invalid_argument, "nothing was deleted", "yes", "confirm with --yes");
  }
  body["dry_run"] = false;
  auto text = client.call_text("POST", "/chats/prune", to_text(body), 10min);
  if (!text) return fail(text.error());
  if (context.json) {
    context.print_json(*text);
    return 0;
  }
  auto reply = parse_json(*text);
  context.print(
      fmt::format("deleted {}\n", reply && reply->is_object() ? int_or(reply->get_object(), "removed") : 0));
  return 0;
}

}  // namespace

void add_sessions_commands(std::vector<Command>& table) {
  Command list{.path = "sessions list",
               .group = "Agents",
               .summary = "Lists chats and agent runs, newest first",
               .flags = {{.name = "status",
                          .kind = Kind::text,
                          .value = "STATUS",
                          .summary = "only sessions with this status",
                          .one_of = "active|completed|failed"},
                         {.name = "limit",
                          .kind = Kind::number,
                          .value = "N",
                          .summary = "at most this many; default: 50"}},
               .examples = {"cru sessions list", "cru sessions list --status failed --json"},
               .run = list_verb,
               .reads = true};
  auto bare = list;
  bare.path = "sessions";
  bare.hidden = true;
  table.push_back(std::move(bare));
  table.push_back(std::move(list));
  Argument id{.name = "id", .summary = "the session id, or a prefix of it"};
  table.push_back({.path = "sessions show",
                   .group = "Agents",
                   .summary = "Shows the transcript of a chat or agent run, with subagents and cost",
                   .arguments = {id},
                   .examples = {"cru sessions show 2026-11-15-login"},
                   .run = show_verb,
                   .reads = true});
  table.push_back(
      {.path = "sessions trace",
       .group = "Agents",
       .summary = "Shows as a tree who did what, when, at what cost, and what failed",
       .arguments = {{.name = "id",
                      .summary = "the id, or a prefix of it, of a session, a run, a work item or a "
                                 "conversation; the id of a subagent or a live agent; or a trace id"}},
       .examples = {"cru sessions trace 2026-11-15-login", "cru sessions trace make-3f2a",
                    "cru sessions trace 3f2a1c --json"},
       .run = trace_verb,
       .reads = true});
  table.push_back(
      {.path = "sessions open",
       .group = "Agents",
       .summary = "Prints the folder of a chat or agent run, and opens its session.md in your editor",
       .arguments = {id},
       .examples = {"cru sessions open 2026-11-15-login", "cd \"$(cru sessions open 2026-11-15-login)\""},
       .run = open_chat_verb,
       .reads = true,
       .details = "Uses $VISUAL or $EDITOR, only in a terminal."});
  table.push_back({.path = "sessions prune",
                   .group = "Agents",
                   .summary = "Deletes old finished chats and agent runs, with their folders",
                   .flags = {{.name = "older-than",
                              .kind = Kind::text,
                              .value = "AGE",
                              .summary = "minimum age since the end, for example 30d"},
                             {.name = "dry-run", .summary = "only show what would be deleted"},
                             {.name = "yes", .letter = 'y', .summary = "do not ask for confirmation"}},
                   .examples = {"cru sessions prune --older-than 30d --dry-run",
                                "cru sessions prune --older-than 30d --yes"},
                   .run = prune_verb,
                   .reads = true});
}

}  // namespace cru::cli
