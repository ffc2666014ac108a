#include "definitions/catalog.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"

namespace cru::definitions {
namespace {

using ByName = std::map<std::string, Definition>;

bool has_error(const std::vector<Problem>& problems) {
  return std::ranges::any_of(problems, &Problem::is_error);
}

/// Of the file: the frontmatter begins behind its fence.
int line_of(std::string_view frontmatter, std::string_view key) {
  int line = 2;
  for (size_t at = 0; at < frontmatter.size(); ++line) {
    if (frontmatter.substr(at).starts_with(key)) return line;
    auto end = frontmatter.find('\n', at);
    if (end == std::string_view::npos) break;
    at = end + 1;
  }
  return 1;
}

/// The folder's valid definitions; the files and their problems go into the catalog.
ByName take_folder(Catalog& catalog, const FoundFolder& folder, Source source) {
  ByName valid;
  for (const auto& [path, stem, parsed, digest] : folder.files) {
    auto problems = parsed->problems;
    if (parsed->definition) {
      auto [first, is_new] = valid.try_emplace(parsed->definition->name, *parsed->definition);
      if (!is_new)
        problems.push_back({path, parsed->name_line, "name",
                            fmt::format("\"{}\" is already defined by {}", first->first, first->second.path),
                            "give one of them another name, or remove it"});
    }
    bool is_valid = !has_error(problems);
    CheckedFile file{parsed->name.empty() ? stem : parsed->name, path, stem, source, is_valid};
    if (parsed->definition) {
      file.model = parsed->definition->model;
      file.model_line = line_of(parsed->definition->frontmatter, "model:");
    }
    catalog.checked.push_back(std::move(file));
    catalog.skipped += is_valid ? 0 : 1;
    catalog.problems.insert(catalog.problems.end(), problems.begin(), problems.end());
  }
  catalog.problems.insert(catalog.problems.end(), folder.problems.begin(), folder.problems.end());
  catalog.searched.push_back(folder.path);
  return valid;
}

std::unexpected<Error> not_found(const Catalog& catalog, const std::string& name, bool disabled_too) {
  std::vector<std::string> names;
  for (const auto& agent : catalog.agents)
    if (agent.enabled || disabled_too) names.push_back(agent.name);
  auto hint = fmt::format("searched {}", fmt::join(catalog.searched, ", "));
  auto invalid = std::ranges::find_if(catalog.checked, [&](const CheckedFile& file) {
    return !file.is_valid && (file.stem == name || file.name == name);
  });
  if (invalid != catalog.checked.end())
    hint += fmt::format("\n{} is not valid; see: cru agents validate {}", invalid->path, name);
  else if (auto near = closest(name, names); !near.empty())
    hint += "\ndid you mean: " + near;
  else
    hint += "\nlist agents with: cru agents list";
  return fail(Code::not_found, fmt::format("agent not found: \"{}\"", name), "name", std::move(hint));
}

}  // namespace

namespace {

/// Why nothing has this name yet, if that is so.
const WaitingDefinition* find_waiting(const Catalog& catalog, const std::string& name) {
  auto found = std::ranges::find(catalog.waiting, name, &WaitingDefinition::name);
  return found == catalog.waiting.end() ? nullptr : &*found;
}

std::unexpected<Error> still_waiting(const WaitingDefinition& waiting) {
  auto error = trust::untrusted("agent " + waiting.name, waiting.path, waiting.reasons);
  error.field = "name";
  return fail(std::move(error));
}

}  // namespace

Result<Definition> Catalog::find(const std::string& name) const {
  if (const auto* waits = find_waiting(*this, name)) return still_waiting(*waits);
  auto found = std::ranges::find(agents, name, &Definition::name);
  if (found == agents.end()) return not_found(*this, name, true);
  return *found;
}

Result<Definition> Catalog::find_enabled(const std::string& name) const {
  if (const auto* waits = find_waiting(*this, name)) return still_waiting(*waits);
  auto found = std::ranges::find(agents, name, &Definition::name);
  if (found == agents.end()) return not_found(*this, name, false);
  if (!found->enabled)
    return fail(Code::not_found, fmt::format("agent not found: \"{}\"", name), "name",
                fmt::format("it is disabled; set enabled: true in {}", found->path));
  return *found;
}

void check_models(Catalog& catalog, const std::vector<std::string>& models) {
  for (auto& file : catalog.checked) {
    bool is_known = file.model.empty() || file.model == "inherit" ||
                    std::ranges::find(models, file.model) != models.end();
    if (is_known) continue;
    auto near = closest(file.model, models);
    catalog.problems.push_back({file.path, file.model_line, "model",
                                fmt::format("unknown model \"{}\"", file.model),
                                near.empty() ? fmt::format("valid models: {}", fmt::join(models, ", "))
                                             : fmt::format("did you mean {}?", near)});
    file.is_valid = false;
  }
  std::ranges::sort(catalog.problems);
}

std::vector<std::string> trust_reasons(const Definition& definition, const std::string& hidden) {
  std::vector<std::string> reasons;
  if (!hidden.empty())
    reasons.push_back(fmt::format("{} {}", definition.enabled ? "overrides" : "disables", hidden));
  if (auto more = definition.permissions.without(Permissions::baseline()); !more.empty())
    reasons.push_back("asks for " + more.in_words());
  return reasons;
}

namespace {

/// Takes out of `in_force` what is not trusted and has to be, and out of `below` what it would hide.
void let_wait(Catalog& catalog, ByName& in_force, ByName& below, const FoundFolder& project,
              const trust::Check& is_trusted) {
  std::map<std::string, std::string> digests;
  for (const auto& file : project.files) digests[file.path] = file.sha256;
  for (auto at = in_force.begin(); at != in_force.end();) {
    const auto& [name, definition] = *at;
    auto hides = below.find(name);
    auto reasons = trust_reasons(definition, hides == below.end() ? std::string() : hides->second.path);
    if (reasons.empty() || is_trusted(definition.path, digests[definition.path])) {
      ++at;
      continue;
    }
    catalog.waiting.push_back({name, definition.path, std::move(reasons)});
    if (hides != below.end()) below.erase(hides);
    at = in_force.erase(at);
  }
}

}  // namespace

Catalog make_catalog(const FoundFolder& project, const FoundFolder& system,
                     const std::vector<Definition>& builtin, const trust::Check& is_trusted) {
  Catalog catalog;
  auto in_force = take_folder(catalog, project, Source::project);
  auto below = take_folder(catalog, system, Source::system);
  for (const auto& definition : builtin) {
    auto [above, is_new] = below.try_emplace(definition.name, definition);
    if (!is_new) catalog.overridden[definition.name] = definition.path;
  }
  let_wait(catalog, in_force, below, project, is_trusted);
  for (auto& [name, definition] : below) {
    auto path = definition.path;
    auto [above, is_new] = in_force.try_emplace(name, std::move(definition));
    if (!is_new) catalog.overridden[name] = std::move(path);
  }
  for (auto& [name, definition] : in_force) catalog.agents.push_back(std::move(definition));
  catalog.files = catalog.checked.size();
  std::ranges::sort(catalog.problems);
  std::ranges::sort(catalog.checked, {}, &CheckedFile::path);
  return catalog;
}

}  // namespace cru::definitions
