#include "platform/telemetry/otlp_exporter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <mutex>

#include "platform/files/trouble.h"
#include "platform/loop/loop_thread_fixture.h"
#include "platform/net/scripted_server_fixture.h"

namespace cru::telemetry {
namespace {

class Exporters : public testing::Test {
 protected:
  Exporters()
      : server_([this](Peer& peer, int) {
          for (;;) {
            auto request = peer.read_request();
            if (request.empty()) return;
            std::string status = "200 OK", headers;
            {
              std::lock_guard lock(mutex_);
              requests_.push_back(request);
              if (!answers_.empty()) {
                status = answers_.front();
                answers_.erase(answers_.begin());
              }
            }
            peer.reply(status, "Retry-After: 0\r\n", "{}");
          }
        }) {}
  ~Exporters() override {
    thread_.stop();
    exporter_.reset();
    end_trouble("export of traces");
  }

  void start(size_t max_queue = 100, size_t max_batch = 10, std::string url = {}) {
    OtlpSettings settings{.url = url.empty() ? server_.url("/v1/traces") : url,
                          .headers = {{"x-key", "k"}},
                          .resource = {{"service.name", std::string("cru")}},
                          .timeout = 1h,
                          .delay = 1h,
                          .max_queue = max_queue,
                          .max_batch = max_batch};
    thread_.on_loop([&] {
      exporter_ = std::make_unique<OtlpExporter>(thread_.loop, system_random(), settings);
      thread_.loop.spawn(exporter_->run());
    });
  }
  void take(int count) {
    thread_.on_loop([&] {
      for (int at = 0; at < count; ++at)
        exporter_->take({.context = {std::string(32, 'a'), fmt::format("{:016x}", at + 1)}, .name = "x"});
    });
  }
  ExportCounts flush() {
    thread_.await([&] { return flushed(*exporter_); });
    return thread_.on_loop([&] { return exporter_->counts(); });
  }
  static Task<bool> flushed(OtlpExporter& exporter) {
    co_await exporter.flush(1h);
    co_return true;
  }
  std::vector<std::string> requests() {
    std::lock_guard lock(mutex_);
    return requests_;
  }
  bool until_requests(size_t count) {
    return eventually([&] { return requests().size() >= count; });
  }

  std::mutex mutex_;
  std::vector<std::string> requests_, answers_;
  ScriptedServer server_;
  LoopThread thread_;
  std::unique_ptr<OtlpExporter> exporter_;
};

TEST_F(Exporters, SendAFullBatchAtOnceAndTheRestLater) {
  start();
  take(13);
  ASSERT_TRUE(until_requests(1));
  EXPECT_EQ(requests().size(), 1u);
  EXPECT_NE(requests()[0].find("POST /v1/traces"), std::string::npos);
  EXPECT_NE(requests()[0].find("x-key: k"), std::string::npos);
  EXPECT_NE(requests()[0].find("application/json"), std::string::npos);
  EXPECT_EQ(flush().exported, 13);
  EXPECT_EQ(requests().size(), 2u);
}

TEST_F(Exporters, TryAgainWhatMayPass) {
  answers_ = {"503 Service Unavailable", "429 Too Many Requests"};
  start();
  take(10);
  ASSERT_TRUE(until_requests(3));
  auto counts = flush();
  EXPECT_EQ(counts.exported, 10);
  EXPECT_EQ(counts.dropped, 0);
  EXPECT_EQ(requests()[0].substr(requests()[0].find("\r\n\r\n")),
            requests()[2].substr(requests()[2].find("\r\n\r\n")));
}

TEST_F(Exporters, DropAndTellWhatIsRefused) {
  answers_ = {"400 Bad Request"};
  start();
  take(10);
  ASSERT_TRUE(until_requests(1));
  ASSERT_TRUE(eventually([] { return has_trouble("export of traces"); }));
  auto counts = flush();
  EXPECT_EQ(counts.dropped, 10);
  EXPECT_NE(troubles().front().find("status 400 (10 dropped so far)"), std::string::npos)
      << troubles().front();
  take(10);
  EXPECT_EQ(flush().exported, 10);
  EXPECT_FALSE(has_trouble("export of traces")) << "the next batch was taken";
}

TEST_F(Exporters, DropWhatDoesNotFit) {
  start(10, 10, "http://127.0.0.1:1/v1/traces");
  // A batch is taken at once; while it is tried in vain, as many more fit.
  take(10);
  thread_.on_loop([] {});
  take(25);
  auto counts = thread_.on_loop([&] { return exporter_->counts(); });
  EXPECT_GE(counts.dropped, 15);
  EXPECT_EQ(flush().exported, 0);
}

}  // namespace
}  // namespace cru::telemetry
