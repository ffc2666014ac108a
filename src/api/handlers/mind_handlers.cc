// Minds: which there are, and the keys that are lent to them.
#include "api/handlers/crew_handlers.h"

namespace cru::api {
namespace {

using minds::Minds;

json::object to_json(const minds::Readiness& ready) {
  json::array models;
  for (const auto& model : ready.models) models.emplace_back(model);
  return {{"provider", ready.provider}, {"kind", minds::name(ready.kind)}, {"works", ready.works},
          {"why", ready.why},           {"fix", json_or_null(ready.fix)},  {"models", std::move(models)}};
}

json::object to_json(const minds::Model& model) {
  json::object out{{"name", model.name}, {"provider", model.provider}, {"id", model.id}, {"prices", nullptr}};
  if (model.prices)
    out["prices"] = {{"input", model.prices->input},
                     {"output", model.prices->output},
                     {"cache_read", model.prices->cache_read},
                     {"cache_write", model.prices->cache_write}};
  return out;
}

Task<Result<Reply>> list_minds(Minds& minds) {
  json::array ready, models;
  for (const auto& one : co_await minds.survey()) ready.push_back(to_json(one));
  for (const auto& [name, model] : minds.settings().models) models.push_back(to_json(model));
  json::object reply{{"minds", std::move(ready)},
                     {"models", std::move(models)},
                     {"default_model", minds.settings().default_model}};
  if (const auto& waiting = minds.settings().waiting_models; !waiting.empty())
    reply["waiting"] = json::value_from(waiting);
  co_return Reply{std::move(reply)};
}

Task<Result<Reply>> offer_key(Minds& minds, std::string provider, std::string key) {
  auto kept = minds.offer_key(provider, std::move(key));
  if (!kept) co_return fail(std::move(kept.error()));
  co_return Reply{json::object{{"provider", provider}, {"kept", "in memory"}}};
}

}  // namespace

void bind_minds(Api& api, Minds& minds) {
  api.bind("list_minds", [&minds](const Call&, const json::object&) { return list_minds(minds); });
  api.bind("offer_key", [&minds](const Call&, const json::object& in) {
    return offer_key(minds, text(in, "provider"), text(in, "key"));
  });
}

}  // namespace cru::api
