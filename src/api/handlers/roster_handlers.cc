// Everybody who is there.
#include "api/handlers/handlers.h"

namespace cru::api {
namespace {

Task<Result<Reply>> list_crew(Store& store, roster::Query query, Time now) {
  auto listed = co_await store.read(
      [query, now](Reader& reader) -> Result<roster::Page> { return roster::list(reader, query, now); });
  if (!listed) co_return fail(std::move(listed.error()));
  json::array crew;
  for (const auto& entry : listed->entries) crew.push_back(to_json(entry));
  co_return Reply(json::object{{"success", true}, {"crew", std::move(crew)}, {"more", listed->more}});
}

Task<Result<Reply>> top(Store& store, budgets::Budgets* budgets, roster::Query query, Time now) {
  auto listed = co_await store.read([query, now](Reader& reader) -> Result<roster::Page> {
    return roster::list_spending(reader, query, now);
  });
  if (!listed) co_return fail(std::move(listed.error()));
  json::array crew;
  for (const auto& entry : listed->entries) crew.push_back(to_json(entry));
  json::object out{{"crew", std::move(crew)},
                   {"more", listed->more},
                   {"tokens_per_minute", listed->tokens_a_minute},
                   {"today", nullptr},
                   {"at", to_rfc3339(now)}};
  if (budgets)
    if (auto today = co_await budgets->show("day")) out["today"] = to_json(*today, budgets->policy());
  co_return Reply(std::move(out));
}

Task<Result<>> add_badges(Store& store, Time now, json::object& reply) {
  auto* agents = reply.contains("agents") ? reply["agents"].if_array() : nullptr;
  if (!agents || agents->empty()) co_return Result<>();
  std::vector<std::string> ids;
  for (const auto& agent : *agents) ids.emplace_back(text_or(agent.as_object(), "member"));
  auto badges =
      co_await store.read([ids, now](Reader& reader) -> Result<std::map<std::string, members::Badge>> {
        return roster::badges_of(reader, ids, now);
      });
  if (!badges) co_return fail(std::move(badges.error()));
  for (size_t i = 0; i < ids.size(); ++i) {
    auto found = badges->find(ids[i]);
    auto& badge = (*agents)[i].as_object()["badge"];
    if (found != badges->end()) badge = members::name(found->second.word);
  }
  co_return Result<>();
}

}  // namespace

std::function<Task<Result<>>(json::object& reply)> badges_of_agents(Store& store, Clock& clock) {
  return [&store, &clock](json::object& reply) { return add_badges(store, clock.wall(), reply); };
}

void bind_roster(Api& api, Store& store, Clock& clock, budgets::Budgets* budgets) {
  api.bind("top", [&store, &clock, budgets](const Call&, const json::object& in) {
    return top(store, budgets, {.limit = int_or(in, "limit", 200)}, clock.wall());
  });
  api.bind("list_crew", [&store, &clock](const Call& call, const json::object& in) {
    return list_crew(store,
                     {.with_ended = bool_or(in, "all"),
                      .with_conversations = call.caller == person,
                      .limit = int_or(in, "limit", 200)},
                     clock.wall());
  });
}

}  // namespace cru::api
