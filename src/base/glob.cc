#include "base/glob.h"

#include <utility>

namespace cru {

bool Glob::Set::has(char c) const {
  switch (kind) {
    case Kind::none:
      return false;
    case Kind::one:
      return c == character;
    case Kind::within_folder:
      return c != '/';
    case Kind::any:
      return true;
  }
  return false;
}

bool Glob::Set::meets(const Set& other) const {
  if (kind == Kind::none || other.kind == Kind::none) return false;
  if (kind == Kind::one) return other.has(character);
  if (other.kind == Kind::one) return has(other.character);
  return true;
}

void Glob::add_literal(char c) { states_.push_back({.step = {Set::Kind::one, c}}); }

Glob::Glob(std::string_view pattern) {
  constexpr Set any{Set::Kind::any}, within{Set::Kind::within_folder}, slash{Set::Kind::one, '/'};
  states_.reserve(pattern.size() + 2);
  bool starts_segment = true;
  for (size_t i = 0; i < pattern.size();) {
    auto rest = pattern.substr(i);
    if (starts_segment && rest.starts_with("**/") && rest.size() > 3) {
      states_.push_back({.skip = 2, .also_next = true});
      states_.push_back({.loop = any, .step = slash});
      i += 3;
      continue;
    }
    if (rest.starts_with("**")) {
      states_.push_back({.loop = any, .skip = 1});
      i += 2;
    } else if (rest == "/") {
      // A folder: itself, or anything below it.
      states_.push_back({.step = slash, .skip = 2});
      states_.push_back({.loop = any, .skip = 1});
      ++i;
    } else if (rest.front() == '*') {
      states_.push_back({.loop = within, .skip = 1});
      ++i;
    } else if (rest.front() == '?') {
      states_.push_back({.step = within});
      ++i;
    } else {
      add_literal(rest.front());
      ++i;
    }
    starts_segment = rest.front() == '/';
  }
  states_.push_back({});
}

/// `state` and whatever is reached from it without reading, each told to `into`, which says if it is new.
template <class Enter>
void Glob::enter(size_t state, Enter&& into) const {
  if (!into(state)) return;
  if (states_[state].also_next) enter(state + 1, into);
  if (states_[state].skip > 0) enter(state + states_[state].skip, into);
}

bool Glob::matches(std::string_view path) const {
  std::vector<char> here(states_.size()), next(states_.size());
  auto into = [](std::vector<char>& set) {
    return [&set](size_t state) { return !std::exchange(set[state], char(1)); };
  };
  enter(0, into(here));
  for (char c : path) {
    next.assign(states_.size(), 0);
    for (size_t state = 0; state < states_.size(); ++state) {
      if (!here[state]) continue;
      if (states_[state].loop.has(c)) enter(state, into(next));
      if (states_[state].step.has(c)) enter(state + 1, into(next));
    }
    std::swap(here, next);
  }
  return here.back() != 0;
}

bool Glob::meets(const Glob& other) const {
  // What both spell out needs no search, and is mostly all there is.
  size_t same = 0;
  while (states_[same].is_literal() && other.states_[same].is_literal()) {
    if (!states_[same].step.meets(other.states_[same].step)) return false;
    ++same;
  }
  const size_t height = states_.size() - same, width = other.states_.size() - same;
  std::vector<char> seen(height * width);
  std::vector<std::pair<size_t, size_t>> open;
  auto reach = [&](size_t a, size_t b) {
    if (std::exchange(seen[a * width + b], char(1))) return;
    open.emplace_back(a, b);
  };
  reach(0, 0);
  while (!open.empty()) {
    auto [a, b] = open.back();
    open.pop_back();
    if (a + 1 == height && b + 1 == width) return true;
    const auto& mine = states_[same + a];
    const auto& theirs = other.states_[same + b];
    if (mine.skip) reach(a + mine.skip, b);
    if (mine.also_next) reach(a + 1, b);
    if (theirs.skip) reach(a, b + theirs.skip);
    if (theirs.also_next) reach(a, b + 1);
    if (mine.loop.meets(theirs.step)) reach(a, b + 1);
    if (mine.step.meets(theirs.loop)) reach(a + 1, b);
    if (mine.step.meets(theirs.step)) reach(a + 1, b + 1);
    // Both staying where they are leads nowhere new.
  }
  return false;
}

}  // namespace cru
