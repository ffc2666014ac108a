#include "edges/cli/demo/demo_chat.h"

#include <fmt/format.h>

#include "platform/files/files.h"
#include "platform/net/http/message.h"

namespace cru::cli {
namespace {

constexpr std::string_view login_note =
    "# Login\n\nA session token is checked in `src/login.cc`. Tokens expire after a timeout; an expired one "
    "must "
    "be refused with a clear message, never with an empty page.\n";
constexpr std::string_view release_note =
    "# Releases\n\nA release needs green tests, a reviewed change, and a line in the changelog.\n";

constexpr std::string_view changelog = "# Changelog\n\n## Next\n\n- Faster start\n";

/// Asks before it writes: what the visitor sees in the inbox.
constexpr std::string_view editor =
    "---\nname: editor\ndescription: Keeps the changelog, and asks before it writes\nmodel: editor\n"
    "permissions: [FilesystemRead, FilesystemWrite]\nrequires_approval: [FilesystemWrite]\n---\n"
    "You keep the changelog.\n";
constexpr std::string_view editor_script =
    "replies:\n"
    "  - when: {turn: 1}\n"
    "    say: The login fix belongs in the changelog.\n"
    "    tools:\n"
    "      - {name: edit_file, input: {path: CHANGELOG.md, old: \"- Faster start\", new: \"- Faster "
    "start\\n- "
    "An expired token is refused with a clear message\"}}\n"
    "otherwise:\n"
    "  say: \"I asked before I wrote. What came of it: {{result}}\"\n";

constexpr std::string_view config =
    "models:\n"
    "  editor: {provider: scripted, script: .crucible/scripts/editor.yaml}\n"
    "  lead: {provider: scripted, script: .crucible/scripts/lead.yaml}\n"
    "  worker: {provider: scripted, script: .crucible/scripts/worker.yaml}\n"
    "crew:\n"
    "  default_model: lead\n"
    "live:\n"
    "  idle_time: 3s\n";

std::string lead_script(int pace) {
  return fmt::format(
      "replies:\n"
      "  - when: {{turn: 1}}\n"
      "    say: I will ask the explorer where it is and the reviewer what a release needs.\n"
      "    pace: {}ms\n"
      "    tools:\n"
      "      - {{name: spawn_agent, input: {{agent: explorer, task: find what the notes say about expired "
      "tokens, "
      "model: worker}}}}\n"
      "      - {{name: spawn_agent, input: {{agent: code-reviewer, task: say what a release of the login fix "
      "needs, model: worker}}}}\n"
      "otherwise:\n"
      "  say: \"Both agents have reported. An expired token must be refused with a clear message (login.md), "
      "and the fix "
      "can "
      "ship once it is reviewed, tested and in the changelog (releases.md).\"\n"
      "  pace: {}ms\n",
      pace, pace);
}

std::string worker_script(int delay) {
  return fmt::format(
      "replies:\n"
      "  - when: {{turn: 1}}\n"
      "    delay: {}ms\n"
      "    say: I will search the notes.\n"
      "    tools:\n"
      "      - {{name: semantic_search, input: {{query: \"{{{{task}}}}\"}}}}\n"
      "otherwise:\n"
      "  delay: {}ms\n"
      "  say: \"## Summary\\n\\nThe notes answer it; the passages are below.\\n\\n## "
      "Findings\\n\\n{{{{result}}}}\"\n",
      delay, delay);
}

}  // namespace

Result<> prepare_demo_chat(const std::string& root, double speed) {
  auto paced = [speed](double ms) { return static_cast<int>(ms / speed) + 1; };
  for (auto folder : {"/.crucible/scripts", "/.crucible/agents"})
    if (auto made = make_folder(root + folder); !made) return made;
  const std::pair<std::string, std::string> files[] = {
      {"/.crucible/config.yaml", std::string(config)},
      {"/.crucible/scripts/lead.yaml", lead_script(paced(40))},
      {"/.crucible/scripts/worker.yaml", worker_script(paced(1200))},
      {"/.crucible/scripts/editor.yaml", std::string(editor_script)},
      {"/.crucible/agents/editor.md", std::string(editor)},
      {"/CHANGELOG.md", std::string(changelog)},
      {"/login.md", std::string(login_note)},
      {"/releases.md", std::string(release_note)}};
  for (const auto& [path, text] : files)
    if (auto written = write_file(root + path, text); !written) return written;
  return {};
}

Result<std::string> begin_demo_chat(Client& client) {
  auto chat = client.post("/chats", {{"message", "Can the login fix ship?"}});
  if (!chat) return fail(chat.error());
  return std::string(text_or(*chat, "id"));
}

Result<std::string> begin_demo_approval(Client& client) {
  auto chat =
      client.post("/chats", {{"agent", "editor"}, {"message", "Note the login fix in the changelog."}});
  if (!chat) return fail(chat.error());
  return std::string(text_or(*chat, "id"));
}

Result<DemoApproval> look_at_demo_approval(Client& client) {
  auto reply = client.get("/approvals?limit=1");
  if (!reply) return fail(reply.error());
  const auto* approvals = array_at(*reply, "approvals");
  if (!approvals || approvals->empty()) return DemoApproval{};
  const auto& approval = approvals->front().as_object();
  return DemoApproval{.id = std::string(text_or(approval, "id")),
                      .what = std::string(text_or(approval, "what")),
                      .outcome = std::string(text_or(approval, "outcome"))};
}

Result<DemoChat> look_at_demo_chat(Client& client, const std::string& id) {
  auto chat = client.get("/chats/" + percent_encode(id));
  if (!chat) return fail(chat.error());
  DemoChat seen{.folder = std::string(text_or(*chat, "folder")), .answer = {}};
  seen.is_over = text_or(*chat, "turn") == "idle";
  if (const auto* entries = array_at(*chat, "entries"))
    for (const auto& entry : *entries)
      if (text_or(entry.as_object(), "role") == "assistant") seen.answer = text_or(entry.as_object(), "text");
  const auto* subagents = array_at(*chat, "subagents");
  for (const auto& subagent : subagents ? *subagents : json::array())
    if (text_or(subagent.as_object(), "status") == "completed") ++seen.subagents;
  seen.is_whole = seen.is_over && seen.subagents == 2 && subagents->size() == 2 && !chat->contains("error");
  return seen;
}

}  // namespace cru::cli
