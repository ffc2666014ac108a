#include "work/work_table.h"

#include "work/work_fixture.h"

namespace cru::coordination {
namespace {

class WorkTableTest : public WorkFixture {
 public:
  void add_open(int64_t count) {
    ASSERT_TRUE(write([count](Tx& tx) -> Result<int64_t> {
      for (int64_t i = 0; i < count; ++i)
        insert_work(tx, {.task_id = "w" + std::to_string(i), .task_type = "build", .description = "make"},
                    {.wall = tx.now()});
      return count;
    }));
  }
  /// Whether a read takes so few steps that the loop's own thread does it. What was not brief once is tried
  /// again only after a while.
  template <class F>
  bool is_brief(F look) {
    auto loops = thread->on_loop([] { return std::this_thread::get_id(); });
    auto where = [look](Reader& reader) -> Result<std::thread::id> {
      look(reader);
      return std::this_thread::get_id();
    };
    for (int attempt = 0; attempt < 300; ++attempt)
      if (*read(where) == loops) return true;
    return false;
  }
};

TEST_F(WorkTableTest, WhatIsClaimedIsListedInOrderWithoutALookAtAllThatIsOpen) {
  add_open(20'000);
  ASSERT_TRUE(submit({.task_id = "urgent", .task_type = "test", .priority = 1}));
  std::vector<std::string> claimed{claim_id("ann"), claim_id("bob"), claim_id("ann")};
  EXPECT_EQ(claimed.front(), "urgent");
  auto listed = *read(
      [](Reader& reader) -> Result<std::vector<Work>> { return list_work(reader, "claimed", "", 100); });
  std::vector<std::string> ids;
  for (const auto& work : listed) ids.push_back(work.task_id);
  EXPECT_EQ(ids, claimed);
  EXPECT_TRUE(is_brief([](Reader& reader) { (void)list_work(reader, "claimed", "", 100); }));
  EXPECT_TRUE(is_brief([](Reader& reader) { (void)list_work(reader, "running", "", 100); }));
}

}  // namespace
}  // namespace cru::coordination
