#include "minds/work_records.h"

#include <utility>

#include "base/text.h"

namespace cru::minds {
namespace {

constexpr std::string_view told_stream = "stdout";

/// The last line of all may lack its end, and JSON that is whole is not continued.
bool is_whole(std::string_view text) { return trim(text).ends_with('}') && parse_json(text).has_value(); }

}  // namespace

WorkRecords::Part WorkRecords::add(const LogRecord& record) {
  auto data = trim(record.data);
  if (line_ == Line::blank && !data.empty()) line_ = data.starts_with('{') ? Line::json : Line::plain;
  auto part = line_ == Line::blank || line_ == Line::plain ? Part::shown : Part::silent;
  if (line_ == Line::json) {
    text_ += record.data;
    if (record.eol || is_whole(text_)) part = Part::completing;
    if (part == Part::completing || text_.size() > max_line_bytes) line_ = Line::over;
    if (part == Part::silent && line_ == Line::over) text_.clear();
  }
  if (record.eol) line_ = Line::blank;
  return part;
}

bool WorkRecords::begin_after(const std::vector<std::string>& before, bool is_all) {
  line_ = is_all ? Line::blank : Line::over;
  text_.clear();
  bool is_known = is_all;
  for (const auto& text : before) {
    auto record = decode_line(text);
    if (!record || record->stream != told_stream) continue;
    if (add(*record) == Part::completing) text_.clear();
    is_known = is_known || record->eol;
  }
  return is_known;
}

std::string WorkRecords::tell(std::string record) {
  auto decoded = decode_line(record);
  if (!decoded || decoded->stream != told_stream) return record;
  auto part = add(*decoded);
  if (part == Part::shown) return record;
  auto words = part == Part::completing ? work_.read(std::exchange(text_, {})).value_or("") : std::string();
  return to_text(json::object{{"seq", decoded->seq},
                              {"ts", decoded->ts},
                              {"stream", decoded->stream},
                              {"data", words},
                              {"told", true}});
}

}  // namespace cru::minds
