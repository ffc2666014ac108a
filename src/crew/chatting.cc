// Chats as people use them: begun, talked in, stopped, ended, listed, pruned, and taken back after a restart.
#include <fmt/format.h>

#include <filesystem>

#include "approvals/approval_table.h"
#include "base/trace_context.h"
#include "crew/bounded_text.h"
#include "crew/chat_files.h"
#include "crew/crew_impl.h"
#include "crew/crew_table.h"
#include "members/member_table.h"
#include "platform/files/own_folder.h"
#include "platform/loop/detached.h"
#include "store/once.h"

namespace cru::crew {

std::string_view assistant_prompt() {
  return "You are the primary agent of a crew in this project. Talk with the user, check the project with "
         "your tools before you make a claim about it, and answer in markdown, briefly and precisely.\n"
         "\n"
         "When part of a task fits one of the specialised agents, delegate it with spawn_agent: give it the "
         "complete task, because it does not see this conversation. For a task with several steps, spawn one "
         "agent for each step. When you have their reports, combine them into one answer: the findings, the "
         "conclusions and the open points. Say clearly when an agent failed.";
}

json::object to_json(const ChatView& view) {
  const auto& chat = view.chat;
  Spent total = chat.spent;
  json::array subagents, entries;
  for (const auto& subagent : view.subagents) {
    total.add(subagent.spent);
    subagents.push_back(to_json(subagent, chat_folder(chat.id)));
  }
  // The first of a page is whole: whoever wants all of a long one asks for what follows the one before.
  for (const auto& entry : view.entries)
    entries.push_back(to_json(entry, entries.empty() ? size_t(8) << 20 : 65536));
  json::object out{
      {"id", chat.id},
      {"title", chat.title},
      {"kind", name(chat.kind)},
      {"folder", chat_folder(chat.id)},
      {"status", name(chat.status)},
      {"turn", chat.turn_running ? "running" : "idle"},
      {"turns", chat.turns},
      {"agent", chat.agent},
      {"model", chat.model},
      {"model_version", json_or_null(chat.model_version)},
      {"provider", json_or_null(chat.provider)},
      {"permissions", json::value_from(chat.permissions.names())},
      {"queue_depth", view.queue_depth},
      {"parked", to_json(chat.parked)},
      {"total_tokens", total.usage.total()},
      {"cost_usd", json_or_null(total.cost_usd)},
      {"started_at", to_rfc3339(chat.started_at)},
      {"ended_at", chat.ended_at ? json::value(to_rfc3339(*chat.ended_at)) : json::value(nullptr)},
      {"trace_id", chat.trace_id},
      {"subagents", std::move(subagents)},
      {"entries", std::move(entries)},
      {"more", view.more},
      {"last_event", view.last_event}};
  if (!chat.failure.type.empty())
    out["error"] = json::object{{"type", chat.failure.type}, {"message", chat.failure.message}};
  return out;
}

namespace {

constexpr int64_t entries_in_reply = 200;

Result<ChatView> look_at(Reader& reader, const std::string& chat_id, int64_t after, int64_t limit) {
  auto chat = find_chat_by_prefix(reader, chat_id);
  if (!chat) return fail(std::move(chat.error()));
  ChatView view{.chat = *std::move(chat)};
  view.subagents = subagents_of(reader, view.chat.id);
  view.entries = entries_of(reader, view.chat.id, after, limit + 1);
  view.more = static_cast<int64_t>(view.entries.size()) > limit;
  if (view.more) view.entries.pop_back();
  view.last_event = reader.last_event();
  return view;
}

/// What a repeated request gets where a crash came before the reply: the chat as this change left it.
Result<Done> done_with(Tx& tx, const Once& once, const std::string& chat_id) {
  if (once.key.empty()) return Done{.reply = {{"id", chat_id}}};
  auto view = look_at(tx, chat_id, 0, entries_in_reply);
  if (!view) return fail(std::move(view.error()));
  return Done{.reply = to_json(*view)};
}

}  // namespace

Task<Result<ChatView>> Crew::view(std::string chat_id, int64_t after, int64_t limit) {
  auto seen = co_await store_.read(
      [chat_id, after, limit](Reader& reader) { return look_at(reader, chat_id, after, limit); });
  if (seen) seen->queue_depth = queue_.waiting(seen->chat.id);
  co_return seen;
}

Task<Result<std::vector<ChatView>>> Crew::list(std::string status, int64_t limit) {
  auto found = co_await store_.read([status, limit](Reader& reader) -> Result<std::vector<ChatView>> {
    std::vector<ChatView> views;
    for (auto& chat : list_chats(reader, status, limit)) {
      auto subagents = subagents_of(reader, chat.id);
      views.push_back(
          {.chat = std::move(chat), .subagents = std::move(subagents), .last_event = reader.last_event()});
    }
    return views;
  });
  if (found)
    for (auto& view : *found) view.queue_depth = queue_.waiting(view.chat.id);
  co_return found;
}

namespace {

Result<Permissions> permitted(const std::vector<std::string>& names) {
  Permissions all;
  for (const auto& name : names) {
    if (name == "all") return Permissions::all();
    auto permission = definitions::permission_from(name);
    if (!permission)
      return fail(Code::invalid_argument,
                  fmt::format("unknown permission \"{}\"; valid: all, {}", name,
                              fmt::join(definitions::permission_names(), ", ")),
                  "permissions");
    all.add(*permission);
  }
  return all;
}

}  // namespace

Task<Result<ChatView>> Crew::start_chat(NewChat wanted) {
  auto more = permitted(wanted.permissions);
  if (!more) co_return fail(std::move(more.error()));
  definitions::Definition definition;
  definition.name = plain_assistant;
  definition.prompt = assistant_prompt();
  definition.permissions = options_.chat_permissions;
  if (!wanted.agent.empty()) {
    auto found = (co_await registry_.look()).find_enabled(wanted.agent);
    if (!found) co_return fail(std::move(found.error()));
    definition = *std::move(found);
  }
  auto model = choose_model(minds_.settings(), definition, {}, wanted.model);
  if (!model) co_return fail(std::move(model.error()));
  auto choice = co_await minds_.choose(model->model);
  if (!choice) co_return fail(std::move(choice.error()));
  if (auto held = check_mind(definition.name, definition.requires_approval, *choice); !held)
    co_return fail(std::move(held.error()));
  auto title = wanted.title.empty() ? wanted.message : wanted.title;
  Chat chat{.id = {},
            .title = title_of(title),
            .agent = definition.name,
            .prompt = definition.prompt,
            .model = model->model,
            .model_source = model->source,
            .provider = choice->provider.name,
            .permissions = definition.permissions | *more | Permissions::baseline(),
            .tools = definition.tools,
            .disallowed_tools = definition.disallowed_tools,
            .requires_approval = definition.requires_approval,
            .max_turns = definition.max_turns,
            .trace_id = joined_trace_id(wanted.traceparent, random_),
            .caller = parse_traceparent(wanted.traceparent) ? wanted.traceparent : std::string()};
  if (chat.title.empty()) chat.title = "chat";
  budgets::Setting budget;
  if (options_.budgets) {
    budget.source = wanted.budget.limits.empty() ? "definition" : "flag";
    budget.budget = budgets::combined(definition.budget, wanted.budget, true,
                                      options_.budgets->policy().usual_of("chat"));
  }
  co_return co_await detached(loop_, open_chat(std::move(chat), std::move(wanted.message), std::move(budget),
                                               std::move(wanted.account), std::move(wanted.once)));
}

void Crew::remember_account(const std::string& chat_id) {
  auto account = accounts_.of(chat_id);
  if (account.empty() || !options_.remember) return;
  remembered_.insert(chat_id);
  loop_.spawn(options_.remember(chat_id, to_remembered(account)));
}

void Crew::forget_account_at_rest(const std::string& chat_id) {
  bool is_at_work = queue_.size(chat_id) > 0 || std::ranges::any_of(active_, [&](const auto& entry) {
                      return entry.second->chat_id == chat_id;
                    });
  if (!is_at_work && remembered_.erase(chat_id) > 0) loop_.spawn(options_.remember(chat_id, ""));
}

Task<void> Crew::recall_accounts(std::set<std::string> at_work) {
  if (!options_.recall) co_return;
  for (const auto& [id, text] : co_await options_.recall()) {
    remembered_.insert(id);
    if (at_work.contains(id)) accounts_.keep(id, from_remembered(text));
    remember_account(id);
    if (!at_work.contains(id)) forget_account_at_rest(id);
  }
}

Task<Result<ChatView>> Crew::open_chat(Chat chat, std::string message, budgets::Setting budget,
                                       Account account, Once once) {
  auto taken = co_await taken_folders();
  auto made = co_await write_once(store_, once, [chat, taken, message, once, budget](Tx& tx) {
    auto fresh = chat;
    insert_chat(tx, fresh, taken);
    if (!budget.budget.limits.empty()) budgets::put_setting(tx, "chat:" + fresh.id, budget);
    keep_member(tx, fresh);
    if (!message.empty()) take_word(tx, fresh, message);
    return done_with(tx, once, fresh.id);
  });
  if (!made) co_return fail(std::move(made.error()));
  std::string id(text_or(made->reply, "id"));
  accounts_.keep(id, std::move(account));
  co_return co_await carry_on(std::move(id), made->changed && !message.empty());
}

Task<Result<ChatView>> Crew::take_turn(std::string chat_id, std::string text, Once once) {
  auto begun = co_await write_once(store_, once, [chat_id, text, once](Tx& tx) -> Result<Done> {
    auto chat = begin_turn(tx, chat_id, text);
    if (!chat) return fail(std::move(chat.error()));
    return done_with(tx, once, chat->id);
  });
  if (!begun) co_return fail(std::move(begun.error()));
  // One that was begun before the crash has been taken up again by now.
  co_return co_await carry_on(std::string(text_or(begun->reply, "id")), begun->changed);
}

Task<Result<ChatView>> Crew::carry_on(std::string chat_id, bool has_turn) {
  if (has_turn) start_turn(chat_id);
  update_files(chat_id);
  co_await wait_for_files(chat_id);
  co_return co_await view(chat_id, 0, entries_in_reply);
}

void Crew::start_turn(const std::string& chat_id) {
  auto self = std::make_shared<ActiveThread>();
  self->chat_id = chat_id;
  active_[chat_id] = self;
  remember_account(chat_id);
  loop_.spawn(run_turn(chat_id));
}

Task<Result<ChatView>> Crew::send(std::string chat_id, std::string text, Account account, Once once) {
  if (!account.empty())
    if (auto known = co_await view(chat_id, 0, 1)) accounts_.keep(known->chat.id, std::move(account));
  co_return co_await detached(loop_, take_turn(std::move(chat_id), std::move(text), std::move(once)));
}

Task<Result<ChatView>> Crew::cancel_turn(std::string chat_id) {
  auto found = co_await view(chat_id, 0, 1);
  if (!found) co_return found;
  auto id = found->chat.id;
  if (auto running = find_active(id)) running->stop.request();
  co_await cancel_children(id, std::string(turn_stopped));
  auto deadline = loop_.clock().boot() + 30s;
  while (active_.contains(id) && loop_.clock().boot() < deadline) co_await changed_.wait(30s);
  // A turn that nobody carries on any more, because its end could not be written.
  if (!active_.contains(id) && found->chat.turn_running)
    co_await end_turn(id, found->chat.trace_id, fail(cancelled()));
  co_return co_await view(id, 0, 200);
}

Task<Result<ChatView>> Crew::end_chat(std::string chat_id) {
  auto stopped = co_await cancel_turn(chat_id);
  if (!stopped) co_return stopped;
  auto id = stopped->chat.id;
  auto ended = co_await store_.write([id](Tx& tx) -> Result<> {
    auto chat = find_chat(tx, id);
    if (!chat || chat->status != ChatStatus::active || chat->turn_running) return {};
    chat->status = chat->failure.type.empty() || chat->failure.type == "cancelled" ? ChatStatus::completed
                                                                                   : ChatStatus::failed;
    chat->ended_at = tx.now();
    write_chat(tx, *chat);
    tx.emit(
        {"chat.ended", id, {{"chat_id", id}, {"status", name(chat->status)}, {"trace_id", chat->trace_id}}});
    members::end_member(tx, members::kept_member_id(id), name(chat->status));
    return {};
  });
  if (!ended) co_return fail(std::move(ended.error()));
  accounts_.forget(id);
  co_await external_tools_.thread_ended(id);
  update_files(id);
  co_await wait_for_files(id);
  co_return co_await view(id, 0, 200);
}

Task<Result<std::vector<std::string>>> Crew::prune(Duration age, bool dry_run) {
  co_return co_await detached(loop_, remove_chats(age, dry_run));
}

Task<Result<std::vector<std::string>>> Crew::remove_chats(Duration age, bool dry_run) {
  std::vector<std::string> pruned;
  auto before = loop_.clock().wall() - age;
  auto found = co_await store_.read([before](Reader& reader) -> Result<std::vector<Chat>> {
    return chats_ended_before(reader, before, 1000);
  });
  if (!found) co_return fail(std::move(found.error()));
  for (const auto& chat : *found) {
    if (dry_run) {
      pruned.push_back(chat.id);
      continue;
    }
    auto dropped = co_await store_.write(
        [id = chat.id, has_budgets = options_.budgets != nullptr](Tx& tx) -> Result<bool> {
          auto now = find_chat(tx, id);  // somebody may have gone on with it
          if (!now || now->status == ChatStatus::active || now->turn_running) return false;
          if (has_budgets) {
            budgets::drop_scope(tx, "chat:" + id);
            for (const auto& subagent : subagents_of(tx, id))
              budgets::drop_scope(tx, "run:" + subagent.task_id);
          }
          drop_chat(tx, id);
          approvals::drop_of_chat(tx, id);
          tx.emit({"chat.pruned", id, {{"chat_id", id}}});
          return true;
        });
    if (!dropped) co_return fail(std::move(dropped.error()));
    if (!*dropped) continue;
    pruned.push_back(chat.id);
    accounts_.forget(chat.id);
    // The id is a folder's name that we made: it cannot lead elsewhere.
    co_await pool_.run([root = options_.root, folder = options_.root + "/" + chat_folder(chat.id),
                        own = chat_folder(chat.id)] {
      if (!check_own_folder(root, own)) return false;  // a link in its place leads to what is not ours
      std::error_code error;
      std::filesystem::remove_all(folder, error);
      return !error;
    });
  }
  co_return pruned;
}

Task<Result<>> Crew::recover() {
  struct Left {
    std::vector<Chat> turns;
    std::vector<Subagent> subagents;
    std::vector<Chat> recent;  ///< whose files may not have been written any more
    std::vector<Chat> memberless;
  };
  auto since = loop_.clock().wall() - 1h;
  auto left = co_await store_.read([since](Reader& reader) -> Result<Left> {
    auto recent = list_chats(reader, "", 200);
    std::erase_if(recent, [&](const Chat& chat) { return chat.ended_at && *chat.ended_at < since; });
    return Left{chats_with_running_turn(reader), unfinished_subagents(reader), std::move(recent),
                chats_without_member(reader)};
  });
  if (!left) co_return fail(std::move(left.error()));
  co_await clean_folders(left->recent);
  std::set<std::string> at_work;
  for (const auto& chat : left->turns) at_work.insert(chat.id);
  for (const auto& subagent : left->subagents) at_work.insert(subagent.chat_id);
  co_await recall_accounts(std::move(at_work));
  for (const auto& subagent : left->subagents) {
    queue_.add(subagent.task_id, subagent.parent, subagent.chat_id, subagent.provider);
    update_files(subagent.chat_id);
  }
  pump();
  // What an agent was saying when the daemon died it says anew.
  auto told = co_await store_.write([left = *left](Tx& tx) -> Result<> {
    for (const auto& chat : left.memberless) keep_member(tx, chat);
    for (const auto& chat : left.turns)
      tx.emit({"chat.restarted",
               chat.id,
               {{"chat_id", chat.id}, {"task_id", nullptr}, {"trace_id", chat.trace_id}}});
    for (const auto& one : left.subagents)
      if (one.status == Status::running)
        tx.emit({"chat.restarted",
                 one.chat_id,
                 {{"chat_id", one.chat_id}, {"task_id", one.task_id}, {"trace_id", one.trace_id}}});
    return {};
  });
  if (!told) co_return told;
  for (const auto& chat : left->turns) start_turn(chat.id);
  expected_.clear();
  co_return Result<>();
}

Task<Result<>> Crew::expect() {
  auto left = co_await store_.read([](Reader& reader) -> Result<std::set<std::string>> {
    std::set<std::string> threads;
    for (const auto& chat : chats_with_running_turn(reader)) threads.insert(chat.id);
    for (const auto& subagent : unfinished_subagents(reader)) threads.insert(subagent.task_id);
    return threads;
  });
  if (!left) co_return fail(std::move(left.error()));
  expected_ = *std::move(left);
  co_return Result<>();
}

}  // namespace cru::crew
