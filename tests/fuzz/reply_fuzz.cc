// A provider's stream: what is heard while it comes is what the reply says; what is spent is no nonsense;
// every failure has a kind. Refusals of a provider, too.
#include "minds/anthropic.h"
#include "minds/openai.h"

#include "fuzz.h"

namespace cru::fuzz {
namespace {

using namespace minds;

void require_failure(const Error& error) {
  require_readable(error);
  require(code_for(failure_type(error)) != Code::internal, "a failure is of a known kind");
}

void build(ReplyBuilder& builder, const std::vector<SseEvent>& events) {
  std::string heard;
  for (const auto& event : events) {
    auto text = builder.take(event);
    if (!text) return require_failure(text.error());
    heard += *text;
  }
  auto reply = builder.finish();
  if (!reply) return require_failure(reply.error());
  require(reply->message.role == Message::Role::assistant, "a reply is the assistant's");
  require(reply->message.text.size() == heard.size(), "what was heard is what is said");
  const auto& usage = reply->usage;
  require(usage.input >= 0 && usage.output >= 0 && usage.cache_read >= 0 && usage.cache_write >= 0,
          "nobody spends less than nothing");
  require(usage.total() >= usage.input, "what is spent can be counted");
  auto message = parse_json(to_text(to_json(reply->message)));
  require(message && to_json(message_from(message->as_object())).size() >= 2, "a reply can be written down");
}

}  // namespace

void check(std::string_view input) {
  SseParser parser;
  auto events = parser.take(input);
  if (!events) return;
  AnthropicBuilder anthropic;
  build(anthropic, *events);
  OpenaiBuilder openai("openai");
  build(openai, *events);
  for (int status : {400, 401, 429, 500, 529})
    require_failure(trouble_from_status("anthropic", status, input, input.substr(0, 40), Time{}).error);
}

}  // namespace cru::fuzz
