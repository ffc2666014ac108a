#include "members/members_service.h"

#include <fmt/format.h>

#include <algorithm>

namespace cru::members {
namespace {

constexpr size_t max_known = 10'000;
constexpr size_t max_closed = 1'000;
constexpr Duration watch_again_after = 30s;

std::string key_of(const ProcessIdentity& process) {
  return process.boot_id + ':' + std::to_string(process.pid) + ':' + std::to_string(process.start_time);
}

std::string key_of(const Evidence& evidence) {
  auto host = evidence.host ? key_of(*evidence.host) : std::string();
  // Whose process it is counts for a connection only: hooks and commands come from a new one each time.
  bool has_own = evidence.process && !evidence.connection.empty();
  auto process = has_own ? key_of(*evidence.process) : std::string();
  std::string key(evidence.is_person ? "1" : "0");
  key.reserve(256);  // each call makes one
  for (std::string_view part :
       {std::string_view(evidence.run), std::string_view(evidence.run_member), std::string_view(host),
        std::string_view(process), std::string_view(evidence.connection), std::string_view(evidence.session),
        std::string_view(evidence.agent_id), std::string_view(evidence.agent_type)})
    key.append(1, '\n').append(part);
  return key;
}

}  // namespace

Members::Members(Loop& loop, Store& store, Random& random, Watch watch)
    : loop_(loop), store_(store), random_(random), watch_(std::move(watch)) {}

Members::~Members() {
  for (const auto& [key, host] : hosts_)
    if (host.timer) loop_.cancel_timer(host.timer);
}

Task<Result<std::optional<Member>>> Members::look_up(const Evidence& evidence) {
  if (auto found = known_.find(key_of(evidence)); found != known_.end()) co_return found->second;
  co_return co_await store_.read([evidence, open = open_](Reader& reader) -> Result<std::optional<Member>> {
    return members::look_up(reader, evidence, open);
  });
}

Task<Result<Member>> Members::admit(const Evidence& evidence) {
  auto key = key_of(evidence);
  bool is_plain = evidence.step == SessionStep::none;
  if (auto found = known_.find(key); is_plain && found != known_.end()) {
    ++remembered_;
    co_return found->second;
  }
  if (!evidence.connection.empty()) open(evidence.connection);
  auto id = member_id_from(random_.bytes16());
  auto version = version_;
  auto admitted = co_await store_.write([evidence, id, open = open_](Tx& tx) -> Result<Admitted> {
    return admit_member(tx, evidence, id, open);
  });
  if (!admitted) co_return fail(std::move(admitted.error()));
  // Whoever changed meanwhile may be this one.
  bool is_current = version == version_;
  // What was remembered may be wrong by now: who is alone in a host, for one.
  if (admitted->has_changed) changed();
  if (is_current) remember(std::move(key), admitted->member);
  follow(admitted->member);
  co_return std::move(admitted->member);
}

void Members::changed() {
  known_.clear();
  ++version_;
}

void Members::remember(std::string key, const Member& member) {
  if (known_.size() < max_known && !member.is_ended()) known_.emplace(std::move(key), member);
}

/// The set is copied, since closures on the store's threads have the one there was.
void Members::open(const std::string& connection) {
  // A call may still be on its way when its connection is closed.
  if (open_->contains(connection) || std::ranges::find(closed_, connection) != closed_.end()) return;
  auto open = *open_;
  open.insert(connection);
  open_ = std::make_shared<const std::set<std::string>>(std::move(open));
}

void Members::connection_closed(const std::string& connection) {
  closed_.push_back(connection);
  if (closed_.size() > max_closed) closed_.pop_front();
  if (!open_->contains(connection)) return;
  auto open = *open_;
  open.erase(connection);
  open_ = std::make_shared<const std::set<std::string>>(std::move(open));
  changed();
}

void Members::follow(const Member& member) {
  auto before = hosted_.find(member.id);
  auto key = member.host && !member.is_ended() ? key_of(*member.host) : std::string();
  if (before != hosted_.end()) {
    if (before->second == key) return;
    auto host = hosts_.find(before->second);
    host->second.members.erase(member.id);
    if (host->second.members.empty()) {
      if (host->second.timer) loop_.cancel_timer(host->second.timer);
      hosts_.erase(host);
    }
    hosted_.erase(before);
  }
  if (key.empty()) return;
  auto [host, is_new] = hosts_.try_emplace(key, Host{.process = *member.host});
  host->second.members.insert(member.id);
  hosted_[member.id] = key;
  if (is_new) loop_.spawn(watch_host(key));
}

Task<void> Members::watch_host(std::string key) {
  auto watched = co_await watch_(hosts_.at(key).process, [this, key] { host_ended(key); });
  auto found = hosts_.find(key);
  // Its last member may have left meanwhile, and another may have come, who is watched already.
  if (found == hosts_.end() || found->second.exit || found->second.timer) co_return;
  auto& host = found->second;
  host.exit = std::move(watched.exit);
  if (host.exit) co_return;
  auto pause = watched.is_gone ? Duration(0) : watch_again_after;
  host.timer = loop_.set_timer(pause, [this, key, is_gone = watched.is_gone] {
    hosts_.at(key).timer = 0;
    is_gone ? host_ended(key) : loop_.spawn(watch_host(key));
  });
}

void Members::host_ended(const std::string& key) {
  auto found = hosts_.extract(key);
  if (!found) return;
  changed();
  for (const auto& member : found.mapped().members) {
    hosted_.erase(member);
    if (gone_) gone_(member, found.mapped().process);
  }
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

namespace {

Task<Members::Watched> watch_process(Loop& loop, Pool& pool, ProcessIdentity process,
                                     std::function<void()> ended) {
  auto found = co_await pool.run([process] { return find_process(process); });
  Members::Watched watched{.is_gone = found.is_gone};
  if (found.handle)
    watched.exit = std::make_shared<ProcessExit>(loop, std::move(found.handle), std::move(ended));
  co_return watched;
}

}  // namespace

Members::Watch watch_processes(Loop& loop, Pool& pool) {
  return [&loop, &pool](ProcessIdentity process, std::function<void()> ended) {
    return watch_process(loop, pool, std::move(process), std::move(ended));
  };
}

}  // namespace cru::members
