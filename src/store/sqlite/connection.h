#pragma once
/// Connection: one SQLite handle with its prepared statements. Used by one
/// thread at a time. Every failure is thrown as StoreFailure.
#include <sqlite3.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "platform/files/file_status.h"
#include "store/sqlite/wal_gathering.h"
#include "store/tx.h"

namespace cru::sqlite {

enum class Mode {
  writer,     ///< WAL, synchronous=FULL, no automatic checkpoints
  reader,     ///< read-only, never checkpoints
  exclusive,  ///< a writer without shared memory, for the simulator's file system
};

struct OpenOptions {
  std::string path;
  Mode mode = Mode::writer;
  std::string vfs = {};  ///< another file system than the default
  /// What a commit writes to the WAL is written in large pieces. Only where each commit is synced.
  bool gathers_writes = false;
};

class Connection {
 public:
  /// Errors: database_unavailable; details {"damaged":true} when the file is not a sound database.
  static Result<std::unique_ptr<Connection>> open(const OpenOptions& options);
  ~Connection();
  Connection(const Connection&) = delete;

  std::vector<Row> query(std::string_view sql, Bounds args = {});
  std::optional<Row> query_first(std::string_view sql, Bounds args = {});
  int64_t execute(std::string_view sql, Bounds args = {});
  /// Several statements, without arguments: schema.
  void script(std::string_view sql);
  /// The tables that were read, or may have been changed, since this was last asked.
  Tables take_read() { return std::exchange(read_, {}); }
  const Tables& read() const { return read_; }
  Tables take_written() { return std::exchange(written_, {}); }
  /// Of these the ones that the last statement may have changed.
  const Tables& just_written() const { return *just_written_; }
  /// Changes whenever another connection, of any process, has committed.
  int64_t data_version();
  /// From now on a statement fails rather than wait for a lock, or take more steps than were given.
  void be_brief();
  void give_steps(int64_t steps) { steps_left_ = steps; }
  bool is_out_of_steps() const { return steps_left_ < 0; }
  /// Rows that this connection has changed since it was opened.
  int64_t total_changes() const { return sqlite3_total_changes64(handle_); }
  int64_t last_inserted() const { return sqlite3_last_insert_rowid(handle_); }
  /// Ends a transaction that a failure has left open, if there is one.
  void roll_back();
  /// Copies what it can from the WAL into the database, without waiting for readers.
  void checkpoint();
  /// Writes zeros behind the end of the WAL, `piece` bytes at most, until it is `length` long: to sync what
  /// is written over bytes that are there takes two thirds of the time of appending. False if there is no
  /// more to do. Nothing that SQLite reads is changed.
  bool lengthen_wal(int64_t length, int64_t piece);
  /// Moved: its files are no longer where they were opened, and what is committed now nobody finds again.
  /// Cut: the database has become smaller than it was, which we never make it. Somebody has emptied or cut
  /// it, and what was in it is gone.
  enum class Files { there, moved, cut };
  Files look_at_files();
  /// Writes everything that is committed to a new database at `path`, durably.
  void copy_to(const std::string& path);
  /// Closing it touches no file by its name any more.
  void let_files_be() { set_checkpoint_on_close(false); }
  /// Pages in the WAL since the last full checkpoint.
  int wal_pages() const { return wal_pages_; }

 private:
  Connection(sqlite3* handle, std::unique_ptr<WalGathering> files)
      : files_(std::move(files)), handle_(handle) {}
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  struct Statement {
    std::unique_ptr<sqlite3_stmt, Finalizer> compiled;
    Tables reads, writes;
  };
  /// Finds by string_view, so that looking a statement up makes no string.
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  sqlite3_file* wal();
  void make_wal_durable();
  void set_checkpoint_on_close(bool allowed);
  void find_tables(std::string_view sql, Statement& statement);
  const std::string* table_at(int page);
  using Statements = std::unordered_map<std::string, Statement, TextHash, std::equal_to<>>;
  Statements::value_type& find_statement(std::string_view sql);
  struct Prepared {
    sqlite3_stmt* statement;
    const std::string& sql;  ///< as long as the connection lives
  };
  Prepared prepare(std::string_view sql, Bounds args);
  static Row row_of(const Prepared& prepared);
  [[noreturn]] void throw_failure(int code);

  std::unique_ptr<WalGathering> files_;  ///< that it was opened by, if they are our own
  sqlite3* handle_;
  Statements statements_;
  /// Statements by where their text is: nearly all are constants of the program, whose text need not be
  /// hashed again.
  std::array<Statements::value_type*, 256> by_address_ = {};
  std::unordered_map<int, std::string> roots_;  ///< tables by the first pages of their trees
  bool is_brief_ = false;
  int64_t steps_left_ = 0;
  Tables read_, written_;
  const Tables* just_written_ = &written_;
  int wal_pages_ = 0;
  void note_size();
  bool has_moved();
  std::string file_, wal_file_;  ///< empty on a file system of its own
  FileIdentity identity_, wal_identity_;
  int64_t size_ = 0;  ///< of the database, when it was last known to be sound
};

/// The error for a SQLite result code: disk_full, or database_unavailable with the reason.
Error to_error(int code, const char* message);

}  // namespace cru::sqlite
