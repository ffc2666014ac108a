#include "notes/word_table.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "notes/note_text.h"

#ifdef CRU_WORDS_FILE
asm(".section .rodata\n"
    ".balign 64\n"
    ".globl cru_words_begin\n.globl cru_words_end\n"
    "cru_words_begin:\n"
    ".incbin \"" CRU_WORDS_FILE
    "\"\n"
    "cru_words_end:\n"
    ".byte 0\n"
    ".text\n");
extern "C" const unsigned char cru_words_begin[], cru_words_end[];
#endif

namespace cru::notes {
namespace {

template <class T>
T value_at(const unsigned char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

constexpr size_t header_bytes = 24, vector_bytes = dimensions / 2;

/// The `n`th of a word's numbers, four bits each, −7 to 7.
int number_at(const unsigned char* vector, size_t n) {
  int bits = n % 2 ? vector[n / 2] >> 4 : vector[n / 2] & 15;
  return bits < 8 ? bits : bits - 16;
}

double dot(const int8_t* one, const int8_t* other) {
  int sum = 0;
  for (size_t i = 0; i < dimensions; ++i) sum += one[i] * other[i];
  return sum;
}

}  // namespace

double likeness(const Meaning& one, const Meaning& other) {
  return dot(one.values.data(), other.values.data()) * one.inverse_length * other.inverse_length;
}

const WordTable* WordTable::built_in() {
#ifdef CRU_WORDS_FILE
  static const auto table = over({cru_words_begin, cru_words_end});
  return table ? &*table : nullptr;
#else
  return nullptr;
#endif
}

std::optional<WordTable> WordTable::over(std::span<const unsigned char> bytes) {
  if (bytes.size() < header_bytes || std::memcmp(bytes.data(), "CRUWORDS", 8) != 0) return {};
  auto number = [&](size_t n) { return size_t{value_at<uint32_t>(bytes.data() + 8 + 4 * n)}; };
  size_t count = number(2), text = number(3);
  if (number(0) != 1 || number(1) != dimensions || count == 0 || count > 10'000'000 ||
      bytes.size() < header_bytes + 4 * (count + 1) + 4 * count + vector_bytes * count + text)
    return {};
  WordTable table;
  table.count_ = count;
  table.offsets_ = bytes.data() + header_bytes;
  table.weights_ = table.offsets_ + 4 * (count + 1);
  table.vectors_ = table.weights_ + 4 * count;
  table.text_ = {reinterpret_cast<const char*>(table.vectors_ + vector_bytes * count), text};
  return table;
}

std::string_view WordTable::word(size_t at) const {
  auto begin = value_at<uint32_t>(offsets_ + 4 * at), end = value_at<uint32_t>(offsets_ + 4 * (at + 1));
  if (begin > end || end > text_.size()) return {};
  return text_.substr(begin, end - begin);
}

std::optional<size_t> WordTable::find_exactly(std::string_view wanted) const {
  size_t low = 0, high = count_;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (word(middle) < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  if (low < count_ && word(low) == wanted) return low;
  return {};
}

std::optional<size_t> WordTable::find(std::string_view wanted) const {
  if (wanted.size() < 2 || wanted.size() > 32) return {};
  if (auto found = find_exactly(wanted)) return found;
  struct Ending {
    std::string_view from, to;
  };
  for (auto [from, to] :
       {Ending{"ies", "y"}, Ending{"es", ""}, Ending{"s", ""}, Ending{"ing", ""}, Ending{"ing", "e"},
        Ending{"ed", ""}, Ending{"ed", "e"}, Ending{"er", ""}, Ending{"ly", ""}}) {
    if (!wanted.ends_with(from) || wanted.size() < from.size() + 3) continue;
    auto stem = std::string(wanted.substr(0, wanted.size() - from.size()));
    if (auto found = find_exactly(stem + std::string(to))) return found;
    // "stopping" is "stop", twice its last letter
    if (to.empty() && stem.size() > 3 && stem[stem.size() - 1] == stem[stem.size() - 2])
      if (auto found = find_exactly(std::string_view(stem).substr(0, stem.size() - 1))) return found;
  }
  return {};
}

float WordTable::weight(size_t at) const { return value_at<float>(weights_ + 4 * at); }

/// Sorted; a word that comes twice is there twice.
std::vector<size_t> WordTable::places_of(std::span<const std::string> words) const {
  std::vector<size_t> places;
  for (const auto& word : words) {
    if (is_stop_word(word)) continue;
    if (auto at = find(word)) places.push_back(*at);
  }
  std::sort(places.begin(), places.end());
  return places;
}

Meaning WordTable::meaning_of(std::span<const std::string> words) const {
  std::array<float, dimensions> sum{};
  auto places = places_of(words);
  for (size_t i = 0; i < places.size();) {
    size_t first = i, at = places[i];
    while (i < places.size() && places[i] == at) ++i;
    // A word that comes often counts a little more, not many times over.
    float factor = weight(at) * (1 + std::log(static_cast<float>(i - first)));
    for (size_t d = 0; d < dimensions; ++d)
      sum[d] += factor * static_cast<float>(number_at(vectors_ + vector_bytes * at, d));
  }
  float largest = 0;
  for (float value : sum) largest = std::max(largest, std::abs(value));
  Meaning meaning;
  if (largest <= 0) return meaning;
  int length = 0;
  for (size_t i = 0; i < dimensions; ++i) {
    meaning.values[i] = static_cast<int8_t>(std::lround(sum[i] / largest * 127));
    length += meaning.values[i] * meaning.values[i];
  }
  meaning.inverse_length = 1 / std::sqrt(static_cast<float>(length));
  return meaning;
}

}  // namespace cru::notes
