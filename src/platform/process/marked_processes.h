#pragma once
/// Marked processes: those whose environment carries NAME=VALUE. The only way to
/// find what a lost parent left behind. Blocks: call it on a pool thread.
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace cru {

/// The pids of all processes that can be seen, some of which may be gone by now.
std::vector<int> all_processes();

/// Kills every process of ours marked with one of `values`, and what they start meanwhile: stops all, looks
/// again until nothing new is found, then kills by pidfd. Never ourselves. Returns how many. With `place`,
/// only those that carry CRU_PROJECT=place too: a copy of a project has the same marks.
size_t kill_marked(const std::string& name, const std::set<std::string>& values,
                   const std::string& place = {});

/// The value of NAME in the environment of `pid`; empty if it has none or cannot be read.
std::string mark_of(int pid, const std::string& name);
/// The parent of `pid`; 0 if there is no such process.
int parent_of(int pid);
/// Its session: the pid of whoever began it. 0 if there is no such process.
int session_of(int pid);
/// When it was started, in the kernel's ticks since boot: with the pid it names a process for good. 0 if
/// there is no such process.
int64_t start_time_of(int pid);

}  // namespace cru
