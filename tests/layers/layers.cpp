#include "tests/layers/layers.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>

namespace pawl::layers {
namespace {

using Prefixes = std::vector<std::string>;

// A folder, and what its files may include besides the standard library. First match wins.
struct Rule {
  std::string folder;
  Prefixes may_include;
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all{
      {"include/pawl/core/", {"pawl/core/"}},
      {"src/core/check.cpp", {"pawl/core/", "poll.h", "unistd.h"}},
      {"src/core/sha256.cpp", {"pawl/core/", "src/core/", "openssl/"}},
      {"src/core/", {"pawl/core/", "src/core/"}},
      {"src/reconcile/", {"pawl/core/", "src/reconcile/"}},
      {"src/config/document.cpp", {"pawl/core/", "src/config/", "toml++/"}},
      {"src/config/address.cpp", {"pawl/core/", "src/config/", "src/reconcile/", "arpa/inet.h"}},
      {"src/config/files.cpp", {"pawl/core/", "src/config/", "sys/stat.h", "unistd.h"}},
      {"src/config/", {"pawl/core/", "src/config/", "src/reconcile/"}},
      {"include/pawl/ports/task.hpp", {"boost/asio/awaitable.hpp"}},
      {"include/pawl/ports/", {"pawl/core/", "pawl/ports/"}},
      {"src/ports/", {"pawl/core/", "pawl/ports/"}},
      {"include/pawl/engine.hpp", {"pawl/core/", "pawl/ports/"}},
      {"src/engine/", {"pawl/core/", "pawl/ports/", "pawl/engine.hpp", "src/engine/"}},
      {"src/adapters/memory/", {"pawl/core/", "pawl/ports/", "src/adapters/memory/"}},
      {"src/adapters/os/",
       {"pawl/core/", "pawl/ports/", "src/adapters/os/", "boost/asio/", "openssl/rand.h",
        "time.h"}},
      {"src/adapters/cases/", {"pawl/core/", "pawl/ports/", "src/adapters/cases/"}},
      {"src/adapters/waiting/", {"src/adapters/waiting/", "boost/asio/"}},
      {"src/adapters/sqlite/",
       {"pawl/core/", "pawl/ports/", "src/adapters/cases/", "src/adapters/sqlite/",
        "src/adapters/waiting/", "boost/asio/", "boost/system/", "sqlite3.h"}},
      {"src/adapters/postgres/",
       {"pawl/core/", "pawl/ports/", "src/adapters/cases/", "src/adapters/postgres/",
        "src/adapters/waiting/", "boost/asio/", "boost/system/", "libpq-fe.h"}},
      {"src/adapters/http/",
       {"pawl/core/", "pawl/ports/", "src/adapters/http/", "boost/asio/", "boost/system/"}},
      {"include/pawl/async.hpp", {"pawl/", "boost/asio/"}},
      {"include/pawl/beast.hpp", {"pawl/", "boost/beast/"}},
      {"include/pawl/",
       {"pawl/core/", "pawl/database.hpp", "pawl/flow.hpp", "pawl/http_request.hpp",
        "pawl/middleware.hpp", "pawl/node.hpp", "pawl/reconcile.hpp"}},
      {"src/libpawl/sqlite_work.cpp", {"pawl/", "src/libpawl/", "src/adapters/sqlite/"}},
      {"src/libpawl/postgres_work.cpp",
       {"pawl/", "src/libpawl/", "src/adapters/postgres/", "libpq-fe.h"}},
      {"src/libpawl/",
       {"pawl/", "src/libpawl/", "src/engine/pace.hpp", "src/engine/stored_restoration.hpp",
        "src/reconcile/", "src/adapters/", "boost/asio/"}},
      {"src/gateway/",
       {"pawl/core/", "pawl/ports/", "pawl/engine.hpp", "src/gateway/", "src/config/",
        "src/reconcile/", "src/adapters/http/", "src/adapters/os/log_sink.hpp", "boost/asio/",
        "prometheus/"}},
      {"testing/postgres_server.cpp", {"testing/", "libpq-fe.h"}},
      {"testing/", {"pawl/core/", "pawl/ports/", "testing/", "boost/asio/"}},
  };
  return all;
}

bool is_test(const std::string& path) {
  const std::string stem = std::filesystem::path(path).stem().string();
  return stem.ends_with("_test") || stem.ends_with("_pgtest") || stem.ends_with("_for_tests") ||
         stem.ends_with("_fixture") || stem.ends_with("test_support");
}

// The standard library has no slash and no dot; POSIX headers are an adapter's affair.
bool is_standard(const std::string& header) {
  return header.find('/') == std::string::npos && header.find('.') == std::string::npos;
}

bool is_posix_in_adapter(const std::string& path, const std::string& header) {
  static const std::regex posix(R"(((sys|arpa|netinet)/)?[a-z_]+\.h)");
  const bool outside = path.starts_with("src/adapters/") || path.starts_with("testing/");
  return outside && header != "libpq-fe.h" && header != "sqlite3.h" &&
         std::regex_match(header, posix);
}

}  // namespace

std::vector<std::string> violations_in(const std::string& path, const std::string& text) {
  if (is_test(path)) return {};
  const auto rule = std::ranges::find_if(
      rules(), [&](const Rule& candidate) { return path.starts_with(candidate.folder); });
  if (rule == rules().end()) return {};
  static const std::regex include_line(R"(^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"])",
                                       std::regex::multiline);
  std::vector<std::string> found;
  for (std::sregex_iterator line(text.begin(), text.end(), include_line), end; line != end;
       ++line) {
    const std::string header = (*line)[1];
    const bool allowed = is_standard(header) || is_posix_in_adapter(path, header) ||
                         std::ranges::any_of(rule->may_include, [&](const std::string& prefix) {
                           return header.starts_with(prefix);
                         });
    if (!allowed) found.push_back(path + " includes " + header + ": not from " + rule->folder);
  }
  return found;
}

Report check(const std::filesystem::path& root) {
  Report report;
  for (const char* folder : {"include", "src", "testing"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".hpp" && extension != ".cpp") continue;
      std::ifstream file(entry.path());
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      const std::string path = std::filesystem::relative(entry.path(), root).generic_string();
      std::ranges::move(violations_in(path, text), std::back_inserter(report.violations));
      ++report.files;
    }
  }
  return report;
}

}  // namespace pawl::layers
