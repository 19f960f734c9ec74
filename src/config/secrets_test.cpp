#include "src/config/secrets.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "src/config/files.hpp"

namespace pawl::config {
namespace {

using ::testing::HasSubstr;

TEST(SecretReferences, AreQuotedAsTheStoresUrlWantsThem) {
  ::setenv("PAWL_TEST_SECRET", "p@ss/wo'rd", 1);
  struct Row {
    std::string written;
    std::string meant;
  };
  for (const Row& row : std::vector<Row>{
           {"sqlite:pawl.db", "sqlite:pawl.db"},
           {"{env:PAWL_TEST_SECRET}", "p@ss/wo'rd"},
           {"postgres://pawl:{env:PAWL_TEST_SECRET}@db/pawl",
            "postgres://pawl:p%40ss%2Fwo%27rd@db/pawl"},
           {"host=db password={env:PAWL_TEST_SECRET}", "host=db password='p@ss/wo\\'rd'"},
           {"host=db password='{env:PAWL_TEST_SECRET}'", "host=db password='p@ss/wo\\'rd'"},
           {"sqlite:/data/{env:PAWL_TEST_SECRET}.db", "sqlite:/data/p@ss/wo'rd.db"}}) {
    EXPECT_EQ(expand_store(row.written).value(), row.meant);
  }
}

TEST(SecretReferences, SayWhatIsMissingAndNoSecret) {
  EXPECT_THAT(expand("{env:PAWL_TEST_NOT_THERE}").error(),
              HasSubstr("{env:PAWL_TEST_NOT_THERE}: "));
  EXPECT_THAT(expand("{file:/nowhere/x}").error(), HasSubstr("{file:/nowhere/x}: cannot be read"));
  EXPECT_THAT(expand("{env:HOME").error(), HasSubstr("with its brace"));
  EXPECT_THAT(expand("{file:}").error(), HasSubstr("{env:NAME} or {file:PATH}"));
  EXPECT_EQ(expand("{key} and {} stay").value(), "{key} and {} stay");
}

TEST(SecretReferences, OfAFileAreItsLine) {
  const std::string path = ::testing::TempDir() + "pawl_secret_line";
  std::ofstream(path) << "a line\r\n";
  EXPECT_EQ(read_secret(path).value(), "a line");
  EXPECT_EQ(read_secret("{file:" + path + "}").value(), "a line");
  EXPECT_EQ(secret_path("{file:" + path + "}"), path);
  EXPECT_EQ(secret_path("{env:HOME}"), "");
}

TEST(SecretReferences, OfAFileThatOthersMayChangeAreRefused) {
  const std::string path = ::testing::TempDir() + "pawl_secret_loose";
  std::ofstream(path) << "sqlite:pawl.db\n";
  ::chmod(path.c_str(), 0666);
  EXPECT_THAT(expand_store("{file:" + path + "}").error(), HasSubstr("run `chmod 600 " + path));
  EXPECT_THAT(expand("Bearer {env:HOME} {file:" + path + "}").error(), HasSubstr("chmod 600"));
  ::chmod(path.c_str(), 0600);
  EXPECT_TRUE(expand_store("{file:" + path + "}"));
  if (::geteuid() != 0) GTEST_SKIP() << "only root may give a file away";
  ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  EXPECT_THAT(expand_store("{file:" + path + "}").error(), HasSubstr("another user"));
  EXPECT_THAT(unsafe_secret(path), HasSubstr("run `chown 0 " + path));
  ::unlink(path.c_str());
}

TEST(SecretReferences, AreNotWhatAShellHas) {
  EXPECT_EQ(shell_variable_in("postgres://pawl:${PG_PASSWORD}@db"), "PG_PASSWORD");
  for (const char* text : {"$PASSWORD", "${}", "${1x}", "${a b}", "${open", "{env:A}", "cost $5"}) {
    EXPECT_EQ(shell_variable_in(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace pawl::config
