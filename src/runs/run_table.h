#pragma once
/// The table of runs: one record a task id.
#include <map>
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
/// Of a run that is there, only how far its output is told and searched: what a tick of output changes.
void put_growth(Tx& tx, const Run& run);
/// Writes the events of a step of this run.
void emit_all(Tx& tx, const std::string& task_id, std::vector<RunEvent> events);
void remove(Tx& tx, std::string_view task_id);
/// Ended before `cutoff`, oldest first.
std::vector<Run> list_ended_before(Reader& reader, Time cutoff, int64_t limit);
/// The first 1,000 of these traces that were begun since then, oldest first.
std::vector<Run> list_of_traces(Reader& reader, const std::vector<std::string>& trace_ids, Time since);
/// Those of these ids that there are.
std::vector<Run> find_all(Reader& reader, const std::vector<std::string>& task_ids);
/// The ids of the runs that begin so, in their order.
std::vector<std::string> ids_beginning(Reader& reader, std::string_view prefix, int64_t limit);
/// The first of a trace.
std::optional<Run> find_of_trace(Reader& reader, std::string_view trace_id);
std::map<std::string, int64_t> count_by_status(Reader& reader);
bool exists(Reader& reader, std::string_view task_id);

}  // namespace cru::runs
