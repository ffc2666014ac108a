#include "minds/scripted_mind.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/text.h"
#include "minds/pause.h"
#include "minds/script.h"
#include "platform/files/files.h"

namespace cru::minds {
namespace {

namespace fs = std::filesystem;

constexpr size_t max_script_bytes = 1 << 20;

Result<Script> load_script(const std::string& root, const std::string& name) {
  if (name.empty() || name == "builtin") return builtin_script();
  auto refuse = [&](std::string reason, std::string hint = {}) {
    return fail(mind_failure("not_configured", fmt::format("the script {}: {}", name, reason), hint));
  };
  std::error_code error;
  auto folder = fs::canonical(root, error);
  auto file = fs::weakly_canonical(folder / name, error);
  auto inside = file.lexically_relative(folder);
  if (error || inside.empty() || *inside.begin() == "..")
    return refuse("is not inside the project", "use a file of the project, or `builtin`");
  auto text = read_file(file.string(), max_script_bytes);
  if (!text) return refuse(text.error().message, "use a file of the project, or `builtin`");
  auto script = parse_script(*text);
  if (!script) return refuse(script.error().message, "see docs/formats/scripts.md");
  return script;
}

class ScriptedMind final : public Mind {
 public:
  ScriptedMind(Loop& loop, Pool& pool, std::string root) : loop_(loop), pool_(pool), root_(std::move(root)) {}

  Task<Result<Reply>> think(Request request, Listener& listener, Stop& stop) override {
    auto script =
        co_await pool_.run([root = root_, name = request.model.script] { return load_script(root, name); });
    if (!script) co_return fail(std::move(script.error()));
    auto scripted = next_reply(*script, request, script->seed);
    if (!scripted) co_return fail(std::move(scripted.error()));
    if (!co_await tell(*scripted, listener, stop))
      co_return fail(mind_failure("cancelled", "the reply was cancelled"));
    if (scripted->failure)
      co_return fail(mind_failure(scripted->failure->type, scripted->failure->message.empty()
                                                               ? "failure requested by the script"
                                                               : scripted->failure->message));
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
};

}  // namespace

std::unique_ptr<Mind> scripted_mind(Loop& loop, Pool& pool, std::string root) {
  return std::make_unique<ScriptedMind>(loop, pool, std::move(root));
}

}  // namespace cru::minds
