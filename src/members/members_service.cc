#include "members/members_service.h"

#include <fmt/format.h>

#include "base/id.h"
#include "platform/files/log.h"

namespace cru::members {
namespace {

constexpr size_t max_known = 10'000;

std::string key_of(const ProcessIdentity& process) {
  return fmt::format("{}:{}:{}", process.boot_id, process.pid, process.start_time);
}

std::string key_of(const Evidence& evidence) {
  auto host = evidence.host ? key_of(*evidence.host) : std::string();
  auto process = evidence.process ? key_of(*evidence.process) : std::string();
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", evidence.run, host, process, evidence.connection,
                     evidence.session, evidence.agent_id, evidence.agent_type, evidence.is_person);
}

}  // namespace

Members::Members(Loop& loop, Store& store, Random& random, Watch watch)
    : loop_(loop), store_(store), random_(random), watch_(std::move(watch)) {
  if (watch_) return;
  watch_ = [this](const ProcessIdentity& process, std::function<void()> ended) -> std::shared_ptr<void> {
    return ProcessExit::watch(loop_, process, std::move(ended));
  };
}

/// A copy, for closures run on the store's threads.
std::function<bool(const std::string&)> Members::open_connections() const {
  return [open = open_](const std::string& connection) { return open.contains(connection); };
}

Task<Result<std::optional<Member>>> Members::look_up(Evidence evidence) {
  auto key = key_of(evidence);
  if (auto found = known_.find(key); found != known_.end()) co_return found->second;
  co_return co_await store_.read(
      [evidence, is_open = open_connections()](Reader& reader) -> Result<std::optional<Member>> {
        return members::look_up(reader, evidence, is_open);
      });
}

Task<Result<Member>> Members::admit(Evidence evidence) {
  auto key = key_of(evidence);
  bool is_plain = evidence.step == SessionStep::none;
  if (auto found = known_.find(key); is_plain && found != known_.end()) co_return found->second;
  if (!evidence.connection.empty()) open_.insert(evidence.connection);
  auto id = member_id_from(random_.bytes16());
  auto member = co_await store_.write([evidence, id, is_open = open_connections()](Tx& tx) -> Result<Member> {
    return admit_member(tx, evidence, id, is_open);
  });
  if (!member) co_return member;
  // What was remembered may be wrong by now: who is alone in a host, for one.
  changed();
  if (known_.size() < max_known && !member->is_ended()) known_.emplace(std::move(key), *member);
  follow(*member);
  co_return member;
}

Task<Result<bool>> Members::close_session(std::string member, std::string session) {
  auto closed = co_await store_.write(
      [member, session](Tx& tx) -> Result<bool> { return members::close_session(tx, member, session); });
  changed();
  co_return closed;
}

void Members::connection_closed(const std::string& connection) {
  if (open_.erase(connection) > 0) changed();
}

void Members::follow(const Member& member) {
  auto before = hosted_.find(member.id);
  auto key = member.host && !member.is_ended() ? key_of(*member.host) : std::string();
  if (before != hosted_.end()) {
    if (before->second == key) return;
    auto host = hosts_.find(before->second);
    host->second.members.erase(member.id);
    if (host->second.members.empty()) hosts_.erase(host);
    hosted_.erase(before);
  }
  if (key.empty()) return;
  auto& host = hosts_[key];
  host.members.insert(member.id);
  hosted_[member.id] = key;
  if (host.exit) return;
  host.exit = watch_(*member.host, [this, key] { host_ended(key); });
  if (!host.exit) loop_.post([this, key] { host_ended(key); });  // it is gone already
}

void Members::host_ended(const std::string& key) {
  auto found = hosts_.extract(key);
  if (!found) return;
  changed();
  for (const auto& member : found.mapped().members) {
    hosted_.erase(member);
    loop_.spawn(tell_gone(member));
  }
}

Task<void> Members::tell_gone(std::string id) {
  auto member = co_await store_.read(
      [id](Reader& reader) -> Result<std::optional<Member>> { return find_member(reader, id); });
  if (!member)
    co_return log_error("cannot read a member whose program ended", member.error(), {{"member", id}});
  if (*member && !(*member)->is_ended() && gone_) gone_(**member);
}

Task<Result<>> Members::recover() {
  auto hosted = co_await store_.read(
      [](Reader& reader) -> Result<std::vector<Member>> { return list_hosted_members(reader); });
  if (!hosted) co_return fail(std::move(hosted.error()));
  for (const auto& member : *hosted) follow(member);
  co_return Result<>();
}

Task<Result<bool>> Members::purge(Duration keep) {
  constexpr int64_t max_rows = 500;
  co_return co_await store_.write([keep](Tx& tx) -> Result<bool> {
    return remove_old_members(tx, tx.now() - keep, max_rows) >= max_rows;
  });
}

}  // namespace cru::members
