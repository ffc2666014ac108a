#include "store/event_table.h"

#include <algorithm>

#include "store/columns.h"

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

constexpr auto event_columns =
    columns<Event>("events", column("seq", &Event::seq), column("type", &Event::type),
                   column("entity", &Event::entity), column("at", &Event::at), column("data", &Event::data));

/// That some event of a block is about an entity.
struct EntityInBlock {
  std::string key;
  int64_t block = 0;
};
constexpr auto entity_columns = columns<EntityInBlock>(
    "event_entities", column("entity", &EntityInBlock::key), column("block", &EntityInBlock::block));

/// What a statement finds that gives one number or null. A damaged one is 0, and not none.
std::optional<int64_t> find_number(Reader& reader, std::string_view sql, const auto&... args) {
  auto row = reader.row(sql, args...);
  return row && !row->is_null(0) ? std::optional(row->integer(0)) : std::nullopt;
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
    auto block = find_number(reader, "SELECT min(block) FROM event_entities WHERE entity = ? AND block >= ?",
                             key, from / entity_block);
    if (block) next = std::min(next.value_or(impossible_seq), *block);
  }
  if (!next) return std::max(from, unfinished_block(last));
  return std::max(from, std::clamp<int64_t>(*next, 0, impossible_seq / entity_block) * entity_block);
}

}  // namespace

std::span<const Migration> event_migrations() { return event_schema; }

EventBounds read_bounds(Reader& reader) {
  auto stored = read_value<int64_t, int64_t>(reader, "SELECT floor, last FROM event_bounds");
  // A number beyond any that we ever gave is not the last one.
  auto newest = find_number(reader, "SELECT max(seq) FROM events WHERE seq < ?", impossible_seq);
  auto sound = [](int64_t seq) { return seq >= 0 && seq < impossible_seq ? seq : 0; };
  auto [floor, last] = stored.value_or(std::tuple(0, 0));
  last = std::max(sound(newest.value_or(0)), sound(last));
  return {std::min(sound(floor), last), last};
}

EventWriter EventWriter::resume(Reader& reader) {
  auto last = read_bounds(reader).last;
  EventWriter writer(last, *read_value<Time>(reader, "SELECT max(at) FROM events WHERE seq >= ?",
                                             last / mark_block * mark_block));
  for (auto& entity : read_values<std::string>(
           reader, "SELECT DISTINCT entity FROM events WHERE seq >= ? AND seq <= ? AND entity <> ''",
           unfinished_block(last), last))
    writer.entities_.insert(std::move(entity));
  return writer;
}

std::vector<Event> EventWriter::write(Tx& tx, std::vector<NewEvent> fresh) {
  std::vector<Event> events;
  events.reserve(fresh.size());
  for (auto& event : fresh) {
    events.push_back({++last_, std::move(event.type), std::move(event.entity), tx.now(),
                      event.text.empty() ? to_text(event.data) : std::move(event.text)});
    mark(tx, events.back());
  }
  // Whatever fails here, the whole commit does: SQLite need not be able to undo a single statement.
  insert_rows<event_columns, "INSERT OR FAIL">(tx, events);
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
  std::vector<EntityInBlock> in_order;
  in_order.reserve(entities_.size());
  for (const auto& entity : entities_) in_order.push_back({index_key(entity), event.seq / entity_block});
  std::ranges::sort(in_order, {}, &EntityInBlock::key);
  insert_rows<entity_columns, "INSERT OR IGNORE">(tx, in_order);
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
    // Made into events one by one, for mostly fewer are wanted.
    auto rows = reader.rows(
        select<event_columns, "SELECT {} FROM events WHERE seq >= ? AND seq <= ? ORDER BY seq LIMIT 512">,
        from, to);
    for (const auto& row : rows) {
      auto event = event_columns.read(row);
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
    auto kept = find_number(reader, "SELECT min(seq) FROM events WHERE seq <= ? AND entity = ? AND at >= ?",
                            bounds.floor, entity, at);
    if (kept) return *kept - 1;
  }
  auto mark = find_number(reader, "SELECT min(block) FROM event_marks WHERE latest >= ?", at);
  auto newest = find_number(reader, "SELECT max(block) FROM event_marks");
  int64_t from = bounds.floor;
  // Blocks without a mark are the unfinished last one.
  if (mark)
    from = place_of(*mark);
  else if (newest)
    from = place_of(*newest) + mark_block;
  auto first = find_number(reader, "SELECT min(seq) FROM events WHERE seq >= ? AND seq > ? AND at >= ?", from,
                           bounds.floor, at);
  return first ? *first - 1 : bounds.last;
}

int64_t delete_events(Tx& tx, int64_t up_to, const std::vector<std::string>& keep, int64_t limit) {
  auto bounds = read_bounds(tx);
  up_to = std::max(bounds.floor, std::min({up_to, bounds.last, bounds.floor + limit}));
  auto kept = to_column(keep);
  auto deleted = tx.exec(
      "DELETE FROM events WHERE seq > ? AND seq <= ? AND entity NOT IN (SELECT value FROM json_each(?))",
      bounds.floor, up_to, kept);
  tx.exec("UPDATE event_bounds SET floor = ?, last = ?", up_to, bounds.last);
  // What an earlier pass kept for a run that was live then, and no longer is.
  deleted += tx.exec(
      "DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE seq <= ?1 AND entity NOT IN"
      " (SELECT value FROM json_each(?2)) LIMIT ?3)",
      up_to, kept, limit);
  auto kept_keys = keep;
  for (const auto& entity : keep) kept_keys.push_back(index_key(entity));
  tx.exec("DELETE FROM event_entities WHERE block < ?1 AND entity NOT IN (SELECT value FROM json_each(?2))",
          up_to / entity_block, to_column(kept_keys));
  tx.exec("DELETE FROM event_marks WHERE block < ?", up_to / mark_block);
  return deleted;
}

}  // namespace cru
