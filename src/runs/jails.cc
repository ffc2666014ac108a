#include "runs/jails.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ranges>

#include "base/guarded_paths.h"
#include "platform/files/files.h"
#include "platform/files/log.h"
#include "platform/files/passing_file.h"
#include "platform/process/subprocess.h"
#include "platform/sandbox/confine_paths.h"
#include "runs/placeholders.h"

namespace cru::runs {
namespace {

namespace fs = std::filesystem;

constexpr size_t max_copy = 16u << 20;
constexpr auto returned_file = "/returned.json";

std::string from_environment(const std::map<std::string, std::string>& environment, const std::string& name,
                             const std::string& fallback) {
  auto found = environment.find(name);
  return found != environment.end() && found->second.starts_with('/') ? found->second : fallback;
}

/// Without links: a mount is made where something really stands.
std::string real(const std::string& path) {
  std::error_code error;
  auto found = fs::canonical(path, error);
  return error ? path : found.string();
}

/// Relative to the folder, by kind. Links are left out: they would lead out of what is bound.
void list_entries(const std::string& folder, std::vector<std::string>& files,
                  std::vector<std::string>& folders) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    auto status = entry.symlink_status(error);
    auto name = entry.path().filename().string();
    if (fs::is_directory(status)) folders.push_back(name);
    if (fs::is_regular_file(status)) files.push_back(name);
  }
}

/// The path, if a socket is there.
std::string socket_at(const std::string& path) {
  std::error_code error;
  return fs::is_socket(fs::status(path, error)) ? path : "";
}

std::string docker_socket(const std::map<std::string, std::string>& environment) {
  constexpr std::string_view scheme = "unix://";
  auto found = environment.find("DOCKER_HOST");
  if (found == environment.end() || !found->second.starts_with(scheme)) return {};
  return socket_at(found->second.substr(scheme.size()));
}

/// Whether something of the user's at `path` is seen in a jail that does not hide it: of /tmp it has its own,
/// our state is hidden, and what listens in the project belongs to it.
bool is_seen(const std::string& path, const JailPlaces& places) {
  auto contains = [&](const std::string& folder) { return is_or_is_below(path, folder); };
  if (contains(places.root)) return false;
  return (!contains("/tmp") && !contains("/var/tmp")) || std::ranges::any_of(places.needed, contains);
}

class FileJails final : public Jails {
 public:
  FileJails(std::string root, std::string program, Confine confine, Pool& pool)
      : root_(std::move(root)),
        program_(std::move(program)),
        confine_(confine),
        pool_(pool),
        placeholders_(std::make_shared<Placeholders>(root_)) {}

  Task<JailMeans> means() override {
    if (means_) co_return *means_;
    auto found = co_await pool_.run([program = program_, root = root_]() -> Result<JailMeans> {
      auto said = run_program({program, "confine", "--means"}, root);
      if (!said) return fail(std::move(said.error()));
      return means_from(said->out);
    });
    if (found) means_ = *found;
    co_return found ? *found : JailMeans{.why_not = found.error().message};
  }

  Task<Result<JailPlan>> prepare(std::string uid, JailRequest request) override {
    auto can = co_await means();
    if (auto possible = check(can, request.rights); !possible) co_return fail(std::move(possible.error()));
    auto folder = own_folder(uid);
    request.cru = program_;
    auto planned = co_await pool_.run([root = root_, folder, request, can, uid, held = placeholders_] {
      if (request.rights.may_write && can.namespaces) held->hold(uid);
      return lay_out(root, folder, request, can);
    });
    if (!planned) co_await remove(uid);
    co_return planned;
  }

  Task<void> remove(std::string uid) override {
    co_await pool_.run([folder = own_folder(uid), uid, held = placeholders_] {
      std::error_code error;
      give_back(folder);
      fs::remove_all(folder, error);
      held->let_go(uid);
      return true;
    });
  }

  Task<void> clean(std::set<std::string> uids) override {
    co_await pool_.run([root = root_, uids, held = placeholders_] {
      std::error_code error;
      for (const auto& entry : fs::directory_iterator(root + "/.coven/jails", error))
        if (!uids.contains(entry.path().filename().string())) {
          give_back(entry.path().string());
          fs::remove_all(entry.path(), error);
        }
      held->take_over(uids);
      return true;
    });
  }

 private:
  std::string own_folder(const std::string& uid) const { return root_ + "/.coven/jails/" + uid; }

  Result<> check(const JailMeans& can, const JailRights& rights) const {
    bool is_enough = can.namespaces || (confine_ != Confine::require && can.landlock > 0 && can.seccomp);
    if (is_enough && !can.namespaces && !rights.passages.empty())
      return fail(
          Code::cannot_execute,
          fmt::format(
              "{} cannot be permitted here: without namespaces a confined run has no unix sockets ({})",
              name(*rights.passages.begin()), can.why_not),
          "permit", "leave out --permit, or run the command without --confine");
    if (is_enough) return {};
    return fail(Code::cannot_execute,
                fmt::format("this machine cannot confine an agent: {}{}", can.why_not,
                            confine_ == Confine::require ? "" : ", and it lacks Landlock or seccomp"),
                {},
                "see: cru doctor. To run agents with all your rights, set `confine: off` in "
                "~/.config/crucible/config.yaml");
  }

  static std::vector<std::string> open_entries(const std::string& root, const std::string& folder,
                                               std::vector<std::string> closed) {
    closed.push_back(root + "/.coven");
    auto open = entries_but(root, closed);
    if (folder.starts_with(root + "/.coven/worktrees/"))
      for (auto& path : entries_but(folder, closed)) open.push_back(std::move(path));
    return open;
  }

  static JailPlaces places_of(const std::string& root, const std::string& own, const JailRequest& request,
                              const JailMeans& can) {
    const auto& environment = request.environment;
    JailPlaces places;
    places.root = root;
    places.folder = real(request.folder);
    places.own = own;
    places.door = root + "/.coven/door";
    places.home = real(from_environment(environment, "HOME", ""));
    places.cache = from_environment(environment, "XDG_CACHE_HOME", places.home + "/.cache");
    places.keys =
        real(from_environment(environment, "XDG_CONFIG_HOME", places.home + "/.config") + "/crucible/keys");
    places.state =
        real(from_environment(environment, "XDG_STATE_HOME", places.home + "/.local/state") + "/cru");
    places.guarded = guarded_in(root);
    if (places.folder != root)
      for (auto& path : guarded_in(places.folder)) places.guarded.push_back(std::move(path));
    if (!can.namespaces && request.rights.may_write)
      places.open = open_entries(root, places.folder, places.guarded);
    places.sockets = user_sockets(root);
    auto path_variable = request.path();
    places.needed = {root, places.home, fs::path(request.cru).parent_path().string()};
    for (auto part : std::views::split(path_variable, ':'))
      places.needed.emplace_back(part.begin(), part.end());
    std::erase_if(places.needed, [&](const std::string& path) {
      std::error_code error;
      return !fs::is_directory(path, error) ||
             (path != root && path != places.home &&
              (is_or_is_below(path, root) || is_or_is_below(path, places.home)));
    });
    std::ranges::sort(places.needed);
    places.needed.erase(std::unique(places.needed.begin(), places.needed.end()), places.needed.end());
    for (auto& path : sockets_of_user())
      if (is_seen(path, places)) places.sockets.push_back(std::move(path));
    places.ssh_socket = socket_at(from_environment(environment, "SSH_AUTH_SOCK", ""));
    places.docker_socket = docker_socket(environment);
    auto runtime = from_environment(environment, "XDG_RUNTIME_DIR", "");
    if (!runtime.empty()) places.gpg_sockets = runtime + "/gnupg";
    places.program = folder_of_program(request.program, environment);
    places.program.path = places.program.path.empty() ? "" : real(places.program.path);
    list_entries(places.program.path, places.files, places.folders);
    return places;
  }

  static Result<JailPlan> lay_out(const std::string& root, const std::string& own, const JailRequest& request,
                                  const JailMeans& can) {
    if (auto made = make_folder(own, 0700); !made) return fail(std::move(made.error()));
    auto places = places_of(root, own, request, can);
    auto plan = plan_jail(request.rights, places, can);
    if (!places.program.path.empty())
      if (auto made = make_folder(places.program.path, 0700); !made) return fail(std::move(made.error()));
    if (request.rights.may_write && !places.cache.empty()) (void)make_folder(places.cache, 0700);
    for (const auto& folder : plan.make_folders)
      if (auto made = make_folder(folder, 0700); !made) return fail(std::move(made.error()));
    for (const auto& copy : plan.make_copies) {
      auto text = copy.from.empty() ? Result<std::string>(std::string()) : read_file(copy.from, max_copy);
      if (!text) continue;  // it is not there, or not a file that anybody copies
      if (auto made = replace_passing_file(copy.at, *text, 0600); !made) return fail(std::move(made.error()));
    }
    for (const auto& link : plan.make_links) {
      std::error_code error;
      fs::create_symlink(link.from, link.at, error);
      if (error)
        return fail(Code::cannot_execute, fmt::format("cannot make {}: {}", link.at, error.message()));
    }
    if (!plan.returned.empty()) {
      json::array returned;
      for (const auto& file : plan.returned) returned.push_back({{"from", file.from}, {"at", file.at}});
      if (auto made = replace_passing_file(own + returned_file, to_text(returned), 0600); !made)
        return fail(std::move(made.error()));
    }
    return plan;
  }

  /// What the program has put in the place of a link to a file that it shares with people, such as a login
  /// that it has refreshed. It could have written the file itself; so this lets it do nothing new.
  static void give_back(const std::string& own) {
    auto text = read_file(own + returned_file, max_copy);
    auto list = text ? parse_json(*text) : Result<json::value>(fail(text.error()));
    if (!list || !list->is_array()) return;
    for (const auto& each : list->get_array()) {
      if (!each.is_object()) continue;
      std::string from(text_or(each.get_object(), "from")), at(text_or(each.get_object(), "at"));
      std::error_code error;
      if (!fs::is_regular_file(fs::symlink_status(from, error)) ||
          !fs::is_regular_file(fs::symlink_status(at, error)))
        continue;
      if (fs::last_write_time(from, error) <= fs::last_write_time(at, error) || error) continue;
      auto fresh = read_file(from, max_copy);
      if (fresh && !fresh->empty())
        if (auto given = write_file(at, *fresh, 0600); !given)
          log_error("cannot keep a program's file", given.error());
    }
  }

  const std::string root_, program_;
  const Confine confine_;
  Pool& pool_;
  const std::shared_ptr<Placeholders> placeholders_;  ///< the pool's jobs share it
  std::optional<JailMeans> means_;
};

}  // namespace

std::unique_ptr<Jails> file_jails(std::string root, std::string program, Confine confine, Pool& pool) {
  return std::make_unique<FileJails>(std::move(root), std::move(program), confine, pool);
}

}  // namespace cru::runs
