#pragma once
/// The table `member_keys`: the session ids and connections that speak for a member, and which of the session
/// ids its conversation has at the moment. At most 256 of one member; the oldest go.
#include "members/member.h"
#include "store/store.h"

namespace cru::members {

struct MemberKeys {
  struct Session {
    std::string id;
    bool is_open;
  };
  std::vector<Session> sessions = {};
  std::vector<std::string> connections = {};
};
MemberKeys keys_of(Reader& reader, std::string_view member);
bool has_keys(Reader& reader, std::string_view member);
/// Whoever has this session id: preferably one that has not ended, preferably in this scope, preferably the
/// newest. Who claims another's id does not come between it and its own.
std::optional<std::string> find_holder(Reader& reader, std::string_view session, std::string_view scope);

/// True if that changed something. A session that was closed is opened again only if it `begins`: what comes
/// late from a session that is over, or from a server that was started with its id, does not bring it back.
bool note_session(Tx& tx, std::string_view session, std::string_view member, bool begins);
bool note_connection(Tx& tx, std::string_view connection, std::string_view member);
/// The member's conversation is not under any of its session ids any more. True if it was.
bool close_sessions(Tx& tx, std::string_view member);
/// The member's conversation is not under this session id any more. False if it goes on under another.
bool close_session(Tx& tx, std::string_view member, std::string_view session);
void close_keys(Tx& tx, std::string_view member);
void drop_keys(Tx& tx, std::string_view member);

}  // namespace cru::members
