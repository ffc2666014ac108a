#include "platform/terminal/line_mode.h"

#include <unistd.h>

#include <array>

namespace cru {

LineMode::LineMode(int fd) : fd_(fd) {
  if (::tcgetattr(fd_, &saved_) != 0) return;
  auto lines = saved_;
  lines.c_lflag |= ECHO | ICANON | ISIG;
  lines.c_iflag |= ICRNL;
  active_ = ::tcsetattr(fd_, TCSANOW, &lines) == 0;
}

LineMode::~LineMode() {
  if (active_) ::tcsetattr(fd_, TCSANOW, &saved_);
}

std::string take_typed(int fd) {
  termios saved{};
  if (::tcgetattr(fd, &saved) != 0) return {};
  // An unfinished line can be read only without line mode; with MIN and TIME 0 nothing is waited for.
  auto raw = saved;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON);
  raw.c_cc[VMIN] = raw.c_cc[VTIME] = 0;
  if (::tcsetattr(fd, TCSANOW, &raw) != 0) return {};
  std::string typed;
  std::array<char, 4096> piece{};
  for (ssize_t got = 0; typed.size() < (1 << 16) && (got = ::read(fd, piece.data(), piece.size())) > 0;)
    typed.append(piece.data(), static_cast<size_t>(got));
  ::tcsetattr(fd, TCSANOW, &saved);
  return typed;
}

}  // namespace cru
