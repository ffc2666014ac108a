#pragma once
/// For tests: sessions and locks over a real store and a real folder, asked from the test's thread.
#include <future>

#include "handoffs/handoff_table.h"
#include "locks/locks_service.h"
#include "members/member_table.h"
#include "store/store_fixture.h"
#include "work/work_table.h"

namespace cru::coordination {

inline std::vector<Migration> coordination_migrations() {
  std::vector<Migration> all;
  for (auto room : {reply_migrations(), members::migrations(), session_migrations(), fencing_migrations(),
                    lock_migrations(), work_migrations(), handoff_migrations()})
    all.insert(all.end(), room.begin(), room.end());
  return all;
}

/// Paths as they are written: for tests that are not about the file system.
class PlainPaths final : public Paths {
 public:
  Task<Result<Resolved>> resolve(std::string path, std::string) override {
    if (path.starts_with("/") || path.starts_with(".."))
      co_return fail(Code::invalid_argument, "it is outside the project", "file_path");
    while (path.ends_with('/')) path.pop_back();
    bool is_folder = folders.contains(path);
    co_return Resolved{path == "." ? std::string() : path, is_folder};
  }
  std::set<std::string> folders;
};

class LocksFixture : public StoreFixture {
 public:
  explicit LocksFixture(SessionOptions session_options = {}, LockOptions lock_options = {})
      : StoreFixture(coordination_migrations()),
        session_options_(std::move(session_options)),
        lock_options_(lock_options) {
    if (session_options_.root.empty()) session_options_.root = folder.path();
    session_options_.git_limit = patience;
    begin();
  }
  ~LocksFixture() override { end(); }

  /// A daemon that is killed and started again.
  void restart() {
    end();
    reopen();
    begin();
  }

  static Who who(std::string agent_id, std::string session = "", std::string owner = "") {
    return {.agent_id = agent_id, .session_id = session_id_from(agent_id, session), .owner = owner};
  }
  static Who once(Who who, std::string key) {
    who.once = {key, "hash"};
    return who;
  }

  template <class F>
  auto ask(F make) {
    return thread->await(make);
  }
  Result<Done> acquire(Who by, std::string path, Locks::Request more = {}) {
    more.file_path = std::move(path);
    return ask([&] { return locks->acquire(by, more); });
  }
  Result<Done> release(Who by, std::string path, std::optional<int64_t> token = {}) {
    return ask([&] { return locks->release(by, path, token); });
  }
  Result<Done> edit(Who by, std::string path, std::optional<int64_t> token = {}) {
    return ask([&] { return locks->check_edit(by, path, token); });
  }
  json::array held(std::vector<std::string> paths = {}) {
    auto checked = ask([&] { return locks->check(who("watcher"), paths); });
    EXPECT_TRUE(checked);
    json::array held;
    if (checked)
      for (const auto& [lock, waiters] : *checked) held.push_back(*parse_json(lock_text(lock, waiters)));
    return held;
  }
  Result<Done> enroll(Who by, Sessions::Registration registration = {}) {
    return ask([&] { return sessions->register_session(by, registration); });
  }
  Result<Done> beat(Who by, std::string status = "") {
    return ask([&] { return sessions->heartbeat(by, {.is_idle = status == "idle"}); });
  }
  Result<Done> leave(Who by, std::string reason = "", std::string via = "tool") {
    return ask([&] { return sessions->end(by, reason, via); });
  }
  Result<Done> cleanup(Duration threshold = 15min) {
    return ask([&] { return sessions->cleanup(who("watcher"), threshold); });
  }
  Result<> seen(Who by) {
    return ask([&] { return sessions->seen(by); });
  }
  json::array peers(std::string capability = "", std::string status = "") {
    auto done = ask([&] { return sessions->discover(who("watcher"), capability, status); });
    EXPECT_TRUE(done);
    auto found = done ? done->reply.at("agents").as_array() : json::array();
    json::array others;
    for (auto& one : found)
      if (one.as_object().at("agent_id") != "watcher") others.push_back(one);
    return others;
  }
  std::optional<Session> session(Who by) {
    return *read([id = by.session_id](Reader& reader) -> Result<std::optional<Session>> {
      return find_session(reader, id);
    });
  }
  int64_t count(std::string_view sql) {
    return *read([sql](Reader& reader) -> Result<int64_t> { return reader.row(sql)->integer(0); });
  }
  std::vector<std::string> events(std::string_view family) {
    auto page = ask([&] { return store->events().read(0, {}, 5000); });
    std::vector<std::string> types;
    for (const auto& event : page->events)
      if (event.type.starts_with(family)) types.push_back(event.type);
    return types;
  }

  using Outcome = std::future<Result<Done>>;
  /// Begins to wait, and stands in line when this returns.
  Outcome wait_for(Who by, std::string path, Duration wait = 20s) {
    auto outcome = thread->start([this, by, request = Locks::Request{.file_path = path, .wait = wait}] {
      return locks->acquire(by, request);
    });
    settle();
    return outcome;
  }
  /// Whether what happened until now has not ended its wait.
  bool still_waits(Outcome& outcome) {
    settle();
    return !is_there(outcome);
  }

  PlainPaths paths;
  std::unique_ptr<Pool> pool;
  std::unique_ptr<Sessions> sessions;
  std::unique_ptr<Locks> locks;

 private:
  void begin() {
    pool = std::make_unique<Pool>(thread->loop, 2);
    sessions = std::make_unique<Sessions>(thread->loop, *store, *pool, system_random(), session_options_);
    locks = std::make_unique<Locks>(thread->loop, *store, *sessions, paths, lock_options_);
    follow_sessions(*sessions);
    write_handoffs_at_session_end(*sessions);
  }
  void end() {
    thread->stop();
    locks.reset();
    sessions.reset();
    pool.reset();
  }
  SessionOptions session_options_;
  LockOptions lock_options_;
};

inline std::string said(const Result<Done>& done, std::string_view key) {
  if (!done) return "error " + std::string(name(done.error().code));
  return std::string(text_or(done->reply, key));
}
inline int64_t token_of(const Result<Done>& done) { return done ? int_or(done->reply, "fencing_token") : -1; }

}  // namespace cru::coordination
