// Budgets: what may be spent and what was.
#include "api/handlers/handlers.h"

namespace cru::api {
namespace {

using budgets::Budgets;

Result<Reply> as_reply(const Budgets& budgets, Result<budgets::View> view) {
  if (!view) return fail(std::move(view.error()));
  return Reply(to_json(*view, budgets.policy()));
}

Task<Result<Reply>> list_budgets(Budgets& budgets, bool all, int64_t limit) {
  auto found = co_await budgets.list(all, limit);
  if (!found) co_return fail(std::move(found.error()));
  json::array rows;
  for (const auto& view : *found) rows.push_back(to_json(view, budgets.policy()));
  co_return Reply(json::object{{"budgets", std::move(rows)}});
}

/// What the handlers of budgets need.
struct BudgetRooms {
  Store& store;
  Clock& clock;
  Budgets& budgets;
  std::function<Task<std::vector<std::string>>()> teams;
};

Task<Result<std::string>> find_scope(const BudgetRooms& rooms, std::string scope) {
  auto teams = scope.starts_with("team:") ? co_await rooms.teams() : std::vector<std::string>();
  co_return co_await rooms.store.read([scope, teams, now = rooms.clock.wall()](Reader& reader) {
    return resolve_scope(reader, scope, teams, now);
  });
}

Task<Result<Reply>> show_budget(BudgetRooms rooms, std::string scope) {
  auto found = co_await find_scope(rooms, std::move(scope));
  if (!found) co_return fail(std::move(found.error()));
  co_return as_reply(rooms.budgets, co_await rooms.budgets.show(*std::move(found)));
}

Task<Result<Reply>> set_budget(BudgetRooms rooms, Budgets::Change change) {
  auto found = co_await find_scope(rooms, change.scope);
  if (!found) co_return fail(std::move(found.error()));
  change.scope = *std::move(found);
  co_return as_reply(rooms.budgets, co_await rooms.budgets.change(std::move(change)));
}

}  // namespace

void bind_budgets(Api& api, Store& store, Clock& clock, Budgets& budgets,
                  std::function<Task<std::vector<std::string>>()> teams) {
  BudgetRooms rooms{store, clock, budgets, std::move(teams)};
  api.bind("list_budgets", [&budgets](const Call&, const json::object& in) {
    return list_budgets(budgets, bool_or(in, "all"), int_or(in, "limit", 200));
  });
  api.bind("show_budget",
           [rooms](const Call&, const json::object& in) { return show_budget(rooms, text(in, "scope")); });
  api.bind("set_budget", [rooms](const Call&, const json::object& in) {
    return set_budget(rooms, {.scope = text(in, "scope"),
                              .set = text(in, "budget"),
                              .add = text(in, "add"),
                              .clear = bool_or(in, "clear")});
  });
}

}  // namespace cru::api
