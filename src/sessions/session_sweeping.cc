#include <fmt/format.h>

#include <map>

#include "base/id.h"
#include "members/member_table.h"
#include "platform/files/log.h"
#include "platform/process/git.h"
#include "sessions/changeset.h"
#include "sessions/sessions_impl.h"

namespace cru::coordination {
namespace {

constexpr int64_t max_inspected = 20'000;
constexpr Duration after_trouble = 30s;

json::object ended_reply(const std::string& session_id, const Ended& ended, std::string_view reason) {
  return {{"success", true},
          {"session_id", session_id},
          {"locks_released", ended.freed.locks},
          {"work_requeued", ended.freed.work},
          {"handoff_id", json_or_null(ended.handoff_id)},
          {"reason", json_or_null(std::string(reason))}};
}

struct EndedSession {
  Done done;
  Freed freed = {};
  bool is_over = false;
};

}  // namespace

Task<std::string> Sessions::Impl::head_of(std::string folder) {
  if (folder.empty()) folder = options.root;
  co_return co_await pool.run([folder, limit = options.git_limit]() -> std::string {
    auto head = run_git(GitUse::looks, {"rev-parse", "--verify", "--quiet", "HEAD"}, folder, limit);
    if (!head) return {};
    if (head->exit_code == 1) return std::string(no_commit);
    if (head->exit_code != 0) return {};
    return head->out.substr(0, head->out.find('\n'));
  });
}

Task<Ending> Sessions::Impl::make_ending(std::string why, std::string folder) {
  Ending ending{.why = std::move(why),
                .requeue = true,
                .handoff_id = uuid_from(random.bytes16()),
                .changeset_id = uuid_from(random.bytes16())};
  ending.head_commit = co_await head_of(std::move(folder));
  co_return ending;
}

void Sessions::Impl::forget(const std::string& session_id, const Freed& set_free) {
  heartbeats.erase(session_id);
  if (ended) ended();
  if (set_free.locks + set_free.work == 0) return;
  for (const auto& tell : freed) tell();
}

Task<Result<Done>> Sessions::Impl::end(Who who, std::string reason, std::string via) {
  struct Known {
    std::optional<Done> earlier;
    std::optional<Session> session;
  };
  auto known = co_await store.read([who](Reader& reader) -> Result<Known> {
    auto earlier = find_reply(reader, who.once);
    if (!earlier) return fail(std::move(earlier.error()));
    return Known{*std::move(earlier), find_session(reader, who.session_id)};
  });
  if (!known) co_return fail(std::move(known.error()));
  if (known->earlier) co_return *std::move(known->earlier);
  if (!known->session || !known->session->is_connected())
    co_return Done{
        .reply = ended_reply(who.session_id, {}, known->session ? "already_ended" : "session_not_found"),
        .changed = false};
  auto ending =
      co_await make_ending(reason.empty() ? "it ended" : "it ended: " + reason, known->session->folder);
  ending.requeue = options.requeue_at_end;
  bool goes_on = via == "hook" && (reason == "clear" || reason == "resume");
  auto ended = co_await store.write(
      [listeners = listeners, who, via, goes_on, ending, at = now()](Tx& tx) -> Result<EndedSession> {
        auto nothing = [&](std::string_view why) {
          return EndedSession{{.reply = ended_reply(who.session_id, {}, why), .changed = false}};
        };
        auto earlier = find_reply(tx, who.once);
        if (!earlier) return fail(std::move(earlier.error()));
        if (*earlier) return EndedSession{**std::move(earlier)};
        auto session = find_session(tx, who.session_id);
        if (!session || !session->is_connected()) return nothing("already_ended");
        if (auto allowed = revive(*session, who, at); !allowed) return fail(std::move(allowed.error()));
        if (via == "mcp" && session->kept_by_hook) return nothing("kept_by_hook");
        auto member = members::find_member(tx, session->member);
        bool has_host = member && !member->scope.empty();
        auto own = ending;
        own.keeps = goes_on && has_host;
        auto over = end_session(tx, *session, own, at, *listeners);
        Done done{ended_reply(who.session_id, over, "")};
        keep_reply(tx, who.once, done);
        return EndedSession{std::move(done), over.freed, !own.keeps};
      });
  if (!ended) co_return fail(std::move(ended.error()));
  if (ended->is_over) forget(who.session_id, ended->freed);
  co_return std::move(ended->done);
}

Task<Result<>> Sessions::Impl::end_of_run(std::string task_id, std::string why) {
  auto begun = co_await store.read([task_id](Reader& reader) -> Result<std::vector<Session>> {
    return list_sessions_of_run(reader, task_id);
  });
  if (!begun) co_return fail(std::move(begun.error()));
  for (const auto& one : *begun) {
    auto ending = co_await make_ending(why, one.folder);
    ending.with_run = true;
    auto ended = co_await store.write(
        [listeners = listeners, id = one.session_id, task_id, ending, at = now()](Tx& tx) -> Result<Ended> {
          auto session = find_session(tx, id);
          if (!session || !session->is_connected() || session->owner != task_id) return Ended{};
          return end_session(tx, *session, ending, at, *listeners);
        });
    if (!ended) co_return fail(std::move(ended.error()));
    forget(one.session_id, ended->freed);
  }
  co_return Result<>();
}

Task<Result<>> Sessions::Impl::end_of_member(std::string member, std::string why) {
  auto begun = co_await store.read([member](Reader& reader) -> Result<std::vector<Session>> {
    return list_sessions_of_member(reader, member);
  });
  if (!begun) co_return fail(std::move(begun.error()));
  std::vector<Ending> endings;
  for (const auto& one : *begun) {
    endings.push_back(co_await make_ending(why, one.folder));
    endings.back().is_proper = false;
  }
  auto ended = co_await store.write(
      [listeners = listeners, begun = *begun, endings, member, why, at = now()](Tx& tx) -> Result<Freed> {
        Freed freed;
        for (size_t i = 0; i < begun.size(); ++i) {
          auto session = find_session(tx, begun[i].session_id);
          if (!session || !session->is_connected() || session->member != member) continue;
          auto over = end_session(tx, *session, endings[i], at, *listeners);
          freed.locks += over.freed.locks;
          freed.work += over.freed.work;
        }
        members::end_member(tx, member, why);
        return freed;
      });
  if (!ended) co_return fail(std::move(ended.error()));
  for (const auto& one : *begun) forget(one.session_id, *ended);
  co_return Result<>();
}

Task<Result<Sessions::Impl::Swept>> Sessions::Impl::sweep(Duration threshold) {
  auto at = now();
  auto live = co_await store.read([](Reader& reader) -> Result<std::vector<Session>> {
    return list_connected_sessions(reader, max_inspected);
  });
  if (!live) co_return fail(std::move(live.error()));
  Swept swept;
  for (auto& one : *live) {
    one = heartbeats.latest(std::move(one));
    if (!is_stale(one, at, threshold)) {
      auto left = until(after(one.last_heartbeat, options.stale_after), at);
      look_at(at.boot + std::max(left, Duration(0)));
      continue;
    }
    auto silent = format_duration(-until(one.last_heartbeat, at));
    auto ending = co_await make_ending(fmt::format("no heartbeat for {}", silent), one.folder);
    ending.is_proper = false;
    // What was heard only in memory counts, also what came since.
    auto heard = heartbeats.last_of(one.session_id);
    auto ended = co_await store.write([listeners = listeners, id = one.session_id, heard, ending, threshold,
                                       present = is_present(one.member),
                                       at = now()](Tx& tx) -> Result<std::optional<Ended>> {
      auto session = find_session(tx, id);
      if (!session) return std::nullopt;
      if (heard && until(*heard, session->last_heartbeat) > Duration(0)) session->last_heartbeat = *heard;
      if (!is_stale(*session, at, threshold)) return std::nullopt;
      if (present) {  // silent, but there
        session->last_heartbeat = at;
        session->last_heartbeat.wall = tx.now();
        put_session(tx, *session);
        return std::nullopt;
      }
      return end_session(tx, *session, ending, at, *listeners);
    });
    if (!ended) co_return fail(std::move(ended.error()));
    if (!*ended) {
      look_at(at.boot + options.stale_after);
      continue;
    }
    ++swept.sessions;
    swept.freed.locks += (*ended)->freed.locks;
    swept.freed.work += (*ended)->freed.work;
    forget(one.session_id, (*ended)->freed);
  }
  heartbeats.forget_old(now(), options.stale_after);
  auto tidied = co_await store.write([threshold](Tx& tx) -> Result<bool> {
    end_members_without_session(tx, tx.now() - threshold, max_inspected);
    return true;
  });
  if (!tidied) co_return fail(std::move(tidied.error()));
  if (ended) ended();
  co_return swept;
}

void Sessions::Impl::look_at(BootTime at) {
  if (timer && timer_at <= at) return;
  if (timer) loop.cancel_timer(timer);
  timer_at = at;
  timer = loop.set_timer(std::max(at - loop.clock().boot(), Duration(0)) + 1ms, [this] {
    timer = 0;
    loop.spawn(look());
  });
}

Task<void> Sessions::Impl::look() {
  auto swept = co_await sweep(options.stale_after);
  if (swept) co_return;
  log_error("cannot check for dead agents", swept.error());
  look_at(loop.clock().boot() + after_trouble);
}

}  // namespace cru::coordination
