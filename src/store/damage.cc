#include "store/damage.h"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "platform/files/log.h"
#include "platform/files/trouble.h"
#include "platform/loop/clock.h"

namespace cru {
namespace {

constexpr size_t max_tables = 64;

/// The word behind FROM, which names the table of nearly every statement. That of a select within its columns
/// is not meant.
std::string table_of(std::string_view statement) {
  size_t at = 0;
  for (int depth = 0; at < statement.size(); ++at) {
    if (statement[at] == '(') ++depth;
    if (statement[at] == ')') --depth;
    if (depth == 0 && statement.substr(at).starts_with("FROM ")) break;
  }
  if (at == statement.size()) return "a table";
  auto rest = statement.substr(at + 5);
  auto end = rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
  return end == 0 ? "a table" : std::string(rest.substr(0, end));
}

struct DamageCount {
  int64_t met = 0;
  BootTime told{-1};
};

}  // namespace

void note_damage(std::string_view statement, std::string_view what) {
  static std::mutex mutex;
  static std::map<std::string, DamageCount> counts;
  auto table = table_of(statement);
  auto now = system_clock().boot();
  int64_t met = 0;
  {
    std::lock_guard lock(mutex);
    if (!counts.contains(table) && counts.size() >= max_tables) return;
    auto& count = counts[table];
    met = ++count.met;
    if (count.told >= BootTime(0) && now - count.told < 1min) return;
    count.told = now;
  }
  log_error("a record is damaged", {{"table", table}, {"what", what}, {"met", met}});
  tell_trouble(
      "damage of " + table,
      fmt::format("records in the table {} are damaged: {}; they are shown without it", table, what));
}

}  // namespace cru
