#pragma once
/// The table of runs: one record a task id.
#include <span>

#include "runs/run.h"
#include "store/store.h"

namespace cru::runs {

std::span<const Migration> migrations();

std::optional<Run> find(Reader& reader, std::string_view task_id);
/// The newest one of a member.
std::optional<Run> find_of_member(Reader& reader, std::string_view member);
/// Starting and running ones, oldest first.
std::vector<Run> list_active(Reader& reader);

struct ListQuery {
  std::string status;  ///< a status, "active", or empty for all
  std::string before;  ///< a task id: only older runs
  int64_t limit = 100;
};
/// Newest first.
std::vector<Run> list(Reader& reader, const ListQuery& query);
void put(Tx& tx, const Run& run);
void remove(Tx& tx, std::string_view task_id);
/// Ended before `cutoff`, oldest first.
std::vector<Run> list_ended_before(Reader& reader, Time cutoff, int64_t limit);
bool exists(Reader& reader, std::string_view task_id);

}  // namespace cru::runs
