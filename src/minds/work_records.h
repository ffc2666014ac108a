#pragma once
/// WorkRecords: the records of an agent program's output log in words (see WorkText). A long line has several
/// records: the one that completes it has the words of all of it, and the others say nothing. Reads no file.
#include <string>
#include <vector>

#include "minds/work_text.h"
#include "platform/files/line_log.h"

namespace cru::minds {

class WorkRecords {
 public:
  /// A longer line is not told: what agent programs say to a person is far shorter.
  static constexpr size_t max_line_bytes = 1u << 20;

  explicit WorkRecords(ProviderKind kind) : work_(kind) {}

  /// Takes the records before the first that is to be told, which may be in the middle of a line. `is_all`:
  /// they are all that there are. False if the line's beginning is not among them: the rest of it then says
  /// nothing.
  bool begin_after(const std::vector<std::string>& before, bool is_all);
  /// The record as JSON text, with the words in `data` and `told`; `data` is empty where it tells a person
  /// nothing. What is not of standard output, or of a line that is not JSON, stays as it is.
  std::string tell(std::string record);

 private:
  enum class Line {
    blank,  ///< nothing of it yet
    json,   ///< its text is kept until it is whole
    plain,  ///< shown as it is
    over    ///< told already, or too long
  };
  /// What a record is of its line. What completes one leaves the line's text in `text_`.
  enum class Part { shown, silent, completing };
  Part add(const LogRecord& record);

  WorkText work_;
  Line line_ = Line::blank;
  std::string text_;
};

}  // namespace cru::minds
