#pragma once
/// LineEditor: lines from a person at a terminal, with editing and history where libedit is installed, plain
/// where it is not. libedit is loaded when the first editor is made: no other verb pays for it.
#include <memory>
#include <string>

#include "platform/process/signals.h"

namespace cru::cli {

class LineEditor {
 public:
  enum class Got { line, interrupted, ended };
  struct Line {
    Got got = Got::ended;
    std::string text = {};
  };
  /// `history_file` holds a JSON text a line; empty for none.
  LineEditor(Signals& signals, std::string history_file, bool styled);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  /// One line without its end. A paste of several lines comes as lines that end with a backslash, unless
  /// `verbatim`.
  Line read(const std::string& prompt, bool verbatim = false);
  void remember(const std::string& message);
  /// As if this were typed now.
  void type(std::string_view bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// $XDG_STATE_HOME/cru/chat_history, its folder made; empty if there is no home.
std::string chat_history_file();

}  // namespace cru::cli
