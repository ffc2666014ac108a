// Approvals: a person's word on what an agent wants to do.
#include "api/handlers/handlers.h"

namespace cru::api {
namespace {

using approvals::Approval;
using approvals::Approvals;

Result<Reply> as_reply(const Approvals& approvals, Result<Approval> approval) {
  if (!approval) return fail(std::move(approval.error()));
  return Reply(to_json(*approval, approvals.now()));
}

Task<Result<Reply>> list_approvals(Approvals& approvals, bool pending, int64_t limit) {
  auto found = co_await approvals.list(pending, limit);
  if (!found) co_return fail(std::move(found.error()));
  json::array rows;
  for (const auto& approval : *found) {
    auto row = to_summary(approval);
    row["undo"] = name(approval.proposal().undo);
    rows.push_back(std::move(row));
  }
  co_return Reply(json::object{{"approvals", std::move(rows)}});
}

Task<Result<Reply>> show_approval(Approvals& approvals, std::string id, Duration wait) {
  auto found = co_await approvals.find(id);
  if (found && wait > Duration(0) && is_open(found->state))
    found = co_await approvals.wait_while(std::move(id), found->state, found->context.size(), wait);
  co_return as_reply(approvals, std::move(found));
}

Task<Result<Reply>> decide(Approvals& approvals, std::string id, approvals::Input input) {
  co_return as_reply(approvals, co_await approvals.decide(std::move(id), std::move(input)));
}

Task<Result<Reply>> approve(Approvals& approvals, std::string id, std::string confirm, json::object set) {
  co_return as_reply(approvals,
                     co_await approvals.approve(std::move(id), std::move(confirm), std::move(set)));
}

}  // namespace

void bind_approvals(Api& api, Approvals& approvals) {
  api.bind("list_approvals", [&approvals](const Call&, const json::object& in) {
    return list_approvals(approvals, bool_or(in, "pending"), int_or(in, "limit", 200));
  });
  api.bind("show_approval", [&approvals](const Call&, const json::object& in) {
    return show_approval(approvals, text(in, "id"), std::chrono::seconds(int_or(in, "wait_seconds")));
  });
  api.bind("approve", [&approvals](const Call&, const json::object& in) {
    const auto* set = object_at(in, "set");
    return approve(approvals, text(in, "id"), text(in, "confirm"), set ? *set : json::object());
  });
  api.bind("deny", [&approvals](const Call&, const json::object& in) {
    return decide(approvals, text(in, "id"), approvals::Deny{text(in, "reason")});
  });
  api.bind("ask_context", [&approvals](const Call&, const json::object& in) {
    return decide(approvals, text(in, "id"), approvals::AskContext{text(in, "question")});
  });
  api.bind("hold", [&approvals](const Call&, const json::object& in) {
    return decide(approvals, text(in, "id"),
                  bool_or(in, "release") ? approvals::Input(approvals::Release{}) : approvals::Hold{});
  });
}

}  // namespace cru::api
