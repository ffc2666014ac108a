#include "locks/lock_replies.h"

#include <fmt/format.h>

namespace cru::coordination {
namespace {

constexpr std::string_view locked_by_other = "locked_by_other";
constexpr std::string_view stale_token = "stale_fencing_token";

json::object blank_lock_reply(std::string_view file_path) {
  return {{"success", false},       {"action", nullptr},        {"file_path", file_path},
          {"expires_at", nullptr},  {"reason", nullptr},        {"locked_by", nullptr},
          {"lock_reason", nullptr}, {"fencing_token", nullptr}, {"locked_by_session", nullptr}};
}

void tell_holder(json::object& reply, const Lock& holder) {
  reply["expires_at"] = to_rfc3339(holder.expires.wall);
  reply["locked_by"] = holder.agent_id;
  reply["lock_reason"] = json_or_null(holder.reason);
  reply["locked_by_session"] = holder.session_id;
}

Done refused(json::object reply, std::string_view reason, const std::string& message, int status) {
  reply["reason"] = reason;
  reply["message"] = message;
  return {.reply = std::move(reply), .changed = false, .status = status};
}

json::object blank_release_reply(std::string_view file_path) {
  return {{"success", false}, {"action", nullptr}, {"file_path", file_path}, {"reason", nullptr}};
}

json::object edit_reply(std::string_view file_path, bool allowed) {
  return {{"allowed", allowed},   {"reason", nullptr},     {"file_path", file_path},
          {"locked_by", nullptr}, {"expires_at", nullptr}, {"fencing_token", nullptr}};
}

std::string stale_message(std::string_view path, int64_t token) {
  return fmt::format("fencing token {} of your lock on {} is outdated: the lock expired or was released",
                     token, path);
}

}  // namespace

Done taken_reply(const Taking& taking, const LockRequest& request) {
  const auto& path = request.key.text;
  auto reply = blank_lock_reply(path);
  switch (taking.what) {
    case Taking::What::acquire:
    case Taking::What::refresh:
      reply["success"] = true;
      reply["action"] = taking.what == Taking::What::acquire ? "acquired" : "refreshed";
      tell_holder(reply, taking.lock);
      reply["fencing_token"] = taking.lock.fencing_token;
      return {.reply = std::move(reply)};
    case Taking::What::held_by_other:
      tell_holder(reply, taking.other);
      return refused(std::move(reply), locked_by_other, describe(taking.other, path), 409);
    case Taking::What::behind_waiting:
      reply["locked_by"] = taking.waiting.agent_id;
      reply["locked_by_session"] = taking.waiting.session_id;
      reply["lock_reason"] = "waiting in the queue";
      return refused(
          std::move(reply), locked_by_other,
          fmt::format(
              "{} has been waiting for {} and is first in the queue; use wait_seconds to join the queue",
              taking.waiting.agent_id, taking.waiting.key.text),
          409);
    case Taking::What::stale_token: {
      auto message = stale_message(path, request.fencing_token.value_or(0));
      if (!taking.other.session_id.empty()) {
        tell_holder(reply, taking.other);
        message += "; now " + describe(taking.other, path);
      }
      return refused(std::move(reply), stale_token, message, 409);
    }
  }
  return refused(std::move(reply), locked_by_other, "", 409);
}

Done ttl_out_of_range_reply(std::string_view file_path, int64_t minutes) {
  auto reply = blank_lock_reply(file_path);
  reply["field"] = "ttl_minutes";
  return refused(
      std::move(reply), "ttl_out_of_range",
      fmt::format("ttl_minutes is {}; it must be {} to {}", minutes, min_ttl_minutes, max_ttl_minutes), 400);
}

Done invalid_path_reply(std::string_view file_path, const Error& error) {
  auto reply = blank_lock_reply(file_path);
  reply["field"] = "file_path";
  reply["hint"] = error.hint;
  return refused(std::move(reply), "invalid_file_path", error.message, 400);
}

bool may_change(const Done& done) { return text_or(done.reply, "reason") == locked_by_other; }

Done released_reply(const LockKey& key) {
  auto reply = blank_release_reply(key.text);
  reply["success"] = true;
  reply["action"] = "released";
  return {.reply = std::move(reply)};
}

Done not_owner_reply(const LockKey& key, const Lock* holder, std::optional<int64_t> token) {
  auto message = holder ? "you do not hold this lock: " + describe(*holder, key.text)
                        : fmt::format("you do not hold {}: it is not locked", key.text);
  if (token) message += "; " + stale_message(key.text, *token);
  return refused(blank_release_reply(key.text), "lock_not_found_or_not_owner", message, 409);
}

Done stale_release_reply(const Lock& own, int64_t token) {
  return refused(blank_release_reply(own.key.text), stale_token, stale_message(own.key.text, token), 409);
}

Done invalid_release_reply(std::string_view file_path, const Error& error) {
  auto reply = blank_release_reply(file_path);
  reply["field"] = "file_path";
  reply["hint"] = error.hint;
  return refused(std::move(reply), "invalid_file_path", error.message, 400);
}

Done edit_allowed(const LockKey& key, const Lock* own) {
  auto reply = edit_reply(key.text, true);
  if (own) {
    reply["locked_by"] = own->agent_id;
    reply["expires_at"] = to_rfc3339(own->expires.wall);
    reply["fencing_token"] = own->fencing_token;
  }
  reply["message"] = own ? "you hold the lock" : "the file is not locked";
  return {.reply = std::move(reply)};
}

Done edit_denied(const LockKey& key, const Lock& holder) {
  auto reply = edit_reply(key.text, false);
  reply["reason"] = locked_by_other;
  reply["locked_by"] = holder.agent_id;
  reply["expires_at"] = to_rfc3339(holder.expires.wall);
  reply["message"] =
      fmt::format("{}; wait, work on something else, or ask {}", describe(holder, key.text), holder.agent_id);
  return {.reply = std::move(reply), .changed = false};
}

Done edit_stale(const LockKey& key, int64_t token) {
  auto reply = edit_reply(key.text, false);
  reply["reason"] = stale_token;
  reply["message"] = stale_message(key.text, token);
  return {.reply = std::move(reply), .changed = false};
}

Done with_doubt(Done refused, const Lock& holder, bool is_asker_unattributed, bool is_holder_unattributed) {
  if (!is_asker_unattributed && !is_holder_unattributed) return refused;
  auto who = is_asker_unattributed ? std::string("this caller") : holder.agent_id;
  refused.reply["message"] = fmt::format(
      "{}. Note: {} is an MCP connection that does not say to which conversation of its program it belongs, "
      "so "
      "it counts as a member of its own",
      text_or(refused.reply, "message"), who);
  return refused;
}

Done edit_outside(std::string_view file_path) {
  auto reply = edit_reply(file_path, true);
  reply["reason"] = "outside_project";
  reply["message"] = "the file is outside the project";
  return {.reply = std::move(reply), .changed = false};
}

}  // namespace cru::coordination
