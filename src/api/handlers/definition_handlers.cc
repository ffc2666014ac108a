// Definitions: which agents there are, what each says, what is wrong with those that do not count.
#include <fmt/format.h>

#include <algorithm>

#include "api/handlers/crew_handlers.h"
#include "platform/files/log.h"

namespace cru::api {
namespace {

using definitions::Catalog;
using definitions::CheckedFile;
using definitions::Definition;
using definitions::Permissions;
using definitions::Problem;
using definitions::Registry;
using definitions::Source;
using Written = std::function<Task<Result<>>(std::string path, std::string text)>;

/// Which model it thinks with, and who says so.
void add_model(json::object& out, const Definition& definition, const std::string& fallback) {
  bool is_default = definition.model.empty();
  out["model"] = is_default ? fallback : definition.model;
  out["model_source"] = is_default ? "default" : definition.model == "inherit" ? "parent" : "definition";
}

json::value overrides(const Catalog& catalog, const std::string& name) {
  auto found = catalog.overridden.find(name);
  return found == catalog.overridden.end() ? json::value(nullptr) : json::value(found->second);
}

Task<Result<Reply>> list_agents(Registry& registry, std::string default_model) {
  auto catalog = co_await registry.look();
  json::array agents;
  for (const auto& definition : catalog.agents) {
    if (!definition.enabled) continue;
    json::object agent{{"name", definition.name}, {"description", definition.description}};
    add_model(agent, definition, default_model);
    agent["permissions"] = json::value_from(definition.permissions.names());
    agent["source"] = name(definition.source);
    agent["path"] = definition.path;
    agent["overrides"] = overrides(catalog, definition.name);
    agents.push_back(std::move(agent));
  }
  json::object reply{{"agents", std::move(agents)}, {"skipped", catalog.skipped}};
  json::array waiting;
  for (const auto& [name, path, reasons] : catalog.waiting)
    waiting.push_back({{"name", name}, {"path", path}, {"reasons", json::value_from(reasons)}});
  if (!waiting.empty()) reply["waiting"] = std::move(waiting);
  co_return Reply(std::move(reply));
}

Task<Result<Reply>> get_agent(Registry& registry, std::string default_model, std::string name,
                              bool disabled) {
  auto catalog = co_await registry.look();
  auto definition = disabled ? catalog.find(name) : catalog.find_enabled(name);
  if (!definition) co_return fail(std::move(definition.error()));
  auto reply = to_json(*definition, true);
  add_model(reply, *definition, default_model);
  reply["overrides"] = overrides(catalog, name);
  co_return Reply(std::move(reply));
}

json::object validation(const std::vector<CheckedFile>& files, const std::vector<Problem>& problems) {
  json::array agents, told;
  for (const auto& file : files)
    agents.push_back({{"name", file.name}, {"path", file.path}, {"valid", file.is_valid}});
  for (const auto& problem : problems) told.push_back(to_json(problem));
  return {{"valid", std::ranges::none_of(problems, &Problem::is_error)},
          {"checked", files.size()},
          {"invalid", std::ranges::count(files, false, &CheckedFile::is_valid)},
          {"agents", std::move(agents)},
          {"problems", std::move(told)}};
}

Task<Result<Reply>> validate_agents(Registry& registry, std::vector<std::string> models, std::string name) {
  auto catalog = co_await registry.look();
  check_models(catalog, models);
  if (name.empty()) co_return Reply(validation(catalog.checked, catalog.problems));
  std::erase_if(catalog.checked,
                [&](const CheckedFile& file) { return file.name != name && file.stem != name; });
  if (catalog.checked.empty()) {
    // A built-in one is no file to check, and valid; anything else is not there.
    auto definition = catalog.find(name);
    if (!definition) co_return fail(std::move(definition.error()));
    catalog.checked.push_back({name, definition->path, name, definition->source, true});
  }
  std::erase_if(catalog.problems, [&](const Problem& problem) {
    return std::ranges::find(catalog.checked, problem.path, &CheckedFile::path) == catalog.checked.end();
  });
  co_return Reply(validation(catalog.checked, catalog.problems));
}

struct NewAgent {
  std::string name, description, model;
  std::vector<std::string> permissions;
  bool for_user = false;
};

Result<Permissions> to_permissions(const std::vector<std::string>& names) {
  if (names.empty()) return Permissions::baseline();
  Permissions out;
  for (const auto& each : names) {
    auto permission = definitions::permission_from(each);
    if (!permission) {
      auto meant = definitions::meant_permission(each);
      return fail(Code::invalid_argument, fmt::format("unknown permission \"{}\"", each), "permissions",
                  meant.empty() ? fmt::format("valid permissions: {}", Permissions::all().in_words())
                                : fmt::format("did you mean {}?", meant));
    }
    out.add(*permission);
  }
  return out;
}

Task<Result<Reply>> create_agent(Registry& registry, Written written, NewAgent agent) {
  auto permissions = to_permissions(agent.permissions);
  if (!permissions) co_return fail(std::move(permissions.error()));
  auto text = definitions::new_definition_text(agent.name, agent.description, agent.model, *permissions);
  if (!text) co_return fail(std::move(text.error()));
  auto path = co_await registry.create(agent.name, *text, agent.for_user ? Source::system : Source::project);
  if (!path) co_return fail(std::move(path.error()));
  // The file is there; where its trust could not be recorded it waits like any other.
  if (!agent.for_user)
    if (auto told = co_await written(*path, *std::move(text)); !told)
      log_warn("cannot record that a new definition is trusted", {{"error", told.error().message}});
  co_return Reply(json::object{{"name", agent.name}, {"path", *path}});
}

}  // namespace

void bind_definitions(Api& api, Registry& registry, std::function<const minds::Settings&()> settings,
                      Written written) {
  api.bind("list_agents", [&registry, settings](const Call&, const json::object&) {
    return list_agents(registry, settings().default_model);
  });
  api.bind("get_agent", [&registry, settings](const Call&, const json::object& in) {
    return get_agent(registry, settings().default_model, text(in, "name"), bool_or(in, "disabled"));
  });
  api.bind("validate_agents", [&registry, settings](const Call&, const json::object& in) {
    std::vector<std::string> models(settings().waiting_models.begin(), settings().waiting_models.end());
    for (const auto& [name, model] : settings().models) models.push_back(name);
    return validate_agents(registry, std::move(models), text(in, "name"));
  });
  api.bind("create_agent", [&registry, written](const Call&, const json::object& in) {
    return create_agent(registry, written,
                        {.name = text(in, "name"),
                         .description = text(in, "description"),
                         .model = text(in, "model"),
                         .permissions = texts_at(in, "permissions"),
                         .for_user = text_or(in, "scope") == "user"});
  });
}

}  // namespace cru::api
