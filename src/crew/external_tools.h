#pragma once
/// ExternalTools: tools that other rooms provide, such as coordination. The crew does not know these rooms;
/// daemon/ connects them.
#include "crew/workbench.h"
#include "minds/mind.h"

namespace cru::crew {

class ExternalTools {
 public:
  virtual ~ExternalTools() = default;
  /// Those that an agent with these permissions may use.
  virtual std::vector<minds::ToolSpec> specs(const Permissions& granted) const = 0;
  virtual bool has(const std::string& name) const = 0;
  virtual bool reads_only(const std::string& name) const = 0;
  /// The permission that it needs, if any.
  virtual std::optional<definitions::Permission> needs(const std::string& name) const {
    (void)name;
    return {};
  }
  /// JSON Schema of its input.
  virtual json::object schema(const std::string& name) const {
    (void)name;
    return {};
  }
  /// Whether it takes this input, by the check that its call makes. Errors: invalid_argument naming the
  /// field.
  virtual Result<> check(const std::string& name, const json::object& input) const {
    (void)name, (void)input;
    return {};
  }
  /// Checks the permission itself. Errors: forbidden, and the tools' own.
  virtual Task<Result<std::string>> call(ToolCall call) = 0;
  /// A chat or a subagent has ended, and that is recorded: whatever it held is freed.
  virtual Task<void> thread_ended(std::string thread) = 0;
};

}  // namespace cru::crew
