#pragma once
/// Rule file: the rules of one project, in the user's own configuration folder, where no repository writes:
/// approval-rules/PROJECT.json, of which the name is made of the project's real path and which names it.
/// Blocks: call it on a pool thread.
#include "approvals/rules.h"

namespace cru::approvals {

/// Where the rules of the project at `root` are; empty if `config_folder` is, or is inside the project, where
/// agents write.
std::string rule_file(const std::string& config_folder, const std::string& root);

/// An absent file has no rules. Errors: forbidden for one that others could have written or replaced;
/// invalid_argument for a damaged one, naming the field, and for another project's. Then none of its rules
/// counts.
Result<std::vector<Rule>> load_rules(const std::string& file, const std::string& root);
/// Whole or not at all, 0600 in a folder that is 0700. Errors: forbidden, disk_full, and conflict where there
/// is no folder outside the project.
Result<> save_rules(const std::string& file, const std::string& root, std::span<const Rule> rules);

}  // namespace cru::approvals
