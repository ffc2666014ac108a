#include "locks/locks_service.h"

#include <fmt/format.h>

#include "locks/lock_queue.h"
#include "locks/lock_replies.h"
#include "members/member_table.h"
#include "platform/files/log.h"
#include "platform/loop/detached.h"
#include "sessions/callers.h"
#include "sessions/fencing.h"

namespace cru::coordination {
namespace {

constexpr Duration after_trouble = 30s;

/// The key with and without the slash of a folder: what was a name when it was locked may be a folder now.
LockKey other_form(const LockKey& key) {
  if (key.kind == LockKey::Kind::path) return {LockKey::Kind::glob, key.text + "/"};
  if (key.kind == LockKey::Kind::glob && key.text.ends_with('/'))
    return {LockKey::Kind::path, key.text.substr(0, key.text.size() - 1)};
  return key;
}

/// What those who wait must learn of a transaction, once it is committed.
struct News {
  bool is_freed = false;                          ///< something expired, or was released
  std::optional<std::vector<LockKey>> held = {};  ///< by the session, if it was looked at
};
struct Told {
  Done done;
  News news;
};

std::vector<Lock> drop_over(Tx& tx, std::vector<Lock> locks, const Moment& now, News& news) {
  auto before = locks.size();
  locks = drop_expired(tx, std::move(locks), now);
  if (locks.size() != before) news.is_freed = true;
  return locks;
}

/// Those who waited when a request was made: which of them come before it, and whether there are any.
struct Line {
  std::vector<Waiting> ahead = {};
  bool is_empty = true;
};

/// What the session holds and what stands in the way of `key`, nothing of it expired. What the session holds
/// elsewhere matters only to those who wait, and is read only if somebody does: an agent may hold thousands
/// of locks.
struct Standing {
  std::vector<Lock> mine, overlapping;
};
Standing read_standing(Tx& tx, const Session& session, const LockKey& key, const Line& line,
                       const Moment& now, News& news) {
  // One after the other: an expired lock is in both, and gone after the first.
  Standing standing{.mine = {}, .overlapping = drop_over(tx, overlapping_locks(tx, key), now, news)};
  if (line.is_empty) {
    std::ranges::copy_if(standing.overlapping, std::back_inserter(standing.mine),
                         [&](const Lock& lock) { return lock.session_id == session.session_id; });
    return standing;
  }
  standing.mine = drop_over(tx, locks_of(tx, session.session_id), now, news);
  news.held.emplace();
  for (const auto& lock : standing.mine) news.held->push_back(lock.key);
  return standing;
}

void take_new(Tx& tx, Lock& lock, News& news) {
  lock.fencing_token = next_token(tx);
  add_lock(tx, lock);
  if (news.held) news.held->push_back(lock.key);
}

/// `who` as its session knows it: locks say what the session says.
Who as_known(const Session& session) {
  return {.agent_id = session.agent_id,
          .agent_type = session.agent_type,
          .session_id = session.session_id,
          .member = session.member};
}

Done explain_refusal(Reader& reader, Done refused, const Session& session, const Lock& holder) {
  auto is_unattributed = [&](const std::string& id) {
    auto member = members::find_member(reader, id);
    return member && member->is_unattributed;
  };
  return with_doubt(std::move(refused), holder, is_unattributed(session.member),
                    is_unattributed(holder.member));
}

Result<Done> take_lock(Tx& tx, const Session& session, const LockRequest& request, const Line& line,
                       const Moment& now, News& news) {
  auto standing = read_standing(tx, session, request.key, line, now, news);
  auto taking = take(as_known(session), request, standing.overlapping, standing.mine, line.ahead, now);
  if (taking.what == Taking::What::acquire) {
    if (auto room = check_room(tx, request.key.kind); !room) return fail(std::move(room.error()));
    take_new(tx, taking.lock, news);
  } else if (taking.what == Taking::What::refresh) {
    refresh_lock(tx, taking.lock);
  }
  auto reply = taken_reply(taking, request);
  if (taking.what != Taking::What::held_by_other) return reply;
  return explain_refusal(tx, std::move(reply), session, taking.other);
}

/// Told once, when the waiting begins: who waits is not in any table, and whoever watches would not see it.
void tell_waiting(Tx& tx, const Session& session, const LockRequest& request, const Done& refused) {
  tx.emit({"lock.waiting", session.agent_id,
           json::object{{"file_path", request.key.text},
                        {"agent_id", session.agent_id},
                        {"session_id", session.session_id},
                        {"member", json_or_null(session.member)},
                        {"locked_by", json_or_null(std::string(text_or(refused.reply, "locked_by")))}}});
}

Result<Done> release_lock(Tx& tx, const Session& session, const LockKey& key, std::optional<int64_t> token,
                          const Moment& now, News& news) {
  std::vector<Lock> found;
  for (const auto& form : {key, other_form(key)})
    if (auto lock = find_lock(tx, form); lock && (found.empty() || found.front().key != lock->key))
      found.push_back(*std::move(lock));
  found = drop_over(tx, std::move(found), now, news);
  auto own = std::ranges::find(found, session.session_id, &Lock::session_id);
  if (own == found.end()) return not_owner_reply(key, found.empty() ? nullptr : &found.front(), token);
  if (token && *token != own->fencing_token) return stale_release_reply(*own, *token);
  remove_lock(tx, *own, "lock.released");
  news.is_freed = true;
  return released_reply(own->key);
}

struct EditOptions {
  bool take = false;
  Duration ttl{0};
};
Result<Done> edit_file(Tx& tx, const Session& session, const LockKey& key, std::optional<int64_t> token,
                       const Line& line, EditOptions options, const Moment& now, News& news) {
  auto standing = read_standing(tx, session, key, line, now, news);
  for (const auto& lock : standing.overlapping)
    if (lock.session_id != session.session_id)
      return explain_refusal(tx, edit_denied(key, lock), session, lock);
  auto covers = [&](const Lock& lock) {
    return overlap(lock.key, key) && (!token || lock.fencing_token == *token);
  };
  auto own = std::ranges::find_if(standing.mine, covers);
  if (token && own == standing.mine.end()) return edit_stale(key, *token);
  note_file(tx, session, key.text);
  if (!options.take) return edit_allowed(key, own == standing.mine.end() ? nullptr : &*own);
  // A lock that covers the file is refreshed; only without one is the file's own taken.
  LockRequest request{.key = own == standing.mine.end() ? key : own->key, .reason = {}, .ttl = options.ttl};
  if (own == standing.mine.end()) request.reason = "editing";
  auto taking = take(as_known(session), request, standing.overlapping, standing.mine, line.ahead, now);
  if (taking.what == Taking::What::behind_waiting) return edit_allowed(key, nullptr);
  if (taking.what == Taking::What::acquire) {
    // An edit is not refused for want of room: it goes on without a lock.
    if (!check_room(tx, key.kind)) return edit_allowed(key, nullptr);
    take_new(tx, taking.lock, news);
  } else {
    refresh_lock(tx, taking.lock);
  }
  return edit_allowed(key, &taking.lock);
}

}  // namespace

struct Locks::Impl {
  Loop& loop;
  Store& store;
  Sessions& sessions;
  Paths& paths;
  const LockOptions options;
  LockQueue queue;
  const std::shared_ptr<Callers> callers = std::make_shared<Callers>();
  Loop::TimerId timer = 0;
  BootTime timer_at = {};

  Impl(Loop& l, Store& s, Sessions& n, Paths& p, LockOptions o)
      : loop(l), store(s), sessions(n), paths(p), options(o), queue(l) {}
  ~Impl() {
    if (timer) loop.cancel_timer(timer);
  }

  /// Sweeps what has expired at `at`, or sooner if that was planned before.
  void sweep_at(BootTime at) {
    if (timer && timer_at <= at) return;
    if (timer) loop.cancel_timer(timer);
    timer_at = at;
    timer = loop.set_timer(std::max(at - loop.clock().boot(), Duration(0)) + 1ms, [this] {
      timer = 0;
      loop.spawn(sweep_or_retry());
    });
  }
  Task<void> sweep_or_retry() {
    auto swept = co_await sweep();
    if (swept) co_return;
    log_error("cannot remove expired locks", swept.error());
    sweep_at(loop.clock().boot() + after_trouble);
  }
  Task<Result<>> sweep() {
    struct Swept {
      bool any = false;
      std::optional<Duration> next;
    };
    auto now = sessions.now();
    auto swept = co_await store.write([now](Tx& tx) -> Result<Swept> {
      auto at = now;
      at.wall = tx.now();
      auto all = list_locks(tx);
      auto before = all.size();
      auto left = drop_expired(tx, std::move(all), at);
      Swept result{.any = left.size() != before, .next = {}};
      for (const auto& lock : left)
        result.next = std::min(result.next.value_or(Duration::max()), until(lock.expires, at));
      return result;
    });
    if (!swept) co_return fail(std::move(swept.error()));
    if (swept->next) sweep_at(now.boot + *swept->next);
    if (swept->any) queue.wake();
    co_return Result<>();
  }

  Task<Result<LockKey>> resolve(std::string text, std::string cwd) {
    auto key = parse_lock_key(text);
    if (!key || key->kind == LockKey::Kind::logical) co_return key;
    if (key->kind == LockKey::Kind::path) {
      auto found = co_await paths.resolve(key->text, cwd);
      if (!found) co_return fail(std::move(found.error()));
      if (found->is_folder) co_return join_glob(found->path, "");
      co_return LockKey{LockKey::Kind::path, found->path};
    }
    auto parts = split_glob(key->text);
    auto folder = co_await paths.resolve(parts.folder.empty() ? "." : parts.folder, cwd);
    if (!folder) co_return fail(std::move(folder.error()));
    co_return join_glob(folder->path, parts.rest);
  }

  /// `closure(Tx&, const Moment&, News&) -> Result<Done>` as one transaction of `who`. Carried to its end
  /// also if the caller hangs up: those who wait must learn of what was set free.
  template <class F>
  Task<Result<Done>> change(Who who, F closure) {
    return detached(loop, change_now(std::move(who), std::move(closure)));
  }
  template <class F>
  Task<Result<Done>> change_now(Who who, F closure) {
    auto told =
        co_await store.write([closure = std::move(closure), now = sessions.now()](Tx& tx) -> Result<Told> {
          auto at = now;
          at.wall = tx.now();
          Told result;
          Result<Done> done = closure(tx, at, result.news);
          if (!done) return fail(std::move(done.error()));
          result.done = *std::move(done);
          return result;
        });
    if (!told) co_return fail(std::move(told.error()));
    if (told->news.held) queue.note_held(who.session_id, *told->news.held);
    if (told->news.is_freed) queue.wake();
    co_return std::move(told->done);
  }

  /// One try, as one transaction. What was taken for a caller that hung up meanwhile is given back.
  Task<Result<Done>> try_to_take(Who who, LockRequest request, std::vector<Waiting> ahead,
                                 bool will_wait = false) {
    // Whoever asks for the same lock for the same session is the same caller, for it is the same lock.
    Callers::Presence caller(
        callers, fmt::format("{}\n{}\n{}", who.session_id, name(request.key.kind), request.key.text));
    co_return co_await detached(
        loop, take_for(std::move(who), std::move(request), std::move(ahead), will_wait, caller.key()));
  }
  Task<Result<Done>> take_for(Who who, LockRequest request, std::vector<Waiting> ahead, bool will_wait,
                              std::string caller) {
    // Planned before the commit: a caller that hangs up meanwhile leaves no lock without its end.
    sweep_at(loop.clock().boot() + request.ttl);
    // Who begins to wait after this is behind it in the store, too.
    Line line{std::move(ahead), queue.size() == 0};
    auto take_or_tell = [listeners = sessions.listeners(), who, request, line = std::move(line), will_wait](
                            Tx& tx, const Moment& at, News& news) -> Result<Done> {
      auto session = admit_session(tx, who, at, *listeners);
      if (!session) return fail(std::move(session.error()));
      auto done = take_lock(tx, *session, request, line, at, news);
      if (will_wait && done && may_change(*done)) tell_waiting(tx, *session, request, *done);
      return done;
    };
    // No stored reply: asking again is refreshing, and "acquired" of a lock that is gone by now would be a
    // lie.
    auto done = co_await change_now(who, std::move(take_or_tell));
    if (done && !callers->is_anybody_here(caller) && text_or(done->reply, "action") == "acquired") {
      auto given = co_await give_back(who, request.key, done->reply);
      // Then the end of its time or of its session releases it.
      if (!given) log_error("cannot release a lock whose caller disconnected", given.error());
    }
    co_return done;
  }
  /// Unless its session has asked for it again since.
  Task<Result<Done>> give_back(Who who, LockKey key, json::object taken) {
    auto token = int_or(taken, "fencing_token");
    auto until = std::string(text_or(taken, "expires_at"));
    return change_now(std::move(who), [=](Tx& tx, const Moment&, News& news) -> Result<Done> {
      auto lock = find_lock(tx, key);
      if (!lock || lock->fencing_token != token || to_rfc3339(lock->expires.wall) != until) return Done{};
      remove_lock(tx, *lock, "lock.released");
      news.is_freed = true;
      return released_reply(key);
    });
  }

  Task<Result<Done>> wait_and_take(Who who, LockRequest request, Duration wait) {
    auto give_up_at = loop.clock().boot() + wait;
    LockQueue::Place place(queue, {request.key, who.agent_id, who.session_id});
    for (bool is_first = true;; is_first = false) {
      auto seen = queue.version();
      bool is_last = give_up_at <= loop.clock().boot();
      if (is_first || is_last || place.is_front()) {
        auto done = co_await try_to_take(who, request, place.ahead(), is_first && !is_last);
        if (!done || is_last || !may_change(*done)) co_return done;
      }
      auto left = give_up_at - loop.clock().boot();
      if (left > Duration(0) && seen == queue.version()) co_await queue.changed(left);
    }
  }

  Task<Result<Done>> release(Who who, LockKey key, std::optional<int64_t> token) {
    return change(who,
                  [listeners = sessions.listeners(), who, key, token](Tx& tx, const Moment& at,
                                                                      News& news) -> Result<Done> {
                    auto reply = OnceReply::find(tx, who.once);
                    if (!reply) return fail(std::move(reply.error()));
                    if (reply->earlier) return *std::move(reply->earlier);
                    auto session = admit_session(tx, who, at, *listeners);
                    if (!session) return fail(std::move(session.error()));
                    auto done = release_lock(tx, *session, key, token, at, news);
                    if (done && done->changed) reply->keep(tx, who.once, *done);
                    return done;
                  });
  }
};

Locks::Locks(Loop& loop, Store& store, Sessions& sessions, Paths& paths, LockOptions options)
    : impl_(new Impl(loop, store, sessions, paths, options)) {
  release_locks_at_session_end(sessions);
  sessions.when_freed([this] { freed(); });
}
Locks::~Locks() = default;

void Locks::freed() { impl_->queue.wake(); }
Task<Result<>> Locks::recover() { return impl_->sweep(); }

Task<Result<Done>> Locks::acquire(Who who, Request request) {
  auto minutes =
      request.ttl_minutes.value_or(std::chrono::ceil<std::chrono::minutes>(impl_->options.ttl).count());
  if (minutes < min_ttl_minutes || minutes > max_ttl_minutes)
    co_return ttl_out_of_range_reply(request.file_path, minutes);
  auto key = co_await impl_->resolve(request.file_path, who.cwd);
  if (!key && key.error().code == Code::invalid_argument)
    co_return invalid_path_reply(request.file_path, key.error());
  if (!key) co_return fail(std::move(key.error()));
  LockRequest wanted{.key = *std::move(key),
                     .reason = std::move(request.reason),
                     .ttl = std::chrono::minutes(minutes),
                     .fencing_token = request.fencing_token};
  if (request.wait <= Duration(0)) {
    auto ahead = impl_->queue.overlapping(wanted.key);
    co_return co_await impl_->try_to_take(std::move(who), std::move(wanted), std::move(ahead));
  }
  if (impl_->queue.size() >= impl_->options.max_waiters)
    co_return fail(Code::overloaded, "too many callers are waiting for locks", "wait_seconds",
                   "retry without waiting, or later");
  co_return co_await impl_->wait_and_take(std::move(who), std::move(wanted), request.wait);
}

Task<Result<Done>> Locks::release(Who who, std::string file_path, std::optional<int64_t> token) {
  auto key = co_await impl_->resolve(file_path, who.cwd);
  if (!key && key.error().code == Code::invalid_argument)
    co_return invalid_release_reply(file_path, key.error());
  if (!key) co_return fail(std::move(key.error()));
  co_return co_await impl_->release(std::move(who), *std::move(key), token);
}

Task<Result<std::vector<Locks::Checked>>> Locks::check(Who who, std::vector<std::string> file_paths) {
  if (auto alive = co_await impl_->sessions.seen(who); !alive) co_return fail(std::move(alive.error()));
  std::vector<LockKey> keys;
  for (const auto& path : file_paths) {
    auto key = co_await impl_->resolve(path, who.cwd);
    if (!key) {
      auto error = std::move(key.error());
      if (error.code == Code::invalid_argument) error.field = "file_paths";
      co_return fail(std::move(error));
    }
    keys.push_back(*std::move(key));
  }
  auto now = impl_->sessions.now();
  auto found = co_await impl_->store.read([keys, now](Reader& reader) -> Result<std::vector<Lock>> {
    auto locks = keys.empty() ? list_locks(reader) : overlapping_locks(reader, keys);
    std::erase_if(locks, [&](const Lock& lock) { return passed(lock.expires, now); });
    return locks;
  });
  if (!found) co_return fail(std::move(found.error()));
  std::vector<Checked> checked;
  for (auto& lock : *found) {
    auto waiters = impl_->queue.overlapping(lock.key).size();
    checked.push_back({std::move(lock), static_cast<int64_t>(waiters)});
  }
  co_return checked;
}

Task<Result<Done>> Locks::check_edit(Who who, std::string file_path, std::optional<int64_t> token) {
  if (file_path.empty() || file_path.find('\0') != std::string::npos)
    co_return fail(Code::invalid_argument, "the path is empty or contains NUL", "file_path");
  auto found = co_await impl_->paths.resolve(file_path, who.cwd);
  if (!found && found.error().code == Code::invalid_argument) co_return edit_outside(file_path);
  if (!found) co_return fail(std::move(found.error()));
  // What is edited is a file, whatever its name looks like: never a glob or a logical key.
  LockKey key{LockKey::Kind::path, found->path};
  EditOptions options{impl_->options.take_on_edit, impl_->options.edit_ttl};
  if (options.take) impl_->sweep_at(impl_->loop.clock().boot() + options.ttl);
  Line line{impl_->queue.overlapping(key), impl_->queue.size() == 0};
  co_return co_await impl_->change(who,
                                   [listeners = impl_->sessions.listeners(), who, key, token, line, options](
                                       Tx& tx, const Moment& at, News& news) -> Result<Done> {
                                     auto session = revive_session(tx, who, at, *listeners);
                                     if (!session) return fail(std::move(session.error()));
                                     return edit_file(tx, *session, key, token, line, options, at, news);
                                   });
}

}  // namespace cru::coordination
