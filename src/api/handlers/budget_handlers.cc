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

Task<Result<Reply>> show_budget(Budgets& budgets, std::string scope) {
  co_return as_reply(budgets, co_await budgets.show(std::move(scope)));
}

Task<Result<Reply>> set_budget(Budgets& budgets, Budgets::Change change) {
  co_return as_reply(budgets, co_await budgets.change(std::move(change)));
}

}  // namespace

void bind_budgets(Api& api, Budgets& budgets) {
  api.bind("list_budgets", [&budgets](const Call&, const json::object& in) {
    return list_budgets(budgets, bool_or(in, "all"), int_or(in, "limit", 200));
  });
  api.bind("show_budget", [&budgets](const Call&, const json::object& in) {
    return show_budget(budgets, text(in, "scope"));
  });
  api.bind("set_budget", [&budgets](const Call&, const json::object& in) {
    return set_budget(budgets, {.scope = text(in, "scope"),
                                .set = text(in, "budget"),
                                .add = text(in, "add"),
                                .clear = bool_or(in, "clear")});
  });
}

}  // namespace cru::api
