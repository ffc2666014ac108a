// handoffs: what a session left for the next one, as a page, with what it changed.
#include <fmt/format.h>

#include <set>

#include "api/operation.h"
#include "base/text.h"
#include "edges/cli/core/context.h"
#include "edges/cli/core/operation_commands.h"
#include "edges/cli/terminal/word_wrap.h"
#include "edges/cli/verbs/all_commands.h"

namespace cru::cli {
namespace {

constexpr size_t commit_digits = 12;  ///< of a commit's id, for people

std::string handoff_field(const json::object& object, std::string_view name, const Style& style) {
  const auto* value = object.if_contains(name);
  return value ? cell(name, *value, style) : std::string("-");
}

std::string commit_name(std::string_view id) {
  if (id.empty()) return "unknown";
  if (id.find_first_not_of('0') == std::string_view::npos) return "no commit";
  return safe_for_terminal(id.substr(0, commit_digits));
}

std::string commits_part(const json::object& changeset) {
  auto base = text_or(changeset, "base"), head = text_or(changeset, "head");
  if (base.empty() && head.empty()) return "";
  if (base == head) return fmt::format("  HEAD stayed at {}\n", commit_name(head));
  auto out = fmt::format("  HEAD went from {} to {}\n", commit_name(base), commit_name(head));
  const auto* commits = array_at(changeset, "commits");
  if (!commits) return out;
  for (const auto& item : *commits)
    if (const auto* commit = item.if_object())
      out += fmt::format("  - {} {} ({})\n", commit_name(text_or(*commit, "id")),
                         safe_for_terminal(text_or(*commit, "subject")),
                         safe_for_terminal(text_or(*commit, "author")));
  if (bool_or(changeset, "more_commits")) out += fmt::format("  - and more: git log {}..{}\n", base, head);
  return out;
}

/// What the handoff's session changed; empty if that is nothing.
std::string changes_part(const json::object& handoff, const Style& style) {
  const auto* changeset = object_at(handoff, "changeset");
  if (!changeset) return "";
  bool is_live = text_or(*changeset, "id").empty();
  auto title = is_live ? "Changed by the session until now" : "Changed by the session";
  auto out = fmt::format("\n{}:\n", style.paint(title, Colour::bold));
  if (!is_live) out += commits_part(*changeset);
  const auto* files = array_at(*changeset, "files");
  if (!files || files->empty()) return out + "  no files were edited with its tools\n";
  auto count = static_cast<size_t>(int_or(*changeset, "file_count", static_cast<int64_t>(files->size())));
  out += fmt::format("  {} edited:\n", count == 1 ? "1 file" : fmt::format("{} files", count));
  for (const auto& file : *files) out += fmt::format("  - {}\n", cell("files", file, style));
  if (count > files->size()) out += fmt::format("  - and {} more\n", count - files->size());
  return out;
}

std::string origin_of(const json::object& handoff, const Style& style) {
  if (text_or(handoff, "kind") != "final") return "";
  if (bool_or(handoff, "empty")) return "Written by cru when the session ended. The session did nothing.\n";
  if (text_or(handoff, "carries").empty()) return "Written by cru when the session ended.\n";
  return fmt::format("Written by the agent ({}), completed by cru when the session ended.\n",
                     handoff_field(handoff, "carries", style));
}

std::string handoff_page(const json::object& handoff, const Style& style) {
  auto out =
      fmt::format("{} by {}, {} ({})\n{}\n{}\n", style.paint("Handoff", Colour::bold),
                  handoff_field(handoff, handoff.contains("written_by") ? "written_by" : "agent_name", style),
                  handoff_field(handoff, "created_at", style), handoff_field(handoff, "id", style),
                  origin_of(handoff, style), safe_for_terminal(text_or(handoff, "summary"), Newlines::keep));
  out = wrap_words(out, style.prose_width());
  for (auto [key, title] : {std::pair{"completed_work", "Done"}, std::pair{"in_progress", "In progress"},
                            std::pair{"decisions", "Decided"}, std::pair{"next_steps", "Next"},
                            std::pair{"relevant_files", "Files"}}) {
    const auto* list = array_at(handoff, key);
    if (!list || list->empty()) continue;
    out += fmt::format("\n{}:\n", style.paint(title, Colour::bold));
    for (const auto& item : *list)
      out += wrap_words(fmt::format("  - {}\n", cell(key, item, style)), style.prose_width(), "    ");
  }
  return out + changes_part(handoff, style);
}

Result<json::object> handoff_reply(Result<std::string> text) {
  if (!text) return fail(text.error());
  auto value = parse_json(*text);
  if (!value || !value->is_object())
    return fail(Code::internal, "unexpected reply from the daemon: not an object");
  return std::move(value->get_object());
}

/// The newest that has something to tell, or the newest.
Result<std::string> newest_handoff(Context& context) {
  for (json::object input : {json::object{{"limit", 1}, {"empty", false}}, json::object{{"limit", 1}}}) {
    auto reply = handoff_reply(call_row(context, "list_handoffs", std::move(input)));
    if (!reply) return fail(reply.error());
    const auto* list = array_at(*reply, "handoffs");
    if (list && !list->empty() && list->front().is_object())
      return std::string(text_or(list->front().get_object(), "id"));
  }
  return fail(Code::not_found, "no handoff exists yet", {}, "write one with: cru handoffs write \"SUMMARY\"");
}

Result<int> show_handoff(Context& context, const Args& args) {
  auto id = args.has("id") ? Result<std::string>(args.get("id")) : newest_handoff(context);
  if (!id) return fail(id.error());
  auto reply = handoff_reply(call_row(context, "get_handoff", {{"id", *id}}));
  if (!reply) return fail(reply.error());
  if (context.json)
    context.print_json(to_text(*reply));
  else
    context.print(handoff_page(*reply, context.out));
  return 0;
}

/// Each handoff once: what an agent wrote is part of the final one that carries it.
json::array handoff_rows(const json::array& handoffs) {
  constexpr size_t summary_columns = 100;
  std::set<std::string, std::less<>> carried;
  for (const auto& each : handoffs)
    if (each.is_object()) carried.emplace(text_or(each.get_object(), "carries"));
  json::array rows;
  for (const auto& each : handoffs) {
    if (!each.is_object() || carried.contains(text_or(each.get_object(), "id"))) continue;
    auto row = each.get_object();
    if (bool_or(row, "empty")) row["kind"] = "empty";
    if (!row.contains("written_by")) row["written_by"] = std::string(text_or(row, "agent_name"));
    row["summary"] = truncate(first_line(trim(text_or(row, "summary"))), summary_columns);
    rows.emplace_back(std::move(row));
  }
  return rows;
}

Result<int> list_handoffs_verb(Context& context, const Args& args) {
  auto input = row_input("list_handoffs", args);
  if (args.has("no-empty")) input["empty"] = false;
  if (context.json) return run_row(context, "list_handoffs", std::move(input));
  auto reply = handoff_reply(call_row(context, "list_handoffs", std::move(input)));
  if (!reply) return fail(reply.error());
  const auto* list = array_at(*reply, "handoffs");
  const auto& columns = api::find_operation("list_handoffs")->cli.columns;
  if (!list || list->empty())
    context.note("no handoffs");
  else
    context.print(table(columns, handoff_rows(*list), context.out));
  return 0;
}

}  // namespace

void add_handoff_commands(std::vector<Command>& table) {
  auto list = generic_command("list_handoffs");
  list.group = "Coordination";
  for (auto& flag : list.flags)
    if (flag.name == "empty")
      flag.name = "no-empty", flag.summary = "leave out those of sessions that did nothing";
  list.examples = {"cru handoffs list --limit 5", "cru handoffs list --query parser"};
  list.run = list_handoffs_verb;
  table.push_back(std::move(list));
  auto show = generic_command("get_handoff");
  show.group = "Coordination";
  show.arguments = {{.name = "id",
                     .summary = "the handoff id or a prefix of it; default: the newest that is not empty",
                     .required = false}};
  show.examples = {"cru handoffs show", "cru handoffs show 9c1e"};
  show.run = show_handoff;
  table.push_back(std::move(show));
  auto write = generic_command("write_handoff");
  write.group = "Coordination";
  write.examples = {"cru handoffs write \"the parser is done\" --relevant-files src/parser.cc"};
  table.push_back(std::move(write));
}

}  // namespace cru::cli
