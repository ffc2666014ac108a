#include "edges/hooks/hook_guard.h"

#include <fmt/format.h>

#include "base/json.h"
#include "platform/files/file_status.h"
#include "platform/files/files.h"
#include "platform/loop/clock.h"
#include "platform/process/last_words.h"
#include "platform/process/self.h"

namespace cru::hooks {
namespace {

constexpr int64_t max_log_bytes = 1 << 20;

std::string line_of(const std::string& event, const std::string& error) {
  return to_text(
             json::object{{"ts", to_rfc3339(system_clock().wall())}, {"event", event}, {"error", error}}) +
         "\n";
}

bool append(const std::string& folder, const std::string& line) {
  auto path = folder + "/hooks.log";
  auto file = open_to_append(path, 0600, Links::refuse);
  if (file && file_status(*file).size >= max_log_bytes) {
    (void)move_file(path, path + ".1");
    file = open_to_append(path, 0600, Links::refuse);
  }
  return file && write_to(*file, line, path);
}

}  // namespace

HookLog hook_log_of(const std::string& project_state, const api::Environment& environment) {
  HookLog log{.project_state = project_state, .fallback = {}};
  auto state = environment("XDG_STATE_HOME").value_or(""), home = environment("HOME").value_or("");
  if (state.starts_with('/'))
    log.fallback = state + "/cru";
  else if (!home.empty())
    log.fallback = home + "/.local/state/cru";
  return log;
}

void log_hook_error(const HookLog& log, const std::string& event, const std::string& error) {
  auto line = line_of(event, error.substr(0, 2000));
  if (!log.project_state.empty()) {
    (void)make_single_folder(log.project_state + "/log", 0700);
    if (append(log.project_state + "/log", line)) return;
  }
  if (!log.fallback.empty() && make_folder(log.fallback, 0700)) (void)append(log.fallback, line);
}

std::string last_hook_error(const HookLog& log) {
  for (const auto& folder : {log.project_state.empty() ? "" : log.project_state + "/log", log.fallback}) {
    if (folder.empty()) continue;
    auto text = read_file(folder + "/hooks.log", 4u << 20);
    if (!text || text->empty()) continue;
    if (text->ends_with('\n')) text->pop_back();
    return text->substr(text->rfind('\n') + 1);
  }
  return {};
}

void guard_hook(const HookLog& log, const std::string& event, Duration limit) {
  auto place = [](const std::string& folder) {
    return folder.empty() ? LastWords::Place() : LastWords::Place{folder, folder + "/hooks.log"};
  };
  prepare_last_words(
      {.places = {place(log.project_state.empty() ? "" : log.project_state + "/log"), place(log.fallback)},
       .timed_out = line_of(event, fmt::format("timed out after {} ms", limit.count())),
       .crashed = line_of(event, "the hook crashed")},
      limit);
  ignore_broken_pipes();
}

}  // namespace cru::hooks
