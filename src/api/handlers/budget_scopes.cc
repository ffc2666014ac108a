// Whom a budget is for, as a person types it.
#include <fmt/format.h>

#include <algorithm>

#include "api/handlers/handlers.h"
#include "base/text.h"
#include "crew/crew_table.h"
#include "members/member_table.h"
#include "runs/run_table.h"

namespace cru::api {
namespace {

constexpr int64_t most_names = 5'000;

/// A name and the id that it stands for.
using Names = std::vector<std::pair<std::string, std::string>>;

Names names_of(Reader& reader, const std::string& kind, const std::vector<std::string>& teams) {
  Names names;
  auto add = [&](const std::string& id) { names.emplace_back(id, id); };
  if (kind == "chat")
    for (const auto& chat : crew::list_chats(reader, "", most_names)) add(chat.id);
  if (kind == "run") {
    for (const auto& run : runs::list(reader, {.status = {}, .before = {}, .limit = most_names}))
      add(run.task_id);
    for (const auto& subagent : crew::list_subagents(reader, "", most_names)) add(subagent.task_id);
  }
  if (kind == "member")
    for (const auto& member : members::list_members(reader, true, most_names)) {
      add(member.id);
      if (!member.is_ended()) names.emplace_back(member.name, member.id);
    }
  if (kind == "team")
    for (const auto& team : teams) add(team);
  return names;
}

/// Something is known of it, though nobody may have that name any more.
bool is_in_use(Reader& reader, const std::string& scope) {
  return budgets::find_setting(reader, scope) || budgets::spent_of(reader, scope) != budgets::Spend() ||
         budgets::is_shared(reader, scope);
}

std::string how_to_list(const std::string& kind) {
  if (kind == "chat") return "cru sessions list";
  if (kind == "member") return "cru crew --all";
  return kind == "team" ? "cru teams" : "cru ps";
}

}  // namespace

Result<std::string> resolve_scope(Reader& reader, std::string_view text,
                                  const std::vector<std::string>& teams, Time now) {
  auto scope = budgets::parse_scope(text, now);
  if (!scope) return fail(std::move(scope.error()));
  if (scope->kind == "day" || is_in_use(reader, scope->text())) return scope->text();
  std::vector<std::string> begun, all;
  for (auto& [name, id] : names_of(reader, scope->kind, teams)) {
    if (name == scope->id) return fmt::format("{}:{}", scope->kind, id);
    if (name.starts_with(scope->id) && std::ranges::find(begun, id) == begun.end()) begun.push_back(id);
    all.push_back(std::move(name));
  }
  if (begun.size() == 1) return fmt::format("{}:{}", scope->kind, begun[0]);
  auto typed = safe_for_terminal(scope->id);
  if (begun.empty()) {
    auto near = closest(scope->id, all);
    return fail(Code::not_found, fmt::format("no {} is called \"{}\"", scope->kind, typed), "scope",
                near.empty() ? fmt::format("list them with: {}", how_to_list(scope->kind))
                             : fmt::format("did you mean: {}:{}", scope->kind, near));
  }
  std::string names;
  for (size_t i = 0; i < std::min<size_t>(begun.size(), 8); ++i) names += (i ? ", " : "") + begun[i];
  return fail(Code::invalid_argument,
              fmt::format("\"{}\" is ambiguous: it matches {} {}s", typed, begun.size(), scope->kind),
              "scope",
              fmt::format("type more characters of one: {}{}", names, begun.size() > 8 ? ", …" : ""));
}

}  // namespace cru::api
