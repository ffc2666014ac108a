#pragma once
/// CoordinationTools: the coordination rows of the operation table as tools of agents that think through a
/// model API. What reads needs DatabaseRead, what writes DatabaseWrite; asking the person needs nothing.
#include "api/api.h"
#include "crew/external_tools.h"
#include "daemon/endings.h"

namespace cru::daemon {

class CoordinationTools final : public crew::ExternalTools {
 public:
  CoordinationTools(api::Api& api, Endings& endings) : api_(api), endings_(endings) {}
  std::vector<minds::ToolSpec> specs(const crew::Permissions& granted) const override;
  bool has(const std::string& name) const override;
  bool reads_only(const std::string& name) const override;
  std::optional<definitions::Permission> needs(const std::string& name) const override;
  json::object schema(const std::string& name) const override;
  Result<> check(const std::string& name, const json::object& input) const override;
  Task<Result<std::string>> call(crew::ToolCall call) override;
  Task<void> thread_ended(std::string thread) override;

 private:
  api::Api& api_;
  Endings& endings_;
};

}  // namespace cru::daemon
