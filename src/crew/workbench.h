#pragma once
/// Workbench: carries out the tools that touch notes, files and programs, inside the project and nowhere
/// else. Every call passes the gate (crew/tool.h) here, at the last moment before it is carried out.
#include <memory>

#include "approvals/proposal.h"
#include "crew/tool.h"
#include "notes/notes_service.h"
#include "platform/loop/pool.h"
#include "platform/loop/stop.h"

namespace cru::crew {

struct WorkbenchOptions {
  std::string root;
  std::string program;  ///< of cru itself, which confines commands before they run
  size_t result_limit = 51'200;
  Duration command_limit = std::chrono::seconds(120);
  std::map<std::string, std::string> environment;  ///< of commands
};

struct ToolCall {
  std::string agent;
  std::string task_id;
  std::string traceparent;
  definitions::Permissions granted;
  std::string own_chat;  ///< the chat whose folder it may read: a primary's own
  std::string name;
  json::object input;
  std::string approved = {};  ///< the digest of what a person approved: nothing else is carried out
};

using definitions::Permissions;

class Workbench {
 public:
  Workbench(Loop& loop, Pool& pool, notes::Notes& notes, WorkbenchOptions options);
  ~Workbench();
  /// The result as text for the model, bounded, with a marker where something was left out. A command that
  /// fails is a result that says so, not an error.
  /// Errors: those of the gate; not_found for an unknown tool, and the tools' own.
  Task<Result<std::string>> call(ToolCall call, Stop& stop);
  /// What the call would do now. Errors: those of the gate, and the tools' own.
  Task<Result<approvals::Proposal>> propose(ToolCall call);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cru::crew
