#pragma once
/// Trusting: what a verb does about files of the project that wait for a person's trust.
#include "edges/cli/core/command.h"

namespace cru::client {
class Client;
}

namespace cru::cli {

/// `--trust-once`, as the verbs share it that use what a project brings.
Flag trust_once_flag();
/// Trusts what waits now for as long as the daemon lives, if the flag was given. What cannot be trusted is
/// left: whoever needs it says so.
Result<> trust_once_if_asked(Context& context, const Args& args);

/// Trusts all that waits and can be trusted, exactly as it was listed. The number of files.
Result<size_t> trust_all(client::Client& client, bool once);

}  // namespace cru::cli
