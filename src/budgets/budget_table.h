#pragma once
/// The tables of budgets: what was set, what was spent, what is under way, and who shares with whom.
#include <map>

#include "budgets/budget.h"
#include "store/store.h"

namespace cru::budgets {

std::span<const Migration> migrations();

/// What was set for one scope.
struct Setting {
  Budget budget = {};
  std::string source = {};  ///< "person", "flag", "definition", "agent"
  bool is_closed = false;   ///< a person was asked for more and said no
  int64_t changes = 0;      ///< how often it was raised or set: names the question that is open
  bool is_warned = false;
  bool is_damaged = false;  ///< what was set cannot be read, and so not be kept to; never written
};
std::optional<Setting> find_setting(Reader& reader, std::string_view scope);
void put_setting(Tx& tx, std::string_view scope, const Setting& setting);
void drop_setting(Tx& tx, std::string_view scope);
std::vector<std::pair<std::string, Setting>> list_settings(Reader& reader, int64_t most);

/// None: what stands there cannot be. Of a scope that has spent nothing: nothing.
std::optional<Spend> find_spend(Reader& reader, std::string_view scope);
inline Spend spent_of(Reader& reader, std::string_view scope) {
  return find_spend(reader, scope).value_or(Spend());
}
void add_spend(Tx& tx, std::string_view scope, const Spend& more);
/// The newest first.
std::vector<std::pair<std::string, Spend>> list_spends(Reader& reader, int64_t most);
/// Forgets what was spent.
void drop_spend(Tx& tx, std::string_view scope);
/// Forgets a scope that is gone.
void drop_scope(Tx& tx, std::string_view scope);

/// A reply that is under way, or an agent for which something is set aside.
struct Call {
  std::string id = {};
  bool is_spawn = false;
  bool is_open = true;
  std::vector<std::string> scopes = {};
  std::vector<std::string> within = {};  ///< the agents, by task id, whose share it comes from
  Spend reserved = {};
  Spend spent = {};  ///< counted in the scopes already
  std::string member = {}, model = {}, provider = {};
  int64_t since = 0;          ///< of a run: the last line before it
  Time counted_until = {};    ///< when `spent` was counted last
  Time at = {};               ///< when it last changed
  std::string trace_id = {};  ///< see Payer
  std::vector<std::string> chain = {};
  bool is_damaged = false;  ///< its row cannot be read; only its id and whether it is open are known
};
std::optional<Call> find_call(Reader& reader, std::string_view id);
void put_call(Tx& tx, const Call& call);
/// Those that can be read.
std::vector<Call> open_calls(Reader& reader);
/// Those that changed since then: what they spent tells a rate.
std::vector<Call> calls_since(Reader& reader, Time since, int64_t most);
void drop_calls_before(Tx& tx, Time before);

/// What a member draws from beside what is its own: its run, its chat, its team, and all that its parents
/// drew from when it was spawned.
void put_shares(Tx& tx, std::string_view member, const std::vector<std::string>& scopes);
/// Where that cannot be read: a scope of which nothing can be spent.
inline constexpr std::string_view unreadable_scope = "unreadable";
std::vector<std::string> find_shares(Reader& reader, std::string_view member);
/// Whether anybody draws from this scope.
bool is_shared(Reader& reader, std::string_view scope);
/// Those of members that are gone.
void drop_forsaken_shares(Tx& tx);

}  // namespace cru::budgets
