#pragma once
/// Room: how many questions may wait for a person. An agent that asks without end fills neither the inbox nor
/// the store.
#include <string>
#include <vector>

#include "inbox/question.h"
#include "store/store.h"

namespace cru::inbox {

/// How many questions wait, and the bytes of what is asked with them.
struct Amount {
  int64_t count = 0, bytes = 0;
};
Amount waiting_in_all(Reader& reader);
Amount waiting_of(Reader& reader, const std::vector<std::string>& members);

/// After a question was recorded, in the same transaction: whether so many of its asker and in all may wait,
/// with so many bytes. What a run or a host process asks in several sessions counts together. Errors:
/// overloaded, which names the limit; then nothing was asked.
Result<> check_room(Reader& reader, const Question& asked);

}  // namespace cru::inbox
