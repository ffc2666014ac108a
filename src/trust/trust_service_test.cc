#include "trust/trust_service.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <mutex>

#include "base/sha256.h"
#include "store/store_fixture.h"
#include "trust/record_file.h"

namespace cru::trust {
namespace {

class TrustTest : public StoreFixture {
 public:
  TrustTest() : StoreFixture({}), pool(std::make_unique<Pool>(thread->loop, 2)) {
    std::filesystem::create_directories(folder / "p/.crucible");
    begin();
  }
  ~TrustTest() override {
    thread->stop();
    pool.reset();
  }
  /// A daemon's life: the record is read again.
  void begin() {
    thread->on_loop([&] {
      // As in a daemon, what it has begun never outlives it: the one before stays until the loop has ended.
      if (trust) earlier.push_back(std::move(trust));
      trust = std::make_unique<Trust>(thread->loop, *store, *pool,
                                      Options{.root = folder / "p",
                                              .folder = at,
                                              .look =
                                                  [this](const std::vector<std::string>&) {
                                                    std::lock_guard held(mutex);
                                                    return content;
                                                  },
                                              .apply = [this]() -> Task<void> {
                                                ++applied;
                                                co_return;
                                              }});
      return true;
    });
  }
  void bring(std::string path, std::string text, std::string problem = {}) {
    std::lock_guard held(mutex);
    std::erase_if(content, [&](const Item& item) { return item.path == path; });
    content.push_back({.path = std::move(path),
                       .reasons = {"why"},
                       .text = std::move(text),
                       .problem = std::move(problem)});
  }
  Listing list() {
    return *thread->await([&] { return trust->list({}); });
  }
  Result<Listing> grant(std::map<std::string, std::string> items, bool once = false) {
    return thread->await([&] { return trust->grant(items, once); });
  }
  Result<Listing> revoke(std::vector<std::string> paths = {}) {
    return thread->await([&] { return trust->revoke(paths); });
  }
  bool is_trusted(const std::string& path, std::string_view text) {
    return thread->on_loop([&] { return trust->checks()()(path, sha256(text)); });
  }
  /// "path state, …" of what waits.
  std::string waiting() {
    std::string out;
    for (const auto& shown : list().waiting)
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", shown.item.path, name(shown.state));
    return out;
  }

  std::string at = folder / "state/trust/p";
  std::mutex mutex;  ///< the pool's threads look, too
  std::vector<Item> content;
  int applied = 0;
  std::unique_ptr<Pool> pool;
  std::vector<std::unique_ptr<Trust>> earlier;
  std::unique_ptr<Trust> trust;
};

TEST_F(TrustTest, WhatIsTrustedStaysSoOverARestartUntilItChanges) {
  bring("a", "one\n");
  bring("b", "two\n");
  EXPECT_EQ(waiting(), "a new, b new");
  auto granted = grant({{"a", sha256("one\n")}});
  ASSERT_TRUE(granted) << granted.error().message;
  EXPECT_EQ(applied, 1) << "in force before the answer";
  EXPECT_TRUE(is_trusted("a", "one\n"));
  EXPECT_FALSE(is_trusted("b", "two\n"));
  begin();
  EXPECT_EQ(waiting(), "b new");
  bring("a", "one\nmore\n");
  EXPECT_EQ(waiting(), "a changed, b new");
  EXPECT_EQ(list().waiting[0].difference, "--- a (trusted)\n+++ a\n@@ -1 +1,2 @@\n one\n+more\n");
  EXPECT_FALSE(is_trusted("a", "one\nmore\n"));
}

TEST_F(TrustTest, OnlyWhatWasShownIsTrusted) {
  bring("a", "one");
  bring("b", "two");
  auto refused = grant({{"a", sha256("one")}, {"b", sha256("what it was")}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::conflict);
  EXPECT_FALSE(is_trusted("a", "one")) << "all or nothing";
  EXPECT_EQ(grant({{"c", sha256("x")}}).error().code, Code::not_found);
  bring("b", "", "is a FIFO");
  EXPECT_EQ(waiting(), "a new, b refused");
  EXPECT_EQ(grant({{"b", sha256("")}}).error().code, Code::forbidden);
  EXPECT_EQ(applied, 0);
}

TEST_F(TrustTest, WhatIsTooMuchToShowCannotBeTrusted) {
  std::string large((256 << 10) + 1, 'x');
  bring("a", large);
  EXPECT_EQ(waiting(), "a refused");
  EXPECT_EQ(grant({{"a", sha256(large)}}).error().code, Code::forbidden);
  content.clear();
  std::string fits(250 << 10, 'x');
  for (int i = 10; i < 30; ++i) bring(fmt::format("f{}", i), fits);
  auto seen = list().waiting;
  EXPECT_EQ(seen.front().state, State::added);
  EXPECT_EQ(seen.back().state, State::refused) << "not all at once";
  std::map<std::string, std::string> shown;
  for (const auto& each : seen)
    if (each.state != State::refused) shown[each.item.path] = each.sha256;
  ASSERT_TRUE(grant(shown));
  for (const auto& each : list().waiting) EXPECT_EQ(each.state, State::added) << each.item.path;
}

TEST_F(TrustTest, OnceIsForThisLifeOnlyAndWritesNothing) {
  bring("a", "one");
  ASSERT_TRUE(grant({{"a", sha256("one")}}, true));
  EXPECT_TRUE(is_trusted("a", "one"));
  EXPECT_TRUE(list().trusted.at("a").once);
  EXPECT_FALSE(std::filesystem::exists(at));
  bring("a", "two");
  EXPECT_FALSE(is_trusted("a", "two")) << "what changes meanwhile waits again";
  bring("a", "one");
  begin();
  EXPECT_EQ(waiting(), "a new");
  ASSERT_TRUE(grant({{"a", sha256("one")}}, true));
  ASSERT_TRUE(grant({{"a", sha256("one")}}));
  begin();
  EXPECT_EQ(waiting(), "") << "and then for good";
  EXPECT_EQ(trusted_text(at, sha256("one")), "one");
}

TEST_F(TrustTest, IsTakenBack) {
  bring("a", "one");
  bring("b", "two");
  ASSERT_TRUE(grant({{"a", sha256("one")}, {"b", sha256("two")}}));
  EXPECT_EQ(revoke({"c"}).error().code, Code::not_found);
  ASSERT_TRUE(revoke({"a"}));
  EXPECT_EQ(waiting(), "a new");
  begin();
  EXPECT_EQ(waiting(), "a new");
  ASSERT_TRUE(revoke());
  EXPECT_EQ(waiting(), "a new, b new");
  EXPECT_FALSE(std::filesystem::exists(at)) << "nothing is left behind";
}

TEST_F(TrustTest, WhatAPersonWritesByAVerbIsTrustedAsItWasWritten) {
  auto wrote = [&](std::string path, std::string text) {
    return thread->await([&] { return trust->written(path, text); });
  };
  bring("a", "one");
  ASSERT_TRUE(wrote("a", "one"));
  EXPECT_TRUE(is_trusted("a", "one"));
  bring("b", "somebody was quicker");
  ASSERT_TRUE(wrote("b", "two"));
  EXPECT_FALSE(is_trusted("b", "somebody was quicker"));
  ASSERT_TRUE(wrote("c", "needs none"));
  EXPECT_FALSE(is_trusted("c", "needs none"));
}

TEST_F(TrustTest, TwoAtOnceAreBothKept) {
  bring("a", "one");
  bring("b", "two");
  auto both = [this]() -> Task<bool> {
    Completion<bool> first;
    thread->loop.spawn([](Trust& t, Completion<bool>::Handle done) -> Task<void> {
      auto granted = co_await t.grant({{"a", sha256("one")}}, false);
      done.complete(granted.has_value());
    }(*trust, first.handle()));
    auto second = co_await trust->grant({{"b", sha256("two")}}, false);
    co_return co_await first&& second.has_value();
  };
  EXPECT_TRUE(thread->await(both));
  begin();
  EXPECT_EQ(waiting(), "");
}

TEST_F(TrustTest, ARecordThatCannotBeWrittenTrustsNothing) {
  bring("a", "one");
  std::ofstream(folder / "state") << "a file where a folder belongs";
  EXPECT_FALSE(grant({{"a", sha256("one")}}));
  EXPECT_FALSE(is_trusted("a", "one"));
  EXPECT_EQ(waiting(), "a new");
}

TEST_F(TrustTest, TellsWhenSomethingElseWaits) {
  auto next = [&](int64_t after) {
    EXPECT_TRUE(thread->pass_until(50ms, [&] { return store->events().last() > after; }));
    auto page = thread->await([&] { return store->events().read(after, {}, 10); });
    return page && page->events.size() == 1 ? fmt::format("{} {}", page->events[0].type, page->events[0].data)
                                            : "";
  };
  bring("a", "one");
  thread->await([&] { return trust->start(); });
  bring("b", "two");
  std::ofstream(folder / "p/.crucible/b") << "two";
  EXPECT_EQ(next(0), R"(trust.changed {"waiting":2})") << "the folder is watched";
  ASSERT_TRUE(grant({{"a", sha256("one")}, {"b", sha256("two")}}));
  EXPECT_EQ(next(1), R"(trust.changed {"waiting":0})");
}

}  // namespace
}  // namespace cru::trust
