#pragma once
/// Context: what every verb has: the project, the daemon's client, how its two
/// streams look, and the table that it stands in.
#include <memory>
#include <string>
#include <string_view>

#include "api/project.h"
#include "edges/cli/core/command.h"
#include "edges/cli/core/render.h"
#include "edges/client/client.h"
#include "platform/files/standard_streams.h"

namespace cru::cli {

using client::Client;

/// Exit codes that no Error stands for.
inline constexpr int exit_usage = 2, exit_run_failed = 6, exit_timed_out = 7, exit_untrusted = 8,
                     exit_interrupted = 130;

class Context {
 public:
  api::Project project;
  bool json = false;
  Style out;  ///< of standard output
  Style err;
  CommandTable commands = {};

  /// Not connected before its first call.
  Client& client();
  /// A client that never starts the daemon and never minds its version.
  Client quiet_client() const;
  /// A further connection, for a thread of its own.
  Client another_client() const;

  /// Data, to standard output.
  void print(std::string_view text) const;
  /// JSON as the daemon wrote it, one line.
  void print_json(std::string_view text) const;
  /// Anything else, to standard error; nothing under --json.
  void note(std::string_view text) const;
  /// Whether a person is there to be asked: both ends are a terminal.
  bool can_ask() const;
  /// True for yes. Anything else, the end of the input too, is no.
  bool ask_yes(std::string_view question) const;
  /// Shows an error, as text or as JSON, and returns its exit code.
  int show(const Error& error) const;

 private:
  std::unique_ptr<Client> client_;
};

/// The exit code that goes with an error's code.
int exit_code(Code code);

}  // namespace cru::cli
