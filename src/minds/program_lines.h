#pragma once
/// What the lines say that programs print while they think: claude, codex and gemini as JSON, a command as
/// plain text. Rules only. Whatever a line is, it is read or passed over.
#include <memory>

#include "minds/message.h"

namespace cru::minds {

struct ProgramEvent {
  enum class Kind { text, tool, waiting, question };
  Kind kind = Kind::text;
  std::string text;  ///< what was said; the tool's name; why it waits; what is asked
  json::object input = {};
  Duration wait{0};
  std::optional<Time> until = {};  ///< of a wait that ends at a time
};

class ProgramReader {
 public:
  virtual ~ProgramReader() = default;
  /// One line of standard output, without its end.
  virtual std::vector<ProgramEvent> read(std::string_view line) = 0;
  /// True once the program said that it is done. It exits soon after.
  bool has_ended() const { return ended_; }
  /// What the program has said of its failure so far; empty if it has not failed.
  std::string failure() const { return failure_ ? failure_->second : std::string(); }
  /// "rate_limited", …; empty if it has not failed.
  std::string failure_type() const { return failure_ ? failure_->first : std::string(); }
  /// Its turn ended because it was told to.
  bool was_interrupted() const { return interrupted_; }
  /// Of a program that is talked to: it begins another turn, and what it has spent so far stays spent.
  virtual void begin_turn() {}
  /// After the last line. Errors: the failure that the program told, or "run_failed" if it never said that it
  /// is done; `how_it_ended` and `trace` are for that.
  Result<Reply> finish(const std::string& how_it_ended, const std::string& trace);
  /// What it has told that it cost, however it ended.
  const Usage& usage() const { return reply_.usage; }
  std::optional<double> cost_usd() const { return reply_.cost_usd; }
  /// When its provider takes work again, as it has told that: at a time, or so long after its end.
  std::optional<Time> limit_until() const { return limit_until_; }
  std::optional<Duration> limit_wait() const;
  /// How many replies of its model that was.
  int64_t replies() const { return replies_; }
  /// Its conversation; empty if it has not told it.
  const std::string& resume() const { return reply_.resume; }

 protected:
  /// A text as the listener hears it: apart from the one before.
  std::vector<ProgramEvent> say(std::string_view text);
  void fail_with(std::string type, std::string message);
  /// What a tool gave the program, an error aside: a report of a subagent is noted in the reply.
  void hear(std::string_view result);

  Reply reply_;
  int64_t replies_ = 0;
  std::optional<Time> limit_until_ = {};
  bool ended_ = false;
  bool interrupted_ = false;
  bool has_spoken_ = false;
  std::optional<std::pair<std::string, std::string>> failure_;  ///< type and message
};

/// Reads lines that are JSON objects with a `type`; passes over all others.
class JsonLinesReader : public ProgramReader {
 public:
  std::vector<ProgramEvent> read(std::string_view line) final;

 protected:
  virtual std::vector<ProgramEvent> read_object(std::string_view type, const json::object& data) = 0;
};

std::unique_ptr<ProgramReader> program_reader(ProviderKind kind);
std::unique_ptr<ProgramReader> claude_reader();
std::unique_ptr<ProgramReader> codex_reader();
std::unique_ptr<ProgramReader> gemini_reader();
std::unique_ptr<ProgramReader> command_reader();

/// What kind of failure a program's own words tell of.
std::string type_of_words(std::string_view words);

}  // namespace cru::minds
