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
};
std::optional<Setting> find_setting(Reader& reader, std::string_view scope);
void put_setting(Tx& tx, std::string_view scope, const Setting& setting);
void drop_setting(Tx& tx, std::string_view scope);
std::vector<std::pair<std::string, Setting>> list_settings(Reader& reader, int64_t most);

Spend spent_of(Reader& reader, std::string_view scope);
void add_spend(Tx& tx, std::string_view scope, const Spend& more);
/// The newest first.
std::vector<std::pair<std::string, Spend>> list_spends(Reader& reader, int64_t most);
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
  int64_t since = 0;  ///< of a run: the last line before it
  Time at = {};       ///< when it last changed
};
std::optional<Call> find_call(Reader& reader, std::string_view id);
void put_call(Tx& tx, const Call& call);
std::vector<Call> open_calls(Reader& reader);
/// Those that changed since then: what they spent tells a rate.
std::vector<Call> calls_since(Reader& reader, Time since, int64_t most);
void drop_calls_before(Tx& tx, Time before);

/// A member draws from a further scope: its team's.
void put_share(Tx& tx, std::string_view member, std::string_view scope);
std::optional<std::string> find_share(Reader& reader, std::string_view member);

}  // namespace cru::budgets
