#include "platform/files/line_log.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/id.h"
#include "base/json.h"
#include "base/text.h"

namespace cru {
namespace {

constexpr std::string_view record_start = R"({"seq":)";
constexpr size_t block_size = 64 << 10;
constexpr int64_t short_stretch = 64 << 10;  // a stretch this short is read through rather than halved

bool take(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

int64_t take_seq(std::string_view& text) {
  int64_t seq = 0;
  size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9' && digits < 19; ++digits)
    seq = seq * 10 + (text[digits] - '0');
  if (digits == 0 || digits > 18 || text[0] == '0') return 0;
  text.remove_prefix(digits);
  return seq;
}

/// "2026-11-15T10:00:00.000Z": the shape only.
bool take_time(std::string_view& text) {
  constexpr std::string_view shape = "0000-00-00T00:00:00.000Z";
  if (text.size() < shape.size()) return false;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != shape[i]) return false;
  text.remove_prefix(shape.size());
  return true;
}

/// The length of the escape at `at`, as the keeper writes them; 0 for any other.
size_t escape_size(const char* at, const char* end) {
  if (end - at < 2) return 0;
  if (std::strchr("\"\\bfnrt", at[1]) && at[1] != 0) return 2;
  bool hex = end - at >= 6 && std::memcmp(at + 1, "u00", 3) == 0 && (at[4] == '0' || at[4] == '1') &&
             ((at[5] >= '0' && at[5] <= '9') || (at[5] >= 'a' && at[5] <= 'f'));
  return hex ? 6 : 0;
}

/// The rest of a JSON string and its closing quote.
bool take_string(std::string_view& text) {
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    auto c = static_cast<unsigned char>(*at);
    if (c == '"') {
      text = {at + 1, static_cast<size_t>(end - at - 1)};
      return true;
    }
    size_t step = 1;
    if (c == '\\')
      step = escape_size(at, end);
    else if (c >= 0x80)
      step = static_cast<size_t>(std::max(0, utf8_size(at, end)));
    else if (c < 0x20)
      step = 0;
    if (step == 0) return false;
    at += step;
  }
  return false;
}

std::unexpected<Error> unreadable(const char* what) {
  return fail(Code::internal, std::string(what) + " an output log failed: " + std::strerror(errno));
}

/// Reads exactly [offset, offset+size) unless the file ends before; appends to `into`.
bool read_at(int fd, int64_t offset, size_t size, std::string& into) {
  size_t had = into.size(), got = 0;
  into.resize(had + size);
  while (got < size) {
    ssize_t n = pread(fd, into.data() + had + got, size - got, offset + static_cast<int64_t>(got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    if (n == 0) break;
    got += static_cast<size_t>(n);
  }
  into.resize(had + got);
  return true;
}

struct Piece {
  int64_t seq = 0;  // 0: damaged
  size_t begin = 0, size = 0, next = 0;
};

/// The line at `begin`, which ends with a newline. A lost newline glues records together: as a quote
/// inside a string is always escaped, `{"seq":` further on can only be the start of another record.
std::optional<Piece> piece_at(std::string_view text, size_t begin) {
  size_t newline = text.find('\n', begin);
  if (newline == std::string_view::npos) return {};
  Piece piece{0, begin, newline - begin, newline + 1};
  piece.seq = seq_of(text.substr(begin, piece.size));
  if (piece.seq == 0) {
    size_t glued = text.substr(0, newline).find(record_start, begin + 1);
    if (glued != std::string_view::npos) piece.size = (piece.next = glued) - begin;
  }
  return piece;
}

/// Walks the lines of a file block by block and decides which are damaged.
class Walker {
 public:
  Walker(int fd, LogCursor from, int64_t end)
      : fd_(fd), base_(from.offset), read_to_(from.offset), end_(end), seq_(from.seq) {}

  /// The next whole record; nothing at the end. Error if the file cannot be read.
  Result<std::optional<Piece>> next() {
    while (true) {
      auto piece = peek(at_);
      if (!piece) return fail(piece.error());
      if (!*piece) return std::nullopt;
      auto good = fits(**piece);
      if (!good) return fail(good.error());
      at_ = (*piece)->next;
      if (*good) {
        suspects_ = 0;
        seq_ = (*piece)->seq;
        return *piece;
      }
      ++suspects_;
      ++damaged;
    }
  }
  int64_t offset() const { return base_ + static_cast<int64_t>(at_); }
  /// Forgets the text before the next line, so that a long walk stays small.
  void drop_read() {
    base_ += static_cast<int64_t>(at_);
    text.erase(0, at_);
    at_ = 0;
  }

  std::string text;
  int64_t damaged = 0;

 private:
  Result<std::optional<Piece>> peek(size_t at) {
    while (true) {
      if (auto piece = piece_at(text, at)) return piece;
      auto size = static_cast<size_t>(std::min<int64_t>(block_size, end_ - read_to_));
      if (size == 0) return std::nullopt;
      size_t had = text.size();
      if (!read_at(fd_, read_to_, size, text)) return unreadable("reading");
      if (text.size() == had) return std::nullopt;  // cut by its writer meanwhile
      read_to_ += static_cast<int64_t>(text.size() - had);
    }
  }

  /// Whether a record belongs here. The expected number does. A higher one does after damage, which may
  /// have swallowed lines, or if the line after it agrees; otherwise the number itself is damaged.
  Result<bool> fits(const Piece& piece) {
    if (piece.seq == seq_ + 1) return true;
    if (piece.seq <= seq_) return false;
    if (suspects_ > 0 && piece.seq <= seq_ + 1 + suspects_) return true;
    auto after = peek(piece.next);
    if (!after) return fail(after.error());
    if (!*after) return suspects_ > 0;
    return (*after)->seq == piece.seq + 1;
  }

  int fd_;
  int64_t base_, read_to_, end_;
  int64_t seq_;
  int64_t suspects_ = 0;
  size_t at_ = 0;
};

/// The first record at or after `from` whose successor confirms its number; nothing before `end`.
/// One damaged number can so never send the search the wrong way.
std::optional<LogCursor> confirmed_after(int fd, int64_t from, int64_t end) {
  std::string text;
  size_t at = std::string::npos;
  std::optional<Piece> before;
  for (int64_t offset = from; offset < end;) {
    size_t had = text.size();
    size_t size = had == 0 ? 4096 : block_size;
    if (!read_at(fd, offset, std::min(size, static_cast<size_t>(end - offset)), text)) return {};
    if (text.size() == had) return {};
    offset += static_cast<int64_t>(text.size() - had);
    if (at == std::string::npos) {
      size_t newline = text.find('\n');
      if (newline == std::string::npos) continue;
      at = newline + 1;
    }
    while (auto piece = piece_at(text, at)) {
      if (before && before->seq > 0 && piece->seq == before->seq + 1)
        return LogCursor{from + static_cast<int64_t>(before->next), before->seq};
      before = piece;
      at = piece->next;
    }
  }
  return {};
}

/// A cursor at or before the record after `since`, close to it.
LogCursor find(int fd, int64_t since, int64_t end) {
  LogCursor low;
  int64_t high = end;
  while (since > 0 && high - low.offset > short_stretch) {
    int64_t middle = low.offset + (high - low.offset) / 2;
    auto probe = confirmed_after(fd, middle, high);
    if (probe && probe->seq <= since && probe->offset > low.offset)
      low = *probe;
    else
      high = middle;  // to the left is always safe: the walk from there skips what is too old
  }
  return low;
}

Result<int64_t> size_of(int fd) {
  struct stat status{};
  if (fstat(fd, &status) != 0) return unreadable("reading");
  return status.st_size;
}

Result<LogPage> walk(int fd, LogCursor from, int64_t end, int64_t since, size_t max_lines, size_t max_bytes) {
  LogPage page;
  page.last_seq = std::max(since, from.seq);
  page.next = from;
  Walker walker(fd, from, end);
  size_t bytes = 0;
  while (true) {
    int64_t damaged = walker.damaged;
    auto piece = walker.next();
    if (!piece) return fail(piece.error());
    if (!*piece) break;
    if ((*piece)->seq <= since) {
      page.next = {walker.offset(), (*piece)->seq};
      walker.damaged = 0;
      if ((*piece)->next >= block_size) walker.drop_read();
      continue;
    }
    bytes += (*piece)->size + 1;
    if (page.lines.size() >= max_lines || (bytes > max_bytes && !page.lines.empty())) {
      page.more = true;
      walker.damaged = damaged;
      break;
    }
    page.lines.push_back({(*piece)->seq, (*piece)->begin, (*piece)->size});
    page.last_seq = (*piece)->seq;
    page.next = {walker.offset(), (*piece)->seq};
  }
  page.damaged = walker.damaged;
  page.text = std::move(walker.text);
  return page;
}

}  // namespace

int64_t seq_of(std::string_view json) {
  if (!take(json, record_start)) return 0;
  int64_t seq = take_seq(json);
  if (seq == 0 || !take(json, R"(,"ts":")") || !take_time(json) || !take(json, R"(","stream":"std)"))
    return 0;
  if (!take(json, "out") && !take(json, "err")) return 0;
  if (!take(json, R"(","data":")") || !take_string(json)) return 0;
  take(json, R"(,"eol":false)");
  if (take(json, R"(,"raw":")") && !take_string(json)) return 0;
  return json == "}" ? seq : 0;
}

Result<LogPage> read_lines(int fd, int64_t since, size_t max_lines, size_t max_bytes) {
  auto end = size_of(fd);
  if (!end) return fail(end.error());
  since = std::max<int64_t>(since, 0);
  return walk(fd, find(fd, since, *end), *end, since, max_lines, max_bytes);
}

Result<LogPage> read_from(int fd, LogCursor cursor, size_t max_lines, size_t max_bytes) {
  auto end = size_of(fd);
  if (!end) return fail(end.error());
  return walk(fd, cursor, *end, cursor.seq, max_lines, max_bytes);
}

Result<int64_t> repair_tail(int fd) {
  auto size = size_of(fd);
  if (!size) return fail(size.error());
  for (int64_t window = block_size;; window *= 2) {
    int64_t from = std::max<int64_t>(0, *size - window);
    std::string text;
    if (!read_at(fd, from, static_cast<size_t>(*size - from), text)) return unreadable("reading");
    size_t last = text.rfind('\n');
    if (last == std::string::npos && from > 0) continue;
    size_t keep = last == std::string::npos ? 0 : last + 1;
    // The newest number that the line before it confirms, plus the lines after it.
    int64_t seq = 0, good = 0, before = from == 0 ? 0 : -1;
    bool confirmed = false;
    size_t at = from == 0 ? 0 : text.find('\n') + 1;
    while (auto piece = piece_at(std::string_view(text).substr(0, keep), at)) {
      bool agrees = before >= 0 && piece->seq == before + 1;
      bool believed = agrees || (piece->seq > good && (!confirmed || before < 0));
      seq = believed ? piece->seq : seq + 1;
      if (believed) good = seq;
      confirmed = confirmed || agrees;
      before = piece->seq > 0 ? piece->seq : -1;
      at = piece->next;
    }
    if (!confirmed && from > 0) continue;
    if (keep < text.size() && ftruncate(fd, from + static_cast<int64_t>(keep)) != 0)
      return unreadable("repairing");
    return seq;
  }
}

Result<LogRecord> decode_line(std::string_view json) {
  if (seq_of(json) == 0) return fail(Code::invalid_argument, "not a record of an output log");
  auto value = parse_json(json);
  if (!value) return fail(value.error());
  const auto& object = value->as_object();
  LogRecord record;
  record.seq = int_or(object, "seq");
  record.ts = text_or(object, "ts");
  record.stream = text_or(object, "stream");
  record.data = text_or(object, "data");
  record.eol = bool_or(object, "eol", true);
  record.bytes = record.data;
  if (object.contains("raw")) {
    auto raw = from_base64(text_or(object, "raw"));
    if (!raw) return fail(Code::invalid_argument, "a record of an output log with bad base64");
    record.bytes = std::move(*raw);
  }
  return record;
}

}  // namespace cru
