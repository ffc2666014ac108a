#pragma once
/// Handlers of definitions, notes, minds, subagents, chats and trust. Like all handlers they decide nothing.
#include "api/api.h"
#include "api/handlers/input.h"
#include "crew/crew_service.h"
#include "definitions/registry.h"
#include "minds/minds_service.h"
#include "notes/notes_service.h"
#include "trust/trust_service.h"

namespace cru::api {

/// The default model of `settings` is told for definitions that name none; a model that is none of its models
/// is warned of. `written` is told of a definition of the project that a person has created.
void bind_definitions(Api& api, definitions::Registry& registry,
                      std::function<const minds::Settings&()> settings,
                      std::function<Task<Result<>>(std::string path, std::string text)> written);
void bind_notes(Api& api, notes::Notes& notes);
void bind_minds(Api& api, minds::Minds& minds);
void bind_subagents(Api& api, crew::Crew& crew);
void bind_chats(Api& api, crew::Crew& crew);
void bind_trust(Api& api, trust::Trust& trust);
/// `tell` makes the reply: the configuration is the daemon's.
void bind_config(Api& api, std::function<Task<Result<json::object>>()> tell);

}  // namespace cru::api
