#include "edges/ws/snapshots.h"

#include "edges/ws/live_fixture.h"

namespace cru::edges {
namespace {

TEST_F(Live, TheSnapshotComesFirstAndDeltasFollowWithoutAGap) {
  agents_ = 200;
  start();
  speak(5);
  auto client = connect();
  int64_t pages = 1, seq = 0;
  for (int64_t page = 1; page <= pages; ++page) {
    auto message = next(client);
    ASSERT_EQ(text_or(message, "type"), "world_snapshot");
    EXPECT_EQ(int_or(message, "page"), page);
    pages = int_or(message, "pages");
    seq = int_or(message, "seq");
  }
  EXPECT_GT(pages, 3);
  EXPECT_EQ(seq, 5);
  speak(3);
  for (int64_t each = 6; each <= 8; ++each) {
    auto message = next(client);
    EXPECT_EQ(text_or(message, "type"), "agent_speech");
    EXPECT_EQ(int_or(message, "seq"), each);
  }
}

TEST_F(Live, WhatHappensWhileTheSnapshotIsMadeIsToldAfterIt) {
  gated_ = "get_world";
  start();
  speak(2);
  auto client = connect();
  ASSERT_TRUE(clients_become(1));
  speak(3);  // after the world was read, before the reply
  open_gate();
  EXPECT_EQ(int_or(next(client), "seq"), 2);
  for (int64_t each = 3; each <= 5; ++each) EXPECT_EQ(int_or(next(client), "seq"), each);
}

TEST_F(Live, WhatTheSnapshotKnowsIsNotToldAgain) {
  speaks_in_world_ = true;  // the world is read in the turn of the commit, before the hub has woken up
  start();
  auto client = connect();
  EXPECT_EQ(int_or(next(client), "seq"), 2);
  speak(1);
  EXPECT_EQ(int_or(next(client), "seq"), 3);
}

constexpr auto get_snapshot = R"({"type":"get_snapshot","request_id":"s"})";

TEST_F(Live, TheWorldIsAskedForOnceForAllWhoComeTogether) {
  gated_ = "get_world";
  start();
  std::list<Client> clients;
  for (int i = 0; i < 20; ++i) clients.push_back(connect());
  ASSERT_TRUE(clients_become(20));
  open_gate();
  for (auto& client : clients) EXPECT_EQ(text_or(next(client), "type"), "world_snapshot");
  EXPECT_EQ(worlds(), 1);
}

TEST_F(Live, WhoeverAsksInALoopGetsTheSameWorldForAMoment) {
  start();
  auto client = connect_live();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(text_or(ask(client, get_snapshot), "request_id"), "s");
  EXPECT_EQ(worlds(), 1);
  thread_.pass(Snapshots::moment);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(text_or(ask(client, get_snapshot), "request_id"), "s");
  EXPECT_EQ(worlds(), 2);
}

TEST_F(Live, ASnapshotKnowsAllThatHappenedBeforeItWasAskedFor) {
  start();
  auto client = connect_live();
  for (int64_t each = 1; each <= 10; ++each) {
    speak(1);
    EXPECT_EQ(int_or(next(client), "seq"), each);
    EXPECT_EQ(int_or(ask(client, get_snapshot), "seq"), each);
  }
}

TEST_F(Live, OneSnapshotIsUnderWayAndTheRestGoesOn) {
  start();
  auto client = connect_live();
  speak(1);
  EXPECT_EQ(int_or(next(client), "seq"), 1);
  close_gate("get_world");
  say(client, get_snapshot);
  auto error = ask(client, R"({"type":"get_snapshot","request_id":"too many"})");
  EXPECT_EQ(text_or(error, "code"), "overloaded");
  EXPECT_EQ(text_or(error, "request_id"), "too many");
  EXPECT_EQ(text_or(ask(client, R"({"type":"ping"})"), "type"), "pong");
  open_gate();
  EXPECT_EQ(text_or(next(client), "request_id"), "s");
  EXPECT_EQ(text_or(ask(client, get_snapshot), "type"), "world_snapshot");
}

TEST_F(Live, PagesGoOutAsThereIsRoom) {
  HttpConfig config;
  config.live.socket.max_queued = 100'000;
  agents_ = 10'000;
  start(config);
  auto client = connect();
  say(client, get_snapshot);  // carried out when the first one is taken
  speak(3);
  size_t agents = 0;
  for (auto* id : {"", "s"}) {
    for (int64_t page = 1, pages = 1; page <= pages; ++page) {
      auto message = next(client);
      while (int_or(message, "page") == 0) message = next(client);  // what happened in between
      ASSERT_EQ(int_or(message, "page"), page);
      EXPECT_EQ(text_or(message, "request_id"), id);
      pages = int_or(message, "pages");
      agents += array_at(message, "agents")->size();
    }
  }
  EXPECT_EQ(agents, 20'000u);
}

TEST_F(Live, ARunIsNotShownWhatWasMadeForAPerson) {
  thread_.on_loop([this] {
    api_->set_gate([](const api::Operation&, std::string) -> Task<Result<>> {
      co_return fail(Code::forbidden, "not for agents of the crew");
    });
  });
  start();
  auto person = connect_live();
  caller_ = api::run;
  run_id_ = "r";
  auto run = connect();
  EXPECT_EQ(text_or(next(run), "code"), "forbidden");
  EXPECT_EQ(next(run), (json::object{{"opcode", 8}, {"code", 1011}}));
}

}  // namespace
}  // namespace cru::edges
