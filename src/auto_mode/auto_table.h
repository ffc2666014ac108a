#pragma once
/// Tables of auto mode: conversations, each with its whole state, and what was said in them.
#include <optional>
#include <span>
#include <vector>

#include "auto_mode/conversation.h"
#include "base/json.h"
#include "store/store.h"

namespace cru::auto_mode {

std::span<const Migration> migrations();

json::object to_json(const AutoModeState& state);
/// Errors: internal, with what cannot be read. One that goes on is read whole or not at all: without the
/// conditions that it was to end by it would be another one.
Result<AutoModeState> state_from(const json::object& value);
json::object to_json(const Line& line);

struct Kept {
  AutoModeState state;
  bool has_file = false;  ///< its transcript was written
  /// Its row cannot be read, and it is over with the reason `failed`. The state has what could be read.
  bool is_unreadable = false;
  bool is_ended = false;  ///< as its row says
};
/// Of one whose row cannot be read: it is over. What else there is in the row stays.
void mark_ended(Tx& tx, std::string_view id, Time at);
/// The transcript has to be written again.
void write_conversation(Tx& tx, const AutoModeState& state);
void mark_file(Tx& tx, std::string_view id);
void insert_line(Tx& tx, std::string_view conversation, const Line& line);
std::optional<Kept> find_conversation(Reader& reader, std::string_view id);
/// The ids of those that begin so, in their order.
std::vector<std::string> ids_beginning(Reader& reader, std::string_view prefix, int64_t limit);
/// Those that go on first, then the newest first.
std::vector<Kept> conversations(Reader& reader, int64_t limit);
/// The conversations that have ended and began before and after it; empty where there is none.
struct Neighbours {
  std::string previous, next;
};
Neighbours neighbours_of(Reader& reader, std::string_view id);
/// Oldest first, the newest `limit`.
std::vector<Line> lines_of(Reader& reader, std::string_view conversation, int64_t limit);
/// Of those that ended before: at most `limit`; how many.
int64_t purge_conversations(Tx& tx, Time before, int64_t limit);

}  // namespace cru::auto_mode
