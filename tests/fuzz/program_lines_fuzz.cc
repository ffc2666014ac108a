// Programs print what they like: each line is read or passed over, and the end is a reply or a failure of a
// known kind. Messages in our own rows are read back as they were written.
#include "minds/program_lines.h"

#include "fuzz.h"

namespace cru::fuzz {
namespace {

using namespace minds;

void read_all(ProgramReader& reader, const std::vector<std::string_view>& lines) {
  for (auto line : lines)
    for (const auto& event : reader.read(line)) {
      require(event.wait >= Duration(0) && event.wait <= std::chrono::hours(24), "a wait is a day at most");
      // A time that cannot be written would end the daemon later.
      if (event.until) require(!to_rfc3339(*event.until).empty(), "a time can be told");
    }
  auto reply = reader.finish("exited with code 1", "its last words");
  if (!reply) {
    require_readable(reply.error());
    require(code_for(failure_type(reply.error())) != Code::internal, "a failure is of a known kind");
    return;
  }
  require(reader.has_ended(), "there is a reply once the program is done");
  const auto& usage = reply->usage;
  require(usage.input >= 0 && usage.output >= 0 && usage.cache_read >= 0 && usage.cache_write >= 0,
          "nobody spends less than nothing");
  require(usage.total() >= usage.input, "what is spent can be counted");
  require(!reply->cost_usd || *reply->cost_usd >= 0, "nor pays less");
}

}  // namespace

void check(std::string_view input) {
  auto lines = pieces(input, '\n', 1000);
  for (auto kind : {ProviderKind::claude, ProviderKind::codex, ProviderKind::gemini, ProviderKind::command})
    read_all(*program_reader(kind), lines);
  for (auto line : lines)
    if (auto parsed = parse_json(line); parsed && parsed->is_object()) {
      auto written = to_json(message_from(parsed->get_object()));
      require(to_json(message_from(written)) == written, "a message is read back as it was written");
    }
}

}  // namespace cru::fuzz
