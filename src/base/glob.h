#pragma once
/// Rules of globs: what a pattern covers, decided by a small automaton, so in time that is
/// linear for a path and bounded by the two lengths for another pattern. Never backtracks.
#include <cstdint>
#include <string_view>
#include <vector>

namespace cru {

/// `*` any text within a folder, `?` one character of it, `**` any text, `**/` any folders or none;
/// a pattern that ends in `/` is that folder and all below it. Everything else is itself.
class Glob {
 public:
  explicit Glob(std::string_view pattern);
  bool matches(std::string_view path) const;
  /// True if some text matches both.
  bool meets(const Glob& other) const;

 private:
  /// A set of characters: one, all but `/`, all, or none.
  struct Set {
    enum class Kind : uint8_t { none, one, within_folder, any };
    Kind kind = Kind::none;
    char character = 0;
    bool has(char c) const;
    bool meets(const Set& other) const;
  };
  /// Reading one of `loop` stays here, one of `step` goes on to the next; `skip` says how far one may go
  /// without reading.
  struct State {
    Set loop = {}, step = {};
    size_t skip = 0;         ///< 0: not at all
    bool also_next = false;  ///< besides `skip`, the next state may be entered without reading
    bool is_literal() const { return step.kind == Set::Kind::one && loop.kind == Set::Kind::none && !skip; }
  };
  void add_literal(char c);
  template <class Enter>
  void enter(size_t state, Enter&& into) const;
  /// The last one is the end: it reads nothing and accepts.
  std::vector<State> states_;
};

}  // namespace cru
