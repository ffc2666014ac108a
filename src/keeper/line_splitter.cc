#include "keeper/line_splitter.h"

#include <emmintrin.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "base/id.h"
#include "base/result.h"
#include "base/text.h"
#include "platform/files/line_log.h"

namespace cru {
namespace {

char* put(char* to, std::string_view text) {
  std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

char* put_escaped(char* to, unsigned char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  constexpr std::string_view from = "\"\\\n\r\t\b\f", as = "\"\\nrtbf";
  *to++ = '\\';
  if (size_t at = from.find(static_cast<char>(c)); at != std::string_view::npos) {
    *to++ = as[at];
    return to;
  }
  to = put(to, "u00");
  *to++ = digits[c >> 4];
  *to++ = digits[c & 15];
  return to;
}

/// Which of 16 bytes cannot be copied as they are: control characters, quotes, backslashes, and everything
/// beyond ASCII (negative, so the signed comparison finds it too).
unsigned special(__m128i bytes) {
  __m128i low = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20));
  __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
  __m128i slash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(low, _mm_or_si128(quote, slash))));
}

struct Copied {
  const char* from;
  char* to;
  int character;  ///< of the byte it stopped at: as utf8_size() says; 1 for a newline or the end
};

/// Copies text as the inside of a JSON string until `end`, a newline (unless `chunks`), or what is not UTF-8.
Copied copy_text(const char* from, const char* end, const char* readable, char* to, bool chunks) {
  while (from < end) {
    auto room = static_cast<size_t>(end - from);
    alignas(16) char tail[16] = {};
    if (room < 16) std::memcpy(tail, from, room);
    __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(room < 16 ? tail : from));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
    unsigned mask = special(bytes) | (room < 16 ? 1U << room : 0);
    auto plain = static_cast<size_t>(mask == 0 ? 16 : std::countr_zero(mask));
    from += plain;
    to += plain;
    if (mask == 0 || from == end) continue;
    auto c = static_cast<unsigned char>(*from);
    if (c == '\n' && !chunks) return {from, to, 1};
    if (c < 0x80) {
      to = put_escaped(to, c);
      ++from;
      continue;
    }
    int size = utf8_size(from, readable);
    if (size <= 0 || from + size > end) return {from, to, size};
    to = put(to, {from, static_cast<size_t>(size)});
    from += size;
  }
  return {from, to, 1};
}

/// The same where some bytes are not UTF-8: U+FFFD for each of them.
char* copy_repaired(std::string_view text, char* to) {
  const char *from = text.data(), *end = from + text.size();
  while (true) {
    Copied copied = copy_text(from, end, end, to, true);
    if (copied.from == end) return copied.to;
    to = put(copied.to, "\xEF\xBF\xBD");
    from = copied.from + 1;
  }
}

}  // namespace

char* LineSplitter::prefix(char* to, Stream stream, std::string_view ts) const {
  to = put(to, R"({"seq":)");
  to = std::to_chars(to, to + 20, last_seq_ + 1).ptr;
  to = put(to, R"(,"ts":")");
  to = ts.size() == 24 ? put(to, {ts.data(), 24}) : put(to, ts);
  return stream == Stream::out ? put(to, R"(","stream":"stdout","data":")")
                               : put(to, R"(","stream":"stderr","data":")");
}

void LineSplitter::finish(std::string_view text, char* to, bool eol, RecordBuffer& out) {
  to = eol ? put(to, "\"}\n") : put(to, "\",\"eol\":false}\n");
  out.set_end(to);
  ++last_seq_;
  if (marked_ == 0 && !mark_.empty() && text.starts_with(mark_)) marked_ = last_seq_;
}

/// Encodes and copies in one pass: most lines are plain, and their end is found by the scan that copies them.
LineSplitter::Encoded LineSplitter::line(Stream stream, std::string_view bytes, std::string_view ts,
                                         RecordBuffer& out) {
  const char *begin = bytes.data(), *readable = begin + bytes.size();
  const char* end = begin + std::min(bytes.size(), max_line_bytes);
  char* to = prefix(out.end(), stream, ts);
  Copied copied = copy_text(begin, end, readable, to, chunks_);
  auto size = static_cast<size_t>(copied.from - begin);
  bool at_newline = !chunks_ && copied.from < readable && *copied.from == '\n';
  if (at_newline) {
    finish({begin, size}, copied.to, true, out);
    return {Stop::newline, size};
  }
  bool longer = bytes.size() > max_line_bytes;  // nothing up to the limit ends this line
  if (copied.character == 0) {                  // not UTF-8: how far the line goes was not yet seen
    const void* newline =
        chunks_ ? nullptr : std::memchr(begin, '\n', std::min(bytes.size(), max_line_bytes + 1));
    if (!newline && !longer) return {Stop::end, bytes.size()};
    size = newline ? static_cast<size_t>(static_cast<const char*>(newline) - begin)
                   : max_line_bytes - incomplete_tail(bytes.substr(0, max_line_bytes));
    record(stream, bytes.substr(0, size), ts, out, newline != nullptr);
    return {newline ? Stop::newline : Stop::limit, size};
  }
  if (!longer) return {Stop::end, bytes.size()};
  finish({begin, size}, copied.to, false, out);
  return {Stop::limit, size};
}

/// A record of exactly `text`, be it UTF-8 or not.
void LineSplitter::record(Stream stream, std::string_view text, std::string_view ts, RecordBuffer& out,
                          bool eol) {
  const char* end = text.data() + text.size();
  char* data = prefix(out.end(), stream, ts);
  Copied copied = copy_text(text.data(), end, end, data, true);
  if (copied.from == end) return finish(text, copied.to, eol, out);
  char* to = copy_repaired(text, data);
  to = put(to, eol ? "\"" : "\",\"eol\":false");
  to = put(to, R"(,"raw":")");
  to = put(to, to_base64(text));
  finish(text, to, true, out);
}

size_t LineSplitter::feed(Stream stream, std::string_view bytes, std::string_view ts, RecordBuffer& out) {
  size_t taken = 0;
  while (taken < bytes.size() && !out.full()) {
    if (!partial(stream).empty()) {
      taken += feed_partial(stream, bytes.substr(taken), ts, out);
      continue;
    }
    auto [stop, size] = line(stream, bytes.substr(taken), ts, out);
    if (stop == Stop::end) partial(stream).assign(bytes.substr(taken, size));
    taken += size + (stop == Stop::newline ? 1 : 0);
  }
  if (chunks_ && !out.full()) flush(stream, ts, out, false);
  return taken;
}

/// Goes on with a line that an earlier read began: only here are bytes copied twice.
size_t LineSplitter::feed_partial(Stream stream, std::string_view bytes, std::string_view ts,
                                  RecordBuffer& out) {
  std::string& held = partial(stream);
  size_t had = held.size();
  std::string_view more = bytes.substr(0, max_line_bytes + 1 - had);
  if (size_t newline = chunks_ ? std::string_view::npos : more.find('\n'); newline != std::string_view::npos)
    more = more.substr(0, newline + 1);
  held.append(more);
  auto [stop, size] = line(stream, held, ts, out);
  if (stop == Stop::end) return more.size();
  size_t used = size + (stop == Stop::newline ? 1 : 0);
  if (used < had) {  // cut inside the held bytes, at most three before their end
    held.erase(0, used);
    held.resize(had - used);
    return 0;
  }
  held.clear();
  if (held.capacity() > 1024) held.shrink_to_fit();
  return used - had;
}

bool LineSplitter::has_partial(Stream stream) const {
  const std::string& held = partial_[static_cast<size_t>(stream)];
  return held.size() > incomplete_tail(held);
}

void LineSplitter::flush(Stream stream, std::string_view ts, RecordBuffer& out, bool ended) {
  std::string& held = partial(stream);
  size_t keep = ended ? 0 : incomplete_tail(held);
  if (held.size() > keep) {
    record(stream, std::string_view(held).substr(0, held.size() - keep), ts, out, false);
    held.erase(0, held.size() - keep);
  }
  if (held.capacity() > 1024) held.shrink_to_fit();
}

}  // namespace cru
