#include "base/id.h"

#include <gtest/gtest.h>

namespace cru {
namespace {

TEST(TaskId, IsSafeAsAFileNameAndABranch) {
  EXPECT_TRUE(is_task_id("build-1_Z"));
  EXPECT_TRUE(is_task_id(std::string(64, 'a')));
  for (std::string_view text :
       {std::string_view(), {"."}, {".."}, {"a/b"}, {"a b"}, {"a.b"}, {"a\nb"}, {"ä"}, {"a:b"}, {"a\0b", 3}})
    EXPECT_FALSE(is_task_id(text)) << text;
  EXPECT_FALSE(is_task_id(std::string(65, 'a')));
}

TEST(TaskId, RefusalNamesTheField) {
  auto refused = check_task_id("a/b", "task_id");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
  EXPECT_EQ(refused.error().field, "task_id");
  EXPECT_TRUE(check_task_id("a"));
}

TEST(Uuid, IsVersionFourWhateverTheBytes) {
  std::array<uint8_t, 16> ones, zeros{};
  ones.fill(0xff);
  EXPECT_EQ(uuid_from(ones), "ffffffff-ffff-4fff-bfff-ffffffffffff");
  EXPECT_EQ(uuid_from(zeros), "00000000-0000-4000-8000-000000000000");
}

TEST(Uuid, OfATimeEndsWithItAndIsRandomOtherwise) {
  std::array<uint8_t, 16> ones, zeros{};
  ones.fill(0xff);
  EXPECT_EQ(timed_uuid_from(ones, from_millis(0x0192'3456'789a)), "ffffffff-ffff-8fff-bfff-01923456789a");
  EXPECT_EQ(timed_uuid_from(zeros, from_millis(1)), "00000000-0000-8000-8000-000000000001");
}

TEST(Fnv1a, IsThePublishedFunction) {
  EXPECT_EQ(fnv1a_hex(""), "cbf29ce484222325");
  EXPECT_EQ(fnv1a_hex("a"), "af63dc4c8601ec8c");
  EXPECT_EQ(fnv1a_hex("foobar"), "85944171f73967e8");
  EXPECT_EQ(fnv1a_hex("\xff"), "af64724c8602eb6e");
}

TEST(Base64, GoesThereAndBack) {
  for (std::string text : {"", "f", "fo", "foo", "foob", "fooba", "foobar"})
    EXPECT_EQ(from_base64(to_base64(text)), text);
  EXPECT_EQ(to_base64("fooba"), "Zm9vYmE=");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(from_base64(to_base64(all)), all);
}

TEST(Base64, IsRefusedUnlessCanonical) {
  for (auto text : {"Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zm9v\n", "Z=9v", "Zm9 ", "Zm-_"})
    EXPECT_FALSE(from_base64(text)) << text;
  EXPECT_FALSE(from_base64("Zh==")) << "the same byte as Zg==, with stray bits";
  EXPECT_FALSE(from_base64("Zm9=")) << "the same bytes as Zm8=, with stray bits";
}

TEST(EqualInConstantTime, ComparesAllOfBoth) {
  EXPECT_TRUE(equal_in_constant_time("secret", "secret"));
  EXPECT_TRUE(equal_in_constant_time("", ""));
  for (auto text : {"Secret", "secreT", "secre", "secrets", ""})
    EXPECT_FALSE(equal_in_constant_time("secret", text)) << text;
}

}  // namespace
}  // namespace cru
