#pragma once
/// OpenAI's chat completions, which many servers speak: the request's JSON, and the reply from its stream.
/// Rules only.
#include <map>

#include "minds/reply_builder.h"

namespace cru::minds {

/// OpenAI's own newer models refuse `max_tokens`, and its kin know nothing else.
json::object to_openai(const Request& request, bool is_openai_itself);

class OpenaiBuilder final : public ReplyBuilder {
 public:
  /// `chance` makes the ids of tool calls that come without one unlike those of every other reply.
  explicit OpenaiBuilder(std::string provider, uint64_t chance = 0)
      : provider_(std::move(provider)), chance_(chance) {}
  Result<std::string> take(const SseEvent& event) override;
  Result<Reply> finish() override;
  Usage usage() const override { return reply_.usage; }

 private:
  Result<> grow_uses(const json::array& calls);
  void count(const json::object& usage);

  const std::string provider_;
  const uint64_t chance_;
  std::map<int64_t, PartialUse> uses_;
  Reply reply_;
  bool has_begun_ = false, has_ended_ = false;
};

}  // namespace cru::minds
