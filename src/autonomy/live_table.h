#pragma once
/// Tables of the live agents: what they are, said, heard, were given to do, and the states they were in.
#include <map>
#include <span>
#include <vector>

#include "autonomy/live_agent.h"
#include "store/store.h"

namespace cru::autonomy {

std::span<const Migration> migrations();

/// A row of live_agents, which is all of an agent but its tasks; cheap to copy into a closure.
struct LiveRow {
  std::shared_ptr<const Nature> nature;
  State state = State::idle;
  Time since{};
  world::Tile tile;
  world::Direction facing = world::Direction::down;
  std::optional<world::Tile> held;
  std::string seat, error, last_message;
  int64_t thought = 0, cursor = 0, answered = 0;
};
LiveRow row_of(const LiveAgent& agent);
void insert_agent(Tx& tx, const LiveRow& row);
/// It is a member of the project, under its name or one like it.
void add_agent_member(Tx& tx, const Nature& nature);
void update_agent(Tx& tx, const LiveRow& row);
/// It is gone; what it said and did stays until it is purged.
void end_agent(Tx& tx, std::string_view id, Time at);
/// One that has not left.
std::optional<LiveRow> find_agent(Reader& reader, std::string_view id);
/// One that is here or has left, with when it left.
struct Lived {
  LiveRow row;
  std::optional<Time> left_at;
};
std::optional<Lived> find_lived(Reader& reader, std::string_view id);
std::vector<LiveRow> living_agents(Reader& reader);
/// True if there is or was one.
bool was_agent(Reader& reader, std::string_view id);
/// Rows of agents that left before, and old messages, at most `limit`; how many.
int64_t purge_agents(Tx& tx, Time before, int64_t limit);

/// Its mind takes no work before this time, as the provider said.
void write_limit(Tx& tx, std::string_view id, Time until);
void drop_limit(Tx& tx, std::string_view id);
std::optional<Time> find_limit(Reader& reader, std::string_view id);
std::map<std::string, Time> limits(Reader& reader);

/// A row of agent_conversations: of agent `agent_id`, which said or heard it.
struct Said {
  int64_t id = 0;  ///< given by the runtime: it rises
  std::string agent_id;
  Time at{};
  std::string sender, content, recipient;
  std::string message_id;
  std::string receipt;  ///< of one who heard it: delivered, acknowledged; or `noticed`, or `directed`
};
/// The receipt of a row that is no words: something that happened, which the agent took notice of. Its
/// content is the JSON text of `notice_of`.
inline constexpr std::string_view noticed = "noticed";
/// The receipt of words that were said in auto mode. Who answers them is decided there, so they are
/// acknowledged when they are heard, and nobody comes back to them. Others are told "acknowledged".
inline constexpr std::string_view directed = "directed";
std::string_view receipt_in_words(const Said& said);
void insert_said(Tx& tx, const Said& said);
void acknowledge(Tx& tx, const std::vector<int64_t>& ids);
/// Newest first: words, and what it took notice of.
std::vector<Said> conversation_of(Reader& reader, std::string_view agent_id, int64_t limit);
/// Newest first: words only.
std::vector<Said> words_of(Reader& reader, std::string_view agent_id, int64_t limit);
/// Newest first: what it took notice of after row `after`.
std::vector<Said> notices_of(Reader& reader, std::string_view agent_id, int64_t after, int64_t limit);
std::vector<Said> receipts_of(Reader& reader, std::string_view message_id);
json::object to_json(const Said& said);
int64_t last_said(Reader& reader);
/// What it took and has not acknowledged.
std::vector<Said> unacknowledged(Reader& reader, std::string_view agent_id, int64_t after);
/// Keeps the newest `rows` of its words, of what it noticed, of its states, and of its tasks.
void prune_history(Tx& tx, std::string_view agent_id, int64_t rows);
/// Of all agents' history what is from before, the oldest `limit` rows of each kind at most; how many.
int64_t purge_history(Tx& tx, Time before, int64_t limit);

/// A message to agents whose receipts can be asked for.
struct Sent {
  std::string message_id, sender, content;
  std::vector<std::string> recipients;
  Time at{};
};
void insert_sent(Tx& tx, const Sent& sent);
std::optional<Sent> find_sent(Reader& reader, std::string_view message_id);

void insert_task(Tx& tx, const LiveTask& task);
/// False if there is no such task of the agent, or it has ended.
bool end_task(Tx& tx, const LiveTask& task);
void begin_task(Tx& tx, std::string_view task_id);
std::optional<LiveTask> find_task(Reader& reader, std::string_view task_id);
/// Newest first.
std::vector<LiveTask> tasks_of(Reader& reader, std::string_view agent_id, int64_t limit);
/// Those that have not ended, oldest first.
std::vector<LiveTask> open_tasks(Reader& reader);

void insert_state(Tx& tx, std::string_view agent_id, State from, State to, Time at);
/// When it thought, the newest `limit` times, the oldest first; without an end: it still does.
struct Thinking {
  Time began{};
  std::optional<Time> ended = {};
  State then = State::idle;  ///< what it went on with
};
std::vector<Thinking> thoughts_of(Reader& reader, std::string_view agent_id, int64_t limit);
json::array states_of(Reader& reader, std::string_view agent_id, int64_t limit);

/// People in the world, so that the next daemon can say that they are not any more.
void write_user(Tx& tx, std::string_view id, const json::object& data);
void drop_user(Tx& tx, std::string_view id);
std::vector<json::object> users_left(Reader& reader);

/// Everybody has had the messages up to here.
void write_heard(Tx& tx, int64_t seq);
int64_t read_heard(Reader& reader);
/// The number in the last agent's id.
void write_number(Tx& tx, int64_t number);
int64_t read_number(Reader& reader);

}  // namespace cru::autonomy
