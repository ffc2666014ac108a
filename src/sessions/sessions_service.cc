#include "sessions/sessions_service.h"

#include "platform/loop/detached.h"
#include "sessions/sessions_impl.h"

namespace cru::coordination {
namespace {

constexpr int64_t max_listed = 1000;

json::object session_reply(const Session& session) {
  return {{"success", true},
          {"session_id", session.session_id},
          {"agent_id", session.agent_id},
          {"status", name(session.presence)},
          {"reason", nullptr}};
}

Done session_not_found(const Who& who) {
  return {.reply = {{"success", false},
                    {"session_id", who.session_id},
                    {"error", "session_not_found"},
                    {"reason", "session_not_found"},
                    {"message", "agent session not found: " + who.session_id},
                    {"hint", "call register_session"}},
          .changed = false,
          .status = 404};
}

Task<Result<std::optional<Session>>> read_session(Store& store, std::string session_id) {
  co_return co_await store.read([session_id](Reader& reader) -> Result<std::optional<Session>> {
    return find_session(reader, session_id);
  });
}

/// A person at a command line is no peer to be found, unless it says what it does.
bool is_listed(const Session& session, std::string_view capability, std::string_view status) {
  if (session.is_person() && session.capabilities.empty() && session.current_task.empty()) return false;
  if (!status.empty() && name(session.presence) != status) return false;
  return capability.empty() ||
         std::ranges::find(session.capabilities, capability) != session.capabilities.end();
}

}  // namespace

Sessions::Sessions(Loop& loop, Store& store, Pool& pool, Random& random, SessionOptions options)
    : impl_(new Impl{loop, store, pool, random, std::move(options)}) {}
Sessions::~Sessions() = default;

Moment Sessions::now() const {
  auto now = impl_->now();
  // Whoever asks may begin a session, and that cannot be stale any sooner than this.
  impl_->look_at(now.boot + impl_->options.stale_after);
  return now;
}

void Sessions::when_freed(std::function<void()> freed) { impl_->freed.push_back(std::move(freed)); }
void Sessions::when_ended(std::function<void()> ended) { impl_->ended = std::move(ended); }
void Sessions::on_heartbeat(std::function<void(Tx&, const Session&, const Moment&)> listener) {
  impl_->listeners->heartbeat.push_back(std::move(listener));
}
void Sessions::on_end(std::function<void(Tx&, SessionEnd&)> listener) {
  impl_->listeners->end.push_back(std::move(listener));
}

std::shared_ptr<const SessionListeners> Sessions::listeners() const { return impl_->listeners; }

Task<Result<>> Sessions::seen(Who who) {
  auto admitted = co_await this->admitted(std::move(who));
  // A terminal may have the id of a session that ended long ago: that keeps nobody from looking.
  if (!admitted && admitted.error().code == Code::session_expired) co_return Result<>();
  co_return admitted;
}

Task<Result<>> Sessions::admitted(Who who) {
  // A person who only looks, on the page say, is no agent; and whoever has no name is not registered.
  if (who.is_person() || who.is_nobody()) co_return Result<>();
  auto& heartbeats = impl_->heartbeats;
  auto now = this->now();
  auto heard = heartbeats.hear(who, now);
  if (heard == Heartbeats::Heard::unknown) {
    auto found = co_await read_session(impl_->store, who.session_id);
    if (!found) co_return fail(std::move(found.error()));
    if (!*found) co_return Result<>();
    if (auto allowed = admit(**found, who, now); !allowed) co_return fail(std::move(allowed.error()));
    bool must_write = !(*found)->is_connected() || heartbeats.is_full();
    if (must_write) {
      auto admitted = co_await impl_->store.write(
          [listeners = listeners(), who, now](Tx& tx) { return admit_session(tx, who, now, *listeners); });
      if (!admitted) co_return fail(std::move(admitted.error()));
      heartbeats.put(*admitted);
      co_return Result<>();
    }
    heartbeats.put(**found);
    heard = heartbeats.hear(who, now);
  }
  if (heard == Heartbeats::Heard::to_be_written) impl_->loop.spawn(impl_->write_heartbeat(who));
  co_return Result<>();
}

Task<void> Sessions::Impl::write_heartbeat(Who who) {
  auto at = now();
  auto written = co_await store.write(
      [listeners = listeners, who, at](Tx& tx) { return admit_session(tx, who, at, *listeners); });
  if (written) {
    heartbeats.written(who.session_id, at);
  } else if (written.error().code == Code::session_expired || written.error().code == Code::forbidden) {
    heartbeats.erase(who.session_id);  // it ended meanwhile: the next call is told
  } else {
    heartbeats.not_written(who.session_id);  // the next call tries again
  }
}

Task<Result<Done>> Sessions::register_session(Who who, Registration registration) {
  auto now = this->now();
  auto known = co_await read_session(impl_->store, who.session_id);
  if (!known) co_return fail(std::move(known.error()));
  bool begins = !*known || !(*known)->is_connected() || (*known)->base_commit.empty();
  std::string head;
  if (begins) head = co_await impl_->head_of(who.cwd);
  auto done =
      co_await write_once(impl_->store, who.once,
                          [listeners = listeners(), who, registration, now, head](Tx& tx) -> Result<Done> {
                            auto change = [&](Session& session) {
                              if (registration.capabilities)
                                session.capabilities = *registration.capabilities;
                              if (registration.current_task)
                                session.current_task = *registration.current_task;
                              session.kept_by_hook = session.kept_by_hook || registration.kept_by_hook;
                              if (registration.begins_idle) note_turn(session, Turn::idle, {}, tx.now());
                              if (!head.empty()) session.base_commit = head;
                              if (!who.cwd.empty()) session.folder = who.cwd;
                            };
                            auto session = revive_session(tx, who, now, *listeners, change, true);
                            if (!session) return fail(std::move(session.error()));
                            return Done{session_reply(*session)};
                          });
  co_return done;
}

std::pair<Turn, std::string> Sessions::Beat::turn() const {
  if (!failure.empty()) return {Turn::failed, failure};
  if (!needs_user.empty()) return {Turn::needs_user, needs_user};
  if (is_idle) return {Turn::idle, {}};
  return tool.empty() ? std::pair(Turn::thinking, used) : std::pair(Turn::using_tool, tool);
}

Task<Result<Done>> Sessions::heartbeat(Who who, Beat beat) {
  auto now = this->now();
  struct Heard {
    Done done;
    std::optional<Session> session;
  };
  auto heard =
      co_await impl_->store.write([listeners = listeners(), who, now, beat](Tx& tx) -> Result<Heard> {
        auto known = find_session(tx, who.session_id);
        if (!known) return Heard{session_not_found(who), {}};
        auto note = [&](Session& session) {
          session.presence = beat.is_idle ? Presence::idle : Presence::active;
          auto [turn, what] = beat.turn();
          return note_turn(session, turn, std::move(what), tx.now());
        };
        auto session =
            revive_session(tx, who, now, *listeners, [&](Session& changed) { note(changed); }, note(*known));
        if (!session) return fail(std::move(session.error()));
        return Heard{{session_reply(*session)}, *session};
      });
  if (!heard) co_return fail(std::move(heard.error()));
  if (heard->session) impl_->heartbeats.put(*heard->session);
  co_return std::move(heard->done);
}

Task<Result<Done>> Sessions::discover(Who who, std::string capability, std::string status) {
  if (auto alive = co_await seen(who); !alive) co_return fail(std::move(alive.error()));
  bool disconnected = status == "disconnected";
  auto found = co_await impl_->store.read([disconnected](Reader& reader) -> Result<std::vector<Session>> {
    return list_sessions(reader, disconnected, max_listed);
  });
  if (!found) co_return fail(std::move(found.error()));
  for (auto& session : *found) session = impl_->heartbeats.latest(std::move(session));
  // By age, for two boots have no order but that.
  std::ranges::sort(*found, std::greater(), [now = now()](const Session& session) {
    return std::pair(until(session.last_heartbeat, now), session.session_id);
  });
  json::array agents;
  for (const auto& session : *found)
    if (is_listed(session, capability, status)) {
      agents.push_back(to_json(session));
      agents.back().get_object()["is_self"] = session.session_id == who.session_id;
    }
  co_return Done{.reply = {{"agents", std::move(agents)}}, .changed = false};
}

Task<Result<Done>> Sessions::end(Who who, std::string reason, std::string via) {
  return detached(impl_->loop, impl_->end(std::move(who), std::move(reason), std::move(via)));
}

Task<Result<Done>> Sessions::cleanup(Who who, Duration threshold) {
  if (auto alive = co_await admitted(who); !alive) co_return fail(std::move(alive.error()));
  auto earlier =
      co_await impl_->store.read([once = who.once](Reader& reader) { return find_reply(reader, once); });
  if (!earlier) co_return fail(std::move(earlier.error()));
  if (*earlier) co_return **std::move(earlier);
  auto swept = co_await detached(impl_->loop, impl_->sweep(threshold));
  if (!swept) co_return fail(std::move(swept.error()));
  Done done{.reply = {{"success", true},
                      {"agents_cleaned", swept->sessions},
                      {"locks_released", swept->freed.locks},
                      {"work_requeued", swept->freed.work}}};
  if (who.once.key.empty()) co_return done;
  co_return co_await write_once(impl_->store, who.once, [done](Tx&) -> Result<Done> { return done; });
}

Task<std::string> Sessions::head_of(std::string folder) { return impl_->head_of(std::move(folder)); }

Task<Result<>> Sessions::end_of_run(std::string task_id, std::string why) {
  return detached(impl_->loop, impl_->end_of_run(std::move(task_id), std::move(why)));
}

Task<Result<>> Sessions::end_of_host(std::string member, ProcessIdentity host) {
  return detached(impl_->loop, impl_->end_of_host(std::move(member), std::move(host)));
}

Task<Result<>> Sessions::end_of_ended(std::string member, std::string why) {
  return detached(impl_->loop, impl_->end_of_ended(std::move(member), std::move(why)));
}

void Sessions::set_presence(std::function<bool(const Session&)> is_present) {
  impl_->is_present = std::move(is_present);
}

Task<Result<>> Sessions::recover(std::function<bool(const std::string& task_id)> is_run_active) {
  auto owners = co_await impl_->store.read([](Reader& reader) -> Result<std::vector<std::string>> {
    return owners_of_connected_sessions(reader);
  });
  if (!owners) co_return fail(std::move(owners.error()));
  for (const auto& owner : *owners)
    if (!is_run_active(owner)) {
      auto ended = co_await impl_->end_of_run(owner, "its run has ended");
      if (!ended) co_return ended;
    }
  auto left = co_await impl_->store.read([](Reader& reader) -> Result<std::vector<members::Member>> {
    return ended_members_with_sessions(reader);
  });
  if (!left) co_return fail(std::move(left.error()));
  for (const auto& member : *left) {
    auto ended = co_await impl_->end_of_ended(member.id, "it ended: " + member.end_reason);
    if (!ended) co_return ended;
  }
  auto swept = co_await impl_->sweep(impl_->options.stale_after);
  if (!swept) co_return fail(std::move(swept.error()));
  co_return Result<>();
}

Task<Result<bool>> Sessions::purge(Duration keep) {
  constexpr int64_t max_rows = 500;
  co_return co_await impl_->store.write([keep](Tx& tx) -> Result<bool> {
    return remove_old_sessions(tx, tx.now() - keep, max_rows) >= max_rows;
  });
}

}  // namespace cru::coordination
