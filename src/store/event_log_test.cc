#include "store/event_log.h"

#include "store/store_fixture.h"

namespace cru {
namespace {

class EventLogTest : public StoreFixture {
 protected:
  EventLogTest() : StoreFixture({}) {}

  void emit(std::vector<NewEvent> events) {
    ASSERT_TRUE(write([events](Tx& tx) -> Result<int64_t> {
      for (const auto& event : events) tx.emit(event);
      return 0;
    }));
  }
  /// `count` events of `entity`, in one commit.
  void emit_many(const std::string& entity, int64_t count, const std::string& type = "agent.output") {
    emit(std::vector<NewEvent>(static_cast<size_t>(count), NewEvent{type, entity, {}}));
  }
  Result<EventPage> page(int64_t after, EventFilter filter = {}, size_t limit = 1000) {
    return thread->await([&] { return store->events().read(after, filter, limit); });
  }
  /// The numbers of all events that a reader who asks page by page gets.
  std::vector<int64_t> follow(int64_t after, const EventFilter& filter, size_t limit = 1000) {
    std::vector<int64_t> seen;
    for (bool more = true; more;) {
      auto next = page(after, filter, limit);
      if (!next) {
        ADD_FAILURE() << next.error().message;
        break;
      }
      EXPECT_LE(next->events.size(), limit);
      EXPECT_TRUE(next->scanned > after || !next->more) << "a page must go on";
      for (const auto& event : next->events) seen.push_back(event.seq);
      after = next->scanned;
      more = next->more;
    }
    EXPECT_EQ(after, store->events().last()) << "a filtered cursor advances to the end";
    return seen;
  }
  int64_t cursor_at(Time at) {
    return *thread->await([&] { return store->events().cursor_at(at); });
  }
  int64_t delete_up_to(int64_t seq, std::vector<std::string> keep = {}, int64_t limit = 1000000) {
    auto bounds = write([=](Tx& tx) -> Result<std::pair<int64_t, EventBounds>> {
      auto deleted = delete_events(tx, seq, keep, limit);
      return std::pair(deleted, read_bounds(tx));
    });
    thread->on_loop([&] { store->events().set_bounds(bounds->second.floor, bounds->second.last); });
    return bounds->first;
  }
  static std::vector<int64_t> range(int64_t from, int64_t to) {
    std::vector<int64_t> out;
    for (auto i = from; i <= to; ++i) out.push_back(i);
    return out;
  }
  using Seqs = std::vector<int64_t>;
};

TEST_F(EventLogTest, GivesWhatIsAfterTheCursorInOrder) {
  emit({{"agent.started", "a", {{"pid", 7}}}, {"agent.output", "a", {}}, {"agent.completed", "a", {}}});
  auto got = page(1);
  ASSERT_TRUE(got);
  ASSERT_EQ(got->events.size(), 2u);
  EXPECT_EQ(got->events[0].type, "agent.output");
  EXPECT_EQ(got->scanned, 3);
  EXPECT_FALSE(got->more);
  EXPECT_EQ(
      to_json_text(page(0)->events[0]),
      R"({"id":1,"type":"agent.started","entity_id":"a","timestamp":"2026-11-15T00:00:00.000Z","data":{"pid":7}})");
  EXPECT_TRUE(page(3)->events.empty());
  EXPECT_TRUE(page(99)->events.empty()) << "a cursor beyond the end waits";
}

TEST_F(EventLogTest, GivesNoMoreThanTheLimitAndSaysSo) {
  emit_many("a", 10);
  auto got = page(0, {}, 4);
  EXPECT_EQ(got->events.size(), 4u);
  EXPECT_EQ(got->scanned, 4);
  EXPECT_TRUE(got->more);
  EXPECT_EQ(follow(0, {}, 3), range(1, 10));
}

TEST_F(EventLogTest, FiltersByTypeAndByFamily) {
  emit({{"agent.started", "a", {}},
        {"agent.output", "a", {}},
        {"agentx.started", "a", {}},
        {"question.answered", "a", {}}});
  EXPECT_EQ(follow(0, {.entity = {}, .types = {"agent.started"}}), Seqs{1});
  EXPECT_EQ(follow(0, {.entity = {}, .types = {"agent.*"}}), (Seqs{1, 2})) << "agentx is another family";
  EXPECT_EQ(follow(0, {.entity = {}, .types = {"agent.output", "question.*"}}), (Seqs{2, 4}));
  EXPECT_EQ(follow(0, {.entity = {}, .types = {"agent"}}), Seqs{});
  EXPECT_EQ(follow(0, {.entity = "b", .types = {}}), Seqs{});
}

TEST_F(EventLogTest, ALaggingReaderGetsFromTheStoreWhatMemoryNoLongerHolds) {
  emit_many("a", 6000);
  EXPECT_EQ(follow(0, {}), range(1, 6000));
  EXPECT_EQ(follow(10, {}, 700), range(11, 6000));
}

TEST_F(EventLogTest, MemoryIsBoundedInBytesAndTheReaderDoesNotNotice) {
  std::string large(300000, 'x');
  for (int i = 0; i < 8; ++i) emit({{"agent.output", "a", {{"text", large}}}});
  emit({{"agent.output", "a", {{"text", std::string(2 << 20, 'x')}}}});
  emit({{"agent.output", "a", {}}});
  EXPECT_EQ(follow(0, {}, 3), range(1, 10));
}

TEST_F(EventLogTest, FindsAnEntityAcrossManyBlocks) {
  Seqs expected;
  auto mark = [&] {
    emit({{"agent.started", "rare", {}}});
    expected.push_back(store->events().last());
  };
  mark();
  emit_many("noise", 4095 - store->events().last());
  mark();  // 4096, the first of its block
  emit_many("noise", 4096 * 3 - 2 - store->events().last());
  mark();  // 4096 * 3 - 1, the last of its block
  emit_many("noise", 9000);
  mark();
  emit_many("noise", 3000);
  reopen();  // nothing in memory
  EXPECT_EQ(follow(0, {.entity = "rare", .types = {}}), expected);
  EXPECT_EQ(follow(0, {.entity = "rare", .types = {}}, 1), expected);
  EXPECT_EQ(follow(1, {.entity = "rare", .types = {}}), Seqs(expected.begin() + 1, expected.end()));
  EXPECT_EQ(follow(0, {.entity = "absent", .types = {}}), Seqs{});
  EXPECT_EQ(follow(0, {.entity = {}, .types = {"agent.started"}}), expected) << "by type, in bounded pages";
}

/// The index has them by their ends; what earlier versions wrote stands there as it is.
TEST_F(EventLogTest, FindsAnEntityOfAnyLengthAndOneThatAnEarlierVersionIndexed) {
  std::vector<std::string> names{"x", "twelve bytes", "thirteen byte", "0f1e2d3c-0000-8000-8000-01923456789a",
                                 "caf\u00e9 \u00fcber alles"};
  for (const auto& name : names) emit({{"agent.started", name, {}}});
  emit_many("noise", 5000);
  reopen();
  for (bool is_earlier : {false, true}) {
    if (is_earlier)
      ASSERT_TRUE(write([names](Tx& tx) -> Result<int64_t> {
        tx.exec("DELETE FROM event_entities");
        for (const auto& name : names) tx.exec("INSERT INTO event_entities VALUES(?, 0)", name);
        return 0;
      }));
    for (size_t i = 0; i < names.size(); ++i)
      EXPECT_EQ(follow(0, {.entity = names[i], .types = {}}), Seqs{static_cast<int64_t>(i + 1)}) << names[i];
    EXPECT_EQ(follow(0, {.entity = "byte" + std::string("thirteen "), .types = {}}), Seqs{});
  }
}

TEST_F(EventLogTest, FindsAnEntityOfABlockThatWasFilledAfterARestart) {
  emit({{"agent.started", "rare", {}}});
  emit_many("noise", 3000);
  EXPECT_EQ(follow(0, {.entity = "rare", .types = {}}), Seqs{1}) << "in a block that is not full";
  reopen();
  emit_many("noise", 6000);
  reopen();
  EXPECT_EQ(follow(0, {.entity = "rare", .types = {}}), Seqs{1});
  EXPECT_EQ(follow(1, {.entity = "rare", .types = {}}), Seqs{});
}

TEST_F(EventLogTest, AFilteredPageLooksAtABoundedNumberOfRows) {
  emit_many("noise", 10000);
  emit({{"agent.started", "rare", {}}});
  reopen();
  auto got = page(0, {.entity = {}, .types = {"agent.started"}});
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->events.empty());
  EXPECT_TRUE(got->more);
  EXPECT_GE(got->scanned, 4096);
  EXPECT_LE(got->scanned, 5120);
}

TEST_F(EventLogTest, ATimeBecomesTheCursorBeforeTheFirstEventAtOrAfterIt) {
  auto start = clock.wall();
  for (int hour = 0; hour < 5; ++hour) {
    emit_many("a", 700);  // five commits over four blocks of 1,024
    clock.advance(1h);
  }
  EXPECT_EQ(cursor_at(start - 1h), 0);
  EXPECT_EQ(cursor_at(start), 0);
  EXPECT_EQ(cursor_at(start + 1ms), 700);
  EXPECT_EQ(cursor_at(start + 2h), 1400);
  EXPECT_EQ(cursor_at(start + 4h), 2800);
  EXPECT_EQ(cursor_at(start + 5h), 3500) << "nothing yet: the end";
  reopen();
  EXPECT_EQ(cursor_at(start + 4h), 2800);
}

TEST_F(EventLogTest, ATimeIsFoundThoughTheClockWentBackwards) {
  auto start = clock.wall();
  emit_many("a", 1000);
  clock.set(start + 10h);
  emit_many("a", 10);
  clock.set(start - 5h);
  emit_many("a", 3000);
  clock.set(start + 1h);
  emit_many("a", 10);
  EXPECT_EQ(cursor_at(start + 1h), 1000) << "the first event at or after, by number";
  EXPECT_EQ(cursor_at(start + 11h), 4020);
  EXPECT_EQ(cursor_at(start - 5h), 0);
}

TEST_F(EventLogTest, ARestartInsideABlockKeepsItsLatestTime) {
  auto start = clock.wall();
  clock.set(start + 10h);
  emit_many("a", 100);
  reopen();
  clock.set(start);
  emit_many("a", 2000);
  EXPECT_EQ(cursor_at(start + 1h), 0);
}

TEST_F(EventLogTest, BelowTheFloorACursorIsGone) {
  emit_many("a", 10);
  EXPECT_EQ(delete_up_to(6), 6);
  EXPECT_EQ(store->events().floor(), 6);
  auto gone = page(5);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Code::cursor_gone);
  EXPECT_EQ(gone.error().details, R"({"floor":6,"last":10})");
  EXPECT_EQ(follow(6, {}), range(7, 10));
  reopen();
  EXPECT_EQ(store->events().floor(), 6) << "the floor is stored";
  EXPECT_EQ(page(0).error().code, Code::cursor_gone);
}

TEST_F(EventLogTest, DeletingKeepsTheEventsOfLiveEntities) {
  for (int i = 0; i < 5; ++i) emit({{"agent.output", "live", {}}, {"agent.output", "ended", {}}});
  EXPECT_EQ(delete_up_to(8, {"live"}), 4);
  reopen();
  EXPECT_EQ(follow(0, {.entity = "live", .types = {}}), (Seqs{1, 3, 5, 7, 9}));
  EXPECT_EQ(follow(0, {.entity = "ended", .types = {}}), Seqs{10});
  EXPECT_EQ(page(7).error().code, Code::cursor_gone);
}

TEST_F(EventLogTest, DeletingGoesInBoundedStepsAndNeverBeyondTheEnd) {
  emit_many("a", 10);
  EXPECT_EQ(delete_up_to(8, {}, 3), 3);
  EXPECT_EQ(store->events().floor(), 3);
  EXPECT_EQ(delete_up_to(2), 0) << "the floor never sinks";
  EXPECT_EQ(store->events().floor(), 3);
  EXPECT_EQ(delete_up_to(1000), 7);
  EXPECT_EQ(store->events().floor(), 10);
}

TEST_F(EventLogTest, NumbersGoOnThoughAllEventsWereDeleted) {
  emit_many("a", 10);
  delete_up_to(10);
  reopen();
  EXPECT_EQ(store->events().last(), 10);
  emit_many("a", 1);
  EXPECT_EQ(follow(10, {}), Seqs{11});
}

TEST_F(EventLogTest, WaitingEndsWithTheNextEventOrItsLimit) {
  emit_many("a", 1);
  auto past = [&](int64_t after, Duration limit) {
    return thread->await([&] { return store->events().wait_past(after, limit); });
  };
  EXPECT_TRUE(past(0, 0ms)) << "it is there already";
  auto late = thread->start([&] { return store->events().wait_past(1, 20s); });
  thread->pass(20s - 1ms);
  EXPECT_FALSE(is_there(late));
  thread->pass(1ms);
  ASSERT_TRUE(comes(late));
  EXPECT_FALSE(late.get());
  auto woken = thread->start([&] { return store->events().wait_past(2, 1h); });
  emit_many("a", 1);
  thread->on_loop([] {});  // whoever is woken has had its turn
  EXPECT_FALSE(is_there(woken)) << "event 2 is not past 2";
  emit_many("a", 1);
  ASSERT_TRUE(comes(woken));
  EXPECT_TRUE(woken.get());
}

TEST_F(EventLogTest, WhoWaitsForSomeEventsIsNotWokenForOthers) {
  emit_many("a", 1);
  auto wait_for = [&](int64_t after, EventFilter filter) {
    return thread->start([&, after, filter] { return store->events().wait_for(after, filter, 20s); });
  };
  auto there = wait_for(0, {.entity = {}, .types = {"agent.exited"}});
  ASSERT_TRUE(comes(there));
  EXPECT_EQ(there.get(), 0) << "nobody has looked at event 1 yet";
  auto exited = wait_for(1, {.entity = {}, .types = {"agent.exited"}});
  auto of_b = wait_for(1, {.entity = "b", .types = {}});
  auto late = wait_for(1, {.entity = "nobody", .types = {}});
  emit_many("a", 3);
  emit({{"agent.output", "a", {}}, {"agent.exited", "a", {}}, {"agent.output", "a", {}}});
  emit_many("a", 2);
  ASSERT_TRUE(comes(exited));
  EXPECT_EQ(exited.get(), 4) << "up to the commit in which it is";
  EXPECT_FALSE(is_there(of_b));
  emit_many("b", 1);
  ASSERT_TRUE(comes(of_b));
  EXPECT_EQ(of_b.get(), 9);
  auto ahead = wait_for(12, {.entity = "b", .types = {}});
  emit_many("b", 1);
  emit_many("b", 1);
  emit_many("a", 1);
  thread->on_loop([] {});  // whoever is woken has had its turn
  EXPECT_FALSE(is_there(ahead)) << "event 12 is not past 12";
  emit_many("b", 1);
  ASSERT_TRUE(comes(ahead));
  EXPECT_EQ(ahead.get(), 13);
  thread->pass(20s);
  ASSERT_TRUE(comes(late));
  EXPECT_EQ(late.get(), 14) << "it has seen all and reads on from there";
}

/// Its name is stored turned around where it is long (event_table.cc).
TEST_F(EventLogTest, WhatIsKeptOfALiveRunIsFoundByItsName) {
  const std::string name = "a-run-with-a-long-name";
  emit_many(name, 3);
  emit_many("others", 9000);
  delete_up_to(9000, {name});
  EXPECT_EQ(follow(0, {.entity = name, .types = {}}), range(1, 3));
}

TEST_F(EventLogTest, AsTextEventsAreTheSameWhetherMemoryHoldsThemOrTheStore) {
  thread->on_loop([&] {
    store->events().set_expander("agent.output",
                                 [](Event) -> Task<std::string> { co_return "{\"lines\":\r[]}"; });
  });
  emit({{"agent.output", "a", {}}, {"agent.started", "b\"", {{"pid", 1}}}, {"trust.changed", "", {}}});
  auto texts = [&](int64_t after, EventFilter filter, size_t limit) {
    return *thread->await([&] { return store->events().read_texts(after, filter, limit); });
  };
  for (auto* where : {"memory", "store"}) {
    if (where == std::string_view("store")) {
      emit_many("noise", 5000, "noise");
      EXPECT_EQ(texts(5003, {}, 10).scanned, 5003);
    }
    auto all = texts(0, {}, 3);
    ASSERT_EQ(all.events.size(), 3u) << where;
    auto events = page(0, {}, 3)->events;
    for (size_t i = 0; i < 3; ++i) {
      const auto& text = *all.events[i];
      EXPECT_EQ(text.json, to_json_text(events[i]));
      EXPECT_EQ(text.seq, events[i].seq);
      EXPECT_EQ(text.type, events[i].type);
      EXPECT_EQ(text.data(), events[i].data);
      EXPECT_EQ(text.is_one_line, i != 0) << "a line break needs no quotation marks around it";
    }
    EXPECT_NE(all.events[2]->json.find(R"("entity_id":null)"), std::string::npos);
    EXPECT_EQ(all.scanned, 3);
    auto few = texts(0, {.entity = {}, .types = {"agent.*"}}, 1);
    ASSERT_EQ(few.events.size(), 1u);
    EXPECT_EQ(few.scanned, 1);
    EXPECT_TRUE(few.more);
  }
  delete_up_to(2);
  auto gone = thread->await([&] { return store->events().read_texts(1, {}, 10); });
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Code::cursor_gone);
}

TEST_F(EventLogTest, ReadersOfNewEventsShareTheirTextsAndOneWhoLagsHasItsOwn) {
  int expanded = 0;
  thread->on_loop([&] {
    store->events().set_expander("agent.output", [&expanded](Event event) -> Task<std::string> {
      ++expanded;
      co_return std::move(event.data);
    });
  });
  emit_many("a", 3);
  auto texts = [&](int64_t after) {
    return thread->await([&] { return store->events().read_texts(after, {}, 10); })->events;
  };
  auto one = texts(0), other = texts(1);
  EXPECT_EQ(expanded, 3);
  EXPECT_EQ(one[1], other[0]);
  emit_many("a", 5000);
  EXPECT_NE(texts(0)[0], texts(0)[0]);
}

TEST_F(EventLogTest, APageOfTextsEndsWhereItIsLargeAndGoesOnThere) {
  thread->on_loop([&] {
    store->events().set_expander(
        "agent.output", [](Event) -> Task<std::string> { co_return '"' + std::string(600'000, 'x') + '"'; });
  });
  emit_many("a", 5);
  Seqs ends;
  for (int64_t after = 0; after < 5;) {
    auto page = *thread->await([&] { return store->events().read_texts(after, {}, 10); });
    EXPECT_EQ(page.events.back()->seq, page.scanned);
    EXPECT_EQ(page.more, page.scanned < 5);
    ends.push_back(after = page.scanned);
  }
  EXPECT_EQ(ends, (Seqs{2, 4, 5}));
}

TEST_F(EventLogTest, ExpandsEventsOfItsTypeOnly) {
  thread->on_loop([&] {
    store->events().set_expander("agent.output", [](Event event) -> Task<std::string> {
      co_return R"({"lines":["of )" + event.entity + R"("]})";
    });
  });
  emit({{"agent.output", "a", {}}, {"agent.started", "a", {{"pid", 1}}}});
  auto got = page(0);
  EXPECT_EQ(got->events[0].data, R"({"lines":["of a"]})");
  EXPECT_EQ(got->events[1].data, R"({"pid":1})");
}

}  // namespace
}  // namespace cru
