#pragma once
/// Rules of paths in what an agent is about to do: where they lead, and which hold secrets.
#include <string>
#include <string_view>

namespace cru::coordination {

enum class Place {
  inside,         ///< in the project
  whole_project,  ///< the project itself, or all that is in it
  git_folder,     ///< the repository's own data
  temporary,      ///< below /tmp
  outside,        ///< anywhere else
  unknown,        ///< a variable decides
};

/// Where `path` leads from the folder `where`: both as written in a shell, `where` relative to the project's
/// root or absolute. Looks at the words only: nothing is resolved or expanded.
Place place_of(std::string_view path, std::string_view where, std::string_view root);
/// The folder that `cd path` leads to from `where`.
std::string folder_after(std::string_view path, std::string_view where);

enum class Secret { none, perhaps, yes };
/// Whether a file of this name usually holds credentials.
Secret secret_in(std::string_view path);
/// `/dev/sda` and the like: what a filesystem lives on.
bool is_block_device(std::string_view path);

}  // namespace cru::coordination
