// Sessions and the members whose they are: who has ended holds nothing, and who is there loses nothing.
#include "locks/locks_fixture.h"
#include "members/admission.h"
#include "members/member_keys.h"

namespace cru::coordination {
namespace {

using members::KeptBy;
using members::Member;

const ProcessIdentity first_host{10, 100, "boot"}, second_host{20, 200, "boot"};

class SessionMembersTest : public LocksFixture {
 public:
  void change(std::function<void(Tx&)> make) {
    ASSERT_TRUE(write([make](Tx& tx) -> Result<int> {
      make(tx);
      return 0;
    }));
  }
  std::optional<Member> member(std::string id) {
    return *read(
        [id](Reader& reader) -> Result<std::optional<Member>> { return members::find_member(reader, id); });
  }
  /// Whoever speaks for the member.
  static Who of(const std::string& id) {
    auto by = who(id);
    by.member = id;
    return by;
  }
  void add(const std::string& id, std::optional<ProcessIdentity> host = {}) {
    change([id, host](Tx& tx) {
      ASSERT_TRUE(members::add_member(tx, {.id = id,
                                           .name = id,
                                           .scope = host ? "process:" + id : "",
                                           .host = host,
                                           .session_id = of(id).session_id}));
      members::note_session(tx, "s1", id, true);
    });
  }
  /// Outlived by nothing that it holds.
  void expect_gone(const std::string& id) {
    EXPECT_TRUE(member(id)->is_ended());
    EXPECT_FALSE(session(of(id))->is_connected());
    EXPECT_EQ(held().size(), 0u);
  }
};

TEST_F(SessionMembersTest, ACleanUpLeavesThreadsThatSayNothingAlone) {
  change([](Tx& tx) {
    ASSERT_TRUE(members::add_kept_member(tx, KeptBy::thread, "3f2a1c", {.id = {}, .name = "tester"}));
  });
  add("m-refused");
  clock.advance(20min);
  clock.advance_boot(20min);
  ASSERT_TRUE(cleanup());
  EXPECT_FALSE(member("m-3f2a1c")->is_ended()) << "its room ends it";
  EXPECT_TRUE(member("m-refused")->is_ended());
}

TEST_F(SessionMembersTest, WhoIsAtWorkIsNotStaleHoweverLongItIsSilent) {
  add("m-1");
  acquire(of("m-1"), "a", {.ttl_minutes = 480});
  bool is_at_work = true;
  thread->on_loop([&] { sessions->set_presence([&](const Session&) { return is_at_work; }); });
  clock.advance_boot(1h);
  EXPECT_EQ(int_or(cleanup()->reply, "agents_cleaned"), 0);
  EXPECT_EQ(held().size(), 1u);
  thread->on_loop([&] { is_at_work = false; });
  clock.advance_boot(1h);
  EXPECT_EQ(int_or(cleanup()->reply, "agents_cleaned"), 1);
  expect_gone("m-1");
}

TEST_F(SessionMembersTest, NobodyBeginsForAMemberThatHasEnded) {
  add("m-1");
  change([](Tx& tx) { members::end_member(tx, "m-1", "its program has ended"); });
  for (const auto& refused : {acquire(of("m-1"), "a"), enroll(of("m-1")), edit(of("m-1"), "a")}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::session_expired) << refused.error().message;
  }
  EXPECT_FALSE(session(of("m-1")));
  EXPECT_EQ(held().size(), 0u);
}

TEST_F(SessionMembersTest, ASessionThatGoesOnIsRefusedOnceItsMemberHasEnded) {
  add("m-1");
  acquire(of("m-1"), "a");
  change([](Tx& tx) { members::end_member(tx, "m-1", "completed"); });
  EXPECT_EQ(acquire(of("m-1"), "b").error().code, Code::session_expired);
}

TEST_F(SessionMembersTest, TheEndOfAHostEndsWhatBeganMeanwhileToo) {
  add("m-1", first_host);
  acquire(of("m-1"), "a");
  auto second = of("m-1");
  second.session_id = session_id_from("m-1", "second");
  // Both are submitted before either is done: whichever comes first, nothing is left.
  auto ended = thread->start([&] { return sessions->end_of_host("m-1", first_host); });
  auto begun = thread->start([&] { return locks->acquire(second, {.file_path = "b"}); });
  ASSERT_TRUE(comes(ended));
  ASSERT_TRUE(ended.get());
  ASSERT_TRUE(comes(begun));
  (void)begun.get();
  expect_gone("m-1");
  EXPECT_EQ(count("SELECT count(*) FROM agent_sessions WHERE member = 'm-1' AND status <> 'disconnected'"),
            0);
}

TEST_F(SessionMembersTest, TheEndOfAHostIsNothingToWhoLivesInAnotherByNow) {
  add("m-1", second_host);
  acquire(of("m-1"), "a");
  ASSERT_TRUE(ask([&] { return sessions->end_of_host("m-1", first_host); }));
  EXPECT_FALSE(member("m-1")->is_ended());
  EXPECT_EQ(held().size(), 1u);
  ASSERT_TRUE(ask([&] { return sessions->end_of_host("m-1", second_host); }));
  expect_gone("m-1");
  EXPECT_EQ(member("m-1")->left_behind, "1 lock");
}

TEST_F(SessionMembersTest, AtStartWhatMembersThatHaveEndedStillHoldIsFreed) {
  add("m-1");
  add("m-2");
  acquire(of("m-1"), "a");
  acquire(of("m-2"), "b");
  change([](Tx& tx) { members::end_member(tx, "m-1", "completed"); });
  restart();
  ASSERT_TRUE(ask([&] { return sessions->recover([](const std::string&) { return true; }); }));
  EXPECT_FALSE(session(of("m-1"))->is_connected());
  ASSERT_EQ(held().size(), 1u);
  EXPECT_EQ(text_or(held().front().as_object(), "file_path"), "b");
}

TEST_F(SessionMembersTest, TheEndOfASessionClosesItInTheSameTransaction) {
  add("m-1", first_host);
  enroll(of("m-1"), {.kept_by_hook = true});
  acquire(of("m-1"), "a");
  auto late = of("m-1");
  late.closes = "s0";
  EXPECT_EQ(int_or(leave(late, "other", "hook")->reply, "locks_released"), 0)
      << "its conversation has left s0";
  EXPECT_EQ(held().size(), 1u);
  auto cleared = of("m-1");
  cleared.closes = "s1";
  leave(cleared, "clear", "hook");
  EXPECT_FALSE(member("m-1")->is_ended()) << "it waits for its next session";
  EXPECT_EQ(held().size(), 1u);
  change([](Tx& tx) { members::note_session(tx, "s2", "m-1", true); });
  auto over = of("m-1");
  over.closes = "s2";
  EXPECT_EQ(int_or(leave(over, "other", "hook")->reply, "locks_released"), 1);
  expect_gone("m-1");
}

TEST_F(SessionMembersTest, AnEndThatIsNotWrittenClosesNothing) {
  add("m-1", first_host);
  enroll(of("m-1"), {.kept_by_hook = true});
  auto over = of("m-1");
  over.closes = "s1";
  auto rename = [&](std::string_view sql) { change([sql](Tx& tx) { tx.exec(sql); }); };
  rename("ALTER TABLE handoffs RENAME TO gone");
  EXPECT_FALSE(leave(over, "other", "hook"));
  EXPECT_EQ(count("SELECT count(*) FROM member_keys WHERE member = 'm-1' AND is_open = 1"), 1);
  rename("ALTER TABLE gone RENAME TO handoffs");
  EXPECT_TRUE(leave(over, "other", "hook"));
  expect_gone("m-1");
}

TEST_F(SessionMembersTest, AFinalHandoffAndItsEventNameTheMember) {
  add("m-1");
  acquire(of("m-1"), "a");
  leave(of("m-1"));
  EXPECT_EQ(count("SELECT count(*) FROM handoffs WHERE member = 'm-1'"), 1);
  auto page = ask([&] { return store->events().read(0, {}, 5000); });
  auto told = std::ranges::find(page->events, "handoff.written", &Event::type);
  ASSERT_NE(told, page->events.end());
  EXPECT_NE(told->data.find(R"("member":"m-1")"), std::string::npos) << told->data;
}

TEST_F(SessionMembersTest, ARefusalSaysWhoMayBeTheSameConversation) {
  add("m-1", first_host);
  add("m-2", first_host);
  change([](Tx& tx) {
    auto member = *members::find_member(tx, "m-1");
    member.is_unattributed = true;
    members::put_member(tx, member);
  });
  acquire(of("m-1"), "a");
  acquire(of("m-2"), "b");
  for (const auto& [refused, who] : {std::pair(edit(of("m-2"), "a"), "m-1 is an MCP connection"),
                                     std::pair(edit(of("m-1"), "b"), "this caller is an MCP connection"),
                                     std::pair(acquire(of("m-2"), "a"), "m-1 is an MCP connection")})
    EXPECT_NE(said(refused, "message").find(who), std::string::npos) << said(refused, "message");
}

}  // namespace
}  // namespace cru::coordination
