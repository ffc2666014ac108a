// Chats and subagents in a simulated world: primaries that spawn several at once, subagents that use a tool
// which must not be used twice, some that fail, clients that repeat their requests; with crashes around any
// commit, power losses and full disks. Whatever happens, everything that was begun ends, in order, once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "crashing_world.h"
#include "crew/chat_files.h"
#include "crew/conversation.h"

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

class World final : public CrashingWorld<CrewDaemon> {
 public:
  explicit World(uint64_t seed) : CrashingWorld(seed, {}) {
    CRU_ASSERT(write_file(root_ / "lead.yaml", lead_script));
    CRU_ASSERT(write_file(root_ / "worker.yaml", worker_script));
    max_concurrent_ = random_.chance(30) ? 3 : 1;
  }

 private:
  std::unique_ptr<CrewDaemon> make_daemon() override {
    return std::make_unique<CrewDaemon>(loop_, world_, random_, disk_.open_store(crew_migrations()),
                                        root_.path(), made_, max_concurrent_);
  }
  Task<Result<>> recover() override { return daemon_->crew.recover(); }
  Task<void> act() override {
    loop_.spawn(be_a_client());
    while (chats_ < 3) {
      co_await loop_.sleep(random_.delay(500));
      auto chat =
          co_await daemon_->crew.start_chat({.model = "lead", .message = fmt::format("chat {}", chats_ + 1)});
      if (chat) ++chats_;
    }
    while (!(co_await looks_over())) co_await loop_.sleep(200ms);
  }
  void check_end() override {
    for (const auto& [key, times] : made_) EXPECT_EQ(times, 1) << key << " was used twice";
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

  int64_t max_concurrent_ = 1;
  int chats_ = 0;
  bool client_done_ = false;
};

TEST(CrewSim, EndsWhatItBeganOnceAndInOrder) { live_through_seeds<World>(50); }

}  // namespace
}  // namespace cru::sim
