#include "api/api.h"

#include <fmt/format.h>

#include "api/access.h"
#include "base/id.h"
#include "store/damage.h"
#include "store/replies_table.h"
#include "store/retry.h"

namespace cru::api {

void Api::bind(std::string_view operation, Handler handler) {
  const auto* row = find_operation(operation);
  CRU_ASSERT(row != nullptr && !handlers_.contains(row->name));
  handlers_.emplace(row->name, std::move(handler));
}

std::vector<std::string_view> Api::unbound() const {
  std::vector<std::string_view> missing;
  for (const auto& operation : operations())
    if (!operation.is_event_stream && !handlers_.contains(operation.name)) missing.push_back(operation.name);
  return missing;
}

json::object error_reply(const Operation& operation, const Error& error) {
  if (!operation.is_coordination) return cru::to_json(error);
  json::object reply{{"success", false}};
  for (auto& member : cru::to_json(error)) reply.insert(member);
  return reply;
}

Task<Result<>> Api::may_call(const Operation& operation, const Call& call) const {
  auto access = check_access(operation, call);
  if (!access) co_return fail(std::move(access.error()));
  if (*access == Access::open || !gate_) co_return Result<>();
  auto allowed = co_await gate_(operation, call.run_id);
  if (!allowed && *access == Access::as_anybody_might) co_return fail(not_recognised(operation, call));
  co_return allowed;
}

Task<Result<Reply>> Api::call(const Operation& operation, Call call, json::object input) {
  if (auto allowed = co_await may_call(operation, call); !allowed) co_return fail(std::move(allowed.error()));
  bool is_open = operation.reads_only || operation.works_without_keeper;
  if (reading_only_ && !is_open) co_return fail(*reading_only_);
  auto checked = check_input(operation, std::move(input));
  if (!checked) co_return fail(std::move(checked.error()));
  auto handler = handlers_.find(operation.name);
  if (handler == handlers_.end())
    co_return fail(Code::internal, fmt::format("{} has no handler", operation.name));
  if (operation.is_coordination) {
    if (identify_) {
      auto identified = co_await identify_(operation, call, *checked);
      if (!identified && identified.error().code == Code::disk_full)
        identified.error().code = Code::database_unavailable;
      if (!identified) co_return fail(std::move(identified.error()));
      call = *std::move(identified);
    }
    auto reply = co_await handler->second(call, *checked);
    // To an agent a full disk is one way in which the database is gone; the message says which.
    if (!reply && reply.error().code == Code::disk_full) reply.error().code = Code::database_unavailable;
    co_return reply;
  }
  if (call.request_id.empty() || operation.reads_only) co_return co_await handler->second(call, *checked);
  co_return co_await call_once(operation, handler->second, call, *checked);
}

/// The claim is committed before the work begins, so a crash in between leaves "unknown" and never a second
/// execution.
Task<Result<Reply>> Api::call_once(const Operation& operation, const Handler& handler, const Call& call,
                                   const json::object& input) {
  // Neither a name nor a task id holds a colon, so two callers cannot meet at one key.
  auto key =
      fmt::format("{}:{}:{}:{}", operation.name, static_cast<int>(call.caller), call.run_id, call.request_id);
  auto input_hash = fnv1a_hex(to_text(input));
  auto claimed =
      co_await store_.write([key, input_hash](Tx& tx) { return claim_reply(tx, key, input_hash); });
  if (!claimed) co_return fail(std::move(claimed.error()));
  if (claimed->input_hash != input_hash)
    co_return fail(Code::conflict, "this request id was already used with different input", "request_id",
                   "use a new request id for each new request");
  if (claimed->is_finished) {
    auto stored = parse_json(claimed->text);
    if (claimed->failed && stored && stored->is_object())
      co_return fail(error_from_json(stored->get_object()));
    if (!claimed->failed && stored && stored->is_structured()) co_return Reply::raw(claimed->text);
    note_damage("FROM replies", "text is not a reply");  // as if it had never been kept
  }
  // What is idempotent is simply done again: a crash came between the claim and the reply.
  if (!claimed->is_ours && !operation.idempotent)
    co_return fail(Code::conflict, "this request was already made and its outcome is unknown", "request_id",
                   "check the state, then retry with a new request id");
  auto reply = co_await handler(call, input);
  if (!reply && is_transient(reply.error().code)) {
    // Nothing was done and the next try may do better: this is no outcome to keep.
    (void)co_await store_.write([key](Tx& tx) { return drop_reply(tx, key); });
    co_return reply;
  }
  auto text = reply ? reply->text() : to_text(cru::to_json(reply.error()));
  auto stored = co_await store_.write(
      [key, text, failed = !reply.has_value()](Tx& tx) { return finish_reply(tx, key, text, failed); });
  if (!stored) co_return fail(std::move(stored.error()));
  co_return reply;
}

}  // namespace cru::api
