#include "approvals/settling.h"

#include <fmt/format.h>

namespace cru::approvals {

std::string to_use(const ProgramUse& use) {
  return fmt::format("{}|{}|{}", use.subagent, use.call, use.request);
}

ProgramUse program_use_from(std::string_view use) {
  auto first = use.find('|'), second = use.find('|', first + 1);
  if (second == std::string_view::npos) return {};
  return {std::string(use.substr(0, first)), std::string(use.substr(first + 1, second - first - 1)),
          std::string(use.substr(second + 1))};
}

bool is_settled(const Unfinished& one, const Settlement& settlement) {
  if (one.via != name(Via::hook)) return false;
  if (settlement.scope == "request") return one.id == settlement.approval_id;
  if (settlement.scope == "session") return true;
  auto use = program_use_from(one.use);
  return use.subagent == settlement.by.subagent &&
         (settlement.scope != "call" || use.call == settlement.by.call);
}

std::vector<std::string> settled_by(Reader& reader, std::string_view thread, const Settlement& settlement) {
  std::vector<std::string> ids;
  for (auto& one : unfinished_of(reader, thread))
    if (is_settled(one, settlement)) ids.push_back(std::move(one.id));
  return ids;
}

void settle(Tx& tx, std::string_view thread, const Settlement& settlement, const Moment& now,
            const Approvals::Closed& closed) {
  Withdraw why{settlement.scope == "request"
                   ? "its program reached its time limit and continues without this approval"
                   : "the program went on: it was answered in its own dialog"};
  for (const auto& id : settled_by(tx, thread, settlement))
    if (auto approval = find(tx, id)) (void)Approvals::take(tx, *std::move(approval), why, now, closed);
}

}  // namespace cru::approvals
