#include "notes/notes_service.h"

#include <filesystem>
#include <set>

#include "notes/note_index.h"
#include "notes/note_reading.h"
#include "notes/note_text.h"
#include "notes/strand.h"
#include "platform/files/folder_watch.h"
#include "platform/files/log.h"

namespace cru::notes {
namespace {

constexpr Duration slice = 40ms;  ///< indexing lets a search in after so long
constexpr Duration between_progress = 100ms;
constexpr size_t max_paths = 4096;  ///< waiting to be looked at; beyond, everything is

NoteIndex::Options index_options(Loop& loop, const Options& options) {
  return {.file = options.index_file,
          .boot_id = loop.clock().boot_id(),
          .table = WordTable::built_in(),
          .max_notes = options.max_notes,
          .max_note_bytes = options.max_note_bytes};
}

bool wants_folder(const std::string& folder) { return may_lead_to_notes(folder); }

}  // namespace

/// Changes are numbered as they are seen; `done` is the last whose files are in the index.
struct Notes::State {
  State(Loop& l, Store& s, Pool& p, Options o)
      : loop(l),
        store(s),
        pool(p),
        options(std::move(o)),
        files(options.root),
        index(std::make_shared<NoteIndex>(index_options(l, options))),
        strand(l, p),
        settled(l) {}

  Loop& loop;
  Store& store;
  Pool& pool;
  const Options options;
  const NoteFiles files;
  const std::shared_ptr<NoteIndex> index;
  Strand strand;
  Signal settled;
  std::unique_ptr<FolderWatch> watch;
  bool is_watching = false;
  std::set<std::string> paths;
  bool all = false, is_updating = false, is_asked = false;
  int64_t seen = 0, done = 0;
  int64_t waiting = 0, indexed = 0, notes = 0;
  std::optional<Error> failure;
  BootTime told_progress{};

  void saw(const std::vector<std::string>& changed);
  void saw_all();
  void go();
  void begin_watching();
  Task<void> update();
  Task<Result<>> update_once(std::optional<std::vector<std::string>> below, bool asked);
  Task<Result<>> take_all(std::shared_ptr<const std::vector<Stamp>> changed, bool tell);
  Task<void> tell_progress(size_t indexed_now, size_t total, bool must);
  Task<bool> wait_until_done(int64_t wanted, Duration patience);
  IndexState state() const;
};

void Notes::State::saw(const std::vector<std::string>& changed) {
  bool any = false;
  for (const auto& path : changed) {
    // A folder's path has no ending of ours, and may still hold notes.
    if (!may_be_note(path) && !wants_folder(path)) continue;
    any = true;
    paths.insert(path);
  }
  if (!any) return;
  // After a failure nobody knows what is missing.
  if (paths.size() > max_paths || failure) return saw_all();
  ++seen;
  go();
}

void Notes::State::saw_all() {
  ++seen;
  all = true;
  paths.clear();
  go();
}

void Notes::State::go() {
  if (!std::exchange(is_updating, true)) loop.spawn(update());
}

void Notes::State::begin_watching() {
  if (std::exchange(is_watching, true)) {
    // Not everything can be watched here, or the last round failed: then a look at all files stands in.
    if (!watch || !watch->is_complete() || failure) return saw_all();
    watch->tell_now();  // whoever has just written a note finds it
    return;
  }
  auto made = watch_folder(loop, options.root, {.recursive = true, .wants = wants_folder},
                           [this](FolderChanges changes) { changes.all ? saw_all() : saw(changes.paths); });
  if (made)
    watch = std::move(*made);
  else
    log_error("notes: cannot watch the folders", made.error());
  saw_all();
}

Task<void> Notes::State::update() {
  int failures = 0;
  while (all || !paths.empty()) {
    auto target = seen;
    std::optional<std::vector<std::string>> below;
    if (!std::exchange(all, false)) below.emplace(paths.begin(), paths.end());
    paths.clear();
    auto updated = co_await update_once(std::move(below), std::exchange(is_asked, false));
    if (!updated) {
      log_error("notes: cannot update the index", updated.error());
      // A damaged index has been thrown away by now: once more, from the beginning.
      if (updated.error().details.contains("damaged") && failures++ == 0) {
        all = true;
        continue;
      }
    }
    failure.reset();
    if (!updated) {
      failure = updated.error();
      all = all || !paths.empty();  // what came meanwhile is not all that is missing
    }
    done = target;
    waiting = 0;
    settled.notify();
  }
  is_updating = false;
}

Task<Result<>> Notes::State::update_once(std::optional<std::vector<std::string>> below, bool asked) {
  auto begun = loop.clock().boot();
  auto plan =
      co_await strand.run([index = index, files = files, below] { return index->compare(files, below); });
  if (!plan) co_return fail(plan.error());
  auto changed = std::make_shared<const std::vector<Stamp>>(std::move(plan->changed));
  auto removed = plan->removed.size();
  if (removed > 0) {
    auto gone = co_await strand.run([index = index, ids = plan->removed] { return index->remove(ids); });
    if (!gone) co_return gone;
  }
  auto taken = co_await take_all(changed, asked);
  if (!taken) co_return taken;
  auto count = co_await strand.run([index = index] { return index->count(); });
  if (!count) co_return fail(count.error());
  notes = *count;
  if (!asked && changed->empty() && removed == 0) co_return Result<>();
  json::object data{{"notes", notes},
                    {"changed", changed->size()},
                    {"removed", removed},
                    {"duration_ms", (loop.clock().boot() - begun).count()}};
  co_return co_await store.write([data](Tx& tx) -> Result<> {
    tx.emit({"notes.indexed", "", data});
    return {};
  });
}

Task<Result<>> Notes::State::take_all(std::shared_ptr<const std::vector<Stamp>> changed, bool tell) {
  indexed = 0;
  for (size_t at = 0; at < changed->size();) {
    waiting = static_cast<int64_t>(changed->size() - at);
    auto taken = co_await strand.run(
        [index = index, files = files, changed, at] { return index->take(files, *changed, at, slice); });
    if (!taken) co_return fail(taken.error());
    at += *taken;
    indexed = static_cast<int64_t>(at);
    co_await tell_progress(at, changed->size(), tell && at == changed->size());
  }
  if (changed->size() >= 1000) co_return co_await strand.run([index = index] { return index->settle(); });
  co_return Result<>();
}

/// A short round tells nothing but its end.
Task<void> Notes::State::tell_progress(size_t indexed_now, size_t total, bool must) {
  auto now = loop.clock().boot();
  if (!must && (now - told_progress < between_progress || indexed_now == total)) co_return;
  told_progress = now;
  json::object data{{"indexed", indexed_now}, {"total", total}};
  auto told = co_await store.write([data](Tx& tx) -> Result<> {
    tx.emit({"notes.progress", "", data});
    return {};
  });
  if (!told) log_error("notes: cannot publish progress", told.error());
}

/// A patience of zero waits until it is done.
Task<bool> Notes::State::wait_until_done(int64_t wanted, Duration patience) {
  auto deadline = loop.clock().boot() + patience;
  while (done < wanted) {
    auto left = patience.count() > 0 ? std::chrono::duration_cast<Duration>(deadline - loop.clock().boot())
                                     : Duration(0);
    if (patience.count() > 0 && left.count() <= 0) co_return false;
    co_await settled.wait(left);
  }
  co_return true;
}

IndexState Notes::State::state() const {
  return {.notes = notes,
          .indexed = is_updating ? indexed : notes,
          .waiting = waiting,
          .is_indexing = is_updating,
          .method = WordTable::built_in() ? "hybrid" : "words"};
}

Notes::Notes(Loop& loop, Store& store, Pool& pool, Options options)
    : state_(std::make_unique<State>(loop, store, pool, std::move(options))) {}
Notes::~Notes() = default;

Task<Result<Note>> Notes::read(std::string path, int64_t offset, int64_t limit) {
  co_return co_await state_->pool.run([options = state_->options, path, offset, limit] {
    auto work = [&] { return read_note(options, path, offset, limit); };
    return without_throwing(work);
  });
}

Task<Result<NoteList>> Notes::list(std::string folder, std::string after, int64_t limit) {
  co_return co_await state_->pool.run([options = state_->options, folder, after, limit] {
    auto work = [&] { return list_notes(options, folder, after, limit); };
    return without_throwing(work);
  });
}

Task<Result<SearchReply>> Notes::search(std::string query, std::string folder, int64_t limit,
                                        Duration patience) {
  auto& state = *state_;
  if (words_of(query, 1).empty())
    co_return fail(Code::invalid_argument, "the query contains no word", "query");
  auto below = state.files.inside(folder);
  if (!below) co_return fail(Code::invalid_argument, below.error().message, "folder", below.error().hint);
  if (state.strand.is_crowded())
    co_return fail(Code::overloaded, "too many pending searches", "", "try again");
  state.begin_watching();
  bool complete = co_await state.wait_until_done(state.seen, std::max(patience, Duration(1)));
  auto most = static_cast<size_t>(std::clamp<int64_t>(limit, 1, 100));
  auto found = co_await state.strand.run(
      [index = state.index, query, folder = *below, most] { return index->search(query, folder, most); });
  if (!found) co_return fail(found.error());
  auto count = co_await state.strand.run([index = state.index] { return index->count(); });
  co_return SearchReply{.results = std::move(*found),
                        .notes = count.value_or(0),
                        .complete = complete && !state.failure,
                        .method = state.state().method};
}

Task<Result<IndexState>> Notes::index(bool rebuild) {
  auto& state = *state_;
  if (rebuild) {
    auto forgotten = co_await state.strand.run([index = state.index] { return index->forget(); });
    if (!forgotten) co_return fail(forgotten.error());
  }
  state.is_asked = true;
  if (!state.is_watching)
    state.begin_watching();
  else
    state.saw_all();
  co_await state.wait_until_done(state.seen, Duration(0));
  if (state.failure) co_return fail(*state.failure);
  co_return state.state();
}

Task<IndexState> Notes::state() { co_return state_->state(); }

Task<void> Notes::start() {
  auto there = co_await state_->pool.run([file = state_->options.index_file] {
    std::error_code ignored;
    return std::filesystem::exists(file, ignored);
  });
  if (there) state_->begin_watching();
}

}  // namespace cru::notes
