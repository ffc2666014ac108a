#include "runs/jail_rights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/json.h"

namespace cru::runs {
namespace {

struct PermitName {
  Permit permit;
  std::string_view name;
};
constexpr std::array permit_names = {PermitName{Permit::ssh_agent, "ssh-agent"},
                                     PermitName{Permit::gpg, "gpg"}, PermitName{Permit::docker, "docker"}};

}  // namespace

std::string_view name(Permit permit) {
  for (const auto& each : permit_names)
    if (each.permit == permit) return each.name;
  return {};
}

std::optional<Permit> permit_from(std::string_view text) {
  for (const auto& each : permit_names)
    if (each.name == text) return each.permit;
  return {};
}

JailRights unknown_rights() {
  return {.may_write = false, .may_use_network = false, .permits = {}, .is_known = false};
}

JailRights both(const JailRights& one, const JailRights& other) {
  JailRights rights{.may_write = one.may_write && other.may_write,
                    .may_use_network = one.may_use_network && other.may_use_network,
                    .permits = {}};
  std::ranges::set_intersection(one.permits, other.permits,
                                std::inserter(rights.permits, rights.permits.end()));
  return rights;
}

std::string to_record(const std::optional<JailRights>& rights) {
  if (!rights) return {};
  json::array permits;
  for (auto permit : rights->permits) permits.emplace_back(name(permit));
  json::object record{
      {"write", rights->may_write}, {"network", rights->may_use_network}, {"passages", std::move(permits)}};
  if (!rights->is_known) record["unknown"] = true;
  return to_text(record);
}

std::optional<JailRights> rights_from_record(const std::string& text) {
  if (text.empty()) return {};
  auto rights = unknown_rights();
  auto parsed = parse_json(text);
  if (!parsed || !parsed->is_object()) return rights;  // it has one: what of it is not known is not granted
  const auto& record = parsed->get_object();
  rights.is_known = !bool_or(record, "unknown");
  rights.may_write = bool_or(record, "write");
  rights.may_use_network = bool_or(record, "network");
  if (const auto* permits = array_at(record, "passages"))
    for (const auto& each : *permits)
      if (auto permit = each.is_string() ? permit_from(each.get_string()) : std::nullopt)
        rights.permits.insert(*permit);
  return rights;
}

std::string describe(const std::optional<JailRights>& rights) {
  if (!rights) return "no";
  if (!rights->is_known) return "unknown: its record was lost";
  std::string out = rights->may_write ? "writes below the project" : "writes nothing";
  if (!rights->may_use_network) out += ", no network";
  // Whoever writes nothing is a mind: nothing but its own flags keeps its tools from the network.
  if (!rights->may_write && rights->may_use_network) out += ", network for its model";
  for (auto permit : rights->permits) out += fmt::format(", {}", name(permit));
  // Whoever may talk to docker may mount the whole machine.
  if (rights->permits.contains(Permit::docker)) out += " (docker: no confinement at all)";
  return out;
}

}  // namespace cru::runs
