#include "guardrails/guardrail_sql.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"

namespace cru::coordination {
namespace {

bool is_in_name(char c) { return is_word_char(c) || c == '_'; }

bool is_keyword(std::string_view word, std::initializer_list<std::string_view> list) {
  return std::ranges::any_of(list, [&](std::string_view entry) { return equal_ignoring_case(word, entry); });
}

struct Statement {
  std::string_view text;
  std::vector<std::string_view> tokens;  ///< words; quoted names as they stand; signs one by one
};

/// Reads one statement from `at` on, comments left out, and goes past its semicolon.
Statement read_statement(std::string_view text, size_t& at) {
  Statement statement;
  auto begin = at;
  while (at < text.size() && text[at] != ';') {
    char c = text[at];
    auto rest = text.substr(at);
    if (rest.starts_with("--") && (rest.size() == 2 || rest[2] == ' ' || rest[2] == '\t')) {
      at = std::min(text.find('\n', at), text.size());
    } else if (rest.starts_with("/*")) {
      auto end = text.find("*/", at + 2);
      at = end == std::string_view::npos ? text.size() : end + 2;
    } else if (is_in_name(c)) {
      auto first = at;
      while (at < text.size() && is_in_name(text[at])) ++at;
      statement.tokens.push_back(text.substr(first, at - first));
    } else if (c == '\'' || c == '"' || c == '`') {
      auto end = text.find(c, at + 1);
      // A quote that is never closed is an apostrophe; there is no other after it, so this is looked for
      // once.
      auto next = end == std::string_view::npos ? at + 1 : end + 1;
      statement.tokens.push_back(text.substr(at, next - at));
      at = next;
    } else {
      if (static_cast<unsigned char>(c) > ' ') statement.tokens.push_back(text.substr(at, 1));
      ++at;
    }
  }
  statement.text = text.substr(begin, at - begin);
  if (at < text.size()) ++at;
  return statement;
}

class StatementCheck {
 public:
  StatementCheck(const Statement& statement, bool is_prose,
                 const std::function<void(SqlDanger, std::string_view)>& found)
      : statement_(statement), is_prose_(is_prose), found_(found) {}

  void run() {
    const auto& tokens = statement_.tokens;
    // From the back, so that each word knows whether a WHERE follows.
    bool where_follows = false, set_follows = false;
    for (size_t i = tokens.size(); i-- > 0;) {
      auto word = tokens[i];
      if (equal_ignoring_case(word, "WHERE")) where_follows = true;
      if (equal_ignoring_case(word, "SET")) set_follows = true;
      if (equal_ignoring_case(word, "DROP")) check_drop(i);
      if (equal_ignoring_case(word, "TRUNCATE")) check_truncate(i);
      if (equal_ignoring_case(word, "DELETE") && next_is(i, "FROM") && !where_follows && counts(i))
        say(SqlDanger::delete_all);
      if (equal_ignoring_case(word, "UPDATE") && set_follows && !where_follows && counts(i))
        say(SqlDanger::update_all);
    }
  }

 private:
  std::string_view token(size_t i) const {
    return i < statement_.tokens.size() ? statement_.tokens[i] : std::string_view();
  }
  bool next_is(size_t i, std::string_view capitals) const {
    return equal_ignoring_case(token(i + 1), capitals);
  }
  /// An English word in the middle of prose is only that, unless it stands in capitals.
  bool counts(size_t i) const {
    if (!is_prose_ || i == 0) return true;
    auto word = token(i);
    return word.front() >= 'A' && word.front() <= 'Z' && word.back() >= 'A' && word.back() <= 'Z';
  }
  void check_drop(size_t i) {
    auto what = token(i + 1);
    if (is_keyword(what, {"TABLE", "DATABASE", "SCHEMA", "KEYSPACE", "COLLECTION"}))
      say(SqlDanger::drop);
    else if (counts(i) && is_keyword(what, {"COLUMN", "VIEW", "INDEX", "USER", "ROLE", "FUNCTION", "TRIGGER",
                                            "CONSTRAINT", "MATERIALIZED", "SEQUENCE", "PARTITION"}))
      say(SqlDanger::drop_part);
  }
  void check_truncate(size_t i) {
    if (next_is(i, "TABLE")) return say(SqlDanger::truncate);
    auto name = token(i + 1);
    auto after = token(i + 2);
    bool is_name = !name.empty() && (is_in_name(name.front()) || name.front() == '"' || name.front() == '`');
    if (is_name && counts(i) &&
        (after.empty() || is_keyword(after, {",", ".", "CASCADE", "RESTART", "RESTRICT"})))
      say(SqlDanger::truncate);
  }
  /// Once a statement.
  void say(SqlDanger danger) {
    auto& said = said_[static_cast<size_t>(danger)];
    if (!std::exchange(said, true)) found_(danger, statement_.text);
  }

  const Statement& statement_;
  bool is_prose_;
  bool said_[5] = {};
  const std::function<void(SqlDanger, std::string_view)>& found_;
};

}  // namespace

size_t scan_sql(std::string_view text, bool is_prose,
                const std::function<void(SqlDanger, std::string_view statement)>& found) {
  size_t steps = 0;
  for (size_t at = 0; at < text.size();) {
    auto statement = read_statement(text, at);
    steps += statement.text.size() + statement.tokens.size();
    StatementCheck(statement, is_prose, found).run();
  }
  return steps;
}

}  // namespace cru::coordination
