#pragma once
/// Terminal: what our standard streams are, and modes that always end.
#include <termios.h>

#include <optional>

namespace cru {

struct TerminalSize {
  int rows = 24;
  int cols = 80;
};

bool is_terminal(int fd);
/// The size of the terminal on `fd`; empty if it is none or will not say.
std::optional<TerminalSize> terminal_size(int fd);
/// Colour belongs on `fd`: it is a terminal, NO_COLOR is unset or empty, and TERM is neither unset nor dumb.
bool wants_colour(int fd);

/// Characters are UTF-8 for libraries that ask the locale, whatever the environment says.
void choose_utf8();

/// Raw mode on `fd` for the life of this object, restored by its destructor.
class RawMode {
 public:
  explicit RawMode(int fd);
  ~RawMode();
  RawMode(const RawMode&) = delete;
  RawMode& operator=(const RawMode&) = delete;
  /// False if `fd` is no terminal: nothing was changed.
  bool active() const { return active_; }

 private:
  int fd_;
  bool active_ = false;
  termios saved_{};
};

/// What is typed on `fd` is not shown for the life of this object: it waits for whoever reads next.
class NoEcho {
 public:
  explicit NoEcho(int fd);
  ~NoEcho();
  NoEcho(const NoEcho&) = delete;
  NoEcho& operator=(const NoEcho&) = delete;

 private:
  int fd_;
  bool active_ = false;
  termios saved_{};
};

}  // namespace cru
