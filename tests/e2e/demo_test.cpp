// pawl demo, and the lines it gives to try: run by a shell, word for word.
#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "tests/support/process.hpp"
#include "tests/support/raw_client.hpp"
#include "tests/support/serve_process.hpp"
#include "tests/support/service_process.hpp"

namespace pawl {
namespace {

using ::testing::HasSubstr;
using testing::ServiceProcess;

// Starts it on ports of its own, with its temporary folder in `folder`.
ServiceProcess demo(const std::filesystem::path& folder) {
  return ServiceProcess({PAWL_BINARY, "demo", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"},
                        {"TMPDIR=" + folder.string()});
}

std::string said_in_full(const ServiceProcess& running) {
  std::string said = running.said();
  while (said.find("Ctrl-C stops") == std::string::npos) said = running.said();
  return said;
}

// The indented lines.
std::string commands(const std::string& said) {
  std::istringstream lines(said);
  std::string script;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  ")) script += line + "\n";
  }
  return script;
}

std::string address(const std::string& said, const std::string& of) {
  const std::size_t at = said.find("http://", said.find("\n" + of + " "));
  return said.substr(at, said.find(' ', at) - at);
}

bool listens(const std::string& url) {
  try {
    testing::RawClient client(
        static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

std::ptrdiff_t count(const std::string& text, const std::string& what) {
  std::ptrdiff_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++found;
  }
  return found;
}

TEST(Demo, ItsLinesDoWhatTheySay) {
  const testing::TemporaryFolder folder;
  ServiceProcess running = demo(folder.path());
  const std::string said = said_in_full(running);
  const testing::Finished tried = testing::run_program({"/bin/bash", "-c", commands(said)});
  EXPECT_EQ(tried.exit_code, 0) << tried.err;
  EXPECT_EQ(count(tried.out, "HTTP/1.1 422"), 1) << tried.out;
  EXPECT_GE(count(tried.out, "Idempotent-Replayed: true"), 1);
  EXPECT_EQ(count(tried.out, "HTTP/1.1 503"), 1) << "charged, and the answer lost: " << tried.out;
  EXPECT_THAT(tried.out, HasSubstr(R"("charges":3,)")) << "order 17, 18 and 19";
  EXPECT_THAT(tried.out, HasSubstr(R"("keys_charged_twice":0)"));
  EXPECT_EQ(running.terminate(), 0) << running.said();
}

TEST(Demo, CtrlCEndsAllOfItAndLeavesNothing) {
  const testing::TemporaryFolder folder;
  ServiceProcess running = demo(folder.path());
  const std::string said = said_in_full(running);
  const std::vector<std::string> addresses{address(said, "gateway"), address(said, "payments"),
                                           address(said, "provider")};
  for (const std::string& each : addresses) EXPECT_TRUE(listens(each)) << each;
  EXPECT_FALSE(std::filesystem::is_empty(folder.path()));
  EXPECT_EQ(running.interrupt(), 0) << running.said();
  for (const std::string& each : addresses) EXPECT_FALSE(listens(each)) << each;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "its files are gone";
}

TEST(Demo, ThatCannotFindItsServicesSaysWhereItLooked) {
  const testing::TemporaryFolder folder;
  const std::string alone = folder.path() / "pawl";
  std::filesystem::copy_file(PAWL_BINARY, alone);
  const testing::Finished done = testing::run_program({alone, "demo"});
  EXPECT_EQ(done.exit_code, 1);
  EXPECT_THAT(done.err, HasSubstr("libexec/pawl/pawl_provider"));
}

}  // namespace
}  // namespace pawl
