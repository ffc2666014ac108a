// Rules.
#include "edges/cli/terminal/markdown_inline.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "edges/cli/terminal/ansi.h"

namespace cru::cli {
namespace {

constexpr std::string_view specials = "\\`*_[";
constexpr size_t max_held_bytes = 1000;

bool is_space(char c) { return c == ' ' || c == '\t'; }
bool is_punctuation(char c) { return c > ' ' && c < 127 && !is_word_char(c); }

std::string styled(std::string_view style, std::string_view inside, std::string_view outer) {
  return fmt::format("{}{}{}{}", style, inside, ansi::off, outer);
}

size_t run_at(std::string_view text, size_t at) {
  return std::min(text.find_first_not_of(text[at], at), text.size()) - at;
}

/// The next run of exactly `length` times `mark` from `from` on.
std::optional<size_t> run_of(std::string_view text, char mark, size_t length, size_t from) {
  for (size_t at = from; (at = text.find(mark, at)) != std::string_view::npos;) {
    auto run = run_at(text, at);
    if (run == length) return at;
    at += run;
  }
  return {};
}

/// What was made of the front of a text: `taken` bytes of it, shown as `shown`. Nothing taken: not certain
/// yet.
struct Made {
  size_t taken = 0;
  std::string shown = {};
};

/// A text of which `whole` says that no more comes.
struct Front {
  std::string_view text;
  std::string_view outer;
  char before;
  bool whole;

  Made as_it_is(size_t count) const { return {count, safe_for_terminal(text.substr(0, count))}; }
  /// A run that ends at the end may go on.
  bool may_grow(size_t end) const { return !whole && end >= text.size(); }
};

std::string all_inline(std::string_view text, std::string_view outer, char before) {
  std::string out;
  show_inline(out, text, {.outer = outer, .before = before, .whole = true});
  return out;
}

Made made_escape(const Front& front) {
  if (front.may_grow(1)) return {};
  if (front.text.size() > 1 && is_punctuation(front.text[1]))
    return {2, safe_for_terminal(front.text.substr(1, 1))};
  return front.as_it_is(1);
}

Made made_code(const Front& front) {
  auto ticks = run_at(front.text, 0);
  if (front.may_grow(ticks)) return {};
  auto end = run_of(front.text, '`', ticks, ticks);
  if (!end) return front.whole ? front.as_it_is(ticks) : Made{};
  if (front.may_grow(*end + ticks)) return {};
  auto code = front.text.substr(ticks, *end - ticks);
  bool padded = code.size() > 2 && code.front() == ' ' && code.back() == ' ';
  if (padded) code = code.substr(1, code.size() - 2);
  return {*end + ticks, styled(ansi::cyan, safe_for_terminal(code), front.outer)};
}

/// Where emphasis of `count` marks ends; empty if nothing in the text ends it.
std::optional<size_t> end_of_emphasis(std::string_view text, size_t count) {
  char mark = text[0];
  for (size_t from = count + 1;;) {
    auto end = run_of(text, mark, count, from);
    if (!end) return {};
    bool inside_word = mark == '_' && *end + count < text.size() && is_word_char(text[*end + count]);
    if (!is_space(text[*end - 1]) && !inside_word) return end;
    from = *end + count;
  }
}

Made made_emphasis(const Front& front) {
  char mark = front.text[0];
  auto count = run_at(front.text, 0);
  if (front.may_grow(count)) return {};
  bool opens = count <= 3 && count < front.text.size() && !is_space(front.text[count]) &&
               !(mark == '_' && is_word_char(front.before));
  if (!opens) return front.as_it_is(count);
  auto end = end_of_emphasis(front.text, count);
  if (!end) return front.whole ? front.as_it_is(count) : Made{};
  if (front.may_grow(*end + count)) return {};
  auto style = count == 1   ? std::string(ansi::italic)
               : count == 2 ? std::string(ansi::bold)
                            : fmt::format("{}{}", ansi::bold, ansi::italic);
  auto inside =
      all_inline(front.text.substr(count, *end - count), fmt::format("{}{}", front.outer, style), mark);
  return {*end + count, styled(style, inside, front.outer)};
}

Made made_link(const Front& front) {
  auto close = front.text.find(']');
  if (close == std::string_view::npos) return front.whole ? front.as_it_is(1) : Made{};
  if (front.may_grow(close + 1)) return {};
  bool wiki = front.text.size() > close + 1 && front.text[1] == '[' && front.text[close + 1] == ']';
  if (wiki)
    return {close + 2, styled(ansi::cyan, safe_for_terminal(front.text.substr(0, close + 2)), front.outer)};
  if (close + 1 >= front.text.size() || front.text[close + 1] != '(') return front.as_it_is(1);
  auto end = front.text.find(')', close);
  if (end == std::string_view::npos) return front.whole ? front.as_it_is(1) : Made{};
  auto words = front.text.substr(1, close - 1), where = front.text.substr(close + 2, end - close - 2);
  auto shown =
      styled(ansi::underlined, all_inline(words, fmt::format("{}{}", front.outer, ansi::underlined), '['),
             front.outer);
  if (where != words) shown += styled(ansi::dim, fmt::format(" ({})", safe_for_terminal(where)), front.outer);
  return {end + 1, std::move(shown)};
}

Made made_of(const Front& front) {
  switch (front.text[0]) {
    case '\\':
      return made_escape(front);
    case '`':
      return made_code(front);
    case '[':
      return made_link(front);
    default:
      return made_emphasis(front);
  }
}

}  // namespace

size_t show_inline(std::string& out, std::string_view text, Around around) {
  size_t done = 0;
  char before = around.before;
  while (done < text.size()) {
    auto rest = text.substr(done);
    auto plain = std::min(rest.find_first_of(specials), rest.size());
    if (plain == rest.size() && !around.whole) plain -= incomplete_tail(rest);
    out += safe_for_terminal(rest.substr(0, plain));
    done += plain;
    if (plain > 0) before = rest[plain - 1];
    if (plain == rest.size()) break;
    rest.remove_prefix(plain);
    if (specials.find(rest[0]) == std::string_view::npos) break;  // the beginning of a character
    bool whole = around.whole || rest.size() >= max_held_bytes;
    auto made = made_of({rest.substr(0, max_held_bytes), around.outer, before, whole});
    if (made.taken == 0) break;
    out += made.shown;
    done += made.taken;
    before = rest[made.taken - 1];
  }
  return done;
}

}  // namespace cru::cli
