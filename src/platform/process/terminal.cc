#include "platform/process/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace cru {

bool is_terminal(int fd) { return ::isatty(fd) == 1; }

std::optional<TerminalSize> terminal_size(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return {};
  return TerminalSize{size.ws_row, size.ws_col};
}

bool wants_colour(int fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return is_terminal(fd) && !(no_colour && *no_colour) && term && *term && std::string_view(term) != "dumb";
}

RawMode::RawMode(int fd) : fd_(fd) {
  if (::tcgetattr(fd_, &saved_) != 0) return;
  termios raw = saved_;
  ::cfmakeraw(&raw);
  active_ = ::tcsetattr(fd_, TCSADRAIN, &raw) == 0;
}

RawMode::~RawMode() {
  if (active_) ::tcsetattr(fd_, TCSADRAIN, &saved_);
}

}  // namespace cru
