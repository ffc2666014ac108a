#include "handoffs/memory_table.h"

#include "base/id.h"
#include "handoffs/full_text.h"
#include "handoffs/text_list.h"

namespace cru::coordination {
namespace {

// The summary may be long, so the index for finding the same one again holds its hash.
constexpr Migration memory_schema[] = {{"memory", 1, R"(
CREATE TABLE memories(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, memory_id TEXT NOT NULL UNIQUE, agent_id TEXT NOT NULL,
  session_id TEXT NOT NULL, event_type TEXT NOT NULL, summary TEXT NOT NULL, details TEXT NOT NULL,
  outcome TEXT NOT NULL, lessons TEXT NOT NULL, tags TEXT NOT NULL, relevance REAL NOT NULL,
  created_at INTEGER NOT NULL, summary_hash TEXT NOT NULL);
CREATE INDEX memories_by_time ON memories(created_at, seq);
CREATE INDEX memories_by_summary ON memories(agent_id, summary_hash, created_at);
CREATE TABLE memory_tags(tag TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY(tag, seq)) WITHOUT ROWID;
CREATE INDEX memory_tags_by_memory ON memory_tags(seq);
CREATE VIRTUAL TABLE memory_words USING fts5(summary, outcome, lessons, tags, details);
)"}};

constexpr int64_t max_memories = 50000;

#define MEMORY_COLUMNS                                                                                \
  "m.memory_id, m.agent_id, m.session_id, m.event_type, m.summary, m.details, m.outcome, m.lessons, " \
  "m.tags, "                                                                                          \
  "m.relevance, m.created_at"
#define MEMORY_FILTER               \
  " (?1 = '' OR m.event_type = ?1)" \
  " AND (?2 = '[]' OR m.seq IN (SELECT t.seq FROM memory_tags t, json_each(?2) j WHERE t.tag = j.value))"

Memory to_memory(const Row& row) {
  Memory memory{.memory_id = row.text(0),
                .agent_id = row.text(1),
                .session_id = row.text(2),
                .event_type = row.text(3),
                .summary = row.text(4),
                .outcome = row.text(6),
                .lessons = from_text_list(row.text(7)),
                .tags = from_text_list(row.text(8)),
                .relevance = row.real(9),
                .created_at = row.time(10)};
  if (auto details = parse_json(row.text(5))) memory.details = *std::move(details);
  return memory;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const auto& text : texts) all += text + '\n';
  return all;
}

void index(Tx& tx, int64_t seq, const Memory& memory) {
  for (const auto& tag : memory.tags)
    tx.exec("INSERT OR IGNORE INTO memory_tags(tag, seq) VALUES(?, ?)", tag, seq);
  tx.exec(
      "INSERT INTO memory_words(rowid, summary, outcome, lessons, tags, details) VALUES(?, ?, ?, ?, ?, ?)",
      seq, memory.summary, memory.outcome, joined(memory.lessons), joined(memory.tags),
      memory.details.is_null() ? std::string() : to_text(memory.details));
}

int64_t seq_of(Reader& reader, const Memory& memory) {
  return reader.row("SELECT seq FROM memories WHERE memory_id = ?", memory.memory_id)->integer(0);
}

}  // namespace

std::span<const Migration> memory_migrations() { return memory_schema; }

void add_memory(Tx& tx, const Memory& memory) {
  tx.exec(
      "INSERT INTO memories(memory_id, agent_id, session_id, event_type, summary, details, outcome, lessons, "
      "tags,"
      " relevance, created_at, summary_hash) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      memory.memory_id, memory.agent_id, memory.session_id, memory.event_type, memory.summary,
      to_text(memory.details), memory.outcome, to_text_list(memory.lessons), to_text_list(memory.tags),
      memory.relevance, memory.created_at, fnv1a_hex(memory.summary));
  auto seq = seq_of(tx, memory);
  index(tx, seq, memory);
  tx.exec("DELETE FROM memories WHERE seq <= ?", seq - max_memories);
  tx.exec("DELETE FROM memory_tags WHERE seq <= ?", seq - max_memories);
  tx.exec("DELETE FROM memory_words WHERE rowid <= ?", seq - max_memories);
}

void update_memory(Tx& tx, const Memory& memory) {
  auto seq = seq_of(tx, memory);
  tx.exec("UPDATE memories SET lessons = ?, tags = ? WHERE seq = ?", to_text_list(memory.lessons),
          to_text_list(memory.tags), seq);
  tx.exec("DELETE FROM memory_words WHERE rowid = ?", seq);
  index(tx, seq, memory);
}

std::optional<Memory> find_same(Reader& reader, const Memory& memory, Time since) {
  auto row = reader.row("SELECT " MEMORY_COLUMNS
                        " FROM memories m WHERE m.agent_id = ? AND m.summary_hash = ? AND m.created_at > ?"
                        " AND m.event_type = ? AND m.summary = ? ORDER BY m.created_at, m.seq LIMIT 1",
                        memory.agent_id, fnv1a_hex(memory.summary), since, memory.event_type, memory.summary);
  if (!row) return {};
  return to_memory(*row);
}

std::vector<Candidate> find_candidates(Reader& reader, const Recall& recall) {
  auto words = full_text_query(recall.query, Words::any);
  auto tags = to_text_list(recall.tags);
  auto rows = words.empty()
                  ? reader.rows("SELECT " MEMORY_COLUMNS ", m.seq, 0.0 FROM memories m WHERE" MEMORY_FILTER
                                " ORDER BY m.created_at DESC, m.seq DESC LIMIT 1000",
                                recall.event_type, tags)
                  : reader.rows("SELECT " MEMORY_COLUMNS
                                ", m.seq, w.rank FROM memory_words w JOIN memories m ON m.seq = w.rowid"
                                " WHERE memory_words MATCH ?3 AND" MEMORY_FILTER
                                " ORDER BY w.rank, m.created_at DESC, m.seq DESC LIMIT 1000",
                                recall.event_type, tags, words);
  std::vector<Candidate> candidates;
  for (const auto& row : rows)
    candidates.push_back({.memory = to_memory(row), .seq = row.integer(11), .bm25 = row.real(12)});
  return candidates;
}

}  // namespace cru::coordination
