// Installs into an empty folder and builds programs outside the tree against what is there, among
// them the README's examples as they stand.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "tests/support/process.hpp"
#include "tests/support/raw_client.hpp"
#include "tests/support/serve_process.hpp"
#include "tests/support/service_process.hpp"

namespace pawl::testing {
namespace {

constexpr const char* ten_lines = R"(#include <pawl/pawl.hpp>
#include <cstdio>
int main() {
  pawl::Node node = pawl::open("sqlite:ten-lines.db");
  pawl::Middleware payments(node, {.name = "payments"}, [](const pawl::HttpRequest&) {
    return pawl::Response{201, {}, "paid"};
  });
  const pawl::HttpRequest request{.headers = {{"Idempotency-Key", "ten-lines-of-code-01"}}};
  std::puts(payments.handle("tenant-a", request).body.c_str());
}
)";

class Install : public ::testing::Test {
 protected:
  // One installation for all tests of the program.
  static void SetUpTestSuite() {
    folder = new TemporaryFolder;
    const Finished done = run_program({"/usr/bin/cmake", "--install", PAWL_BUILD_DIR, "--prefix",
                                       prefix(), "--component", "library"});
    ASSERT_EQ(done.exit_code, 0) << done.out << done.err;
  }
  static void TearDownTestSuite() {
    delete folder;
    folder = nullptr;
  }

  static std::string prefix() { return (folder->path() / "installed").string(); }
  static std::string new_folder(const std::string& name) {
    const std::filesystem::path path = folder->path() / name;
    std::filesystem::create_directory(path);
    return path.string();
  }
  static void write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }
  static Finished shell(const std::string& in, const std::string& script) {
    return run_program({"/bin/bash", "-c", "set -e; cd '" + in + "'; " + script});
  }
  static std::string pkg_config_path() {
    return "$(dirname $(find '" + prefix() + "' -name pawl.pc))";
  }

  // With find_package, and warnings as strict as anybody's.
  static Finished build_and_run(const std::string& in, const std::string& source,
                                const std::string& more = "") {
    write(in + "/main.cpp", source);
    write(in + "/CMakeLists.txt",
          "cmake_minimum_required(VERSION 3.20)\nproject(outside CXX)\n" + more +
              "find_package(pawl REQUIRED)\nadd_executable(outside main.cpp)\n"
              "target_compile_options(outside PRIVATE -Wall -Wextra -Wpedantic -Werror)\n"
              "target_link_libraries(outside PRIVATE pawl::pawl)\n");
    return shell(in, "cmake -B build -DCMAKE_PREFIX_PATH='" + prefix() +
                         "' >configured 2>&1 || { cat configured >&2; exit 1; }; "
                         "cmake --build build >built 2>&1 || { cat built >&2; exit 1; }; "
                         "./build/outside");
  }

  static TemporaryFolder* folder;
};
TemporaryFolder* Install::folder = nullptr;

TEST_F(Install, FindPackageGivesTheSharedLibrary) {
  const std::string in = new_folder("shared");
  const Finished done = build_and_run(in, ten_lines);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(done.out, "paid\n");
  EXPECT_NE(shell(in, "ldd build/outside").out.find("libpawl.so"), std::string::npos);
}

TEST_F(Install, FindPackageGivesTheStaticLibraryOnRequest) {
  const std::string in = new_folder("static");
  const Finished done = build_and_run(in, ten_lines, "set(pawl_USE_STATIC_LIBS ON)\n");
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(done.out, "paid\n");
  EXPECT_EQ(shell(in, "ldd build/outside").out.find("libpawl.so"), std::string::npos);
}

TEST_F(Install, PkgConfigDoesToo) {
  const std::string in = new_folder("pkg_config");
  write(in + "/main.cpp", ten_lines);
  const Finished done =
      shell(in, "export PKG_CONFIG_PATH=" + pkg_config_path() +
                    "; g++ main.cpp $(pkg-config --cflags --libs pawl) "
                    "-Wl,-rpath,$(pkg-config --variable=libdir pawl) -o outside; ./outside; "
                    "mkdir -p only; ln -sf $(pkg-config --variable=libdir pawl)/libpawl.a only/; "
                    "g++ main.cpp $(pkg-config --cflags pawl) -Lonly -lpawl "
                    "$(pkg-config --static --libs pawl) -o alone; ./alone");
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(done.out, "paid\npaid\n");
}

// Nothing of Boost may be needed, or met, by a program that does not use it itself.
TEST_F(Install, TheInterfaceIsFreeOfBoost) {
  const std::string in = new_folder("free_of_boost");
  write(in + "/main.cpp", "#include <pawl/pawl.hpp>\n#include <pawl/types/metrics.hpp>\n");
  const Finished read = shell(in, "g++ -std=c++20 -I'" + prefix() + "/include' -M main.cpp");
  EXPECT_EQ(read.exit_code, 0) << read.err;
  EXPECT_EQ(read.out.find("boost"), std::string::npos) << read.out;
  const Finished symbols =
      shell(in, "nm -DC --defined-only $(find '" + prefix() + "' -name 'libpawl.so')");
  EXPECT_EQ(symbols.exit_code, 0) << symbols.err;
  EXPECT_NE(symbols.out.find("pawl::open("), std::string::npos);
  const std::regex of_boost("[0-9a-f]+ [A-Za-z] (boost::|(typeinfo|vtable)[a-z ]* for boost::).*");
  std::istringstream lines(symbols.out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_FALSE(std::regex_match(line, of_boost)) << line;
  }
}

// What is installed is all that is needed, wherever it is moved to.
TEST_F(Install, TheDemonstrationRunsFromWhereItWasInstalled) {
  const std::string first = new_folder("programs") + "/first";
  const Finished installed = run_program(
      {"/usr/bin/cmake", "--install", PAWL_BUILD_DIR, "--prefix", first, "--component", "program"});
  ASSERT_EQ(installed.exit_code, 0) << installed.out << installed.err;
  const std::string moved = folder->path() / "moved";
  std::filesystem::rename(first, moved);
  ServiceProcess demo(
      {moved + "/bin/pawl", "demo", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"});
  Post payment;
  payment.path = "/v1/payments";
  payment.key = "installed-payment-01";
  payment.body = R"({"customer":"cus_1","amount":1000,"currency":"EUR"})";
  payment.headers.emplace_back("Authorization", "Bearer shop");
  const HttpAnswer paid = post(demo.port(), payment);
  EXPECT_EQ(paid.status, 201) << paid.body;
  EXPECT_EQ(post(demo.port(), payment).value("Idempotent-Replayed"), "true");
  EXPECT_EQ(demo.terminate(), 0) << demo.said();
}

// The examples as they stand in the README, with what they are said to print.
struct Example {
  std::string source;
  std::string prints;
  int lines = 0;
};

Example example(const std::string& name) {
  std::ifstream readme(PAWL_SOURCE_DIR "/README.md");
  Example found;
  bool inside = false;
  std::string* into = nullptr;
  for (std::string line; std::getline(readme, line);) {
    if (line.starts_with("<!-- example: ")) inside = line == "<!-- example: " + name + " -->";
    if (!inside) continue;
    if (line == "```cpp") {
      into = &found.source;
    } else if (line == "```text") {
      into = &found.prints;
    } else if (line == "```") {
      into = nullptr;
    } else if (into != nullptr) {
      into->append(line).append("\n");
      if (into == &found.source) ++found.lines;
    }
  }
  return found;
}

TEST_F(Install, TheReadmesMiddlewareCompilesAndDoesWhatItSays) {
  const Example middleware = example("middleware");
  ASSERT_GT(middleware.lines, 0) << "the README has lost its example";
  EXPECT_LE(middleware.lines, 22);
  const Finished done = build_and_run(new_folder("readme_middleware"), middleware.source);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(done.out, middleware.prints);
}

TEST_F(Install, TheReadmesFlowCompilesAndDoesWhatItSays) {
  const Example flow = example("flow");
  ASSERT_GT(flow.lines, 0) << "the README has lost its example";
  EXPECT_LE(flow.lines, 36);
  const Finished done = build_and_run(new_folder("readme_flow"), flow.source);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(done.out, flow.prints);
}

}  // namespace
}  // namespace pawl::testing
