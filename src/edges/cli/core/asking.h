#pragma once
/// Asking: a question as a person reads it, and the answers that a person types, one after another. Pure:
/// text in, text out; everything shown is made safe for a terminal.
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "edges/cli/core/render.h"

namespace cru::cli {

/// One thing that is asked. A question has one of these, or several that are asked at once.
struct AskedPart {
  std::string prompt;
  std::vector<std::string> options = {};
  std::vector<std::string> descriptions = {};
  bool takes_several = false;
};
/// Never none.
std::vector<AskedPart> parts_in(const json::object& question);
/// All that is asked, every option with its number.
std::string asked_text(const json::object& question);
/// In one line, for a table.
std::string asked_in_short(const json::object& question);
std::string options_in_short(const json::object& question);

/// That a budget is spent and work waits for more of it, with the whole commands that go on and stop.
std::string budget_text(const json::object& exhausted, const Style& style);
/// Who asks, by its name; of the daemon's lists with whose child it is.
std::string asker_name(const json::object& asked);
std::string asker_in_short(const json::object& asked);
/// Whether it can be undone: "yes", "no" or "not known".
std::string_view undo_in_short(const json::object& approval);
/// The whole commands that decide an approval, each in its line.
std::string ways_to_decide(const json::object& approval);
/// The one that starts the clock of a held approval again.
std::string release_command(const json::object& approval);
/// And those for whoever wants to know more first, or wants it to wait.
std::string other_ways(const json::object& approval);
/// That an approval waits, and how it is answered.
std::string approval_text(const json::object& approval, const Style& style);

/// The answers to a question, line by line.
class AnswerSheet {
 public:
  explicit AnswerSheet(const json::object& question);
  bool is_complete() const { return answers_.size() == parts_.size(); }
  /// What to print before the next line is read. Of several parts it is the part with its options.
  std::string prompt() const;
  /// Takes a line. What to say to it if it is no answer; empty if it is one.
  std::string take(std::string_view line);
  /// What answers the question, once it is complete.
  json::object body() const;

 private:
  std::vector<AskedPart> parts_;
  bool is_permission_;
  std::vector<std::string> answers_ = {};
  std::string in_own_words_ = {};  ///< not offered: whether it is meant has been asked
  bool has_free_text_ = false;
};

}  // namespace cru::cli
