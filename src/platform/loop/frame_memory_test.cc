#include "platform/loop/frame_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "platform/loop/frame_lists.h"

namespace cru {
namespace {

class FrameMemory : public testing::Test {
 protected:
  struct Piece {
    unsigned char* bytes;
    size_t size;
  };
  /// Its lists do not free what they keep, so that is taken out of them.
  ~FrameMemory() override {
    while (lists.kept_bytes() > 0)
      for (size_t size = 128; size <= FrameLists::largest; size += FrameLists::step)
        ::operator delete(lists.take(size), size);
  }
  Piece take(size_t size) { return {static_cast<unsigned char*>(lists.take(size)), size}; }
  static constexpr size_t most = 128u << 10;
  FrameLists lists{most};
};

TEST_F(FrameMemory, GivesEachFrameMemoryOfItsOwn) {
  for (int round = 0; round < 3; ++round) {
    std::vector<Piece> pieces;
    for (size_t size = 1; size < 9000; size += 37) {
      pieces.push_back(take(size));
      std::memset(pieces.back().bytes, static_cast<int>(pieces.size() % 251), size);
    }
    for (size_t i = 0; i < pieces.size(); ++i) {
      auto [bytes, size] = pieces[i];
      auto is_its_own = [i](unsigned char byte) { return byte == (i + 1) % 251; };
      EXPECT_TRUE(std::all_of(bytes, bytes + size, is_its_own)) << size;
      lists.give(bytes, size);
    }
  }
}

TEST_F(FrameMemory, GivesAgainWhatWasGivenBack) {
  auto piece = take(1000);
  lists.give(piece.bytes, piece.size);
  EXPECT_EQ(take(900).bytes, piece.bytes) << "sizes are rounded up";
  lists.give(piece.bytes, 900);
}

TEST_F(FrameMemory, KeepsNoMoreThanItsLimitWhateverIsDropped) {
  std::vector<Piece> pieces;
  for (int i = 0; i < 1000; ++i) pieces.push_back(take(1000));
  for (auto [bytes, size] : pieces) {
    lists.give(bytes, size);
    EXPECT_LE(lists.kept_bytes(), most);
  }
  EXPECT_GT(lists.kept_bytes(), most / 2);
}

TEST_F(FrameMemory, OfAThreadIsBounded) {
  std::vector<void*> frames;
  for (int i = 0; i < 1000; ++i) frames.push_back(InFrameMemory::operator new(1000));
  for (auto* frame : frames) InFrameMemory::operator delete(frame, 1000);
  EXPECT_LE(InFrameMemory::kept_bytes(), InFrameMemory::max_kept_bytes);
}

}  // namespace
}  // namespace cru
