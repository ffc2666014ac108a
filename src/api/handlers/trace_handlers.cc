#include "api/handlers/handlers.h"
#include "traces/trace_reading.h"

namespace cru::api {
namespace {

Task<Result<Reply>> get_trace(Store& store, Clock& clock, std::string id) {
  auto found = co_await store.read([id](Reader& reader) { return traces::find_trace(reader, id); });
  if (!found) co_return fail(std::move(found.error()));
  co_return Reply(traces::to_json(*found, clock.wall()));
}

}  // namespace

void bind_traces(Api& api, Store& store, Clock& clock) {
  api.bind("get_trace", [&store, &clock](const Call&, const json::object& in) {
    return get_trace(store, clock, text(in, "id"));
  });
}

}  // namespace cru::api
