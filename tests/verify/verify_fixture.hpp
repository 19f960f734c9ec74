// `pawl verify`, run by a test.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "pawl/types/json.hpp"
#include "tests/support/process.hpp"

namespace pawl::e2e {

using Lines = std::vector<std::string>;

inline testing::Finished run_verify(const Lines& flags) {
  Lines command{PAWL_BINARY, "verify"};
  command.insert(command.end(), flags.begin(), flags.end());
  return testing::run_program(command);
}

// Names of the checks with that result, of a report as JSON.
inline std::set<std::string> named(const std::string& report, const std::string& result) {
  const auto document = json::read(report);
  if (!document) return {"no JSON: " + report};
  std::set<std::string> names;
  for (const json::Value& check : document->find("checks")->items) {
    if (check.find("result")->text == result) names.insert(check.find("name")->text);
  }
  return names;
}

}  // namespace pawl::e2e
