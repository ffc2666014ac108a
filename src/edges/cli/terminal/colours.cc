#include "edges/cli/terminal/colours.h"

#include "base/text.h"
#include "edges/cli/terminal/ansi.h"

namespace cru::cli {
namespace {

constexpr std::string_view opening = "\x1b[";
constexpr size_t max_parameters = 64;  ///< bytes; no program needs more for one change of colour

/// What stands at the escape character that `text` begins with.
struct Sequence {
  enum Kind { sgr, other, unfinished } kind;
  size_t length = 1;
};

Sequence sequence_at(std::string_view text) {
  if (text.size() < opening.size()) return {Sequence::unfinished};
  if (!text.starts_with(opening)) return {Sequence::other};
  auto end = text.find_first_not_of("0123456789;:", opening.size());
  if (end == std::string_view::npos)
    return {text.size() <= max_parameters ? Sequence::unfinished : Sequence::other};
  if (text[end] != 'm' || end > max_parameters) return {Sequence::other};
  return {Sequence::sgr, end + 1};
}

/// Whether it brings the usual colours back.
bool is_reset(std::string_view sgr) { return sgr == "\x1b[m" || sgr == ansi::off; }

}  // namespace

std::string ColourFilter::safe(std::string_view text) const {
  return colours_ == Colours::plain ? std::string(text) : safe_for_terminal(text);
}

std::string ColourFilter::take(std::string_view text, bool ends) {
  auto whole = std::exchange(held_, {}) + std::string(text);
  std::string out;
  std::string_view rest = whole;
  size_t plain = 0;  // bytes of `rest` that are no SGR
  auto flush = [&] {
    out += safe(rest.substr(0, plain));
    rest.remove_prefix(std::exchange(plain, 0));
  };
  while ((plain = rest.find('\x1b', plain)) != std::string_view::npos) {
    auto found = sequence_at(rest.substr(plain));
    if (found.kind == Sequence::other || (found.kind == Sequence::unfinished && ends)) {
      ++plain;
      continue;
    }
    flush();
    if (found.kind == Sequence::unfinished) {
      held_ = rest;
      return out;
    }
    auto sgr = rest.substr(0, found.length);
    if (colours_ == Colours::shown) {
      out += sgr;
      is_coloured_ = !is_reset(sgr);
    }
    rest.remove_prefix(found.length);
  }
  return out + safe(rest);
}

std::string ColourFilter::finish() {
  auto out = safe(std::exchange(held_, {}));
  if (std::exchange(is_coloured_, false)) out += ansi::off;
  return out;
}

}  // namespace cru::cli
