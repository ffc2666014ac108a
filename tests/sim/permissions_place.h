#pragma once
/// A place where programs of runs ask permission before they write a file: a disk, programs and a file that
/// outlive every daemon, and what must hold of their questions and approvals when all is over.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "approvals/approval_table.h"
#include "base/sha256.h"
#include "crew/permission_proposal.h"
#include "daemon/engine.h"
#include "inbox/question_table.h"
#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"
#include "sim_disk.h"
#include "sim_runs.h"

namespace cru::sim {

using approvals::Approval;
using approvals::State;

/// One daemon's life.
struct PermissionsDaemon : SimRuns {
  Pool pool;
  approvals::Approvals approvals;
  daemon::PermissionRequests requests;

  PermissionsDaemon(SimLoop& loop, SimWorld& world, SimRandom& random, std::unique_ptr<SimStore> opened,
                    const std::string& root, approvals::Policy policy)
      : SimRuns(loop, world, random, std::move(opened), root, 200ms),
        pool(loop, 0),
        approvals(loop, *store, std::move(policy)),
        requests(loop, *store, pool, approvals, runs) {
    inbox.set_check([](Tx& tx, const inbox::Question& answered) {
      return daemon::decide_by_answer(tx, answered, crew::note_outcome);
    });
    approvals.set_closed(crew::note_outcome);
    approvals.set_examine(
        [](const Approval& approval, json::object input) -> Task<Result<approvals::Proposal>> {
          co_return crew::propose_changed_permission(approval, std::move(input));
        });
    runs.set_look_again(
        [this](inbox::Question answered) { return requests.look_again(std::move(answered)); });
  }
};

/// An answer that a program heard.
struct Heard {
  bool is_allowed;
  std::string file;  ///< SHA-256 of the file in that moment
  bool is_unsure;    ///< the file was changed in the instant before, while a daemon ran
};

/// What was left when all is over.
struct Left {
  std::vector<inbox::Question> questions;
  std::map<std::string, Approval> newest;  ///< by question
  std::vector<Approval> all;
};

/// A disk, programs and a file that outlive every daemon.
class Place {
 public:
  explicit Place(uint64_t seed)
      : random_(seed), loop_(clock_), disk_(loop_, random_), world_(loop_, clock_, random_) {
    change_file();
    world_.ask = [this](const SimProcess& process) {
      json::object input{{"file_path", file()}, {"content", "by a program\n"}};
      json::object request{{"subtype", "can_use_tool"}, {"tool_name", "Write"}, {"input", std::move(input)}};
      return to_text(json::object{{"type", "control_request"},
                                  {"request_id", fmt::format("r{}", process.questions_asked)},
                                  {"request", std::move(request)}});
    };
    world_.heard = [this](const SimProcess&, const std::string& delivery, const std::string& bytes) {
      if (!delivery.starts_with("q-")) return;
      EXPECT_FALSE(heard_.contains(delivery)) << delivery << " was answered twice";
      heard_[delivery] = {bytes.find(R"("allow")") != std::string::npos, sha256(*read_file(file())),
                          clock_.boot() - changed_at_ < 100ms};
    };
  }

 protected:
  std::string file() const { return root_ / "target.txt"; }
  void change_file() {
    CRU_ASSERT(write_file(file(), fmt::format("version {}\n", ++version_)));
    changed_at_ = daemon_ ? clock_.boot() : BootTime(-1h);
  }
  void boot() {
    daemon_ = std::make_unique<PermissionsDaemon>(
        loop_, world_, random_, disk_.open_store(daemon::all_migrations()), root_.path(), policy_);
    loop_.spawn(recover());
  }
  void crash() {
    loop_.drop_tasks();
    daemon_.reset();
  }
  Task<void> recover() {
    is_ready_ = false;
    auto recovered = co_await daemon_->runs.recover();
    if (recovered) recovered = co_await daemon_->approvals.recover();
    if (!recovered) co_return;
    loop_.spawn(daemon_->requests.follow());
    is_ready_ = true;
  }
  Task<Result<Left>> look() {
    co_return co_await daemon_->store->read([](Reader& reader) -> Result<Left> {
      Left left{.questions = inbox::list(reader, "", false), .newest = {}, .all = {}};
      for (const auto& question : left.questions)
        if (auto newest = approvals::find_of_use(reader, question.run_uid, question.id))
          left.newest.emplace(question.id, *std::move(newest));
      left.all = approvals::list(reader, false);
      return left;
    });
  }
  /// Nobody is asked any more, and nothing is under way.
  static bool is_over(const Left& left) {
    return std::ranges::all_of(left.all, [](const Approval& one) { return is_final(one); }) &&
           std::ranges::none_of(left.questions, [](const inbox::Question& question) {
             return question.status == inbox::Status::pending;
           });
  }
  void check(const Left& left) {
    for (const auto& question : left.questions) {
      SCOPED_TRACE(question.id + " answered with " + question.response.value_or("nothing"));
      auto found = left.newest.find(question.id);
      bool is_allowed = question.response == "allow";
      bool is_used = found != left.newest.end() && found->second.state == State::approved &&
                     found->second.used_at.has_value();
      EXPECT_EQ(is_allowed, is_used) << (found == left.newest.end() ? "no approval"
                                                                    : describe_outcome(found->second));
      auto heard = heard_.find(question.id);
      if (heard == heard_.end()) continue;
      EXPECT_EQ(heard->second.is_allowed, is_allowed) << "the program was told something else";
      if (heard->second.is_allowed && is_used && !heard->second.is_unsure)
        EXPECT_EQ(heard->second.file, found->second.proposal().files.at(0).sha256)
            << "the file was another one when it was allowed";
    }
    for (const auto& approval : left.all)
      EXPECT_TRUE(is_final(approval)) << approval.id << " " << describe_outcome(approval);
  }

  SimRandom random_;
  SimClock clock_;
  SimLoop loop_;
  SimDisk disk_;
  SimWorld world_;
  TemporaryFolder root_;
  approvals::Policy policy_ = {.timeout = {std::nullopt}};
  std::map<std::string, Heard> heard_;
  std::unique_ptr<PermissionsDaemon> daemon_;
  int version_ = 0;
  BootTime changed_at_{};
  bool is_ready_ = false;
};

}  // namespace cru::sim
