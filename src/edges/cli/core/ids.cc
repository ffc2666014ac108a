#include "edges/cli/core/ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace cru::cli {

namespace {

struct Listing {
  const char *target, *list, *key, *noun, *plural, *verb;
};
const Listing& listing_of(Named named) {
  static const Listing runs{"/agents?limit=1000", "agents", "task_id", "run", "runs", "cru ps"};
  static const Listing questions{"/questions", "questions", "id",
                                 "question",   "questions", "cru questions list"};
  static const Listing work{"/work?limit=1000", "work",       "task_id",
                            "work item",        "work items", "cru work list"};
  static const Listing handoffs{"/handoffs?limit=1000", "handoffs", "id", "handoff", "handoffs",
                                "cru handoffs list"};
  static const Listing live{"/live?limit=1000", "agents",      "agent_id",
                            "live agent",       "live agents", "cru live list"};
  static const Listing pairings{"/pairings", "pairings", "id", "pairing", "pairings", "cru pair list"};
  static const Listing conversations{"/auto/conversations?limit=1000",
                                     "conversations",
                                     "conversationId",
                                     "conversation",
                                     "conversations",
                                     "cru auto list"};
  switch (named) {
    case Named::conversation:
      return conversations;
    case Named::pairing:
      return pairings;
    case Named::live:
      return live;
    case Named::question:
      return questions;
    case Named::work:
      return work;
    case Named::handoff:
      return handoffs;
    case Named::run:
      break;
  }
  return runs;
}

/// The pending questions of the run with this name; of several runs that begin with it if there is none.
std::vector<std::string> questions_of_run(const json::array& questions, const std::string& name) {
  std::vector<std::string> exact, begun;
  for (const auto& each : questions) {
    if (!each.is_object() || text_or(each.get_object(), "status") != "pending") continue;
    auto run = text_or(each.get_object(), "task_id");
    if (!name.empty() && run.starts_with(name))
      (run == name ? exact : begun).emplace_back(text_or(each.get_object(), "id"));
  }
  return exact.empty() ? begun : exact;
}

}  // namespace

Result<std::string> complete_id(Client& client, Named named, const std::string& prefix) {
  const auto& listing = listing_of(named);
  auto reply = client.get(listing.target);
  if (!reply) return fail(reply.error());
  std::vector<std::string> ids, found;
  if (const auto* rows = array_at(*reply, listing.list))
    for (const auto& row : *rows)
      if (row.is_object()) ids.emplace_back(text_or(row.get_object(), listing.key));
  for (const auto& id : ids) {
    if (id == prefix) return id;
    // What tells conversations of a day apart is at the end.
    bool ends_so = named == Named::conversation && id.ends_with("-" + prefix);
    if (!prefix.empty() && (id.starts_with(prefix) || ends_so)) found.push_back(id);
  }
  if (const auto* rows = array_at(*reply, listing.list);
      rows && named == Named::question && found.size() != 1)
    if (auto asked = questions_of_run(*rows, prefix); found.empty() || asked.size() == 1) found = asked;
  if (found.size() == 1) return found[0];
  if (found.empty()) {
    auto near = closest(prefix, ids);
    auto hint = fmt::format("list them with: {}", listing.verb);
    if (!near.empty()) hint = "did you mean: " + near;
    return fail(Code::not_found, fmt::format("{} not found: \"{}\"", listing.noun, prefix), "id", hint);
  }
  std::string names;
  for (size_t i = 0; i < std::min<size_t>(found.size(), 8); ++i) names += (i ? ", " : "") + found[i];
  if (found.size() > 8) names += ", …";
  return fail(Code::invalid_argument,
              fmt::format("\"{}\" is ambiguous: it matches {} {}", prefix, found.size(), listing.plural),
              "id", "type more characters of one: " + names);
}

}  // namespace cru::cli
