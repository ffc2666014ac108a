#include "edges/mcp/lending.h"

#include <fmt/format.h>

#include <array>
#include <span>

#include "platform/files/standard_streams.h"
#include "platform/files/transfer.h"
#include "platform/net/descriptor_passing.h"

namespace cru::mcp {
namespace {

constexpr size_t longest_staged = 4096;

}  // namespace

void Lending::reset() {
  lines_.reset();
  stage_ = {};
  is_allowed_ = is_lent_ = false;
  counted_ = told_ = 0;
}

void Lending::lend(const Fd& socket, uint64_t first) {
  bool is_first = !lines_;
  if (is_first) {
    lines_ = SharedLines::create();
    stage_ = make_pipe();
  }
  if (!lines_ || !stage_.out) return forbid();
  lines_->begin(first);
  auto line = fmt::format("{{\"cru_mcp\":\"take_host\",\"first\":{},\"wrote\":{}}}\n", first, counted_);
  std::array streams{standard_input, standard_output, lines_->fd(), stage_.out.get(), stage_.in.get()};
  auto sent =
      send_descriptors(socket, line, is_first ? std::span<const int>(streams) : std::span<const int>());
  is_lent_ = sent.outcome == Transfer::some && sent.bytes == line.size();
  if (is_lent_)
    told_ = counted_;
  else
    forbid();
}

Lending::Returned Lending::take_back() {
  is_lent_ = is_wanted_ = false;
  std::string unwritten(longest_staged, '\0');
  unwritten.resize(read_now(stage_.out, unwritten).bytes);
  return {lines_->find(!unwritten.empty()), unwritten};
}

void Lending::count_line(std::optional<uint64_t> number) {
  ++counted_;
  if (is_lent_ && number) lines_->mark_answered(*number);
}

std::string Lending::written() {
  if (!is_lent_ || told_ == counted_) return {};
  told_ = counted_;
  return fmt::format("{{\"cru_mcp\":\"wrote\",\"lines\":{}}}\n", counted_);
}

}  // namespace cru::mcp
