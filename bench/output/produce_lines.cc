// The producer of the output benchmarks: whole 80-byte lines, 64 KiB a write.
//   produce_lines BYTES
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
  size_t bytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  std::string block;
  for (int i = 0; block.size() < 65520; ++i) {
    char line[96];
    std::snprintf(line, sizeof line,
                  "%08d the quick brown fox jumps over the lazy dog and writes a line of eighty.....", i);
    block.append(line, 79).push_back('\n');
  }
  for (size_t done = 0; done < bytes;) {
    ssize_t n = write(1, block.data(), std::min(block.size(), bytes - done));
    if (n <= 0) return 1;
    done += static_cast<size_t>(n);
  }
  return 0;
}
