#include "crash_vfs.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace cru::sim {
namespace {

using FilePtr = std::shared_ptr<CrashFs::File>;

struct OpenFile {
  sqlite3_file base;  // first: SQLite sees only this
  CrashFs* fs;
  FilePtr* file;
};

OpenFile& self(sqlite3_file* file) { return *reinterpret_cast<OpenFile*>(file); }
CrashFs::File& content(sqlite3_file* file) { return **self(file).file; }
CrashFs& fs_of(sqlite3_vfs* vfs) { return *static_cast<CrashFs*>(vfs->pAppData); }

int close_file(sqlite3_file* file) {
  delete self(file).file;
  self(file).file = nullptr;
  return SQLITE_OK;
}

int read_file(sqlite3_file* file, void* into, int amount, sqlite3_int64 offset) {
  auto& bytes = content(file).content;
  std::memset(into, 0, static_cast<size_t>(amount));
  if (offset >= static_cast<sqlite3_int64>(bytes.size())) return SQLITE_IOERR_SHORT_READ;
  auto count = std::min(static_cast<size_t>(amount), bytes.size() - static_cast<size_t>(offset));
  std::memcpy(into, bytes.data() + offset, count);
  return count == static_cast<size_t>(amount) ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

void apply_write(std::string& bytes, const CrashFs::Write& write) {
  auto end = static_cast<size_t>(write.offset) + write.bytes.size();
  if (bytes.size() < end) bytes.resize(end);
  std::copy(write.bytes.begin(), write.bytes.end(), bytes.begin() + write.offset);
}

int write_file(sqlite3_file* file, const void* from, int amount, sqlite3_int64 offset) {
  if (self(file).fs->next_write_fails()) return SQLITE_FULL;
  auto& target = content(file);
  CrashFs::Write write{offset, std::string(static_cast<const char*>(from), static_cast<size_t>(amount))};
  apply_write(target.content, write);
  target.unsynced.push_back(std::move(write));
  return SQLITE_OK;
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  auto& target = content(file);
  target.content.resize(static_cast<size_t>(size));
  target.truncated = true;
  return SQLITE_OK;
}

int sync_file(sqlite3_file* file, int) {
  auto& target = content(file);
  // Copying only what changed keeps a sync cheap: these files grow to megabytes.
  if (target.truncated) {
    target.durable = target.content;
  } else {
    for (const auto& write : target.unsynced) apply_write(target.durable, write);
  }
  target.unsynced.clear();
  target.truncated = false;
  return SQLITE_OK;
}

int file_size(sqlite3_file* file, sqlite3_int64* size) {
  *size = static_cast<sqlite3_int64>(content(file).content.size());
  return SQLITE_OK;
}

int lock_file(sqlite3_file*, int) { return SQLITE_OK; }
int is_reserved(sqlite3_file*, int* reserved) {
  *reserved = 0;
  return SQLITE_OK;
}
int control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int sector_size(sqlite3_file*) { return 4096; }
int characteristics(sqlite3_file*) { return 0; }

const sqlite3_io_methods methods = {1,         close_file,  read_file,       write_file, truncate_file,
                                    sync_file, file_size,   lock_file,       lock_file,  is_reserved,
                                    control,   sector_size, characteristics, nullptr,    nullptr,
                                    nullptr,   nullptr,     nullptr,         nullptr};

int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  auto& open = self(file);
  open.fs = &fs_of(vfs);
  auto& entry = open.fs->files[name ? name : "temporary"];
  if (!entry) entry = std::make_shared<CrashFs::File>();
  open.file = new FilePtr(entry);
  open.base.pMethods = &methods;
  if (out_flags) *out_flags = flags;
  return SQLITE_OK;
}

int delete_file(sqlite3_vfs* vfs, const char* name, int) {
  fs_of(vfs).files.erase(name);
  return SQLITE_OK;
}

int access_file(sqlite3_vfs* vfs, const char* name, int, int* there) {
  *there = fs_of(vfs).files.contains(name) ? 1 : 0;
  return SQLITE_OK;
}

int full_name(sqlite3_vfs*, const char* name, int size, char* into) {
  std::snprintf(into, static_cast<size_t>(size), "%s", name);
  return SQLITE_OK;
}

int randomness(sqlite3_vfs*, int count, char* into) {
  std::memset(into, 7, static_cast<size_t>(count));
  return count;
}
int nap(sqlite3_vfs*, int) { return 0; }
int current_time(sqlite3_vfs*, double* now) {
  *now = 2460000.5;
  return SQLITE_OK;
}

}  // namespace

CrashFs::CrashFs() : vfs_(std::make_unique<sqlite3_vfs>()) {
  static int count = 0;
  name_ = "crash" + std::to_string(++count);
  *vfs_ = {};
  vfs_->iVersion = 1;
  vfs_->szOsFile = sizeof(OpenFile);
  vfs_->mxPathname = 256;
  vfs_->zName = name_.c_str();
  vfs_->pAppData = this;
  vfs_->xOpen = open_file;
  vfs_->xDelete = delete_file;
  vfs_->xAccess = access_file;
  vfs_->xFullPathname = full_name;
  vfs_->xRandomness = randomness;
  vfs_->xSleep = nap;
  vfs_->xCurrentTime = current_time;
  sqlite3_vfs_register(vfs_.get(), 0);
}

CrashFs::~CrashFs() { sqlite3_vfs_unregister(vfs_.get()); }

bool CrashFs::next_write_fails() { return fail_in_ > 0 && --fail_in_ == 0; }

void CrashFs::lose_power(SimRandom& random) {
  for (auto& [name, file] : files) {
    for (auto& write : file->unsynced) {
      if (random.chance(50)) continue;
      if (random.chance(30)) write.bytes.resize(random.pick(write.bytes.size() + 1));
      apply_write(file->durable, write);
    }
    file->unsynced.clear();
    file->truncated = false;
    file->content = file->durable;
  }
}

}  // namespace cru::sim
