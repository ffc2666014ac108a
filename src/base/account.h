#pragma once
/// The variables by which an agent program finds the person's account and reaches its model. Whoever passes
/// them on asks here. Names only; what they are set to is for nobody but the program.
#include <map>
#include <string>
#include <string_view>

namespace cru {

/// Whether `program` gets `variable`. claude, codex and gemini each have their own; any other name is a
/// program that the user's own configuration calls, and may be a front of each of them. Variables of a
/// session that we may be within (CLAUDECODE, CODEX_THREAD_ID) are no account.
bool is_account_variable(std::string_view program, std::string_view variable);
/// Of any program.
bool is_account_variable(std::string_view variable);
/// How a program reaches the network: proxies and certificates. Every program's account has them.
bool is_network_variable(std::string_view variable);

/// Of `environment`, what `program` gets.
std::map<std::string, std::string> account_of(std::string_view program,
                                              const std::map<std::string, std::string>& environment);

}  // namespace cru
