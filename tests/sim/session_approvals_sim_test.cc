// What sessions ask approval for, in a simulated world: by the hook of their program, which waits and hands
// the decision on, and by the tool request_approval of an MCP client. Each sends a request again until it is
// answered, and some ask for several things at once; files change, a program's own dialog is answered first,
// sessions end in the middle, people decide, change, hold, ask, make rules and revoke them, or go away, and
// time runs out; with crashes at any piece of work, power losses and failing disks. Whatever happens, each
// has one outcome, is used once or never, with the bytes that were shown, and nothing waits for ever.
//
// Each seed is a small world, so that ten thousand take minutes: CRU_SIM_SEED=1 CRU_SIM_SEEDS=5000 on one
// core and CRU_SIM_SEED=5001 CRU_SIM_SEEDS=5000 on the other.
#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "api/handlers/request_approval_handlers.h"
#include "approving_people.h"
#include "base/sha256.h"
#include "crashing_world.h"
#include "crew/permission_proposal.h"
#include "store/retry.h"

namespace cru::sim {
namespace {

using approvals::Approval;
using approvals::State;

const std::vector<Migration>& session_approval_migrations() {
  static const auto all =
      with_runs({reply_migrations(), approvals::migrations(), coordination::session_migrations(),
                 coordination::fencing_migrations(), crew::migrations()});
  return all;
}

struct Daemon {
  std::unique_ptr<SimStore> store;
  Pool pool;
  coordination::Sessions sessions;
  approvals::Approvals approvals;
  approvals::RuleBook rules;
  api::Api api;

  Daemon(SimLoop& loop, SimRandom& random, std::unique_ptr<SimStore> opened, const std::string& root,
         const std::string& rule_file, approvals::Policy policy)
      : store(std::move(opened)),
        pool(loop, 0),
        sessions(loop, *store, pool, random, {.root = root, .stale_after = 24h}),
        approvals(loop, *store, std::move(policy)),
        rules(loop, *store, pool, random, {.project = root, .file = rule_file}),
        api(*store) {
    sessions.when_ended([this] { approvals.notify(); });
    approvals.set_examine(
        [](const Approval& approval, json::object input) -> Task<Result<approvals::Proposal>> {
          co_return crew::propose_changed_permission(approval, std::move(input));
        });
    approvals.set_judge([this](approvals::Request request) { return rules.ruling_on(std::move(request)); });
    api::bind_sessions(api, sessions);
    api::bind_request_approval(
        api, {*store, pool, loop.clock(), sessions, approvals, root,
              [](std::string) -> Task<api::OwnDialog> { co_return api::OwnDialog::at_terminal; }});
  }
};

/// One thing that a session wants to do. Outlives every daemon.
struct Want {
  std::string key;
  json::object input = {};  ///< of the request
  std::string file = {};    ///< that it would write
  std::string approval = {};
  bool is_over = false, is_done = false, is_settled = false;
  bool has_changed = false;       ///< it was handed over, the reply was lost, and then it was another
  json::object carried_out = {};  ///< the input of the program's tool, or none
  std::string file_then = {};     ///< SHA-256 of its file when it was handed over
  bool is_unsure = false;         ///< the file was changed in the instant before, while a daemon ran
  BootTime changed_at = -1h;
};

struct Asker {
  std::string name;
  bool by_hook = false;
  std::deque<Want> wants = {};
  std::optional<Duration> leaves_after = {};  ///< in the middle of what it wants
  std::optional<Time> leaves_at = {};
  bool has_ended = false;
};

class World final : public CrashingWorld<Daemon> {
 public:
  explicit World(uint64_t seed) : World(seed, Course{.further_crashes = 7, .most_steps_apart = 400}) {}
  World(uint64_t seed, Course course) : CrashingWorld(seed, course) {
    static const auto files = SimDisk::with_tables(session_approval_migrations());
    disk_.begin_with(files);
    if (random_.chance(90)) policy_.timeout = {Duration(1000 + static_cast<int64_t>(random_.pick(4000)))};
    policy_.on_timeout = random_.chance(50) ? approvals::OnTimeout::approve : approvals::OnTimeout::abort;
    auto askers = 1 + random_.pick(3);
    for (size_t i = 0; i < askers; ++i) {
      Asker asker{.name = fmt::format("agent-{}", i), .by_hook = random_.chance(70)};
      auto wants = 1 + random_.pick(3);
      for (size_t n = 0; n < wants; ++n) asker.wants.push_back(want(asker, n));
      if (random_.chance(20)) asker.leaves_after = random_.delay(4000);
      askers_.push_back(std::move(asker));
    }
  }

 private:
  Want want(const Asker& asker, size_t n) {
    Want want{.key = fmt::format("{}-{}", asker.name, n)};
    if (!asker.by_hook) {
      want.input = {{"action", want.key}, {"reason", "it is late"}};
      return want;
    }
    want.input = {{"call", want.key}, {"takes_changes", true}};
    if (random_.chance(50)) {
      want.file = root_ / (want.key + ".txt");
      want.input["tool"] = "Write";
      want.input["input"] = json::object{{"file_path", want.file}, {"content", "new\n"}};
    } else {
      want.input["tool"] = "Bash";
      want.input["input"] = json::object{{"command", "cat " + want.key}};
    }
    return want;
  }

  std::unique_ptr<Daemon> make_daemon() override {
    if (random_.chance(30)) change_a_file(-1h);
    return std::make_unique<Daemon>(loop_, random_, disk_.open_store(session_approval_migrations()),
                                    root_.path(), root_ / "config/approval-rules/rules.json", policy_);
  }
  Task<Result<>> recover() override {
    auto recovered = co_await daemon_->sessions.recover([](const std::string&) { return false; });
    if (recovered) recovered = co_await daemon_->approvals.recover();
    co_return recovered;
  }
  Task<void> act() override {
    people_.decide_at({daemon_->approvals, daemon_->rules});
    loop_.spawn(be_somebody_who_changes_files());
    for (auto& asker : askers_) {
      loop_.spawn(be(asker));
      if (asker.leaves_after) loop_.spawn(leave(asker));
    }
    while (!std::ranges::all_of(askers_, &Asker::has_ended)) co_await loop_.sleep(100ms);
  }

  // ---- those who ask

  /// The reply; empty if there is none, and it is to be sent again.
  Task<json::object> call(const Asker& asker, std::string operation, json::object input,
                          std::string request_id = {}) {
    api::Call call;
    call.caller = api::agent;
    call.agent_id = asker.name;
    call.request_id = std::move(request_id);
    auto reply = co_await daemon_->api.call(*api::find_operation(operation), call, input);
    if (reply) co_return parse_json(reply->text())->as_object();
    // Whoever leaves may be told that its session is over.
    EXPECT_TRUE(is_transient(reply.error().code) || asker.leaves_at)
        << operation << ": " << reply.error().message;
    co_return json::object();
  }

  Task<void> be(Asker& asker) {
    for (auto& want : asker.wants) loop_.spawn(pursue(asker, want));
    while (!asker.leaves_at && !std::ranges::all_of(asker.wants, &Want::is_over)) co_await loop_.sleep(50ms);
    if (!asker.leaves_at) asker.leaves_at = clock_.wall();
    co_await loop_.sleep(3s);  // what was still under way has come to its end: nothing is left behind it
    co_await end_session(asker, "end");
    asker.has_ended = true;
  }
  Task<void> leave(Asker& asker) {
    co_await loop_.sleep(*asker.leaves_after);
    if (!asker.leaves_at) asker.leaves_at = clock_.wall();
    co_await end_session(asker, "leave");
  }
  Task<void> end_session(const Asker& asker, std::string request_id) {
    for (;; co_await loop_.sleep(50ms))
      if (!(co_await call(asker, "end_session", {{"reason", "logout"}}, request_id)).empty()) co_return;
  }
  Task<void> pursue(Asker& asker, Want& want) {
    while (!want.is_over && !asker.leaves_at) {
      co_await loop_.sleep(random_.delay(200));
      if (asker.leaves_at) co_return;
      if (asker.by_hook)
        co_await ask_by_hook(asker, want);
      else
        co_await ask_by_tool(asker, want);
    }
  }

  void carry_out(Want& want, json::object input) {
    ++made_[want.key];
    want.is_over = want.is_done = true;
    want.carried_out = std::move(input);
    if (want.file.empty()) return;
    auto bytes = read_file(want.file);
    want.file_then = bytes ? sha256(*bytes) : "";
    want.is_unsure = clock_.boot() - want.changed_at < 100ms;
  }

  Task<void> ask_by_hook(Asker& asker, Want& want) {
    if (!want.approval.empty() && random_.chance(5)) {
      // Answered in the program's own dialog.
      auto settled = co_await call(asker, "settle_permissions",
                                   {{"scope", random_.chance(70) ? "call" : "session"}, {"call", want.key}});
      want.is_over = want.is_settled = !settled.empty();
      co_return;
    }
    auto input = want.input;
    if (!want.approval.empty()) input = {{"approval_id", want.approval}};
    input["wait_seconds"] = want.approval.empty() ? 0 : static_cast<int64_t>(random_.pick(3));
    auto reply = co_await call(asker, "request_permission", input, want.approval.empty() ? want.key : "");
    if (reply.empty()) co_return;
    want.approval = text_or(reply, "approval_id");
    auto behavior = text_or(reply, "behavior");
    const auto* changed = object_at(reply, "updated_input");
    if (behavior == "allow") co_return carry_out(want, changed ? *changed : *object_at(want.input, "input"));
    want.has_changed = behavior == "deny" && text_or(reply, "status") == "approved";
    auto status = text_or(reply, "status");
    want.is_over = status != "pending" && status != "held" && status != "asking";
  }

  Task<void> ask_by_tool(Asker& asker, Want& want) {
    auto input = want.input;
    if (!want.approval.empty()) input = {{"approval_id", want.approval}, {"answer", "because"}};
    input["wait_seconds"] = want.approval.empty() ? 0 : static_cast<int64_t>(random_.pick(3));
    auto reply = co_await call(asker, "request_approval", input, want.approval.empty() ? want.key : "");
    if (reply.empty()) co_return;
    want.approval = text_or(reply, "approval_id");
    if (bool_or(reply, "approved")) co_return carry_out(want, want.input);
    auto status = text_or(reply, "status");
    want.is_over = status != "pending" && status != "held" && status != "asking";
  }

  // ---- those who change files

  void change_a_file(BootTime at) {
    auto& asker = askers_[random_.pick(askers_.size())];
    auto& want = asker.wants[random_.pick(asker.wants.size())];
    if (want.file.empty() || want.is_over) return;
    CRU_ASSERT(write_file(want.file, fmt::format("{}\n", random_.pick(1000))));
    want.changed_at = at;
  }
  Task<void> be_somebody_who_changes_files() {
    for (;;) {
      co_await loop_.sleep(random_.delay(3000));
      change_a_file(clock_.boot());
    }
  }

  // ---- what holds at the end

  /// What an approval is for: the program's word for the call, or the client's for its action.
  static std::string key_of(const Approval& approval) {
    if (approval.request.via == approvals::Via::client)
      return std::string(text_or(approval.proposal().input, "action"));
    auto use = approval.request.use;
    auto begin = use.find('|') + 1;
    return use.substr(begin, use.find('|', begin) - begin);
  }

  void check_end() override {
    std::map<std::string, std::vector<Approval>> asked;
    for (auto& approval : await(daemon_->approvals.list(false, 1000))) {
      approval = await(daemon_->approvals.find(approval.id));  // a list has no bytes of what is proposed
      SCOPED_TRACE(fmt::format("{} {}", approval.id, describe_outcome(approval)));
      EXPECT_TRUE(is_final(approval)) << "it would still be carried out";
      people_.check(approval, std::ranges::find(askers_, approval.request.agent, &Asker::name)->leaves_at);
      asked[key_of(approval)].push_back(std::move(approval));
    }
    people_.check_events(await(people_.events_in(*daemon_->store)));
    for (const auto& asker : askers_)
      for (const auto& want : asker.wants) check(asker, want, asked[want.key]);
  }

  void check(const Asker& asker, const Want& want, const std::vector<Approval>& asked) {
    SCOPED_TRACE(want.key);
    auto firsts = std::ranges::count_if(asked, [](const auto& one) { return one.request.replaces.empty(); });
    // Whoever leaves may not have come to it.
    EXPECT_TRUE(firsts == 1 || (firsts == 0 && asker.leaves_after && !want.is_done))
        << firsts << ": asked for once, unless something changed";
    std::vector<Approval> used;
    for (const auto& one : asked)
      if (one.used_at) used.push_back(one);
    EXPECT_LE(used.size(), 1u);
    EXPECT_EQ(made_.contains(want.key) ? made_[want.key] : 0, want.is_done ? 1 : 0);
    if (want.is_done) ASSERT_EQ(used.size(), 1u) << "carried out without an approval";
    if (used.empty()) return;
    EXPECT_EQ(used[0].state, State::approved) << describe_outcome(used[0]);
    // Handed over, and not carried out: only where the program has decided by itself meanwhile, where it was
    // not the same any more when it was to be handed over again, or where nobody was there any more.
    EXPECT_TRUE(want.is_done || want.is_settled || want.has_changed || asker.leaves_after);
    if (!want.is_done || !asker.by_hook) return;
    EXPECT_EQ(want.carried_out, used[0].proposal().input) << "something else was handed over";
    if (!want.file.empty() && !want.is_unsure)
      EXPECT_EQ(want.file_then, used[0].proposal().files.at(0).sha256) << "its file was another one";
  }

  approvals::Policy policy_ = {.timeout = {std::nullopt}};
  std::deque<Asker> askers_;
  ApprovingPeople people_{loop_, clock_, random_, root_.path()};
};

TEST(SessionApprovalsSim, EachHasOneOutcomeAndIsUsedOnceOrNever) {
  live_through_seeds<World>(150);
  if (number_from("CRU_SIM_SEEDS", 1) >= 100) ApprovingPeople::check_census();
}

// The same life again and again, killed before one piece of its work after the other: before each if there
// are as many seeds, otherwise evenly.
TEST(SessionApprovalsSim, EachHasOneOutcomeWhereverTheDaemonIsKilled) {
  auto first = number_from("CRU_SIM_SEED", 1), worlds = number_from("CRU_SIM_SEEDS", 100);
  for (uint64_t seed = first; worlds > 0; ++seed) {
    World whole(seed, {.killed_at = 1'000'000});
    whole.live();
    auto apart = std::max<uint64_t>(1, whole.steps() / worlds);
    for (uint64_t at = seed % apart; at < whole.steps() && worlds > 0; at += apart, --worlds) {
      SCOPED_TRACE(fmt::format("seed {}, killed before piece {} of {}", seed, at, whole.steps()));
      World(seed, {.killed_at = at}).live();
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace cru::sim
