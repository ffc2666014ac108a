#include "store/sqlite/wal_gathering.h"

#include <algorithm>
#include <atomic>

namespace cru::sqlite {
namespace {

/// SQLite's own files take less than 128 KiB at a time.
constexpr size_t max_gathered = 64 << 10;

struct WalHandle {
  sqlite3_file base;  // first: SQLite sees only this
  std::string* gathered;
  sqlite3_int64 begin;  ///< where in the file `gathered` goes
};

WalHandle& self(sqlite3_file* file) { return *reinterpret_cast<WalHandle*>(file); }
/// The handle of the file system below stands behind ours.
sqlite3_file* below(sqlite3_file* file) { return reinterpret_cast<sqlite3_file*>(&self(file) + 1); }
sqlite3_vfs* below(sqlite3_vfs* vfs) { return static_cast<sqlite3_vfs*>(vfs->pAppData); }

int write_gathered(sqlite3_file* file) {
  auto& bytes = *self(file).gathered;
  if (bytes.empty()) return SQLITE_OK;
  int code = below(file)->pMethods->xWrite(below(file), bytes.data(), static_cast<int>(bytes.size()),
                                           self(file).begin);
  if (code == SQLITE_OK) bytes.clear();
  return code;
}

/// What a write or a sync cannot write is given up: its commit has failed then, and the next one begins at
/// its place. Nothing else gives it up: for a page that cannot be read SQLite may undo one statement and
/// commit the rest, these bytes with it.
int write_or_give_up(sqlite3_file* file) {
  int code = write_gathered(file);
  self(file).gathered->clear();
  return code;
}

int close_file(sqlite3_file* file) {
  // What was not synced belongs to no commit.
  delete self(file).gathered;
  self(file).gathered = nullptr;
  return below(file)->pMethods->xClose(below(file));
}

int write_file(sqlite3_file* file, const void* from, int amount, sqlite3_int64 offset) {
  auto& wal = self(file);
  auto size = static_cast<size_t>(amount);
  bool goes_on = offset == wal.begin + static_cast<sqlite3_int64>(wal.gathered->size());
  if (!goes_on || wal.gathered->size() + size > max_gathered)
    if (int code = write_or_give_up(file); code != SQLITE_OK) return code;
  if (size > max_gathered) return below(file)->pMethods->xWrite(below(file), from, amount, offset);
  if (wal.gathered->empty()) wal.begin = offset;
  wal.gathered->append(static_cast<const char*>(from), size);
  return SQLITE_OK;
}

int sync_file(sqlite3_file* file, int flags) {
  if (int code = write_or_give_up(file); code != SQLITE_OK) return code;
  return below(file)->pMethods->xSync(below(file), flags);
}

/// Any other call finds everything written.
template <auto method, class... Args>
int after_writing(sqlite3_file* file, Args... args) {
  if (int code = write_gathered(file); code != SQLITE_OK) return code;
  return (below(file)->pMethods->*method)(below(file), args...);
}
template <auto method, class... Args>
int pass_on(sqlite3_file* file, Args... args) {
  return (below(file)->pMethods->*method)(below(file), args...);
}

using Methods = sqlite3_io_methods;
const Methods wal_methods = [] {
  Methods methods = {};
  methods.iVersion = 1;
  methods.xClose = close_file;
  methods.xRead = after_writing<&Methods::xRead>;
  methods.xWrite = write_file;
  methods.xTruncate = after_writing<&Methods::xTruncate>;
  methods.xSync = sync_file;
  methods.xFileSize = after_writing<&Methods::xFileSize>;
  methods.xLock = pass_on<&Methods::xLock>;
  methods.xUnlock = pass_on<&Methods::xUnlock>;
  methods.xCheckReservedLock = pass_on<&Methods::xCheckReservedLock>;
  methods.xFileControl = pass_on<&Methods::xFileControl>;
  methods.xSectorSize = pass_on<&Methods::xSectorSize>;
  methods.xDeviceCharacteristics = pass_on<&Methods::xDeviceCharacteristics>;
  return methods;
}();

int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  if ((flags & SQLITE_OPEN_WAL) == 0) return below(vfs)->xOpen(below(vfs), name, file, flags, out_flags);
  file->pMethods = nullptr;
  int code = below(vfs)->xOpen(below(vfs), name, below(file), flags, out_flags);
  if (code != SQLITE_OK) return code;
  self(file) = {.base = {.pMethods = &wal_methods}, .gathered = new std::string, .begin = 0};
  return SQLITE_OK;
}

template <auto method, class... Args>
int pass_on_vfs(sqlite3_vfs* vfs, Args... args) {
  return (below(vfs)->*method)(below(vfs), args...);
}

}  // namespace

WalGathering::WalGathering(const std::string& below_name) {
  auto* other = sqlite3_vfs_find(below_name.empty() ? nullptr : below_name.c_str());
  if (!other) return;
  static std::atomic<int64_t> count = 0;
  name_ = "gathering-" + std::to_string(++count);
  vfs_.iVersion = std::min(other->iVersion, 2);
  vfs_.szOsFile = other->szOsFile + static_cast<int>(sizeof(WalHandle));
  vfs_.mxPathname = other->mxPathname;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = other;
  vfs_.xOpen = open_file;
  vfs_.xDelete = pass_on_vfs<&sqlite3_vfs::xDelete>;
  vfs_.xAccess = pass_on_vfs<&sqlite3_vfs::xAccess>;
  vfs_.xFullPathname = pass_on_vfs<&sqlite3_vfs::xFullPathname>;
  vfs_.xRandomness = pass_on_vfs<&sqlite3_vfs::xRandomness>;
  vfs_.xSleep = pass_on_vfs<&sqlite3_vfs::xSleep>;
  vfs_.xCurrentTime = pass_on_vfs<&sqlite3_vfs::xCurrentTime>;
  if (other->xGetLastError) vfs_.xGetLastError = pass_on_vfs<&sqlite3_vfs::xGetLastError>;
  if (vfs_.iVersion >= 2 && other->xCurrentTimeInt64)
    vfs_.xCurrentTimeInt64 = pass_on_vfs<&sqlite3_vfs::xCurrentTimeInt64>;
  sqlite3_vfs_register(&vfs_, 0);
}

WalGathering::~WalGathering() {
  if (!name_.empty()) sqlite3_vfs_unregister(&vfs_);
}

}  // namespace cru::sqlite
