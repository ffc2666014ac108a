#include "edges/cli/ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace cru::cli {

Result<std::string> complete_id(Client& client, Named kind, const std::string& prefix) {
  bool is_run = kind == Named::run;
  auto reply = client.get(is_run ? "/agents?limit=1000" : "/questions");
  if (!reply) return fail(reply.error());
  std::vector<std::string> ids, found;
  if (const auto* rows = array_at(*reply, is_run ? "agents" : "questions"))
    for (const auto& row : *rows)
      if (row.is_object()) ids.emplace_back(text_or(row.get_object(), is_run ? "task_id" : "id"));
  for (const auto& id : ids) {
    if (id == prefix) return id;
    if (!prefix.empty() && id.starts_with(prefix)) found.push_back(id);
  }
  if (found.size() == 1) return found[0];
  const char* noun = is_run ? "run" : "question";
  if (found.empty()) {
    auto near = closest(prefix, ids);
    auto hint = is_run ? std::string("list them with: cru ps") : "list them with: cru questions list";
    if (!near.empty()) hint = "did you mean: " + near;
    return fail(Code::not_found, fmt::format("{} not found: \"{}\"", noun, prefix), "id", hint);
  }
  std::string names;
  for (size_t i = 0; i < std::min<size_t>(found.size(), 8); ++i) names += (i ? ", " : "") + found[i];
  if (found.size() > 8) names += ", …";
  return fail(Code::invalid_argument,
              fmt::format("\"{}\" is the beginning of {} {}s", prefix, found.size(), noun), "id",
              "type more of one: " + names);
}

}  // namespace cru::cli
