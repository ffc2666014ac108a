#include "edges/mcp/shared_lines.h"

#include <algorithm>
#include <cstring>

namespace cru::mcp {
namespace {

static_assert(std::atomic<uint64_t>::is_always_lock_free);

constexpr char answered_mark = '\x01';
constexpr size_t touched_page = 4096;
/// With less room than this nothing is read: a pipe may be made to give whole pages only.
constexpr size_t least_room = touched_page;
constexpr size_t most_remembered = 1024;

}  // namespace

std::optional<SharedLines> SharedLines::create() {
  auto memory = SharedMemory::create(sizeof(SharedLayout));
  if (!memory) return {};
  return SharedLines(std::move(*memory));
}

void SharedLines::begin(uint64_t first) {
  layout().restarts = first;
  answered_.clear();
}

void SharedLines::mark_answered(uint64_t number) {
  if (answered_.size() >= most_remembered)
    answered_.erase(answered_.begin(), answered_.lower_bound(layout().first));
  answered_.insert(number);
}

SharedLines::Found SharedLines::find(bool stage_is_full) const {
  const auto& all = layout();
  if (auto restarts = all.restarts.load()) return {{}, restarts, {}};
  Found found{{}, all.first, {}};
  auto noted = std::min<size_t>(all.length, SharedLayout::most_bytes);
  auto end = std::min(noted + SharedLayout::bytes_a_read, SharedLayout::most_bytes);
  std::set<uint64_t> written = answered_;
  auto staged = std::min<size_t>(all.staged_count, SharedLayout::most_staged);
  if (stage_is_full || all.note != 0) written.insert(all.staged, all.staged + staged);
  while (end > noted && all.bytes[end - 1] == '\0') --end;
  std::string_view left(all.bytes, end);
  for (size_t at; (at = left.find('\n')) != std::string_view::npos; left.remove_prefix(at + 1)) {
    bool is_answered = left.front() == answered_mark || written.contains(found.next);
    found.lines.push_back({found.next++, std::string(left.substr(0, at)), is_answered});
  }
  found.rest = left;
  return found;
}

std::optional<LineIntake> LineIntake::accept(Fd& handed) {
  auto memory = SharedMemory::accept(handed, sizeof(SharedLayout));
  if (!memory) return {};
  return LineIntake(std::move(*memory));
}

void LineIntake::begin(uint64_t first) {
  auto& all = layout();
  all.restarts = first;
  std::memset(all.bytes, 0, length_);
  all.length = 0;
  all.first = first;
  all.restarts = 0;
  first_ = first;
  lines_.clear();
  answered_ = length_ = begin_ = looked_ = 0;
  text_.clear();
  if (text_.capacity() > 4 * SharedLayout::bytes_a_read) text_ = std::string();
}

std::span<char> LineIntake::room() {
  auto size = std::min(SharedLayout::most_bytes - length_, SharedLayout::bytes_a_read);
  if (size < least_room) return {};
  std::span<char> room(layout().bytes + length_, size);
  // Every page is there before the system copies to it. If one had to be fetched, and the daemon were killed
  // meanwhile, bytes could be here and still in the pipe.
  for (size_t at = 0; at < size; at += touched_page) *static_cast<volatile char*>(&room[at]) = '\0';
  *static_cast<volatile char*>(&room.back()) = '\0';
  return room;
}

void LineIntake::add(size_t bytes) {
  text_.append(layout().bytes + length_, bytes);
  length_ += bytes;
  layout().length = length_;
}

bool LineIntake::has_line() {
  looked_ = std::min(text_.find('\n', looked_), text_.size());
  return looked_ < text_.size();
}

std::optional<LineIntake::Line> LineIntake::take() {
  if (!has_line()) return {};
  Line line{first_ + lines_.size(), std::string_view(text_).substr(begin_, looked_ - begin_)};
  lines_.push_back(static_cast<uint32_t>(begin_));
  begin_ = ++looked_;
  return line;
}

void LineIntake::mark_answered(uint64_t number) {
  auto at = lines_[number - first_];
  // An empty line has no answer, and nothing but its end.
  if (text_[at] != '\n') std::atomic_ref(layout().bytes[at]).store(answered_mark);
  ++answered_;
}

void LineIntake::stage(std::span<const uint64_t> numbers) {
  auto& all = layout();
  all.note = 0;
  for (size_t i = 0; i < numbers.size(); ++i) all.staged[i].store(numbers[i], std::memory_order_relaxed);
  all.staged_count = static_cast<uint32_t>(numbers.size());
}

void LineIntake::unstage() { layout().staged_count = 0; }

void LineIntake::mark_used_tools() {
  if (!std::exchange(used_tools_, true)) layout().used_tools = 1;
}

void LineIntake::drop_rest() {
  auto end = text_.rfind('\n');
  text_.resize(end == std::string::npos ? 0 : end + 1);
  begin_ = std::min(begin_, text_.size());
  looked_ = std::min(looked_, text_.size());
}

}  // namespace cru::mcp
