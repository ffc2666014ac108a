// trust, untrust: a person looks at what the project brings, and lets it count or not.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/text.h"
#include "edges/cli/core/context.h"
#include "edges/cli/core/operation_commands.h"
#include "edges/cli/verbs/all_commands.h"
#include "platform/net/http/message.h"

namespace cru::cli {
namespace {

namespace fs = std::filesystem;

/// One file of the daemon's list.
struct TrustRow {
  std::string path, state, sha256, diff, problem, reasons;
};

std::vector<TrustRow> rows_of(const json::object& listing) {
  std::vector<TrustRow> rows;
  const auto* waiting = array_at(listing, "waiting");
  for (const auto& each : waiting ? *waiting : json::array()) {
    if (!each.is_object()) continue;
    const auto& row = each.get_object();
    std::string reasons;
    if (const auto* list = array_at(row, "reasons"))
      for (const auto& reason : *list)
        if (reason.is_string())
          reasons += (reasons.empty() ? "" : "; ") + std::string(std::string_view(reason.get_string()));
    rows.push_back({std::string(text_or(row, "path")), std::string(text_or(row, "state")),
                    std::string(text_or(row, "sha256")), std::string(text_or(row, "diff")),
                    std::string(text_or(row, "problem")), std::move(reasons)});
  }
  return rows;
}

/// As the daemon names it: relative to the project, where it really is.
std::string item_path(const Context& context, const std::string& typed) {
  std::error_code error;
  auto real = fs::weakly_canonical(fs::absolute(typed, error), error).string();
  auto prefix = context.project.root + "/";
  return real.starts_with(prefix) ? real.substr(prefix.size()) : typed;
}

std::string painted(const std::string& diff, const Style& style) {
  std::string out;
  for (std::string_view rest = diff; !rest.empty();) {
    auto line = rest.substr(0, rest.find('\n'));
    auto colour = line.starts_with("+++") || line.starts_with("---") ? Colour::bold
                  : line.starts_with('+')                            ? Colour::green
                  : line.starts_with('-')                            ? Colour::red
                  : line.starts_with('@')                            ? Colour::cyan
                                                                     : Colour::none;
    out += fmt::format("  {}\n", style.paint(safe_for_terminal(line), colour));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  return out;
}

void show_row(const Context& context, const TrustRow& row) {
  auto out = fmt::format("{} {}\n", context.out.paint(safe_for_terminal(row.path), Colour::bold),
                         context.out.paint(fmt::format("({})", row.state), Colour::dim));
  if (!row.reasons.empty()) out += fmt::format("  it {}\n", safe_for_terminal(row.reasons));
  if (!row.problem.empty())
    out += fmt::format(
        "  {}\n", context.out.paint("it cannot be trusted: " + safe_for_terminal(row.problem), Colour::red));
  context.print(out + painted(row.diff, context.out) + "\n");
}

Result<json::object> parse_listing(const Result<std::string>& text) {
  if (!text) return fail(text.error());
  auto value = parse_json(*text);
  if (!value || !value->is_object())
    return fail(Code::internal, "unexpected reply from the daemon: not a list of files");
  return std::move(value->get_object());
}

/// What waits; of the files that were named, if any were.
Result<json::object> read_listing(Context& context, const std::vector<std::string>& files,
                                  std::string* text) {
  auto target = std::string("/trust");
  if (files.empty()) {
    *text = {};
    auto reply = context.client().call_text("GET", target);
    if (reply) *text = *reply;
    return parse_listing(reply);
  }
  json::array chosen, trusted;
  for (const auto& file : files) {
    auto path = item_path(context, file);
    auto listing = context.client().get(target + "?path=" + percent_encode(path));
    if (!listing) return fail(listing.error());
    auto take = [&](std::string_view list, json::array& into) {
      const auto* rows = array_at(*listing, list);
      for (const auto& row : rows ? *rows : json::array())
        if (row.is_object() && text_or(row.get_object(), "path") == path) into.push_back(row);
    };
    auto before = chosen.size() + trusted.size();
    take("waiting", chosen);
    take("trusted", trusted);
    if (chosen.size() + trusted.size() == before)
      return fail(Code::not_found, fmt::format("no such file in the project: {}", file), "files");
  }
  json::object all{{"waiting", std::move(chosen)}, {"trusted", std::move(trusted)}};
  *text = to_text(all);
  return all;
}

std::string files_in_words(size_t count) { return fmt::format("{} file{}", count, count == 1 ? "" : "s"); }

void show_table(const Context& context, const json::object& listing, const std::vector<TrustRow>& waiting) {
  json::array rows;
  for (const auto& row : waiting)
    rows.push_back(
        {{"file", row.path}, {"state", row.state}, {"why", row.problem.empty() ? row.reasons : row.problem}});
  const auto* trusted = array_at(listing, "trusted");
  for (const auto& each : trusted ? *trusted : json::array())
    if (each.is_object())
      rows.push_back({{"file", text_or(each.get_object(), "path")},
                      {"state", bool_or(each.get_object(), "once") ? "once" : "trusted"},
                      {"why", "since " + std::string(text_or(each.get_object(), "trusted_at"))}});
  constexpr std::array<std::string_view, 3> columns = {"file", "state", "why"};
  if (rows.empty())
    context.note("no file of the project needs trust");
  else
    context.print(table(columns, rows, context.out));
}

/// Exactly what was listed, and nothing that came meanwhile.
Result<std::string> grant(Context& context, const std::vector<TrustRow>& rows) {
  json::object items;
  for (const auto& row : rows)
    if (row.problem.empty()) items[row.path] = row.sha256;
  return context.client().call_text("POST", "/trust", to_text(json::object{{"items", std::move(items)}}));
}

Result<int> trust_verb(Context& context, const Args& args) {
  std::string text;
  auto listing = read_listing(context, args.all("files"), &text);
  if (!listing) return fail(listing.error());
  auto rows = rows_of(*listing);
  auto good = static_cast<size_t>(
      std::ranges::count_if(rows, [](const TrustRow& row) { return row.problem.empty(); }));
  if (args.has("list")) {
    if (context.json)
      context.print_json(text);
    else
      show_table(context, *listing, rows);
    return 0;
  }
  bool asks = !args.has("yes") && !context.json && context.can_ask();
  if (!context.json)
    for (const auto& row : rows) show_row(context, row);
  bool agreed =
      good > 0 &&
      (args.has("yes") || (asks && context.ask_yes(fmt::format("Trust {} as shown?", files_in_words(good)))));
  if (agreed) {
    auto granted = grant(context, rows);
    if (!granted) return fail(granted.error());
    text = *granted;
  }
  if (context.json) context.print_json(text);
  if (rows.empty()) context.note("no file needs trust");
  if (agreed) context.note(files_in_words(good) + " trusted");
  if (!agreed && good > 0)
    context.note(asks ? "not trusted: nothing has changed"
                      : fmt::format("{} not trusted; check the changes, then run: cru trust --yes",
                                    files_in_words(good) + (good == 1 ? " is" : " are")));
  return rows.size() == (agreed ? good : 0) ? 0 : exit_untrusted;
}

Result<int> untrust_verb(Context& context, const Args& args) {
  json::array paths;
  for (const auto& file : args.all("files")) paths.emplace_back(item_path(context, file));
  auto reply = context.client().call_text("POST", "/trust/revoke", to_text(json::object{{"paths", paths}}));
  if (!reply) return fail(reply.error());
  if (context.json)
    context.print_json(*reply);
  else
    context.note(paths.empty() ? std::string("no file of this project is trusted any more")
                               : files_in_words(paths.size()) + " not trusted any more");
  return 0;
}

}  // namespace

void add_trust_commands(std::vector<Command>& table) {
  table.push_back(
      {.path = "trust",
       .group = "Project",
       .summary = "Shows files of the project that could run commands or spend money, and trusts them",
       .arguments = {{.name = "files", .summary = "only these files", .required = false, .rest = true}},
       .flags = {{.name = "yes", .letter = 'y', .summary = "trust them without asking"},
                 {.name = "list",
                  .letter = 'l',
                  .summary = "only list which files need trust and which are trusted"}},
       .examples = {"cru trust", "cru trust --list", "cru trust .crucible/agents/writer.md --yes"},
       .run = trust_verb,
       .details = "Models, scripts, definitions that override another or request more than reading, teams, "
                  "and\nguardrails that allow something have no effect until you trust them. The command "
                  "shows what has\nchanged since you last trusted a file; a file that changes needs trust "
                  "again. Trust is recorded in\nyour own state folder (~/.local/state/cru), by SHA-256. "
                  "Exits with 8 if a file still needs trust."});
  table.push_back(
      {.path = "untrust",
       .group = "Project",
       .summary = "Forgets that files of the project are trusted",
       .arguments =
           {{.name = "files", .summary = "the files; default: all", .required = false, .rest = true}},
       .examples = {"cru untrust", "cru untrust teams.yaml"},
       .run = untrust_verb});
}

}  // namespace cru::cli
