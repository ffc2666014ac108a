#include "sessions/session.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"

namespace cru::coordination {
namespace {

constexpr std::array<std::string_view, 6> turn_names = {"",          "idle",  "thinking", "using a tool",
                                                        "needs you", "failed"};

Result<> check_owner(const Session& session, const Who& who) {
  // Neither a name nor a session id in use is a key to what it holds.
  bool is_same = session.member.empty() ? session.agent_id == who.agent_id : session.member == who.member;
  if (session.is_connected() && !is_same)
    return fail(Code::forbidden,
                fmt::format("session {} belongs to agent {}", session.session_id, session.agent_id),
                "Cru-Session-Id", "use your own session id");
  if (session.owner == who.owner) return {};
  // Whoever thinks with a program is another run each time.
  if (is_same && session.gone_with_run && !who.owner.empty()) return {};
  return fail(Code::forbidden, fmt::format("session {} belongs to another run", session.session_id),
              "Cru-Session-Id", "use your own session id");
}

Session alive(Session session, const Who& who, const Moment& now) {
  if (!who.member.empty()) session.member = who.member;
  session.agent_id = who.agent_id;
  session.owner = who.owner;
  if (!session.is_connected()) {
    session.gone_because.clear();
    session.gone_with_run = false;
    session.ended_at.reset();
    note_turn(session, Turn::unknown, {}, now.wall);
  }
  session.presence = Presence::active;
  session.last_heartbeat = now;
  return session;
}

std::string counted(int64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

}  // namespace

std::string_view name(Presence presence) {
  switch (presence) {
    case Presence::active:
      return "active";
    case Presence::idle:
      return "idle";
    case Presence::disconnected:
      return "disconnected";
  }
  return "disconnected";
}

Presence presence_from(std::string_view name) {
  if (name == "active") return Presence::active;
  return name == "idle" ? Presence::idle : Presence::disconnected;
}

std::string_view name(Turn turn) { return turn_names[static_cast<size_t>(turn)]; }
Turn turn_from(std::string_view text) {
  const auto* found = std::ranges::find(turn_names, text);
  return found == turn_names.end() ? Turn::unknown : static_cast<Turn>(found - turn_names.begin());
}

bool note_turn(Session& session, Turn turn, std::string tool, Time now) {
  // Between two tools it thinks of what the first one said; between two turns of nothing.
  bool had_tool = session.turn == Turn::thinking || session.turn == Turn::using_tool;
  if (turn == Turn::thinking && tool.empty() && had_tool) tool = session.tool;
  if (turn == Turn::idle) tool.clear();
  if (turn == Turn::needs_user && session.turn == turn) return false;
  if (session.turn == turn && session.tool == tool) return false;
  session.turn = turn;
  session.tool = std::move(tool);
  session.turn_since = now;
  return true;
}

Session new_session(const Who& who, const Moment& now) {
  return {.session_id = who.session_id,
          .agent_id = who.agent_id,
          .agent_type = who.agent_type,
          .owner = who.owner,
          .member = who.member,
          .capabilities = who.capabilities,
          .folder = who.cwd,
          .last_heartbeat = now,
          .started_at = now.wall};
}

Result<Session> admit(Session session, const Who& who, const Moment& now) {
  if (auto checked = check_owner(session, who); !checked) return fail(std::move(checked.error()));
  if (!session.is_connected() && !session.gone_with_run && !session.is_person())
    return fail(Code::session_expired,
                fmt::format("this agent session was disconnected: {}", session.gone_because), "",
                "call register_session");
  return alive(std::move(session), who, now);
}

Result<Session> revive(Session session, const Who& who, const Moment& now) {
  if (auto checked = check_owner(session, who); !checked) return fail(std::move(checked.error()));
  return alive(std::move(session), who, now);
}

bool is_stale(const Session& session, const Moment& now, Duration threshold) {
  return session.is_connected() && !session.is_person() &&
         passed(after(session.last_heartbeat, threshold), now);
}

std::string describe(const Freed& freed) {
  std::string text;
  auto add = [&](int64_t count, std::string_view one, std::string_view many) {
    if (count > 0) text += (text.empty() ? "" : ", ") + counted(count, one, many);
  };
  add(freed.locks, "lock", "locks");
  add(freed.work, "work item", "work items");
  add(freed.questions, "question", "questions");
  return text;
}

Session disconnect(Session session, std::string_view why, const Freed& freed, const Moment& now) {
  session.presence = Presence::disconnected;
  session.gone_because =
      fmt::format("{}; {} released, {} requeued", why, counted(freed.locks, "lock", "locks"),
                  counted(freed.work, "work item", "work items"));
  session.kept_by_hook = false;
  session.ended_at = now.wall;
  ++session.epoch;
  return session;
}

std::string why_it_ended(std::string_view reason) {
  // What Claude Code and Codex say when nothing special happened.
  bool is_normal = is_one_of(reason, {"", "other", "exit", "prompt_input_exit"});
  return is_normal ? "it ended normally" : fmt::format("it ended: {}", reason);
}

json::object to_json(const Session& session) {
  return {{"agent_id", session.agent_id},
          {"agent_type", session.agent_type},
          {"session_id", session.session_id},
          {"member", json_or_null(session.member)},
          {"capabilities", json::value_from(session.capabilities)},
          {"status", name(session.presence)},
          {"current_task", json_or_null(session.current_task)},
          {"last_heartbeat", to_rfc3339(session.last_heartbeat.wall)},
          {"started_at", to_rfc3339(session.started_at)},
          {"ended_at", session.ended_at ? json::value(to_rfc3339(*session.ended_at)) : json::value(nullptr)}};
}

}  // namespace cru::coordination
