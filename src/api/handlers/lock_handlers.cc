#include "api/handlers/coordination_handlers.h"

namespace cru::api {
namespace {

using coordination::Locks;

Task<Result<Reply>> acquire(Locks& locks, Result<coordination::Who> who, Locks::Request request) {
  if (!who && who.error().message.starts_with("invalid_agent_id")) {
    json::object refused{{"success", false}, {"action", nullptr}, {"file_path", request.file_path}};
    for (auto key : {"expires_at", "locked_by", "lock_reason", "fencing_token"}) refused[key] = nullptr;
    refused["reason"] = "invalid_agent_id";
    refused["field"] = who.error().field;
    refused["message"] = who.error().message;
    co_return Reply::raw(to_text(refused), 400);
  }
  if (!who) co_return fail(std::move(who.error()));
  co_return to_reply(co_await locks.acquire(*std::move(who), std::move(request)));
}

Task<Result<Reply>> release(Locks& locks, Result<coordination::Who> who, std::string path,
                            std::optional<int64_t> token) {
  if (!who) co_return fail(std::move(who.error()));
  co_return to_reply(co_await locks.release(*std::move(who), std::move(path), token));
}

Task<Result<Reply>> check(Locks& locks, Result<coordination::Who> who, std::vector<std::string> paths) {
  if (!who) co_return fail(std::move(who.error()));
  auto checked = co_await locks.check(*std::move(who), std::move(paths));
  if (!checked) co_return fail(std::move(checked.error()));
  std::string text = R"({"result":[)";
  std::string_view between;
  for (const auto& [lock, waiters] : *checked)
    (text += std::exchange(between, ",")) += coordination::lock_text(lock, waiters);
  co_return Reply::raw(text += "]}");
}

Task<Result<Reply>> check_edit(Locks& locks, Result<coordination::Who> who, std::string path,
                               std::optional<int64_t> token) {
  if (!who) co_return fail(std::move(who.error()));
  co_return to_reply(co_await locks.check_edit(*std::move(who), std::move(path), token));
}

}  // namespace

void bind_locks(Api& api, Locks& locks) {
  api.bind("acquire_lock", [&locks](const Call& call, const json::object& in) {
    auto minutes = integer_at(in, "ttl_minutes");
    if (!minutes && call.lock_ttl_minutes != 0) minutes = call.lock_ttl_minutes;
    return acquire(locks, who_of("acquire_lock", call, in),
                   {.file_path = text(in, "file_path"),
                    .reason = text(in, "reason"),
                    .ttl_minutes = minutes,
                    .fencing_token = integer_at(in, "fencing_token"),
                    .wait = std::chrono::seconds(int_or(in, "wait_seconds"))});
  });
  api.bind("release_lock", [&locks](const Call& call, const json::object& in) {
    return release(locks, who_of("release_lock", call, in), text(in, "file_path"),
                   integer_at(in, "fencing_token"));
  });
  api.bind("check_locks", [&locks](const Call& call, const json::object& in) {
    return check(locks, who_of("check_locks", call, in), texts_at(in, "file_paths"));
  });
  api.bind("check_edit", [&locks](const Call& call, const json::object& in) {
    return check_edit(locks, who_of("check_edit", call, in), text(in, "file_path"),
                      integer_at(in, "fencing_token"));
  });
}

}  // namespace cru::api
