#pragma once
/// SHA-256 (FIPS 180-4) of a text. For comparing with hashes that others made; not for secrets or passwords.
#include <string>
#include <string_view>

namespace cru {

/// 64 lower-case hexadecimal digits.
std::string sha256(std::string_view text);

}  // namespace cru
