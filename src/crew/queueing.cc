// How a spawn is prepared, recorded and queued.
#include <fmt/format.h>

#include <filesystem>

#include "base/text.h"
#include "base/trace_context.h"
#include "crew/chat_files.h"
#include "crew/crew_impl.h"
#include "crew/crew_service.h"
#include "crew/crew_table.h"
#include "store/once.h"

namespace cru::crew {

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

}  // namespace cru::crew
