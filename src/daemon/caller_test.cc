#include "daemon/caller.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "platform/net/http/listen.h"
#include "platform/process/child_process_fixture.h"
#include "platform/process/marked_processes.h"
#include "platform/process/peer_process.h"
#include "runs/runs_fixture.h"
#include "store/store_fixture.h"

namespace cru::daemon {
namespace {

/// A connection to `port`; its own port goes to `own_port`.
Fd connect_to(uint16_t port, uint16_t& own_port) {
  Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  socklen_t size = sizeof address;
  ::getsockname(client.get(), reinterpret_cast<sockaddr*>(&address), &size);
  own_port = ntohs(address.sin_port);
  return client;
}

std::vector<Migration> schema_with_pairings() {
  auto all = runs::test_migrations();
  all.insert(all.end(), pairings::migrations().begin(), pairings::migrations().end());
  return all;
}

/// Runs whose processes are children of the test, which is the daemon here.
class CallersRun : public StoreFixture {
 public:
  CallersRun() : StoreFixture(schema_with_pairings()) {
    thread->on_loop([&] {
      auto& loop = thread->loop;
      pool = std::make_unique<Pool>(loop, 1);
      inbox = std::make_unique<inbox::Inbox>(loop, *store);
      keeper = std::make_unique<runs::FakeKeeper>(loop);
      output = runs::file_output(folder.path(), *pool);
      runs::Options options;
      options.root = folder.path();
      options.check_program = false;
      runs = std::make_unique<runs::Runs>(loop, *store, *inbox, *keeper, *output, worktrees, system_random(),
                                          options);
      pairings = std::make_unique<pairings::Pairings>(*store, clock, system_random());
      callers = std::make_unique<CallerIdentity>(loop, *pool, *keeper, *runs, *pairings, port, "the-token");
      return true;
    });
  }
  ~CallersRun() override {
    thread->stop();
    callers.reset();
    pairings.reset();
    runs.reset();
    pool.reset();
  }
  /// Starts a run that is this script, with its mark and descriptor 3; its uid.
  std::string start(const std::string& id, const std::string& script) {
    keeper->launch = [&](const runs::StartSpec& spec) {
      auto& process = processes[id];
      tokens[id] = spec.env.at("CRU_TOKEN");
      process = std::make_unique<ChildProcess>(script, "CRU_RUN=" + spec.env.at("CRU_RUN"));
      return ProcessIdentity{process->pid(), start_time_of(process->pid()), "boot"};
    };
    runs::StartRequest request;
    request.id = id;
    request.argv = {"sleep"};
    auto run = thread->await([&] { return runs->start(request); });
    CRU_ASSERT(run.has_value());
    return run->uid;
  }
  /// The next pid that the run's script tells.
  int pid_from(const std::string& id) { return std::stoi(processes.at(id)->line()); }
  /// "run:one", "run:" for one that cannot be told, "person", "local", "agent", or the error.
  std::string caller(int pid, const std::string& token = {}, bool declared = false) {
    http::Request request;
    request.method = "POST";
    if (!token.empty()) request.headers.emplace_back("Authorization", "Bearer " + token);
    if (declared) request.headers.emplace_back("Cru-Caller", "agent");
    return caller({.is_unix = true, .pid = pid, .connection = ++connections}, request);
  }
  std::string caller(http::Peer peer, const http::Request& request) {
    auto call = thread->await([&] { return callers->identify(peer, request); });
    if (!call) return std::string(name(call.error().code));
    switch (call->caller) {
      case api::run:
        return "run:" + call->run_id;
      case api::agent:
        return "agent";
      case api::local:
        return "local";
      default:
        return "person";
    }
  }
  /// Of a process outside of ours, which may itself have been started by an agent.
  bool is_no_run(int pid) { return !caller(pid).starts_with("run:"); }
  std::map<std::string, std::string> tokens;
  std::unique_ptr<pairings::Pairings> pairings;
  Fd listener = *http::listen_loopback(0);
  uint16_t port = http::port_of(listener);
  std::unique_ptr<Pool> pool;
  std::unique_ptr<inbox::Inbox> inbox;
  std::unique_ptr<runs::FakeKeeper> keeper;
  std::unique_ptr<runs::Output> output;
  runs::NoWorktrees worktrees;
  std::unique_ptr<runs::Runs> runs;
  std::unique_ptr<CallerIdentity> callers;
  std::map<std::string, std::unique_ptr<ChildProcess>> processes;
  uint64_t connections = 0;
};

constexpr auto telling = "echo $$ >&3; ";
constexpr auto below = "sh -c 'echo $$ >&3; exec sleep 1000' & wait";

TEST_F(CallersRun, IsWhatItsMarkSaysOfAllProcessesOfARun) {
  start("one", fmt::format("{}{}", telling, below));
  int main = pid_from("one"), child = pid_from("one");
  EXPECT_EQ(caller(main), "run:one");
  EXPECT_EQ(caller(child), "run:one");
  ::kill(child, SIGKILL);
}

TEST_F(CallersRun, IsNotTheOneWhoseMarkItForges) {
  auto one = start("one", fmt::format("{}exec sleep 1000", telling));
  EXPECT_EQ(caller(pid_from("one")), "run:one");
  start("two", fmt::format("env CRU_RUN={} {}", one, below));
  int forger = pid_from("two");
  ASSERT_EQ(mark_of(forger, "CRU_RUN"), one);
  EXPECT_EQ(caller(forger), "run:two") << "the processes above it tell whose it is";
  ::kill(forger, SIGKILL);
  // Nor is a command of an agent that thinks in the daemon.
  ChildProcess command(fmt::format("{}exec sleep 1000", telling), "CRU_RUN=" + one);
  EXPECT_EQ(caller(std::stoi(command.line())), "run:");
}

TEST_F(CallersRun, IsToldOfOneThatHidesItsMark) {
  start("one", fmt::format("env -u CRU_RUN {}", below));
  int hidden = pid_from("one");
  EXPECT_EQ(caller(hidden), "run:one");
  EXPECT_TRUE(is_no_run(::getppid()));
  ::kill(hidden, SIGKILL);
}

TEST_F(CallersRun, ShowsItsTokenWhoeverItIs) {
  start("one", fmt::format("{}exec sleep 1000", telling));
  auto token = tokens.at("one");
  ASSERT_EQ(token.size(), 64u);
  EXPECT_EQ(caller(::getppid(), token), "run:one");
  EXPECT_EQ(caller(::getppid(), token, true), "run:one");
  EXPECT_TRUE(callers->is_credential(token));
  EXPECT_FALSE(callers->is_credential(std::string(64, '0')));
  EXPECT_FALSE(caller(::getppid(), std::string(64, '0')).starts_with("run:")) << "it shows nothing";
  EXPECT_EQ(caller(::getppid(), std::string(64, '0'), true), "agent")
      << "left in the environment of a server";
  auto row = read([](Reader& reader) -> Result<std::string> {
    return reader.row("SELECT token_hash FROM runs WHERE task_id = 'one'")->text(0);
  });
  EXPECT_NE(*row, token) << "only the hash is stored";
  EXPECT_EQ(row->size(), 64u);
}

TEST_F(CallersRun, HasAKeyThatMakesItAPersonUnlessItIsARun) {
  start("one", fmt::format("{}exec sleep 1000", telling));
  auto code = thread->await([&] { return pairings->create_code("a place"); })->text;
  auto made = thread->await([&] { return pairings->redeem(code); });
  ASSERT_TRUE(made);
  EXPECT_EQ(caller(0x3fffffff), "run:") << "gone, and nobody can tell";
  EXPECT_EQ(caller(0x3fffffff, made->key), "person");
  EXPECT_EQ(caller(0x3fffffff, made->key, true), "agent");
  EXPECT_EQ(caller(pid_from("one"), made->key), "run:one") << "a run that got hold of it is a run";
  ASSERT_TRUE(thread->await([&] { return pairings->revoke(made->pairing.id); }));
  EXPECT_EQ(caller(0x3fffffff, made->key), "run:");
}

TEST_F(CallersRun, SaysOnceAndForGoodThatItIsAnAgent) {
  EXPECT_EQ(caller(::getppid(), {}, true), "agent");
  --connections;
  EXPECT_EQ(caller(::getppid()), "agent") << "on the same connection";
}

TEST_F(CallersRun, IsLookedForOnceAConnection) {
  start("one", fmt::format("{}exec sleep 1000", telling));
  int main = pid_from("one");
  EXPECT_EQ(caller(main), "run:one");
  processes.clear();
  --connections;
  EXPECT_EQ(caller(main), "run:one") << "known from before";
  EXPECT_EQ(caller(main), "run:") << "gone, and asked anew";
}

TEST_F(CallersRun, IsToldOfAReadingByTcpAsOfAChange) {
  uint16_t own_port = 0;
  auto client = connect_to(port, own_port);
  ChildProcess command("echo ready >&3; exec sleep 1000", {}, std::move(client));
  ASSERT_EQ(command.line(), "ready");
  http::Peer peer{.is_unix = false, .port = own_port, .connection = ++connections};
  http::Request request;
  request.method = "GET";
  EXPECT_EQ(caller(peer, request), "run:");
}

TEST_F(CallersRun, IsNobodyWhoseSocketNoProcessHolds) {
  http::Peer peer{.is_unix = false, .port = 1, .connection = ++connections};
  http::Request request;
  request.method = "GET";
  EXPECT_EQ(caller(peer, request), "run:");
}

}  // namespace
}  // namespace cru::daemon
