#include "trust/trust_service.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/sha256.h"
#include "base/text.h"
#include "platform/files/log.h"
#include "platform/loop/detached.h"
#include "trust/record_file.h"

namespace cru::trust {
namespace {

/// What a person looks at, of one file and of all. What is not shown cannot be trusted.
constexpr size_t max_difference_bytes = 256 << 10, max_shown_bytes = 4 << 20;

/// Adds what is new in the file, or refuses it if that is too much to look at; `left` is what may be shown.
void show_difference(Shown& shown, std::string_view before, size_t& left) {
  auto text = valid_utf8(difference(shown.item, before));
  if (text.size() > max_difference_bytes)
    shown.item.problem = "more than 256 KiB have changed: too much to look at";
  else if (text.size() > left)
    shown.item.problem = "too much waits at once: look at the other files first";
  if (!shown.item.problem.empty()) {
    shown.state = State::refused;
    return;
  }
  left -= text.size();
  shown.sha256 = sha256(shown.item.text);
  shown.difference = std::move(text);
}

/// On a pool thread.
Listing look_at(const Options& options, const std::vector<std::string>& named, const Record& record) {
  Listing listing;
  auto left = max_shown_bytes;
  for (auto& item : options.look(named)) {
    Shown shown{.item = std::move(item), .state = {}, .sha256 = {}, .difference = {}};
    shown.state = state_of(shown.item, record);
    auto known = record.find(shown.item.path);
    if (shown.state == State::trusted) {
      listing.trusted.insert(*known);
      listing.texts[shown.item.path] = std::move(shown.item.text);
      continue;
    }
    if (shown.state != State::refused)
      show_difference(shown, known == record.end() ? "" : trusted_text(options.folder, known->second.sha256),
                      left);
    listing.waiting.push_back(std::move(shown));
  }
  std::ranges::sort(listing.waiting, {}, [](const Shown& shown) { return shown.item.path; });
  return listing;
}

}  // namespace

json::object to_json(const Listing& listing) {
  json::array waiting, trusted;
  for (const auto& [item, state, digest, difference] : listing.waiting)
    waiting.push_back({{"path", item.path},
                       {"state", name(state)},
                       {"reasons", json::value_from(item.reasons)},
                       {"sha256", json_or_null(digest)},
                       {"diff", difference},
                       {"problem", json_or_null(item.problem)}});
  for (const auto& [path, entry] : listing.trusted)
    trusted.push_back({{"path", path},
                       {"sha256", entry.sha256},
                       {"trusted_at", to_rfc3339(entry.trusted_at)},
                       {"once", entry.once}});
  return {{"waiting", std::move(waiting)}, {"trusted", std::move(trusted)}};
}

Trust::Trust(Loop& loop, Store& store, Pool& pool, Options options)
    : loop_(loop), store_(store), pool_(pool), options_(std::move(options)), kept_(loop) {
  auto record = load_record(options_.folder, options_.root);
  if (!record) log_warn("nothing of this project is trusted", {{"error", record.error().message}});
  record_ = std::make_shared<const Record>(record ? *std::move(record) : Record());
}

Checks Trust::checks() const {
  return [this]() -> Check {
    return [known = record_](const std::string& path, std::string_view digest) {
      auto found = known->find(path);
      return found != known->end() && found->second.sha256 == digest;
    };
  };
}

Task<Result<Listing>> Trust::list(std::vector<std::string> named) {
  co_return co_await pool_.run([options = options_, named = std::move(named), record = record_] {
    return Result<Listing>(look_at(options, named, *record));
  });
}

namespace {

/// Whether the file of `before` says all of `after`: what is for now only leaves nothing behind.
bool is_same_on_disk(const Record& before, const Record& after) {
  auto written = [](Record record) {
    std::erase_if(record, [](const auto& entry) { return entry.second.once; });
    return record;
  };
  return written(before) == written(after);
}

}  // namespace

Task<Result<>> Trust::keep(std::function<void(Record&)> change, std::map<std::string, std::string> texts) {
  while (is_keeping_) co_await kept_.wait(1h);
  is_keeping_ = true;
  auto record = *record_;
  change(record);
  Result<> saved;
  if (!is_same_on_disk(*record_, record))
    saved = co_await pool_.run([options = options_, record, texts = std::move(texts)] {
      return save_record(options.folder, options.root, record, texts);
    });
  if (saved) record_ = std::make_shared<const Record>(std::move(record));
  if (saved && options_.apply) co_await options_.apply();
  is_keeping_ = false;
  kept_.notify();
  if (saved) changed();
  co_return saved;
}

Task<Result<Listing>> Trust::grant(std::map<std::string, std::string> items, bool once) {
  std::vector<std::string> named;
  for (const auto& [path, digest] : items) named.push_back(path);
  auto seen = co_await list(named);
  if (!seen) co_return seen;
  Record granted;
  std::map<std::string, std::string> texts;
  auto now = loop_.clock().wall();
  for (const auto& [path, digest] : items) {
    if (auto known = seen->trusted.find(path);
        known != seen->trusted.end() && known->second.sha256 == digest) {
      // What was trusted for now only is kept from now on.
      if (!once) granted[path] = {digest, known->second.trusted_at, false};
      if (!once) texts[digest] = std::move(seen->texts[path]);
      continue;
    }
    auto found = std::ranges::find(seen->waiting, path, [](const Shown& shown) { return shown.item.path; });
    if (found == seen->waiting.end())
      co_return fail(Code::not_found, fmt::format("{} does not wait for trust", path), "items",
                     "see what does: cru trust --list");
    if (found->state == State::refused)
      co_return fail(Code::forbidden, fmt::format("{} cannot be trusted: {}", path, found->item.problem),
                     "items");
    if (found->sha256 != digest)
      co_return fail(Code::conflict, fmt::format("{} has changed since it was shown", path), "items",
                     "look at it again with: cru trust");
    granted[path] = {digest, now, once};
    texts[digest] = std::move(found->item.text);
  }
  auto kept = co_await detached(loop_, keep(
                                           [granted](Record& record) {
                                             for (const auto& [path, entry] : granted) record[path] = entry;
                                           },
                                           std::move(texts)));
  if (!kept) co_return fail(std::move(kept.error()));
  co_return co_await list({});
}

Task<Result<Listing>> Trust::revoke(std::vector<std::string> paths) {
  for (const auto& path : paths)
    if (!record_->contains(path))
      co_return fail(Code::not_found, fmt::format("{} is not trusted", path), "paths",
                     "see what is: cru trust --list");
  auto kept = co_await detached(loop_, keep(
                                           [paths](Record& record) {
                                             if (paths.empty()) record.clear();
                                             for (const auto& path : paths) record.erase(path);
                                           },
                                           {}));
  if (!kept) co_return fail(std::move(kept.error()));
  co_return co_await list({});
}

Task<Result<>> Trust::written(std::string path, std::string text) {
  auto digest = sha256(text);
  auto seen = co_await list({});
  if (!seen) co_return fail(std::move(seen.error()));
  auto found = std::ranges::find(seen->waiting, path, [](const Shown& shown) { return shown.item.path; });
  if (found == seen->waiting.end() || found->sha256 != digest) co_return Result<>();
  Entry entry{digest, loop_.clock().wall(), false};
  co_return co_await detached(
      loop_, keep([path, entry](Record& record) { record[path] = entry; }, {{digest, std::move(text)}}));
}

Task<void> Trust::start() {
  FolderWatchOptions options;
  options.recursive = true;
  // Chats and working copies are written there all the time, and bring nothing.
  options.wants = [](const std::string& folder) { return folder != "sessions" && folder != "worktrees"; };
  auto watch = watch_folder(loop_, options_.root + "/.crucible", std::move(options),
                            [this](FolderChanges) { changed(); });
  if (watch)
    watch_ = *std::move(watch);
  else
    log_warn("trust: cannot watch .crucible; changes are noticed at the next request",
             {{"error", watch.error().message}});
  co_return;  // nothing is looked at yet: whoever wants to know asks, and a start is not held up
}

void Trust::changed() {
  tell_again_ = true;
  if (std::exchange(is_telling_, true)) return;
  loop_.spawn(tell());
}

/// One at a time; what changes meanwhile is looked at afterwards.
Task<void> Trust::tell() {
  while (std::exchange(tell_again_, false)) {
    auto seen = co_await list({});
    if (!seen) continue;
    std::set<std::string> waiting;
    for (const auto& shown : seen->waiting) waiting.insert(shown.item.path + "\n" + shown.sha256);
    if (waiting == told_) continue;
    auto written = co_await store_.write([count = waiting.size()](Tx& tx) -> Result<bool> {
      tx.emit({"trust.changed", "", json::object{{"waiting", count}}});
      return true;
    });
    if (!written) log_error("trust: cannot tell of a change", written.error());
    told_ = std::move(waiting);
  }
  is_telling_ = false;
}

}  // namespace cru::trust
