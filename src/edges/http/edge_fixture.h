#pragma once
/// For tests: a whole edge over a real store in a temporary folder, with hand-made handlers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "edges/http/http_edge.h"
#include "platform/net/http/test_client_fixture.h"
#include "store/event_table.h"
#include "store/replies_table.h"
#include "store/sqlite/sqlite_store.h"

namespace cru::edges {

using http::Client;
using http::status_of;

class EdgeFixture : public testing::Test {
 protected:
  EdgeFixture() {
    std::filesystem::create_directories(folder_);
    thread_.on_loop([this] {
      std::vector<Migration> migrations(event_migrations().begin(), event_migrations().end());
      migrations.insert(migrations.end(), reply_migrations().begin(), reply_migrations().end());
      auto opened = sqlite::SqliteStore::open(thread_.loop, (folder_ / "db").string(), migrations);
      CRU_ASSERT(opened.has_value());
      store_ = std::move(*opened);
      api_ = std::make_unique<api::Api>(*store_);
      bind("health", &EdgeFixture::health);
      bind("get_state", &EdgeFixture::get_state);
      bind("list_questions", &EdgeFixture::list_questions);
      bind("list_approvals", &EdgeFixture::list_approvals);
      bind("get_run", &EdgeFixture::echo);
      bind("start_run", &EdgeFixture::echo);
      bind("read_output", &EdgeFixture::echo);
      bind("send_input", &EdgeFixture::echo);
    });
  }
  ~EdgeFixture() override {
    thread_.stop();
    edge_.reset();
    api_.reset();
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  void start(HttpConfig config = {}) {
    auto tcp = http::listen_loopback(0);
    auto unix = listen_unix(socket_);
    ASSERT_TRUE(tcp && unix);
    port_ = http::port_of(*tcp);
    config.port = port_;
    config.is_credential = [](std::string_view given) { return given == token; };
    config.version = "1.2.3";
    thread_.on_loop([&] {
      edge_ = std::make_unique<HttpEdge>(
          thread_.loop, *api_, store_->events(), config,
          [this](const http::Peer& peer, const http::Request&) { return identify(peer); });
      edge_->listen(std::move(*tcp));
      edge_->listen(std::move(*unix));
    });
  }

  Client tcp() { return Client::tcp(port_); }
  Client local() { return Client::unix_socket(socket_); }
  /// A request over the unix socket.
  std::string ask(std::string_view line, std::string_view headers = {}, std::string_view body = {}) {
    return local().ask(text(line, headers, body));
  }
  static std::string text(std::string_view line, std::string_view headers = {}, std::string_view body = {}) {
    auto out = fmt::format("{} HTTP/1.1\r\nHost: x\r\n{}", line, headers);
    if (!body.empty()) out += fmt::format("Content-Length: {}\r\n", body.size());
    return fmt::format("{}\r\n{}", out, body);
  }
  std::string tcp_text(std::string_view line, std::string_view headers = {}) {
    return fmt::format("{} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n{}\r\n", line, port_,
                       token, headers);
  }
  static std::string body_of(const std::string& response) {
    return response.substr(response.find("\r\n\r\n") + 4);
  }

  /// Commits events and waits until they are announced.
  void emit(std::string type, std::string entity, int count = 1, json::object data = {}) {
    thread_.await([&] { return emit_task(type, entity, count, data); });
  }
  void forget_events(int64_t up_to) {
    thread_.await([&] { return forget_task(up_to); });
  }
  /// Lets time pass until there is something to read for this client.
  void pass_until_news(Client& client) {
    EXPECT_TRUE(eventually([&] {
      if (client.has_news()) return true;
      thread_.pass(1s);
      return false;
    }));
  }

  static constexpr auto token = "0123456789abcdef";
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / fmt::format("cru-edge-{}", ::getpid());
  const std::string socket_ = (folder_ / "s.sock").string();
  uint16_t port_ = 0;
  json::array questions_;  ///< what is pending; set before a client connects
  json::array approvals_;  ///< likewise
  api::Call last_call_;
  api::Callers caller_ = api::person;  ///< set before a client connects
  std::string run_id_;                 ///< likewise
  HeldClock clock_;
  http::LoopThread thread_{clock_};
  std::unique_ptr<sqlite::SqliteStore> store_;
  std::unique_ptr<api::Api> api_;
  std::unique_ptr<HttpEdge> edge_;

 private:
  using Method = Task<Result<api::Reply>> (EdgeFixture::*)(const api::Call&, const json::object&);
  void bind(std::string_view name, Method method) {
    api_->bind(name, [this, method](const api::Call& call, const json::object& input) {
      return (this->*method)(call, input);
    });
  }
  Task<Result<api::Call>> identify(http::Peer peer) {
    api::Call call;
    call.peer = peer.is_unix ? "unix" : "tcp";
    call.caller = caller_;
    call.run_id = run_id_;
    co_return call;
  }
  Task<Result<api::Reply>> health(const api::Call&, const json::object&) {
    co_return api::Reply(json::object{{"status", "ok"}});
  }
  Task<Result<api::Reply>> echo(const api::Call& call, const json::object& input) {
    last_call_ = call;
    co_return api::Reply(input);
  }
  Task<Result<api::Reply>> get_state(const api::Call&, const json::object&) {
    auto last = co_await store_->read([](Reader& reader) -> Result<int64_t> { return reader.last_event(); });
    co_return api::Reply(json::object{{"agents", json::array()}, {"last_seq", last.value()}});
  }
  Task<Result<api::Reply>> list_questions(const api::Call&, const json::object& input) {
    json::array found;
    for (const auto& question : questions_)
      if (!input.contains("task_id") || question.at("task_id") == input.at("task_id"))
        found.push_back(question);
    co_return api::Reply(json::object{{"questions", std::move(found)}});
  }
  Task<Result<api::Reply>> list_approvals(const api::Call&, const json::object&) {
    co_return api::Reply(json::object{{"approvals", approvals_}});
  }
  Task<void> emit_task(std::string type, std::string entity, int count, json::object data) {
    auto written = co_await store_->write([type, entity, count, data](Tx& tx) -> Result<> {
      auto told = data;
      for (int i = 0; i < count; ++i) {
        told["n"] = i;
        tx.emit({type, entity, told});
      }
      return {};
    });
    CRU_ASSERT(written.has_value());
  }
  Task<void> forget_task(int64_t up_to) {
    auto gone = co_await store_->write(
        [up_to](Tx& tx) -> Result<int64_t> { return delete_events(tx, up_to, {}, 1'000'000); });
    CRU_ASSERT(gone.has_value());
    store_->events().set_bounds(up_to, store_->events().last());
  }
};

}  // namespace cru::edges
