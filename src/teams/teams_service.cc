#include "teams/teams_service.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "base/account.h"
#include "base/sha256.h"
#include "base/text.h"
#include "runs/run_table.h"
#include "trust/project_file.h"

namespace cru::coordination {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> usual_files = {".crucible/teams.yaml", "teams.yaml"};

bool is_usual_file(const std::string& name) {
  return std::ranges::find(usual_files, name) != usual_files.end();
}

/// A team's file as found: what to call it, and its text.
struct TeamFile {
  std::string name;
  std::string text;
};

/// Reads on a pool thread. A file that is given must be in the project; a link inside it is followed.
Result<TeamFile> read_team_file(const std::string& root, const std::string& file) {
  std::error_code error;
  if (file.empty()) {
    for (auto name : usual_files)
      if (fs::exists(fs::path(root) / name, error)) return read_team_file(root, std::string(name));
    return fail(Code::not_found, "the project has no .crucible/teams.yaml and no teams.yaml", "file",
                "for an example of one: cru teams --help");
  }
  if (file.find('\0') != std::string::npos)
    return fail(Code::invalid_argument, "contains a NUL byte", "file");
  auto read = trust::read_project_file(root, file, trust::max_item_bytes);
  if (read) return TeamFile{std::move(read->path), std::move(read->text)};
  auto failed = std::move(read.error());
  failed.field = "file";
  if (failed.code == Code::forbidden)
    return fail(Code::invalid_argument, fmt::format("{} is not in the project", file), "file");
  if (failed.code == Code::not_found) failed.message = fmt::format("file not found: {}", file);
  return fail(std::move(failed));
}

struct ReadTeam {
  std::string file, sha256;
  std::optional<Team> team;
  std::vector<TeamProblem> problems;
};

ReadTeam parse_team(TeamFile file) {
  ReadTeam read{.file = std::move(file.name), .sha256 = sha256(file.text), .team = {}, .problems = {}};
  auto tree = parse_yaml(file.text);
  if (!tree) {
    read.problems.push_back(syntax_problem(tree.error()));
    return read;
  }
  auto team = read_team(*tree);
  if (team)
    read.team = *std::move(team);
  else
    read.problems = std::move(team.error());
  return read;
}

json::array to_errors(const ReadTeam& read) {
  json::array errors;
  for (const auto& problem : read.problems)
    errors.push_back({{"file", read.file},
                      {"line", problem.line},
                      {"field", problem.field},
                      {"reason", problem.reason},
                      {"text", to_text(problem, read.file)}});
  return errors;
}

/// A run is a member's if a session of that name and role belongs to it: `up` makes it so before the start.
bool is_of_member(Reader& reader, const std::string& task_id, const Member& member) {
  return reader
      .row(
          "SELECT 1 FROM agent_sessions WHERE owner = ? AND owner <> '' AND agent_id = ? AND agent_type = ? "
          "LIMIT 1",
          task_id, member.name, member.role)
      .has_value();
}

/// Where a member runs, or would.
struct Place {
  std::string task_id;  ///< empty: every name for it is another's
  bool is_up = false;
};

Place place_of(Reader& reader, const Member& member) {
  std::string free;
  for (int number = 1; number < 100; ++number) {
    auto id = number == 1 ? member.name : fmt::format("{}-{}", member.name, number);
    if (!is_task_id(id)) break;
    auto run = runs::find(reader, id);
    if (!run) return {free.empty() ? id : free, false};
    if (!is_of_member(reader, id, member)) continue;
    if (runs::is_active(run->status)) return {id, true};
    if (free.empty()) free = id;
  }
  return {free, false};
}

Result<std::vector<Member>> chosen(const Team& team, const std::vector<std::string>& names) {
  if (names.empty()) return team.agents;
  std::vector<std::string> known;
  for (const auto& member : team.agents) known.push_back(member.name);
  for (const auto& name : names)
    if (std::ranges::find(known, name) == known.end()) {
      auto meant = closest(name, known);
      return fail(Code::invalid_argument, fmt::format("the team has no member {}", name), "members",
                  meant.empty() ? fmt::format("valid members: {}", fmt::join(known, ", "))
                                : fmt::format("did you mean {}?", meant));
    }
  std::vector<Member> members;
  for (const auto& member : team.agents)
    if (std::ranges::find(names, member.name) != names.end()) members.push_back(member);
  return members;
}

}  // namespace

std::vector<trust::Item> teams_to_trust(const std::string& root) {
  std::vector<trust::Item> items;
  for (auto name : usual_files) {
    auto file = trust::read_project_file(root, std::string(name), trust::max_item_bytes);
    if (!file) continue;  // it cannot be started either
    auto text = file->text;
    auto read = parse_team({file->path, std::move(file->text)});
    if (read.team)
      items.push_back({.path = read.file, .reasons = trust_reasons(*read.team), .text = std::move(text)});
  }
  return items;
}

struct Teams::Impl {
  Store& store;
  Pool& pool;
  Sessions& sessions;
  runs::Runs& runs;
  Random& random;
  std::string root;
  trust::Checks trusted;
  bool busy = false;

  Task<Result<ReadTeam>> read(std::string file) {
    auto text = co_await pool.run([root = root, file] { return read_team_file(root, file); });
    if (!text) co_return fail(std::move(text.error()));
    co_return parse_team(*std::move(text));
  }
  /// Errors: invalid_argument with all that is wrong.
  Task<Result<ReadTeam>> read_valid(std::string file) {
    auto read = co_await this->read(std::move(file));
    if (!read || read->team) co_return read;
    std::string message = "the team file is invalid";
    for (const auto& problem : read->problems) message += "\n" + to_text(problem, read->file);
    co_return fail({Code::invalid_argument,
                    std::move(message),
                    "file",
                    {},
                    cru::to_text(json::object{{"errors", to_errors(*read)}})});
  }
  Task<Result<std::vector<Place>>> places(std::vector<Member> members) {
    co_return co_await store.read([members](Reader& reader) -> Result<std::vector<Place>> {
      std::vector<Place> found;
      for (const auto& member : members) found.push_back(place_of(reader, member));
      return found;
    });
  }
  Task<json::object> start(Team team, Member member, std::string task_id, Up request);
  Task<json::object> stop(Member member, std::string task_id);
  Task<Result<Done>> report(std::string event, ReadTeam read, json::array agents, bool success);
};

namespace {

/// One `up` or `down` at a time: two at once would each start the same members.
struct Busy {
  bool& flag;
  explicit Busy(bool& f) : flag(f) { flag = true; }
  Busy(const Busy&) = delete;
  ~Busy() { flag = false; }
};

/// "2 of 3 members could not be started: reviewer: …; tester: …", and what to do.
void say_failures(std::string_view event, const json::array& agents, json::object& reply) {
  std::string all, hints;
  int failed = 0;
  for (const auto& each : agents) {
    const auto& agent = each.get_object();
    if (text_or(agent, "status") != "failed") continue;
    ++failed;
    all += fmt::format("{}{}: {}", all.empty() ? "" : "; ", text_or(agent, "name"), text_or(agent, "error"));
    if (auto hint = text_or(agent, "hint"); !hint.empty() && hints.find(hint) == std::string::npos)
      hints += fmt::format("{}\n", hint);
  }
  bool is_up = event == "team.up";
  reply["message"] = fmt::format("{} of {} members could not be {}: {}", failed, agents.size(),
                                 is_up ? "started" : "stopped", all);
  reply["hint"] = fmt::format("{}then, for the rest: cru teams {}", hints, is_up ? "up" : "down");
}

std::unexpected<Error> busy_error() {
  return fail(Code::conflict, "the team is already being started or stopped", {}, "retry shortly");
}

}  // namespace

Teams::Teams(Store& store, Pool& pool, Sessions& sessions, runs::Runs& runs, Random& random, std::string root,
             trust::Checks trusted)
    : impl_(new Impl{store, pool, sessions, runs, random, std::move(root), std::move(trusted)}) {}
Teams::~Teams() = default;

Task<Result<Done>> Teams::list(std::string file) {
  auto read = co_await impl_->read_valid(std::move(file));
  if (!read) co_return fail(std::move(read.error()));
  auto places = co_await impl_->places(read->team->agents);
  if (!places) co_return fail(std::move(places.error()));
  json::array agents;
  for (size_t i = 0; i < places->size(); ++i) {
    const auto& member = read->team->agents[i];
    const auto& place = (*places)[i];
    agents.push_back({{"name", member.name},
                      {"role", member.role},
                      {"capabilities", json::value_from(member.capabilities)},
                      {"description", member.description},
                      {"status", place.is_up ? "up" : "down"},
                      {"task_id", place.is_up ? json::value(place.task_id) : json::value(nullptr)}});
  }
  co_return Done{.reply = {{"success", true},
                           {"team", read->team->team},
                           {"file", read->file},
                           {"agents", std::move(agents)}},
                 .changed = false};
}

Task<Result<Done>> Teams::validate(std::string file) {
  auto read = co_await impl_->read(std::move(file));
  if (!read) co_return fail(std::move(read.error()));
  json::object reply{{"success", true}, {"valid", read->team.has_value()}, {"file", read->file}};
  if (read->team) reply["team"] = read->team->team;
  reply["errors"] = to_errors(*read);
  co_return Done{.reply = std::move(reply), .changed = false};
}

/// Registered before it starts, so that it can be found at once; if it does not start, it ends again.
Task<json::object> Teams::Impl::start(Team team, Member member, std::string task_id, Up request) {
  Who who;
  who.agent_id = member.name;
  who.agent_type = member.role;
  who.session_id = uuid_from(random.bytes16());
  who.owner = task_id;
  who.capabilities = member.capabilities;
  json::object reply{{"name", member.name}, {"task_id", task_id}, {"session_id", who.session_id}};
  auto failed = [&reply](const Error& error) {
    reply["status"] = "failed";
    reply["error"] = error.message;
    if (!error.hint.empty()) reply["hint"] = error.hint;
    return std::move(reply);
  };
  auto registered = co_await sessions.register_session(
      who, {.capabilities = member.capabilities,
            .current_task = member.task.empty() ? member.description : member.task});
  if (!registered) co_return failed(registered.error());

  runs::StartRequest start;
  start.id = task_id;
  start.task = briefing(team, member);
  start.argv = request.argv;
  if (request.argv.empty()) {
    start.backend = member.backend.empty() ? request.backend : member.backend;
    if (start.backend.empty()) start.backend = "claude";
  }
  start.env = {{"AGENT_ID", member.name},
               {"AGENT_TYPE", member.role},
               {"AGENT_CAPABILITIES", fmt::format("{}", fmt::join(member.capabilities, ","))},
               {"SESSION_ID", who.session_id}};
  start.share = "team:" + team.team;
  start.jail = runs::JailRights{.may_write = true, .may_use_network = true, .permits = {}};
  if (!start.backend.empty()) start.env.merge(account_of(start.backend, request.account));
  if (team.lock_ttl_minutes > 0) start.env["LOCK_TTL_MINUTES"] = std::to_string(team.lock_ttl_minutes);
  auto started = co_await runs.start(std::move(start));
  if (!started) {
    auto ended = co_await sessions.end(who, "it could not be started: " + started.error().message, "team");
    if (!ended) reply["session_error"] = ended.error().message;
    co_return failed(started.error());
  }
  reply["status"] = "started";
  co_return reply;
}

Task<Result<Done>> Teams::Impl::report(std::string event, ReadTeam read, json::array agents, bool success) {
  co_return co_await store.write([=](Tx& tx) -> Result<Done> {
    json::object reply{
        {"success", success}, {"team", read.team->team}, {"file", read.file}, {"agents", agents}};
    if (!success) say_failures(event, agents, reply);
    tx.emit({event, read.team->team, reply});
    return Done{.reply = std::move(reply)};
  });
}

Task<Result<Done>> Teams::up(Up request) {
  if (impl_->busy) co_return busy_error();
  Busy busy(impl_->busy);
  auto read = co_await impl_->read_valid(request.file);
  if (!read) co_return fail(std::move(read.error()));
  if (!trust::check_now(impl_->trusted)(read->file, read->sha256)) {
    auto error = trust::untrusted("the team", read->file, trust_reasons(*read->team));
    error.field = "file";
    if (!is_usual_file(read->file)) error.hint += " " + read->file;
    co_return fail(std::move(error));
  }
  auto members = chosen(*read->team, request.members);
  if (!members) co_return fail(std::move(members.error()));
  auto all = co_await impl_->places(read->team->agents);
  if (!all) co_return fail(std::move(all.error()));
  auto live = std::ranges::count(*all, true, &Place::is_up);
  auto places = co_await impl_->places(*members);
  if (!places) co_return fail(std::move(places.error()));

  json::array agents;
  bool success = true;
  for (size_t i = 0; i < members->size(); ++i) {
    const auto& member = (*members)[i];
    const auto& place = (*places)[i];
    json::object told{
        {"name", member.name}, {"task_id", json_or_null(place.task_id)}, {"session_id", nullptr}};
    if (place.is_up) {
      told["status"] = "up";
    } else if (place.task_id.empty()) {
      told["status"] = "failed";
      told["error"] = fmt::format("the run ids {}, {}-2 … are all taken", member.name, member.name);
    } else if (read->team->max_parallel > 0 && live >= read->team->max_parallel) {
      // It is not started by itself later: a person says when.
      told["task_id"] = nullptr;
      told["status"] = "waiting";
      told["message"] = fmt::format("max_parallel is {}; run teams up again when a member has ended",
                                    read->team->max_parallel);
    } else {
      told = co_await impl_->start(*read->team, member, place.task_id, request);
      if (text_or(told, "status") == "started") ++live;
    }
    success = success && text_or(told, "status") != "failed";
    agents.push_back(std::move(told));
  }
  co_return co_await impl_->report("team.up", *std::move(read), std::move(agents), success);
}

Task<json::object> Teams::Impl::stop(Member member, std::string task_id) {
  json::object told{{"name", member.name}, {"task_id", task_id}, {"status", "stopped"}};
  auto killed = co_await runs.kill(task_id, {});
  if (!killed && killed.error().code != Code::not_running) {
    told["status"] = "failed";
    told["error"] = killed.error().message;
    co_return told;
  }
  auto ended = co_await sessions.end_of_run(task_id, "the team was stopped");
  if (!ended) told["error"] = ended.error().message;
  co_return told;
}

Task<Result<Done>> Teams::down(std::string file, std::vector<std::string> names) {
  if (impl_->busy) co_return busy_error();
  Busy busy(impl_->busy);
  auto read = co_await impl_->read_valid(std::move(file));
  if (!read) co_return fail(std::move(read.error()));
  auto members = chosen(*read->team, names);
  if (!members) co_return fail(std::move(members.error()));
  auto places = co_await impl_->places(*members);
  if (!places) co_return fail(std::move(places.error()));
  json::array agents;
  bool success = true;
  for (size_t i = 0; i < members->size(); ++i) {
    const auto& member = (*members)[i];
    json::object told{{"name", member.name}, {"task_id", nullptr}, {"status", "down"}};
    if ((*places)[i].is_up) told = co_await impl_->stop(member, (*places)[i].task_id);
    success = success && text_or(told, "status") != "failed";
    agents.push_back(std::move(told));
  }
  co_return co_await impl_->report("team.down", *std::move(read), std::move(agents), success);
}

}  // namespace cru::coordination
