#pragma once
/// Spawning: what may be spawned, with which permissions and which model. Rules only.
#include <optional>

#include "crew/chat.h"
#include "definitions/definition.h"
#include "minds/model.h"

namespace cru::crew {

/// User → primary (0) → subagents (1): agents at this depth and deeper are refused.
inline constexpr int64_t max_depth = 2;

/// Whoever spawns. A person is above the primary.
struct Parent {
  std::string name;  ///< "user", or the agent's name
  int64_t depth = -1;
  Permissions permissions;
  std::string model;
  std::vector<std::string> chain = {};  ///< "user", …, the parent itself
  std::vector<std::string> requires_approval = {};
};

/// The child's depth. Errors: forbidden "Maximum agent depth (2) exceeded: …".
Result<int64_t> child_depth(const Parent& parent);

struct Grant {
  Permissions granted;
  bool inherited = true;
};
/// Baseline ∪ (the request, which may be empty, else the parent's set); of a person: baseline ∪ the
/// definition's ∪ the request. Errors: invalid_argument for a name
/// that is no permission; forbidden naming the permission and the parent's set, when the request or the
/// definition needs one that the parent lacks.
Result<Grant> grant(const definitions::Definition& definition, const Parent& parent,
                    const std::optional<std::vector<std::string>>& requested);

/// What a child needs approval for: whatever its definition says, and whatever its parent does. Spawning is
/// no way around a person.
std::vector<std::string> child_approvals(const definitions::Definition& definition, const Parent& parent);

struct ModelChoice {
  std::string model;
  std::string source;  ///< "override", "definition", "parent", "default"
};
/// Errors: invalid_argument, field `model`; untrusted_content for one that waits.
Result<ModelChoice> choose_model(const minds::Settings& settings, const definitions::Definition& definition,
                                 const Parent& parent, const std::string& override_model);

/// "2026-11-16-fix-the-login": `text` as a folder's name, `number` beyond 1 appended.
std::string chat_id_from(std::string_view text, Time now, int64_t number);

}  // namespace cru::crew
