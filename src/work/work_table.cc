#include "work/work_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "store/columns.h"
#include "store/row_memory.h"
#include "work/work_indexes.h"

namespace cru::coordination {
namespace {

// Large columns come last, so that reading an item's state touches one page.
constexpr Migration all_migrations[] = {{"work", 1, R"(
CREATE TABLE work_queue(
  number INTEGER PRIMARY KEY, task_id TEXT NOT NULL UNIQUE, task_type TEXT NOT NULL, priority INTEGER NOT NULL,
  status TEXT NOT NULL, ready INTEGER NOT NULL, due INTEGER, waits_for INTEGER NOT NULL,
  dependencies INTEGER NOT NULL, release_on_failure INTEGER NOT NULL, attempts INTEGER NOT NULL,
  max_attempts INTEGER NOT NULL, backoff INTEGER NOT NULL,
  not_before_wall INTEGER, not_before_boot_id TEXT, not_before_boot INTEGER,
  deadline_wall INTEGER, deadline_boot_id TEXT, deadline_boot INTEGER,
  claimed_by TEXT, claimed_by_session TEXT, lease_length INTEGER NOT NULL,
  lease_wall INTEGER, lease_boot_id TEXT, lease_boot INTEGER,
  fencing_token INTEGER NOT NULL, accepted_token INTEGER NOT NULL, accepted_success INTEGER NOT NULL,
  submitted_by TEXT NOT NULL, content TEXT, created_at INTEGER NOT NULL, completed_at INTEGER,
  verify_run TEXT, verify_context TEXT, verify TEXT, error_message TEXT, description TEXT NOT NULL,
  evidence TEXT, result TEXT, input_data TEXT);
CREATE INDEX work_ready ON work_queue(priority, number) WHERE ready = 1;
CREATE INDEX work_ready_by_type ON work_queue(task_type, priority, number) WHERE ready = 1;
CREATE INDEX work_open ON work_queue(priority, number) WHERE completed_at IS NULL;
CREATE INDEX work_closed ON work_queue(completed_at) WHERE completed_at IS NOT NULL;
CREATE INDEX work_due ON work_queue(due) WHERE due IS NOT NULL;
CREATE INDEX work_of_session ON work_queue(claimed_by_session, status) WHERE claimed_by_session IS NOT NULL;
CREATE TABLE work_dependencies(
  number INTEGER PRIMARY KEY, task_id TEXT NOT NULL, depends_on TEXT NOT NULL, is_open INTEGER NOT NULL,
  UNIQUE(task_id, depends_on));
CREATE INDEX work_dependents ON work_dependencies(depends_on, is_open);
CREATE TABLE work_open_count(count INTEGER NOT NULL);
INSERT INTO work_open_count(count) VALUES(0);
)"},
                                        // What a session has done is found by when it was done: an entry for
                                        // each session's place in an index is a page for each.
                                        {"work", 2, R"(
DROP INDEX work_of_session;
CREATE INDEX work_of_session ON work_queue(claimed_by_session)
  WHERE claimed_by_session IS NOT NULL AND completed_at IS NULL;
DROP INDEX work_closed;
CREATE INDEX work_closed ON work_queue(completed_at, claimed_by_session) WHERE completed_at IS NOT NULL;
)"},
                                        // An item is in as few of them as can be, for each entry costs a
                                        // claim or a completion: open ones are ready, waiting or in hand, and
                                        // of those in hand it is known by session when they are due.
                                        {"work", 3, R"(
DROP INDEX work_open;
CREATE INDEX work_waiting ON work_queue(priority, number)
  WHERE ready = 0 AND claimed_by_session IS NULL AND completed_at IS NULL;
DROP INDEX work_of_session;
CREATE INDEX work_in_hand ON work_queue(claimed_by_session, due)
  WHERE claimed_by_session IS NOT NULL AND completed_at IS NULL;
DROP INDEX work_due;
CREATE INDEX work_due ON work_queue(due)
  WHERE due IS NOT NULL AND (claimed_by_session IS NULL OR completed_at IS NOT NULL);
)"}};

/// 0 of a new item, to which the database gives one.
struct GivenNumber {
  static std::optional<int64_t> store(int64_t number) {
    return number ? std::optional(number) : std::nullopt;
  }
  static int64_t load(const Row& row, size_t at) { return row.integer(at); }
};

/// How many there are; which, another table says (work_in).
struct ListedElsewhere {
  static int64_t store(const std::vector<std::string>& ids) { return static_cast<int64_t>(ids.size()); }
  static std::vector<std::string> load(const Row&, size_t) { return {}; }
};

/// Without `jail` it was written before it was kept how its submitter was confined: it is not run. One that
/// is damaged is no command at all, for half a command is another; and it is not none, for then nothing would
/// be proved.
struct VerifyRecord {
  static std::optional<std::string> store(const VerifyCommand& command) {
    if (command.argv.empty()) return {};
    json::object text{{"argv", json::value_from(command.argv)},
                      {"confined", command.confinement.has_value()},
                      {"jail", runs::to_record(command.jail)}};
    if (command.confinement) {
      text["write"] = command.confinement->may_write;
      text["network"] = command.confinement->may_use_network;
    }
    return to_text(text);
  }
  static VerifyCommand load(const Row& row, size_t at) {
    VerifyCommand command;
    if (row.is_null(at)) return command;
    auto value = parse_json(row.text_view(at));
    const auto* object = value ? value->if_object() : nullptr;
    const auto* argv = object ? array_at(*object, "argv") : value ? value->if_array() : nullptr;
    auto is_text = [](const json::value& word) { return word.is_string(); };
    if (!argv || argv->empty() || !std::ranges::all_of(*argv, is_text)) {
      row.is_damaged(at, "is not a command");
      command.is_damaged = true;
      return command;
    }
    for (const auto& word : *argv) command.argv.emplace_back(word.get_string());
    const auto* jail = object ? object->if_contains("jail") : nullptr;
    command.is_submitter_unknown = !jail || !jail->is_string();
    if (!object || bool_or(*object, "confined", true))
      command.confinement = {object && bool_or(*object, "write"), object && bool_or(*object, "network")};
    if (!command.is_submitter_unknown)
      command.jail = runs::rights_from_record(std::string(jail->get_string()));
    return command;
  }
};

constexpr auto state_columns = columns<Work>(
    "work_queue", column<GivenNumber>("number", &Work::number), column("task_id", &Work::task_id),
    column("task_type", &Work::task_type), column("priority", &Work::priority),
    column<ByName<work_status_from>>("status", &Work::status), column("waits_for", &Work::waits_for),
    column<ListedElsewhere>("dependencies", &Work::depends_on),
    column("release_on_failure", &Work::release_on_dependency_failure), column("attempts", &Work::attempts),
    column("max_attempts", &Work::max_attempts), column("backoff", &Work::backoff),
    part(&Work::not_before, column("not_before_wall", &Deadline::wall),
         column("not_before_boot_id", &Deadline::boot_id), column("not_before_boot", &Deadline::boot)),
    part(&Work::deadline, column("deadline_wall", &Deadline::wall),
         column("deadline_boot_id", &Deadline::boot_id), column("deadline_boot", &Deadline::boot)),
    column<TextOrNull>("claimed_by", &Work::claimed_by),
    column<TextOrNull>("claimed_by_session", &Work::claimed_by_session),
    column("lease_length", &Work::lease_length),
    part(&Work::lease, column("lease_wall", &Deadline::wall), column("lease_boot_id", &Deadline::boot_id),
         column("lease_boot", &Deadline::boot)),
    column("fencing_token", &Work::fencing_token), column("accepted_token", &Work::accepted_token),
    column("accepted_success", &Work::accepted_success), column("submitted_by", &Work::submitted_by),
    column<TextOrNull>("content", &Work::content), column("created_at", &Work::created_at),
    column("completed_at", &Work::completed_at), column<TextOrNull>("verify_run", &Work::verify_run),
    column<TextOrNull>("verify_context", &Work::verify_context),
    column<VerifyRecord>("verify", &Work::verify), column<TextOrNull>("error_message", &Work::error_message),
    column("description", &Work::description), column<TextOrNull>("evidence", &Work::evidence));
constexpr auto work_columns = columns(state_columns, column<TextOrNull>("result", &Work::result),
                                      column<TextOrNull>("input_data", &Work::input_data));

#define SELECT_WORK "SELECT {} FROM work_queue "
// A list goes without the last two columns, which are large.
#define SELECT_STATE "SELECT {}, NULL, NULL FROM work_queue "

struct MemberOf {
  std::string member;
};

/// Whose a claim is, its session says: a column of its own would come behind the large ones.
std::string member_of(Reader& reader, std::string_view session_id) {
  auto found = remembered(reader, "agent_sessions", session_id, [&] {
    return read_first(
        reader, "SELECT member FROM agent_sessions WHERE session_id = ?",
        [](const Row& row) { return MemberOf{row.text(0)}; }, session_id);
  });
  return found ? std::move(found->member) : std::string();
}

/// Makes the items of rows.
auto work_in(Reader& reader) {
  return [&reader, session = std::string(), member = std::string()](const Row& row) mutable {
    constexpr auto dependencies = work_columns.place_of("dependencies");
    auto work = work_columns.read(row);
    if (!work.claimed_by_session.empty()) {
      // Often several are one session's.
      if (work.claimed_by_session != session) {
        session = work.claimed_by_session;
        member = member_of(reader, work.claimed_by_session);
      }
      work.claimed_by_member = member;
    }
    if (row.integer(dependencies) > 0)
      work.depends_on = read_values<std::string>(
          reader, "SELECT depends_on FROM work_dependencies WHERE task_id = ? ORDER BY number", work.task_id);
    return work;
  };
}

std::optional<int64_t> due_column(const Work& work, const Moment& now) {
  const auto* first = due(work, now);
  if (!first) return {};
  return (now.boot + until(*first, now)).count();
}

/// Writes what changes of an item; `more` is what the statement asks for besides.
template <Literal statement>
int64_t change(Tx& tx, const Work& work, const Moment& now, const auto&... more) {
  return update_rows<work_columns, statement, "status", "waits_for", "attempts", "not_before_wall",
                     "not_before_boot_id", "not_before_boot", "claimed_by", "claimed_by_session",
                     "lease_length", "lease_wall", "lease_boot_id", "lease_boot", "fencing_token",
                     "accepted_token", "accepted_success", "verify_run", "verify_context", "error_message",
                     "evidence", "result">(tx, work, is_ready(work), due_column(work, now), more...);
}

}  // namespace

std::span<const Migration> work_migrations() { return all_migrations; }

std::optional<Work> find_work(Reader& reader, std::string_view task_id) {
  return read_first(reader, select<work_columns, SELECT_WORK "WHERE task_id = ?">, work_in(reader), task_id);
}

std::vector<std::string> work_ids_beginning(Reader& reader, std::string_view prefix, int64_t limit) {
  // `~` comes after everything that an id is made of.
  return read_values<std::string>(
      reader,
      "SELECT task_id FROM work_queue WHERE task_id >= ?1 AND task_id < ?1 || '~' ORDER BY task_id LIMIT ?2",
      prefix, limit);
}

std::vector<Work> first_ready(Reader& reader, std::span<const std::string> task_types, int64_t limit) {
  if (task_types.empty())
    return read_each(reader,
                     select<work_columns, SELECT_WORK "WHERE ready = 1 ORDER BY priority, number LIMIT ?">,
                     work_in(reader), limit);
  if (task_types.size() == 1)
    return read_each(reader,
                     select<work_columns, SELECT_WORK
                            "WHERE ready = 1 AND task_type = ? ORDER BY priority, number LIMIT ?">,
                     work_in(reader), task_types.front(), limit);
  std::set<std::tuple<int64_t, int64_t>> best;  // by priority and number; a type may be named twice
  for (const auto& type : task_types)
    for (const auto& one : read_values<int64_t, int64_t>(
             reader,
             "SELECT priority, number FROM work_queue WHERE ready = 1 AND task_type = ?"
             " ORDER BY priority, number LIMIT ?",
             type, limit))
      best.insert(one);
  std::vector<Work> works;
  for (const auto& [priority, number] : best) {
    if (static_cast<int64_t>(works.size()) == limit) break;
    if (auto work =
            read_first(reader, select<work_columns, SELECT_WORK "WHERE number = ?">, work_in(reader), number))
      works.push_back(*std::move(work));
  }
  return works;
}

namespace {

#define OF_STATUS_AND_TYPE " AND (?1 = '' OR status = ?1) AND (?2 = '' OR task_type = ?2) "

/// Of the open ones that are ready, waiting and in hand the first of each; then the first of them together.
std::vector<Work> list_open(Reader& reader, std::string_view status, std::string_view task_type,
                            int64_t limit) {
  std::vector<Work> works;
  auto add = [&](std::string_view sql) {
    for (auto& work : read_each(reader, sql, work_in(reader), status, task_type, limit))
      works.push_back(std::move(work));
  };
  // What is claimed or being verified is in somebody's hand, and little beside what is not.
  if (status != "pending")
    add(select<state_columns, SELECT_STATE "INDEXED BY work_in_hand WHERE " IS_IN_HAND OF_STATUS_AND_TYPE
                                           "ORDER BY priority, number LIMIT ?3">);
  if (status != "claimed" && status != "running") {
    add(select<state_columns, SELECT_STATE "INDEXED BY work_ready WHERE ready = 1 AND completed_at IS NULL"
                                           " AND claimed_by_session IS NULL" OF_STATUS_AND_TYPE
                                           "ORDER BY priority, number LIMIT ?3">);
    add(select<state_columns, SELECT_STATE "INDEXED BY work_waiting WHERE " IS_WAITING OF_STATUS_AND_TYPE
                                           "ORDER BY priority, number LIMIT ?3">);
  }
  std::ranges::sort(works, {}, [](const Work& work) { return std::tuple(work.priority, work.number); });
  if (works.size() > static_cast<size_t>(limit)) works.resize(static_cast<size_t>(limit));
  return works;
}

}  // namespace

std::vector<Work> list_work(Reader& reader, std::string_view status, std::string_view task_type,
                            int64_t limit) {
  if (status == "open") return list_open(reader, "", task_type, limit);
  bool is_over = !status.empty() && is_closed(work_status_from(status));
  auto works = is_over ? std::vector<Work>() : list_open(reader, status, task_type, limit);
  auto left = limit - static_cast<int64_t>(works.size());
  if ((is_over || status.empty()) && left > 0)
    for (auto& work :
         read_each(reader,
                   select<state_columns, SELECT_STATE "WHERE completed_at IS NOT NULL" OF_STATUS_AND_TYPE
                                                      "ORDER BY completed_at DESC LIMIT ?3">,
                   work_in(reader), status, task_type, left))
      works.push_back(std::move(work));
  return works;
}

// The sessions that have something in hand, each found behind the one before it.
#define SESSIONS_WITH_WORK                                                              \
  "WITH RECURSIVE holders(id) AS ("                                                     \
  "SELECT (SELECT min(claimed_by_session) FROM work_queue WHERE " IS_IN_HAND            \
  ")"                                                                                   \
  " UNION ALL SELECT (SELECT min(claimed_by_session) FROM work_queue WHERE " IS_IN_HAND \
  " AND claimed_by_session > id) FROM holders WHERE id IS NOT NULL) "

std::vector<Work> due_work(Reader& reader, const Moment& now, int64_t limit) {
  constexpr auto with_due = [](Reader& from) {
    return [make = work_in(from)](const Row& row) mutable {
      return std::pair(row.integer(work_columns.width), make(row));
    };
  };
  auto due = read_each(reader,
                       select<work_columns, "SELECT {}, due FROM work_queue WHERE " IS_DUE_OUT_OF_HAND
                                            " AND due <= ? ORDER BY due LIMIT ?">,
                       with_due(reader), now.boot.count(), limit);
  auto in_hand = read_each(
      reader,
      select<work_columns, SESSIONS_WITH_WORK
             "SELECT {}, due FROM holders CROSS JOIN work_queue INDEXED BY work_in_hand"
             " ON claimed_by_session = holders.id WHERE " IS_IN_HAND " AND due <= ? ORDER BY due LIMIT ?">,
      with_due(reader), now.boot.count(), limit);
  std::ranges::move(in_hand, std::back_inserter(due));
  std::ranges::sort(due, {}, [](const auto& one) { return std::tuple(one.first, one.second.number); });
  std::vector<Work> works;
  for (auto& [at, work] : due)
    if (static_cast<int64_t>(works.size()) < limit) works.push_back(std::move(work));
  return works;
}

std::optional<BootTime> next_due(Reader& reader) {
  auto first = read_value<std::optional<int64_t>>(
      reader,
      SESSIONS_WITH_WORK "SELECT min(due) FROM (SELECT (SELECT min(due) FROM work_queue WHERE " IS_IN_HAND
                         " AND claimed_by_session = holders.id) AS due FROM holders UNION ALL SELECT (SELECT "
                         "min(due) FROM work_queue"
                         " WHERE " IS_DUE_OUT_OF_HAND "))");
  return first ? std::optional(BootTime(*first)) : std::nullopt;
}

std::vector<Work> verifying_work(Reader& reader) {
  std::vector<Work> works;
  // Whatever the database says: a record without its claimant counts too.
  for (auto sql :
       {select<work_columns,
               SELECT_WORK "INDEXED BY work_in_hand WHERE " IS_IN_HAND " AND status = 'running'">,
        select<work_columns,
               SELECT_WORK "INDEXED BY work_waiting WHERE " IS_WAITING " AND status = 'running'">,
        select<work_columns, SELECT_WORK "INDEXED BY work_ready WHERE ready = 1 AND completed_at IS NULL"
                                         " AND claimed_by_session IS NULL AND status = 'running'">})
    for (auto& work : read_each(reader, sql, work_in(reader))) works.push_back(std::move(work));
  return works;
}

std::vector<Work> claimed_work(Reader& reader, std::string_view session_id) {
  return read_each(reader,
                   select<work_columns, SELECT_WORK
                          "WHERE claimed_by_session = ? AND completed_at IS NULL AND status = 'claimed'">,
                   work_in(reader), session_id);
}

std::map<std::string, int64_t> count_work_by_status(Reader& reader) {
  std::map<std::string, int64_t> counts;
  for (auto status : {WorkStatus::pending, WorkStatus::claimed, WorkStatus::running, WorkStatus::completed,
                      WorkStatus::failed, WorkStatus::cancelled})
    counts[std::string(name(status))] = 0;
  for (const auto& [status, count] :
       read_values<std::string, int64_t>(reader, "SELECT status, count(*) FROM work_queue GROUP BY status"))
    counts[status] = count;
  return counts;
}

int64_t count_open_work(Reader& reader) {
  return read_value<int64_t>(reader, "SELECT count FROM work_open_count").value_or(0);
}

void insert_work(Tx& tx, const Work& work, const Moment& now) {
  insert_row<work_columns, "ready", "due">(tx, work, is_ready(work), due_column(work, now));
  tx.exec("UPDATE work_open_count SET count = count + 1 WHERE rowid = 1");
}

void update_work(Tx& tx, const Work& work, const Moment& now) {
  // Two statements, for each index over a column that is named is written again.
  if (!is_closed(work.status)) {
    change<"UPDATE work_queue SET {}, ready = ?, due = ? WHERE number = ?">(tx, work, now, work.number);
  } else if (change<"UPDATE work_queue SET {}, ready = ?, due = ?, completed_at = ? WHERE number = ?"
                    " AND completed_at IS NULL">(tx, work, now, work.completed_at, work.number) > 0) {
    tx.exec("UPDATE work_open_count SET count = count - 1 WHERE rowid = 1");
  }
}

void set_unsettled(Tx& tx, const Work& work, bool unsettled) {
  tx.exec("UPDATE work_queue SET due = ? WHERE number = ?",
          unsettled ? std::optional<int64_t>(0) : std::nullopt, work.number);
}

bool add_dependency(Tx& tx, std::string_view task_id, std::string_view depends_on, bool is_open) {
  return tx.exec("INSERT OR IGNORE INTO work_dependencies(task_id, depends_on, is_open) VALUES(?, ?, ?)",
                 task_id, depends_on, is_open) > 0;
}

void close_dependency(Tx& tx, std::string_view task_id, std::string_view depends_on) {
  tx.exec("UPDATE work_dependencies SET is_open = 0 WHERE task_id = ? AND depends_on = ?", task_id,
          depends_on);
}

std::vector<std::string> open_dependencies(Reader& reader, std::string_view task_id) {
  return read_values<std::string>(
      reader, "SELECT depends_on FROM work_dependencies WHERE task_id = ? AND is_open = 1 ORDER BY number",
      task_id);
}

std::vector<std::string> open_dependents(Reader& reader, std::string_view task_id, int64_t limit) {
  // Where nothing has ever waited for anything, nobody need look.
  struct Any {
    bool is_there;
  };
  auto any = remembered(reader, "work_dependencies", "", [&] {
    return std::optional<Any>({reader.row("SELECT 1 FROM work_dependencies LIMIT 1").has_value()});
  });
  if (!any->is_there) return {};
  return read_values<std::string>(
      reader, "SELECT task_id FROM work_dependencies WHERE depends_on = ? AND is_open = 1 LIMIT ?", task_id,
      limit);
}

void set_dependency_count(Tx& tx, const Work& work) {
  update_row<work_columns, "number", "dependencies">(tx, work);
}

}  // namespace cru::coordination
