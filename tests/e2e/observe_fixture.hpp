// What observe mode is asked: its metrics, and its report.
#pragma once

#include "pawl/types/json.hpp"
#include "tests/e2e/gateway_fixture.hpp"
#include "tests/support/process.hpp"

namespace pawl::e2e {

inline const Settings observing{.policy = "mode = \"observe\"", .top = "", .rest = ""};

class ObserveTest : public OnEveryStore {
 protected:
  static double seen(const ServeProcess& gateway, const std::string& would,
                     const std::string& route = "default") {
    return metric(gateway, "pawl_observed_total{route=\"" + route + "\",would=\"" + would + "\"}");
  }
  // Blocks until so many requests had that predicted decision.
  static bool sees(const ServeProcess& gateway, const std::string& would, int times,
                   const std::string& route = "default") {
    return until([&] { return seen(gateway, would, route) == times; });
  }

  [[nodiscard]] testing::Finished report(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> command{PAWL_BINARY, "observe", "report", "--store", store_url()};
    command.insert(command.end(), more.begin(), more.end());
    return testing::run_program(command);
  }

  // The number a JSON pointer leads to in the report; -1 where there is none.
  [[nodiscard]] int reported(const std::string& pointer) const {
    const testing::Finished finished = report({"--json"});
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    const auto document = json::read(finished.out);
    const auto path = json::parse_pointer(pointer);
    const json::Value* found = document && path ? json::resolve(*document, *path) : nullptr;
    EXPECT_NE(found, nullptr) << pointer << " in " << finished.out;
    return found == nullptr ? -1 : std::stoi(found->text);
  }

  Post under(const std::string& key, const std::string& body) const {
    Post other = payment;
    other.key = key;
    other.body = body;
    return other;
  }
};

}  // namespace pawl::e2e
