#include "store/event_table.h"

#include <algorithm>

namespace cru {
namespace {

constexpr int64_t entity_block = 4096;
constexpr int64_t mark_block = 1024;
constexpr int64_t max_scanned = 4096;

constexpr Migration event_schema[] = {{"events", 1, R"(
CREATE TABLE events(seq INTEGER PRIMARY KEY, type TEXT NOT NULL, entity TEXT NOT NULL, at INTEGER NOT NULL, data TEXT NOT NULL);
CREATE TABLE event_entities(entity TEXT NOT NULL, block INTEGER NOT NULL, PRIMARY KEY(entity, block)) WITHOUT ROWID;
CREATE TABLE event_marks(block INTEGER PRIMARY KEY, latest INTEGER NOT NULL);
CREATE TABLE event_bounds(id INTEGER PRIMARY KEY CHECK(id = 1), floor INTEGER NOT NULL, last INTEGER NOT NULL);
INSERT INTO event_bounds VALUES(1, 0, 0);
)"}};

constexpr int64_t impossible_seq = int64_t(1) << 53;

Event to_event(const Row& row) {
  return {row.integer(0), row.text(1), row.text(2), row.time(3), row.text(4)};
}

/// Where a block of marks begins.
int64_t place_of(int64_t block) {
  return std::clamp<int64_t>(block, 0, impossible_seq / mark_block) * mark_block;
}

/// Where the block begins that is not full yet, and of which nothing is written down.
int64_t unfinished_block(int64_t last) { return (last + 1) / entity_block * entity_block; }

/// By what an entity stands in the index: the ids of work items end with their time (base/id.h), and so items
/// of one time stand together, on few pages. The rows of earlier versions have the entity as it is.
std::string index_key(std::string_view entity) {
  constexpr size_t time_size = 12;
  if (entity.size() < time_size) return std::string(entity);
  auto end = entity.size() - time_size;
  std::string key(entity.substr(end));
  return key += entity.substr(0, end);
}

/// The next place at or after `from` where events of `entity` may be: `from` itself inside a block that may
/// hold the entity, else the start of the next such block.
int64_t next_place(Reader& reader, const std::string& entity, int64_t from, int64_t last) {
  std::optional<int64_t> next;
  for (const auto& key : {index_key(entity), entity}) {
    auto row = reader.row("SELECT min(block) FROM event_entities WHERE entity = ? AND block >= ?", key,
                          from / entity_block);
    if (row && !row->is_null(0)) next = std::min(next.value_or(impossible_seq), row->integer(0));
  }
  if (!next) return std::max(from, unfinished_block(last));
  return std::max(from, std::clamp<int64_t>(*next, 0, impossible_seq / entity_block) * entity_block);
}

}  // namespace

std::span<const Migration> event_migrations() { return event_schema; }

EventBounds read_bounds(Reader& reader) {
  auto stored = reader.row("SELECT floor, last FROM event_bounds");
  // A number beyond any that we ever gave is not the last one.
  auto newest = reader.row("SELECT max(seq) FROM events WHERE seq < ?", impossible_seq);
  auto sound = [](int64_t seq) { return seq >= 0 && seq < impossible_seq ? seq : 0; };
  auto last = newest ? sound(newest->integer(0)) : 0;
  if (!stored) return {0, last};
  last = std::max(last, sound(stored->integer(1)));
  return {std::min(sound(stored->integer(0)), last), last};
}

EventWriter EventWriter::resume(Reader& reader) {
  auto last = read_bounds(reader).last;
  auto row = reader.row("SELECT max(at) FROM events WHERE seq >= ?", last / mark_block * mark_block);
  EventWriter writer(last, row->time(0));
  auto block = unfinished_block(last);
  for (const auto& found : reader.rows(
           "SELECT DISTINCT entity FROM events WHERE seq >= ? AND seq <= ? AND entity <> ''", block, last))
    writer.entities_.insert(found.text(0));
  return writer;
}

std::vector<Event> EventWriter::write(Tx& tx, std::vector<NewEvent> fresh) {
  std::vector<Event> events;
  events.reserve(fresh.size());
  for (auto& event : fresh) {
    events.push_back({++last_, std::move(event.type), std::move(event.entity), tx.now(),
                      event.text.empty() ? to_text(event.data) : std::move(event.text)});
    const auto& added = events.back();
    tx.exec("INSERT INTO events(seq, type, entity, at, data) VALUES(?, ?, ?, ?, ?)", added.seq, added.type,
            added.entity, added.at, added.data);
    mark(tx, added);
  }
  return events;
}

void EventWriter::mark(Tx& tx, const Event& event) {
  if (event.seq % mark_block == 0) latest_ = {};
  latest_ = std::max(latest_, event.at);
  if ((event.seq + 1) % mark_block == 0)
    tx.exec("INSERT OR REPLACE INTO event_marks(block, latest) VALUES(?, ?)", event.seq / mark_block,
            latest_);
  if (!event.entity.empty()) entities_.insert(event.entity);
  if ((event.seq + 1) % entity_block != 0) return;
  // In order, at the end of the block: so a page of the index is written once for many entities.
  std::vector<std::string> in_order;
  in_order.reserve(entities_.size());
  for (const auto& entity : entities_) in_order.push_back(index_key(entity));
  std::ranges::sort(in_order);
  for (const auto& key : in_order)
    tx.exec("INSERT OR IGNORE INTO event_entities(entity, block) VALUES(?, ?)", key,
            event.seq / entity_block);
  entities_.clear();
}

EventPage read_events(Reader& reader, int64_t after, const EventFilter& filter, size_t limit) {
  EventPage page{{}, after, false};
  auto last = read_bounds(reader).last;
  int64_t scanned_rows = 0;
  while (page.events.size() < limit && scanned_rows < max_scanned) {
    int64_t from = page.scanned + 1;
    int64_t to = last;
    if (!filter.entity.empty()) {
      from = next_place(reader, filter.entity, from, last);
      if (from > last) {
        page.scanned = std::max(page.scanned, last);
        break;
      }
      to = std::min(last, (from / entity_block + 1) * entity_block - 1);
    }
    auto rows = reader.rows(
        "SELECT seq, type, entity, at, data FROM events WHERE seq >= ? AND seq <= ? ORDER BY seq LIMIT 512",
        from, to);
    for (const auto& row : rows) {
      auto event = to_event(row);
      if (page.events.size() == limit) break;
      page.scanned = event.seq;
      if (filter.matches(event)) page.events.push_back(std::move(event));
    }
    scanned_rows += 1 + static_cast<int64_t>(rows.size());
    if (rows.size() < 512 && page.events.size() < limit) page.scanned = std::max(page.scanned, to);
    if (page.scanned >= last) break;
  }
  page.more = page.scanned < last;
  return page;
}

int64_t find_cursor(Reader& reader, Time at, std::string_view entity) {
  auto bounds = read_bounds(reader);
  if (!entity.empty()) {
    // Below the floor only events of runs that were live are left: few enough to look at.
    auto kept = reader.row("SELECT min(seq) FROM events WHERE seq <= ? AND entity = ? AND at >= ?",
                           bounds.floor, entity, at);
    if (kept && !kept->is_null(0)) return kept->integer(0) - 1;
  }
  auto mark = reader.row("SELECT min(block) FROM event_marks WHERE latest >= ?", at);
  auto newest = reader.row("SELECT max(block) FROM event_marks");
  int64_t from = bounds.floor;
  // Blocks without a mark are the unfinished last one.
  if (mark && !mark->is_null(0))
    from = place_of(mark->integer(0));
  else if (newest && !newest->is_null(0))
    from = place_of(newest->integer(0)) + mark_block;
  auto first = reader.row("SELECT min(seq) FROM events WHERE seq >= ? AND seq > ? AND at >= ?", from,
                          bounds.floor, at);
  return first && !first->is_null(0) ? first->integer(0) - 1 : bounds.last;
}

int64_t delete_events(Tx& tx, int64_t up_to, const std::vector<std::string>& keep, int64_t limit) {
  auto bounds = read_bounds(tx);
  up_to = std::max(bounds.floor, std::min({up_to, bounds.last, bounds.floor + limit}));
  std::string kept = "[]";
  {
    json::array names;
    for (const auto& name : keep) names.emplace_back(name);
    kept = to_text(names);
  }
  auto deleted = tx.exec(
      "DELETE FROM events WHERE seq > ? AND seq <= ? AND entity NOT IN (SELECT value FROM json_each(?))",
      bounds.floor, up_to, kept);
  tx.exec("UPDATE event_bounds SET floor = ?, last = ?", up_to, bounds.last);
  // What an earlier pass kept for a run that was live then, and no longer is.
  deleted += tx.exec(
      "DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE seq <= ?1 AND entity NOT IN"
      " (SELECT value FROM json_each(?2)) LIMIT ?3)",
      up_to, kept, limit);
  tx.exec("DELETE FROM event_entities WHERE block < ?1 AND entity NOT IN (SELECT value FROM json_each(?2))",
          up_to / entity_block, kept);
  tx.exec("DELETE FROM event_marks WHERE block < ?", up_to / mark_block);
  return deleted;
}

}  // namespace cru
