#include "platform/sandbox/jail.h"

#include <fmt/format.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "platform/sandbox/call_filter.h"
#include "platform/sandbox/socket_filter.h"

namespace cru {
namespace {

using Paths = std::vector<std::string>;

std::unexpected<Error> bad_jail(std::string_view field) {
  return fail(Code::invalid_argument, fmt::format("jail: {} is not understood", field), std::string(field));
}

bool read_paths(const json::value& value, Paths& into) {
  const auto* list = value.if_array();
  if (!list) return false;
  for (const auto& each : *list) {
    if (!each.is_string() || !each.get_string().starts_with('/')) return false;
    into.emplace_back(each.get_string());
  }
  return true;
}

bool read_binds(const json::value& value, std::vector<Bind>& into) {
  const auto* list = value.if_array();
  if (!list) return false;
  for (const auto& each : *list) {
    const auto* bind = each.if_object();
    if (!bind) return false;
    into.push_back(
        {std::string(text_or(*bind, "from")), std::string(text_or(*bind, "at")), bool_or(*bind, "writable")});
    if (!into.back().from.starts_with('/') || !into.back().at.starts_with('/')) return false;
  }
  return true;
}

json::array binds_text(const std::vector<Bind>& binds) {
  json::array out;
  for (const auto& bind : binds)
    out.push_back({{"from", bind.from}, {"at", bind.at}, {"writable", bind.writable}});
  return out;
}

struct PathList {
  std::string_view name;
  Paths& (*of)(Jail&);
};
constexpr std::array path_lists = {
    PathList{"writable", [](Jail& jail) -> Paths& { return jail.view.writable; }},
    PathList{"hidden", [](Jail& jail) -> Paths& { return jail.view.hidden; }},
    PathList{"shown", [](Jail& jail) -> Paths& { return jail.view.shown; }},
    PathList{"kept", [](Jail& jail) -> Paths& { return jail.view.immovable; }},
    PathList{"links", [](Jail& jail) -> Paths& { return jail.view.links; }},
    PathList{"readonly", [](Jail& jail) -> Paths& { return jail.view.readonly; }},
    PathList{"landlock_writable", [](Jail& jail) -> Paths& { return jail.files.writable; }},
    PathList{"landlock_unreadable", [](Jail& jail) -> Paths& { return jail.files.unreadable; }},
    PathList{"landlock_readable", [](Jail& jail) -> Paths& { return jail.files.readable; }},
};

bool read_flag(const json::value& value, bool& into) {
  if (value.is_bool()) into = value.get_bool();
  return value.is_bool();
}

bool read_field(std::string_view name, const json::value& value, Jail& jail) {
  if (name == "namespaces") return read_flag(value, jail.namespaces);
  if (name == "network") return read_flag(value, jail.network);
  if (name == "landlock") return read_flag(value, jail.landlock);
  if (name == "first") return read_binds(value, jail.view.early_binds);
  if (name == "binds") return read_binds(value, jail.view.binds);
  for (const auto& list : path_lists)
    if (list.name == name) return read_paths(value, list.of(jail));
  return false;
}

}  // namespace

json::object to_json(const Jail& jail) {
  json::object out{{"namespaces", jail.namespaces}, {"network", jail.network}, {"landlock", jail.landlock}};
  auto copy = jail;
  for (const auto& list : path_lists) out[list.name] = json::value_from(list.of(copy));
  out["first"] = binds_text(jail.view.early_binds);
  out["binds"] = binds_text(jail.view.binds);
  return out;
}

Result<Jail> jail_from(const json::object& text) {
  Jail jail;
  for (const auto& [name, value] : text)
    if (!read_field(name, value, jail)) return bad_jail(name);
  jail.view.empty_network = !jail.network;
  return jail;
}

JailMeans try_jail() {
  JailMeans means;
  means.landlock = landlock_version();
  uint32_t errno_action = SECCOMP_RET_ERRNO;
  means.seccomp = ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &errno_action) == 0;
  auto uid = ::geteuid();
  auto gid = ::getegid();
  pid_t child = fork_into_namespaces(true);
  if (child == 0) ::_exit(finish_namespaces({}, uid, gid) ? 0 : std::clamp(errno, 1, 254));
  if (child < 0) {
    means.why_not = fmt::format("namespaces are not permitted: {}", std::strerror(errno));
    return means;
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  means.namespaces = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!means.namespaces)
    means.why_not = fmt::format("mounts in a namespace are not permitted: {}",
                                std::strerror(WIFEXITED(status) ? WEXITSTATUS(status) : EPERM));
  return means;
}

json::object to_json(const JailMeans& means) {
  return {{"namespaces", means.namespaces},
          {"seccomp", means.seccomp},
          {"landlock", means.landlock},
          {"why_not", means.why_not}};
}

Result<JailMeans> means_from(std::string_view text) {
  auto parsed = parse_json(text);
  if (!parsed || !parsed->is_object())
    return fail(Code::internal, "cannot find out how this machine can confine agents");
  const auto& means = parsed->get_object();
  return JailMeans{.namespaces = bool_or(means, "namespaces"),
                   .seccomp = bool_or(means, "seccomp"),
                   .landlock = static_cast<int>(int_or(means, "landlock")),
                   .why_not = std::string(text_or(means, "why_not"))};
}

bool lock_in(const Jail& jail, int rules) {
  if (!drop_capabilities()) return false;
  rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  if (rules >= 0 && !enter_landlock(rules)) return false;
  if (!filter_calls(jail.namespaces)) return false;
  // With mounts of its own the sockets of others are not there. Without, they can only be refused as such.
  if (!jail.namespaces) return filter_sockets(jail.network);
  return jail.network || filter_sockets(true);
}

}  // namespace cru
