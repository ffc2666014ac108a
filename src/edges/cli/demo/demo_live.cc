#include "edges/cli/demo/demo_live.h"

namespace cru::cli {

Result<> begin_demo_lives(Client& client) {
  const json::object cast[demo_lives] = {
      {{"name", "Mia"}, {"role", "keeps an eye on everything"}, {"x", 9}, {"y", 5}},
      {{"name", "Bob"}, {"role", "tests what the others build"}},
      {{"name", "Cleo"}, {"role", "writes it down"}, {"task", "describe the login fix"}}};
  for (const auto& one : cast)
    if (auto spawned = client.post("/live", one); !spawned) return fail(spawned.error());
  auto said = client.post("/world/say", {{"content", "Good morning, all!"}, {"everybody", true}});
  if (!said) return fail(said.error());
  return {};
}

Result<> begin_demo_conversation(Client& client) {
  auto began = client.post("/auto/start", {{"topic", "code-review"}});
  if (!began) return fail(began.error());
  return {};
}

Result<DemoLives> look_at_demo_lives(Client& client) {
  auto reply = client.get("/live");
  if (!reply) return fail(reply.error());
  DemoLives seen;
  const auto* agents = array_at(*reply, "agents");
  for (const auto& agent : agents ? *agents : json::array()) {
    ++seen.here;
    seen.thoughts += int_or(agent.as_object(), "thoughts");
  }
  return seen;
}

}  // namespace cru::cli
