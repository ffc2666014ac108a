#include "definitions/registry.h"

#include <fmt/format.h>

#include <set>

#include "definitions/folder_scan.h"
#include "platform/files/files.h"
#include "platform/files/log.h"
#include "platform/files/own_folder.h"
#include "trust/project_file.h"

namespace cru::definitions {
namespace {

/// `path` relative to the root, or with `~` for the home folder.
std::string shown(const std::string& path, const Folders& folders) {
  if (!folders.root.empty() && path.starts_with(folders.root + "/"))
    return path.substr(folders.root.size() + 1);
  if (!folders.home.empty() && path.starts_with(folders.home + "/"))
    return "~" + path.substr(folders.home.size());
  return path;
}

struct Look {
  Catalog catalog;
  std::shared_ptr<const ReadFiles> read;
};

/// On a pool thread.
Look look_at(const Folders& folders, const ReadFiles& before, const trust::Check& is_trusted) {
  bool is_own = folders.system == folders.project;
  auto project = scan_folder(folders.project, shown(folders.project, folders), Source::project, before,
                             is_own ? std::string() : folders.root);
  // The user's own folder may be the project's, when the home folder is the project.
  ScannedFolder system;
  if (!is_own) system = scan_folder(folders.system, shown(folders.system, folders), Source::system, before);
  Look look;
  // What is in the user's own folder is the user's, wherever that is.
  auto all = [](const std::string&, std::string_view) { return true; };
  look.catalog = make_catalog(project.found, system.found, builtin_definitions(),
                              is_own ? trust::Check(all) : is_trusted);
  project.read.merge(system.read);
  look.read = std::make_shared<const ReadFiles>(std::move(project.read));
  return look;
}

/// Never over one that is there. In the project not through a link either: a repository may have brought it.
Result<> write_new(const std::string& root, const std::string& folder, const std::string& name,
                   const std::string& text, const std::string& visible) {
  if (folder.starts_with(root + "/")) {
    if (auto made = make_own_folder(root, folder.substr(root.size() + 1)); !made) return fail(made.error());
  } else if (auto made = make_folder(folder); !made) {
    return made;
  }
  auto created = create_file(fmt::format("{}/{}.md", folder, name), text);
  if (!created && created.error().code == Code::conflict)
    return fail(Code::conflict, fmt::format("{} already exists", visible), "name",
                fmt::format("edit it, or see: cru agents show {}", name));
  return created;
}

}  // namespace

std::vector<trust::Item> items_to_trust(const Folders& folders) {
  auto none = [](const std::string&, std::string_view) { return false; };
  std::vector<trust::Item> items;
  size_t left = size_t(16) << 20;  // a folder may be full of large ones
  for (const auto& waiting : look_at(folders, {}, none).catalog.waiting) {
    trust::Item item{.path = waiting.path, .reasons = waiting.reasons};
    // The name of a file is made safe where it is shown; one that had to be is not found again by it.
    auto file = trust::read_project_file(folders.root, waiting.path, trust::max_item_bytes);
    if (file && file->text.size() > left)
      item.problem = "too much waits at once: look at the other files first";
    else if (file)
      left -= (item.text = std::move(file->text)).size();
    else
      item.problem = file.error().message;
    items.push_back(std::move(item));
  }
  return items;
}

struct Registry::State {
  Loop& loop;
  Store& store;
  Pool& pool;
  const Folders folders;
  const trust::Checks trusted;
  std::shared_ptr<const ReadFiles> read = std::make_shared<const ReadFiles>();
  std::unique_ptr<FolderWatch> project_watch, system_watch;
  Catalog told;                  ///< the last that was told of
  std::set<std::string> warned;  ///< what the log has of it
  bool is_telling = false, tell_again = false;

  Task<Catalog> look();
  Task<void> tell();
  void changed();
  void warn(const Catalog& catalog);
  std::unique_ptr<FolderWatch> watch(const std::string& folder);
};

Task<Catalog> Registry::State::look() {
  auto look = co_await pool.run([folders = folders, before = read, check = trust::check_now(trusted)] {
    return look_at(folders, *before, check);
  });
  read = std::move(look.read);
  co_return std::move(look.catalog);
}

/// Once for each mistake, until it is mended and made again.
void Registry::State::warn(const Catalog& catalog) {
  std::set<std::string> now;
  for (const auto& problem : catalog.problems) {
    if (!problem.is_error) continue;
    auto line = to_line(problem);
    if (!warned.contains(line) && !now.contains(line))
      log_warn("agent definition skipped", {{"problem", line}, {"suggestion", problem.suggestion}});
    now.insert(std::move(line));
  }
  warned = std::move(now);
}

/// One at a time; what changes meanwhile is looked at afterwards, so that nothing is told out of order.
Task<void> Registry::State::tell() {
  do {
    tell_again = false;
    auto catalog = co_await look();
    warn(catalog);
    if (catalog == told) continue;
    auto agents = std::ranges::count(catalog.agents, true, &Definition::enabled);
    json::object data{{"agents", agents}, {"skipped", catalog.skipped}};
    auto written = co_await store.write([data](Tx& tx) -> Result<bool> {
      tx.emit({"definitions.changed", "", data});
      return true;
    });
    if (!written) log_error("definitions: cannot publish a change", written.error());
    told = std::move(catalog);
  } while (tell_again);
  is_telling = false;
}

void Registry::State::changed() {
  tell_again = true;
  if (std::exchange(is_telling, true)) return;
  loop.spawn(tell());
}

std::unique_ptr<FolderWatch> Registry::State::watch(const std::string& folder) {
  auto watch = watch_folder(loop, folder, {}, [this](FolderChanges) { changed(); });
  if (watch) return *std::move(watch);
  log_warn("definitions: cannot watch the folders; changes are noticed at the next request",
           {{"folder", folder}, {"error", watch.error().message}});
  return nullptr;
}

Registry::Registry(Loop& loop, Store& store, Pool& pool, Folders folders, trust::Checks trusted)
    : state_(new State{loop, store, pool, std::move(folders), std::move(trusted), {}, {}, {}, {}, {}}) {
  state_->read = std::make_shared<const ReadFiles>();
}
Registry::~Registry() = default;

Task<Catalog> Registry::look() { return state_->look(); }
void Registry::look_again() { state_->changed(); }

Task<void> Registry::start() {
  // Watched first: what changes while the first look is under way is looked at again.
  state_->is_telling = true;
  state_->project_watch = state_->watch(state_->folders.project);
  if (state_->folders.system != state_->folders.project)
    state_->system_watch = state_->watch(state_->folders.system);
  state_->told = co_await state_->look();
  state_->warn(state_->told);
  state_->is_telling = false;
  if (state_->tell_again) state_->changed();
}

Task<Result<std::string>> Registry::create(std::string name, std::string text, Source source) {
  auto parsed = parse_definition(text, name + ".md", name, source);
  if (!parsed.definition || parsed.definition->name != name)
    co_return fail(Code::invalid_argument, "the text is not a valid definition of " + name, "name");
  auto catalog = co_await look();
  auto is_same = [&](const CheckedFile& file) {
    return file.is_valid && file.source == source && file.name == name && file.stem != name;
  };
  if (auto other = std::ranges::find_if(catalog.checked, is_same); other != catalog.checked.end())
    co_return fail(Code::conflict, fmt::format("\"{}\" is already defined by {}", name, other->path), "name");
  const auto& folder = source == Source::project ? state_->folders.project : state_->folders.system;
  auto visible = fmt::format("{}/{}.md", shown(folder, state_->folders), name);
  auto written = co_await state_->pool.run([root = state_->folders.root, folder, name, text, visible] {
    return write_new(root, folder, name, text, visible);
  });
  if (!written) co_return fail(std::move(written.error()));
  co_return visible;
}

}  // namespace cru::definitions
