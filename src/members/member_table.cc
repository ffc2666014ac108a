#include "members/member_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "members/member_keys.h"
#include "members/member_names.h"
#include "store/columns.h"

namespace cru::members {
namespace {

constexpr int64_t max_members = 10'000;

constexpr Migration member_schema[] = {{"members", 1, R"(
CREATE TABLE members(
  id TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, parent TEXT NOT NULL, definition TEXT NOT NULL,
  scope TEXT NOT NULL, host_pid INTEGER, host_start INTEGER, host_boot_id TEXT, program TEXT NOT NULL,
  session_id TEXT NOT NULL, agent_id TEXT NOT NULL, agent_type TEXT NOT NULL, unattributed INTEGER NOT NULL,
  doing TEXT NOT NULL, started_at INTEGER NOT NULL, ended_at INTEGER, end_reason TEXT NOT NULL);
CREATE UNIQUE INDEX members_by_name ON members(name) WHERE ended_at IS NULL;
CREATE INDEX members_by_scope ON members(scope) WHERE ended_at IS NULL AND scope <> '';
CREATE INDEX members_by_session ON members(session_id);
CREATE INDEX members_ended ON members(ended_at) WHERE ended_at IS NOT NULL;
CREATE TABLE member_keys(
  key TEXT NOT NULL, member TEXT NOT NULL, is_open INTEGER NOT NULL, noted_at INTEGER NOT NULL,
  PRIMARY KEY(key, member)) WITHOUT ROWID;
CREATE INDEX member_keys_of ON member_keys(member, noted_at);
CREATE TABLE member_numbers(stem TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID;
)"},
                                       {"members", 2, R"(
ALTER TABLE members ADD COLUMN left_behind TEXT NOT NULL DEFAULT '';
ALTER TABLE members ADD COLUMN kept_by INTEGER NOT NULL DEFAULT 0;
CREATE INDEX members_here ON members(kept_by, started_at, id) WHERE ended_at IS NULL;
)"}};

constexpr auto member_columns =
    columns<Member>("members", column("id", &Member::id), column("name", &Member::name),
                    column<ByName<kind_from>>("kind", &Member::kind), column("parent", &Member::parent),
                    column("definition", &Member::definition), column("scope", &Member::scope),
                    part(&Member::host, column("host_pid", &ProcessIdentity::pid),
                         column("host_start", &ProcessIdentity::start_time),
                         column("host_boot_id", &ProcessIdentity::boot_id)),
                    column("program", &Member::program), column("session_id", &Member::session_id),
                    column("agent_id", &Member::agent_id), column("agent_type", &Member::agent_type),
                    column("unattributed", &Member::is_unattributed), column("doing", &Member::doing),
                    column("started_at", &Member::started_at), column("ended_at", &Member::ended_at),
                    column("end_reason", &Member::end_reason), column("left_behind", &Member::left_behind),
                    column<ByNumber<KeptBy>>("kept_by", &Member::kept_by));

/// Not REPLACE: that would take away whoever else has the name.
void write_row(Tx& tx, const Member& member) { upsert_row<member_columns, "id">(tx, member); }

}  // namespace

std::span<const Migration> migrations() { return member_schema; }

std::optional<Member> find_member(Reader& reader, std::string_view id) {
  return read_row<member_columns, "SELECT {} FROM members WHERE id = ?">(reader, id);
}

std::map<std::string, std::string> parents_of(Reader& reader, const std::vector<std::string>& ids) {
  std::map<std::string, std::string> parents;
  for (auto& [id, parent] : read_values<std::string, std::string>(
           reader,
           "SELECT id, parent FROM members WHERE parent <> '' AND id IN (SELECT value FROM json_each(?))",
           to_text(json::value_from(ids))))
    parents.emplace(std::move(id), std::move(parent));
  return parents;
}

std::vector<Member> list_members(Reader& reader, bool ended, int64_t most) {
  std::vector<Member> all;
  auto add = [&](std::string_view sql) {
    auto left = most - static_cast<int64_t>(all.size());
    if (left > 0)
      std::ranges::move(read_each(reader, sql, value_in<member_columns>, left), std::back_inserter(all));
  };
  // Each by its index. However many bodies there are, they keep nobody else off the list.
  add(select<member_columns,
             "SELECT {} FROM members WHERE ended_at IS NULL AND kept_by < 2"
             " ORDER BY kept_by, started_at, id LIMIT ?">);
  if (ended)
    add(select<member_columns,
               "SELECT {} FROM members WHERE ended_at IS NOT NULL ORDER BY ended_at DESC, id LIMIT ?">);
  add(select<member_columns,
             "SELECT {} FROM members WHERE ended_at IS NULL AND kept_by = 2"
             " ORDER BY kept_by, started_at, id LIMIT ?">);
  return all;
}

std::vector<Member> list_ended_since(Reader& reader, Time since, int64_t most) {
  return read_rows<member_columns,
                   "SELECT {} FROM members WHERE ended_at >= ? ORDER BY ended_at DESC, id LIMIT ?">(
      reader, since, most);
}

std::vector<Member> list_members_in(Reader& reader, std::string_view scope) {
  if (scope.empty()) return {};
  return read_rows<member_columns,
                   "SELECT {} FROM members WHERE scope = ? AND scope <> '' AND ended_at IS NULL"
                   " ORDER BY started_at, id LIMIT 1000">(reader, scope);
}

bool is_session_taken(Reader& reader, std::string_view session_id) {
  return reader.row("SELECT 1 FROM members WHERE session_id = ? AND ended_at IS NULL", session_id)
      .has_value();
}

std::vector<Member> list_hosted_members(Reader& reader) {
  return read_rows<member_columns,
                   "SELECT {} FROM members WHERE ended_at IS NULL AND host_pid IS NOT NULL LIMIT ?">(
      reader, max_members);
}

Result<Member> add_member(Tx& tx, Member member) {
  bool is_body = member.kept_by == KeptBy::body;
  auto count_others = [&] {
    return *read_value<int64_t>(tx, "SELECT count(*) FROM members WHERE ended_at IS NULL AND kept_by < ?",
                                static_cast<int64_t>(KeptBy::body));
  };
  if (!is_body && count_others() >= max_members)
    return fail(Code::overloaded, "too many members are active", "", "end some, or call cleanup_dead_agents");
  // Thousands may have the same name, and each is to be made in no time.
  member.name = is_body ? free_name(tx, member.name, member.id, 1) : free_name(tx, member.name, member.id);
  if (member.agent_id.empty()) member.agent_id = member.name;
  member.started_at = tx.now();
  write_row(tx, member);
  if (member.kept_by == KeptBy::itself) tx.emit({"member.joined", member.id, to_json(member)});
  return member;
}

Result<Member> add_kept_member(Tx& tx, KeptBy kept_by, std::string_view id, Member member) {
  member.id = kept_member_id(id);
  member.kept_by = kept_by;
  if (member.agent_id.empty()) member.agent_id = member.name;
  // A body is spoken for by its runs alone, if at all: it needs no row and no key more.
  bool has_session = kept_by == KeptBy::thread;
  if (has_session) member.session_id = session_id_from(member.agent_id, member.agent_id);
  auto added = add_member(tx, std::move(member));
  if (added && has_session) note_session(tx, added->session_id, added->id, true);
  return added;
}

void resume_member(Tx& tx, std::string_view id) {
  auto member = find_member(tx, id);
  if (!member || !member->is_ended()) return;
  member->ended_at.reset();
  member->end_reason.clear();
  member->left_behind.clear();
  member->name = free_name(tx, member->name, member->id);
  put_member(tx, *member);
  if (!member->session_id.empty()) note_session(tx, member->session_id, id, true);
}

void put_member(Tx& tx, const Member& member) {
  write_row(tx, member);
  if (member.kept_by == KeptBy::itself) tx.emit({"member.changed", member.id, to_json(member)});
}

void end_member(Tx& tx, std::string_view id, std::string_view why, std::string_view left_behind) {
  auto member = find_member(tx, id);
  if (!member) return;
  if (member->is_ended()) {
    if (!left_behind.empty() && member->left_behind.empty())
      tx.exec("UPDATE members SET left_behind = ? WHERE id = ?", left_behind, id);
    return;
  }
  member->ended_at = tx.now();
  member->end_reason = why;
  member->left_behind = left_behind;
  write_row(tx, *member);
  close_keys(tx, id);
  if (member->kept_by == KeptBy::itself) tx.emit({"member.left", member->id, to_json(*member)});
}

void end_with_session(Tx& tx, std::string_view id, std::string_view why, std::string_view left_behind) {
  auto member = find_member(tx, id);
  if (member && member->kept_by == KeptBy::itself) end_member(tx, id, why, left_behind);
}

void end_members_in(Tx& tx, std::string_view scope, std::string_view why) {
  for (const auto& id : read_values<std::string>(
           tx, "SELECT id FROM members WHERE scope = ? AND scope <> '' AND ended_at IS NULL", scope))
    end_member(tx, id, why);
}

void end_forsaken_members(Tx& tx, Time cutoff, int64_t most,
                          const std::function<bool(Tx&, const std::string&)>& has_session) {
  for (const auto& id : read_values<std::string>(
           tx,
           "SELECT id FROM members WHERE ended_at IS NULL AND host_pid IS NULL AND scope = '' AND kept_by = 0"
           " AND started_at < ? AND EXISTS (SELECT 1 FROM member_keys WHERE member = id) LIMIT ?",
           cutoff, most))
    if (!has_session(tx, id)) end_member(tx, id, "it did nothing");
}

int64_t remove_old_members(Tx& tx, Time cutoff, int64_t most) {
  int64_t removed = 0;
  for (const auto& id :
       read_values<std::string>(tx, "SELECT id FROM members WHERE ended_at < ? LIMIT ?", cutoff, most)) {
    drop_keys(tx, id);
    removed += tx.exec("DELETE FROM members WHERE id = ?", id);
  }
  return removed;
}

}  // namespace cru::members
