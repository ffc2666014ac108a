#include "store/sqlite/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "base/id.h"
#include "platform/files/cached_reading.h"
#include "platform/process/heap.h"

namespace cru::sqlite {

Error to_error(int code, const char* message) {
  int primary = code & 0xff;
  if (primary == SQLITE_FULL)
    return {Code::disk_full, "the disk is full", "", "free some space; nothing was changed"};
  Error error{Code::database_unavailable, fmt::format("the database cannot be used: {}", message)};
  if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB) error.details = R"({"damaged":true})";
  return error;
}

namespace {

/// fnv1a(TEXT) in SQL, which migrations use.
void hash_text(sqlite3_context* context, int /*count*/, sqlite3_value** values) {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_value_text(values[0]));
  auto size = static_cast<size_t>(sqlite3_value_bytes(values[0]));
  sqlite3_result_int64(context, static_cast<sqlite3_int64>(fnv1a({bytes ? bytes : "", size})));
}

/// SQLite's own files take at most 128 KiB at a time, and write nothing of what is a multiple of that.
constexpr sqlite3_int64 max_piece = 64 << 10;

bool is_all_zeros(std::string_view bytes) {
  return bytes.empty() ||
         (bytes[0] == '\0' && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

/// Writes a file's bytes over themselves and syncs them. Where there are only zeros no frame has ever been.
int rewrite(sqlite3_file* file) {
  const auto& call = *file->pMethods;
  sqlite3_int64 size = 0;
  std::string piece;
  int code = call.xFileSize(file, &size);
  for (sqlite3_int64 at = 0; code == SQLITE_OK && at < size; at += static_cast<sqlite3_int64>(piece.size())) {
    piece.resize(static_cast<size_t>(std::min<sqlite3_int64>(size - at, max_piece)));
    auto length = static_cast<int>(piece.size());
    code = call.xRead(file, piece.data(), length, at);
    // A piece of full length cannot lie within one frame; the last one can.
    bool is_no_frame = length == max_piece && is_all_zeros(piece);
    if (code == SQLITE_OK && !is_no_frame) code = call.xWrite(file, piece.data(), length, at);
  }
  return code == SQLITE_OK && size > 0 ? call.xSync(file, SQLITE_SYNC_NORMAL) : code;
}

/// Before SQLite's first call. Nobody asks how much memory it uses, and to count it takes a lock for each
/// piece.
void set_up_library() {
  static std::once_flag once;
  std::call_once(once, [] {
    static sqlite3_mem_methods memory = {
        .xMalloc = [](int size) { return Heap::allocate(static_cast<size_t>(size)); },
        .xFree = [](void* piece) { Heap::release(piece); },
        .xRealloc = [](void* piece, int size) { return Heap::resize(piece, static_cast<size_t>(size)); },
        .xSize = [](void* piece) { return piece ? static_cast<int>(Heap::size_of(piece)) : 0; },
        .xRoundup = [](int size) { return (size + 7) / 8 * 8; },
        .xInit = [](void*) { return SQLITE_OK; },
        .xShutdown = [](void*) {},
        .pAppData = nullptr};
    sqlite3_config(SQLITE_CONFIG_MALLOC, &memory);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  });
}

/// SQLite reads files by our function, which on the loop's thread waits for no disk.
void read_by_offset() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (auto* files = sqlite3_vfs_find(nullptr))
      files->xSetSystemCall(files, "pread64", reinterpret_cast<sqlite3_syscall_ptr>(&read_at_offset));
  });
}

/// Writes zeros behind a file's end and syncs them.
int append_zeros(sqlite3_file* file, sqlite3_int64 from, sqlite3_int64 to) {
  const auto& call = *file->pMethods;
  const std::string zeros(max_piece, '\0');
  int code = SQLITE_OK;
  for (auto at = from; code == SQLITE_OK && at < to; at += max_piece)
    code = call.xWrite(file, zeros.data(), static_cast<int>(std::min(to - at, max_piece)), at);
  if (code == SQLITE_OK) code = call.xSync(file, SQLITE_SYNC_NORMAL);
  if (code != SQLITE_OK) call.xTruncate(file, from);
  return code;
}

constexpr int steps_a_look = 256, steps_a_statement = 32;

}  // namespace

Result<std::unique_ptr<Connection>> Connection::open(const OpenOptions& options) {
  set_up_library();
  read_by_offset();
  sqlite3* handle = nullptr;
  int flags =
      options.mode == Mode::reader ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  auto files = options.gathers_writes ? std::make_unique<WalGathering>(options.vfs) : nullptr;
  const auto& vfs = files && !files->name().empty() ? files->name() : options.vfs;
  int code = sqlite3_open_v2(options.path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX,
                             vfs.empty() ? nullptr : vfs.c_str());
  std::unique_ptr<Connection> connection(new Connection(handle, std::move(files)));
  if (code != SQLITE_OK) return fail(to_error(code, handle ? sqlite3_errmsg(handle) : sqlite3_errstr(code)));
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_create_function_v2(handle, "fnv1a", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr, hash_text,
                             nullptr, nullptr, nullptr);
  sqlite3_busy_timeout(handle, 2000);
  try {
    if (options.mode == Mode::exclusive) connection->script("PRAGMA locking_mode=EXCLUSIVE");
    // Two connections that checkpoint can corrupt a WAL before 3.51.3: only the writer does, and by hand.
    connection->script("PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=-1024; PRAGMA temp_store=MEMORY");
    if (options.mode == Mode::reader)
      connection->script("PRAGMA query_only=1");
    else
      // The writer keeps more in memory: a page that it spills is written twice. What is deleted is
      // overwritten where that costs no further page; Debian's SQLite would write those too.
      connection->script(
          "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA "
          "cache_size=-8192; PRAGMA secure_delete=FAST");
    connection->query("SELECT count(*) FROM sqlite_schema");
    // A reader never checkpoints, and as the last one on files that were removed it would delete the WAL of
    // those that were made in their place.
    if (options.mode == Mode::reader) connection->set_checkpoint_on_close(false);
    if (options.mode != Mode::reader) connection->make_wal_durable();
    if (options.mode == Mode::writer && options.vfs.empty()) {
      connection->file_ = options.path;
      connection->wal_file_ = options.path + "-wal";
      connection->note_size();
      connection->identity_ = file_identity(options.path);
      // It may be another one's already.
      if (connection->has_moved()) connection->identity_ = {};
    }
  } catch (const StoreFailure& failure) {
    return fail(failure.error);
  }
  // From here on a database that somebody else has locked is an answer, not something to wait for: the agent
  // goes on without it.
  sqlite3_busy_timeout(handle, 250);
  sqlite3_wal_hook(
      handle,
      [](void* self, sqlite3*, const char*, int pages) {
        static_cast<Connection*>(self)->wal_pages_ = pages;
        return SQLITE_OK;
      },
      connection.get());
  return connection;
}

/// SQLite believes what the page cache shows of the WAL. If a sync has failed and its process has died, the
/// disk may never have got some of it, and no later sync would write it, since Linux counts such pages as
/// clean: a commit behind them would be lost with the power. Written again, they are synced like any other.
/// The write lock keeps every other process from appending meanwhile. Until this has succeeded nothing may be
/// copied from the WAL into the database, not even by closing.
void Connection::make_wal_durable() {
  set_checkpoint_on_close(false);
  execute("BEGIN IMMEDIATE");
  int code = SQLITE_OK;
  if (auto* file = wal()) code = rewrite(file);
  execute("ROLLBACK");
  if (code != SQLITE_OK) throw StoreFailure{to_error(code, sqlite3_errstr(code))};
  set_checkpoint_on_close(true);
}

/// Null if there is none yet.
sqlite3_file* Connection::wal() {
  sqlite3_file* file = nullptr;
  int code = sqlite3_file_control(handle_, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
  return code == SQLITE_OK && file && file->pMethods ? file : nullptr;
}

/// The write lock keeps every other process from appending meanwhile. An empty WAL stays empty: its header
/// comes first.
bool Connection::lengthen_wal(int64_t length, int64_t piece) {
  // The last of a disk is for what has to be written: by default, runs are paused where less than this is
  // free.
  constexpr uintmax_t reserve = 256U << 20;
  std::error_code error;
  auto space = std::filesystem::space(file_, error);
  if (!error && space.available < reserve + static_cast<uintmax_t>(length)) return false;
  auto* file = wal();
  sqlite3_int64 size = 0;
  if (!file || file->pMethods->xFileSize(file, &size) != SQLITE_OK || size == 0 || size >= length)
    return false;
  execute("BEGIN IMMEDIATE");
  int code = file->pMethods->xFileSize(file, &size);
  if (code == SQLITE_OK) code = append_zeros(file, size, std::min<sqlite3_int64>(size + piece, length));
  execute("ROLLBACK");
  return code == SQLITE_OK;
}

void Connection::be_brief() {
  is_brief_ = true;
  sqlite3_busy_timeout(handle_, 0);
  sqlite3_progress_handler(
      handle_, steps_a_look,
      [](void* self) { return (static_cast<Connection*>(self)->steps_left_ -= steps_a_look) < 0 ? 1 : 0; },
      this);
}

/// By the trees that the statement's program opens, those of its triggers and foreign keys included. (The
/// compiler's authorizer will not do: it is not asked about the columns of a join with USING.)
void Connection::find_tables(std::string_view sql, Statement& statement) {
  statement.reads = statement.writes = Tables::all();  // until it is known better
  sqlite3_stmt* made = nullptr;
  auto explaining = fmt::format("EXPLAIN {}", sql);
  int code =
      sqlite3_prepare_v2(handle_, explaining.data(), static_cast<int>(explaining.size()), &made, nullptr);
  std::unique_ptr<sqlite3_stmt, Finalizer> explained(made);
  if (code != SQLITE_OK) return;
  Tables reads, writes;
  while ((code = sqlite3_step(made)) == SQLITE_ROW) {
    const auto* word = reinterpret_cast<const char*>(sqlite3_column_text(made, 1));
    std::string_view opcode = word ? word : "";
    bool opens = opcode == "OpenRead" || opcode == "OpenWrite" || opcode == "ReopenIdx";
    bool empties = opcode == "Clear";
    // A virtual table may read and write anything, and so may what changes the schema.
    if (opcode == "VOpen" || opcode == "VUpdate" || opcode == "ParseSchema" || opcode == "Destroy") return;
    if (!opens && !empties) continue;
    constexpr int place_is_computed = 0x10;
    bool is_computed = opens && (sqlite3_column_int(made, 6) & place_is_computed) != 0;
    bool is_temporary = sqlite3_column_int(made, empties ? 3 : 4) != 0;
    if (is_computed || is_temporary) return;
    const auto* table = table_at(sqlite3_column_int(made, empties ? 2 : 3));
    if (!table) return;
    reads.add(*table);
    if (opcode == "OpenWrite" || empties) writes.add(*table);
  }
  if (code != SQLITE_DONE) return;
  statement.reads = reads;
  statement.writes = writes;
}

/// Whose tree has its root at this page: the table itself, or one of its indexes. Null if nobody's.
const std::string* Connection::table_at(int page) {
  if (page == 1) {
    static const std::string schema = "sqlite_schema";
    return &schema;
  }
  if (!roots_.contains(page)) {
    sqlite3_stmt* made = nullptr;
    sqlite3_prepare_v2(handle_, "SELECT rootpage, tbl_name FROM sqlite_schema WHERE rootpage > 0", -1, &made,
                       nullptr);
    std::unique_ptr<sqlite3_stmt, Finalizer> listing(made);
    roots_.clear();
    while (made && sqlite3_step(made) == SQLITE_ROW)
      if (const auto* name = reinterpret_cast<const char*>(sqlite3_column_text(made, 1)))
        roots_[sqlite3_column_int(made, 0)] = name;
  }
  auto found = roots_.find(page);
  return found == roots_.end() ? nullptr : &found->second;
}

void Connection::set_checkpoint_on_close(bool allowed) {
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, allowed ? 0 : 1, nullptr);
}

Connection::~Connection() {
  statements_.clear();
  sqlite3_close_v2(handle_);
}

void Connection::throw_failure(int code) { throw StoreFailure{to_error(code, sqlite3_errmsg(handle_))}; }

Connection::Statements::value_type& Connection::find_statement(std::string_view sql) {
  auto address = reinterpret_cast<uintptr_t>(sql.data());
  auto*& near = by_address_[(address ^ address >> 8) % by_address_.size()];
  // Another text may be there by now.
  if (near && near->first == sql) return *near;
  auto found = statements_.find(sql);
  if (found == statements_.end()) {
    sqlite3_stmt* made = nullptr;
    int code = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()),
                                  SQLITE_PREPARE_PERSISTENT, &made, nullptr);
    if (code != SQLITE_OK) throw_failure(code);
    Statement statement{.compiled{made}, .reads = {}, .writes = {}};
    find_tables(sql, statement);
    found = statements_.emplace(sql, std::move(statement)).first;
  }
  near = &*found;
  return *near;
}

Connection::Prepared Connection::prepare(std::string_view sql, Bounds args) {
  if (is_brief_ && (steps_left_ -= steps_a_statement) < 0) throw_failure(SQLITE_INTERRUPT);
  auto& [text, statement] = find_statement(sql);
  read_ |= statement.reads;
  written_ |= statement.writes;
  just_written_ = &statement.writes;
  auto* raw = statement.compiled.get();
  CRU_ASSERT(sqlite3_bind_parameter_count(raw) == static_cast<int>(args.size()));
  for (size_t i = 0; i < args.size(); ++i) {
    int at = static_cast<int>(i) + 1;
    if (const auto* bytes = std::get_if<std::string_view>(&args[i]))
      // One without an address would be null.
      sqlite3_bind_text64(raw, at, bytes->data() ? bytes->data() : "", bytes->size(), SQLITE_STATIC,
                          SQLITE_UTF8);
    else if (const auto* integer = std::get_if<int64_t>(&args[i]))
      sqlite3_bind_int64(raw, at, *integer);
    else if (const auto* real = std::get_if<double>(&args[i]))
      sqlite3_bind_double(raw, at, *real);
    else
      sqlite3_bind_null(raw, at);
  }
  return {raw, text};
}

Row Connection::row_of(const Prepared& prepared) {
  auto* statement = prepared.statement;
  int columns = sqlite3_column_count(statement);
  Row row(static_cast<size_t>(columns), prepared.sql);
  for (int column = 0; column < columns; ++column) {
    // Its place is looked up once and not with each question. It is not safe beside other threads, of which
    // a connection has none.
    auto* value = sqlite3_column_value(statement, column);
    switch (sqlite3_value_type(value)) {
      case SQLITE_INTEGER:
        row.add(int64_t(sqlite3_value_int64(value)));
        break;
      case SQLITE_FLOAT:
        row.add(sqlite3_value_double(value));
        break;
      case SQLITE_NULL:
        row.add();
        break;
      default: {
        const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
        row.add(std::string_view(text ? text : "", static_cast<size_t>(sqlite3_value_bytes(value))));
      }
    }
  }
  return row;
}

namespace {

/// Leaves no statement open: an open one would hold its transaction.
struct Resetting {
  sqlite3_stmt* statement;
  ~Resetting() { sqlite3_reset(statement); }
};

}  // namespace

std::vector<Row> Connection::query(std::string_view sql, Bounds args) {
  auto prepared = prepare(sql, args);
  Resetting resetting{prepared.statement};
  std::vector<Row> rows;
  for (;;) {
    int code = sqlite3_step(resetting.statement);
    if (code == SQLITE_DONE) return rows;
    if (code != SQLITE_ROW) throw_failure(code);
    rows.push_back(row_of(prepared));
  }
}

std::optional<Row> Connection::query_first(std::string_view sql, Bounds args) {
  auto prepared = prepare(sql, args);
  Resetting resetting{prepared.statement};
  int code = sqlite3_step(resetting.statement);
  if (code == SQLITE_DONE) return {};
  if (code != SQLITE_ROW) throw_failure(code);
  return row_of(prepared);
}

int64_t Connection::execute(std::string_view sql, Bounds args) {
  Resetting resetting{prepare(sql, args).statement};
  int code = sqlite3_step(resetting.statement);
  while (code == SQLITE_ROW) code = sqlite3_step(resetting.statement);
  if (code != SQLITE_DONE) throw_failure(code);
  return sqlite3_changes64(handle_);
}

void Connection::script(std::string_view sql) {
  roots_.clear();  // it may change the schema
  int code = sqlite3_exec(handle_, std::string(sql).c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw_failure(code);
}

int64_t Connection::data_version() {
  auto row = query_first("PRAGMA data_version");
  return row ? row->integer(0) : 0;
}

void Connection::roll_back() {
  if (sqlite3_get_autocommit(handle_)) return;
  // Also where no steps are left: a transaction that stays open keeps the WAL from ever beginning anew.
  auto left = std::exchange(steps_left_, steps_a_look);
  execute("ROLLBACK");
  steps_left_ = left;
}

void Connection::checkpoint() {
  int in_log = 0, copied = 0;
  int code = sqlite3_wal_checkpoint_v2(handle_, nullptr, SQLITE_CHECKPOINT_PASSIVE, &in_log, &copied);
  if (code == SQLITE_OK && in_log == copied) wal_pages_ = 0;
  note_size();
}

void Connection::note_size() {
  if (!file_.empty()) size_ = std::max(size_, file_identity(file_).size);
}

bool Connection::has_moved() {
  int moved = 0;
  return sqlite3_file_control(handle_, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0;
}

Connection::Files Connection::look_at_files() {
  if (file_.empty()) return has_moved() ? Files::moved : Files::there;
  auto file = file_identity(file_), wal = file_identity(wal_file_);
  if (!file.is_same(identity_)) return Files::moved;
  // Made by the first commit, or left by an earlier process: from then on it stays as long as we do.
  if (wal_identity_.inode == 0)
    wal_identity_ = wal;
  else if (!wal.is_same(wal_identity_))
    return Files::moved;
  return file.size < size_ ? Files::cut : Files::there;
}

void Connection::copy_to(const std::string& path) {
  sqlite3* copy = nullptr;
  int code = sqlite3_open_v2(path.c_str(), &copy,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  std::string why = copy ? sqlite3_errmsg(copy) : sqlite3_errstr(code);
  if (code == SQLITE_OK) {
    auto* backup = sqlite3_backup_init(copy, "main", handle_, "main");
    if (backup) sqlite3_backup_step(backup, -1);
    code = backup ? sqlite3_backup_finish(backup) : sqlite3_errcode(copy);
    why = sqlite3_errmsg(copy);
  }
  sqlite3_close_v2(copy);
  if (code != SQLITE_OK) throw StoreFailure{to_error(code, why.c_str())};
}

}  // namespace cru::sqlite
