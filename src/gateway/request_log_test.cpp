#include "src/gateway/request_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

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

TEST(RequestLog, WhatIsBeyondItsLevelIsNotWritten) {
  for (const auto& [level, name] : Names<config::LogLevel>::table) {
    ::testing::internal::CaptureStderr();
    {
      RequestLog log(config::LogFormat::json);
      log.set_level(level);
      LogLine line;
      for (const int status : {201, 422, 500, 503}) {
        line.status = status;
        log.write(line);
      }
      for (const auto& [each, said] : Names<config::LogLevel>::table) log.say(said, "said");
    }
    const std::string text = ::testing::internal::GetCapturedStderr();
    const auto all = std::ranges::count(text, '\n');
    EXPECT_EQ(all, (std::array{1, 4, 7, 8}[static_cast<std::size_t>(level)])) << name << text;
    EXPECT_EQ(text.find("\"level\":\"info\",") != std::string::npos,
              level >= config::LogLevel::info);
    for (const char* fault :
         {"\"level\":\"info\",\"status\":500", "\"level\":\"info\",\"status\":503"}) {
      EXPECT_THAT(text, Not(HasSubstr(fault)));
    }
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
