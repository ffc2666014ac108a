#include "platform/sandbox/inside.h"

#include <sstream>

#include "platform/files/files.h"

namespace cru {
namespace {

/// The number behind `name` in a /proc/PID/status. 0 if it is not there, or not shown: with hidepid that of
/// the first process is not.
int status_number(const std::string& file, std::string_view name) {
  auto text = read_file(file, 64u << 10);
  if (!text) return 0;
  auto at = text->find("\n" + std::string(name) + ":");
  return at == std::string::npos ? 0 : std::atoi(text->c_str() + at + name.size() + 2);
}

/// Whether every user has its own number here, as it does outside of user namespaces.
bool has_all_users() {
  auto map = read_file("/proc/self/uid_map", 4096);
  if (!map) return true;  // a kernel without user namespaces
  std::istringstream words(*map);
  uint64_t inside = 0, outside = 0, count = 0;
  words >> inside >> outside >> count;
  return inside == 0 && outside == 0 && count >= 4294967295u;
}

}  // namespace

std::string why_sandboxed() {
  if (!has_all_users()) return "it is in a user namespace of its own";
  constexpr auto own = "/proc/self/status", first = "/proc/1/status";
  if (status_number(own, "NoNewPrivs") > status_number(first, "NoNewPrivs"))
    return "it may not gain privileges";
  if (status_number(own, "Seccomp") > status_number(first, "Seccomp")) return "its system calls are filtered";
  return {};
}

}  // namespace cru
