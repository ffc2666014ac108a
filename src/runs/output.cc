#include "runs/output.h"

#include <filesystem>

#include "platform/files/files.h"

namespace cru::runs {
namespace {

constexpr const char* output_folder = ".coven/output/";

class FileOutput final : public Output {
 public:
  FileOutput(std::string root, Pool& pool) : root_(std::move(root) + "/"), pool_(pool) {}

  Task<Result<LogPage>> read(std::string file, int64_t since, size_t max_lines, size_t max_bytes) override {
    auto path = root_ + file;
    co_return co_await pool_.run([=]() -> Result<LogPage> {
      auto fd = open_file(path, OpenFor::reading);
      if (!fd && fd.error().code == Code::not_found) {
        LogPage empty;
        empty.last_seq = since;
        return empty;
      }
      if (!fd) return fail(fd.error());
      return read_lines(fd->get(), since, max_lines, max_bytes);
    });
  }

  Task<Result<>> sync(std::string file) override {
    auto path = root_ + file;
    co_return co_await pool_.run([=] { return sync_file(path); });
  }

  Task<Result<int64_t>> repair(std::string file) override {
    auto path = root_ + file;
    co_return co_await pool_.run([=]() -> Result<int64_t> {
      auto fd = open_file(path, OpenFor::changing);
      if (!fd && fd.error().code == Code::not_found) return 0;
      if (!fd) return fail(fd.error());
      return repair_tail(fd->get());
    });
  }

  Task<Result<>> remove(std::string file) override {
    auto path = root_ + file;
    co_return co_await pool_.run([=] { return remove_file(path); });
  }

  Task<std::vector<std::string>> list() override {
    auto folder = root_ + output_folder;
    co_return co_await pool_.run([=] {
      std::vector<std::string> files;
      std::error_code error;
      for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
           at.increment(error))
        if (at->path().extension() == ".jsonl")
          files.push_back(output_folder + at->path().filename().string());
      return files;
    });
  }

  Task<Result<>> set_aside(std::string file) override {
    auto from = root_ + file;
    auto lost = root_ + ".coven/lost";
    co_return co_await pool_.run([=]() -> Result<> {
      // Not its parents: `.coven` is made by those who mark it.
      if (auto made = make_single_folder(lost, 0700); !made && made.error().code != Code::conflict)
        return made;
      std::error_code error;
      auto to = lost + "/" + std::filesystem::path(from).filename().string();
      for (int number = 1; std::filesystem::exists(to, error); ++number)
        to = lost + "/" + std::filesystem::path(from).stem().string() + "." + std::to_string(number) +
             ".jsonl";
      return move_file(from, to);
    });
  }

 private:
  const std::string root_;
  Pool& pool_;
};

}  // namespace

std::unique_ptr<Output> file_output(std::string root, Pool& pool) {
  return std::make_unique<FileOutput>(std::move(root), pool);
}

}  // namespace cru::runs
