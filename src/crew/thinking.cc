// Carries a thread on: the agent thinks, its tools are used, it thinks again, until it has had its say.
#include <fmt/format.h>

#include <algorithm>

#include "crew/chat_files.h"
#include "crew/conversation.h"
#include "crew/crew_impl.h"
#include "crew/crew_table.h"
#include "members/member.h"

namespace cru::crew {
namespace {

constexpr Duration between_pieces = std::chrono::milliseconds(100);

}  // namespace

/// What an agent says while it says it: `chat.text` events, the first piece at once, then at most ten a
/// second. Once closed it tells nothing more: the whole text comes with the entry.
struct Crew::Speech final : minds::Listener, std::enable_shared_from_this<Speech> {
  Speech(Loop& l, Store& s, const Thread& thread, int64_t number, std::string run_id,
         std::set<std::string> already)
      : loop(l),
        store(s),
        chat_id(thread.chat_id),
        task_id(thread.is_primary ? std::string() : thread.id),
        trace_id(thread.trace_id),
        n(number),
        run(std::move(run_id)),
        noted(std::move(already)) {}
  Loop& loop;
  Store& store;
  const std::string chat_id, task_id, trace_id;
  const int64_t n;        ///< of the entry that is coming
  const std::string run;  ///< of a mind that is a program
  std::set<std::string> noted;
  int64_t used = 0;  ///< tools, so far
  std::string waiting_text;
  Spent spent_in_vain;
  std::string resume;  ///< of a program that may come to no answer
  std::function<void(bool)> hold;
  bool telling = false, closed = false;

  json::object about() const {
    return {{"chat_id", chat_id}, {"task_id", json_or_null(task_id)}, {"n", n}, {"trace_id", trace_id}};
  }
  void text(std::string_view more) override {
    if (closed) return;
    waiting_text += more;
    if (!std::exchange(telling, true)) loop.spawn(tell(shared_from_this()));
  }
  /// Noted in the thread, once: a run that is followed again tells everything from its beginning.
  void tool_used(const std::string& tool, const json::object& input) override {
    auto use = fmt::format("{}#{}", run, ++used);
    if (closed || !noted.insert(use).second) return;
    auto data = about();
    data["name"] = tool;
    data["summary"] = bounded(to_text(input), 300, "");
    NewEvent event{task_id.empty() ? "chat.tool" : "subagent.tool", chat_id, std::move(data)};
    auto note = note_of_use(task_id.empty() ? chat_id : task_id, std::move(use), tool, input);
    loop.spawn(write_use(store, std::move(note), chat_id, std::move(event)));
  }
  void waiting(const std::string& why, Duration how_long) override {
    auto data = about();
    data["why"] = why;
    data["seconds"] = static_cast<double>(how_long.count()) / 1000;
    emit("chat.waiting", std::move(data));
  }
  void restarted() override {
    waiting_text.clear();
    emit("chat.restarted", about());
  }
  void wasted(const minds::Usage& usage, std::optional<double> cost_usd) override {
    spent_in_vain.add(Spent{usage, cost_usd});
  }
  void resumable(const std::string& conversation) override { resume = conversation; }
  void waiting_for_budget(bool waits) override { hold(waits); }
  void emit(std::string type, json::object data) {
    if (!closed) loop.spawn(write(store, {std::move(type), chat_id, std::move(data)}));
  }

  static json::object about(const NewEvent& event) {
    return {{"chat", event.entity}, {"trace_id", text_or(event.data, "trace_id")}};
  }
  static Task<void> write(Store& store, NewEvent event) {
    auto written = co_await store.write([event](Tx& tx) -> Result<> {
      tx.emit(event);
      return {};
    });
    if (!written) log_error("cannot write an event", written.error(), about(event));
  }
  static Task<void> write_use(Store& store, Entry note, std::string chat_id, NewEvent event) {
    auto written = co_await store.write([note, chat_id, event](Tx& tx) -> Result<> {
      append_entry(tx, note, chat_id);
      tx.emit(event);
      return {};
    });
    if (!written) log_error("cannot note the use of a tool", written.error(), about(event));
  }
  static Task<void> tell(std::shared_ptr<Speech> self) {
    while (!self->closed && !self->waiting_text.empty()) {
      auto data = self->about();
      data["text"] = std::exchange(self->waiting_text, {});
      co_await write(self->store, {"chat.text", self->chat_id, std::move(data)});
      co_await self->loop.sleep(between_pieces);
    }
    self->telling = false;
  }
};

Task<Result<std::string>> Crew::converse(Thread thread, ActiveThreadPtr active) {
  int64_t most = std::min(thread.max_turns.value_or(options_.max_calls), options_.max_calls);
  // Whoever stops this thread stops those it waits for.
  Stop::Listener stopping(
      active->stop, [this, id = thread.id] { loop_.spawn(cancel_children(id, std::string(turn_stopped))); });
  for (int64_t calls = 0;;) {
    auto entries = co_await read_with_retry(
        loop_, store_,
        [id = thread.id](Reader& reader) -> Result<std::vector<Entry>> { return entries_of(reader, id); });
    if (!entries) co_return fail(std::move(entries.error()));
    auto next_n = entries->empty() ? 1 : entries->back().n + 1;
    auto noted = noted_uses(*entries);
    while (!entries->empty() && entries->back().role == Role::note) entries->pop_back();
    Result<> done;
    auto next = what_next(*entries);
    if (next != Next::nothing && active->stop.requested()) co_return fail(cancelled());
    switch (next) {
      case Next::nothing: {
        auto brought = co_await bring_reports(thread, active, turn_began(*entries));
        if (!brought) co_return fail(std::move(brought.error()));
        if (*brought) break;
        auto answer = co_await conclude(thread, active, *std::move(entries));
        if (!answer) co_return fail(std::move(answer.error()));
        if (*answer) co_return **std::move(answer);
        break;
      }
      case Next::use_tools:
        done = co_await use_tools(thread, active, entries->back());
        break;
      case Next::think: {
        if (calls++ >= most)
          co_return fail(minds::mind_failure(Code::timed_out, "turn_limit",
                                             fmt::format("reached the limit of {} replies", most),
                                             "give it a smaller task, or raise maxTurns in its definition"));
        auto again = thread.again;
        done = co_await think(thread, active, {*entries, std::move(noted), next_n});
        // A reply that begins again later is still the same one.
        if (thread.again > again && thread.again < max_again) --calls;
        if (!done && thread.reflection.enabled && !active->stop.requested())
          co_return co_await keep_best(std::move(thread), *std::move(entries), std::move(done.error()));
        break;
      }
    }
    if (!done) co_return fail(std::move(done.error()));
  }
}

budgets::Payer payer_of(const std::string& chat_id, const std::string& thread, const std::string& parent) {
  budgets::Payer payer{.chat_id = chat_id, .member = members::kept_member_id(thread)};
  if (thread != chat_id) payer.runs.push_back(thread);
  if (!parent.empty() && parent != chat_id) payer.runs.push_back(parent);
  return payer;
}

Task<Result<>> Crew::think(Thread& thread, ActiveThreadPtr active, SoFar so_far) {
  if (thread.parked)
    if (auto over = co_await wait_parked(thread, active); !over) co_return over;
  const auto& entries = so_far.entries;
  auto run_id = run_of_reply(thread.run_id, entries);
  // A run that was interrupted is over: the reply begins again in another.
  if (thread.again > 0) run_id += fmt::format("-a{}", thread.again);
  auto choice = co_await minds_.choose(thread.model);
  if (!choice) co_return fail(std::move(choice.error()));
  if (auto held = check_mind(thread.agent, thread.requires_approval, *choice); !held)
    co_return fail(std::move(held.error()));
  auto tools = co_await tools_for(thread);
  minds::Request request{.model = choice->model,
                         .agent = thread.agent,
                         .system = thread.prompt,
                         .messages = to_messages(entries),
                         .tools = std::move(tools),
                         .run_id = run_id,
                         .member = members::kept_member_id(thread.id),
                         .cwd = options_.root,
                         .traceparent = {},
                         .resume = thread.resume,
                         .abilities = {},
                         .max_turns = thread.max_turns};
  request.account = accounts_.of(thread.chat_id);
  request.payer = payer_of(thread.chat_id, thread.id, thread.parent);
  request.payer.chain = thread.chain;
  // Its program has been told the task in the conversation that it goes on with.
  if (thread.is_interrupted && !thread.resume.empty() && choice->mind->is_program())
    request.messages.push_back(saying("You were interrupted. Go on where you stopped."));
  using definitions::Permission;
  request.abilities = {.write = thread.permissions.has(Permission::filesystem_write),
                       .network = thread.permissions.has(Permission::network_access),
                       .process = thread.permissions.has(Permission::process_spawn),
                       .spawn = thread.depth + 1 < max_depth,
                       .tools = thread.tools,
                       .disallowed_tools = thread.disallowed_tools};
  request.abilities.asks_for = rules_to_ask(thread);
  if (choice->mind->is_program()) {
    auto owned = co_await write_with_retry(
        loop_, store_, [run = run_id, id = thread.id, chat = thread.chat_id](Tx& tx) -> Result<bool> {
          return own_run(tx, run, id, chat);
        });
    if (!owned) co_return fail(std::move(owned.error()));
    request.follows = *owned;
  }
  auto speech =
      std::make_shared<Speech>(loop_, store_, thread, so_far.next_n, run_id, std::move(so_far.noted));
  speech->hold = [this, id = thread.id, active](bool is_held) { hold(id, *active, is_held); };
  auto reply = co_await ask_mind(thread, *choice, std::move(request), std::to_string(so_far.next_n), *speech,
                                 active->stop);
  speech->closed = true;
  active->wasted.add(speech->spent_in_vain);
  count_spent(*choice, speech->spent_in_vain.usage, speech->spent_in_vain.cost_usd);
  if (!reply)
    co_return co_await take_failure(thread, *choice, choice->mind->is_program() ? run_id : std::string(),
                                    std::move(speech->resume), std::move(reply.error()));
  thread.is_interrupted = false;
  auto recorded =
      co_await record_reply(thread, *choice, *std::move(reply), active->wasted, std::move(run_id));
  if (recorded) {
    active->wasted = {};
    thread.again = 0;
  }
  co_return recorded;
}

namespace {

/// What a reply changes of a chat's or a subagent's row.
template <class T>
void note_reply(T& record, const minds::Choice& choice, const minds::Reply& reply, const Spent& wasted) {
  record.spent.add(reply);
  record.spent.add(wasted);
  record.again = 0;
  record.provider = choice.provider.name;
  if (!reply.model_version.empty()) record.model_version = reply.model_version;
  if (!reply.resume.empty()) record.resume = reply.resume;
}

/// Some servers use an id again; here it names one use in its thread.
void name_uses_apart(std::vector<minds::ToolUse>& uses, const std::vector<Entry>& before) {
  std::set<std::string> taken;
  for (const auto& entry : before)
    for (const auto& use : entry.message.uses) taken.insert(use.id);
  for (auto& use : uses) {
    auto plain = use.id.empty() ? std::string("use") : use.id;
    for (int number = 2; use.id.empty() || taken.contains(use.id); ++number)
      use.id = fmt::format("{}-{}", plain, number);
    taken.insert(use.id);
  }
}

}  // namespace

namespace {

/// What a program says that it was given counts for more than what was sent to it: it may have given up
/// waiting while the answer was on its way.
void note_reports_heard(Tx& tx, const std::string& chat_id, const std::string& run,
                        const std::vector<std::string>& heard) {
  for (auto& child : subagents_of(tx, chat_id)) {
    if (child.reported_to != run || std::ranges::find(heard, child.task_id) != heard.end()) continue;
    child.reported_to.clear();
    write_subagent(tx, child);
  }
}

}  // namespace

Task<Result<>> Crew::record_reply(const Thread& thread, const minds::Choice& choice, minds::Reply reply,
                                  Spent wasted, std::string run) {
  if (reply.message.text.empty() && reply.message.uses.empty())
    reply.message.text = fmt::format("[no answer: {}]", reply.stop_reason);
  reply.message.role = minds::Message::Role::assistant;
  co_return co_await write_with_retry(
      loop_, store_,
      [id = thread.id, chat_id = thread.chat_id, is_primary = thread.is_primary, choice, reply, wasted,
       run](Tx& tx) -> Result<> {
        auto message = reply.message;
        if (!message.uses.empty()) name_uses_apart(message.uses, entries_of(tx, id));
        append_entry(tx, {.thread = id, .role = Role::assistant, .message = std::move(message)}, chat_id);
        if (is_primary && reply.reports_heard) note_reports_heard(tx, chat_id, run, *reply.reports_heard);
        if (is_primary) {
          auto chat = find_chat(tx, id);
          if (!chat) return fail(Code::not_found, "the chat was deleted");
          note_reply(*chat, choice, reply, wasted);
          write_chat(tx, *chat);
        } else {
          auto subagent = find_subagent(tx, id);
          if (!subagent) return fail(Code::not_found, "the subagent was deleted");
          note_reply(*subagent, choice, reply, wasted);
          write_subagent(tx, *subagent);
        }
        return {};
      });
}

namespace {

/// The reports that an agent did not wait for, as its turn goes on with them. Together they are no longer
/// than one may be: a program takes what it is told as an argument.
std::string late_reports(const std::vector<Subagent>& ended, size_t most) {
  std::string text =
      "Agents that you spawned have ended after you stopped waiting for them. Their reports follow. Take "
      "them into account, and give the user your answer.";
  for (const auto& child : ended) text += "\n\n" + render_result(child, most / ended.size());
  return text;
}

}  // namespace

Task<Result<bool>> Crew::bring_reports(Thread& thread, ActiveThreadPtr active, Time since) {
  if (!thread.is_primary) co_return false;
  struct Missing {
    std::vector<Subagent> children;
    std::string resume;
  };
  auto look = [id = thread.id, since](Reader& reader) -> Result<Missing> {
    auto chat = find_chat(reader, id);
    return Missing{unreported(subagents_of(reader, id), id, since), chat ? chat->resume : std::string()};
  };
  auto missing = co_await read_with_retry(loop_, store_, look);
  if (!missing) co_return fail(std::move(missing.error()));
  if (missing->children.empty()) co_return false;
  for (const auto& child : missing->children)
    (void)co_await wait_for(child.task_id, std::chrono::hours(24 * 365));
  if (active->stop.requested()) co_return fail(cancelled());
  // In one: a report that the program asks for meanwhile is not told twice, and no row is written as it was.
  auto told = co_await write_with_retry(
      loop_, store_, [look, id = thread.id, limit = options_.result_limit](Tx& tx) -> Result<Missing> {
        auto ended = look(tx);
        if (!ended || ended->children.empty()) return ended;
        Entry reports{
            .thread = id, .role = Role::tool, .message = saying(late_reports(ended->children, limit))};
        auto entry = append_entry(tx, reports, id);
        for (auto& child : ended->children) {
          child.reported_to = fmt::format("entry {}", entry.n);
          write_subagent(tx, child);
        }
        return ended;
      });
  if (!told) co_return fail(std::move(told.error()));
  if (told->children.empty()) co_return false;
  // The program goes on with its own conversation.
  thread.resume = told->resume;
  update_files(thread.id);
  co_return true;
}

namespace {

json::object schema_of(const Tool& tool) {
  auto schema = parse_json(tool.schema);
  CRU_ASSERT(schema && schema->is_object());
  return schema->get_object();
}

/// spawn_agent, with the agents there are.
minds::ToolSpec spawn_spec(const Tool& tool, const definitions::Catalog& catalog) {
  minds::ToolSpec spec{std::string(tool.name), std::string(tool.description), schema_of(tool)};
  json::array names;
  spec.description += "\nAgents:";
  for (const auto& definition : catalog.agents) {
    if (!definition.enabled) continue;
    names.emplace_back(definition.name);
    spec.description += fmt::format("\n- {}: {}", definition.name, definition.description);
  }
  if (auto* properties = spec.input_schema["properties"].if_object(); properties && !names.empty())
    if (auto* agent = (*properties)["agent"].if_object()) (*agent)["enum"] = std::move(names);
  return spec;
}

}  // namespace

Task<std::vector<minds::ToolSpec>> Crew::tools_for(const Thread& thread) {
  auto catalog = co_await registry_.look();
  std::vector<minds::ToolSpec> specs;
  bool may_spawn = thread.depth + 1 < max_depth;
  for (const auto& tool : tools()) {
    if (tool.needs && !thread.permissions.has(*tool.needs)) continue;
    if (!is_among(tool, thread.tools, thread.disallowed_tools)) continue;
    bool about_agents = tool.name == "spawn_agent" || tool.name == "list_agents" || tool.name == "get_agent";
    if (about_agents && !may_spawn) continue;
    if (tool.name == "spawn_agent")
      specs.push_back(spawn_spec(tool, catalog));
    else
      specs.push_back({std::string(tool.name), std::string(tool.description), schema_of(tool)});
  }
  for (auto& spec : external_tools_.specs(thread.permissions)) specs.push_back(std::move(spec));
  co_return specs;
}

}  // namespace cru::crew
