#include "api/api.h"

#include <fmt/format.h>

#include "api/access.h"
#include "base/id.h"
#include "store/damage.h"
#include "store/retry.h"

namespace cru::api {

namespace {

/// A request is under way for as long as this lives, however it ends.
class UnderWay {
 public:
  UnderWay(std::unordered_set<std::string>& keys, std::string key) : keys_(keys), key_(std::move(key)) {
    is_first_ = keys_.insert(key_).second;
  }
  ~UnderWay() {
    if (is_first_) keys_.erase(key_);
  }
  UnderWay(const UnderWay&) = delete;

 private:
  std::unordered_set<std::string>& keys_;
  const std::string key_;
  bool is_first_ = false;
};

/// The reply that was kept; nothing if what stands there is none.
std::optional<Result<Reply>> read_kept(const StoredReply& kept) {
  auto stored = parse_json(kept.text);
  if (kept.failed && stored && stored->is_object()) return fail(error_from_json(stored->get_object()));
  if (!kept.failed && stored && stored->is_structured()) return Reply::raw(kept.text);
  note_damage("FROM replies", "text is not a reply");
  return {};
}

}  // namespace

void Api::bind(std::string_view operation, Handler handler, AfterCrash after_crash) {
  const auto* row = find_operation(operation);
  CRU_ASSERT(row != nullptr && !handlers_.contains(row->name));
  handlers_.emplace(row->name, Bound{std::move(handler), after_crash});
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

Task<Result<Reply>> Api::call(const Operation& operation, Boxed<Call> call, json::object input) {
  // Most callers need no gate, and then there is nothing to wait for.
  if (auto access = check_access(operation, *call); !access || *access != Access::open)
    if (auto allowed = co_await may_call(operation, *call); !allowed)
      co_return fail(std::move(allowed.error()));
  bool is_open = operation.reads_only || operation.works_without_keeper;
  if (reading_only_ && !is_open) co_return fail(*reading_only_);
  auto checked = check_input(operation, std::move(input));
  if (!checked) co_return fail(std::move(checked.error()));
  auto found = handlers_.find(operation.name);
  if (found == handlers_.end())
    co_return fail(Code::internal, fmt::format("{} has no handler", operation.name));
  const auto& bound = found->second;
  if (before_ && is_before_(operation.name)) co_await before_();
  if (operation.is_coordination) {
    auto reply = co_await coordinate(operation, bound, std::move(call), *checked);
    // To an agent a full disk is one way in which the database is gone; the message says which.
    if (!reply && reply.error().code == Code::disk_full) reply.error().code = Code::database_unavailable;
    co_return reply;
  }
  if (call->request_id.empty() || operation.reads_only) co_return co_await bound.handler(*call, *checked);
  co_return co_await call_once(operation, bound, std::move(call), *checked);
}

Task<Result<Reply>> Api::coordinate(const Operation& operation, const Bound& bound, Boxed<Call> call,
                                    const json::object& input) {
  if (identify_) {
    auto identified = co_await identify_(operation, std::move(call), input);
    if (!identified) co_return fail(std::move(identified.error()));
    call = *std::move(identified);
  }
  if (bound.after_crash != AfterCrash::claimed || call->request_id.empty())
    co_return co_await bound.handler(*call, input);
  co_return co_await call_once(operation, bound, std::move(call), input);
}

/// What is known of the request. It is claimed, unless that is the change's own to do and nothing is known.
Task<Result<StoredReply>> Api::claim(const Bound& bound, Once once) {
  if (bound.after_crash == AfterCrash::claims_with_change) {
    auto known =
        co_await store_.read([once](Reader& reader) -> Result<bool> { return is_claimed(reader, once.key); });
    if (!known) co_return fail(std::move(known.error()));
    if (!*known) co_return StoredReply{.is_ours = true, .text = {}, .input_hash = once.input_hash};
  }
  co_return co_await store_.write([once](Tx& tx) { return claim_reply(tx, once.key, once.input_hash); });
}

/// The claim is committed before the work begins, or with its first change, so a crash in between never leads
/// to a second execution: a handler that finds out what came of the first is asked again, and of any other
/// the outcome is unknown.
Task<Result<Reply>> Api::call_once(const Operation& operation, const Bound& bound, Boxed<Call> call,
                                   const json::object& input) {
  // Neither a name nor a task id holds a colon, so two callers cannot meet at one key.
  call->once = {fmt::format("{}:{}:{}:{}", operation.name, static_cast<int>(call->caller), call->run_id,
                            call->request_id),
                fnv1a_hex(to_text(input))};
  bool is_under_way = under_way_.contains(call->once.key);
  UnderWay under_way(under_way_, call->once.key);
  auto claimed = co_await claim(bound, call->once);
  if (!claimed) {
    // What may be done again needs no memory of it: on a full disk, too, a run can be killed.
    if (operation.idempotent && is_transient(claimed.error().code))
      co_return co_await bound.handler(*call, input);
    co_return fail(std::move(claimed.error()));
  }
  if (claimed->input_hash != call->once.input_hash)
    co_return fail(Code::conflict, "this request id was already used with different input", "request_id",
                   "use a new request id for each new request");
  if (claimed->is_finished)
    if (auto kept = read_kept(*claimed)) co_return *std::move(kept);
  call->once.is_repeat = !claimed->is_ours;
  // Also while its change, which claims it, is yet to come.
  bool is_claimed_later = bound.after_crash == AfterCrash::claims_with_change;
  if (is_under_way && (call->once.is_repeat || is_claimed_later) && !operation.idempotent)
    co_return fail(Code::conflict, "this request is still being carried out", "request_id",
                   "wait for its reply, or repeat it in a moment");
  // What is idempotent is simply done again: a crash came between the claim and the reply.
  if (call->once.is_repeat && !operation.idempotent) {
    if ((bound.after_crash != AfterCrash::finds_out && !is_claimed_later) || claimed->is_finished)
      co_return fail(Code::conflict, "this request was already made and its outcome is unknown", "request_id",
                     "check the state, then retry with a new request id");
  }
  co_return co_await carry_out(operation, bound, *call, input);
}

Task<Result<Reply>> Api::carry_out(const Operation& operation, const Bound& bound, const Call& call,
                                   const json::object& input) {
  auto reply = co_await bound.handler(call, input);
  if (reply && reply->is_stored()) co_return reply;
  const auto& once = call.once;
  if (!reply && is_transient(reply.error().code) && bound.after_crash != AfterCrash::claimed) {
    // Nothing was done and the next try may do better: this is no outcome to keep.
    (void)co_await store_.write([key = once.key](Tx& tx) { return drop_claim(tx, key); });
    co_return reply;
  }
  auto text = reply ? reply->text() : to_text(cru::to_json(reply.error()));
  auto stored = co_await store_.write([once, text, failed = !reply.has_value()](Tx& tx) -> Result<> {
    // A refusal comes before the change that would have claimed it.
    if (auto claimed = claim_reply(tx, once.key, once.input_hash); !claimed)
      return fail(std::move(claimed.error()));
    return finish_reply(tx, once.key, text, failed);
  });
  if (!stored && !operation.idempotent) co_return fail(std::move(stored.error()));
  co_return reply;
}

}  // namespace cru::api
