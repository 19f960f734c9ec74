// A log that is read slowly, not at all, or by nobody any more: the node goes on.
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "tests/e2e/gateway_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;

constexpr const char* dropped_metric = "pawl_log_dropped_lines_total";
constexpr int flood_requests = 400;
const std::string flood_path = "/" + std::string(8000, 'x');

class Log : public OnEveryStore {
 protected:
  // Three MiB of log, a line of 8 KiB for each request: more than a pipe and the queue hold.
  void flood(const ServeProcess& gateway) {
    upstream.behave(Behaviour::answer(200));
    RawClient client(gateway.port());
    for (int i = 0; i < flood_requests; ++i) {
      client.send("GET " + flood_path + " HTTP/1.1\r\nHost: a\r\n\r\n");
      ASSERT_EQ(client.read_answer().status, 200) << "request " << i;
    }
    upstream.behave(Behaviour::answer(201));
  }

  void pays(const ServeProcess& gateway, const Post& once) {
    EXPECT_EQ(post(gateway.port(), once).status, 201);
    EXPECT_EQ(post(gateway.port(), once).value("Idempotent-Replayed"), "true");
    EXPECT_EQ(upstream.effects(once.key), 1U);
  }
};

// How many of the flood's lines are there; whatever is torn, or mixed with another, is a failure.
int whole_lines(const std::string& log) {
  static const std::regex begins(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z .*)");
  int whole = 0;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(std::regex_match(line.substr(0, 60), begins)) << line.substr(0, 200);
    if (line.find(flood_path.substr(0, 100)) == std::string::npos) continue;
    const std::size_t rest = line.find(flood_path + " ");
    const bool has_its_end =
        rest != std::string::npos && line.find(" id=", rest) != std::string::npos;
    EXPECT_TRUE(has_its_end && line.size() < flood_path.size() + 300) << line.size();
    ++whole;
  }
  return whole;
}

int told_drops(const std::string& log) {
  static const std::regex told("read dropped=([0-9]+)\n");
  int lines = 0;
  for (std::sregex_iterator at(log.begin(), log.end(), told), end; at != end; ++at) {
    lines += std::stoi((*at)[1]);
  }
  return lines;
}

TEST_P(Log, APipeThatNobodyReadsStopsNothing) {
  ServeProcess& gateway = start();
  gateway.stop_reading();
  flood(gateway);
  EXPECT_EQ(get(gateway.admin_port(), "/healthz").status, 200);
  EXPECT_TRUE(until([&] { return get(gateway.admin_port(), "/readyz").status == 200; }));
  pays(gateway, payment);
  EXPECT_GT(metric(gateway, dropped_metric), 0);
  EXPECT_EQ(gateway.terminate(), 0);
}

TEST_P(Log, ReadAgainItSaysHowManyLinesItLost) {
  ServeProcess& gateway = start();
  gateway.stop_reading();
  flood(gateway);
  EXPECT_GT(metric(gateway, dropped_metric), 0);
  gateway.read_on();
  ASSERT_TRUE(gateway.wait_for_text("log lines were dropped"));
  pays(gateway, payment);
  const double dropped = metric(gateway, dropped_metric);
  EXPECT_EQ(gateway.terminate(), 0);
  ASSERT_TRUE(gateway.wait_for_text(" info: drained\n")) << "the end of the log is not lost";
  const std::string log = gateway.err();
  EXPECT_EQ(told_drops(log), dropped);
  EXPECT_EQ(whole_lines(log) + told_drops(log), flood_requests);
  EXPECT_THAT(log, HasSubstr(" POST /payments "));
}

TEST_P(Log, AReaderThatIsGoneEndsNothing) {
  ServeProcess& gateway = start();
  gateway.close_streams();
  flood(gateway);
  EXPECT_TRUE(until([&] { return metric(gateway, dropped_metric) > 0; }));
  pays(gateway, payment);
  EXPECT_EQ(gateway.terminate(), 0);
}

// Its number would be the next file's or socket's, and the log would be written into that.
TEST_P(Log, StandardErrorThatWasNeverOpenIsNoOtherFile) {
  const std::filesystem::path closing = folder() / "pawl-without-stderr";
  std::ofstream(closing) << "#!/bin/sh\nexec " PAWL_BINARY " \"$@\" 2>&- 0<&-\n";
  std::filesystem::permissions(closing, std::filesystem::perms::owner_all);
  ServeProcess gateway(closing, {.flags = {},
                                 .config = "upstream = \"" + upstream.url() + "\"\nstore = \"" +
                                           store_url() + "\"\nallow_lossy_store = true\n"});
  flood(gateway);
  EXPECT_EQ(std::filesystem::read_symlink("/proc/" + std::to_string(gateway.pid()) + "/fd/2"),
            "/dev/null");
  pays(gateway, payment);
  EXPECT_EQ(metric(gateway, dropped_metric), 0);
  EXPECT_EQ(gateway.terminate(), 0);
}

PAWL_ON_EVERY_STORE(Log);

}  // namespace
}  // namespace pawl::e2e
