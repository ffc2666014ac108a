#include "platform/files/trouble.h"

#include <map>
#include <mutex>

namespace cru {
namespace {

constexpr size_t max_troubles = 64;

struct TroubleBook {
  std::mutex mutex;
  std::map<std::string, std::string> sentences;
};

TroubleBook& trouble_book() {
  static TroubleBook book;
  return book;
}

}  // namespace

bool tell_trouble(const std::string& key, std::string sentence) {
  auto& book = trouble_book();
  std::lock_guard lock(book.mutex);
  auto found = book.sentences.find(key);
  if (found != book.sentences.end()) {
    found->second = std::move(sentence);
    return false;
  }
  if (book.sentences.size() < max_troubles) book.sentences.emplace(key, std::move(sentence));
  return true;
}

bool end_trouble(const std::string& key) {
  auto& book = trouble_book();
  std::lock_guard lock(book.mutex);
  return book.sentences.erase(key) > 0;
}

bool has_trouble(const std::string& key) {
  auto& book = trouble_book();
  std::lock_guard lock(book.mutex);
  return book.sentences.contains(key);
}

std::vector<std::string> troubles() {
  auto& book = trouble_book();
  std::lock_guard lock(book.mutex);
  std::vector<std::string> out;
  for (const auto& [key, sentence] : book.sentences) out.push_back(sentence);
  return out;
}

}  // namespace cru
