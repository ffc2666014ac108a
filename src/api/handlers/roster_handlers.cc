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

}  // namespace

void bind_roster(Api& api, Store& store, Clock& clock) {
  api.bind("list_crew", [&store, &clock](const Call&, const json::object& in) {
    return list_crew(store, {.with_ended = bool_or(in, "all"), .limit = int_or(in, "limit", 200)},
                     clock.wall());
  });
}

}  // namespace cru::api
