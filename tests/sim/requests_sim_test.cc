// Requests that are sent again until they are answered, each under its one id, by whoever wants a chat, a
// word in it, a run, a line on its standard input or something of live agents; with crashes around any
// commit, power losses and failing disks. Whatever happens, each is done once, and nobody is told that its
// outcome is unknown.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "api/handlers/crew_handlers.h"
#include "api/handlers/handlers.h"
#include "api/handlers/live_handlers.h"
#include "autonomy/runtime.h"
#include "crashing_world.h"
#include "daemon/engine.h"
#include "store/retry.h"

namespace cru::sim {
namespace {

struct Daemon : CrewDaemon {
  autonomy::AgentRuntime live;
  api::Api api;

  Daemon(SimLoop& loop, SimWorld& world, SimRandom& random, std::unique_ptr<SimStore> opened,
         const std::string& root, std::map<std::string, int>& made)
      : CrewDaemon(loop, world, random, std::move(opened), root, made, 3),
        live(loop, *store, random, registry, minds, {}),
        api(*store) {
    api::bind_runs(api, loop, *store, runs);
    api::bind_chats(api, crew);
    api::bind_live(api, live);
  }
};

struct Request {
  std::string operation, number;
  json::object input;
  std::string id = operation + "-" + number;
  std::optional<json::object> reply = {};
  std::optional<Error> refused = {};
  bool is_over() const { return reply || refused; }
};

class World final : public CrashingWorld<Daemon> {
 public:
  explicit World(uint64_t seed)
      : CrashingWorld(seed, {.least_crashes = 2, .further_crashes = 8, .most_apart_ms = 250}) {
    CRU_ASSERT(write_file(root_ / "lead.yaml", "otherwise: {say: well, delay: 50ms}\n"));
    CRU_ASSERT(write_file(root_ / "worker.yaml", "otherwise: {say: well}\n"));
    for (int i = 0; i < 4; ++i) {
      auto number = std::to_string(i);
      add("start_chat", number,
          {{"model", "lead"}, {"title", "chat " + number}, {"message", "hello " + number}});
      add("start_run", number, {{"argv", {"agent", "run " + number}}});
      add("spawn_live_agent", number, {{"name", "live " + number}});
      add("say", number, {{"content", "words " + number}, {"everybody", true}});
    }
  }

 private:
  void add(std::string operation, const std::string& number, json::object input) {
    requests_.push_back({.operation = std::move(operation), .number = number, .input = std::move(input)});
  }
  std::unique_ptr<Daemon> make_daemon() override {
    return std::make_unique<Daemon>(loop_, world_, random_, disk_.open_store(daemon::all_migrations()),
                                    root_.path(), made_);
  }
  Task<Result<>> recover() override {
    auto recovered = co_await daemon_->runs.recover();
    if (recovered) recovered = co_await daemon_->crew.recover();
    if (recovered) recovered = co_await daemon_->live.recover();
    co_return recovered;
  }
  Task<void> act() override {
    for (;;) {
      std::vector<size_t> open;
      for (size_t i = 0; i < requests_.size(); ++i)
        if (!requests_[i].is_over()) open.push_back(i);
      if (open.empty()) co_return;
      co_await send(requests_[open[random_.pick(open.size())]]);
      co_await loop_.sleep(random_.delay(20));
    }
  }

  Task<void> send(Request& request) {
    api::Call call;
    call.request_id = request.id;
    auto answered = co_await daemon_->api.call(*api::find_operation(request.operation), call, request.input);
    if (answered) {
      request.reply = parse_json(answered->text())->as_object();
      go_on(request);
      co_return;
    }
    const auto& error = answered.error();
    EXPECT_EQ(error.message.find("outcome is unknown"), std::string::npos) << request.id;
    if (is_transient(error.code)) co_return;
    if (request.operation == "send_message" && error.code == Code::conflict)
      request.id += "+";  // the agent was still answering: this is a request of its own
    else
      request.refused = error;
  }

  /// A word to the chat, a line to the run.
  void go_on(const Request& request) {
    if (request.operation == "start_chat")
      add("send_message", request.number,
          {{"id", request.reply->at("id")}, {"text", "again " + request.number}});
    if (request.operation == "start_run")
      add("send_input", request.number,
          {{"id", request.reply->at("task_id")}, {"text", "line " + request.number}});
  }

  int64_t count(const std::string& sql) {
    return await(daemon_->store->read(
        [sql](Reader& reader) -> Result<int64_t> { return reader.row(sql)->integer(0); }));
  }

  void check_end() override {
    for (const auto& request : requests_) {
      SCOPED_TRACE(request.id +
                   (request.reply ? ": " + to_text(*request.reply) : ": " + request.refused->message));
      auto done = count_done(request);
      EXPECT_LE(done, 1) << "done more than once";
      EXPECT_EQ(await(ask_again(request)),
                request.reply ? to_text(*request.reply) : request.refused->message);
      if (request.reply) EXPECT_EQ(done, 1) << "acknowledged, and not done";
    }
  }

  /// What the same request is answered once more.
  Task<Result<std::string>> ask_again(Request request) {
    api::Call call;
    call.request_id = request.id;
    auto answered = co_await daemon_->api.call(*api::find_operation(request.operation), call, request.input);
    co_return answered ? answered->text() : answered.error().message;
  }

  int64_t count_done(const Request& request) {
    const auto& number = request.number;
    if (request.operation == "start_chat")
      return count(fmt::format("SELECT count(*) FROM chats WHERE data LIKE '%\"chat {}\"%'", number));
    if (request.operation == "send_message")
      return count(fmt::format("SELECT count(*) FROM chat_entries WHERE message LIKE '%again {}%'", number));
    if (request.operation == "spawn_live_agent")
      return count(
          fmt::format("SELECT count(*) FROM events WHERE type = 'live.agent_joined' AND data LIKE "
                      "'%\"name\":\"live {}\"%'",
                      number));
    if (request.operation == "say")
      return count(fmt::format("SELECT count(*) FROM live_messages WHERE content = 'words {}'", number));
    int64_t found = 0;
    for (const auto& [uid, process] : world_.processes) {
      if (request.operation == "start_run") found += process.spec.argv.back() == "run " + number;
      if (request.operation == "send_input")
        found += std::ranges::count(process.answers, "line " + number + "\n");
    }
    return found;
  }

  std::deque<Request> requests_;  ///< which keeps its place while others are added
};

TEST(RequestsSim, EachIsDoneOnceAndAnsweredAsTheFirstTime) { live_through_seeds<World>(60); }

}  // namespace
}  // namespace cru::sim
