// Who may spawn what, and the line of those that wait.
#include "crew/crew_service.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "base/text.h"
#include "base/trace_context.h"
#include "crew/bounded_text.h"
#include "crew/chat_files.h"
#include "crew/crew_impl.h"
#include "crew/crew_table.h"
#include "crew/thread_spans.h"
#include "members/member.h"
#include "platform/loop/detached.h"
#include "store/once.h"

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

Task<Result<Subagent>> Crew::prepare(const Place& place, const SpawnRequest& request, std::string use) {
  auto depth = child_depth(place.parent);
  if (!depth) co_return fail(std::move(depth.error()));
  auto catalog = co_await registry_.look();
  auto definition = catalog.find_enabled(request.agent);
  if (!definition) co_return fail(std::move(definition.error()));
  auto granted = grant(*definition, place.parent, request.permissions);
  if (!granted) co_return fail(std::move(granted.error()));
  auto model = choose_model(minds_.settings(), *definition, place.parent, request.model);
  if (!model) co_return fail(std::move(model.error()));
  Subagent subagent{
      .task_id = fmt::format("{:06x}", random_.next() & 0xffffff),
      .chat_id = place.chat_id,
      .parent = place.thread,
      .parent_use = std::move(use),
      .agent = definition->name,
      .task = request.task,
      .prompt = definition->prompt,
      .depth = *depth,
      .model = model->model,
      .model_source = model->source,
      .model_override = request.model,
      .permissions = granted->granted,
      .requested = request.permissions.value_or(std::vector<std::string>()),
      .inherited = granted->inherited,
      .tools = definition->tools,
      .disallowed_tools = definition->disallowed_tools,
      .requires_approval = child_approvals(*definition, place.parent),
      .max_turns = definition->max_turns,
      .reflection = {definition->enable_reflection, definition->max_retries, definition->reflection_criteria},
      .trace_id = new_trace_id(random_),
      .caller = parse_traceparent(request.traceparent) ? request.traceparent : std::string(),
      .parent_chain = place.parent.chain};
  subagent.parent_chain.push_back(subagent.agent);
  // A mind that cannot be had is the subagent's failure, told in its file, and no refusal; but nothing begins
  // with what nobody has trusted.
  auto choice = co_await minds_.choose(subagent.model);
  if (!choice && choice.error().code == Code::untrusted_content) co_return fail(std::move(choice.error()));
  if (choice) {
    subagent.provider = choice->provider.name;
    subagent.is_program = choice->mind->is_program();
    if (auto held = check_mind(subagent.agent, subagent.requires_approval, *choice); !held)
      co_return fail(std::move(held.error()));
  }
  co_return subagent;
}

Task<std::set<std::string>> Crew::taken_folders() {
  co_return co_await pool_.run([folder = options_.root + "/.crucible/sessions"] {
    std::set<std::string> names;
    std::error_code error;
    for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
      names.insert(at->path().filename().string());
    return names;
  });
}

namespace {

void name_chat(Tx& tx, Chat& chat, const std::set<std::string>& taken) {
  for (int64_t number = 1;; ++number) {
    chat.id = chat_id_from(chat.title, tx.now(), number);
    if (!taken.contains(chat.id) && !find_chat(tx, chat.id)) return;
  }
}

json::object started_event(const Chat& chat) {
  return {{"chat_id", chat.id},  {"agent", chat.agent},      {"model", chat.model},
          {"title", chat.title}, {"kind", name(chat.kind)},  {"folder", chat_folder(chat.id)},
          {"depth", 0},          {"trace_id", chat.trace_id}};
}

/// A client's chat that was over goes on.
void revive(Tx& tx, const std::string& chat_id) {
  auto chat = chat_id.empty() ? std::nullopt : find_chat(tx, chat_id);
  if (!chat || chat->kind != Kind::client || chat->status == ChatStatus::active) return;
  chat->status = ChatStatus::active;
  chat->ended_at.reset();
  chat->failure = {};
  write_chat(tx, *chat);
}

/// What the parent said when it used the tool that spawned this one; else what its chat is about.
std::string attempted_by_parent(Tx& tx, const Subagent& subagent) {
  if (!subagent.parent_use.empty())
    for (const auto& entry : entries_of(tx, subagent.parent))
      if (std::ranges::any_of(entry.message.uses,
                              [&](const auto& use) { return use.id == subagent.parent_use; }) &&
          !trim(entry.message.text).empty())
        return title_of(trim(entry.message.text));
  auto chat = find_chat(tx, subagent.chat_id);
  return chat ? chat->title : std::string();
}

/// The subagent as its first row, with its task as its thread's first entry.
void insert_subagent(Tx& tx, Subagent& subagent, int64_t position) {
  subagent.attempting = attempted_by_parent(tx, subagent);
  while (find_subagent(tx, subagent.task_id)) subagent.task_id += "0";  // once in sixteen million
  subagent.spawned_at = tx.now();
  write_subagent(tx, subagent);
  append_entry(tx, {.thread = subagent.task_id, .role = Role::user, .message = saying(subagent.task)},
               subagent.chat_id);
  append_entry(
      tx,
      {.thread = subagent.parent,
       .role = Role::note,
       .message = saying(fmt::format("→ Running {} agent... [[{}]]", subagent.agent, subagent.name())),
       .about = subagent.task_id},
      subagent.chat_id);
  tx.emit({"subagent.queued",
           subagent.chat_id,
           {{"task_id", subagent.task_id},
            {"agent", subagent.agent},
            {"chat_id", subagent.chat_id},
            {"trace_id", subagent.trace_id},
            {"position", position}}});
}

}  // namespace

void insert_chat(Tx& tx, Chat& chat, const std::set<std::string>& taken) {
  chat.started_at = tx.now();
  name_chat(tx, chat, taken);
  write_chat(tx, chat);
  tx.emit({"chat.started", chat.id, started_event(chat)});
}

namespace {

/// What a new agent may spend, and whether anything is left for it.
struct Allowance {
  budgets::Budget own = {};
  std::string source = {};
  std::optional<budgets::Policy> policy = {};  ///< none: nothing is limited
};

Result<Done> record_spawn(Tx& tx, Subagent subagent, Chat new_chat, const std::set<std::string>& taken,
                          const std::string& member, int64_t position, const Allowance& allowance,
                          int64_t max_queued) {
  // Asked for before, and only its acknowledgement was lost.
  if (!subagent.parent_use.empty())
    if (auto child = find_child(tx, subagent.parent, subagent.parent_use))
      return Done{.reply = {{"task_id", child->task_id}}};
  // Another spawn of the same client may have begun its chat since this one was on its way.
  if (subagent.chat_id.empty() && new_chat.kind == Kind::client)
    if (auto begun = find_client_chat(tx, new_chat.owner)) subagent.chat_id = subagent.parent = begun->id;
  if (subagent.chat_id.empty()) {
    if (new_chat.kind == Kind::run) {
      new_chat.model = subagent.model;
      new_chat.model_source = subagent.model_source;
    }
    insert_chat(tx, new_chat, taken);
    subagent.chat_id = subagent.parent = new_chat.id;
  } else {
    revive(tx, subagent.chat_id);
  }
  if (count_queued(tx, subagent.chat_id) >= max_queued)
    return fail(Code::overloaded, fmt::format("{} subagents of this chat are already queued", max_queued));
  insert_subagent(tx, subagent, position);
  if (auto added = add_subagent_member(tx, subagent, member); !added) return fail(std::move(added.error()));
  if (allowance.policy) {
    budgets::Payer parent{.chat_id = subagent.chat_id, .member = member};
    if (subagent.parent != subagent.chat_id) parent.runs.push_back(subagent.parent);
    auto allowed =
        budgets::spawn(tx, subagent.task_id, parent, allowance.own, allowance.source, *allowance.policy);
    if (!allowed) return fail(std::move(allowed.error()));
  }
  return Done{.reply = {{"task_id", subagent.task_id}}};
}

}  // namespace

Task<Result<Subagent>> Crew::queue_spawn(Place place, SpawnRequest request, std::string use, Once once) {
  auto prepared = co_await prepare(place, request, std::move(use));
  if (!prepared) co_return fail(std::move(prepared.error()));
  std::set<std::string> taken;
  if (place.chat_id.empty()) taken = co_await taken_folders();
  Allowance allowance;
  if (options_.budgets) {
    auto definition = (co_await registry_.look()).find_enabled(request.agent);
    if (!definition) co_return fail(std::move(definition.error()));
    bool is_person = place.parent.depth < 0;
    allowance = {.own = budgets::combined(definition->budget, request.budget, is_person,
                                          options_.budgets->policy().usual_of("run")),
                 .source = request.budget.limits.empty() ? "definition"
                           : is_person                   ? "flag"
                                                         : "agent",
                 .policy = options_.budgets->policy()};
  }
  auto done = co_await write_once(
      store_, once,
      [subagent = *prepared, chat = place.new_chat, taken, member = place.member,
       position = queue_.size(place.chat_id), allowance, most = options_.max_queued](Tx& tx) {
        return record_spawn(tx, subagent, chat, taken, member, position, allowance, most);
      });
  if (!done) co_return fail(std::move(done.error()));
  auto task_id = std::string(text_or(done->reply, "task_id"));
  auto subagent = co_await store_.read([task_id](Reader& reader) -> Result<Subagent> {
    auto found = find_subagent(reader, task_id);
    if (!found) return fail(Code::not_found, "this subagent was deleted", "task_id");
    return *std::move(found);
  });
  // A repeated request finds the one that is under way already.
  bool is_known = queue_.has(task_id) || active_.contains(task_id);
  if (!subagent || is_over(subagent->status) || is_known) co_return subagent;
  accounts_.keep(subagent->chat_id, std::move(request.account));
  queue_.add(task_id, subagent->parent, subagent->chat_id, subagent->provider);
  remember_account(subagent->chat_id);
  update_files(subagent->chat_id);
  pump();
  co_return subagent;
}

void Crew::pump() {
  for (auto& [task_id, chat_id] : queue_.start()) {
    auto begun = std::make_shared<ActiveThread>();
    begun->chat_id = chat_id;
    active_[task_id] = begun;
    loop_.spawn(run_subagent(std::move(task_id)));
  }
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
