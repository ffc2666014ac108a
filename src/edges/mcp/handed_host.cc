#include "edges/mcp/handed_host.h"

namespace cru::mcp {

std::unique_ptr<HandedHost> HandedHost::accept(Loop& loop, std::vector<Fd>& handed) {
  if (handed.size() != 5) return nullptr;
  auto in = HandedStream::accept(handed[0], HandedStream::to_read);
  if (!in) return nullptr;
  auto out = NotedOutput::accept(handed[1], handed[3], handed[4]);
  if (!out) return nullptr;
  auto intake = LineIntake::accept(handed[2]);
  if (!intake) return nullptr;
  try {
    return std::unique_ptr<HandedHost>(
        new HandedHost(loop, std::move(*in), std::move(*out), std::move(*intake)));
  } catch (
      const std::exception&) {  // the system refuses to watch it: there are limits that others can use up
    return nullptr;
  }
}

void HandedHost::begin(uint64_t first) {
  intake_.begin(first);
  is_ours_ = true;
}

void HandedHost::give_back() {
  is_ours_ = false;
  intake_.drop_rest();
}

HandedHost::Reading HandedHost::read() {
  auto room = intake_.room();
  if (room.empty()) return over;
  auto got = in_.read(room);
  if (got.outcome == Transfer::later) return later;
  if (got.outcome != Transfer::some) return over;
  intake_.add(got.bytes);
  return some;
}

void HandedHost::add(Message message) { messages_.push_back(std::move(message)); }

/// Writes messages from `begin` on, as many as go in one piece. False if it has to be done by others.
bool HandedHost::write_piece(size_t begin, size_t& end) {
  piece_.clear();
  numbers_.clear();
  for (end = begin; end < messages_.size(); ++end) {
    const auto& [number, text] = messages_[end];
    if (piece_.size() + text.size() >= out_.longest_whole() || numbers_.size() == SharedLayout::most_staged)
      break;
    piece_.append(text) += '\n';
    if (number) numbers_.push_back(*number);
  }
  intake_.stage(numbers_);
  bool is_written = out_.write(piece_, intake_.memory()).outcome == Transfer::some;
  if (is_written)
    for (auto number : numbers_) intake_.mark_answered(number);
  intake_.unstage();
  return is_written;
}

std::vector<HandedHost::Message> HandedHost::flush() {
  size_t written = 0;
  for (size_t end = 0; written < messages_.size(); written = end)
    if (!write_piece(written, end)) break;  // if nobody reads any more, `cru mcp` finds out too
  std::vector<Message> left(std::make_move_iterator(messages_.begin() + static_cast<ptrdiff_t>(written)),
                            std::make_move_iterator(messages_.end()));
  messages_.clear();
  return left;
}

}  // namespace cru::mcp
