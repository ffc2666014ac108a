#pragma once
/// For tests: clients of the whole edge's /ws, and a world made by hand.
#include <list>

#include "edges/http/edge_fixture.h"
#include "platform/net/websocket_fixture.h"

namespace cru::edges {

/// What was asked of the world is in `asked_`.
class Live : public EdgeFixture {
 protected:
  Live() {
    thread_.on_loop([this] {
      for (auto name :
           {"spawn_live_agent", "get_live_agent", "terminate_live_agent", "move_live_agent",
            "assign_live_task", "complete_live_task", "say", "join_space", "leave_space", "update_position"})
        api_->bind(name, [this, name](const api::Call& call, const json::object& input) {
          return answer(name, call, input);
        });
      api_->bind("get_world", [this](const api::Call&, const json::object&) { return get_world(); });
    });
  }

  ~Live() override { thread_.stop(); }  // what is asked is written down here

  Task<Result<api::Reply>> answer(std::string name, api::Call call, json::object input) {
    asked_.push_back(name + " " + to_text(input));
    callers_.push_back(call.caller);
    if (name == gated_) co_await gate_.wait();
    if (name == failing_) co_return fail(Code::database_unavailable, "the disk is gone");
    if (name == "get_live_agent" && text_or(input, "agent_id") == "nobody")
      co_return fail(Code::not_found, "there is no agent nobody", "agent_id");
    auto reply = input;
    reply["done"] = name;
    co_return api::Reply(std::move(reply));
  }
  Task<Result<api::Reply>> get_world() {
    ++worlds_;
    json::array agents;
    for (int i = 0; i < agents_; ++i)
      agents.push_back({{"agent_id", "a" + std::to_string(i)}, {"role", std::string(1000, 'r')}});
    if (speaks_in_world_) (void)co_await speak_task(2, 2, "a0");
    auto last = store_->events().last();
    if (gated_ == "get_world") co_await gate_.wait();
    co_return api::Reply(json::object{{"space_id", "office"},
                                      {"layout", json::object()},
                                      {"seats", json::array()},
                                      {"users", json::array()},
                                      {"agents", std::move(agents)},
                                      {"last_seq", last}});
  }

  Client connect(std::string_view query = {}, std::string_view headers = {}) {
    auto client = tcp();
    auto target = fmt::format("/ws?token={}{}", token, query);
    auto head = client.ask(ws::handshake(target, fmt::format("Host: 127.0.0.1:{}\r\n{}", port_, headers)));
    EXPECT_EQ(status_of(head), 101) << head;
    return client;
  }
  /// Connected, and the snapshot read.
  Client connect_live() {
    auto client = connect();
    EXPECT_EQ(text_or(next(client), "type"), "world_snapshot");
    return client;
  }
  std::string refused(std::string_view target, std::string_view headers) {
    return tcp().ask(ws::handshake(target, headers));
  }
  std::string host() const { return fmt::format("Host: 127.0.0.1:{}\r\n", port_); }

  /// The next message, heartbeats and pings aside.
  static json::object next(Client& client) {
    for (;;) {
      auto received = ws::receive(client);
      if (received.opcode == 9) continue;
      if (received.opcode != 1) return {{"opcode", received.opcode}, {"code", received.code()}};
      EXPECT_LE(received.payload.size(), 60'000u);
      auto parsed = parse_json(received.payload);
      EXPECT_TRUE(parsed);
      if (!parsed) return {};
      if (text_or(parsed->as_object(), "type") != "heartbeat") return parsed->as_object();
    }
  }
  static void say(Client& client, std::string_view text) { client.send(ws::client_frame(1, text)); }
  static json::object ask(Client& client, std::string_view text) {
    say(client, text);
    return next(client);
  }

  /// Commits one event after the other, each as large as asked for; waits until they are announced.
  void speak(int count, size_t size = 2, std::string agent = "a0") {
    thread_.await([&] { return speak_task(count, size, agent); });
  }
  Task<bool> speak_task(int count, size_t size, std::string agent) {
    auto written = co_await store_->write([count, size, agent](Tx& tx) -> Result<> {
      for (int i = 0; i < count; ++i)
        tx.emit({"live.agent_spoke", agent,
                 json::object{{"agent_id", agent},
                              {"sender_kind", "agent"},
                              {"content", std::string(size, 'x')},
                              {"position", nullptr}}});
      return {};
    });
    co_return written.has_value();
  }
  template <class F>
  bool becomes(F condition) {
    return eventually([&] { return thread_.on_loop(condition); });
  }
  bool clients_become(size_t count) {
    return becomes([&] { return edge_->live().clients() == count; });
  }
  std::vector<std::string> asked() {
    return thread_.on_loop([this] { return asked_; });
  }
  int worlds() {
    return thread_.on_loop([this] { return worlds_; });
  }
  void let_fail(std::string operation) {
    thread_.on_loop([&] { failing_ = operation; });
  }
  void close_gate(std::string operation) {
    thread_.on_loop([&] { gated_ = operation; });
  }
  void open_gate() {
    thread_.on_loop([this] {
      gated_.clear();
      gate_.notify();
    });
  }

  std::vector<std::string> asked_;
  std::vector<api::Callers> callers_;
  std::string gated_;    ///< the operation that waits at the gate
  std::string failing_;  ///< the one that fails
  int worlds_ = 0;       ///< how often the world was asked for
  bool speaks_in_world_ = false;
  int agents_ = 1;
  Signal gate_{thread_.loop};
};

}  // namespace cru::edges
