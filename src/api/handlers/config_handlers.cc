// get_config: the handler is given what to tell, for the configuration is the daemon's.
#include "api/handlers/crew_handlers.h"

namespace cru::api {
namespace {

Task<Result<Reply>> get_config(std::function<Task<Result<json::object>>()> tell) {
  auto told = co_await tell();
  if (!told) co_return fail(std::move(told.error()));
  co_return Reply(*std::move(told));
}

}  // namespace

void bind_config(Api& api, std::function<Task<Result<json::object>>()> tell) {
  api.bind("get_config", [tell](const Call&, const json::object&) { return get_config(tell); });
}

}  // namespace cru::api
