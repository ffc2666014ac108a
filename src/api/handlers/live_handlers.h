#pragma once
/// Handlers of live agents and their world. Like all handlers they decide nothing.
#include "api/api.h"
#include "api/handlers/input.h"
#include "autonomy/runtime.h"

namespace cru::api {

void bind_live(Api& api, autonomy::AgentRuntime& live);

}  // namespace cru::api
