// What an agent may do only with a person's approval: asking for it, waiting, and looking once more before it
// is carried out. The rows alone tell where this stands, so a daemon that dies goes on where it was.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "approvals/approval_table.h"
#include "crew/asking_programs.h"
#include "crew/chat_files.h"
#include "crew/conversation.h"
#include "crew/crew_impl.h"
#include "crew/crew_table.h"
#include "crew/permission_proposal.h"
#include "crew/proposing.h"
#include "members/member.h"

namespace cru::crew {

using approvals::Approval;
using approvals::Approvals;

namespace {

constexpr std::string_view asking_tool = "request_approval";

/// A denial is the agent's to adjust to; a timeout is nobody's no.
std::unexpected<Error> refused(const Approval& approval) {
  auto words = fmt::format("{} (approval {})", describe_outcome(approval), approval.id);
  if (approval.state == approvals::State::denied)
    return fail(
        Code::forbidden, words, {},
        "it was not carried out: do not repeat it as it is, adjust your plan to the reason, or report what "
        "you could not do");
  if (approval.state == approvals::State::expired)
    return fail(Code::timed_out, words, {},
                "it was not carried out, and nobody has refused it: continue without it, or report that "
                "it waits for a person");
  return fail(Code::conflict, words, {}, "it was not carried out");
}

std::string line_about(const Approval& approval) {
  return fmt::format("{} {}: {}", approval.id, approval.proposal().what, describe_outcome(approval));
}

}  // namespace

/// What became of an approval, in the thread for the audit and in the subagent's own record for its parent.
void note_approval(Tx& tx, const std::string& thread, const std::string& chat_id, const Approval& approval) {
  append_entry(tx,
               {.thread = thread,
                .role = Role::note,
                .message = saying("⚑ approval " + line_about(approval)),
                .about = approval.id},
               chat_id);
  auto subagent = thread == chat_id ? std::nullopt : find_subagent(tx, thread);
  if (!subagent || is_open(approval.state)) return;
  subagent->approvals.push_back(line_about(approval));
  write_subagent(tx, *subagent);
}

void note_outcome(Tx& tx, const Approval& approval) {
  const auto& request = approval.request;
  if (request.via == approvals::Via::tool || request.chat_id.empty()) return;
  auto owner = owner_of_run(tx, request.task_id);  // in older rows the run stands for its thread
  auto thread = owner ? owner->thread : request.task_id.empty() ? request.chat_id : request.task_id;
  note_approval(tx, thread, request.chat_id, approval);
}

std::string acknowledge(const Approval& approval, std::string result) {
  if (!approval.changes.empty())
    return fmt::format("[{} (approval {}): {}. This is what was carried out.]\n{}",
                       describe_outcome(approval), approval.id, approvals::describe_changes(approval.changes),
                       result);
  if (approval.decided_by != "person")
    return fmt::format("[{} (approval {})]\n{}", describe_outcome(approval), approval.id, result);
  return result;
}

Result<> check_mind(const std::string& agent, const std::vector<std::string>& required,
                    const minds::Choice& choice) {
  if (required.empty() || !choice.mind->is_program()) return {};
  if (choice.provider.kind == minds::ProviderKind::claude) return {};  // it asks: see asking_programs.h
  return fail(
      Code::forbidden,
      fmt::format("agent {} requires approval for {}, and {} uses tools of its own, which cru cannot hold "
                  "back",
                  agent, fmt::join(required, ", "), choice.provider.name),
      "requires_approval", "choose a model of an API or of claude for it, or remove requires_approval");
}

bool Crew::is_gated(const Thread& thread, const std::string& name) const {
  if (thread.requires_approval.empty()) return false;
  const auto* tool = find_tool(name);
  if (!tool && !external_tools_.has(name)) return false;  // there is nothing to carry out
  Action action{.name = name,
                .needs = tool ? tool->needs : external_tools_.needs(name),
                .reads_only = tool ? tool->reads_only : external_tools_.reads_only(name)};
  return needs_approval(action, thread.permissions, thread.requires_approval,
                        [this](const std::string& other) { return external_tools_.has(other); });
}

std::vector<std::string> Crew::rules_to_ask(const Thread& thread) const {
  if (thread.requires_approval.empty()) return {};
  auto specs = external_tools_.specs(Permissions::all());
  std::vector<Action> others;
  for (const auto& spec : specs)
    others.push_back({spec.name, external_tools_.needs(spec.name), external_tools_.reads_only(spec.name)});
  return claude_rules_to_ask(thread.requires_approval, others);
}

Task<Result<Proposal>> Crew::propose(const Thread& thread, std::string name, json::object input) {
  if (auto allowed = may_use(thread, name, input); !allowed) co_return fail(std::move(allowed.error()));
  if (name == asking_tool) co_return propose_request(input, options_.root);
  if (external_tools_.has(name)) {
    auto needs = external_tools_.needs(name);
    if (needs && !thread.permissions.has(*needs))
      co_return fail(Code::forbidden,
                     fmt::format("{} needs the permission {}", name, definitions::name(*needs)));
    if (auto good = external_tools_.check(name, input); !good) co_return fail(std::move(good.error()));
    co_return propose_call(name, input, options_.root, needs == definitions::Permission::database_write);
  }
  ToolCall call{.agent = thread.agent,
                .task_id = thread.id,
                .traceparent = {},
                .granted = thread.permissions,
                .own_chat = {},
                .name = std::move(name),
                .input = std::move(input)};
  co_return co_await workbench_.propose(std::move(call));
}

Task<Result<Proposal>> Crew::examine(Approval approval, json::object input) {
  if (!approval.request.is_checked_at_execution())
    co_return co_await pool_.run([approval = std::move(approval), input = std::move(input)] {
      return propose_changed_permission(approval, input);
    });
  auto thread = co_await store_.read([id = approval.request.thread](Reader& reader) -> Result<Thread> {
    Thread found{.id = id};
    if (auto subagent = find_subagent(reader, id)) {
      found.agent = subagent->agent, found.permissions = subagent->permissions;
      found.tools = subagent->tools, found.disallowed_tools = subagent->disallowed_tools;
    } else if (auto chat = find_chat(reader, id)) {
      found.agent = chat->agent, found.permissions = chat->permissions;
      found.tools = chat->tools, found.disallowed_tools = chat->disallowed_tools;
    } else {
      return fail(Code::not_found, "the agent that asked is gone", "id");
    }
    return found;
  });
  if (!thread) co_return fail(std::move(thread.error()));
  co_return co_await propose(*thread, approval.proposal().tool, std::move(input));
}

approvals::Request Crew::request_for(const Thread& thread, const minds::ToolUse& use, std::string said,
                                     Proposal proposal) const {
  const auto* tool = find_tool(use.name);
  approvals::Request request{
      .thread = thread.id,
      .use = use.id,
      .chat_id = thread.chat_id,
      .task_id = thread.is_primary ? std::string() : thread.id,
      .member = members::kept_member_id(thread.id),
      .agent = thread.agent,
      .trace_id = thread.trace_id,
      .chain = thread.chain,
      .task = title_of(thread.task),
      .reason = std::move(said),
      .schema = tool ? std::string(tool->schema) : to_text(external_tools_.schema(use.name)),
      .proposal = std::move(proposal)};
  std::string action;
  if (use.name == asking_tool) {
    action = text_or(use.input, "action");
    request.reason = text_or(use.input, "reason");
  }
  request.reason = bounded(std::move(request.reason), 4096, "");
  return on_terms(approvals_.policy(), std::move(request), action);
}

Task<Result<Approval>> Crew::ask_approval(approvals::Request request) {
  auto ruling = co_await approvals_.ruling_on(request);
  auto asked = co_await write_with_retry(
      loop_, store_,
      [request = std::move(request), ruling, at = approvals_.now()](Tx& tx) -> Result<Approval> {
        auto known = approvals::find_of_use(tx, request.thread, request.use);
        auto approval = Approvals::ask_once(tx, request, at, ruling, [](Tx& in, const Approval& closed) {
          // What a rule has decided is noted with what comes of it.
          if (closed.state == approvals::State::withdrawn)
            note_approval(in, closed.request.thread, closed.request.chat_id, closed);
        });
        // Asked before, and only the acknowledgement was lost: noted then.
        bool is_new = !known || known->id != approval.id;
        if (is_new && is_open(approval.state)) note_approval(tx, request.thread, request.chat_id, approval);
        return approval;
      });
  approvals_.notify();
  co_return asked;
}

/// The approval that this use is carried out with, once there is one and it is for what would happen now.
/// Errors: forbidden (denied), timed_out (expired), conflict (withdrawn, or stopped); those of the tool.
Task<Result<Approval>> Crew::wait_for_approval(const Thread& thread, ActiveThreadPtr active,
                                               minds::ToolUse use, std::string said) {
  struct Pause {  // waiting for a person is not its own time
    explicit Pause(TimeLimit* of) : limit(of) {
      if (limit) limit->pause();
    }
    Pause(const Pause&) = delete;
    ~Pause() {
      if (limit) limit->resume();
    }
    TimeLimit* limit;
  };
  auto limit = active->limit;
  Pause pause(limit.get());
  Stop::Listener stopping(active->stop, [this] { approvals_.notify(); });
  for (;;) {
    auto found = co_await read_with_retry(
        loop_, store_, [id = thread.id, use = use.id](Reader& reader) -> Result<std::optional<Approval>> {
          return approvals::find_of_use(reader, id, use);
        });
    if (!found) co_return fail(std::move(found.error()));
    bool is_decided = *found && !is_open((*found)->state) && (*found)->state != approvals::State::approved;
    if (active->stop.requested() && !is_decided) {
      if (*found)
        (void)co_await approvals_.decide((*found)->id,
                                         approvals::Withdraw{"the work of its agent was stopped"});
      co_return fail(Code::conflict, "cancelled before it started");
    }
    if (!*found) {
      auto proposal = co_await propose(thread, use.name, use.input);
      if (!proposal) co_return fail(std::move(proposal.error()));  // it would fail anyway: nobody is bothered
      auto asked = co_await ask_approval(request_for(thread, use, said, *std::move(proposal)));
      if (!asked) co_return asked;
      update_files(thread.chat_id);
      continue;
    }
    auto& approval = **found;
    if (approval.state == approvals::State::asking) {
      co_await explain(thread, active, approval);
      continue;
    }
    if (is_open(approval.state)) {
      auto waited = co_await approvals_.wait_while(approval.id, approval.state, approval.context.size(), 24h,
                                                   [active] { return active->stop.requested(); });
      if (!waited) co_await loop_.sleep(1s);
      continue;
    }
    tell_wait(thread, approval);
    if (approval.state != approvals::State::approved) co_return refused(approval);
    if (use.name == asking_tool) co_return approval;  // nothing is carried out: there is nothing to look at
    if (approval.used_at)
      co_return fail(Code::conflict, fmt::format("approval {} has been used already", approval.id), {},
                     "the daemon was restarted during this call, so its outcome is unknown: check before you "
                     "repeat it");
    auto now = co_await propose(thread, use.name, approval.proposal().input);
    if (!now) {
      (void)co_await approvals_.decide(approval.id, approvals::Withdraw{now.error().message});
      co_return fail(std::move(now.error()));
    }
    if (digest_of(*now) == approval.digest) co_return approval;
    auto again = request_for(thread, use, said, *std::move(now));
    again.replaces = approval.id;
    auto asked = co_await ask_approval(std::move(again));
    if (!asked) co_return asked;
  }
}

/// Answers what a person asks about an approval: one thought beside the thread, which itself waits.
Task<void> Crew::explain(const Thread& thread, ActiveThreadPtr active, Approval approval) {
  auto entries = co_await read_with_retry(
      loop_, store_,
      [id = thread.id](Reader& reader) -> Result<std::vector<Entry>> { return entries_of(reader, id); });
  auto choice = co_await minds_.choose(thread.model);
  Result<minds::Reply> reply = fail(Code::not_found, "its conversation cannot be read");
  CostOnly cost;  // an explanation is told whole, and to the person who asked only
  if (!choice) reply = fail(std::move(choice.error()));
  if (entries && choice) {
    while (!entries->empty() && entries->back().role == Role::note) entries->pop_back();
    Entry waiting{.thread = thread.id, .role = Role::tool};
    if (!entries->empty())
      for (const auto& one : entries->back().message.uses)
        waiting.message.results.push_back(
            {one.id, "[not carried out yet: a person is asked for approval]", false});
    entries->push_back(std::move(waiting));
    entries->push_back({.thread = thread.id,
                        .role = Role::user,
                        .message = saying(fmt::format(
                            "Before deciding on your request to {}, the person asks: {}\n\nAnswer in "
                            "plain text, briefly and truthfully. Use no tool.",
                            approval.proposal().what, approval.context.back().question))});
    auto request = request_beside(thread, *choice, thread.prompt, to_messages(*entries));
    request.tools = co_await tools_for(thread);
    reply = co_await ask_mind(thread, *choice, std::move(request),
                              fmt::format("about {} {}", approval.id, approval.context.size()), cost,
                              active->stop);
  }
  if (active->stop.requested()) co_return;
  auto answer = reply ? bounded(reply->message.text, 8192, "") : "[no answer: " + reply.error().message + "]";
  if (answer.empty()) answer = "[no answer]";
  auto spent = cost.wasted_so_far;
  if (reply) spent.add(*reply);
  auto given = co_await write_with_retry(
      loop_, store_,
      [id = approval.id, thread = thread.id, chat_id = thread.chat_id, answer, spent,
       at = approvals_.now()](Tx& tx) -> Result<> {
        auto now = approvals::find(tx, id);
        if (!now) return {};
        auto taken = Approvals::take(tx, *std::move(now), approvals::GiveContext{answer}, at);
        if (auto subagent = find_subagent(tx, thread)) {
          subagent->spent.add(spent);
          write_subagent(tx, *subagent);
        } else if (auto chat = find_chat(tx, chat_id)) {
          chat->spent.add(spent);
          write_chat(tx, *chat);
        }
        if (!taken || taken->context.empty()) return {};
        append_entry(tx,
                     {.thread = thread,
                      .role = Role::note,
                      .message = saying(fmt::format("⚑ approval {}: asked \"{}\", answered: {}", id,
                                                    taken->context.back().question, answer)),
                      .about = id},
                     chat_id);
        return {};
      });
  approvals_.notify();
  if (!given)
    log_error("cannot record an answer about an approval", given.error(),
              {{"approval", approval.id}, {"trace_id", thread.trace_id}});
}

/// request_approval: the agent goes on once a person has said so.
Task<minds::ToolResult> Crew::request_approval(const Thread& thread, ActiveThreadPtr active,
                                               minds::ToolUse use) {
  auto given = co_await wait_for_approval(thread, active, use, {});
  if (given && !given->used_at) {
    auto used = co_await write_with_retry(
        loop_, store_,
        [id = given->id, thread = thread.id, chat_id = thread.chat_id, digest = given->digest,
         at = approvals_.now()](Tx& tx) -> Result<Approval> {
          auto now = approvals::find(tx, id);
          if (!now) return fail(Code::not_found, "the approval was deleted");
          if (now->used_at) return *std::move(now);
          auto taken = Approvals::take(tx, *std::move(now), approvals::Use{digest}, at);
          if (taken) note_approval(tx, thread, chat_id, *taken);
          return taken;
        });
    given = std::move(used);
  }
  if (given)
    co_return minds::ToolResult{
        use.id, acknowledge(*given, fmt::format("{}: {}", describe_outcome(*given), given->proposal().what)),
        false};
  co_return co_await refuse_use(thread, use.id, std::move(given.error()));
}

/// A use that is not carried out, and why; kept, so that nobody is asked for it again.
Task<minds::ToolResult> Crew::refuse_use(const Thread& thread, std::string use_id, Error error) {
  minds::ToolResult result{use_id, in_words(error), true};
  auto kept = co_await write_with_retry(
      loop_, store_, [thread = thread.id, chat_id = thread.chat_id, result](Tx& tx) -> Result<> {
        end_tool(tx, thread, result);
        auto approval = approvals::find_of_use(tx, thread, result.id);
        if (approval && !is_open(approval->state)) note_approval(tx, thread, chat_id, *approval);
        return {};
      });
  if (!kept)
    log_error("cannot store the result of a tool", kept.error(),
              {{"thread", thread.id}, {"trace_id", thread.trace_id}});
  update_files(thread.chat_id);
  co_return result;
}

}  // namespace cru::crew
