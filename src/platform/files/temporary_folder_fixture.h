#pragma once
/// For tests: a folder that is removed with everything in it.
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "base/result.h"

namespace cru {

class TemporaryFolder {
 public:
  TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "cru-test-XXXXXX").string()) {
    CRU_ASSERT(::mkdtemp(path_.data()) != nullptr);
    path_ = std::filesystem::canonical(path_).string();
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace cru
