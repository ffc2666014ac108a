// Reading output: always from the file, in bounded pages, waiting for more where asked to.
#include <fmt/format.h>

#include "runs/active_run.h"

namespace cru::runs {
namespace {

constexpr size_t page_bytes = 1 << 20;

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
    if (!answer.lines.empty()) break;
    if (page->more) continue;  // all of this page was of the other stream
    auto left = until - loop_.clock().boot();
    if (!is_active(run->status) || !active || left <= Duration(0)) break;
    if (active->known_seq != seen || !active_.contains(active->uid)) continue;  // it changed while we read
    co_await active->changed.wait(left);
  }
  co_return answer;
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
