#include "trust/item.h"

#include <gtest/gtest.h>

#include "base/sha256.h"

namespace cru::trust {
namespace {

const Time noon = from_millis(1'800'000'000'000);

TEST(TrustItem, IsTrustedAsItStandsAndWaitsAgainOnceOneByteHasChanged) {
  Item item{.path = "a", .reasons = {}, .text = "one\n"};
  Record record;
  EXPECT_EQ(state_of(item, record), State::added);
  record["a"] = {sha256("one\n"), noon, false};
  EXPECT_EQ(state_of(item, record), State::trusted);
  item.text = "one \n";
  EXPECT_EQ(state_of(item, record), State::changed);
  item.path = "b";
  item.text = "one\n";
  EXPECT_EQ(state_of(item, record), State::added) << "the same text elsewhere is another file";
  item.path = "a";
  item.problem = "is a FIFO";
  EXPECT_EQ(state_of(item, record), State::refused) << "what cannot be checked is not trusted";
}

TEST(TrustItem, ShowsWhatIsNewSinceItWasTrusted) {
  Item item{.path = "a", .reasons = {}, .text = "one\ntwo\n"};
  EXPECT_EQ(difference(item, ""), "--- /dev/null\n+++ a\n@@ -0,0 +1,2 @@\n+one\n+two\n");
  EXPECT_EQ(difference(item, "one\n"), "--- a (trusted)\n+++ a\n@@ -1 +1,2 @@\n one\n+two\n");
}

TEST(TrustRecord, IsReadAsItWasWrittenWithoutWhatIsForOnce) {
  Record record{{"a", {sha256("x"), noon, false}}, {"b", {sha256("y"), noon, true}}};
  auto read = parse_record(record_text(record, "/p"), "/p");
  ASSERT_TRUE(read) << read.error().message;
  record.erase("b");
  EXPECT_EQ(*read, record);
}

TEST(TrustRecord, OfAnotherProjectOrDamagedIsRefused) {
  auto good = record_text({{"a", {sha256("x"), noon, false}}}, "/p");
  EXPECT_FALSE(parse_record(good, "/q"));
  for (std::string text :
       {std::string(), std::string("{"), std::string("[]"), std::string(R"({"version":1,"project":"/p"})"),
        std::string(R"({"version":2,"project":"/p","items":{}})"),
        std::string(R"({"version":1,"project":"/p","items":{"a":{"sha256":"zz"}}})"),
        std::string(R"({"version":1,"project":"/p","items":{"a":7}})")})
    EXPECT_FALSE(parse_record(text, "/p")) << text;
}

TEST(TrustCheck, AnEmptyOneTrustsNothing) {
  EXPECT_FALSE(check_now({})("a", sha256("x")));
  auto check = check_of({{"a", {sha256("x"), noon, false}}});
  EXPECT_TRUE(check("a", sha256("x")));
  EXPECT_FALSE(check("a", sha256("y")));
  EXPECT_FALSE(check("b", sha256("x")));
}

TEST(TrustError, SaysWhichFileWaitsAndWhatToDo) {
  auto error = untrusted("agent writer", ".crucible/agents/writer.md", {"asks for ProcessSpawn"});
  EXPECT_EQ(error.code, Code::untrusted_content);
  EXPECT_EQ(error.message,
            "agent writer waits: .crucible/agents/writer.md is not trusted (it asks for ProcessSpawn)");
  EXPECT_NE(error.hint.find("cru trust"), std::string::npos);
  EXPECT_EQ(http_status(error.code), 403);
}

}  // namespace
}  // namespace cru::trust
