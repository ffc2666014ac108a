#include "platform/loop/frame_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace cru {
namespace {

/// Every size that a frame may have, each filled so that two that overlap are seen.
TEST(FrameMemory, GivesEachFrameMemoryOfItsOwn) {
  for (int round = 0; round < 3; ++round) {
    std::vector<std::pair<unsigned char*, size_t>> frames;
    for (size_t size = 1; size < 6000; size += 37) {
      auto* bytes = static_cast<unsigned char*>(InFrameMemory::operator new(size));
      std::memset(bytes, static_cast<int>(frames.size() % 251), size);
      frames.emplace_back(bytes, size);
    }
    for (size_t i = 0; i < frames.size(); ++i) {
      auto [bytes, size] = frames[i];
      EXPECT_EQ(std::set<unsigned char>(bytes, bytes + size),
                std::set<unsigned char>{static_cast<unsigned char>(i % 251)});
      InFrameMemory::operator delete(bytes, size);
    }
  }
}

TEST(FrameMemory, KeepsNoMoreThanItsLimitWhateverIsDropped) {
  std::thread([] {
    std::vector<void*> frames;
    for (int i = 0; i < 1000; ++i) frames.push_back(InFrameMemory::operator new(1000));
    for (auto* frame : frames) {
      InFrameMemory::operator delete(frame, 1000);
      EXPECT_LE(InFrameMemory::kept_bytes(), InFrameMemory::max_kept_bytes);
    }
  }).join();
}

}  // namespace
}  // namespace cru
