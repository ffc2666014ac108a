// Chats and subagents in a simulated world: primaries that spawn several at once, subagents that use a tool
// which must not be used twice, some that fail, clients that repeat their requests; with crashes around any
// commit, power losses and full disks. Whatever happens, everything that was begun ends, in order, once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "crew/chat_files.h"
#include "crew/conversation.h"
#include "crew_world.h"
#include "sim_disk.h"
#include "sim_seeds.h"

namespace cru::sim {
namespace {

using namespace crew;

constexpr std::string_view lead_script = R"(
replies:
  - when: {turn: 1}
    delay: 100ms
    say: I ask three.
    tools:
      - {name: spawn_agent, input: {agent: explorer, task: one, model: worker}}
      - {name: mark, input: {id: mine}}
      - {name: spawn_agent, input: {agent: code-reviewer, task: fail two, model: worker}}
      - {name: spawn_agent, input: {agent: nobody, task: three, model: worker}}
      - {name: spawn_agent, input: {agent: explorer, task: four, model: worker}}
otherwise: {say: all are back, delay: 50ms}
)";
constexpr std::string_view worker_script = R"(
replies:
  - when: {turn: 1}
    delay: 200ms
    tools: [{name: mark, input: {id: a}}, {name: mark, input: {id: b}}, {name: spawn_agent, input: {agent: explorer, task: deeper}}]
  - when: {contains: fail, turn: 2}
    fail: {type: overloaded, message: too much}
otherwise: {say: "## Summary\ndone {{task}}", delay: 100ms}
)";

class World {
 public:
  explicit World(uint64_t seed)
      : random_(seed), loop_(clock_), disk_(loop_, random_), world_(loop_, clock_, random_) {
    CRU_ASSERT(write_file(root_ / "lead.yaml", lead_script));
    CRU_ASSERT(write_file(root_ / "worker.yaml", worker_script));
    max_concurrent_ = random_.chance(30) ? 3 : 1;
  }

  void live() {
    if (random_.chance(40)) disk_.ail();
    boot();
    for (auto crashes = random_.pick(7); crashes > 0; --crashes) {
      loop_.run_until([] { return false; }, Duration(static_cast<int64_t>(random_.pick(2000))));
      interrupt();
      if (::testing::Test::HasFailure()) return;
    }
    disk_.repair();
    // A daemon that cannot recover ends, and is started again.
    for (int i = 0; i < 20 && !loop_.run_until([this] { return !has_given_up_; }, 1min); ++i) interrupt();
    loop_.run_until([this] { return all_over_; }, 10min);
    EXPECT_TRUE(all_over_) << "something is still under way after ten minutes";
    for (const auto& [key, times] : made_) EXPECT_EQ(times, 1) << key << " was used twice";
    loop_.drop_tasks();
    daemon_.reset();
  }

 private:
  void boot() {
    daemon_ = std::make_unique<CrewDaemon>(loop_, world_, random_, disk_.open_store(crew_migrations()),
                                           root_.path(), made_, max_concurrent_);
    loop_.spawn(work());
  }

  void interrupt() {
    bool power = random_.chance(30);
    disk_.stop_midway();
    loop_.drop_tasks();
    daemon_.reset();
    if (power) disk_.fs.lose_power(random_), world_.lose_power();
    boot();
  }

  Task<void> work() {
    // A daemon that cannot recover ends, and is started again.
    has_given_up_ = true;
    if (auto recovered = co_await daemon_->crew.recover(); !recovered) co_return;
    has_given_up_ = false;
    loop_.spawn(be_a_client());
    while (chats_ < 3) {
      co_await loop_.sleep(random_.delay(500));
      auto chat =
          co_await daemon_->crew.start_chat({.model = "lead", .message = fmt::format("chat {}", chats_ + 1)});
      if (chat) ++chats_;
    }
    while (!(co_await looks_over())) co_await loop_.sleep(200ms);
    all_over_ = true;
  }

  /// Asks for one subagent again and again, under one request id, until it has its report.
  Task<void> be_a_client() {
    while (!client_done_) {
      auto spawned =
          co_await daemon_->crew.spawn({.kind = Spawner::Kind::client,
                                        .id = "session-1",
                                        .name = "claude_code",
                                        .once = {"client:1", "same"}},
                                       {.agent = "explorer", .task = "for the client", .model = "worker"});
      if (spawned) spawned = co_await daemon_->crew.wait_for(spawned->task_id, 1h);
      if (!spawned) co_await loop_.sleep(50ms);
      client_done_ = spawned && is_over(spawned->status);
    }
  }

  Task<bool> looks_over() {
    if (!client_done_) co_return false;
    auto views = co_await daemon_->crew.list("", 100);
    if (!views) co_return false;
    for (const auto& view : *views) {
      bool over = !view.chat.turn_running && std::ranges::all_of(view.subagents, [](const Subagent& one) {
        return is_over(one.status);
      });
      if (!over) co_return false;
    }
    for (const auto& view : *views) {
      auto whole = co_await daemon_->crew.view(view.chat.id, 0, 1000);
      if (!whole) co_return false;
      check(*whole);
    }
    co_return true;
  }

  void check(const ChatView& view) {
    SCOPED_TRACE(view.chat.id);
    if (view.chat.kind == Kind::client) {
      EXPECT_EQ(view.subagents.size(), 1u) << "a repeated request spawned twice";
      return;
    }
    // Three were spawned, each once, and their results are in the order of the asking.
    ASSERT_EQ(view.subagents.size(), 3u);
    EXPECT_EQ(view.subagents[0].task, "one");
    EXPECT_EQ(view.subagents[1].task, "fail two");
    EXPECT_EQ(view.subagents[2].task, "four");
    for (const auto& one : view.subagents)
      EXPECT_EQ(one.status, one.task == "fail two" ? Status::failed : Status::completed)
          << one.task << one.failure.message;
    std::vector<Entry> said = view.entries;
    std::erase_if(said, [](const Entry& entry) { return entry.role == Role::note; });
    ASSERT_EQ(said.size(), 4u);
    ASSERT_EQ(said[2].message.results.size(), 5u);
    for (size_t i = 0; i < 5; ++i) EXPECT_EQ(said[2].message.results[i].id, said[1].message.uses[i].id);
    EXPECT_NE(said[2].message.results[3].text.find("agent not found"), std::string::npos);
    EXPECT_EQ(said[3].message.text, "all are back");
    check_files(view);
  }

  void check_files(const ChatView& view) {
    auto folder = root_ / chat_folder(view.chat.id);
    auto session = read_file(folder + "/session.md");
    ASSERT_TRUE(session);
    EXPECT_EQ(entries_in(*session), view.entries.back().n);
    for (const auto& one : view.subagents) {
      auto file = read_file(fmt::format("{}/{}.md", folder, one.name()));
      ASSERT_TRUE(file);
      EXPECT_NE(file->find(fmt::format("status: \"{}\"", name(one.status))), std::string::npos);
      EXPECT_NE(session->find("[[" + one.name() + "]]"), std::string::npos);
    }
  }

  SimRandom random_;
  SimClock clock_;
  SimLoop loop_;
  SimDisk disk_;
  bool has_given_up_ = false;
  SimWorld world_;
  TemporaryFolder root_;
  std::map<std::string, int> made_;
  int64_t max_concurrent_ = 1;
  std::unique_ptr<CrewDaemon> daemon_;
  int chats_ = 0;
  bool client_done_ = false, all_over_ = false;
};

TEST(CrewSim, EndsWhatItBeganOnceAndInOrder) { live_through_seeds<World>(50); }

}  // namespace
}  // namespace cru::sim
