#pragma once
/// LineMode: a terminal as somebody needs it who asks a person for a line, whatever was there before.
#include <termios.h>

#include <string>

namespace cru {

/// Lines on `fd` are read as a person types them, and shown, for the life of this object, whatever the mode
/// was.
class LineMode {
 public:
  explicit LineMode(int fd);
  ~LineMode();
  LineMode(const LineMode&) = delete;
  LineMode& operator=(const LineMode&) = delete;

 private:
  int fd_;
  bool active_ = false;
  termios saved_{};
};

/// What was typed on `fd` and nobody has read yet, an unfinished line too. Does not wait.
std::string take_typed(int fd);

}  // namespace cru
