// Who spawns, and what becomes of those that it spawned.
#include "crew/crew_service.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "base/trace_context.h"
#include "crew/chat_files.h"
#include "crew/crew_impl.h"
#include "crew/crew_table.h"
#include "crew/thread_spans.h"
#include "members/member.h"
#include "platform/loop/detached.h"

namespace cru::crew {

Crew::Crew(Loop& loop, Store& store, Pool& pool, Random& random, definitions::Registry& registry,
           minds::Minds& minds, Workbench& workbench, ExternalTools& external_tools, inbox::Inbox& inbox,
           approvals::Approvals& approvals, Options options)
    : loop_(loop),
      store_(store),
      pool_(pool),
      random_(random),
      registry_(registry),
      minds_(minds),
      workbench_(workbench),
      external_tools_(external_tools),
      inbox_(inbox),
      approvals_(approvals),
      options_(std::move(options)),
      queue_({options_.max_concurrent,
              [this](const std::string& provider) {
                auto found = minds_.settings().providers.find(provider);
                return found == minds_.settings().providers.end() ? 0 : found->second.max_concurrent;
              }}),
      changed_(loop),
      files_written_(loop) {}

Crew::~Crew() = default;

Crew::ActiveThreadPtr Crew::find_active(const std::string& thread) {
  auto found = active_.find(thread);
  return found == active_.end() ? nullptr : found->second;
}

void Crew::changed() {
  ++version_;
  changed_.notify();
}

std::string joined_trace_id(const std::string& traceparent, Random& random) {
  auto caller = parse_traceparent(traceparent);
  return caller ? caller->trace_id : new_trace_id(random);
}

std::string Crew::result_of(const Subagent& subagent) const {
  return render_result(subagent, options_.result_limit);
}

std::string new_trace_id(Random& random) {
  auto high = random.next();
  return trace_id_from(high, random.next());
}

std::string title_of(std::string_view text) {
  auto line = text.substr(0, text.find('\n'));
  return std::string(line.substr(0, character_start(line, 120)));
}

namespace {

struct Found {
  std::optional<Chat> chat;
  std::optional<Subagent> subagent;
};

/// Whose run this is: a thread's of ours, or an outside client's.
Found find_spawner(Reader& reader, const std::string& id, Spawner::Kind kind) {
  auto owner = kind == Spawner::Kind::run ? owner_of_run(reader, id) : std::nullopt;
  if (!owner) return {find_client_chat(reader, id), {}};
  Found found{find_chat(reader, owner->chat_id), {}};
  if (owner->thread != owner->chat_id) found.subagent = find_subagent(reader, owner->thread);
  return found;
}

}  // namespace

Error cancelled() {
  return minds::mind_failure(Code::not_running, "cancelled", "cancelled before it finished");
}

namespace {

Parent parent_from(const Chat& chat) {
  return {chat.agent, 0, chat.permissions, chat.model, {"user", chat.agent}, chat.requires_approval};
}

}  // namespace

Task<Result<Crew::Place>> Crew::place_of(Spawner spawner, std::string task, std::string traceparent) {
  Place place;
  place.member = spawner.member;
  Chat fresh{.id = {},
             .title = title_of(task),
             .kind = Kind::run,
             .agent = "user",
             .permissions = Permissions::all(),
             .trace_id = joined_trace_id(traceparent, random_),
             .caller = traceparent};
  if (spawner.kind == Spawner::Kind::person) {
    place.parent = {"user", -1, Permissions::all(), {}, {"user"}};
    place.new_chat = std::move(fresh);
    co_return place;
  }
  auto found = co_await store_.read([id = spawner.id, kind = spawner.kind](Reader& reader) -> Result<Found> {
    return find_spawner(reader, id, kind);
  });
  if (!found) co_return fail(std::move(found.error()));
  if (found->subagent) {
    const auto& self = *found->subagent;
    place.parent = {self.agent, self.depth,        self.permissions,
                    self.model, self.parent_chain, self.requires_approval};
    place.chat_id = self.chat_id;
    place.thread = self.task_id;
    place.member = members::kept_member_id(self.task_id);
    co_return place;
  }
  if (found->chat) {
    place.parent = parent_from(*found->chat);
    place.chat_id = place.thread = found->chat->id;
    if (found->chat->kind == Kind::chat) place.member = members::kept_member_id(found->chat->id);
    co_return place;
  }
  fresh.kind = Kind::client;
  fresh.owner = spawner.id;
  fresh.agent = spawner.name.empty() ? "client" : spawner.name;
  fresh.permissions = options_.client_permissions | Permissions::baseline();
  place.parent = parent_from(fresh);
  place.new_chat = std::move(fresh);
  co_return place;
}

Task<Result<std::optional<Permissions>>> Crew::permissions_of_run(std::string run_id) {
  constexpr size_t max_granted = 256;
  // A list of tools asks once for each of them.
  if (auto known = granted_.find(run_id); known != granted_.end()) co_return known->second;
  auto found = co_await store_.read([run_id](Reader& reader) -> Result<Found> {
    if (!owner_of_run(reader, run_id)) return Found();
    return find_spawner(reader, run_id, Spawner::Kind::run);
  });
  if (!found) co_return fail(std::move(found.error()));
  std::optional<Permissions> granted;
  if (found->chat) granted = found->chat->permissions;
  if (found->subagent) granted = found->subagent->permissions;
  if (granted_.size() >= max_granted) granted_.clear();
  if (granted) granted_.insert_or_assign(run_id, *granted);
  co_return granted;
}

Task<Result<ToolCall>> Crew::command_of(std::string run_id, json::object input) {
  auto found = co_await store_.read([run_id](Reader& reader) -> Result<Found> {
    if (!owner_of_run(reader, run_id)) return Found();
    return find_spawner(reader, run_id, Spawner::Kind::run);
  });
  if (!found) co_return fail(std::move(found.error()));
  if (!found->chat && !found->subagent)
    co_return fail(Code::forbidden, "run_command is for agents of the crew", "", "run the command yourself");
  bool is_listed =
      found->subagent
          ? is_among(*find_tool("run_command"), found->subagent->tools, found->subagent->disallowed_tools)
          : is_among(*find_tool("run_command"), found->chat->tools, found->chat->disallowed_tools);
  ToolCall call{.agent = found->subagent ? found->subagent->agent : found->chat->agent,
                .task_id = found->subagent ? found->subagent->task_id : found->chat->id,
                .traceparent = {},
                .granted = found->subagent ? found->subagent->permissions : found->chat->permissions,
                .own_chat = {},
                .name = "run_command",
                .input = std::move(input)};
  const auto& required =
      found->subagent ? found->subagent->requires_approval : found->chat->requires_approval;
  // Nobody would be asked: who must ask thinks with a model whose tools are ours.
  if (!required.empty())
    co_return fail(Code::forbidden,
                   fmt::format("agent {} requires approval for {}", call.agent, fmt::join(required, ", ")));
  if (!is_listed)
    co_return fail(Code::forbidden,
                   fmt::format("run_command is not among the tools of agent {}", call.agent));
  call.traceparent = to_traceparent(
      found->subagent
          ? TraceContext{found->subagent->trace_id, subagent_span_id(found->subagent->task_id)}
          : TraceContext{found->chat->trace_id, turn_span_id(found->chat->id, found->chat->turns)});
  co_return call;
}

Task<Result<>> Crew::may_run_command(std::string run_id) {
  auto call = co_await command_of(std::move(run_id), {});
  if (!call) co_return fail(std::move(call.error()));
  co_return Result<>();
}

Task<Result<std::string>> Crew::run_command(std::string run_id, json::object input) {
  auto call = co_await command_of(std::move(run_id), std::move(input));
  if (!call) co_return fail(std::move(call.error()));
  auto active = find_active(call->task_id);
  if (!active) co_return fail(Code::not_running, "the agent has ended");
  co_return co_await workbench_.call(*std::move(call), active->stop);
}

Task<Result<std::string>> Crew::latest_of(Spawner spawner) {
  co_return co_await store_.read([spawner](Reader& reader) -> Result<std::string> {
    bool is_person = spawner.kind == Spawner::Kind::person;
    auto chat = is_person ? std::nullopt : find_spawner(reader, spawner.id, spawner.kind).chat;
    auto newest =
        chat || is_person ? list_subagents(reader, chat ? chat->id : "", 1) : std::vector<Subagent>();
    if (newest.empty()) return fail(Code::not_found, "no agent was spawned", "task_id");
    return newest.front().task_id;
  });
}

Task<Result<bool>> Crew::is_of(Spawner spawner, std::string chat_id) {
  if (spawner.kind == Spawner::Kind::person) co_return true;
  auto found = co_await store_.read(
      [spawner](Reader& reader) -> Result<Found> { return find_spawner(reader, spawner.id, spawner.kind); });
  if (!found) co_return fail(std::move(found.error()));
  co_return found->chat && found->chat->id == chat_id;
}

Task<Result<Subagent>> Crew::spawn(Spawner spawner, SpawnRequest request) {
  auto place = co_await place_of(spawner, request.task, request.traceparent);
  if (!place) co_return fail(std::move(place.error()));
  // Once recorded it must also be queued, whether or not the caller is still there.
  co_return co_await detached(loop_, queue_spawn(*std::move(place), std::move(request), "", spawner.once));
}

Task<Result<Subagent>> Crew::wait_for(std::string task_id, Duration limit) {
  auto began = loop_.clock().boot();
  for (;;) {
    auto version = version_;
    auto found = co_await store_.read([task_id](Reader& reader) -> Result<std::optional<Subagent>> {
      return find_subagent(reader, task_id);
    });
    if (!found) co_return fail(std::move(found.error()));
    if (!*found) co_return fail(Code::not_found, fmt::format("subagent not found: {}", task_id), "task_id");
    // One whose end is recorded has its files written next: they are waited for even by who would not wait.
    bool over = is_over((*found)->status), settled = over && !active_.contains(task_id);
    auto left = began + (over ? std::max<Duration>(limit, 5s) : limit) - loop_.clock().boot();
    if (settled || left <= Duration(0)) {
      if (settled) co_await wait_for_files((*found)->chat_id);
      co_return **std::move(found);
    }
    if (version == version_) co_await changed_.wait(std::max<Duration>(left, 1ms));
  }
}

Task<Result<Subagent>> Crew::report_to(Spawner spawner, std::string task_id, Duration limit) {
  auto found = co_await wait_for(std::move(task_id), limit);
  if (!found || !is_over(found->status) || spawner.kind != Spawner::Kind::run) co_return found;
  co_return co_await store_.write([id = found->task_id, run = spawner.id](Tx& tx) -> Result<Subagent> {
    auto subagent = find_subagent(tx, id);
    if (!subagent) return fail(Code::not_found, "this subagent was deleted", "task_id");
    auto owner = owner_of_run(tx, run);
    if (owner && owner->thread == subagent->parent && subagent->reported_to.empty()) {
      subagent->reported_to = run;
      write_subagent(tx, *subagent);
    }
    return *std::move(subagent);
  });
}

Task<Result<std::vector<Subagent>>> Crew::subagents(std::string chat_id, int64_t limit) {
  co_return co_await store_.read([chat_id, limit](Reader& reader) -> Result<std::vector<Subagent>> {
    return list_subagents(reader, chat_id, limit);
  });
}

void Crew::stop_subagent(const std::string& task_id, bool timed_out) {
  auto running = find_active(task_id);
  if (!running) return;
  running->timed_out = running->timed_out || timed_out;
  running->stop.request();
}

Task<void> Crew::cancel_children(std::string thread, std::string why) {
  auto children =
      co_await read_with_retry(loop_, store_, [thread](Reader& reader) -> Result<std::vector<Subagent>> {
        auto all = unfinished_subagents(reader);
        std::erase_if(all, [&](const Subagent& one) { return one.parent != thread; });
        return all;
      });
  if (!children) co_return;
  // Those that wait first, or the end of one would start the next.
  for (bool is_active : {false, true})
    for (const auto& child : *children)
      if (active_.contains(child.task_id) == is_active) loop_.spawn(cancel_child(child.task_id, why));
  for (const auto& child : *children) (void)co_await wait_for(child.task_id, 30s);
}

Task<void> Crew::cancel_child(std::string task_id, std::string why) {
  (void)co_await cancel_because(std::move(task_id), std::move(why));
}

Task<Result<Subagent>> Crew::cancel(std::string task_id) {
  return cancel_because(std::move(task_id), std::string());
}

Task<Result<Subagent>> Crew::cancel_because(std::string task_id, std::string why) {
  auto found = co_await wait_for(task_id, Duration(0));
  if (!found || is_over(found->status)) co_return found;
  auto running = find_active(task_id);
  if (!running) {  // it waits in line, and from here on nobody starts or ends it but us
    queue_.remove(task_id);
    auto ending = std::make_shared<ActiveThread>();
    ending->chat_id = found->chat_id;
    ending->stopped_because = std::move(why);
    active_[task_id] = ending;
    loop_.spawn(end_subagent(*found, fail(cancelled()), false));
    co_return co_await wait_for(task_id, 30s);
  }
  if (!running->stop.requested()) running->stopped_because = std::move(why);
  stop_subagent(task_id, false);
  co_return co_await wait_for(task_id, 30s);
}

}  // namespace cru::crew
