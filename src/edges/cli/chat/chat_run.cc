// `cru run AGENT TASK`.
#include <fmt/format.h>

#include "base/text.h"
#include "edges/cli/chat/chat.h"
#include "edges/cli/chat/chat_minds.h"
#include "edges/cli/chat/chat_texts.h"
#include "edges/cli/chat/chat_turn.h"
#include "edges/cli/core/context.h"
#include "edges/cli/core/operation_commands.h"
#include "edges/cli/terminal/markdown.h"

namespace cru::cli {
namespace {

bool is_over(std::string_view status) {
  return status == "completed" || status == "failed" || status == "cancelled";
}

std::string subagent_path(const std::string& id) { return "/subagents/" + percent_encode(id); }

/// Watches a spawned agent until it is over. False if the person left before.
class AgentRun {
 public:
  AgentRun(Context& context, const json::object& spawned)
      : context_(context),
        id_(text_or(spawned, "task_id")),
        chat_(text_or(spawned, "chat_id")),
        printer_(context, {.silent = context.json, .progress_fd = standard_output, .whole_follows = true}),
        signals_({SIGINT, SIGTERM, SIGHUP}),
        events_(context.another_client()) {
    cursor_.since = text_or(spawned, "spawned_at");
    if (context.json || !InboxPrompt::has_person()) return;
    inbox_ = std::make_unique<InboxPrompt>(
        context, signals_, InboxOf{.chat = chat_},
        InboxPrompt::Options{.before = [this] { printer_.finish(); },
                             .signal = [this](int signal) { return go_on_after(signal); }});
    printer_.leave_inbox_to(inbox_.get());
  }

  Result<bool> watch() {
    auto seen = api::own_environment("CRU_RUN") ? wait() : follow();
    context_.client().interrupt_on({});
    printer_.finish();
    return seen;
  }
  bool was_interrupted() const { return cancel_sent_; }

 private:
  Result<bool> follow() {
    return follow_chat(
        events_, signals_, chat_, cursor_,
        [this](std::string_view type, const json::object& data) { return take(type, data); },
        [this](int signal) { return go_on_after(signal); }, inbox_.get());
  }

  /// The events of conversations are not for agents to read: inside a run it is asked whether it is over.
  Result<bool> wait() {
    events_.interrupt_on({signals_.fd()});
    for (bool is_shown = false;;) {
      auto now = events_.get(fmt::format("{}?wait_seconds={}", subagent_path(id_), is_shown ? 50 : 1), 90s);
      if (!now && !events_.interrupted()) return fail(now.error());
      auto status = now ? text_or(*now, "status") : "queued";
      if (!is_shown && status != "queued") printer_.take("subagent.started", *now);
      is_shown = is_shown || status != "queued";
      if (status == "completed") printer_.take("subagent.completed", *now);
      if (is_over(status)) return true;
      for (int signal = signals_.take(); signal != 0; signal = signals_.take())
        if (!go_on_after(signal)) return false;
    }
  }

  bool take(std::string_view type, const json::object& data) {
    if (type == "log.truncated") return !over_by_now();
    if (is_one_of(type, {"chat.waiting", "budget.exhausted"}) || type.starts_with("approval."))
      printer_.take(type, data);
    if (!type.starts_with("subagent.") || text_or(data, "task_id") != id_) return true;
    bool ended = is_over(type.substr(9));
    if (!ended || type == "subagent.completed") printer_.take(type, data);
    return !ended;
  }

  bool over_by_now() {
    auto now = context_.client().get(subagent_path(id_));
    return now && is_over(text_or(*now, "status"));
  }

  bool go_on_after(int signal) {
    printer_.finish();
    if (signal != SIGINT) return false;  // it is not ours to end with our terminal
    if (std::exchange(cancel_sent_, true)) {
      context_.note(
          fmt::format("stopped waiting; the agent is being cancelled: cru sessions show {}", chat_));
      return false;
    }
    context_.note("cancelling; press Ctrl-C again to return immediately");
    auto& client = context_.client();
    client.interrupt_on({signals_.fd()});
    auto cancelled = client.post(subagent_path(id_) + "/cancel", {});
    bool left = client.interrupted();
    client.interrupt_on({});
    if (!cancelled && !left) context_.show(cancelled.error());
    return true;
  }

  Context& context_;
  std::string id_, chat_;
  TurnPrinter printer_;
  Signals signals_;
  Client events_;
  EventCursor cursor_;
  std::unique_ptr<InboxPrompt> inbox_;
  bool cancel_sent_ = false;
};

Result<int> report(Context& context, const std::string& id, bool interrupted) {
  auto text = context.client().call_text("GET", subagent_path(id));
  if (!text) return fail(text.error());
  auto ended = parse_json(*text);
  if (!ended || !ended->is_object())
    return fail(Code::internal, "unexpected reply from the daemon: not a subagent");
  const auto& subagent = ended->get_object();
  bool well = text_or(subagent, "status") == "completed";
  if (context.json) context.print_json(*text);
  if (!context.json && well)
    if (auto whole = whole_report(subagent); !whole.empty())
      context.print("\n" + markdown_prose(whole, context.out.colour, context.out.prose_width()) + "\n\n");
  if (!context.json)
    write_out(well ? standard_output : standard_error, end_line(subagent, well ? context.out : context.err));
  return interrupted ? exit_interrupted : well ? 0 : exit_run_failed;
}

}  // namespace

std::vector<Flag> mind_flags(std::string permits) {
  return {{.name = "model",
           .kind = Kind::text,
           .value = "MODEL",
           .summary = "the model: sonnet, haiku, opus, scripted, or a name from the configuration"},
          {.name = "permit",
           .kind = Kind::text,
           .value = "PERMISSION",
           .summary = std::move(permits),
           .repeats = true},
          {.name = "budget",
           .kind = Kind::text,
           .value = "LIMITS",
           .summary = "how much it may spend: tokens=200k,usd=5,turns=100,time=1h; when=stop or when=pause"}};
}

void add_mind_fields(const Args& args, json::object& body) {
  if (args.has("model")) body["model"] = args.get("model");
  if (args.has("permit")) body["permissions"] = json::value_from(args.all("permit"));
  if (args.has("budget")) body["budget"] = args.get("budget");
}

Result<int> run_agent(Context& context, const Args& args, const std::string& agent, const std::string& task) {
  offer_keys(context);
  json::object body{{"agent", agent}, {"task", task}, {"wait_seconds", 0}};
  add_mind_fields(args, body);
  auto text = context.client().call_text("POST", "/subagents", to_text(body), 60s);
  if (!text) return fail(text.error());
  auto value = parse_json(*text);
  if (!value || !value->is_object())
    return fail(Code::internal, "unexpected reply from the daemon: not a subagent");
  const auto& spawned = value->get_object();
  if (!bool_or(spawned, "success", true)) return fail(refusal_of(spawned));
  std::string id(text_or(spawned, "task_id"));
  if (args.has("detach")) {
    if (context.json)
      context.print_json(*text);
    else
      context.print(id + "\n");
    if (!context.json)
      context.note(fmt::format("show it with: cru sessions show {}", text_or(spawned, "chat_id")));
    return 0;
  }
  AgentRun run(context, spawned);
  auto seen = run.watch();
  if (!seen) return fail(seen.error());
  if (!*seen) return exit_interrupted;
  return report(context, id, run.was_interrupted());
}

}  // namespace cru::cli
