#include "api/handlers/coordination_handlers.h"

namespace cru::api {
namespace {

using coordination::Teams;

Task<Result<Reply>> list_teams(Teams& teams, std::string file) {
  co_return to_reply(co_await teams.list(std::move(file)));
}
Task<Result<Reply>> validate_team(Teams& teams, std::string file) {
  co_return to_reply(co_await teams.validate(std::move(file)));
}
Task<Result<Reply>> team_up(Teams& teams, Teams::Up request) {
  co_return to_reply(co_await teams.up(std::move(request)));
}
Task<Result<Reply>> team_down(Teams& teams, std::string file, std::vector<std::string> members) {
  co_return to_reply(co_await teams.down(std::move(file), std::move(members)));
}

}  // namespace

void bind_teams(Api& api, Teams& teams) {
  api.bind("list_teams",
           [&teams](const Call&, const json::object& in) { return list_teams(teams, text(in, "file")); });
  api.bind("validate_team",
           [&teams](const Call&, const json::object& in) { return validate_team(teams, text(in, "file")); });
  api.bind("team_up", [&teams](const Call& call, const json::object& in) {
    return team_up(teams, {.file = text(in, "file"),
                           .backend = text(in, "backend"),
                           .members = texts_at(in, "members"),
                           .argv = texts_at(in, "argv"),
                           .account = call.account});
  });
  api.bind("team_down", [&teams](const Call&, const json::object& in) {
    return team_down(teams, text(in, "file"), texts_at(in, "members"));
  });
}

}  // namespace cru::api
