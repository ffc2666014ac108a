// Random interleavings of hooks, MCP calls, clears, resumes, kills and restarts of many clients: one live
// conversation is one member, two are two, nobody is blocked by itself, and nothing held outlives its holder.
// Calls are on their way while their client is killed, cleared or resumed elsewhere and the daemon restarts.
// CRU_MEMBER_SEEDS sets how many worlds; CRU_MEMBER_SEED replays one.
#include <fmt/format.h>

#include <map>
#include <random>

#include "api/handlers/coordination_handlers.h"
#include "daemon/endings.h"
#include "daemon/member_door.h"
#include "handoffs/handoff_table.h"
#include "locks/locks_fixture.h"

namespace cru::daemon {
namespace {

using coordination::LocksFixture;
using coordination::Who;

/// A conversation of a person with an agent, as its client shows it to us.
struct Conversation {
  int number;
  std::string session;      ///< the id at the moment
  std::string connection;   ///< its MCP server; empty: none yet
  bool is_between = false;  ///< cleared: the next session has not begun
  std::set<std::string> holds = {};
  std::string member = {};  ///< once it is known
};
/// A client's process.
struct Client {
  bool is_claude;
  ProcessIdentity process;
  std::vector<Conversation> conversations;
};
/// A conversation that is over, and may be resumed.
struct Past {
  bool is_claude;
  std::string session, member;
};
/// A call that nobody has waited for yet.
struct PendingCall {
  int conversation;
  std::string member, file;
  std::future<Result<Done>> outcome;
};

class MembersWorld : public LocksFixture {
 public:
  explicit MembersWorld(uint64_t seed) : random_(seed) { start(); }
  ~MembersWorld() override { stop(); }
  void TestBody() override {}

  void live() {
    for (int i = 0; i < 150; ++i) {
      act();
      if (HasFailure()) return;
    }
    check();
  }

 private:
  void start() {
    ask([this]() -> Task<Result<>> {
      members_ = std::make_unique<members::Members>(
          thread->loop, *store, system_random(),
          [this](ProcessIdentity process, std::function<void()> ended) -> Task<members::Members::Watched> {
            if (!alive_.contains(process.pid)) co_return members::Members::Watched{.is_gone = true};
            watched_[process.pid] = std::move(ended);
            co_return members::Members::Watched{.exit = std::make_shared<int>(0)};
          });
      endings_ = std::make_unique<Endings>(thread->loop, *sessions);
      members_->when_gone([this](std::string member, ProcessIdentity host) {
        endings_->host_ended(std::move(member), std::move(host));
      });
      sessions->when_ended([this] { members_->changed(); });
      sessions->set_presence(
          [this](const coordination::Session& session) { return members_->is_present(session.member); });
      auto recovered = co_await members_->recover();
      if (recovered) recovered = co_await sessions->recover([](const std::string&) { return true; });
      co_return recovered;
    });
  }
  /// As a daemon that is killed: what is on its way is dropped where it stands.
  void stop() {
    thread->stop();
    members_.reset();
    endings_.reset();
    watched_.clear();
  }
  void restart_daemon() {
    stop();
    restart();
    start();
    collect_pending_calls();
  }

  size_t pick(size_t below) { return std::uniform_int_distribution<size_t>(0, below - 1)(random_); }
  std::string fresh(const char* stem) { return fmt::format("{}-{}", stem, ++last_); }

  void act() {
    auto choice = pick(26);
    if (choice == 25) return resume();
    if (clients_.empty() || choice == 0) return open_client();
    auto& client = clients_[pick(clients_.size())];
    if (choice == 1) return kill(client);
    if (choice == 2) return restart_daemon();
    if (choice == 24) return resume_at_once(client);
    if (choice == 3 && !client.is_claude && client.conversations.size() < 3) return begin(client);
    if (client.conversations.empty()) return;
    auto& conversation = client.conversations[pick(client.conversations.size())];
    if (choice == 4) return clear(client, conversation);
    if (choice == 5) return leave(client, conversation);
    if (choice == 6) return pretend(client, conversation);
    if (choice == 7) return claim(client, conversation);
    if (choice > 17) return take_off(client, conversation, fmt::format("file-{}", pick(12)));
    if (choice < 13) return take(client, conversation, fmt::format("file-{}", pick(12)));
    edit(client, conversation, fmt::format("file-{}", pick(12)));
  }

  void open_client() {
    if (clients_.size() > 5) return;
    begin(new_client(pick(2) == 0));
  }
  void begin(Client& client) {
    client.conversations.push_back({++last_conversation_, fresh("session"), "", false});
    auto& conversation = client.conversations.back();
    // Claude's server and its hook race; Codex begins its session at the first turn.
    if (pick(2) == 0) take(client, conversation, fmt::format("file-{}", pick(12)));
    hook_start(client, conversation, "startup");
  }
  void clear(Client& client, Conversation& conversation) {
    // Of several threads of one Codex server nobody can tell which was cleared: it goes on as somebody else.
    if (!client.is_claude && client.conversations.size() > 1) return;
    auto old = conversation.session;
    if (client.is_claude)
      hook(client, conversation, "end_session", {{"via", "hook"}, {"reason", pick(2) ? "clear" : "resume"}});
    conversation.session = fresh("session");
    if (!client.is_claude) conversation.connection.clear();
    hook_start(client, conversation, "clear");
    if (!client.is_claude && pick(2) == 0) {  // a minute later
      auto late = conversation;
      late.session = old;
      late.member.clear();
      call(client, "end_session", {{"via", "hook"}, {"reason", "other"}}, late, false);
    }
  }
  void leave(Client& client, Conversation& conversation) {
    hook(client, conversation, "end_session", {{"via", "hook"}, {"reason", "other"}});
    note_past(client, conversation);
    auto number = conversation.number;
    std::erase_if(client.conversations, [&](const Conversation& one) { return one.number == number; });
    if (client.conversations.empty()) end_process(client);
  }
  void kill(Client& client) {
    for (const auto& conversation : client.conversations) note_past(client, conversation);
    client.conversations.clear();
    end_process(client);
  }
  void note_past(const Client& client, const Conversation& conversation) {
    if (!conversation.member.empty())
      past_.push_back({client.is_claude, conversation.session, conversation.member});
  }
  /// Nobody waits for what follows from it.
  void end_process(const Client& client) {
    auto pid = client.process.pid;
    if (std::getenv("CRU_MEMBER_TRACE")) fmt::print("{} ends\n", pid);
    std::erase_if(clients_, [&](const Client& one) { return one.process.pid == pid; });
    thread->on_loop([this, pid] {
      alive_.erase(pid);
      if (auto found = watched_.extract(pid)) found.mapped()();
    });
  }

  Client& new_client(bool is_claude) {
    ProcessIdentity process{++last_pid_, 7, "boot"};
    thread->on_loop([&] { alive_.insert(process.pid); });
    clients_.push_back({is_claude, process, {}});
    return clients_.back();
  }
  /// Goes on with a conversation that is over, in another process: it is who it was.
  void resume() {
    if (past_.empty() || clients_.size() > 5) return;
    settle();
    auto at = past_.begin() + static_cast<std::ptrdiff_t>(pick(past_.size()));
    auto past = *at;
    past_.erase(at);
    // A session that was opened twice at once is the one's that had it last.
    if (text_of("scope", past.member).empty() || count_of_session(past.session) > 1) return;
    auto& client = new_client(past.is_claude);
    client.conversations.push_back({++last_conversation_, past.session, "", false, {}, past.member});
    hook_start(client, client.conversations.back(), "resume");
  }
  /// The same before anybody has noticed that the first process is gone. Whether it is the same member or
  /// another, the end of the first does not touch it.
  void resume_at_once(Client& client) {
    if (client.conversations.size() != 1) return;
    auto session = client.conversations.front().session;
    bool is_claude = client.is_claude;
    kill(client);
    std::erase_if(past_, [&](const Past& one) { return one.session == session; });
    auto& next = new_client(is_claude);
    next.conversations.push_back({++last_conversation_, session, "", false});
    hook_start(next, next.conversations.back(), "resume");
  }
  int64_t count_of_session(const std::string& session) {
    return count("SELECT count(*) FROM member_keys WHERE key = 'session:" + session + "'");
  }

  /// A lock is asked for, and nobody waits for the answer.
  void take_off(const Client& client, Conversation& conversation, const std::string& file) {
    if (conversation.member.empty() || is_in_flight(file)) return;
    if (conversation.connection.empty()) conversation.connection = fresh("connection");
    auto call = call_of(client, conversation, true, "acquire_lock later");
    pending_calls_.push_back({conversation.number, conversation.member, file,
                              thread->start([this, call, file] { return carry_out(call, file); })});
  }
  Task<Result<Done>> carry_out(api::Call call, std::string file) {
    json::object input{{"file_path", file}};
    auto identified = co_await identify_member(*members_, *api::find_operation("acquire_lock"), call, input);
    if (!identified) co_return fail(std::move(identified.error()));
    auto who = api::who_of("acquire_lock", **identified, input);
    if (!who) co_return fail(std::move(who.error()));
    co_return co_await locks->acquire(*std::move(who), {.file_path = file});
  }
  bool is_in_flight(const std::string& file) const {
    return std::ranges::find(pending_calls_, file, &PendingCall::file) != pending_calls_.end();
  }
  /// What has come of the calls that are on their way. Those that a killed daemon dropped may have been done.
  void collect_pending_calls() {
    for (auto& call : pending_calls_) {
      ASSERT_TRUE(comes(call.outcome));
      // Its client may have been killed and its conversation resumed: then it is that one's.
      auto* conversation = find_conversation([&](const Conversation& one) {
        return one.number == call.conversation || one.member == call.member;
      });
      if (!conversation) continue;
      bool is_held = count(fmt::format("SELECT count(*) FROM file_locks WHERE member = '{}' AND key = '{}'",
                                       call.member, call.file)) > 0;
      try {
        auto done = call.outcome.get();
        bool is_its_own = conversation->number == call.conversation;
        if (is_its_own) EXPECT_TRUE(done) << done.error().message;
        if (done && is_its_own) EXPECT_EQ(bool_or(done->reply, "success"), is_held) << to_text(done->reply);
      } catch (const std::future_error&) {
      }
      if (is_held) conversation->holds.insert(call.file);
    }
    pending_calls_.clear();
  }
  template <class Test>
  Conversation* find_conversation(Test test) {
    for (auto& client : clients_)
      for (auto& one : client.conversations)
        if (test(one)) return &one;
    return nullptr;
  }

  /// Until nobody who is gone is there or holds anything: if that never comes, the test ends by its time
  /// limit.
  void settle() {
    collect_pending_calls();
    for (auto until = std::chrono::steady_clock::now() + std::chrono::minutes(4);
         std::chrono::steady_clock::now() < until;) {
      if (count_left_by_gone() == 0) return expect_held();
      std::this_thread::yield();
    }
    ADD_FAILURE() << "something outlives its member";
  }
  /// Rows of whoever is not one of those that talk.
  int64_t count_left_by_gone() {
    std::string living = "''";
    for (const auto& client : clients_)
      for (const auto& one : client.conversations) living += fmt::format(", '{}'", one.member);
    return count(
        fmt::format("SELECT (SELECT count(*) FROM members WHERE ended_at IS NULL AND id NOT IN ({0})) + "
                    "(SELECT count(*) FROM "
                    "agent_sessions WHERE status <> 'disconnected' AND member NOT IN ({0})) + (SELECT "
                    "count(*) FROM file_locks "
                    "WHERE member NOT IN ({0})) + (SELECT count(*) FROM work_queue w JOIN agent_sessions s "
                    "ON s.session_id = "
                    "w.claimed_by_session WHERE w.status = 'claimed' AND (s.status = 'disconnected' OR "
                    "s.member NOT IN ({0})))",
                    living));
  }
  /// Each holds what it has been given and nothing else.
  void expect_held() {
    std::set<std::string> given;
    for (const auto& client : clients_)
      for (const auto& one : client.conversations)
        for (const auto& file : one.holds) given.insert(one.member + " " + file);
    auto kept = ask([&] {
      return store->read([](Reader& reader) -> Result<std::set<std::string>> {
        std::set<std::string> rows;
        for (const auto& row : reader.rows("SELECT member || ' ' || key FROM file_locks"))
          rows.insert(row.text(0));
        return rows;
      });
    });
    ASSERT_TRUE(kept);
    EXPECT_EQ(*kept, given);
  }

  /// Work that is claimed, as the work room writes it.
  void claim(const Client& client, Conversation& conversation) {
    if (conversation.connection.empty()) conversation.connection = fresh("connection");
    auto who = call(client, "get_work", {}, conversation, true);
    note(conversation, who);
    if (!who) return;
    auto claimed = ask([&] {
      return store->write([who = *who, task = fresh("work"), listeners = sessions->listeners(),
                           now = sessions->now()](Tx& tx) -> Result<int64_t> {
        auto session = coordination::admit_session(tx, who, now, *listeners);
        if (!session) return fail(std::move(session.error()));
        return tx.exec(
            "INSERT INTO work_queue(task_id, task_type, priority, status, ready, waits_for, dependencies, "
            "release_on_failure, attempts, max_attempts, backoff, claimed_by, claimed_by_session, "
            "lease_length, "
            "lease_wall, lease_boot_id, lease_boot, fencing_token, accepted_token, accepted_success, "
            "submitted_by, created_at, description) VALUES(?, 't', 5, 'claimed', 0, 0, 0, 0, 1, 9, 0, ?, ?, "
            "86400000, ?, ?, ?, 1, 0, 0, 'test', ?, 'd')",
            task, who.agent_id, who.session_id, tx.now() + 24h, now.boot_id, (now.boot + 24h).count(),
            tx.now());
      });
    });
    EXPECT_TRUE(claimed) << claimed.error().message;
  }

  api::Call call_of(const Client& client, const Conversation& from, bool by_server, const std::string& what) {
    api::Call call;
    call.caller = api::agent;
    call.host = client.process;
    call.host_program = client.is_claude ? "claude" : "codex";
    call.process = ProcessIdentity{++last_pid_, 1, "boot"};
    if (by_server) {
      call.connection = from.connection;
      if (!client.is_claude) call.session_id = from.session;  // Codex names it with every call
      if (client.is_claude && pick(2) == 0) call.session_id = "stale";
    } else {
      call.session_id = from.session;
    }
    if (std::getenv("CRU_MEMBER_TRACE"))
      fmt::print("{} {} conversation {} session {} connection {} {}\n", client.process.pid, call.host_program,
                 from.number, call.session_id, call.connection, what);
    return call;
  }
  Result<Who> call(const Client& client, std::string operation, json::object input, const Conversation& from,
                   bool by_server) {
    auto call = call_of(client, from, by_server, operation + " " + to_text(input));
    const auto* row = api::find_operation(operation);
    auto identified = ask([&] { return identify_member(*members_, *row, call, input); });
    if (!identified) return fail(identified.error());
    auto who = api::who_of(operation, **identified, input);
    if (!who) return who;
    if (operation == "register_session") {
      auto done = ask([&] { return sessions->register_session(*who, {.kept_by_hook = true}); });
      if (!done) return fail(done.error());
    } else if (operation == "end_session") {
      auto done = ask([&] {
        return sessions->end(*who, std::string(text_or(input, "reason")), std::string(text_or(input, "via")));
      });
      if (!done) return fail(done.error());
    }
    return who;
  }

  void note(Conversation& conversation, const Result<Who>& who) {
    ASSERT_TRUE(who) << who.error().message;
    if (conversation.member.empty()) conversation.member = who->member;
    EXPECT_EQ(conversation.member, who->member)
        << "one conversation became two members: " << conversation.number;
    for (const auto& client : clients_)
      for (const auto& other : client.conversations)
        if (other.number != conversation.number)
          EXPECT_NE(other.member, conversation.member) << "two conversations are one member";
  }
  void hook(const Client& client, Conversation& conversation, std::string operation, json::object input) {
    note(conversation, call(client, std::move(operation), std::move(input), conversation, false));
  }
  void hook_start(const Client& client, Conversation& conversation, std::string source) {
    hook(client, conversation, "register_session", {{"via", "hook"}, {"source", source}});
  }

  const Conversation* holder_of(const std::string& file) {
    for (const auto& client : clients_)
      for (const auto& one : client.conversations)
        if (one.holds.contains(file)) return &one;
    return nullptr;
  }
  void take(const Client& client, Conversation& conversation, const std::string& file) {
    if (is_in_flight(file)) return;
    if (conversation.connection.empty()) conversation.connection = fresh("connection");
    auto who = call(client, "acquire_lock", {{"file_path", file}}, conversation, true);
    note(conversation, who);
    if (!who) return;
    auto done = acquire(*who, file);
    ASSERT_TRUE(done) << done.error().message;
    const auto* holder = holder_of(file);
    bool is_own = holder && holder->number == conversation.number, is_got = bool_or(done->reply, "success");
    // What somebody held who is gone is free sooner or later.
    if (holder) EXPECT_EQ(is_got, is_own) << to_text(done->reply);
    if (is_got) conversation.holds.insert(file);
  }
  void edit(const Client& client, Conversation& conversation, const std::string& file) {
    if (is_in_flight(file)) return;
    auto who = call(client, "check_edit", {{"file_path", file}}, conversation, false);
    note(conversation, who);
    if (!who) return;
    auto done = LocksFixture::edit(*who, file);
    ASSERT_TRUE(done) << done.error().message;
    if (const auto* holder = holder_of(file))
      EXPECT_EQ(bool_or(done->reply, "allowed"), holder->number == conversation.number)
          << to_text(done->reply);
  }
  /// A process outside of any client says that it is this conversation: by its session id, by its name, or
  /// both.
  void pretend(const Client& client, const Conversation& victim) {
    if (victim.member.empty()) return;
    settle();
    api::Call call;
    call.caller = api::agent;
    call.process = ProcessIdentity{++last_pid_, 1, "boot"};
    call.session_id = pick(2) ? victim.session : text_of("session_id", victim.member);
    call.agent_id = pick(2) ? text_of("agent_id", victim.member) : "mallory";
    call.agent_type = "claude_code";
    if (pick(3) == 0) call.connection = fresh("connection");
    if (pick(3) == 0) {  // under a program of its own
      call.host = ProcessIdentity{++last_pid_, 1, "boot"};
      call.host_program = client.is_claude ? "claude" : "codex";
    }
    auto operation = std::array{"register_session", "acquire_lock", "end_session", "release_lock"}[pick(4)];
    json::object input{{"file_path", "mallorys"}};
    if (pick(2)) input["via"] = "hook";
    const auto* row = api::find_operation(operation);
    auto identified = ask([&] { return identify_member(*members_, *row, call, input); });
    if (!identified) {  // it was told that it is not the victim
      EXPECT_EQ(identified.error().code, Code::conflict) << identified.error().message;
      return;
    }
    EXPECT_NE((*identified)->member, victim.member) << operation << " from outside";
    auto who = api::who_of(operation, **identified, input);
    ASSERT_TRUE(who) << who.error().message;
    auto ended = ask([&] { return sessions->end(*who, "gone", "hook"); });
    if (ended) EXPECT_EQ(int_or(ended->reply, "locks_released"), 0) << to_text(ended->reply);
    for (const auto& file : victim.holds)
      EXPECT_EQ(count("SELECT count(*) FROM file_locks WHERE member = '" + victim.member + "' AND key = '" +
                      file + "'"),
                1)
          << file << " was lost to " << operation;
    // What was made on the way is gone again.
    auto removed = ask([&] {
      return store->write([member = (*identified)->member](Tx& tx) -> Result<bool> {
        members::end_member(tx, member, "it was nobody");
        return true;
      });
    });
    ASSERT_TRUE(removed);
    ask([this]() -> Task<Result<>> {
      members_->changed();
      co_return Result<>();
    });
  }
  std::string text_of(const std::string& column, const std::string& member) {
    auto found = ask([&] {
      return store->read([&](Reader& reader) -> Result<std::string> {
        auto row = reader.row("SELECT " + column + " FROM members WHERE id = ?", member);
        return row ? row->text(0) : std::string();
      });
    });
    return found ? *found : std::string();
  }
  void check() {
    settle();
    int64_t talking = 0;
    for (const auto& client : clients_) talking += static_cast<int64_t>(client.conversations.size());
    EXPECT_EQ(count("SELECT count(*) FROM members WHERE ended_at IS NULL"), talking);
  }

  std::mt19937_64 random_;
  std::unique_ptr<members::Members> members_;
  std::unique_ptr<Endings> endings_;
  std::set<int64_t> alive_;
  std::map<int64_t, std::function<void()>> watched_;
  std::vector<Client> clients_;
  std::vector<Past> past_;
  std::vector<PendingCall> pending_calls_;
  int last_ = 0, last_conversation_ = 0;
  int64_t last_pid_ = 1000;
};

TEST(MembersProperty, OneConversationIsOneMember) {
  const char* seed = std::getenv("CRU_MEMBER_SEED");
  const char* seeds = std::getenv("CRU_MEMBER_SEEDS");
  uint64_t first = seed ? std::strtoull(seed, nullptr, 10) : 1;
  uint64_t count = seed ? 1 : seeds ? std::strtoull(seeds, nullptr, 10) : 8;
  for (uint64_t at = first; at < first + count; ++at) {
    SCOPED_TRACE(fmt::format("replay with CRU_MEMBER_SEED={}", at));
    MembersWorld(at).live();
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace cru::daemon
