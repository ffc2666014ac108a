#include "crew/queue.h"

#include <gtest/gtest.h>

namespace cru::crew {
namespace {

std::vector<std::string> started(Queue& queue) {
  std::vector<std::string> ids;
  for (auto& one : queue.start()) ids.push_back(one.id);
  return ids;
}
using Ids = std::vector<std::string>;

TEST(Queue, OneAloneStartsAtOnce) {
  Queue queue({});
  queue.add("a", "chat", "chat", "anthropic");
  EXPECT_EQ(started(queue), Ids{"a"});
  EXPECT_EQ(queue.waiting("chat"), 0);
}

TEST(Queue, TheNextStartsOnlyWhenTheOneBeforeIsOver) {
  Queue queue({});
  for (auto id : {"a", "b", "c"}) queue.add(id, "chat", "chat", "anthropic");
  EXPECT_EQ(started(queue), Ids{"a"});
  EXPECT_EQ(started(queue), Ids{});
  EXPECT_EQ(queue.waiting("chat"), 2);
  EXPECT_EQ(queue.position("c"), 2);
  queue.remove("a");
  EXPECT_EQ(started(queue), Ids{"b"});
  queue.remove("b");
  EXPECT_EQ(started(queue), Ids{"c"});
}

TEST(Queue, ChatsDoNotWaitForEachOther) {
  Queue queue({});
  queue.add("a", "one", "one", "anthropic");
  queue.add("b", "two", "two", "anthropic");
  EXPECT_EQ(started(queue), (Ids{"a", "b"}));
}

TEST(Queue, AParentThatWaitsForItsChildrenIsNotInTheirWay) {
  Queue queue({});
  queue.add("parent", "chat", "chat", "p");
  EXPECT_EQ(started(queue), Ids{"parent"});
  queue.add("child", "parent", "chat", "p");
  EXPECT_EQ(started(queue), Ids{"child"});
}

TEST(Queue, AParentThatWaitsTakesNoPlaceAtItsProvider) {
  Queue queue({.max_concurrent = 2, .of_provider = [](const std::string&) { return 1; }});
  queue.add("parent", "chat", "chat", "local");
  EXPECT_EQ(started(queue), Ids{"parent"});
  queue.add("child", "parent", "chat", "local");
  EXPECT_EQ(started(queue), Ids{"child"});
}

TEST(Queue, OneThatIsTakenOutWhileItWaitsNeverStarts) {
  Queue queue({});
  for (auto id : {"a", "b", "c"}) queue.add(id, "chat", "chat", "p");
  (void)queue.start();
  queue.remove("b");
  queue.remove("a");
  EXPECT_EQ(started(queue), Ids{"c"});
}

TEST(Queue, MoreThanOneRunWhereThatIsConfigured) {
  Queue queue({.max_concurrent = 2});
  for (auto id : {"a", "b", "c"}) queue.add(id, "chat", "chat", "p");
  EXPECT_EQ(started(queue), (Ids{"a", "b"}));
  queue.remove("b");
  EXPECT_EQ(started(queue), Ids{"c"});
}

TEST(Queue, AProvidersLimitHoldsAcrossChatsAndNobodyOvertakes) {
  Queue queue(
      {.max_concurrent = 9, .of_provider = [](const std::string& name) { return name == "local" ? 1 : 0; }});
  queue.add("a", "one", "one", "local");
  queue.add("b", "two", "two", "local");
  queue.add("c", "two", "two", "far");  // behind b in its chat
  queue.add("d", "one", "one", "far");
  EXPECT_EQ(started(queue), (Ids{"a", "d"}));
  queue.remove("a");
  EXPECT_EQ(started(queue), (Ids{"b", "c"}));
}

}  // namespace
}  // namespace cru::crew
