#pragma once
/// Tables of the crew: chats, subagents, the entries of their threads, and the tool calls under way.
#include <span>

#include "crew/chat.h"
#include "store/store.h"

namespace cru::crew {

std::span<const Migration> migrations();

void write_chat(Tx& tx, const Chat& chat);
std::optional<Chat> find_chat(Reader& reader, std::string_view id);
/// The one chat whose id is this, or begins with it. Errors: not_found; conflict when several do.
Result<Chat> find_chat_by_prefix(Reader& reader, std::string_view prefix);
/// The latest chat of an outside client.
std::optional<Chat> find_client_chat(Reader& reader, std::string_view owner);
/// Newest first.
std::vector<Chat> list_chats(Reader& reader, std::string_view status, int64_t limit);
std::vector<Chat> chats_with_running_turn(Reader& reader);
std::vector<Chat> chats_ended_before(Reader& reader, Time before, int64_t limit);
/// Active ones whose primary is from before there were members.
std::vector<Chat> chats_without_member(Reader& reader);
void drop_chat(Tx& tx, std::string_view id);

void write_subagent(Tx& tx, const Subagent& subagent);
std::optional<Subagent> find_subagent(Reader& reader, std::string_view task_id);
std::optional<Subagent> find_child(Reader& reader, std::string_view parent, std::string_view use);
/// In the order of their spawning.
std::vector<Subagent> subagents_of(Reader& reader, std::string_view chat_id);
/// The same of several chats, without prompts, tasks and answers: a thousand of them are read at once.
std::vector<Subagent> outlines_of(Reader& reader, const std::vector<std::string>& chat_ids);
/// The chat that has this trace id, or one of its subagents; empty: none.
std::string chat_of_trace(Reader& reader, std::string_view trace_id);
/// The chats of these outside clients and runs, oldest first.
std::vector<Chat> list_client_chats(Reader& reader, const std::vector<std::string>& owners);
/// Newest first; of all chats if `chat_id` is empty.
std::vector<Subagent> list_subagents(Reader& reader, std::string_view chat_id, int64_t limit);
std::vector<Subagent> unfinished_subagents(Reader& reader);
/// How many of a chat have not begun.
int64_t count_queued(Reader& reader, std::string_view chat_id);

/// Gives the entry its number, writes it and announces it: `chat.entry`, or `subagent.entry` for another
/// thread.
Entry append_entry(Tx& tx, Entry entry, std::string_view chat_id);
/// When the person spoke last in a thread.
std::optional<Time> last_word_at(Reader& reader, std::string_view thread);
/// Of a thread, notes left out.
std::optional<Entry> last_entry_of(Reader& reader, std::string_view thread);
std::vector<Entry> entries_of(Reader& reader, std::string_view thread, int64_t after = 0,
                              int64_t limit = 100'000);

/// How the notes begin that a thread waits for its provider's usage limit, and that it goes on.
inline constexpr std::string_view parked_note = "⏸ waits: ", resumed_note = "▶ goes on: ";
struct LimitNote {
  std::string thread = {}, provider = {};
  bool is_over = false;
  Time at = {};
  std::optional<Time> next_at = {};  ///< of the entry after it
};
/// Such notes of these threads, each thread's in order.
std::vector<LimitNote> limit_notes_of(Reader& reader, const std::vector<std::string>& threads);

/// The runs that are minds: nobody else's run counts as one, whatever its id.
struct RunOwner {
  std::string thread, chat_id;
};
/// True if it was known already: begun by an earlier daemon.
bool own_run(Tx& tx, std::string_view run_id, std::string_view thread, std::string_view chat_id);
std::optional<RunOwner> owner_of_run(Reader& reader, std::string_view run_id);
/// The ids of all runs that are minds of a chat's threads.
std::vector<std::string> runs_of_chat(Reader& reader, std::string_view chat_id);

/// A tool call that must not be made twice: begun, and its result once there is one.
struct ToolRecord {
  std::string use_id;
  std::optional<minds::ToolResult> result;
};
void begin_tool(Tx& tx, std::string_view thread, std::string_view use_id);
void end_tool(Tx& tx, std::string_view thread, const minds::ToolResult& result);
std::vector<ToolRecord> tools_begun(Reader& reader, std::string_view thread);
void forget_tools(Tx& tx, std::string_view thread);

}  // namespace cru::crew
