#include "sim_world.h"

#include <fmt/format.h>

#include "platform/files/files.h"
#include "runs/adapters/adapter.h"

namespace cru::sim {

using runs::Exit;
using runs::KeptRun;

namespace {

/// An exit record is kept until it is forgotten; it was synced before anybody heard of it.
KeptRun to_kept(const SimProcess& process, const SimFile& file) {
  return {process.spec.uid, process.spec.task_id, process.identity, static_cast<int64_t>(file.lines.size()),
          process.exit};
}

/// What the client of a keeper hears that died with the request in its hands.
auto no_reply() { return fail(Code::keeper_unavailable, "lost the connection to the keeper"); }

}  // namespace

Result<ProcessIdentity> SimWorld::start(const runs::StartSpec& spec) {
  keeper_alive = true;
  if (auto known = processes.find(spec.uid); known != processes.end()) return known->second.identity;
  if (random_.chance(5)) return fail(Code::cannot_execute, "no such program", "argv");
  auto& process = processes[spec.uid];
  process.spec = spec;
  process.identity = {++last_pid_, clock_.boot().count(), clock_.boot_id()};
  process.lines_left = lines.value_or(static_cast<int>(random_.pick(25)));
  process.exit_code = random_.chance(30) ? static_cast<int64_t>(1 + random_.pick(3)) : 0;
  files[spec.output];
  schedule(spec.uid);
  return process.identity;
}

void SimWorld::schedule(const std::string& uid) {
  loop_.set_timer(random_.delay(120), [this, uid] { act(uid); });
}

void SimWorld::act(const std::string& uid) {
  auto& process = processes.at(uid);
  if (!process.alive || process.waits_for_answer) return;
  if (process.lines_left-- > 0) {
    if (random_.chance(questions)) {
      ++process.questions_asked;
      print(process,
            ask ? ask(process) : fmt::format("::cru-ask {{\"prompt\":\"{}?\"}}", process.questions_asked),
            true);
      process.waits_for_answer = true;
      return;
    }
    for (uint64_t burst = random_.pick(3) + 1; burst > 0; --burst) print(process, "line", false);
    return schedule(uid);
  }
  if (random_.chance(10))
    end(process, {{}, 11, "signaled", 0});
  else
    end(process, {process.exit_code, {}, "exited", 0});
}

void SimWorld::print(SimProcess& process, const std::string& text, bool marked) {
  auto& file = files.at(process.spec.output);
  auto seq = static_cast<int64_t>(file.lines.size()) + 1;
  file.lines.push_back(
      fmt::format(R"({{"seq":{},"ts":"2026-11-15T10:00:00.000Z","stream":"stdout","data":{}}})", seq,
                  json::serialize(json::string(text))));
  runs::Growth growth{process.spec.uid, seq, marked ? seq : 0};
  tell([growth](const runs::KeeperNotices& listener) {
    if (listener.grew) listener.grew(growth);
  });
}

void SimWorld::end(SimProcess& process, Exit exit) {
  auto& file = files.at(process.spec.output);
  process.alive = false;
  exit.last_seq = static_cast<int64_t>(file.lines.size());
  exit.delivered.assign(process.deliveries.begin(), process.deliveries.end());
  process.exit = exit;
  tell([uid = process.spec.uid, exit](const runs::KeeperNotices& listener) {
    if (listener.exited) listener.exited(uid, exit);
  });
}

/// Notices arrive in order, after a while, at whoever listens then.
void SimWorld::tell(std::function<void(const runs::KeeperNotices&)> what) {
  told_until_ = std::max(told_until_, clock_.boot() + random_.delay(4));
  loop_.set_timer(told_until_ - clock_.boot(),
                  [this, what = std::move(what), generation = keeper_generation] {
                    if (generation == keeper_generation) what(notices);
                  });
}

void SimWorld::kill(const std::string& uid, Duration grace) {
  auto delay = random_.chance(70) ? random_.delay(50) : grace;
  int64_t signal = delay == grace ? 9 : 15;
  loop_.set_timer(delay, [this, uid, signal] {
    if (auto& process = processes.at(uid); process.alive) end(process, {{}, signal, "signaled", 0});
  });
}

Result<> SimWorld::write(const std::string& uid, const std::string& delivery, const std::string& bytes) {
  auto found = processes.find(uid);
  if (found == processes.end() || !found->second.alive) return fail(Code::not_running, "the run has ended");
  auto& process = found->second;
  if (!process.deliveries.insert(delivery).second) return {};
  process.answers.push_back(bytes);
  if (heard) heard(process, delivery, bytes);
  if (process.waits_for_answer && delivery != "first-input") {
    process.waits_for_answer = false;
    schedule(uid);
  }
  return {};
}

void SimWorld::kill_keeper() {
  ++keeper_generation;
  keeper_alive = false;
  for (auto& [uid, process] : processes) process.alive = false;  // PDEATHSIG
  if (notices.lost) notices.lost();
}

void SimWorld::lose_power() {
  ++keeper_generation;
  keeper_alive = false;
  for (auto& [uid, process] : processes) {
    process.alive = false;
    process.lost_power = process.lost_power || !process.forgotten;
  }
  for (auto& [name, file] : files)
    file.lines.resize(file.synced + random_.pick(file.lines.size() - file.synced + 1));
  clock_.reboot();
}

bool SimWorld::all_ended() const {
  for (const auto& [uid, process] : processes)
    if (process.alive) return false;
  return true;
}

Task<void> SimKeeper::travel() { co_await loop_.sleep(random_.delay(3)); }

Task<Result<std::optional<std::vector<KeptRun>>>> SimKeeper::join() {
  co_await travel();
  using Joined = std::optional<std::vector<KeptRun>>;
  world_.notices = notices_;
  if (!world_.keeper_alive) co_return Joined();
  std::vector<KeptRun> kept;
  for (const auto& [uid, process] : world_.processes)
    if (!process.forgotten && (process.alive || process.exit))
      kept.push_back(to_kept(process, world_.files[process.spec.output]));
  co_return Joined(std::move(kept));
}

Task<Result<ProcessIdentity>> SimKeeper::start(runs::StartSpec spec) {
  co_await travel();
  auto started = world_.start(spec);
  auto generation = world_.keeper_generation;
  co_await travel();
  if (generation != world_.keeper_generation) co_return no_reply();
  co_return started;
}

Task<Result<>> SimKeeper::kill(std::string uid, Duration grace) {
  co_await travel();
  if (world_.processes.contains(uid)) world_.kill(uid, grace);
  co_return Result<>();
}

Task<Result<>> SimKeeper::write(std::string uid, std::string delivery, std::string bytes, bool) {
  co_await travel();
  auto written = world_.write(uid, delivery, bytes);
  auto generation = world_.keeper_generation;
  co_await travel();
  if (generation != world_.keeper_generation) co_return no_reply();
  co_return written;
}

Task<Result<bool>> SimKeeper::has_taken(std::string uid, std::string delivery) {
  co_await travel();
  auto found = world_.processes.find(uid);
  co_return found != world_.processes.end() && found->second.deliveries.contains(delivery);
}

Task<Result<>> SimKeeper::forget(std::string uid) {
  co_await travel();
  if (auto found = world_.processes.find(uid); found != world_.processes.end())
    found->second.forgotten = true;
  co_return Result<>();
}

Task<void> SimKeeper::remember(std::string key, std::string text) {
  if (text.empty())
    world_.memory.erase(key);
  else
    world_.memory[key] = text;
  co_await travel();
}

Task<std::map<std::string, std::string>> SimKeeper::recall() {
  co_await travel();
  co_return world_.memory;
}

Task<std::vector<KeptRun>> SimKeeper::read_exit_records() {
  co_await travel();
  std::vector<KeptRun> kept;
  for (const auto& [uid, process] : world_.processes)
    if (process.exit && !process.forgotten)
      kept.push_back(to_kept(process, world_.files[process.spec.output]));
  co_return kept;
}

Task<std::set<std::string>> SimKeeper::sweep(std::vector<std::string> uids) {
  co_await travel();
  for (const auto& uid : uids)
    if (auto found = world_.processes.find(uid); found != world_.processes.end()) found->second.alive = false;
  co_return std::set<std::string>();
}

Result<> SimOutput::touch_disk() {
  bool fails = random_.chance(world_.output_failures) && failed_in_a_row_ < 2;
  failed_in_a_row_ = fails ? failed_in_a_row_ + 1 : 0;
  return fails ? Result<>(fail(system_error(EIO, "use an output file"))) : Result<>();
}

Task<Result<LogPage>> SimOutput::read(std::string file, int64_t since, size_t max_lines, size_t max_bytes) {
  co_await loop_.sleep(random_.delay(2));
  if (auto touched = touch_disk(); !touched) co_return fail(touched.error());
  LogPage page;
  page.last_seq = since;
  auto found = world_.files.find(file);
  if (found == world_.files.end()) co_return page;
  const auto& lines = found->second.lines;
  for (auto at = static_cast<size_t>(since); at < lines.size(); ++at) {
    if (page.lines.size() == max_lines || page.text.size() > max_bytes) {
      page.more = true;
      break;
    }
    page.last_seq = static_cast<int64_t>(at) + 1;
    page.lines.push_back({page.last_seq, page.text.size(), lines[at].size()});
    page.text += lines[at] + "\n";
  }
  co_return page;
}

Task<Result<>> SimOutput::sync(std::string file) {
  co_await loop_.sleep(random_.delay(5));
  if (auto touched = touch_disk(); !touched) co_return touched;
  auto& target = world_.files[file];
  target.synced = target.lines.size();
  co_return Result<>();
}

Task<Result<int64_t>> SimOutput::repair(std::string file) {
  co_await loop_.sleep(random_.delay(2));
  if (auto touched = touch_disk(); !touched) co_return fail(touched.error());
  auto found = world_.files.find(file);
  co_return found == world_.files.end() ? int64_t(0) : static_cast<int64_t>(found->second.lines.size());
}

Task<Result<>> SimOutput::remove(std::string file) {
  co_await loop_.sleep(random_.delay(2));
  world_.files.erase(file);
  co_return Result<>();
}

Task<std::vector<std::string>> SimOutput::list() {
  co_await loop_.sleep(random_.delay(2));
  std::vector<std::string> names;
  for (const auto& [name, file] : world_.files) names.push_back(name);
  co_return names;
}

}  // namespace cru::sim
