#include "minds/scripted_mind.h"

#include <fmt/format.h>

#include "base/sha256.h"
#include "base/text.h"
#include "minds/pause.h"
#include "minds/script.h"
#include "minds/usage_limit.h"
#include "trust/project_file.h"

namespace cru::minds {
namespace {

constexpr size_t max_script_bytes = 1 << 20;

bool is_builtin(const std::string& name) { return name.empty() || name == "builtin"; }

/// Not a mind's failure alone: the caller is told which file waits.
Error untrusted_script(const std::string& path) {
  return trust::untrusted("the script", path, {"decides what a scripted model says and does"});
}

Result<Script> load_script(const std::string& root, const std::string& name, const trust::Check& is_trusted) {
  if (is_builtin(name)) return builtin_script();
  auto refuse = [&](std::string reason, std::string hint = {}) {
    return fail(mind_failure("not_configured", fmt::format("the script {}: {}", name, reason), hint));
  };
  auto file = trust::read_project_file(root, name, max_script_bytes);
  if (!file && file.error().code == Code::forbidden)
    return refuse("is not inside the project", "use a file of the project, or `builtin`");
  if (!file) return refuse(file.error().message, "use a file of the project, or `builtin`");
  if (!is_trusted(file->path, sha256(file->text))) return fail(untrusted_script(file->path));
  auto script = parse_script(file->text);
  if (!script) return refuse(script.error().message, "see docs/formats/scripts.md");
  return script;
}

class ScriptedMind final : public Mind {
 public:
  ScriptedMind(Loop& loop, Pool& pool, std::string root, trust::Checks trusted)
      : loop_(loop), pool_(pool), root_(std::move(root)), trusted_(std::move(trusted)) {}

  Task<Result<Reply>> think(Request request, Listener& listener, Stop& stop) override {
    auto script =
        co_await pool_.run([root = root_, name = request.model.script, check = trust::check_now(trusted_)] {
          return load_script(root, name, check);
        });
    if (!script) co_return fail(std::move(script.error()));
    auto scripted = next_reply(*script, request, script->seed);
    if (!scripted) co_return fail(std::move(scripted.error()));
    auto now = loop_.clock().wall();
    auto until = scripted->failure ? scripted->failure->resets_at : std::nullopt;
    if (until && *until <= now) scripted->failure.reset();
    if (!co_await tell(*scripted, listener, stop))
      co_return fail(mind_failure("cancelled", "the reply was cancelled"));
    if (scripted->failure)
      co_return fail(with_limit(mind_failure(scripted->failure->type, scripted->failure->message.empty()
                                                                          ? "failure requested by the script"
                                                                          : scripted->failure->message),
                                until, now));
    co_return to_reply(*std::move(scripted), request.model);
  }

 private:
  /// False if it was stopped.
  Task<bool> tell(ScriptedReply reply, Listener& listener, Stop& stop) {
    if (!co_await pause(loop_, reply.delay, stop)) co_return false;
    std::string_view text = reply.say;
    if (reply.failure) text = text.substr(0, static_cast<size_t>(reply.failure->after_bytes.value_or(0)));
    for (size_t at = 0; at < text.size();) {
      if (at > 0 && !co_await pause(loop_, reply.pace, stop)) co_return false;
      auto end = std::min(text.size(), at + static_cast<size_t>(reply.chunk));
      end = text.size() - skip_partial_character(text.substr(end)).size();  // never half a character
      listener.text(text.substr(at, end - at));
      at = end;
    }
    co_return !stop.requested();
  }

  static Reply to_reply(ScriptedReply scripted, const Model& model) {
    Reply reply;
    reply.message = {Message::Role::assistant, std::move(scripted.say), std::move(scripted.tools), {}};
    reply.stop_reason = reply.message.uses.empty() ? "end_turn" : "tool_use";
    reply.usage = scripted.usage;
    reply.cost_usd = model.prices ? cost_of(*model.prices, reply.usage) : 0.0;
    reply.model_version = model.script.empty() ? "script:builtin" : "script:" + model.script;
    return reply;
  }

  Loop& loop_;
  Pool& pool_;
  const std::string root_;
  const trust::Checks trusted_;
};

}  // namespace

std::unique_ptr<Mind> scripted_mind(Loop& loop, Pool& pool, std::string root, trust::Checks trusted) {
  return std::make_unique<ScriptedMind>(loop, pool, std::move(root), std::move(trusted));
}

Result<> check_script(const std::string& root, const std::string& name, const trust::Check& is_trusted) {
  if (is_builtin(name)) return {};
  auto file = trust::read_project_file(root, name, max_script_bytes);
  if (!file || is_trusted(file->path, sha256(file->text))) return {};
  return fail(untrusted_script(file->path));
}

}  // namespace cru::minds
