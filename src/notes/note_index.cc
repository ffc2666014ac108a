#include "notes/note_index.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/text.h"
#include "notes/note_text.h"
#include "platform/files/files.h"

namespace cru::notes {
namespace {

constexpr std::string_view version = "1";
constexpr std::string_view schema = R"(
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE notes(id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, title TEXT NOT NULL, bytes INTEGER NOT NULL,
  changed_ns INTEGER NOT NULL, inode INTEGER NOT NULL);
CREATE TABLE pieces(id INTEGER PRIMARY KEY AUTOINCREMENT, note INTEGER NOT NULL, line INTEGER NOT NULL, meaning BLOB);
CREATE INDEX pieces_of ON pieces(note);
CREATE VIRTUAL TABLE words USING fts5(title, heading, body, tokenize='porter unicode61');
INSERT INTO words(words, rank) VALUES('rank', 'bm25(4.0, 2.0, 1.0)');
)";

void remove_files(const std::string& file) {
  for (auto ending : {"", "-wal", "-shm", "-journal"}) (void)remove_file(file + ending);
}

std::string to_bytes(const Meaning& meaning) {
  std::string bytes(dimensions + sizeof(float), '\0');
  std::memcpy(bytes.data(), meaning.values.data(), dimensions);
  std::memcpy(bytes.data() + dimensions, &meaning.inverse_length, sizeof(float));
  return bytes;
}

/// What sorts directly behind everything below the folder `path`.
std::string past(const std::string& path) { return path + "0"; }  // '0' follows '/'

}  // namespace

void NoteIndex::let_go() {
  connection_.reset();
  held_ = {};
  holds_meanings_ = false;
}

void NoteIndex::make_anew() {
  let_go();
  remove_files(options_.file);
}

Error NoteIndex::give_up(Error error) {
  let_go();
  if (is_damage(error)) make_anew();
  return error;
}

Row NoteIndex::only_row(std::string_view sql) {
  auto rows = connection_->query(sql);
  if (rows.empty()) throw StoreFailure{Error{Code::database_unavailable, "the notes index does not respond"}};
  return std::move(rows[0]);
}

void NoteIndex::open() {
  if (connection_) return;
  for (bool again : {true, false}) {
    auto opened = sqlite::Connection::open({.path = options_.file});
    if (!opened && !(again && is_damage(opened.error()))) throw StoreFailure{opened.error()};
    if (opened) {
      connection_ = std::move(*opened);
      // Derived: what a loss of power takes is made again. A killed daemon takes nothing.
      connection_->script("PRAGMA synchronous=OFF");
      if (connection_->query("SELECT 1 FROM sqlite_schema").empty()) {
        connection_->script(schema);
        connection_->execute("INSERT INTO meta VALUES('version', ?)", {std::string(version)});
        connection_->execute("INSERT INTO meta VALUES('boot', ?)", {options_.boot_id});
        connection_->execute("INSERT INTO meta VALUES('table', ?)",
                             {int64_t(options_.table ? options_.table->size() : 0)});
        return;
      }
      auto value = [this](const char* key) {
        auto rows = connection_->query("SELECT value FROM meta WHERE key = ?", {std::string(key)});
        return rows.empty() ? std::string() : rows[0].text(0);
      };
      bool sound = false;
      try {
        sound = value("version") == version &&
                value("table") == std::to_string(options_.table ? options_.table->size() : 0);
        if (sound && value("boot") != options_.boot_id) {
          sound = only_row("PRAGMA quick_check(1)").text(0) == "ok";
          connection_->execute("UPDATE meta SET value = ? WHERE key = 'boot'", {options_.boot_id});
        }
      } catch (const StoreFailure&) {
        sound = false;  // no table `meta`, or damage
      }
      if (sound) return;
    }
    make_anew();
  }
  throw StoreFailure{Error{Code::database_unavailable, "the notes index cannot be created"}};
}

Result<> NoteIndex::forget() {
  make_anew();
  return {};
}

Result<int64_t> NoteIndex::count() {
  return guarded([this] { return only_row("SELECT count(*) FROM notes").integer(0); });
}

std::vector<NoteIndex::Known> NoteIndex::known_below(const std::string& path) {
  constexpr std::string_view all = "SELECT id, path, bytes, changed_ns, inode FROM notes ORDER BY path";
  constexpr std::string_view some =
      "SELECT id, path, bytes, changed_ns, inode FROM notes WHERE path = ?1 OR (path > ?2 AND path < ?3) "
      "ORDER BY path";
  std::vector<Known> known;
  for (const auto& row :
       path.empty() ? connection_->query(all) : connection_->query(some, {path, path + "/", past(path)}))
    known.push_back({row.integer(0), {row.text(1), row.integer(2), row.integer(3), row.integer(4)}});
  return known;
}

void NoteIndex::compare_below(const NoteFiles& files, const std::string& path, Plan& plan) {
  std::vector<Stamp> found;
  auto known = known_below(path);
  bool may_be_file = !path.empty() && may_be_note(path);
  if (auto part = may_be_file ? files.read(path, 0, 0, Links::refused) : fail(Code::not_found, ""))
    found.push_back(part->stamp);
  else if (auto walk = files.walk(path, options_.max_notes))
    found = std::move(walk->notes);
  else
    throw StoreFailure{walk.error()};
  auto old = known.begin();
  for (auto& stamp : found) {
    for (; old != known.end() && old->stamp.path < stamp.path; ++old) plan.removed.push_back(old->id);
    bool is_known = old != known.end() && old->stamp.path == stamp.path;
    if (!is_known || old->stamp != stamp) plan.changed.push_back(std::move(stamp));
    if (is_known) ++old;
  }
  for (; old != known.end(); ++old) plan.removed.push_back(old->id);
}

Result<Plan> NoteIndex::compare(const NoteFiles& files,
                                const std::optional<std::vector<std::string>>& paths) {
  return guarded([&] {
    Plan plan;
    if (!paths)
      compare_below(files, "", plan);
    else
      for (const auto& path : *paths) compare_below(files, path, plan);
    return plan;
  });
}

void NoteIndex::drop(const std::vector<int64_t>& notes) {
  for (auto note : notes) {
    connection_->execute("DELETE FROM words WHERE rowid IN (SELECT id FROM pieces WHERE note = ?)", {note});
    connection_->execute("DELETE FROM pieces WHERE note = ?", {note});
    connection_->execute("DELETE FROM notes WHERE id = ?", {note});
  }
  if (!holds_meanings_ || notes.empty()) return;
  std::unordered_set<int64_t> gone(notes.begin(), notes.end());
  std::erase_if(held_, [&](const Held& held) { return gone.contains(held.note); });
}

void NoteIndex::add(const Stamp& stamp, const std::string& text) {
  auto title = title_of(text, stamp.path);
  connection_->execute("INSERT INTO notes(path, title, bytes, changed_ns, inode) VALUES(?, ?, ?, ?, ?)",
                       {stamp.path, title, stamp.bytes, stamp.changed_ns, stamp.inode});
  auto last_id = [this] { return only_row("SELECT last_insert_rowid()").integer(0); };
  auto note = last_id();
  auto named = title + " " + valid_utf8(name_of(stamp.path));
  for (const auto& piece : split(text)) {
    Meaning meaning;
    if (options_.table)
      meaning = options_.table->meaning_of(words_of(title + "\n" + piece.heading + "\n" + piece.text));
    auto bytes = meaning.is_known() ? std::optional(to_bytes(meaning)) : std::nullopt;
    connection_->execute("INSERT INTO pieces(note, line, meaning) VALUES(?, ?, CAST(? AS BLOB))",
                         {note, int64_t(piece.line), to_bound(bytes)});
    auto id = last_id();
    connection_->execute("INSERT INTO words(rowid, title, heading, body) VALUES(?, ?, ?, ?)",
                         {id, named, piece.heading, valid_utf8(piece.text)});
    if (holds_meanings_ && meaning.is_known()) held_.push_back({id, note, meaning});
  }
}

Result<size_t> NoteIndex::take(const NoteFiles& files, const std::vector<Stamp>& changed, size_t from,
                               Duration limit) {
  auto until = std::chrono::steady_clock::now() + limit;
  return guarded([&] {
    size_t done = 0;
    connection_->script("BEGIN");
    for (size_t i = from; i < changed.size() && done < 512; ++i, ++done) {
      if (done > 0 && std::chrono::steady_clock::now() >= until) break;
      const auto& stamp = changed[i];
      auto known = connection_->query("SELECT id FROM notes WHERE path = ?", {stamp.path});
      if (!known.empty()) drop({known[0].integer(0)});
      auto part = files.read(stamp.path, 0, options_.max_note_bytes, Links::refused);
      if (part) add(part->stamp, part->bytes);  // gone meanwhile: the watch tells
    }
    connection_->script("COMMIT");
    connection_->checkpoint();
    return done;
  });
}

Result<> NoteIndex::remove(const std::vector<int64_t>& notes) {
  return guarded([&] {
    connection_->script("BEGIN");
    drop(notes);
    connection_->script("COMMIT");
    connection_->checkpoint();
  });
}

Result<> NoteIndex::settle() {
  return guarded([&] {
    connection_->script("INSERT INTO words(words) VALUES('optimize')");
    connection_->checkpoint();
  });
}

}  // namespace cru::notes
