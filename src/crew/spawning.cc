#include "crew/spawning.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace cru::crew {

using definitions::Permission;

Result<int64_t> child_depth(const Parent& parent) {
  auto depth = parent.depth + 1;
  if (depth < max_depth) return depth;
  return fail(
      Code::forbidden,
      fmt::format("Maximum agent depth ({}) exceeded: subagents cannot spawn their own subagents, and "
                  "{} is one",
                  max_depth, parent.name),
      "", "do the work yourself, or report what another agent should do");
}

namespace {

Result<Permissions> read_permissions(const std::vector<std::string>& names) {
  Permissions wanted;
  for (const auto& name : names) {
    auto permission = definitions::permission_from(name);
    if (!permission) {
      auto known = definitions::permission_names();
      auto meant = closest(name, known);
      return fail(Code::invalid_argument,
                  fmt::format("unknown permission \"{}\"; valid: {}", name, fmt::join(known, ", ")),
                  "permissions", meant.empty() ? "" : fmt::format("did you mean {}?", meant));
    }
    wanted.add(*permission);
  }
  return wanted;
}

std::unexpected<Error> escalation(std::string_view who, Permissions missing, const Parent& parent) {
  return fail(Code::forbidden,
              fmt::format("permission denied: {} {}, which {} does not have; its permissions are: {}", who,
                          missing.in_words(), parent.name, parent.permissions.in_words()),
              "permissions",
              fmt::format("request fewer permissions, or let the user start the chat with --permit {}",
                          missing.names().front()));
}

}  // namespace

Result<Grant> grant(const definitions::Definition& definition, const Parent& parent,
                    const std::optional<std::vector<std::string>>& requested) {
  auto parents = parent.permissions | Permissions::baseline();
  auto wanted = read_permissions(requested.value_or(std::vector<std::string>()));
  if (!wanted) return fail(std::move(wanted.error()));
  if (!parents.includes(*wanted)) return escalation("the spawn requests", wanted->without(parents), parent);
  if (!parents.includes(definition.permissions))
    return escalation(fmt::format("agent {} needs", definition.name), definition.permissions.without(parents),
                      parent);
  // A person has every right. What of them an agent gets is what its definition says, and what is added to
  // it.
  if (parent.depth < 0) return Grant{definition.permissions | *wanted | Permissions::baseline(), false};
  if (!requested) return Grant{parents, true};
  return Grant{*wanted | Permissions::baseline(), false};
}

std::vector<std::string> child_approvals(const definitions::Definition& definition, const Parent& parent) {
  auto all = parent.requires_approval;
  for (const auto& entry : definition.requires_approval)
    if (std::ranges::find(all, entry) == all.end()) all.push_back(entry);
  return all;
}

Result<ModelChoice> choose_model(const minds::Settings& settings, const definitions::Definition& definition,
                                 const Parent& parent, const std::string& override_model) {
  ModelChoice choice;
  if (!override_model.empty())
    choice = {override_model, "override"};
  else if (definition.model == "inherit" && !parent.model.empty())
    choice = {parent.model, "parent"};
  else if (!definition.model.empty() && definition.model != "inherit")
    choice = {definition.model, "definition"};
  if (choice.source.empty()) {
    auto model = minds::default_model(settings);
    if (!model) return fail(std::move(model.error()));
    choice = {*std::move(model), "default"};
  }
  auto found = minds::find_model(settings, choice.model);
  if (!found) return fail(std::move(found.error()));
  return choice;
}

std::string chat_id_from(std::string_view text, Time now, int64_t number) {
  constexpr size_t longest = 36;
  std::string slug;
  for (char c : text) {
    if (is_letter_or_digit(c))
      slug += to_lower(c);
    else if (!slug.empty() && slug.back() != '-')
      slug += '-';
    if (slug.size() > longest) break;
  }
  if (slug.size() > longest) {
    auto end = slug.rfind('-', longest);  // never half a word, unless it is the first
    slug.resize(end != std::string::npos && end > longest / 2 ? end : longest);
  }
  while (slug.ends_with('-')) slug.pop_back();
  if (slug.empty()) slug = "chat";
  auto id = to_rfc3339(now).substr(0, 10) + "-" + slug;
  return number > 1 ? fmt::format("{}-{}", id, number) : id;
}

}  // namespace cru::crew
