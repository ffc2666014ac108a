#include "runs/jails.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ranges>

#include "base/guarded_paths.h"
#include "platform/files/file_status.h"
#include "platform/files/files.h"
#include "platform/files/log.h"
#include "platform/files/own_mark.h"
#include "platform/files/passing_file.h"
#include "platform/process/self.h"
#include "platform/process/subprocess.h"
#include "platform/sandbox/confine_paths.h"
#include "platform/sandbox/guarding.h"
#include "runs/placeholders.h"

namespace cru::runs {
namespace {

namespace fs = std::filesystem;

constexpr size_t max_copy = 16u << 20;
constexpr auto returned_file = "/returned.json";

using Environment = std::map<std::string, std::string>;

/// Without links: a mount is made where something really stands.
std::string real(const std::string& path) {
  std::error_code error;
  auto found = fs::canonical(path, error);
  return error ? path : found.string();
}

/// Whether what a link in a program's folder leads to may be seen in its place: it is the user's, or the
/// system's, and not what is hidden from the program. What is the system's cannot be written anyway.
bool may_be_target(const std::string& target, const JailPlaces& places) {
  auto status = file_status(target);
  if (!status || (status->owner != own_user() && status->owner != 0)) return false;
  auto contains = [&](const std::string& folder) { return is_or_is_below(target, folder); };
  return std::ranges::none_of(places.secrets, contains) &&
         std::ranges::none_of(places.ssh_folders, contains) &&
         std::ranges::none_of(places.gnupg_folders, contains);
}

/// The entries of the program's folder, by kind.
void list_entries(JailPlaces& places) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(places.program.path, error)) {
    std::error_code gone;
    auto name = entry.path().filename().string();
    if (entry.is_symlink(gone)) {
      auto target = real(entry.path().string());
      if (!may_be_target(target, places)) {
        log_warn("a link in a program's folder is left out of its jail", {{"path", entry.path().string()}});
        continue;
      }
      places.targets[name] = target;
    }
    auto status = entry.status(gone);
    if (fs::is_directory(status)) places.folders.push_back(name);
    if (fs::is_regular_file(status)) places.files.push_back(name);
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

/// With what a program has made in it, such as folders that nobody may write.
void remove_folder(const std::string& path) {
  std::error_code error, ignored;
  fs::remove_all(path, error);
  if (!error) return;
  fs::permissions(path, fs::perms::owner_all, fs::perm_options::add, ignored);
  for (fs::recursive_directory_iterator at(path, ignored), end; at != end; at.increment(ignored))
    if (fs::is_directory(at->symlink_status(ignored)))
      fs::permissions(at->path(), fs::perms::owner_all, fs::perm_options::add, ignored);
  fs::remove_all(path, error);
  if (error) log_warn("the folder of a jail cannot be removed", {{"path", path}, {"why", error.message()}});
}

/// Of the folders to work in, that which is a project's as a whole.
std::string worktree_or(const std::string& root, const std::string& folder) {
  auto found = real(folder);
  return found.starts_with(root + "/.coven/worktrees/") ? found : root;
}

class FileJails final : public Jails {
 public:
  FileJails(std::string root, std::string program, Confine confine, Environment environment, Pool& pool)
      : root_(std::move(root)),
        program_(std::move(program)),
        confine_(confine),
        environment_(std::move(environment)),
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
    request.own_environment = environment_;
    auto planned = co_await pool_.run([root = root_, folder, request, can, uid, held = placeholders_] {
      return build(root, folder, request, can, uid, *held);
    });
    if (!planned) co_await remove(uid);
    co_return planned;
  }

  Task<void> remove(std::string uid) override {
    co_await pool_.run([folder = own_folder(uid), uid, held = placeholders_] {
      give_back(folder);
      remove_folder(folder);
      held->let_go(uid);
      return true;
    });
  }

  Task<void> take_over(std::set<std::string> uids) override {
    co_await pool_.run([uids, held = placeholders_] {
      held->take_over(uids);
      return true;
    });
  }

  Task<void> clean(std::set<std::string> uids) override {
    co_await pool_.run([root = root_, uids, held = placeholders_] {
      std::error_code error;
      for (const auto& entry : fs::directory_iterator(root + "/.coven/jails", error))
        if (!uids.contains(entry.path().filename().string())) {
          give_back(entry.path().string());
          remove_folder(entry.path().string());
        }
      held->take_over(uids);
      return true;
    });
  }

 private:
  std::string own_folder(const std::string& uid) const { return root_ + "/.coven/jails/" + uid; }

  Result<> check(const JailMeans& can, const JailRights& rights) const {
    bool is_enough = can.namespaces || (confine_ != Confine::require && can.landlock > 0 && can.seccomp);
    if (is_enough && !can.namespaces && !rights.permits.empty())
      return fail(
          Code::cannot_execute,
          fmt::format(
              "{} cannot be permitted here: without namespaces a confined run has no unix sockets ({})",
              name(*rights.permits.begin()), can.why_not),
          "permit", "leave out --permit, or run the command without --confine");
    if (is_enough) return {};
    return fail(Code::cannot_execute,
                fmt::format("this machine cannot confine an agent: {}{}", can.why_not,
                            confine_ == Confine::require ? "" : ", and it lacks Landlock or seccomp"),
                {},
                "see: cru doctor. To run agents with all your rights, set `confine: off` in "
                "~/.config/crucible/config.yaml");
  }

  static std::vector<std::string> open_entries(const JailPlaces& places) {
    auto closed = places.guarded;
    closed.insert(closed.end(), places.guarded_links.begin(), places.guarded_links.end());
    for (const auto* hidden : {&places.secrets, &places.ssh_folders, &places.gnupg_folders})
      closed.insert(closed.end(), hidden->begin(), hidden->end());
    auto open = entries_but(places.root, closed);
    auto add = [&](const std::string& folder) {
      for (auto& path : entries_but(folder, closed)) open.push_back(std::move(path));
    };
    if (places.folder.starts_with(places.root + "/.coven/worktrees/")) add(places.folder);
    if (places.own_git.empty()) return open;
    for (auto name : worktree_settings) closed.push_back(fmt::format("{}/{}", places.own_git, name));
    add(places.own_git);
    return open;
  }

  /// What may not be written although the project is, and what has to be kept in its place for that. Errors:
  /// cannot_execute, where it cannot be.
  static Result<> add_guarded(const JailRequest& request, JailPlaces& places) {
    std::vector<std::string> paths;
    auto collect = [&](std::vector<std::string> more) {
      for (auto& path : more) paths.push_back(std::move(path));
    };
    collect(guarded_in(places.root));
    if (places.folder != places.root) collect(guarded_in(places.folder));
    for (const auto& repository : request.nested) collect(guarded_in_repository(repository));
    auto kept = guard(paths, {places.root});
    if (!kept.trouble.empty())
      return fail(Code::cannot_execute,
                  fmt::format("an agent cannot be kept from changing a guarded path: {}", kept.trouble), {},
                  "remove the link, or make what it leads to");
    auto secrets = places.secrets;
    for (const auto* more : {&places.ssh_folders, &places.gnupg_folders})
      secrets.insert(secrets.end(), more->begin(), more->end());
    auto hidden = guard_places(secrets, {places.root});
    kept.folders.merge(hidden.folders);
    kept.links.merge(hidden.links);
    places.guarded.assign(kept.readonly.begin(), kept.readonly.end());
    places.above_guarded.assign(kept.folders.begin(), kept.folders.end());
    places.guarded_links.assign(kept.links.begin(), kept.links.end());
    places.own_git = own_git_folder(places.root, places.folder);
    if (places.own_git.empty()) return {};
    // What is missing cannot be guarded; empty it says nothing.
    for (auto name : worktree_settings)
      if (auto path = fmt::format("{}/{}", places.own_git, name); !file_status(path))
        if (auto made = create_passing_file(path, "", 0644); !made) return made;
    return {};
  }

  /// What the user keeps to himself, by this environment.
  static void add_secrets(const Environment& environment, JailPlaces& places) {
    auto home = path_in(environment, "HOME");
    auto config = path_in(environment, "XDG_CONFIG_HOME", home + "/.config");
    auto state = path_in(environment, "XDG_STATE_HOME", home + "/.local/state");
    // One that is made while a run is confined would be seen in it.
    if (!home.empty()) (void)make_folder(config + "/crucible/keys", 0700);
    places.secrets.push_back(real(config + "/crucible/keys"));
    places.secrets.push_back(real(state + "/cru"));
    for (const auto& root : noted_projects(state + "/cru"))
      for (const auto* theirs : {"/.coven", "/.crucible/sessions"}) {
        auto path = real(root) + theirs;  // a project may be in a worktree of another
        if (root != places.root && !is_or_is_below(places.root, path)) places.secrets.push_back(path);
      }
    if (home.empty()) return;
    places.ssh_folders.push_back(real(home + "/.ssh"));
    places.gnupg_folders.push_back(real(path_in(environment, "GNUPGHOME", home + "/.gnupg")));
  }

  /// The folders, be they in /tmp, in which it works and in which it finds its programs.
  static std::vector<std::string> needed_by(const JailRequest& request, const JailPlaces& places) {
    std::vector<std::string> needed{places.root, places.home, fs::path(request.cru).parent_path().string()};
    auto path_variable = request.path();
    for (auto part : std::views::split(path_variable, ':')) needed.emplace_back(part.begin(), part.end());
    std::erase_if(needed, [&](const std::string& path) {
      std::error_code error;
      return !fs::is_directory(path, error) ||
             (path != places.root && path != places.home &&
              (is_or_is_below(path, places.root) || is_or_is_below(path, places.home)));
    });
    std::ranges::sort(needed);
    needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
    return needed;
  }

  static void add_sockets(const Environment& environment, JailPlaces& places) {
    places.sockets = user_sockets(places.root);
    for (auto& path : sockets_of_user())
      if (is_seen(path, places)) places.sockets.push_back(std::move(path));
    places.ssh_socket = socket_at(path_in(environment, "SSH_AUTH_SOCK"));
    places.docker_socket = docker_socket(environment);
    auto runtime = path_in(environment, "XDG_RUNTIME_DIR");
    if (!runtime.empty()) places.gpg_sockets = runtime + "/gnupg";
  }

  static Result<JailPlaces> places_of(const std::string& root, const std::string& own,
                                      const JailRequest& request, const JailMeans& can) {
    const auto& environment = request.environment;
    JailPlaces places;
    places.root = root;
    places.folder = real(request.folder);
    places.own = own;
    places.door = root + "/.coven/door";
    places.home = real(path_in(environment, "HOME"));
    places.cache = real(path_in(environment, "XDG_CACHE_HOME", places.home + "/.cache"));
    if (request.rights.may_write && !make_folder(places.cache, 0700)) places.cache.clear();
    places.own_cache = root + "/.coven/cache";
    places.secrets = {root + "/.coven", root + "/.crucible/sessions"};
    for (const auto* each : {&request.own_environment, &environment}) add_secrets(*each, places);
    if (request.rights.may_write)
      if (auto done = add_guarded(request, places); !done) return fail(std::move(done.error()));
    if (!can.namespaces && request.rights.may_write) places.open = open_entries(places);
    places.needed = needed_by(request, places);
    add_sockets(environment, places);
    places.program = folder_of_program(request.program, environment, places.folder, root);
    places.program.path = places.program.path.empty() ? "" : real(places.program.path);
    list_entries(places);
    return places;
  }

  static Result<JailPlan> build(const std::string& root, const std::string& own, JailRequest request,
                                const JailMeans& can, const std::string& uid, Placeholders& held) {
    auto folder = worktree_or(root, request.folder);
    if (request.rights.may_write)
      for (const auto& whole : std::set{root, folder})
        for (auto& path : nested_repositories(whole)) request.nested.push_back(std::move(path));
    if (request.rights.may_write && can.namespaces)
      if (auto done = held.hold(uid, folder, request.nested); !done)
        return fail(Code::cannot_execute, done.error().message, {},
                    "guarded paths that are missing must be held while an agent runs");
    return lay_out(root, own, request, can);
  }

  static Result<JailPlan> lay_out(const std::string& root, const std::string& own, const JailRequest& request,
                                  const JailMeans& can) {
    if (auto made = make_folder(own, 0700); !made) return fail(std::move(made.error()));
    auto found = places_of(root, own, request, can);
    if (!found) return fail(std::move(found.error()));
    const auto& places = *found;
    auto plan = plan_jail(request.rights, places, can);
    if (!places.program.path.empty())
      if (auto made = make_folder(places.program.path, 0700); !made) return fail(std::move(made.error()));
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
  const Environment environment_;
  Pool& pool_;
  const std::shared_ptr<Placeholders> placeholders_;  ///< the pool's jobs share it
  std::optional<JailMeans> means_;
};

}  // namespace

std::unique_ptr<Jails> file_jails(std::string root, std::string program, Confine confine,
                                  std::map<std::string, std::string> environment, Pool& pool) {
  return std::make_unique<FileJails>(std::move(root), std::move(program), confine, std::move(environment),
                                     pool);
}

}  // namespace cru::runs
