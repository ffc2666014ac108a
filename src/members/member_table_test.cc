#include "members/admission.h"
#include "members/member_keys.h"

#include "store/store_fixture.h"

namespace cru::members {
namespace {

class MemberTableTest : public StoreFixture {
 public:
  MemberTableTest() : StoreFixture({migrations().begin(), migrations().end()}) {}

  void change(std::function<void(Tx&)> make) {
    ASSERT_TRUE(write([make](Tx& tx) -> Result<int> {
      make(tx);
      return 0;
    }));
  }
  std::optional<Member> find(std::string id) {
    return *read([id](Reader& reader) -> Result<std::optional<Member>> { return find_member(reader, id); });
  }
  Member admitted(Evidence evidence, std::string id) {
    return write([evidence, id](Tx& tx) -> Result<Admitted> { return admit_member(tx, evidence, id, {}); })
        ->member;
  }
  int64_t events(std::string type) {
    auto page = thread->await([&] { return store->events().read(0, {}, 5000); });
    return std::ranges::count_if(page->events, [&](const Event& event) { return event.type == type; });
  }
  void add_thread() {
    change([](Tx& tx) {
      ASSERT_TRUE(add_kept_member(tx, KeptBy::thread, "3f2a1c", {.id = {}, .name = "tester-3f2a1c"}));
    });
  }
};

TEST_F(MemberTableTest, WhoeverSpeaksForAThreadIsTheThread) {
  add_thread();
  auto own =
      admitted({.run_member = "m-3f2a1c", .session = "tester-3f2a1c", .agent_id = "tester-3f2a1c"}, "m-new");
  EXPECT_EQ(own.id, "m-3f2a1c");
  EXPECT_EQ(kept_id(own), "3f2a1c");
}

TEST_F(MemberTableTest, ARunThatBelongsToAThreadSpeaksForIt) {
  add_thread();
  Evidence server{.run = "uid-1", .run_member = "m-3f2a1c", .connection = "c1"};
  EXPECT_EQ(admitted(server, "m-new").id, "m-3f2a1c");
}

TEST_F(MemberTableTest, AnotherRunDoesNotTakeAThreadOverByNamingItsSession) {
  add_thread();
  auto session = find("m-3f2a1c")->session_id;
  Evidence thief{.run = "uid-2", .connection = "c1", .session = session, .step = SessionStep::begins};
  EXPECT_EQ(admitted(thief, "m-thief").id, "m-thief");
  EXPECT_EQ(find("m-3f2a1c")->scope, "");
}

TEST_F(MemberTableTest, AThreadOutlivesItsSessionAndComesBack) {
  add_thread();
  change([](Tx& tx) { end_with_session(tx, "m-3f2a1c", "no heartbeat", ""); });
  EXPECT_FALSE(find("m-3f2a1c")->is_ended());
  change([](Tx& tx) { end_member(tx, "m-3f2a1c", "completed"); });
  EXPECT_TRUE(find("m-3f2a1c")->is_ended());
  change([](Tx& tx) { resume_member(tx, "m-3f2a1c"); });
  EXPECT_FALSE(find("m-3f2a1c")->is_ended());
}

TEST_F(MemberTableTest, WhatWasLeftBehindIsNotedOnceEvenAfterTheEnd) {
  change([](Tx& tx) {
    ASSERT_TRUE(add_member(tx, {.id = "m-1", .name = "ada"}));
    end_with_session(tx, "m-1", "its program has ended", "");
    end_with_session(tx, "m-1", "its program has ended", "2 locks");
    end_with_session(tx, "m-1", "its program has ended", "1 lock");
  });
  EXPECT_EQ(find("m-1")->left_behind, "2 locks");
}

TEST_F(MemberTableTest, LiveAgentsOfOneNameAreMadeQuicklyAndWithoutEventsOfTheirOwn) {
  change([](Tx& tx) {
    for (int i = 0; i < 300; ++i)
      ASSERT_TRUE(add_kept_member(tx, KeptBy::body, "agent_" + std::to_string(i), {.id = {}, .name = "Ada"}));
  });
  EXPECT_EQ(find("m-agent_0")->name, "Ada");
  EXPECT_EQ(find("m-agent_299")->name, "Ada-299");
  EXPECT_EQ(events("member.joined"), 0);
}

}  // namespace
}  // namespace cru::members
