#pragma once
/// For tests: an MCP server over a backend that answers what the test says, in time that the test moves.
#include <gtest/gtest.h>

#include <deque>
#include <fstream>

#include "edges/mcp/server.h"
#include "store/store.h"

namespace cru::mcp {

class TestClock final : public Clock {
 public:
  Time wall() const override { return from_millis(1'790'000'000'000 + since_boot.count()); }
  BootTime boot() const override { return since_boot; }
  const std::string& boot_id() const override { return id_; }
  BootTime since_boot{1000};

 private:
  std::string id_ = "boot";
};

class TestLoop final : public Loop {
 public:
  explicit TestLoop(TestClock& clock) : Loop(clock), clock_(clock) {}
  ~TestLoop() override { drop_tasks(); }
  void post(std::function<void()> work) override { queue_.push_back(std::move(work)); }
  TimerId set_timer(Duration after, std::function<void()> work) override {
    timers_[++last_] = {clock_.since_boot + after, std::move(work)};
    return last_;
  }
  void cancel_timer(TimerId id) override { timers_.erase(id); }
  std::unique_ptr<Watch> watch(int) override { return nullptr; }

  void run_ready() {
    while (!queue_.empty()) {
      auto work = std::move(queue_.front());
      queue_.pop_front();
      work();
    }
  }
  void advance(Duration by) {
    auto until = clock_.since_boot + by;
    run_ready();
    for (;;) {
      auto next = timers_.end();
      for (auto at = timers_.begin(); at != timers_.end(); ++at)
        if (at->second.first <= until && (next == timers_.end() || at->second.first < next->second.first))
          next = at;
      if (next == timers_.end()) break;
      clock_.since_boot = std::max(clock_.since_boot, next->second.first);
      auto work = std::move(next->second.second);
      timers_.erase(next);
      work();
      run_ready();
    }
    clock_.since_boot = until;
  }
  size_t timers() const { return timers_.size(); }

 private:
  TestClock& clock_;
  std::deque<std::function<void()>> queue_;
  std::map<TimerId, std::pair<BootTime, std::function<void()>>> timers_;
  TimerId last_ = 0;
};

class NoStore final : public Store {
 protected:
  void submit_write(std::unique_ptr<Job<Tx>>) override { CRU_ASSERT(false); }
  void submit_read(std::unique_ptr<Job<Reader>>) override { CRU_ASSERT(false); }
};

/// Checks the input as the daemon does, then answers what `replies` has for the operation, else echoes.
class FakeBackend final : public Backend {
 public:
  Task<Result<api::Reply>> call(const api::Operation& operation, Boxed<api::Call> call,
                                json::object input) override {
    auto checked = api::check_input(operation, std::move(input));
    if (!checked) co_return fail(std::move(checked.error()));
    calls.push_back({std::string(operation.name), *call, *checked});
    if (on_call) on_call(calls.back().operation);
    auto wait = hold_after.find(calls.back().operation);
    bool holds = wait != hold_after.end() && wait->second-- <= 0;
    if (hold == operation.name || holds) {
      Completion<int> done;
      held.push_back(done.handle());
      struct Count {
        size_t& open;
        explicit Count(size_t& o) : open(o) { ++open; }
        ~Count() { --open; }
      } count(open);
      co_await done;
    }
    auto found = replies.find(std::string(operation.name));
    if (found != replies.end()) co_return found->second;
    co_return api::Reply(json::object{{"success", true}, {"echo", *checked}});
  }
  Task<Result<>> may_call(const api::Operation& operation, const api::Call&) override {
    if (cannot_tell) co_return fail(Code::database_unavailable, "locked");
    if (refused.contains(operation.name)) co_return fail(Code::forbidden, "permission denied");
    co_return Result<>();
  }
  struct Made {
    std::string operation;
    api::Call call;
    json::object input;
  };
  std::vector<Made> calls;
  std::map<std::string, Result<api::Reply>> replies;
  std::set<std::string_view> refused;  ///< rows that this caller may not call
  bool cannot_tell = false;
  std::string hold;                       ///< calls of this operation wait for `held`
  std::map<std::string, int> hold_after;  ///< the same after so many calls that are answered at once
  std::function<void(const std::string& operation)> on_call;
  std::vector<Completion<int>::Handle> held;
  size_t open = 0;  ///< held calls whose frames live
};

class RecordingSink final : public Sink {
 public:
  void respond(std::string message) override { responses.push_back(check(std::move(message))); }
  void notify(std::string message) override { notifications.push_back(check(std::move(message))); }
  void dropped() override { ++drops; }
  bool is_congested() const override { return congested; }
  std::vector<json::value> responses, notifications;
  int drops = 0;
  bool congested = false;

 private:
  /// Whatever is sent is one line of JSON-RPC.
  static json::value check(std::string message) {
    EXPECT_EQ(message.find('\n'), std::string::npos);
    auto value = parse_json(message);
    EXPECT_TRUE(value.has_value()) << message;
    return value ? *value : json::value();
  }
};

class McpFixture : public testing::Test {
 protected:
  McpFixture() { server_.set_notifications(&sink_); }

  /// Sends a message and gives its answer; null if there is none yet.
  json::value say(const json::value& message) { return say_text(to_text(message)); }
  json::value say_text(const std::string& text) {
    auto before = sink_.responses.size();
    server_.receive(text, terms_, sink_);
    loop_.run_ready();
    return sink_.responses.size() > before ? sink_.responses.back() : json::value();
  }
  json::value ask(std::string_view method, json::object params = {}) {
    return say(json::object{{"jsonrpc", "2.0"}, {"id", ++id_}, {"method", method}, {"params", params}});
  }
  void tell(std::string_view method, json::object params = {}) {
    say(json::object{{"jsonrpc", "2.0"}, {"method", method}, {"params", params}});
  }
  /// The same in the words of 2026-07-28.
  json::value ask_modern(std::string_view method, json::object params = {}, json::object meta = {}) {
    meta[version_key] = "2026-07-28";
    meta[capabilities_key] = json::object();
    params["_meta"] = meta;
    return ask(method, params);
  }
  void initialize(std::string_view version = "2025-11-25") {
    ask("initialize",
        {{"protocolVersion", version}, {"capabilities", json::object()}, {"clientInfo", json::object()}});
    tell("notifications/initialized");
  }
  json::value call(std::string_view tool, json::object arguments = {}) {
    return ask("tools/call", {{"name", tool}, {"arguments", arguments}});
  }
  void happen(std::string type, std::string entity) {
    log_.announce({Event{log_.last() + 1, std::move(type), std::move(entity), Time(), "{}"}});
    loop_.advance(200ms);
  }
  /// How often this was notified.
  int told(std::string_view method) const {
    int count = 0;
    for (const auto& notification : sink_.notifications)
      if (text_or(notification.as_object(), "method") == method) ++count;
    return count;
  }
  static int64_t code_of(const json::value& answer) {
    const auto* error = answer.is_object() ? object_at(answer.get_object(), "error") : nullptr;
    return error ? int_or(*error, "code") : 0;
  }
  static const json::object& result_of(const json::value& answer) {
    static const json::object none;
    const auto* result = answer.is_object() ? object_at(answer.get_object(), "result") : nullptr;
    EXPECT_NE(result, nullptr) << to_text(answer);
    return result ? *result : none;
  }

  TestClock clock_;
  TestLoop loop_{clock_};
  NoStore store_;
  EventLog log_{loop_, store_};
  ChangeFeed feed_{loop_, log_};
  FakeBackend backend_;
  RecordingSink sink_;
  Terms terms_;
  Server server_{loop_, backend_, &feed_};
  int64_t id_ = 0;
};

}  // namespace cru::mcp
