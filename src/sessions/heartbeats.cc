#include "sessions/heartbeats.h"

namespace cru::coordination {

void Heartbeats::put(const Session& session) {
  if (is_full() && !heard_.contains(session.session_id)) return;
  auto& entry = heard_[session.session_id];
  entry.owner = session.owner;
  entry.member = session.member;
  if (entry.at.boot_id.empty() || until(session.last_heartbeat, entry.at) > Duration(0))
    entry.at = session.last_heartbeat;
  entry.written_at = session.last_heartbeat;
  entry.is_idle = session.presence == Presence::idle;
}

Heartbeats::Heard Heartbeats::hear(const Who& who, const Moment& now) {
  auto found = heard_.find(who.session_id);
  if (found == heard_.end()) return Heard::unknown;
  auto& entry = found->second;
  bool is_another = !entry.member.empty() && entry.member != who.member;
  if (entry.owner != who.owner || is_another) return Heard::unknown;
  entry.at = now;
  bool is_due = entry.is_idle || -until(entry.written_at, now) >= write_every;
  if (!is_due || entry.is_being_written) return Heard::kept;
  entry.is_being_written = true;
  return Heard::to_be_written;
}

void Heartbeats::written(const std::string& session_id, const Moment& at) {
  auto found = heard_.find(session_id);
  if (found == heard_.end()) return;
  found->second.written_at = at;
  found->second.is_idle = found->second.is_being_written = false;
}

void Heartbeats::not_written(const std::string& session_id) {
  auto found = heard_.find(session_id);
  if (found != heard_.end()) found->second.is_being_written = false;
}

Session Heartbeats::latest(Session session) const {
  auto found = heard_.find(session.session_id);
  if (found != heard_.end() && session.is_connected() &&
      until(found->second.at, session.last_heartbeat) > Duration(0))
    session.last_heartbeat = found->second.at;
  return session;
}

std::optional<Moment> Heartbeats::last_of(const std::string& session_id) const {
  auto found = heard_.find(session_id);
  return found == heard_.end() ? std::nullopt : std::optional(found->second.at);
}

void Heartbeats::forget_old(const Moment& now, Duration threshold) {
  std::erase_if(heard_, [&](const auto& item) { return -until(item.second.at, now) > threshold; });
}

}  // namespace cru::coordination
