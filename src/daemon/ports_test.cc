#include "daemon/ports.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"
#include "platform/net/http/listen.h"

namespace cru::daemon {
namespace {

class Ports : public testing::Test {
 public:
  /// A project whose daemon ran before, at `port`.
  api::Project project(const std::string& name, uint16_t port = 0) {
    api::Project made{folder / name};
    std::filesystem::create_directories(made.state());
    if (port != 0) had(made, port);
    return made;
  }
  static void had(const api::Project& project, uint16_t port) {
    ASSERT_TRUE(write_file(project.url_file(), fmt::format("http://127.0.0.1:{}/\n", port)));
  }
  /// One start: the port, which is free again afterwards.
  uint16_t start(const api::Project& project, WantedPort wanted = {}) {
    auto bound = listen_for(project, wanted, notes);
    if (!bound) return 0;
    auto port = http::port_of(*bound);
    had(project, port);
    return port;
  }
  /// Whether the ports that `act` returns are the expected ones. Again where another program on this machine
  /// has taken one in between.
  static void undisturbed(const std::function<std::vector<std::pair<uint16_t, uint16_t>>()>& act) {
    for (int left = 20; left > 0; --left) {
      bool same = true, is_disturbed = false;
      for (auto [got, expected] : act()) {
        same = same && got == expected;
        is_disturbed = is_disturbed || !http::listen_loopback(expected);
      }
      if (same) return;
      if (!is_disturbed) FAIL() << "another port, though the expected one is free";
    }
    FAIL() << "disturbed too often";
  }
  TemporaryFolder folder;
  const std::string notes = folder / "ports";
};

TEST_F(Ports, AreKeptByTheirProjectsWhileNobodyListens) {
  auto a = project("a"), b = project("b");
  undisturbed([&] {
    auto first = start(a), second = start(b);
    EXPECT_NE(first, 0);
    EXPECT_NE(first, second) << "it is free, and it is a's";
    return std::vector<std::pair<uint16_t, uint16_t>>{{start(a), first}, {start(b), second}};
  });
}

TEST_F(Ports, ComeFreeWithTheirProjects) {
  int round = 0;
  undisturbed([&] {
    auto name = std::to_string(++round);
    auto a = project("a" + name), b = project("b" + name);
    auto first = start(a);
    std::filesystem::remove_all(a.root);
    auto second = start(b);
    std::filesystem::remove_all(b.root);
    return std::vector<std::pair<uint16_t, uint16_t>>{{second, first}};
  });
}

TEST_F(Ports, ThatAreSetAndTakenAreReplacedAndTakenUpAgain) {
  auto other = http::listen_loopback(0);
  ASSERT_TRUE(other);
  auto taken = http::port_of(*other);
  auto a = project("a");
  undisturbed([&] {
    auto found = start(a, {.typed = {}, .set = taken, .patience = {}});
    EXPECT_NE(found, 0);
    EXPECT_NE(found, taken);
    auto again = start(a, {.typed = {}, .set = taken, .patience = {}});
    return std::vector<std::pair<uint16_t, uint16_t>>{{again, found}};
  });
  other->reset();
  EXPECT_EQ(start(a, {.typed = {}, .set = taken}), taken);
}

TEST_F(Ports, OfADaemonThatIsStillBeingKilledAreWaitedFor) {
  for (bool is_set : {false, true}) {
    auto dying = http::listen_loopback(0);
    ASSERT_TRUE(dying);
    auto port = http::port_of(*dying);
    auto a = project(is_set ? "set" : "had", port);
    int attempts = 0;
    WantedPort wanted{.typed = {}, .set = {}, .patience = std::chrono::minutes(4)};
    wanted.before_again = [&] {
      if (++attempts == 3) dying->reset();
    };
    if (is_set) wanted.set = port;
    EXPECT_EQ(start(a, wanted), port);
    EXPECT_EQ(attempts, 3);
  }
}

TEST_F(Ports, ThatAreTypedMustBeFree) {
  auto other = http::listen_loopback(0);
  ASSERT_TRUE(other);
  auto refused = listen_for(project("a"), {.typed = http::port_of(*other), .set = {}, .patience = {}}, notes);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::conflict);
}

TEST_F(Ports, AreFoundWithoutAFolderForNotes) {
  auto bound = listen_for(project("a"), {}, "");
  ASSERT_TRUE(bound);
  EXPECT_NE(http::port_of(*bound), 0);
}

}  // namespace
}  // namespace cru::daemon
