#pragma once
/// For tests: a SQLite store in a folder of its own, with its loop, asked from the test's thread.
#include <gtest/gtest.h>

#include "platform/files/temporary_folder_fixture.h"
#include "platform/loop/loop_thread.h"
#include "store/event_table.h"
#include "store/sqlite/sqlite_store.h"

namespace cru {

/// A wall clock that tests set. Boot time goes on, and can be made to go faster; timers know nothing of that.
class WallClock final : public Clock {
 public:
  Time wall() const override { return from_millis(wall_.load()); }
  BootTime boot() const override { return system_clock().boot() + BootTime(boot_ahead_.load()); }
  const std::string& boot_id() const override { return system_clock().boot_id(); }
  void set(Time time) { wall_ = to_millis(time); }
  void advance(Duration by) { wall_ += by.count(); }
  void advance_boot(Duration by) { boot_ahead_ += by.count(); }

 private:
  std::atomic<int64_t> wall_ = to_millis(std::chrono::sys_days(std::chrono::year(2026) / 11 / 15));
  std::atomic<int64_t> boot_ahead_ = 0;
};

/// Public, so that a test's coroutines may use it.
class StoreFixture : public testing::Test {
 public:
  explicit StoreFixture(std::vector<Migration> migrations) : migrations_(std::move(migrations)) {
    migrations_.insert(migrations_.begin(), event_migrations().begin(), event_migrations().end());
    open();
  }
  ~StoreFixture() override { close(); }

  std::string path() const { return folder / "store.db"; }
  void open() {
    thread = std::make_unique<LoopThread>(clock);
    auto opened = sqlite::SqliteStore::open(thread->loop, path(), migrations_);
    CRU_ASSERT(opened.has_value());
    store = std::move(*opened);
  }
  void close() {
    if (thread) thread->stop();
    store.reset();
    thread.reset();
  }
  void reopen() {
    close();
    open();
  }
  template <class F>
  auto write(F closure) {
    return thread->await([&] { return store->write(closure); });
  }
  template <class F>
  auto read(F closure) {
    return thread->await([&] { return store->read(closure); });
  }

  TemporaryFolder folder;
  WallClock clock;
  std::vector<Migration> migrations_;
  std::unique_ptr<LoopThread> thread;
  std::unique_ptr<sqlite::SqliteStore> store;
};

}  // namespace cru
