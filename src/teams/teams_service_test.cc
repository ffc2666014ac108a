#include "teams/teams_service.h"

#include <fstream>

#include "base/sha256.h"
#include "handoffs/handoff_table.h"
#include "locks/lock_table.h"
#include "runs/runs_fixture.h"
#include "store/store_fixture.h"
#include "work/work_table.h"

namespace cru::coordination {
namespace {

std::vector<Migration> team_test_migrations() {
  auto all = runs::test_migrations();
  for (auto room : {reply_migrations(), session_migrations(), fencing_migrations(), lock_migrations(),
                    work_migrations(), handoff_migrations()})
    all.insert(all.end(), room.begin(), room.end());
  return all;
}

constexpr auto good = R"(team: compiler
agents:
  - {name: lead, role: coordinator, capabilities: [planning], description: splits the work}
  - {name: coder, role: worker, capabilities: [c++, tests], description: writes it}
coordination:
  lock_ttl_minutes: 30
)";

class TeamsTest : public StoreFixture {
 public:
  TeamsTest() : StoreFixture(team_test_migrations()) {
    thread->on_loop([&] {
      auto& loop = thread->loop;
      pool = std::make_unique<Pool>(loop, 1);
      sessions = std::make_unique<Sessions>(loop, *store, *pool, system_random(),
                                            SessionOptions{.root = folder.path()});
      inbox = std::make_unique<inbox::Inbox>(loop, *store);
      keeper = std::make_unique<runs::FakeKeeper>(loop);
      output = runs::file_output(folder.path(), *pool);
      runs::Options options;
      options.root = folder.path();
      options.check_program = false;
      runs = std::make_unique<runs::Runs>(loop, *store, *inbox, *keeper, *output, worktrees, system_random(),
                                          options);
      teams = std::make_unique<Teams>(*store, *pool, *sessions, *runs, system_random(), folder.path(),
                                      [this] { return is_trusted; });
      return true;
    });
  }
  ~TeamsTest() override {
    thread->stop();
    teams.reset();
    runs.reset();
    sessions.reset();
    pool.reset();
  }
  void write_file(const std::string& name, std::string_view text) {
    std::filesystem::create_directories(std::filesystem::path(folder / name).parent_path());
    std::ofstream(folder / name) << text;
  }
  Result<Done> up(Teams::Up request = {}) {
    if (request.argv.empty() && request.backend.empty()) request.argv = {"sleep", "60"};
    return thread->await([&] { return teams->up(request); });
  }
  Result<Done> down(std::vector<std::string> members = {}) {
    return thread->await([&] { return teams->down("", members); });
  }
  /// "lead up lead, coder down": what `list` says.
  std::string listed(std::string file = {}) {
    auto done = thread->await([&] { return teams->list(file); });
    if (!done) return done.error().message;
    std::string text;
    for (const auto& agent : done->reply.at("agents").as_array()) {
      const auto& object = agent.as_object();
      text += (text.empty() ? "" : ", ") + std::string(text_or(object, "name")) + " " +
              std::string(text_or(object, "status"));
      if (!text_or(object, "task_id").empty()) text += " " + std::string(text_or(object, "task_id"));
    }
    return text;
  }
  static std::string statuses(const Result<Done>& done) {
    if (!done) return done.error().message;
    std::string text;
    for (const auto& agent : done->reply.at("agents").as_array())
      text += (text.empty() ? "" : ", ") + std::string(text_or(agent.as_object(), "name")) + " " +
              std::string(text_or(agent.as_object(), "status"));
    return text;
  }
  std::vector<Session> connected_sessions() {
    return *read(
        [](Reader& reader) -> Result<std::vector<Session>> { return list_sessions(reader, false, 100); });
  }
  void wait_until_live(int64_t count) {
    ASSERT_TRUE(thread->pass_until(10ms, [&] { return runs->active_count() == count; }));
  }

  std::unique_ptr<Pool> pool;
  std::unique_ptr<Sessions> sessions;
  std::unique_ptr<inbox::Inbox> inbox;
  std::unique_ptr<runs::FakeKeeper> keeper;
  std::unique_ptr<runs::Output> output;
  runs::NoWorktrees worktrees;
  std::unique_ptr<runs::Runs> runs;
  trust::Check is_trusted = [](const std::string&, std::string_view) { return true; };
  std::unique_ptr<Teams> teams;
};

TEST_F(TeamsTest, GoesUpAsRunsWithSessionsAndDownAgain) {
  write_file("teams.yaml", good);
  EXPECT_EQ(listed(), "lead down, coder down");
  auto done = up();
  EXPECT_EQ(statuses(done), "lead started, coder started");
  EXPECT_EQ(listed(), "lead up lead, coder up coder");
  auto live = connected_sessions();
  ASSERT_EQ(live.size(), 2u);
  auto coder = std::ranges::find(live, "coder", &Session::agent_id);
  ASSERT_NE(coder, live.end());
  EXPECT_EQ(coder->agent_type, "worker");
  EXPECT_EQ(coder->owner, "coder");
  EXPECT_EQ(coder->capabilities, (std::vector<std::string>{"c++", "tests"}));
  auto& env = keeper->specs[1].env;
  EXPECT_EQ(env["AGENT_ID"], "coder");
  EXPECT_EQ(env["AGENT_TYPE"], "worker");
  EXPECT_EQ(env["AGENT_CAPABILITIES"], "c++,tests");
  EXPECT_EQ(env["SESSION_ID"], coder->session_id);
  EXPECT_EQ(env["LOCK_TTL_MINUTES"], "30");
  EXPECT_EQ(statuses(up()), "lead up, coder up") << "left as they are";
  EXPECT_EQ(keeper->specs.size(), 2u);
  EXPECT_EQ(statuses(down({"coder"})), "coder stopped");
  wait_until_live(1);
  EXPECT_EQ(statuses(down()), "lead stopped, coder down");
  wait_until_live(0);
  EXPECT_EQ(connected_sessions().size(), 0u);
  EXPECT_EQ(listed(), "lead down, coder down");
  EXPECT_EQ(statuses(up()), "lead started, coder started");
  EXPECT_EQ(listed(), "lead up lead, coder up coder") << "its own id again";
}

TEST_F(TeamsTest, AnIdOfSomethingElseIsLeftAlone) {
  write_file("teams.yaml", good);
  runs::StartRequest mine;
  mine.id = "coder";
  mine.argv = {"sleep", "60"};
  ASSERT_TRUE(thread->await([&] { return runs->start(mine); }));
  EXPECT_EQ(listed(), "lead down, coder down");
  ASSERT_TRUE(up());
  EXPECT_EQ(listed(), "lead up lead, coder up coder-2");
  ASSERT_TRUE(down());
  wait_until_live(1);
  auto run = thread->await([&] { return runs->find("coder"); });
  EXPECT_EQ(run->status, runs::Status::running);
}

TEST_F(TeamsTest, AMemberThatCannotStartHasNoSession) {
  write_file("teams.yaml", good);
  auto done = up({.argv = {"missing"}});
  EXPECT_EQ(statuses(done), "lead failed, coder failed");
  EXPECT_FALSE(bool_or(done->reply, "success", true));
  EXPECT_TRUE(text_or(done->reply, "message").starts_with("2 of 2 members could not be started: lead: "))
      << cru::to_text(done->reply);
  EXPECT_EQ(connected_sessions().size(), 0u);
  auto unknown = up({.backend = "nonsense"});
  EXPECT_EQ(statuses(unknown), "lead failed, coder failed");
}

TEST_F(TeamsTest, NoMoreThanTheTeamAllowsAreStarted) {
  write_file("teams.yaml", std::string(good) + "  max_parallel: 1\n");
  EXPECT_EQ(statuses(up()), "lead started, coder waiting");
  EXPECT_EQ(statuses(up()), "lead up, coder waiting");
}

TEST_F(TeamsTest, AMemberIsChosenByName) {
  write_file("teams.yaml", good);
  EXPECT_EQ(statuses(up({.members = {"coder"}})), "coder started");
  auto unknown = up({.members = {"codr"}});
  EXPECT_EQ(unknown.error().field, "members");
  EXPECT_EQ(unknown.error().hint, "did you mean coder?");
}

TEST_F(TeamsTest, AnInvalidFileIsToldAndNotStarted) {
  write_file("teams.yaml", "team: t\nagents: []\n");
  auto valid = thread->await([&] { return teams->validate(""); });
  ASSERT_TRUE(valid);
  EXPECT_EQ(valid->reply.at("valid"), false);
  EXPECT_EQ(text_or(valid->reply.at("errors").as_array()[0].as_object(), "text"),
            "teams.yaml:2: agents: must be a list of at least one agent");
  auto refused = up();
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
  EXPECT_NE(refused.error().details.find("agents: must be a list"), std::string::npos);
  EXPECT_EQ(keeper->specs.size(), 0u);
}

TEST_F(TeamsTest, OnlyAFileThatIsTrustedAsItIsGoesUp) {
  write_file("teams.yaml", good);
  auto items = teams_to_trust(folder.path());
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].path, "teams.yaml");
  EXPECT_NE(items[0].reasons.at(0).find("starts the agents lead"), std::string::npos);
  is_trusted = [digest = sha256(items[0].text)](const std::string& path, std::string_view known) {
    return path == "teams.yaml" && known == digest;
  };
  write_file("teams.yaml", std::string(good) + "# changed\n");
  auto refused = up();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::untrusted_content);
  EXPECT_NE(refused.error().message.find("teams.yaml"), std::string::npos);
  EXPECT_EQ(listed(), "lead down, coder down") << "to look at it needs no trust";
  EXPECT_EQ(keeper->specs.size(), 0u);
  write_file("teams.yaml", good);
  EXPECT_TRUE(up());
  write_file("teams.yaml", "players: [a, b]\n");
  EXPECT_TRUE(teams_to_trust(folder.path()).empty()) << "another program's";
}

TEST_F(TeamsTest, TheFileIsFoundInTheProjectOnly) {
  EXPECT_EQ(listed(), "the project has no .crucible/teams.yaml and no teams.yaml");
  write_file("teams.yaml", good);
  write_file(".crucible/teams.yaml",
             "team: t\nagents:\n  - {name: solo, role: worker, capabilities: [], description: d}\n");
  EXPECT_EQ(listed(), "solo down") << "our own folder comes first";
  EXPECT_EQ(listed("teams.yaml"), "lead down, coder down");
  EXPECT_EQ(listed(folder / "teams.yaml"), "lead down, coder down");
  EXPECT_EQ(listed("nowhere.yaml"), "file not found: nowhere.yaml");
  EXPECT_EQ(listed("../teams.yaml"), "../teams.yaml is not in the project");
  EXPECT_EQ(listed("/etc/passwd"), "/etc/passwd is not in the project");
  std::filesystem::create_symlink("/etc/passwd", folder / "link.yaml");
  EXPECT_EQ(listed("link.yaml"), "link.yaml is not in the project");
}

}  // namespace
}  // namespace cru::coordination
