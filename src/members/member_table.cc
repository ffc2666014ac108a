#include "members/member_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/id.h"

namespace cru::members {
namespace {

constexpr int64_t max_members = 10'000;
constexpr int64_t max_keys = 256;  ///< of one member; the oldest go
constexpr int64_t max_stems = 1000;

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

#define MEMBER_COLUMNS                                                                                   \
  "id, name, kind, parent, definition, scope, host_pid, host_start, host_boot_id, program, session_id, " \
  "agent_id, agent_type, unattributed, doing, started_at, ended_at, end_reason, left_behind, kept_by"

Member to_member(const Row& row) {
  Member member{.id = row.text(0),
                .name = row.text(1),
                .kind = kind_from(row.text(2)),
                .parent = row.text(3),
                .definition = row.text(4),
                .scope = row.text(5),
                .program = row.text(9),
                .session_id = row.text(10),
                .agent_id = row.text(11),
                .agent_type = row.text(12),
                .is_unattributed = row.boolean(13),
                .doing = row.text(14),
                .started_at = row.time(15),
                .ended_at = row.maybe_time(16),
                .end_reason = row.text(17),
                .left_behind = row.text(18),
                .kept_by = static_cast<KeptBy>(row.integer(19))};
  if (!row.is_null(6)) member.host = ProcessIdentity{row.integer(6), row.integer(7), row.text(8)};
  return member;
}

std::vector<Member> to_members(const std::vector<Row>& rows) {
  std::vector<Member> members;
  for (const auto& row : rows) members.push_back(to_member(row));
  return members;
}

void write_row(Tx& tx, const Member& member) {
  std::optional<int64_t> pid, start;
  std::optional<std::string> boot_id;
  if (member.host) {
    pid = member.host->pid;
    start = member.host->start_time;
    boot_id = member.host->boot_id;
  }
  tx.exec("INSERT OR REPLACE INTO members(" MEMBER_COLUMNS
          ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
          member.id, member.name, name(member.kind), member.parent, member.definition, member.scope, pid,
          start, boot_id, member.program, member.session_id, member.agent_id, member.agent_type,
          member.is_unattributed, member.doing, member.started_at, member.ended_at, member.end_reason,
          member.left_behind, static_cast<int64_t>(member.kept_by));
}

bool is_name_taken(Reader& reader, const std::string& name, std::string_view except) {
  return reader.row("SELECT 1 FROM members WHERE name = ? AND ended_at IS NULL AND id <> ?", name, except)
      .has_value();
}

/// "claude-3". A number is never given twice, so that a name in an old log is not somebody else's today.
std::string next_name(Tx& tx, std::string stem) {
  // What clients call themselves is theirs to choose: however many words they find, the table stays small.
  bool is_new = !tx.row("SELECT 1 FROM member_numbers WHERE stem = ?", stem);
  if (is_new && tx.row("SELECT count(*) FROM member_numbers")->integer(0) >= max_stems) stem = "agent";
  for (;;) {
    tx.exec(
        "INSERT INTO member_numbers(stem, last) VALUES(?, 1) ON CONFLICT(stem) DO UPDATE SET last = last + 1",
        stem);
    auto number = tx.row("SELECT last FROM member_numbers WHERE stem = ?", stem)->integer(0);
    auto numbered = fmt::format("{}-{}", stem, number);
    if (!is_name_taken(tx, numbered, "")) return numbered;
  }
}

/// `wanted`, or with a number behind it that makes it unique: one up to `most_tries` if there is one.
std::string free_name(Tx& tx, const std::string& wanted, std::string_view except, int most_tries = 10) {
  auto free = wanted;
  for (int number = 2; is_name_taken(tx, free, except); ++number) {
    if (number > most_tries) return next_name(tx, wanted);
    free = fmt::format("{}-{}", wanted, number);
  }
  return free;
}

std::string session_key(std::string_view session) { return fmt::format("session:{}", session); }
std::string connection_key(std::string_view connection) { return fmt::format("connection:{}", connection); }

using IsOpen = std::function<bool(const std::string& connection)>;

Candidate to_candidate(Reader& reader, const Member& member, const IsOpen& is_open) {
  constexpr std::string_view of_session = "session:", of_connection = "connection:";
  Candidate candidate{.id = member.id, .scope = member.scope, .is_ended = member.is_ended()};
  // It is where it is: no run and no host takes it over by naming its session.
  if (member.kept_by != KeptBy::itself) candidate.scope = "kept:" + member.id;
  for (const auto& row : reader.rows("SELECT key, is_open FROM member_keys WHERE member = ?", member.id)) {
    auto key = row.text(0);
    if (key.starts_with(of_session))
      candidate.sessions.push_back({key.substr(of_session.size()), row.boolean(1)});
    else if (auto connection = key.substr(of_connection.size()); is_open(connection))
      candidate.connections.push_back(std::move(connection));
  }
  return candidate;
}

/// Whoever has this key, preferably one that has not ended, preferably in this scope, preferably the newest:
/// who claims another's key does not come between it and its own.
std::optional<Member> find_by_key(Reader& reader, const std::string& key, const std::string& scope) {
  auto row = reader.row(
      "SELECT member FROM member_keys JOIN members ON id = member WHERE key = ? ORDER BY ended_at IS NOT "
      "NULL, scope <> ?, started_at DESC, id LIMIT 1",
      key, scope);
  if (!row) return {};
  return find_member(reader, row->text(0));
}

/// The evidence as it counts: several conversations in one host and not a word about which of them leaves
/// only what the caller says of itself.
struct Judged {
  Evidence evidence;
  Verdict verdict;
};
Judged judge(Reader& reader, Evidence evidence, const IsOpen& is_open) {
  // The daemon itself speaks for an agent that thinks here, and knows whose call it is.
  if (evidence.run.empty() && !evidence.run_member.empty())
    if (find_member(reader, evidence.run_member))
      return {evidence, {.what = Verdict::What::known, .member = evidence.run_member}};
  auto scope = scope_of(evidence);
  std::vector<Candidate> here;
  if (!scope.empty())
    for (const auto& row :
         reader.rows("SELECT " MEMBER_COLUMNS
                     " FROM members WHERE scope = ? AND ended_at IS NULL ORDER BY started_at, id LIMIT 1000",
                     scope))
      here.push_back(to_candidate(reader, to_member(row), is_open));
  // A mind's run is the run of the agent that thinks.
  auto is_owner = [&](const Candidate& one) { return one.id == evidence.run_member; };
  if (!evidence.run_member.empty() && std::ranges::none_of(here, is_owner))
    if (auto owner = find_member(reader, evidence.run_member); owner && !owner->is_ended())
      here.push_back(to_candidate(reader, *owner, is_open));
  if (here.size() > 1 && evidence.session.empty() && evidence.connection.empty()) {
    evidence.host.reset();
    evidence.run.clear();
    scope.clear();
  }
  std::optional<Member> elsewhere;
  if (scope.empty()) {
    elsewhere = find_by_key(reader, session_key(session_id_of(evidence)), scope);
    bool is_named = !evidence.session.empty() && !evidence.is_person;
    if (is_named && (!elsewhere || elsewhere->is_ended()))
      if (auto other = find_by_key(reader, session_key(evidence.session), scope))
        elsewhere = std::move(other);
  } else if (!evidence.session.empty()) {
    elsewhere = find_by_key(reader, session_key(evidence.session), scope);
  }
  std::optional<Candidate> candidate;
  if (elsewhere) candidate = to_candidate(reader, *elsewhere, is_open);
  if (scope.empty() && candidate && is_live_elsewhere(evidence, *candidate)) {
    evidence.session = apart_session_id(evidence);
    elsewhere = find_by_key(reader, session_key(evidence.session), scope);
    candidate.reset();
    if (elsewhere) candidate = to_candidate(reader, *elsewhere, is_open);
  }
  auto verdict = identify(evidence, here, candidate);
  return {std::move(evidence), std::move(verdict)};
}

/// A key that was closed is opened again only if its session begins: what comes late from a session that is
/// over, or from a server that was started with its id, does not bring it back.
void note_key(Tx& tx, const std::string& key, std::string_view member, bool begins) {
  auto known = tx.row("SELECT is_open FROM member_keys WHERE key = ? AND member = ?", key, member);
  if (known && (known->boolean(0) || !begins)) return;
  tx.exec("INSERT OR REPLACE INTO member_keys(key, member, is_open, noted_at) VALUES(?, ?, 1, ?)", key,
          member, tx.now());
  tx.exec(
      "DELETE FROM member_keys WHERE member = ?1 AND key IN (SELECT key FROM member_keys WHERE member = ?1 "
      "ORDER BY noted_at DESC, key LIMIT -1 OFFSET ?2)",
      member, max_keys);
}

bool is_session_taken(Reader& reader, const std::string& session_id) {
  return reader.row("SELECT 1 FROM members WHERE session_id = ? AND ended_at IS NULL", session_id)
      .has_value();
}

Result<Member> make_member(Tx& tx, const Evidence& evidence, const Verdict& verdict, const std::string& id) {
  Member member{.id = id,
                .name = {},
                .kind = kind_of(evidence),
                .scope = scope_of(evidence),
                .host = evidence.run.empty() ? evidence.host : std::nullopt,
                .program = evidence.program,
                .session_id = session_id_of(evidence),
                .agent_id = evidence.agent_id,
                .agent_type = agent_type_of(evidence),
                .is_unattributed = verdict.is_unattributed};
  bool is_own_session = verdict.takes_session && (!member.scope.empty() ? !evidence.session.empty() : true);
  if (!is_own_session || is_session_taken(tx, member.session_id))
    member.session_id = session_id_from("member", id);
  // Without an agent program above it, a connection lives as long as its own process.
  if (member.scope.empty() && !evidence.connection.empty()) member.host = evidence.process;
  member.name = evidence.agent_id.empty() ? next_name(tx, name_stem(evidence)) : evidence.agent_id;
  return add_member(tx, std::move(member));
}

/// What a known member has become by this evidence; true if that is worth writing.
bool update(Tx& tx, Member& member, const Evidence& evidence, const Verdict& verdict) {
  auto before = member;
  if (verdict.what == Verdict::What::moves) {
    member.scope = scope_of(evidence);
    member.host = evidence.run.empty() ? evidence.host : std::nullopt;
    member.program = evidence.program;
    member.kind = kind_of(evidence);
  }
  bool is_first =
      member.scope.starts_with("run:") && !tx.row("SELECT 1 FROM member_keys WHERE member = ?", member.id);
  bool is_its_place = member.scope == scope_of(evidence);
  if (member.is_ended() && is_its_place && (evidence.begins() || member.kind == Kind::person)) {
    member.ended_at.reset();
    member.end_reason.clear();
    member.left_behind.clear();
    member.name = free_name(tx, member.name, member.id);
    if (member.scope.empty() && !evidence.connection.empty()) member.host = evidence.process;
  }
  // The first word from inside a run says what its agent is called.
  if (is_first && !evidence.session.empty()) {
    auto own = session_id_of(evidence);
    if (!is_session_taken(tx, own)) member.session_id = own;
  }
  if (is_first && !evidence.agent_type.empty()) member.agent_type = evidence.agent_type;
  // Several processes speak for it: none of them is its life.
  if (member.scope.empty() && member.host && evidence.process != member.host) member.host.reset();
  if (!evidence.agent_id.empty() && evidence.agent_id != member.agent_id && !member.scope.empty()) {
    member.agent_id = evidence.agent_id;
    if (!member.scope.starts_with("run:")) member.name = free_name(tx, evidence.agent_id, member.id);
  }
  return member.scope != before.scope || member.host != before.host || member.name != before.name ||
         member.agent_id != before.agent_id || member.session_id != before.session_id ||
         member.agent_type != before.agent_type || member.ended_at != before.ended_at;
}

}  // namespace

std::span<const Migration> migrations() { return member_schema; }

bool is_numbered_name(Reader& reader, std::string_view name) {
  auto dash = name.rfind('-');
  if (dash == std::string_view::npos) return false;
  int64_t number = 0;
  auto [end, error] = std::from_chars(name.data() + dash + 1, name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number < 1) return false;
  return reader.row("SELECT 1 FROM member_numbers WHERE stem = ? AND last >= ?", name.substr(0, dash), number)
      .has_value();
}

std::optional<Member> find_member(Reader& reader, std::string_view id) {
  auto row = reader.row("SELECT " MEMBER_COLUMNS " FROM members WHERE id = ?", id);
  if (!row) return {};
  return to_member(*row);
}

std::vector<Member> list_members(Reader& reader, bool ended, int64_t most) {
  std::vector<Member> all;
  auto add = [&](std::string_view which) {
    auto left = most - static_cast<int64_t>(all.size());
    auto sql = fmt::format("SELECT " MEMBER_COLUMNS " FROM members WHERE {} LIMIT ?", which);
    if (left > 0) std::ranges::move(to_members(reader.rows(sql, left)), std::back_inserter(all));
  };
  // Each by its index. However many bodies there are, they keep nobody else off the list.
  add("ended_at IS NULL AND kept_by < 2 ORDER BY kept_by, started_at, id");
  if (ended) add("ended_at IS NOT NULL ORDER BY ended_at DESC, id");
  add("ended_at IS NULL AND kept_by = 2 ORDER BY kept_by, started_at, id");
  return all;
}

std::vector<Member> list_hosted_members(Reader& reader) {
  return to_members(reader.rows("SELECT " MEMBER_COLUMNS
                                " FROM members WHERE ended_at IS NULL AND host_pid IS NOT NULL LIMIT ?",
                                max_members));
}

Result<Member> add_member(Tx& tx, Member member) {
  bool is_body = member.kept_by == KeptBy::body;
  auto count_others = [&] {
    return tx
        .row("SELECT count(*) FROM members WHERE ended_at IS NULL AND kept_by < ?",
             static_cast<int64_t>(KeptBy::body))
        ->integer(0);
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
  if (added && has_session) note_key(tx, session_key(added->session_id), added->id, true);
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
  tx.exec("UPDATE member_keys SET is_open = 1 WHERE member = ? AND key = ?", id,
          session_key(member->session_id));
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
  tx.exec("UPDATE member_keys SET is_open = 0 WHERE member = ?", id);
  if (member->kept_by == KeptBy::itself) tx.emit({"member.left", member->id, to_json(*member)});
}

void end_with_session(Tx& tx, std::string_view id, std::string_view why, std::string_view left_behind) {
  auto member = find_member(tx, id);
  if (member && member->kept_by == KeptBy::itself) end_member(tx, id, why, left_behind);
}

void end_members_in(Tx& tx, std::string_view scope, std::string_view why) {
  for (const auto& row :
       tx.rows("SELECT id FROM members WHERE scope = ? AND scope <> '' AND ended_at IS NULL", scope))
    end_member(tx, row.text(0), why);
}

int64_t remove_old_members(Tx& tx, Time cutoff, int64_t most) {
  int64_t removed = 0;
  for (const auto& row : tx.rows("SELECT id FROM members WHERE ended_at < ? LIMIT ?", cutoff, most)) {
    tx.exec("DELETE FROM member_keys WHERE member = ?", row.text(0));
    removed += tx.exec("DELETE FROM members WHERE id = ?", row.text(0));
  }
  return removed;
}

std::optional<Member> look_up(Reader& reader, const Evidence& evidence, const IsOpen& is_open) {
  auto judged = judge(reader, evidence, is_open);
  if (judged.verdict.what == Verdict::What::fresh) return {};
  return find_member(reader, judged.verdict.member);
}

Result<Member> admit_member(Tx& tx, const Evidence& given, const std::string& id, const IsOpen& is_open) {
  auto [evidence, verdict] = judge(tx, given, is_open);
  Member member;
  if (verdict.what == Verdict::What::fresh) {
    auto made = make_member(tx, evidence, verdict, id);
    if (!made) return made;
    member = *std::move(made);
  } else {
    member = *find_member(tx, verdict.member);
    if (update(tx, member, evidence, verdict)) put_member(tx, member);
  }
  bool begins = evidence.begins();
  // A process with one conversation has one session at a time, whichever it named last.
  bool is_only = evidence.run.empty() && evidence.host && has_one_conversation(evidence.program) &&
                 !evidence.session.empty() && evidence.connection.empty();
  if (evidence.step == SessionStep::begins_anew || (is_only && begins))
    tx.exec("UPDATE member_keys SET is_open = 0 WHERE member = ? AND key LIKE 'session:%'", member.id);
  if (scope_of(evidence).empty())
    note_key(tx, session_key(member.session_id), member.id, begins);
  else if (verdict.takes_session && !evidence.session.empty())
    note_key(tx, session_key(evidence.session), member.id, begins);
  if (!evidence.connection.empty()) note_key(tx, connection_key(evidence.connection), member.id, true);
  return member;
}

bool close_session(Tx& tx, std::string_view member, std::string_view session) {
  tx.exec("UPDATE member_keys SET is_open = 0 WHERE member = ? AND key = ?", member, session_key(session));
  return !tx.row("SELECT 1 FROM member_keys WHERE member = ? AND is_open = 1 AND key LIKE 'session:%'",
                 member);
}

}  // namespace cru::members
