#include "minds/keys.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"
#include "platform/loop/loop_thread_fixture.h"

namespace cru::minds {
namespace {

class KeysTest : public testing::Test {
 protected:
  KeysTest() {
    EXPECT_TRUE(make_folder(folder_ / "project"));
    EXPECT_TRUE(make_folder(folder_ / "config/keys"));
    provider_.name = "anthropic";
    provider_.key_env = "ANTHROPIC_API_KEY";
    open({});
  }
  ~KeysTest() override { thread_.stop(); }
  void open(std::map<std::string, std::string> environment) {
    keys_.emplace(pool_, Keys::Places{folder_ / "project", folder_ / "config", std::move(environment)});
  }
  Result<Key> find() {
    return thread_.await([&] { return keys_->find(provider_); });
  }
  void write(const std::string& name, const std::string& text, unsigned mode = 0600) {
    EXPECT_TRUE(write_file(folder_ / name, text, mode));
  }
  TemporaryFolder folder_;
  LoopThread thread_;
  Pool pool_{thread_.loop, 1};
  Provider provider_;
  std::optional<Keys> keys_;
};

TEST_F(KeysTest, AreLookedForInTheEnvironmentThenInOffersThenInFiles) {
  EXPECT_EQ(failure_type(find().error()), "not_configured");
  EXPECT_NE(find().error().hint.find("ANTHROPIC_API_KEY"), std::string::npos);
  write("config/keys/anthropic", "from-file\n");
  EXPECT_EQ(find()->value, "from-file");
  EXPECT_TRUE(thread_.on_loop([&] { return keys_->offer("anthropic", " offered\n"); }));
  EXPECT_EQ(find()->value, "offered");
  open({{"ANTHROPIC_API_KEY", "from-environment"}});
  EXPECT_EQ(find()->value, "from-environment");
  EXPECT_EQ(find()->source, "ANTHROPIC_API_KEY");
}

TEST_F(KeysTest, OfAFileOfOnesOwnAreReadInstead) {
  provider_.key_file = folder_ / "mine";
  write("config/keys/anthropic", "not this");
  write("mine", "this");
  EXPECT_EQ(find()->value, "this");
}

TEST_F(KeysTest, AreNotReadFromAFileThatOthersCanRead) {
  write("config/keys/anthropic", "secret-1", 0640);
  auto refused = find();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("can be read by others"), std::string::npos);
  EXPECT_EQ(refused.error().hint, "chmod 600 " + folder_ / "config/keys/anthropic");
  EXPECT_EQ(refused.error().message.find("secret-1"), std::string::npos);
}

TEST_F(KeysTest, AreNotReadFromTheProject) {
  provider_.key_file = folder_ / "project/key";
  write("project/key", "secret-1");
  EXPECT_NE(find().error().message.find("inside the project"), std::string::npos);
  ASSERT_EQ(::symlink((folder_ / "project/key").c_str(), (folder_ / "link").c_str()), 0);
  provider_.key_file = folder_ / "link";
  EXPECT_NE(find().error().message.find("inside the project"), std::string::npos);
}

TEST_F(KeysTest, AreOneLineOfVisibleCharacters) {
  for (auto text : {"", "\n", "two words", "two\nlines", "t\xc3\xa4st", "a\x01z"}) {
    write("config/keys/anthropic", text);
    auto found = find();
    ASSERT_FALSE(found) << text;
    EXPECT_EQ(failure_type(found.error()), "not_configured");
    EXPECT_FALSE(thread_.on_loop([&] { return keys_->offer("anthropic", text); })) << text;
  }
  EXPECT_FALSE(thread_.on_loop([&] { return keys_->offer("anthropic", std::string(4097, 'x')); }));
  open({{"ANTHROPIC_API_KEY", "a\r\nx-evil: 1"}});
  EXPECT_FALSE(find());
}

TEST_F(KeysTest, AreNotNeededWhereNoneIsNamed) {
  provider_.key_env.clear();
  EXPECT_EQ(find()->value, "");
}

TEST(WithoutKey, TakesTheKeyOutOnceAndGoesOnBehindIt) {
  EXPECT_EQ(without_key("Bearer sk-test-secret, sk-test-secretsk-test-secret", "sk-test-secret"),
            "Bearer [key], [key][key]");
  EXPECT_EQ(without_key("nothing", "sk-test-secret"), "nothing");
  EXPECT_EQ(without_key("nothing", ""), "nothing");
}

// A key that is in what stands for it made it go on for ever.
TEST(WithoutKey, LeavesAShortKeyInsideOtherWords) {
  EXPECT_EQ(without_key("the key is wrong: k", "k"), "the key is wrong: [key]");
  EXPECT_EQ(without_key("key=key, keys, my_key", "key"), "[key]=[key], keys, my_key");
  EXPECT_EQ(without_key("aaa aa a", "aa"), "aaa [key] a");
  EXPECT_EQ(without_key("[key]", "[key]"), "[key]");
}

}  // namespace
}  // namespace cru::minds
