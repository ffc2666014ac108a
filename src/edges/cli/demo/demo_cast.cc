#include "edges/cli/demo/demo_cast.h"

#include <fmt/format.h>

#include <charconv>

namespace cru::cli {
namespace {

/// Prints numbers, so that a line that is lost would be seen.
std::string counter() {
  return fmt::format("i=0; while [ $i -lt {} ]; do i=$((i+1)); echo \"line $i\"; sleep 0.15; done",
                     counted_lines);
}

/// Submits the work of the others: each piece waits for the one before.
constexpr auto planner = R"(
submit() { "$0" work submit "$@" >/dev/null || exit 1; echo "submitted: $2"; }
submit build 'Build all eight modules' --task-id build-release --priority 2
submit deploy 'Deploy the release to production' --task-id deploy-release --depends-on build-release
submit docs 'Write the release note' --task-id release-note --priority 8 --depends-on deploy-release \
  --on-dependency-failure release
"$0" memory remember decision 'A release goes out only after a person said yes' --tags release >/dev/null || exit 1
sleep 1
"$0" handoffs write 'The release is planned: build, deploy, then the note.' \
  --completed-work 'three pieces of work submitted' --decisions 'nothing is deployed without a yes' \
  --next-steps 'answer the deployer' --relevant-files src/ >/dev/null || exit 1
echo 'the plan is handed over')";

constexpr auto builder = R"(
"$0" work claim --task-types build --wait 60 >/dev/null || exit 1
"$0" locks acquire src/ --reason 'building all modules' --ttl-minutes 30 >/dev/null || exit 1
echo 'took the build, locked src/'
for m in base platform store runs inbox api edges daemon; do echo "compiling $m"; sleep 0.6; done
echo 'warning: this is only a demo' >&2
"$0" work complete build-release --result '8 modules built' >/dev/null || exit 1
"$0" locks release src/ >/dev/null || exit 1
echo '8 modules built')";

/// Holds production while a person makes up their mind; what depends on it sees that on the board.
constexpr auto deployer = R"(
echo 'checking the target'
"$0" locks acquire env:production --reason 'deploying the release' --ttl-minutes 60 >/dev/null || exit 1
echo 'locked env:production'
answer=$("$0" ask 'Deploy to production?' --option yes --option no) || exit 1
echo "the answer was: $answer"
if [ "$answer" = yes ]; then
  "$0" work claim --task-types deploy --wait 60 >/dev/null || exit 1
  sleep 1
  "$0" work complete deploy-release --result 'deployed' >/dev/null || exit 1
else
  "$0" work cancel deploy-release --reason "the answer was: $answer" >/dev/null || exit 1
fi
"$0" handoffs write "The answer was: $answer." --completed-work 'asked before deploying' \
  --next-steps 'watch the first hour' >/dev/null || exit 1
"$0" locks release env:production >/dev/null || exit 1
echo 'done')";

/// Speaks MCP with `cru mcp`, as an agent of any vendor does, and waits for the lock that the deployer holds.
constexpr auto writer = R"(
mkfifo writer.to writer.from || exit 1
"$0" mcp <writer.to >writer.from &
exec 3>writer.to 4<writer.from
n=0
call() {
  n=$((n+1))
  printf '{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}\n' "$n" "$1" "$2" >&3
  while read -r reply <&4; do case $reply in *"\"id\":$n"[,}]*) return 0;; esac; done
  echo 'the MCP server is gone' >&2
  exit 1
}
tool() {
  call tools/call "{\"name\":\"$1\",\"arguments\":$2}"
  case $reply in *'"success":true'*) return 0;; esac
  return 1
}
must() { tool "$@" || { echo "$1 was refused: $reply" >&2; exit 1; }; }
call initialize '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"demo","version":"1"}}'
printf '{"jsonrpc":"2.0","method":"notifications/initialized"}\n' >&3
must register_session '{"capabilities":["docs","release"],"current_task":"waiting to write the release note"}'
echo 'registered over MCP; waiting for env:production'
sleep 1
until tool acquire_lock '{"file_path":"env:production","reason":"reading what is live","wait_seconds":60}'; do
  case $reply in *locked_by_other*) ;; *) echo "no lock: $reply" >&2; exit 1;; esac
done
echo 'got env:production'
must get_work '{"task_types":["docs"],"wait_seconds":60}'
must register_session '{"current_task":"writing the release note"}'
sleep 1
must complete_work '{"task_id":"release-note","success":true,"result":"one page"}'
must write_handoff '{"summary":"The release note is written.","completed_work":["release-note"],"relevant_files":["CHANGELOG.md"]}'
must release_lock '{"file_path":"env:production"}'
exec 3>&- 4<&-
wait
rm -f writer.to writer.from
echo 'the release note is written')";

/// `script` with the time of each `sleep` divided by `speed`.
std::string paced(std::string_view script, double speed) {
  constexpr std::string_view pause = "sleep ";
  std::string out;
  for (size_t at; (at = script.find(pause)) != script.npos;) {
    out += script.substr(0, at + pause.size());
    script.remove_prefix(at + pause.size());
    double seconds = 0;
    auto end = std::from_chars(script.data(), script.data() + script.size(), seconds).ptr;
    script.remove_prefix(static_cast<size_t>(end - script.data()));
    out += fmt::format("{:.3f}", seconds / speed);
  }
  return out.append(script);
}

}  // namespace

std::vector<Role> demo_cast(double speed) {
  std::vector<Role> cast = {{"counter", Colour::cyan, "", counter()},
                            {"planner", Colour::bold, "plan", planner},
                            {"builder", Colour::yellow, "build,c++", builder},
                            {"deployer", Colour::green, "deploy", deployer},
                            {"writer", Colour::none, "", writer}};
  for (auto& role : cast) role.script = paced(role.script, speed);
  return cast;
}

}  // namespace cru::cli
