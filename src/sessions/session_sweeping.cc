#include <fmt/format.h>

#include <map>

#include "base/id.h"
#include "members/member_keys.h"
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
  bool has_changed = true;
  bool is_over = false;
};

/// Of a session that is ended without anybody having prepared it: always the same for this life of it.
std::string id_of(std::string_view what, const Session& session) {
  return session_id_from(
      what, fmt::format("{} {} {}", session.session_id, session.epoch, to_millis(session.started_at)));
}

/// The end of a session that its conversation has left says nothing of the member. True: it is over.
bool close_named_session(Tx& tx, const Who& who) {
  return who.closes.empty() || members::close_session(tx, who.member, who.closes);
}

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

void Sessions::Impl::forget(const std::vector<std::string>& session_ids, const Freed& set_free) {
  for (const auto& id : session_ids) heartbeats.erase(id);
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
  bool is_live = known->session && known->session->is_connected();
  if (!is_live && who.closes.empty())
    co_return Done{
        .reply = ended_reply(who.session_id, {}, known->session ? "already_ended" : "session_not_found"),
        .changed = false};
  Ending ending{.why = why_it_ended(reason)};
  if (is_live) ending = co_await make_ending(ending.why, known->session->folder);
  ending.requeue = options.requeue_on_end;
  bool goes_on = via == "hook" && (reason == "clear" || reason == "resume");
  auto ended = co_await store.write([listeners = listeners, who, via, goes_on, ending,
                                     at = now()](Tx& tx) -> Result<EndedSession> {
    auto nothing = [&](std::string_view why, bool has_changed = false) {
      return EndedSession{{.reply = ended_reply(who.session_id, {}, why), .changed = false}, {}, has_changed};
    };
    auto reply = OnceReply::find(tx, who.once);
    if (!reply) return fail(std::move(reply.error()));
    if (reply->earlier) return EndedSession{*std::move(reply->earlier), {}, false};
    auto session = find_session(tx, who.session_id);
    if (!session || !session->is_connected()) {
      // Nothing is held, but the conversation is over all the same.
      if (close_named_session(tx, who) && !goes_on && !who.closes.empty() && who.owner.empty())
        members::end_with_session(tx, who.member, ending.why, "");
      return nothing(session ? "already_ended" : "session_not_found", true);
    }
    if (auto allowed = revive(*session, who, at); !allowed) return fail(std::move(allowed.error()));
    if (via == "mcp" && session->kept_by_hook) return nothing("kept_by_hook");
    if (!close_named_session(tx, who)) return nothing("session_not_found", true);
    auto member = members::find_member(tx, session->member);
    bool has_host = member && !member->scope.empty();
    auto own = ending;
    if (own.handoff_id.empty()) {  // it began meanwhile
      own.handoff_id = id_of("handoff", *session);
      own.changeset_id = id_of("changeset", *session);
    }
    own.keeps = goes_on && has_host;
    auto over = end_session(tx, *session, own, at, *listeners);
    Done done{ended_reply(who.session_id, over, "")};
    reply->keep(tx, who.once, done);
    return EndedSession{std::move(done), over.freed, true, !own.keeps};
  });
  if (!ended) co_return fail(std::move(ended.error()));
  if (ended->is_over)
    forget({who.session_id}, ended->freed);
  else if (ended->has_changed && this->ended)
    this->ended();
  co_return std::move(ended->done);
}

Task<Result<>> Sessions::Impl::depart(Departure departure) {
  auto begun = co_await store.read(
      [departure](Reader& reader) -> Result<std::vector<Session>> { return departure.sessions(reader); });
  if (!begun) co_return fail(std::move(begun.error()));
  std::map<std::string, std::string> heads;
  for (const auto& one : *begun)
    if (!heads.contains(one.folder)) heads[one.folder] = co_await head_of(one.folder);
  struct Departed {
    std::vector<std::string> sessions;
    Freed freed;
  };
  // The sessions are listed again: one may have begun meanwhile, or the whole be untrue by now.
  auto ended =
      co_await store.write([listeners = listeners, departure, heads, at = now()](Tx& tx) -> Result<Departed> {
        Departed gone;
        if (departure.is_so && !departure.is_so(tx)) return gone;
        for (const auto& session : departure.sessions(tx)) {
          auto ending = departure.ending;
          ending.handoff_id = id_of("handoff", session);
          ending.changeset_id = id_of("changeset", session);
          if (auto head = heads.find(session.folder); head != heads.end()) ending.head_commit = head->second;
          auto over = end_session(tx, session, ending, at, *listeners);
          gone.sessions.push_back(session.session_id);
          gone.freed.locks += over.freed.locks;
          gone.freed.work += over.freed.work;
        }
        if (departure.then) departure.then(tx);
        return gone;
      });
  if (!ended) co_return fail(std::move(ended.error()));
  forget(ended->sessions, ended->freed);
  co_return Result<>();
}

Task<Result<>> Sessions::Impl::end_of_run(std::string task_id, std::string why) {
  return depart({.sessions = [task_id](Reader& reader) { return list_sessions_of_run(reader, task_id); },
                 .ending = {.why = std::move(why), .with_run = true}});
}

Task<Result<>> Sessions::Impl::end_of_host(std::string id, ProcessIdentity host) {
  auto member = co_await store.read([id](Reader& reader) -> Result<std::optional<members::Member>> {
    return members::find_member(reader, id);
  });
  if (!member) co_return fail(std::move(member.error()));
  if (!*member) co_return Result<>();
  const auto& program = (*member)->program;
  auto why = program.empty() ? std::string("its program has ended")
                             : fmt::format("its program, {}, has ended", program);
  auto is_there = [id, host](Tx& tx) {
    auto now = members::find_member(tx, id);
    return now && now->host == host && !now->is_ended();
  };
  co_return co_await depart({.sessions = [id](Reader& reader) { return list_sessions_of_member(reader, id); },
                             .is_so = is_there,
                             .then = [id, why](Tx& tx) { members::end_member(tx, id, why); },
                             .ending = {.why = why, .is_proper = false}});
}

Task<Result<>> Sessions::Impl::end_of_ended(std::string id, std::string why) {
  auto has_ended = [id](Tx& tx) {
    auto now = members::find_member(tx, id);
    return now && now->is_ended();
  };
  return depart({.sessions = [id](Reader& reader) { return list_sessions_of_member(reader, id); },
                 .is_so = has_ended,
                 .ending = {.why = std::move(why)}});
}

/// Silent, but there.
Task<Result<>> Sessions::Impl::keep_alive(std::string session_id) {
  co_return co_await store.write([session_id, at = now()](Tx& tx) -> Result<> {
    auto session = find_session(tx, session_id);
    if (!session || !session->is_connected()) return {};
    session->last_heartbeat = at;
    session->last_heartbeat.wall = tx.now();
    put_session(tx, *session);
    return {};
  });
}

Task<Result<std::optional<Ended>>> Sessions::Impl::end_if_stale(Session one, Duration threshold) {
  auto silent = format_duration(-until(one.last_heartbeat, now()));
  auto ending = co_await make_ending(fmt::format("no heartbeat for {}", silent), one.folder);
  ending.is_proper = false;
  // What was heard only in memory counts, also what came since; and who came back has not gone.
  auto heard = heartbeats.last_of(one.session_id);
  if (is_present(one)) heard = now();
  co_return co_await store.write([listeners = listeners, id = one.session_id, heard, ending, threshold,
                                  at = now()](Tx& tx) -> Result<std::optional<Ended>> {
    auto session = find_session(tx, id);
    if (!session) return std::nullopt;
    if (heard && until(*heard, session->last_heartbeat) > Duration(0)) session->last_heartbeat = *heard;
    if (!is_stale(*session, at, threshold)) return std::nullopt;
    return end_session(tx, *session, ending, at, *listeners);
  });
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
    if (is_present(one)) {
      if (auto kept = co_await keep_alive(one.session_id); !kept) co_return fail(std::move(kept.error()));
      look_at(at.boot + options.stale_after);
      continue;
    }
    auto id = one.session_id;
    auto ended = co_await end_if_stale(std::move(one), threshold);
    if (!ended) co_return fail(std::move(ended.error()));
    if (!*ended) {
      look_at(at.boot + options.stale_after);
      continue;
    }
    ++swept.sessions;
    swept.freed.locks += (*ended)->freed.locks;
    swept.freed.work += (*ended)->freed.work;
    forget({id}, (*ended)->freed);
  }
  heartbeats.forget_old(now(), options.stale_after);
  auto tidied = co_await store.write([threshold](Tx& tx) -> Result<bool> {
    auto has_session = [](Tx& in, const std::string& member) {
      return !list_sessions_of_member(in, member).empty();
    };
    members::end_forsaken_members(tx, tx.now() - threshold, max_inspected, has_session);
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
