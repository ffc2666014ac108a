#include "coordination/guardrail.h"

namespace cru::coordination {

json::object to_json(const Violation& violation) {
  return {{"pattern_name", violation.pattern_name},
          {"category", violation.category},
          {"severity", violation.severity},
          {"matched_text", violation.matched_text},
          {"blocked", violation.blocked}};
}

Result<std::vector<GuardrailRule>> read_guardrails(const YamlNode&, const std::string&) {
  return std::vector<GuardrailRule>();
}

std::vector<Violation> check_guardrails(std::string_view, std::span<const std::string>, std::string_view,
                                        std::span<const GuardrailRule>) {
  return {};
}

}  // namespace cru::coordination
