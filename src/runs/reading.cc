// Reading output: always from the file, in bounded pages, waiting for more where asked to.
#include <fmt/format.h>

#include "platform/files/log.h"
#include "platform/files/trouble.h"
#include "runs/active_run.h"

namespace cru::runs {
namespace {

constexpr size_t page_bytes = 1 << 20;
constexpr const char* output_trouble = "lost output";
constexpr int64_t named_runs = 3;

bool passes(std::string_view record, const std::string& stream) {
  return stream.empty() || is_of_stream(record, stream);
}

}  // namespace

Task<Result<OutputPage>> Runs::read_output(std::string task_id, OutputQuery query) {
  auto until = loop_.clock().boot() + query.wait;
  auto run = co_await find(task_id);
  if (!run) co_return fail(std::move(run.error()));
  if (query.tail) {
    auto active = find_active(task_id);
    auto last = active ? active->known_seq : run->last_seq;
    query.since = std::max({query.since, last - *query.tail, int64_t(0)});
  }
  OutputPage answer{.lines = {}, .last_seq = query.since};
  for (;;) {
    // The status is read first: an ended run whose page is empty has no more lines.
    auto active = find_active(task_id);
    auto seen = active ? active->known_seq : 0;
    run = co_await find(task_id);
    if (!run) co_return fail(std::move(run.error()));
    answer.status = run->status;
    auto page = co_await output_.read(run->output_file, answer.last_seq, static_cast<size_t>(query.limit),
                                      page_bytes);
    if (!page) co_return fail(std::move(page.error()));
    for (const auto& line : page->lines)
      if (passes(page->json(line), query.stream)) answer.lines.emplace_back(page->json(line));
    answer.last_seq = std::max(answer.last_seq, page->last_seq);
    answer.damaged += page->damaged;
    answer.more = page->more;
    if (!page->more && !is_active(run->status))
      answer.missing = std::max<int64_t>(0, run->last_seq - answer.last_seq);
    if (!answer.lines.empty()) break;
    if (page->more) continue;  // all of this page was of the other stream
    auto left = until - loop_.clock().boot();
    if (!is_active(run->status) || !active || left <= Duration(0)) break;
    if (active->known_seq != seen || !active_.contains(active->uid)) continue;  // it changed while we read
    co_await active->changed.wait(left);
  }
  co_return answer;
}

/// Whether the file has this line or a later one. What cannot be read now counts as there.
Task<bool> Runs::has_line(std::string file, int64_t seq) {
  auto page = co_await output_.read(std::move(file), seq - 1, 1, page_bytes);
  co_return !page || !page->lines.empty();
}

Task<int64_t> Runs::count_missing(Run run) {
  if (is_active(run.status) || run.last_seq == 0 || co_await has_line(run.output_file, run.last_seq))
    co_return 0;
  int64_t there = 0, gone = run.last_seq;
  while (gone - there > 1) {
    auto middle = there + (gone - there) / 2;
    auto has = co_await has_line(run.output_file, middle);
    (has ? there : gone) = middle;
  }
  // It may have been purged, or started anew, while we looked.
  auto now = co_await find(run.task_id);
  bool is_same = now && now->uid == run.uid && !purging_.contains(run.task_id);
  co_return is_same ? run.last_seq - there : 0;
}

Task<void> Runs::check_outputs() {
  auto recorded = co_await list({.status = {}, .before = {}, .limit = 1000});
  if (!recorded) co_return;
  int64_t lines = 0, runs = 0;
  std::string some;
  for (const auto& run : *recorded) {
    auto missing = co_await count_missing(run);
    if (missing == 0) continue;
    lines += missing;
    if (++runs <= named_runs) some += (some.empty() ? "" : ", ") + run.task_id;
  }
  if (runs == 0) {
    end_trouble(output_trouble);
    co_return;
  }
  auto sentence =
      fmt::format("output is lost: {} lines of {} {} ({}{}) are recorded but not in .coven/output any more",
                  lines, runs, runs == 1 ? "run" : "runs", some, runs > named_runs ? ", …" : "");
  if (tell_trouble(output_trouble, sentence)) log_error(sentence);
}

Task<std::string> Runs::expand_output(Event event) {
  auto parsed = parse_json(event.data);
  if (!parsed || !parsed->is_object()) co_return event.data;
  const auto& range = parsed->get_object();
  auto from = int_or(range, "from"), to = int_or(range, "to");
  auto page = co_await output_.read(fmt::format(".coven/output/{}.jsonl", event.entity), from - 1,
                                    static_cast<size_t>(std::max<int64_t>(1, to - from + 1)), page_bytes);
  std::string lines;
  int64_t last = from - 1;
  if (page)
    for (const auto& line : page->lines) {
      if (line.seq > to) break;
      if (!lines.empty()) lines += ',';
      lines += page->json(line);
      last = line.seq;
    }
  // What does not fit is read with ?since=: the frame says where it stopped.
  co_return fmt::format(R"({{"task_id":"{}","from":{},"to":{},"last_seq":{},"truncated":{},"lines":[{}]}})",
                        event.entity, from, to, last, last < to, lines);
}

}  // namespace cru::runs
