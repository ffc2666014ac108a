#include "platform/terminal/terminal.h"

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <cstring>
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

void choose_utf8() {
  std::setlocale(LC_CTYPE, "");
  if (std::strcmp(::nl_langinfo(CODESET), "UTF-8") != 0) std::setlocale(LC_CTYPE, "C.UTF-8");
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

NoEcho::NoEcho(int fd) : fd_(fd) {
  if (::tcgetattr(fd_, &saved_) != 0) return;
  auto silent = saved_;
  silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  active_ = ::tcsetattr(fd_, TCSANOW, &silent) == 0;
}

NoEcho::~NoEcho() {
  if (active_) ::tcsetattr(fd_, TCSANOW, &saved_);
}

}  // namespace cru
