#include "crew/last_word.h"

#include "base/json.h"
#include "base/text.h"
#include "minds/message.h"

namespace cru::crew {

std::optional<std::string> last_word_of(Reader& reader, std::string_view thread) {
  auto row = reader.row(
      "SELECT message FROM chat_entries WHERE thread = ? AND role = 'user' ORDER BY n DESC LIMIT 1", thread);
  auto message = row ? parse_json(row->text(0)) : Result<json::value>(json::value());
  if (!message || !message->is_object()) return {};
  auto word = trim(text_or(message->get_object(), "text"));
  if (word.empty()) return {};
  return std::string(word);
}

}  // namespace cru::crew
