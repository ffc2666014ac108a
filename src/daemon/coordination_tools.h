#pragma once
/// CoordinationTools: the coordination rows of the operation table as tools of agents that think through a
/// model API. What reads needs DatabaseRead, what writes DatabaseWrite; asking the person needs nothing.
#include <set>

#include "api/api.h"
#include "crew/external_tools.h"

namespace cru::daemon {

class CoordinationTools final : public crew::ExternalTools {
 public:
  explicit CoordinationTools(api::Api& api) : api_(api) {}
  std::vector<minds::ToolSpec> specs(const crew::Permissions& granted) const override;
  bool has(const std::string& name) const override;
  bool reads_only(const std::string& name) const override;
  Task<Result<std::string>> call(crew::ToolCall call) override;
  Task<void> agent_ended(std::string agent, std::string task_id) override;

 private:
  api::Api& api_;
  std::set<std::string> known_;  ///< agents that have a session
};

}  // namespace cru::daemon
