#include "api/kept_replies.h"

#include <fmt/format.h>

#include <atomic>
#include <latch>

#include "store/store_fixture.h"

namespace cru::api {
namespace {

constexpr Migration rooms[] = {
    {"kept", 1, "CREATE TABLE told(text TEXT NOT NULL); CREATE TABLE other(text TEXT NOT NULL)"}};

class KeptRepliesTest : public StoreFixture {
 public:
  KeptRepliesTest() : StoreFixture({std::begin(rooms), std::end(rooms)}), kept(thread->loop, *store) {}
  ~KeptRepliesTest() override { thread->stop(); }

  KeptReplies::Make make() {
    return [this](Reader& reader) -> Result<KeptReplies::Made> {
      ++reads;
      std::string text;
      for (const auto& row : reader.rows("SELECT text FROM told ORDER BY text")) text += row.text(0);
      return KeptReplies::Made{"[" + text + "]", until};
    };
  }
  std::string ask(std::string question = "all", Call call = {}) {
    auto reply = thread->await([&] { return kept.read(call, "list", question, make()); });
    return reply ? reply->text() : std::string(name(reply.error().code));
  }
  void add(std::string_view table, std::string text) {
    auto sql = fmt::format("INSERT INTO {} VALUES(?)", table);
    ASSERT_TRUE(write([sql, text](Tx& tx) -> Result<int64_t> { return tx.exec(sql, text); }));
  }

  std::atomic<int> reads = 0;
  Time until = Time::max();
  KeptReplies kept;
};

TEST_F(KeptRepliesTest, AreReadOnceAndAgainAfterEachChange) {
  EXPECT_EQ(ask(), "[]");
  EXPECT_EQ(ask(), "[]");
  EXPECT_EQ(reads, 1);
  add("other", "x");
  EXPECT_EQ(ask(), "[]");
  EXPECT_EQ(reads, 1) << "a table that was not read changes nothing";
  for (int i = 0; i < 20; ++i) {
    add("told", "a");
    EXPECT_EQ(ask(), "[" + std::string(static_cast<size_t>(i) + 1, 'a') + "]");
  }
  EXPECT_EQ(reads, 21);
}

/// Whoever is told of a commit, and whoever hears of it by its event, finds it in the reply.
TEST_F(KeptRepliesTest, AreNeverOlderThanAnAnnouncedChange) {
  EXPECT_EQ(ask(), "[]");
  auto heard = thread->start([this]() -> Task<std::string> {
    (void)co_await store->write([](Tx& tx) -> Result<int> {
      tx.exec("INSERT INTO told VALUES('a')");
      return 1;
    });
    auto reply = co_await kept.read({}, "list", "all", make());
    co_return reply->text();
  });
  ASSERT_TRUE(comes(heard));
  EXPECT_EQ(heard.get(), "[a]");
}

/// A read that began before a commit may have missed it: its reply is not for those who ask after the commit.
TEST_F(KeptRepliesTest, AReadThatACommitOvertookIsNotKept) {
  std::latch begun(1), go_on(1);
  auto slow = [&, plain = make()](Reader& reader) {
    auto made = plain(reader);
    begun.count_down();
    go_on.wait();
    return made;
  };
  auto first = thread->start([&] { return kept.read({}, "list", "all", slow); });
  begun.wait();
  add("told", "a");
  EXPECT_EQ(ask(), "[a]") << "though the other is still under way";
  go_on.count_down();
  ASSERT_TRUE(comes(first));
  EXPECT_EQ(first.get()->text(), "[]");
  EXPECT_EQ(ask(), "[a]");
}

TEST_F(KeptRepliesTest, WhoAsksForTheSameWaitsForTheSameRead) {
  std::latch begun(1), go_on(1);
  auto slow = [&, plain = make()](Reader& reader) {
    begun.count_down();
    go_on.wait();
    return plain(reader);
  };
  auto first = thread->start([&] { return kept.read({}, "list", "all", slow); });
  begun.wait();
  std::vector<std::future<Result<Reply>>> others;
  for (int i = 0; i < 5; ++i)
    others.push_back(thread->start([&] { return kept.read({}, "list", "all", make()); }));
  go_on.count_down();
  ASSERT_TRUE(comes(first));
  for (auto& other : others) {
    ASSERT_TRUE(comes(other));
    EXPECT_EQ(other.get()->text(), "[]");
  }
  EXPECT_EQ(reads, 1);
}

TEST_F(KeptRepliesTest, AFailedCommitForgetsThem) {
  EXPECT_EQ(ask(), "[]");
  ASSERT_TRUE(write([](Tx& tx) -> Result<int64_t> { return tx.exec("PRAGMA max_page_count = 1"); }));
  auto failed = write([](Tx& tx) -> Result<int64_t> {
    return tx.exec("INSERT INTO told VALUES(?)", std::string(200'000, 'x'));
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(ask(), "[]");
  EXPECT_EQ(reads, 2);
  ASSERT_TRUE(write([](Tx& tx) -> Result<int64_t> { return tx.exec("PRAGMA max_page_count = 100000"); }));
  add("told", "a");
  EXPECT_EQ(ask(), "[a]");
}

TEST_F(KeptRepliesTest, HoldOnlyForTheirTime) {
  until = clock.wall() + 10s;
  EXPECT_EQ(ask(), "[]");
  clock.advance(9s);
  EXPECT_EQ(ask(), "[]");
  EXPECT_EQ(reads, 1);
  clock.advance(1s);
  EXPECT_EQ(ask(), "[]");
  EXPECT_EQ(reads, 2);
  until = Time::max();
  EXPECT_EQ(ask(), "[]");
  auto before = reads.load();
  clock.advance(-1h);  // somebody sets the clock back
  EXPECT_EQ(ask(), "[]");
  EXPECT_EQ(reads, before + 1);
}

TEST_F(KeptRepliesTest, BelongToWhoAsked) {
  auto by = [](Callers caller, std::string run_id = {}) {
    Call call;
    call.caller = caller;
    call.run_id = std::move(run_id);
    return call;
  };
  EXPECT_EQ(ask("all", by(person)), "[]");
  EXPECT_EQ(ask("all", by(agent)), "[]");
  EXPECT_EQ(ask("all", by(run, "a")), "[]");
  EXPECT_EQ(ask("all", by(run, "b")), "[]");
  EXPECT_EQ(ask("some", by(person)), "[]");
  EXPECT_EQ(reads, 5);
  EXPECT_EQ(ask("all", by(run, "a")), "[]");
  EXPECT_EQ(reads, 5);
}

TEST_F(KeptRepliesTest, AreBounded) {
  for (size_t i = 0; i < 3 * KeptReplies::max_kept; ++i) EXPECT_EQ(ask(fmt::format("{}", i)), "[]");
  EXPECT_EQ(thread->on_loop([&] { return kept.kept(); }), KeptReplies::max_kept);
  auto before = reads.load();
  EXPECT_EQ(ask(fmt::format("{}", 3 * KeptReplies::max_kept - 1)), "[]");
  EXPECT_EQ(reads, before) << "the newest are kept";
  add("told", std::string(KeptReplies::max_bytes / 8, 'x'));
  for (int i = 0; i < 40; ++i) EXPECT_EQ(ask(fmt::format("{}", i)).size(), KeptReplies::max_bytes / 8 + 2);
  EXPECT_LT(thread->on_loop([&] { return kept.kept(); }), 8u);
}

TEST_F(KeptRepliesTest, ErrorsAreNotKept) {
  int tries = 0;
  auto failing = [&](Reader&) -> Result<KeptReplies::Made> {
    ++tries;
    return fail(Code::not_found, "there is none");
  };
  for (int i = 0; i < 2; ++i)
    EXPECT_FALSE(thread->await([&] { return kept.read({}, "list", "all", failing); }));
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(ask(), "[]");
}

}  // namespace
}  // namespace cru::api
