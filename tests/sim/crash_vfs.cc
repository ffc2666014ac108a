#include "crash_vfs.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/result.h"

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

using Outcome = CrashFs::Outcome;

int read_file(sqlite3_file* file, void* into, int amount, sqlite3_int64 offset) {
  if (self(file).fs->next_read() != Outcome::done) return SQLITE_IOERR_READ;
  auto& bytes = content(file).content;
  std::memset(into, 0, static_cast<size_t>(amount));
  if (offset >= static_cast<sqlite3_int64>(bytes.size())) return SQLITE_IOERR_SHORT_READ;
  auto count = std::min(static_cast<size_t>(amount), bytes.size() - static_cast<size_t>(offset));
  std::memcpy(into, bytes.data() + offset, count);
  return count == static_cast<size_t>(amount) ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

void carry_out(std::string& bytes, const CrashFs::Change& change) {
  auto end = static_cast<size_t>(change.offset) + change.bytes.size();
  if (bytes.size() < end || change.truncates) bytes.resize(end);
  std::copy(change.bytes.begin(), change.bytes.end(), bytes.begin() + change.offset);
}

void change(CrashFs::File& target, CrashFs::Change made) {
  carry_out(target.content, made);
  target.unsynced.push_back(std::move(made));
}

int write_file(sqlite3_file* file, const void* from, int amount, sqlite3_int64 offset) {
  CRU_ASSERT(amount <= 0x1ffff);  // as the system's own VFS takes it
  auto& fs = *self(file).fs;
  std::string bytes(static_cast<const char*>(from), static_cast<size_t>(amount));
  auto outcome = fs.next_write();
  if (outcome == Outcome::full) return SQLITE_FULL;
  if (outcome == Outcome::failed) return SQLITE_IOERR_WRITE;
  if (outcome == Outcome::cut_short) bytes.resize(fs.part_of(bytes.size()));
  change(content(file), {offset, std::move(bytes)});
  return outcome == Outcome::done ? SQLITE_OK : SQLITE_IOERR_WRITE;
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  if (self(file).fs->next_write() != Outcome::done) return SQLITE_IOERR_TRUNCATE;
  change(content(file), {size, {}, true});
  return SQLITE_OK;
}

int sync_file(sqlite3_file* file, int) {
  auto& target = content(file);
  auto outcome = self(file).fs->next_sync();
  if (outcome == Outcome::cut_short) self(file).fs->fail_sync(target);
  if (outcome != Outcome::done) return SQLITE_IOERR_FSYNC;
  for (const auto& made : target.unsynced) carry_out(target.durable, made);
  target.unsynced.clear();
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
/// As SQLite's own file system says of any Linux disk. Without it a commit ends with bytes that are not
/// synced.
int characteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

const sqlite3_io_methods methods = {1,         close_file,  read_file,       write_file, truncate_file,
                                    sync_file, file_size,   lock_file,       lock_file,  is_reserved,
                                    control,   sector_size, characteristics, nullptr,    nullptr,
                                    nullptr,   nullptr,     nullptr,         nullptr};

int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  auto& open = self(file);
  open.base.pMethods = nullptr;
  if (fs_of(vfs).next_read() != Outcome::done) return SQLITE_CANTOPEN;
  open.fs = &fs_of(vfs);
  auto& entry = open.fs->files[name ? name : "temporary"];
  if (!entry) entry = std::make_shared<CrashFs::File>();
  open.file = new FilePtr(entry);
  open.base.pMethods = &methods;
  if (out_flags) *out_flags = flags;
  return SQLITE_OK;
}

int delete_file(sqlite3_vfs* vfs, const char* name, int) {
  if (fs_of(vfs).next_write() != Outcome::done) return SQLITE_IOERR_DELETE;
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

void CrashFs::stop_in(int changes) { stop_in_ = changes; }
void CrashFs::start() { stop_in_ = -1; }

void CrashFs::set_faults(DiskFaults faults, SimRandom& random) {
  faults_ = faults;
  random_ = &random;
}

/// Counts a change; true from the one on at which everything stops.
bool CrashFs::stops() {
  if (stop_in_ > 0) --stop_in_;
  return stop_in_ == 0;
}

bool CrashFs::fails(unsigned thousandths) { return thousandths > 0 && random_->pick(1000) < thousandths; }

CrashFs::Outcome CrashFs::next_read() {
  return is_stopped() || fails(faults_.reads) ? Outcome::failed : Outcome::done;
}

CrashFs::Outcome CrashFs::next_write() {
  if (stops()) return Outcome::failed;
  if (fail_in_ > 0 && --fail_in_ == 0) return Outcome::full;
  if (fails(faults_.writes)) return Outcome::failed;
  return fails(faults_.short_writes) ? Outcome::cut_short : Outcome::done;
}

CrashFs::Outcome CrashFs::next_sync() {
  if (stops()) return Outcome::failed;
  if (fail_sync_in_ > 0 && --fail_sync_in_ == 0) return Outcome::cut_short;
  return fails(faults_.syncs) ? Outcome::cut_short : Outcome::done;
}

/// Some of it was written; the rest is only in the page cache, which believes that the disk has it, and which
/// may forget it at any time.
void CrashFs::fail_sync(File& file) {
  for (const auto& made : file.unsynced)
    if (random_->chance(50)) carry_out(file.durable, made);
  file.unsynced.clear();
  if (random_->chance(30)) file.content = file.durable;
}

void CrashFs::lose_power(SimRandom& random) {
  for (auto& [name, file] : files) {
    for (auto& made : file->unsynced) {
      if (random.chance(50)) continue;
      if (random.chance(30)) made.bytes.resize(random.pick(made.bytes.size() + 1));
      carry_out(file->durable, made);
    }
    file->unsynced.clear();
    file->content = file->durable;
  }
}

}  // namespace cru::sim
