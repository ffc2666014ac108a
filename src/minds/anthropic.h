#pragma once
/// Anthropic's Messages API: the request's JSON, and the reply from its stream. Rules only.
#include <map>

#include "minds/reply_builder.h"

namespace cru::minds {

inline constexpr auto anthropic_version = "2023-06-01";

json::object to_anthropic(const Request& request);

class AnthropicBuilder final : public ReplyBuilder {
 public:
  Result<std::string> take(const SseEvent& event) override;
  Result<Reply> finish() override;
  Usage usage() const override { return reply_.usage; }

 private:
  Result<std::string> start_block(const json::object& data);
  Result<std::string> grow_block(const json::object& data);
  void count(const json::object& usage);

  struct Block {
    std::string text;
    std::optional<PartialUse> use;
  };
  std::map<int64_t, Block> blocks_;
  Reply reply_;
  bool has_begun_ = false, has_ended_ = false;
};

}  // namespace cru::minds
