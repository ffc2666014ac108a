#pragma once
/// For tests: a SQLite store in a folder of its own, with its loop, asked from the test's thread. Time stands
/// still until the test lets it pass.
#include <gtest/gtest.h>

#include "platform/files/temporary_folder_fixture.h"
#include "platform/loop/loop_thread_fixture.h"
#include "store/event_table.h"
#include "store/sqlite/sqlite_store.h"

namespace cru {

/// Public, so that a test's coroutines may use it.
class StoreFixture : public testing::Test {
 public:
  explicit StoreFixture(std::vector<Migration> migrations) : schema(std::move(migrations)) {
    schema.insert(schema.begin(), event_migrations().begin(), event_migrations().end());
    open();
  }
  ~StoreFixture() override { close(); }

  std::string path() const { return folder / "store.db"; }
  void open() {
    thread = std::make_unique<LoopThread>(clock);
    auto opened = sqlite::SqliteStore::open(thread->loop, path(), schema);
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
  /// Returns when what was under way in the store and what that led to has come to its end: writes are done
  /// in their order, and their callers go on in it.
  void settle() {
    for (int i = 0; i < 4; ++i) CRU_ASSERT(write([](Tx&) -> Result<int> { return 0; }).has_value());
  }
  template <class F>
  auto read(F closure) {
    return thread->await([&] { return store->read(closure); });
  }

  TemporaryFolder folder;
  HeldClock clock;
  std::vector<Migration> schema;
  std::unique_ptr<LoopThread> thread;
  std::unique_ptr<sqlite::SqliteStore> store;
};

}  // namespace cru
