#pragma once
/// WordTable: what words mean, as vectors: the table that stands in the program (docs/formats/notes.md). It
/// is paged in only where it is touched. And meanings of texts, made from their words'.
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cru::notes {

inline constexpr size_t dimensions = 100;

/// What a text is about: a direction, in whole numbers, and what makes its length 1.
struct Meaning {
  std::array<int8_t, dimensions> values{};
  float inverse_length = 0;  ///< 0: none of its words is known
  bool is_known() const { return inverse_length > 0; }
};

/// −1 to 1; 0 if either is unknown.
double likeness(const Meaning& one, const Meaning& other);

class WordTable {
 public:
  /// The table of this program; null where it was built without one.
  static const WordTable* built_in();
  /// Null if the bytes are no table.
  static std::optional<WordTable> over(std::span<const unsigned char> bytes);

  /// The word's place, or that of the word it is most likely a form of (plural, -ing, -ed).
  std::optional<size_t> find(std::string_view word) const;
  size_t size() const { return count_; }
  /// The weighted mean of its words, each word once, the frequent ones for little.
  Meaning meaning_of(std::span<const std::string> words) const;

 private:
  std::optional<size_t> find_exactly(std::string_view word) const;
  std::string_view word(size_t at) const;
  float weight(size_t at) const;  ///< that makes the vector as long as the word says much
  std::vector<size_t> places_of(std::span<const std::string> words) const;
  size_t count_ = 0;
  const unsigned char* offsets_ = nullptr;
  const unsigned char* weights_ = nullptr;
  const unsigned char* vectors_ = nullptr;
  std::string_view text_;
};

}  // namespace cru::notes
