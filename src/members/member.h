#pragma once
/// Rules of members: whoever acts is one member, with one id and one name, however many programs, sessions
/// and connections speak for it. Who a caller is, identity.h decides.
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/process_identity.h"
#include "base/result.h"
#include "base/time.h"

namespace cru::members {

enum class Kind { person, claude, codex, gemini, command, model, script };
std::string_view name(Kind kind);
Kind kind_from(std::string_view name);

/// What a member lives by. Threads and bodies begin and end in rooms of their own, whatever becomes of the
/// sessions that speak for them; there may be very many bodies, whose own events tell of them.
enum class KeptBy { itself, thread, body };

struct Member {
  std::string id;
  std::string name = {};  ///< unique among those that have not ended
  Kind kind = Kind::script;
  std::string parent = {};      ///< the member that spawned it
  std::string definition = {};  ///< the agent definition that it follows
  /// Where it runs: a run's execution or a client's host process. Conversations in one scope are told apart
  /// by their session ids. Empty: nowhere on this machine.
  std::string scope = {};
  std::optional<ProcessIdentity> host = {};  ///< it lives as long as this process; without one, by heartbeat
  std::string program = {};                  ///< what the host is, for people
  std::string session_id = {};               ///< of its session, which locks and work name
  std::string agent_id = {};                 ///< as it calls itself; its name if it does not say
  std::string agent_type = {};
  /// A connection of a host with several conversations that does not say whose it is.
  bool is_unattributed = false;
  std::string doing = {};
  Time started_at = {};
  std::optional<Time> ended_at = {};
  std::string end_reason = {};
  std::string left_behind = {};  ///< of one that went without a word: "2 locks, 1 work item"
  KeptBy kept_by = KeptBy::itself;

  bool is_ended() const { return ended_at.has_value(); }
  bool operator==(const Member&) const = default;
};

/// `text` if it is a UUID, else one that is always the same for this agent and text.
std::string session_id_from(std::string_view agent_id, std::string_view text);
/// The vendor that a program, a client or an agent type belongs to.
std::optional<Kind> vendor_of(std::string_view text);
/// The kind of whoever thinks with a mind of this name: a vendor's, "scripted", "command", or a model's.
Kind kind_of_mind(std::string_view name);
/// What the wire calls an agent of this kind.
std::string_view agent_type(Kind kind);
/// "m-" and 12 digits.
std::string member_id_from(const std::array<uint8_t, 16>& random);
/// Of a thread or a body, whose own id is as good: "m-agent_001". And back; empty if it is neither.
std::string kept_member_id(std::string_view id);
std::string kept_id(const Member& member);
json::object to_json(const Member& member);

}  // namespace cru::members
