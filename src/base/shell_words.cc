#include "base/shell_words.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace cru {
namespace {

constexpr int max_levels = 64;

bool is_shell_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

class ScriptReader {
 public:
  explicit ScriptReader(std::string_view text) : text_(text) {}
  Script read() {
    read_commands('\0');
    return std::move(script_);
  }

 private:
  enum class Role { argument, write, read, input, here_end };
  struct HereDocument {
    std::string end;
    bool strips_tabs = false;
    size_t command = ShellCommand::none;
  };
  /// One level: the text itself, or the inside of a substitution.
  struct Level {
    ShellCommand command;
    ShellWord word;
    bool in_word = false;
    Role role = Role::argument;
    bool strips_tabs = false;
    int open_parentheses = 0;
    std::vector<HereDocument> here_documents;
  };

  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool is_at(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  void begin_word(Level& level) {
    if (level.in_word) return;
    level.in_word = true;
    level.word = {};
    level.word.begin = at_;
    if (level.command.words.empty() && level.command.writes.empty() && level.command.reads.empty())
      level.command.begin = at_;
  }

  void add(Level& level, char c) {
    begin_word(level);
    level.word.text += c;
  }

  void end_word(Level& level) {
    if (!level.in_word) return;
    level.in_word = false;
    level.word.end = level.command.end = at_;
    auto role = std::exchange(level.role, Role::argument);
    if (role == Role::argument) level.command.words.push_back(std::move(level.word));
    if (role == Role::write) level.command.writes.push_back(std::move(level.word));
    if (role == Role::read) level.command.reads.push_back(std::move(level.word));
    if (role == Role::input) level.command.input.push_back(std::move(level.word.text));
    if (role == Role::here_end)
      level.here_documents.push_back({std::move(level.word.text), level.strips_tabs, ShellCommand::none});
  }

  void end_command(Level& level, char by) {
    end_word(level);
    auto& command = level.command;
    size_t from = ShellCommand::none;
    if (!command.words.empty() || !command.writes.empty() || !command.input.empty() ||
        !command.substitutions.empty() || !command.reads.empty()) {
      command.ended_by = by;
      command.is_nested = levels_ > 1;
      auto place = script_.commands.size();
      for (auto& document : level.here_documents)
        if (document.command == ShellCommand::none) document.command = place;
      script_.commands.push_back(std::move(command));
      if (by == '|') from = place;
    }
    command = {};
    command.pipe_from = from;
    command.begin = command.end = at_;
    level.role = Role::argument;
  }

  /// The bodies that follow the line on which they were announced.
  void read_here_documents(Level& level) {
    for (auto& document : level.here_documents) {
      std::string body;
      while (at_ < text_.size()) {
        auto end = std::min(text_.find('\n', at_), text_.size());
        auto line = text_.substr(at_, end - at_);
        script_.steps += line.size() + 1;
        at_ = std::min(end + 1, text_.size());
        if (document.strips_tabs)
          while (line.starts_with('\t')) line.remove_prefix(1);
        if (line == document.end) break;
        body += line;
        body += '\n';
      }
      if (document.command != ShellCommand::none)
        script_.commands[document.command].input.push_back(std::move(body));
    }
    level.here_documents.clear();
  }

  /// Where the quote that begins here ends; npos if it does not. Each search ends at the next quote, or is
  /// the last one, so all of them together are linear.
  size_t find_close(char quote, size_t from, bool has_escapes) {
    for (size_t i = from; i < text_.size(); ++i) {
      ++script_.steps;
      if (has_escapes && text_[i] == '\\')
        ++i;
      else if (text_[i] == quote)
        return i;
    }
    return std::string_view::npos;
  }

  /// The one in "don't": in a word of letters, before another.
  bool is_apostrophe(const Level& level) const {
    auto is_letter = [](char c) { return is_lower(to_lower(c)); };
    return level.in_word && !level.word.text.empty() && level.word.text.size() < 32 && is_letter(peek(1)) &&
           std::ranges::all_of(level.word.text, is_letter);
  }

  void read_single_quoted(Level& level, bool has_escapes) {
    auto close = find_close('\'', at_ + 1, has_escapes);
    if (close == std::string_view::npos) return add(level, text_[at_++]);
    begin_word(level);
    level.word.is_quoted = true;
    for (++at_; at_ < close; ++at_) {
      if (has_escapes && text_[at_] == '\\' && at_ + 1 < close) ++at_;
      level.word.text += text_[at_];
    }
    at_ = close + 1;
  }

  void read_double_quoted(Level& level) {
    if (find_close('"', at_ + 1, true) == std::string_view::npos) return add(level, text_[at_++]);
    begin_word(level);
    level.word.is_quoted = true;
    for (++at_; at_ < text_.size() && text_[at_] != '"';) {
      ++script_.steps;
      char c = text_[at_];
      if (c == '\\' && at_ + 1 < text_.size()) {
        level.word.text += text_[at_ + 1];
        at_ += 2;
      } else if (!read_substitution(level)) {
        level.word.text += c;
        ++at_;
      }
    }
    if (at_ < text_.size()) ++at_;
  }

  /// `$(…)`, backticks, `<(…)` and `>(…)`. False if none begins here.
  bool read_substitution(Level& level) {
    char c = peek();
    bool is_backtick = c == '`';
    bool is_dollar = c == '$' && peek(1) == '(';
    bool is_process = !level.word.is_quoted && (c == '<' || c == '>') && peek(1) == '(';
    if (!is_backtick && !is_dollar && !is_process) return false;
    if (is_backtick && find_close('`', at_ + 1, true) == std::string_view::npos) return false;
    if (levels_ > max_levels) {
      script_.is_too_deep = true;
      return false;
    }
    begin_word(level);
    at_ += is_backtick ? 1 : 2;
    auto first = script_.commands.size();
    read_commands(is_backtick ? '`' : ')');
    level.command.substitutions.emplace_back(first, script_.commands.size());
    level.word.text += "$()";
    return true;
  }

  void read_redirection(Level& level) {
    bool is_number = level.in_word && !level.word.is_quoted &&
                     std::ranges::all_of(level.word.text, [](char c) { return c >= '0' && c <= '9'; });
    if (is_number)
      level.in_word = false;  // the number of a descriptor
    else
      end_word(level);
    if (is_at("<<<")) {
      at_ += 3;
      level.role = Role::input;
    } else if (is_at("<<")) {
      at_ += 2;
      level.strips_tabs = peek() == '-';
      if (level.strips_tabs) ++at_;
      level.role = Role::here_end;
    } else if (peek() == '<') {
      ++at_;
      level.role = Role::read;
    } else {
      ++at_;
      while (peek() == '>' || peek() == '|') ++at_;
      if (peek() == '&' && ((peek(1) >= '0' && peek(1) <= '9') || peek(1) == '-')) {
        at_ += 2;  // `2>&1`
        return;
      }
      if (peek() == '&') ++at_;
      level.role = Role::write;
    }
  }

  /// True if `c` is an operator, which has then been read.
  bool read_operator(Level& level, char c) {
    if (c == '\n') {
      end_command(level, '\n');
      ++at_;
      read_here_documents(level);
    } else if (c == ';') {
      end_command(level, ';');
      ++at_;
    } else if (c == '&' && peek(1) == '>') {
      ++at_;
      read_redirection(level);
    } else if (c == '&') {
      end_command(level, '&');
      at_ += peek(1) == '&' ? 2 : 1;
    } else if (c == '|') {
      bool is_or = peek(1) == '|';
      end_command(level, is_or ? '&' : '|');
      at_ += is_or || peek(1) == '&' ? 2 : 1;
    } else if (c == '(' || c == ')') {
      level.open_parentheses += c == '(' ? 1 : level.open_parentheses > 0 ? -1 : 0;
      end_command(level, c);
      ++at_;
    } else {
      return false;
    }
    return true;
  }

  bool is_comment(const Level& level) const {
    return peek() == '#' && !level.in_word &&
           (at_ + 1 == text_.size() || is_shell_blank(peek(1)) || peek(1) == '!');
  }

  void read_commands(char closer) {
    ++levels_;
    Level level;
    level.command.begin = at_;
    while (at_ < text_.size()) {
      ++script_.steps;
      char c = text_[at_];
      if (closer && c == closer && level.open_parentheses == 0) break;
      if (is_shell_blank(c)) {
        end_word(level);
        ++at_;
      } else if (is_comment(level)) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '\\' && peek(1) == '\n') {
        at_ += 2;
      } else if (c == '\\' && at_ + 1 < text_.size()) {
        begin_word(level);
        level.word.text += text_[at_ + 1];
        at_ += 2;
      } else if (c == '$' && peek(1) == '\'') {
        ++at_;
        read_single_quoted(level, true);
      } else if (c == '\'' && !is_apostrophe(level)) {
        read_single_quoted(level, false);
      } else if (c == '"') {
        read_double_quoted(level);
      } else if (read_substitution(level)) {
      } else if (c == '<' || c == '>') {
        read_redirection(level);
      } else if (!read_operator(level, c)) {
        add(level, c);
        ++at_;
      }
    }
    end_command(level, 0);
    if (at_ < text_.size()) ++at_;  // the closer
    --levels_;
  }

  std::string_view text_;
  size_t at_ = 0;
  int levels_ = 0;
  Script script_;
};

}  // namespace

Script read_script(std::string_view text) { return ScriptReader(text).read(); }

}  // namespace cru
