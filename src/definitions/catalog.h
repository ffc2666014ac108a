#pragma once
/// Catalog: the definitions in force, made from one look at the folders: the project's over the user's over
/// the built-in ones. Rules only.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "definitions/definition.h"
#include "trust/item.h"

namespace cru::definitions {

/// One file as it was found.
struct FoundFile {
  std::string path;  ///< as shown
  std::string stem;
  std::shared_ptr<const Parsed> parsed;
  std::string sha256 = {};
};
/// One folder's files, by name, and what is wrong with the folder itself.
struct FoundFolder {
  std::string path;  ///< as shown
  std::vector<FoundFile> files;
  std::vector<Problem> problems;
};

/// A file that was looked at, valid or not.
struct CheckedFile {
  std::string name;  ///< as written, else the file's own
  std::string path;
  std::string stem;
  Source source = Source::project;
  bool is_valid = true;
  std::string model = {};  ///< that it names, if it does
  int model_line = 1;
  bool operator==(const CheckedFile&) const = default;
};

/// A definition of the project that counts once it is trusted. Until then nothing has its name, so that
/// nobody takes what it hides for it.
struct WaitingDefinition {
  std::string name, path;
  std::vector<std::string> reasons;  ///< "asks for ProcessSpawn", "overrides builtin:tester.md"
  bool operator==(const WaitingDefinition&) const = default;
};

struct Catalog {
  std::vector<Definition> agents;                 ///< by name, those in force, disabled ones too
  std::vector<WaitingDefinition> waiting;         ///< by name
  std::map<std::string, std::string> overridden;  ///< name to the path of what it hides
  std::vector<Problem> problems;                  ///< by path and line
  std::vector<CheckedFile> checked;               ///< by path, the built-in ones not among them
  std::vector<std::string> searched;              ///< the folders, as shown
  size_t files = 0;                               ///< looked at, the built-in ones not counted
  size_t skipped = 0;                             ///< files with an error

  /// Disabled ones too. Errors: not_found, beginning "agent not found"; the hint says what was searched, why
  /// it is not in force, or which name is near ("did you mean: NAME"); untrusted_content for one that waits.
  Result<Definition> find(const std::string& name) const;
  /// Errors: as above for disabled ones too.
  Result<Definition> find_enabled(const std::string& name) const;

  bool operator==(const Catalog&) const = default;
};

/// Makes every file invalid whose model is none of `models`, in force or not, with an error that says which
/// was meant. Its definition stays in force: who spawns it may choose another model, and the configuration
/// may yet name this one.
void check_models(Catalog& catalog, const std::vector<std::string>& models);

/// What a definition of the project must be trusted for: more than to read and to search, or hiding another
/// one (`hidden` is its path, or empty). None: it counts as it is.
std::vector<std::string> trust_reasons(const Definition& definition, const std::string& hidden);

/// An invalid definition counts as not there; of two with one name in a folder the second is invalid; a
/// disabled one hides what is below it. What of the project is not trusted, and has to be, waits.
Catalog make_catalog(const FoundFolder& project, const FoundFolder& system,
                     const std::vector<Definition>& builtin, const trust::Check& is_trusted);

}  // namespace cru::definitions
