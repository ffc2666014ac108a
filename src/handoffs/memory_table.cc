#include "handoffs/memory_table.h"

#include "base/id.h"
#include "handoffs/full_text.h"
#include "store/columns.h"

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

constexpr auto memory_columns = columns<Memory>(
    "memories", column("memory_id", &Memory::memory_id), column("agent_id", &Memory::agent_id),
    column("session_id", &Memory::session_id), column("event_type", &Memory::event_type),
    column("summary", &Memory::summary), column("details", &Memory::details),
    column("outcome", &Memory::outcome), column("lessons", &Memory::lessons), column("tags", &Memory::tags),
    column("relevance", &Memory::relevance), column("created_at", &Memory::created_at));

#define MEMORY_FILTER               \
  " (?1 = '' OR m.event_type = ?1)" \
  " AND (?2 = '[]' OR m.seq IN (SELECT t.seq FROM memory_tags t, json_each(?2) j WHERE t.tag = j.value))"

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
  insert_row<memory_columns, "summary_hash">(tx, memory, fnv1a_hex(memory.summary));
  auto seq = seq_of(tx, memory);
  index(tx, seq, memory);
  tx.exec("DELETE FROM memories WHERE seq <= ?", seq - max_memories);
  tx.exec("DELETE FROM memory_tags WHERE seq <= ?", seq - max_memories);
  tx.exec("DELETE FROM memory_words WHERE rowid <= ?", seq - max_memories);
}

void update_memory(Tx& tx, const Memory& memory) {
  auto seq = seq_of(tx, memory);
  update_row<memory_columns, "memory_id", "lessons", "tags">(tx, memory);
  tx.exec("DELETE FROM memory_words WHERE rowid = ?", seq);
  index(tx, seq, memory);
}

std::optional<Memory> find_same(Reader& reader, const Memory& memory, Time since) {
  return read_row<memory_columns,
                  "SELECT {} FROM memories WHERE agent_id = ? AND summary_hash = ? AND created_at > ?"
                  " AND event_type = ? AND summary = ? ORDER BY created_at, seq LIMIT 1">(
      reader, memory.agent_id, fnv1a_hex(memory.summary), since, memory.event_type, memory.summary);
}

std::vector<Candidate> find_candidates(Reader& reader, const Recall& recall) {
  auto words = full_text_query(recall.query, Words::any);
  auto tags = to_column(recall.tags);
  auto found =
      words.empty()
          ? read_rows<memory_columns,
                      "SELECT {m}, m.seq, 0.0 FROM memories m WHERE" MEMORY_FILTER
                      " ORDER BY m.created_at DESC, m.seq DESC LIMIT 1000",
                      int64_t, double>(reader, recall.event_type, tags)
          : read_rows<memory_columns,
                      "SELECT {m}, m.seq, w.rank FROM memory_words w JOIN memories m ON m.seq = w.rowid"
                      " WHERE memory_words MATCH ?3 AND" MEMORY_FILTER
                      " ORDER BY w.rank, m.created_at DESC, m.seq DESC LIMIT 1000",
                      int64_t, double>(reader, recall.event_type, tags, words);
  std::vector<Candidate> candidates;
  for (auto& [memory, seq, rank] : found)
    candidates.push_back({.memory = std::move(memory), .seq = seq, .bm25 = rank});
  return candidates;
}

}  // namespace cru::coordination
