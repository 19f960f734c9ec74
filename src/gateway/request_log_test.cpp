#include "src/gateway/request_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace pawl::gateway {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* hostile = "x\x1b[2J\nforged=1 \xe2\x80\xae\xc2\x9b\xff\"";

std::string written(config::LogFormat format, const LogLine& line) {
  ::testing::internal::CaptureStderr();
  {
    RequestLog log(format);
    log.write(line);
    log.say("warning", hostile);
  }
  return ::testing::internal::GetCapturedStderr();
}

// Outbox rows, callers and providers bring texts that nobody here has chosen.
TEST(RequestLog, WhatCameFromOutsideStaysWithinItsValue) {
  for (const auto format : {config::LogFormat::human, config::LogFormat::json}) {
    LogLine line;
    line.request_id = "req_1";
    line.scope = hostile;
    line.method = hostile;
    line.path = hostile;
    line.route = hostile;
    line.client = hostile;
    line.execution = "e1";
    line.trouble = hostile;
    line.status = 201;
    const std::string text = written(format, line);
    EXPECT_EQ(std::ranges::count(text, '\n'), 2) << text;
    for (const char* raw : {"\x1b", "\xe2\x80\xae", "\xc2\x9b", "\xff"}) {
      EXPECT_THAT(text, Not(HasSubstr(raw)));
    }
    EXPECT_THAT(text, HasSubstr("req_1"));
    EXPECT_THAT(text, HasSubstr("e1"));
  }
}

TEST(RequestLog, AValueWithABlankIsQuoted) {
  LogLine line;
  line.scope = "caller:a b";
  line.key = "0123456789ab";
  line.method = "POST";
  line.path = "/pay";
  const std::string text = written(config::LogFormat::human, line);
  EXPECT_THAT(text, HasSubstr(" POST /pay "));
  EXPECT_THAT(text, HasSubstr(" scope=\"caller:a b\" key=0123456789ab"));
}

}  // namespace
}  // namespace pawl::gateway
