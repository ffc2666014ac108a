#include "runs/jail_rights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/json.h"

namespace cru::runs {
namespace {

struct PassageName {
  Passage passage;
  std::string_view name;
};
constexpr std::array passage_names = {PassageName{Passage::ssh_agent, "ssh-agent"},
                                      PassageName{Passage::gpg, "gpg"},
                                      PassageName{Passage::docker, "docker"}};

}  // namespace

std::string_view name(Passage passage) {
  for (const auto& each : passage_names)
    if (each.passage == passage) return each.name;
  return {};
}

std::optional<Passage> passage_from(std::string_view text) {
  for (const auto& each : passage_names)
    if (each.name == text) return each.passage;
  return {};
}

JailRights both(const JailRights& one, const JailRights& other) {
  JailRights rights{.may_write = one.may_write && other.may_write,
                    .may_use_network = one.may_use_network && other.may_use_network,
                    .passages = {}};
  std::ranges::set_intersection(one.passages, other.passages,
                                std::inserter(rights.passages, rights.passages.end()));
  return rights;
}

std::string to_record(const std::optional<JailRights>& rights) {
  if (!rights) return {};
  json::array passages;
  for (auto passage : rights->passages) passages.emplace_back(name(passage));
  return to_text(json::object{
      {"write", rights->may_write}, {"network", rights->may_use_network}, {"passages", std::move(passages)}});
}

std::optional<JailRights> rights_from_record(const std::string& text) {
  if (text.empty()) return {};
  JailRights rights{.may_write = false, .may_use_network = false, .passages = {}};
  auto parsed = parse_json(text);
  if (!parsed || !parsed->is_object()) return rights;  // it has one: what of it is not known is not granted
  const auto& record = parsed->get_object();
  rights.may_write = bool_or(record, "write");
  rights.may_use_network = bool_or(record, "network");
  if (const auto* passages = array_at(record, "passages"))
    for (const auto& each : *passages)
      if (auto passage = each.is_string() ? passage_from(each.get_string()) : std::nullopt)
        rights.passages.insert(*passage);
  return rights;
}

std::string describe(const std::optional<JailRights>& rights) {
  if (!rights) return "no";
  std::string out = rights->may_write ? "writes below the project" : "writes nothing";
  if (!rights->may_use_network) out += ", no network";
  for (auto passage : rights->passages) out += fmt::format(", {}", name(passage));
  // Whoever may talk to docker may mount the whole machine.
  if (rights->passages.contains(Passage::docker)) out += " (docker: no confinement at all)";
  return out;
}

}  // namespace cru::runs
