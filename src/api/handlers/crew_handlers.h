#pragma once
/// Handlers of definitions, notes, minds, subagents and chats. Like all handlers they decide nothing.
#include "api/engine.h"
#include "api/handlers/input.h"
#include "definitions/registry.h"
#include "minds/minds_service.h"
#include "notes/notes_service.h"

namespace cru::api {

/// `default_model` is told for definitions that name none.
void bind_definitions(Api& api, definitions::Registry& registry, std::string default_model);
void bind_notes(Api& api, notes::Notes& notes);
void bind_minds(Api& api, minds::Minds& minds);

}  // namespace cru::api
