#include "platform/process/heap.h"

#include <gtest/gtest.h>

#include <cstring>

namespace cru {
namespace {

TEST(Heap, KeepsWhatIsInAPieceThatGrows) {
  auto* piece = static_cast<char*>(Heap::allocate(10));
  ASSERT_NE(piece, nullptr);
  EXPECT_GE(Heap::size_of(piece), 10u);
  std::memcpy(piece, "123456789", 10);
  piece = static_cast<char*>(Heap::resize(piece, 100'000));
  ASSERT_NE(piece, nullptr);
  EXPECT_GE(Heap::size_of(piece), 100'000u);
  EXPECT_STREQ(piece, "123456789");
  give_back_unused_heap();
  EXPECT_STREQ(piece, "123456789");
  Heap::release(piece);
  Heap::release(nullptr);
}

}  // namespace
}  // namespace cru
