#pragma once
/// Handlers of auto mode. Like all handlers they decide nothing.
#include "api/api.h"
#include "api/handlers/input.h"
#include "auto_mode/auto_mode_service.h"

namespace cru::api {

void bind_auto_mode(Api& api, auto_mode::AutoMode& mode);

}  // namespace cru::api
