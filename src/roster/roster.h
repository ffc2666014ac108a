#pragma once
/// Roster: everybody who is there, each with its badge, its facets and what it is doing. It collects what the
/// other rooms have written, in one read, and keeps nothing of its own.
#include <map>

#include "inbox/question.h"
#include "members/badge.h"
#include "members/member_table.h"
#include "runs/run.h"

namespace cru::roster {

/// A member as it is told. Facets that it does not have are empty.
struct Entry {
  members::Member member;
  members::Badge badge;
  std::string parent;  ///< its name
  std::string doing;
  std::string run;      ///< a task id
  std::string session;  ///< a session id
  std::string thread;   ///< a chat's or a subagent's id
  bool is_chat = false;
  std::string body;  ///< a live agent's id
  int64_t tokens = 0;
  std::optional<double> cost_usd = {};
  int64_t tokens_a_minute = 0;  ///< within the last minutes
};
/// "$0.12", or "14k tokens" where the price is not known; empty: nothing, or nobody knows.
std::string describe_spent(int64_t tokens, std::optional<double> cost_usd);
json::object to_json(const Entry& entry);

struct Query {
  bool with_ended = false;
  /// What chats and subagents talk of is for people only: for others chats are left out, and of subagents
  /// what they are doing.
  bool with_conversations = true;
  int64_t limit = 200;
};
struct Page {
  std::vector<Entry> entries;
  bool more = false;
  int64_t tokens_a_minute =
      0;  ///< of `list_spending`: by everybody, also by those who have ended or are not listed
};
/// Everybody who is there with what they spend, whoever spends most first: for `cru top`.
Page list_spending(Reader& reader, const Query& query, Time now);
/// Whoever needs somebody first, then in the order in which they came, live agents last. Among the first are
/// those that ended within the last hour and failed or left something behind, also without `with_ended`.
Page list(Reader& reader, const Query& query, Time now);

/// The oldest question or approval that waits for a person, by who asked.
struct Waiting {
  std::string what;
  Time since;
};
using Asked = std::map<std::string, Waiting>;
Asked list_asked(Reader& reader);
/// Of those of them that there are.
std::map<std::string, members::Badge> badges_of(Reader& reader, const std::vector<std::string>& ids,
                                                Time now);
/// What the work of a run waits for though the run is over: its agent goes on in another when the usage limit
/// of its provider is over. Empty: nothing.
std::string parked_for(Reader& reader, const runs::Run& run);
/// The badge of a run: its member's while it runs, its own once it is over.
members::Badge badge_of(Reader& reader, const runs::Run& run, const Asked& asked, Time now);

}  // namespace cru::roster
