#include "guardrails/guardrail_paths.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
namespace cru::coordination {
namespace {

constexpr std::string_view unknown_folder = "$";

std::vector<std::string_view> components(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    auto end = std::min(path.find('/'), path.size());
    auto part = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (part == ".." && !parts.empty() && parts.back() != "..")
      parts.pop_back();
    else
      parts.push_back(part);
  }
  return parts;
}

/// Without `.` and `..`, as far as they can be taken out by looking at the text.
std::string normal(std::string_view path) {
  bool is_absolute = path.starts_with('/');
  std::string text = is_absolute ? "/" : "";
  for (auto part : components(path)) {
    if (part == ".." && is_absolute) continue;
    if (!text.empty() && text.back() != '/') text += '/';
    text += part;
  }
  return text;
}

bool is_home(std::string_view path) {
  return path.starts_with('~') || path.starts_with("$HOME") || path.starts_with("${HOME}");
}

/// `$PWD/x` and `$(pwd)/x` are x.
std::string_view without_working_folder(std::string_view path) {
  for (std::string_view here : {"$PWD", "${PWD}"})
    if (path.starts_with(here)) {
      path.remove_prefix(here.size());
      while (path.starts_with('/')) path.remove_prefix(1);
      return path.empty() ? "." : path;
    }
  return path;
}

bool is_everything(std::string_view part) {
  return part == "*" || part == ".*" || part == "**" || part == "{*,.*}";
}

/// Of a path inside the project.
Place place_inside(std::string_view path) {
  auto parts = components(path);
  if (parts.empty() || (parts.size() == 1 && is_everything(parts[0]))) return Place::whole_project;
  if (parts[0] == "..") return Place::outside;
  auto git = std::ranges::find(parts, ".git");
  if (git == parts.end()) return Place::inside;
  ++git;
  bool is_data = git == parts.end() || is_everything(*git) || *git == "objects" || *git == "refs";
  return is_data ? Place::git_folder : Place::inside;
}

Place place_of_absolute(const std::string& path, std::string_view root) {
  auto home = normal(root);
  if (home.size() > 1 && path == home) return Place::whole_project;
  if (home.size() > 1 && path.starts_with(home + "/")) return place_inside(path.substr(home.size() + 1));
  for (std::string_view folder : {"/tmp/", "/var/tmp/"})
    if (path.starts_with(folder))
      return is_everything(path.substr(folder.size())) ? Place::outside : Place::temporary;
  return Place::outside;
}

Secret secret_in_name(const std::string& name) {
  if (name == ".env" || name == ".envrc") return Secret::yes;
  if (name.starts_with(".env.")) {
    auto kind = std::string_view(name).substr(5);
    return is_one_of(kind, {"example", "sample", "template", "dist", "defaults", "schema"}) ? Secret::none
                                                                                            : Secret::yes;
  }
  if (is_one_of(name, {"id_rsa",           "id_dsa",           "id_ecdsa",
                       "id_ed25519",       ".netrc",           "_netrc",
                       ".npmrc",           ".pypirc",          ".pgpass",
                       ".my.cnf",          ".git-credentials", ".htpasswd",
                       "credentials.json", "kubeconfig",       "secrets.yaml",
                       "secrets.yml",      "secrets.json",     "service-account.json",
                       "master.key",       ".vault-token",     "terraform.tfstate"}))
    return Secret::yes;
  for (std::string_view ending : {".pem", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk"})
    if (name.size() > ending.size() && name.ends_with(ending)) return Secret::yes;
  if (name.size() > 4 && name.ends_with(".key")) return Secret::perhaps;
  return Secret::none;
}

}  // namespace

Place place_of(std::string_view path, std::string_view where, std::string_view root) {
  if (path.empty()) return Place::inside;
  if (is_home(path)) return Place::outside;
  path = without_working_folder(path);
  auto variable = path.find('$');
  if (variable != std::string_view::npos) {
    // What comes before the variable tells where it begins, unless that is nothing at all.
    auto folder = path.substr(0, variable).rfind('/');
    if (folder == std::string_view::npos) return Place::unknown;
    auto before = place_of(path.substr(0, folder + 1), where, root);
    return before == Place::whole_project ? Place::unknown : before;
  }
  if (path.starts_with('/')) return place_of_absolute(normal(path), root);
  if (where == unknown_folder) {
    auto there = place_inside(path);
    return there == Place::whole_project ? Place::unknown : there;
  }
  auto full = normal(std::string(where) + "/" + std::string(path));
  if (where.starts_with('/')) return place_of_absolute(full, root);
  if (is_home(where)) return Place::outside;
  return place_inside(
      normal(where.empty() ? std::string(path) : std::string(where) + "/" + std::string(path)));
}

std::string folder_after(std::string_view path, std::string_view where) {
  if (path.empty()) return "~";
  path = without_working_folder(path);
  if (path == "-" || (path.find('$') != std::string_view::npos && !is_home(path)))
    return std::string(unknown_folder);
  if (path.starts_with('/')) return normal(path);
  if (is_home(path)) return "~";
  if (where == unknown_folder || is_home(where)) return std::string(where);
  // A script may go down and down: what is longer than any path leads nowhere.
  if (where.size() + path.size() > 4096) return std::string(unknown_folder);
  return where.empty() ? normal(path) : normal(std::string(where) + "/" + std::string(path));
}

Secret secret_in(std::string_view path) {
  while (!path.empty() && std::string_view(".,;:!?)]}'\"`/").find(path.back()) != std::string_view::npos)
    path.remove_suffix(1);
  if (path.empty() || path.size() > 4096) return Secret::none;
  auto text = to_lower(path);
  auto parts = components(text);
  if (parts.empty()) return Secret::none;
  auto name = std::string(parts.back());
  if (name.ends_with(".pub")) return Secret::none;
  if (text == "/etc/shadow" || text == "/etc/sudoers" || text == "/etc/gshadow") return Secret::yes;
  for (size_t i = 0; i < parts.size(); ++i) {
    auto next = i + 1 < parts.size() ? parts[i + 1] : std::string_view();
    if (is_one_of(parts[i], {".ssh", ".gnupg", ".azure"}) && !is_one_of(next, {"known_hosts", "config"}))
      return Secret::yes;
    if (parts[i] == ".aws" && is_one_of(next, {"", "credentials", "config"})) return Secret::yes;
    if (parts[i] == ".kube" && is_one_of(next, {"", "config"})) return Secret::yes;
    if (parts[i] == ".docker" && next == "config.json") return Secret::yes;
    if (parts[i] == ".config" && is_one_of(next, {"gcloud", "gh"})) return Secret::yes;
  }
  return secret_in_name(name);
}

bool is_block_device(std::string_view path) {
  auto text = normal(path);
  if (!text.starts_with("/dev/")) return false;
  auto name = std::string_view(text).substr(5);
  for (std::string_view kind :
       {"sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "mapper/", "md", "loop", "dm-"})
    if (name.starts_with(kind)) return true;
  return false;
}

}  // namespace cru::coordination
