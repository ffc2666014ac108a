#pragma once
/// Traces: who did what for whom, when, at what cost, what held it up, and where it failed. Rules only: spans
/// in, the tree as JSON out. What they are made from is read in trace_reading.h; nothing is recorded for
/// traces alone.
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"

namespace cru::traces {

/// Time in which a span waited for somebody else.
struct Wait {
  std::string kind;     ///< "approval", "question", "dependency"
  std::string id;       ///< of what was waited for
  std::string outcome;  ///< "approved", "answered", …; "open": it still waits
  Time from = {};
  std::optional<Time> to = {};  ///< none: it still waits
};

struct Failure {
  std::string type = {};  ///< empty: it did not fail
  std::string message = {}, severity = {};
  std::string attempting = {};  ///< what its parent was about
};

/// One piece of work by one agent, run or claimer.
struct Span {
  std::string id = {}, parent = {};  ///< `parent` is empty for what the person began
  std::string kind = "agent";        ///< "agent", "run", "work" or "attempt"
  std::string name = {}, model = {}, status = {}, trace_id = {};
  std::vector<std::string> chain = {};  ///< "user", …, itself
  Time asked_at = {};                   ///< from then to `began` it was queued
  Time began = {};
  std::optional<Time> ended = {};
  int64_t tokens = 0;
  std::optional<double> cost_usd = {};
  Failure failure = {};
  json::value reflection = nullptr;
  std::string file = {};
  std::vector<Wait> waits = {};
};

struct Trace {
  std::string id = {}, kind = "chat", trace_id = {}, title = {}, status = {};
  Time began = {};
  std::optional<Time> ended = {};
  bool has_root = true;          ///< the first span is the whole, and has no number in the order of spawning
  std::vector<Span> spans = {};  ///< each after its parent, in the order in which they were begun
};

/// {trace_id, session_id, kind, title, status, started_at, duration_ms, tokens, cost_usd, agents, failed,
/// waited_ms, spans}. `now` ends what is not over. A span whose parent is not among those before it belongs
/// to the person, so what is told is a tree, whatever the rows say. In n log n.
json::object to_json(const Trace& trace, Time now);

/// How long at least one of these lasted, between two times.
Duration time_waited(const std::vector<Wait>& waits, Time from, Time to);

}  // namespace cru::traces
