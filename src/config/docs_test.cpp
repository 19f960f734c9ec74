// docs/configuration.md is held to the code: every setting, its default, and the examples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/config/caller.hpp"
#include "src/config/destinations.hpp"
#include "src/config/files.hpp"
#include "src/config/key_api.hpp"
#include "src/config/policy_settings.hpp"
#include "src/config/read_for_tests.hpp"
#include "src/config/serving.hpp"
#include "src/config/source_tables.hpp"
#include "src/config/sources.hpp"
#include "src/config/tables.hpp"

namespace pawl::config {
namespace {

using ::testing::HasSubstr;

std::string page() { return read_file(PAWL_SOURCE_DIR "/docs/configuration.md").value(); }

std::string row_of(const std::string& text, std::string_view name) {
  const std::size_t start = text.find("\n| `" + std::string(name) + "` |");
  return start == std::string::npos ? ""
                                    : text.substr(start + 1, text.find('\n', start + 1) - start);
}

template <class Owner>
void expect_rows(std::string_view heading, const Settings<Owner>& settings, const Owner& defaults) {
  std::string text = page();
  const std::size_t start = text.find("\n## " + std::string(heading));
  ASSERT_NE(start, std::string::npos) << heading;
  text = text.substr(start, text.find("\n## ", start + 1) - start);
  for (const Setting<Owner>& setting : settings) {
    const std::string row = row_of(text, setting.name);
    EXPECT_NE(row, "") << setting.name << " is not under " << heading;
    const std::string value = setting.show(defaults);
    EXPECT_THAT(row, HasSubstr(value.empty() ? "none" : "| `" + value + "` |")) << setting.name;
  }
}

TEST(ConfigurationPage, HasEverySettingWithItsDefault) {
  expect_rows("Top level", top_settings(), Config{});
  expect_rows("`[admin]`", admin_settings(), Admin{});
  expect_rows("`[tls]`", listener_tls_settings(), ListenerTls{});
  expect_rows("`[upstream_tls]`", upstream_tls_settings(), UpstreamTls{});
  expect_rows("`[limits]`", limits_settings(), Limits{});
  expect_rows("`[encryption]`", encryption_settings(), Encryption{});
  expect_rows("`[policy]`, and each `[[route]]`", policy_settings(), RoutePolicy{});
  expect_rows("`[key_api]`", key_api_settings(), KeyApi{});
  expect_rows("`[[destination]]`", destination_settings(), Destination{});
  expect_rows("`[[source]]`", source_settings(), Source{});
  expect_rows("`[source.webhook]`", webhook_settings(), Webhook{});
  expect_rows("`[source.ledger]`", ledger_settings(), Ledger{});
  for (const std::string_view name : caller_names()) {
    EXPECT_THAT(page(), HasSubstr("`" + std::string(name) + "`"));
  }
}

TEST(ConfigurationPage, ExamplesAreRight) {
  const std::string text = page();
  const std::string opening = "```toml\n";
  int examples = 0;
  for (std::size_t at = 0; (at = text.find(opening, at)) != std::string::npos; ++examples) {
    at += opening.size();
    const std::string example = text.substr(at, text.find("```", at) - at);
    EXPECT_EQ(warnings_of(example), "");
    EXPECT_EQ(in_lines(check_ready_to_serve(good(example))), "");
  }
  EXPECT_EQ(examples, 2);
}

}  // namespace
}  // namespace pawl::config
