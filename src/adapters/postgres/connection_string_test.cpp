// Every way of connecting, with connection strings that libpq misreads: what is said about them
// has no piece of the password in it.
#include "src/adapters/postgres/connection_string.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/adapters/postgres/grants.hpp"
#include "src/adapters/postgres/migrate.hpp"
#include "src/adapters/postgres/postgres_store.hpp"
#include "src/adapters/postgres/sql_session.hpp"
#include "src/adapters/sql/observation_store.hpp"
#include "src/adapters/sql/upkeep.hpp"
#include "testing/run.hpp"

namespace pawl::postgres {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Nobody listens on port 1.
const std::vector<std::string>& bad_urls() {
  static const std::vector<std::string> all{
      "postgres://u:sesame%zz@127.0.0.1:1/db",
      "postgres://u:ses/ame@127.0.0.1:1/db",
      "postgres://u:ses@ame@127.0.0.1:1/db",
      "postgres://u:ses?x@ame@127.0.0.1:1/db",
      "postgres://u:sesame@[::1/db",
      "postgres://u@127.0.0.1:1/db?password=sesame&ame",
      "host=127.0.0.1 port=1 password=ses ame",
      "host=127.0.0.1 port=1 password='sesame",
      "postgres://u:sesame@127.0.0.1:1/db",
      "host=127.0.0.1 port=1 user=u password=sesame",
  };
  return all;
}

std::vector<std::string> said_of(const std::string& url) {
  std::vector<std::string> said;
  Options options;
  options.connect_timeout = std::chrono::seconds(3);
  const auto store = PostgresStore::open(url, options);
  if (!store) said.push_back(store.error());
  SqlSession session(url, options);
  const auto ran = session.run("SELECT 1", {});
  if (!ran) said.push_back(ran.error().text);
  const auto migrated = migrate(url);
  if (!migrated) said.push_back(migrated.error());
  const auto grants = grants_for(url, {.gateway = "gw", .service = {}});
  if (!grants) said.push_back(grants.error());
  const auto granted = apply_grants(url, {.gateway = "gw", .service = {}});
  if (!granted) said.push_back(granted.error());
  const auto thread =
      std::make_shared<sql::SessionThread>(std::make_unique<SqlSession>(url, options));
  sql::SqlUpkeep upkeep(thread);
  const auto fact = testing::run(upkeep.replace_fact("name", std::nullopt, "value"));
  if (!fact) said.push_back(upkeep.trouble());
  sql::SqlObservationStore observations(thread);
  const auto now = testing::run(observations.summary(std::chrono::hours(1)));
  if (!now) said.push_back(observations.trouble());
  return said;
}

TEST(WithoutPassword, NoErrorTellsAPieceOfIt) {
  for (const std::string& url : bad_urls()) {
    const std::vector<std::string> said = said_of(url);
    EXPECT_EQ(said.size(), 7U) << url;
    for (const std::string& text : said) {
      EXPECT_THAT(text,
                  AllOf(Not(HasSubstr("ses")), Not(HasSubstr("ame@")), Not(HasSubstr("\"ame"))))
          << url;
    }
  }
}

TEST(WithoutPassword, AnHonestErrorStillSaysWhereAndWhy) {
  EXPECT_THAT(without_password("postgres://u:sesame@127.0.0.1:1/db",
                               "connection to server at \"127.0.0.1\", port 1 failed: no\nmore"),
              "connection to server at \"127.0.0.1\", port 1 failed: no");
  EXPECT_THAT(without_password("postgres://u:pw@host/db", "FATAL: \"pw\" is not pw"),
              "FATAL: \"***\" is not pw");
  EXPECT_THAT(without_password("password=sesame host=db", "no sesame at db"), "no *** at db");
}

}  // namespace
}  // namespace pawl::postgres
