// Random interleavings of hooks, MCP calls, clears, resumes, kills and restarts of many clients: one live
// conversation is one member, two are two, nobody is blocked by itself, and nothing held outlives its holder.
// CRU_MEMBER_SEEDS sets how many worlds; CRU_MEMBER_SEED replays one.
#include <map>
#include <random>

#include "api/handlers/coordination_handlers.h"
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

class MembersWorld : public LocksFixture {
 public:
  explicit MembersWorld(uint64_t seed) : random_(seed) { start(); }
  ~MembersWorld() override { stop(); }
  void TestBody() override {}

  void live() {
    for (int i = 0; i < 120; ++i) {
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
          [this](const ProcessIdentity& process, std::function<void()> ended) -> std::shared_ptr<void> {
            if (!alive_.contains(process.pid)) return nullptr;
            watched_[process.pid] = std::move(ended);
            return std::make_shared<int>(0);
          });
      members_->when_gone([this](const members::Member& member) {
        thread->loop.spawn([](coordination::Sessions& to, std::string id) -> Task<void> {
          auto ended = co_await to.end_of_member(id, "its program has ended");
          EXPECT_TRUE(ended);
        }(*sessions, member.id));
      });
      sessions->when_ended([this] { members_->changed(); });
      sessions->set_presence([this](const std::string& member) { return members_->is_present(member); });
      co_return co_await members_->recover();
    });
  }
  void stop() {
    ask([this]() -> Task<Result<>> {
      members_.reset();
      watched_.clear();
      co_return Result<>();
    });
  }
  void restart_daemon() {
    stop();
    restart();
    start();
  }

  size_t pick(size_t below) { return std::uniform_int_distribution<size_t>(0, below - 1)(random_); }
  std::string fresh(const char* stem) { return fmt::format("{}-{}", stem, ++last_); }

  void act() {
    auto choice = pick(20);
    if (clients_.empty() || choice == 0) return open_client();
    auto& client = clients_[pick(clients_.size())];
    if (choice == 1) return kill(client);
    if (choice == 2) return restart_daemon();
    if (choice == 3 && !client.is_claude && client.conversations.size() < 3) return begin(client);
    if (client.conversations.empty()) return;
    auto& conversation = client.conversations[pick(client.conversations.size())];
    if (choice == 4) return clear(client, conversation);
    if (choice == 5) return leave(client, conversation);
    if (choice == 6) return pretend(client, conversation);
    if (choice < 13) return take(client, conversation, fmt::format("file-{}", pick(12)));
    edit(client, conversation, fmt::format("file-{}", pick(12)));
  }

  void open_client() {
    if (clients_.size() > 5) return;
    ProcessIdentity process{++last_pid_, 7, "boot"};
    alive_.insert(process.pid);
    clients_.push_back({pick(2) == 0, process, {}});
    begin(clients_.back());
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
    gone_.insert(conversation.member);
    std::erase_if(client.conversations,
                  [&](const Conversation& one) { return one.number == conversation.number; });
    if (client.conversations.empty()) end_process(client);
  }
  void kill(Client& client) {
    for (const auto& conversation : client.conversations) gone_.insert(conversation.member);
    client.conversations.clear();
    end_process(client);
  }
  void end_process(const Client& client) {
    auto pid = client.process.pid;
    alive_.erase(pid);
    if (std::getenv("CRU_MEMBER_TRACE")) fmt::print("{} ends\n", pid);
    ask([this, pid]() -> Task<Result<>> {
      if (auto found = watched_.extract(pid)) found.mapped()();
      co_return Result<>();
    });
    std::erase_if(clients_, [&](const Client& one) { return one.process.pid == pid; });
    settle();
  }

  /// Until nobody who is gone holds anything: if that never comes, the test ends by its time limit.
  void settle() {
    for (auto until = std::chrono::steady_clock::now() + std::chrono::minutes(4);
         std::chrono::steady_clock::now() < until;) {
      if (count_held_by_gone() == 0) return;
      std::this_thread::yield();
    }
    ADD_FAILURE() << "something held outlives its holder";
  }
  int64_t count_held_by_gone() {
    int64_t held = 0;
    for (const auto& member : gone_)
      held += count("SELECT count(*) FROM file_locks WHERE member = '" + member + "'");
    return held;
  }

  Result<Who> call(const Client& client, std::string operation, json::object input, const Conversation& from,
                   bool by_server) {
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
                 from.number, call.session_id, call.connection, operation + " " + to_text(input));
    const auto* row = api::find_operation(operation);
    auto identified = ask([&] { return identify_member(*members_, *row, call, input); });
    if (!identified) return fail(identified.error());
    auto who = api::who_of(operation, *identified, input);
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
    if (conversation.connection.empty()) conversation.connection = fresh("connection");
    auto who = call(client, "acquire_lock", {{"file_path", file}}, conversation, true);
    note(conversation, who);
    if (!who) return;
    auto done = acquire(*who, file);
    ASSERT_TRUE(done) << done.error().message;
    const auto* holder = holder_of(file);
    bool is_free = !holder || holder->number == conversation.number;
    EXPECT_EQ(bool_or(done->reply, "success"), is_free) << to_text(done->reply);
    if (is_free) conversation.holds.insert(file);
  }
  void edit(const Client& client, Conversation& conversation, const std::string& file) {
    auto who = call(client, "check_edit", {{"file_path", file}}, conversation, false);
    note(conversation, who);
    if (!who) return;
    auto done = LocksFixture::edit(*who, file);
    ASSERT_TRUE(done) << done.error().message;
    const auto* holder = holder_of(file);
    EXPECT_EQ(bool_or(done->reply, "allowed"), !holder || holder->number == conversation.number)
        << to_text(done->reply);
  }
  /// A process outside of any client says that it is this conversation: by its session id, by its name, or
  /// both.
  void pretend(const Client& client, const Conversation& victim) {
    if (victim.member.empty()) return;
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
    ASSERT_TRUE(identified) << identified.error().message;
    EXPECT_NE(identified->member, victim.member) << operation << " from outside";
    auto who = api::who_of(operation, *identified, input);
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
      return store->write([member = identified->member](Tx& tx) -> Result<bool> {
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
    int64_t talking = 0;
    for (const auto& client : clients_) talking += static_cast<int64_t>(client.conversations.size());
    EXPECT_EQ(count("SELECT count(*) FROM members WHERE ended_at IS NULL"), talking);
  }

  std::mt19937_64 random_;
  std::unique_ptr<members::Members> members_;
  std::set<int64_t> alive_;
  std::map<int64_t, std::function<void()>> watched_;
  std::vector<Client> clients_;
  std::set<std::string> gone_;
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
