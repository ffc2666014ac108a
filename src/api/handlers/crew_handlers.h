#pragma once
/// Handlers of definitions, notes, minds, subagents and chats. Like all handlers they decide nothing.
#include "api/api.h"
#include "api/handlers/input.h"
#include "crew/crew_service.h"
#include "definitions/registry.h"
#include "minds/minds_service.h"
#include "notes/notes_service.h"

namespace cru::api {

/// `default_model` is told for definitions that name none; a model that is none of `models` is warned of.
void bind_definitions(Api& api, definitions::Registry& registry, std::string default_model,
                      std::vector<std::string> models);
void bind_notes(Api& api, notes::Notes& notes);
void bind_minds(Api& api, minds::Minds& minds);
void bind_subagents(Api& api, crew::Crew& crew);
void bind_chats(Api& api, crew::Crew& crew);
/// `tell` makes the reply: the configuration is the daemon's.
void bind_config(Api& api, std::function<Task<Result<json::object>>()> tell);

}  // namespace cru::api
