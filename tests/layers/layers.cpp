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

// Core is what is installed of it, and the rest.
Prefixes core_and(Prefixes more) {
  more.insert(more.end(), {"pawl/types/", "src/core/"});
  return more;
}

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all{
      {"include/pawl/types/", {"pawl/types/"}},
      {"src/core/check.cpp", core_and({"poll.h", "unistd.h"})},
      {"src/core/network.cpp", core_and({"arpa/inet.h"})},
      {"src/core/sha256.cpp", core_and({"openssl/"})},
      {"src/core/", core_and({})},
      {"src/reconcile/", core_and({"src/reconcile/"})},
      {"src/jwt/signature.cpp", core_and({"src/jwt/", "openssl/"})},
      {"src/jwt/", core_and({"src/jwt/"})},
      {"src/config/document.cpp", core_and({"src/config/", "toml++/"})},
      {"src/config/files.cpp", core_and({"src/config/", "src/jwt/", "sys/stat.h", "unistd.h"})},
      {"src/config/files.hpp", core_and({"src/config/", "src/jwt/"})},
      {"src/config/", core_and({"src/config/", "src/reconcile/"})},
      {"src/ports/task.hpp",
       {"boost/asio/as_tuple.hpp", "boost/asio/awaitable.hpp", "boost/asio/use_awaitable.hpp"}},
      {"src/ports/task_group.", core_and({"src/ports/", "boost/asio/"})},
      {"src/ports/", core_and({"src/ports/"})},
      {"src/engine/", core_and({"src/ports/", "src/engine/"})},
      {"src/boundary/", core_and({"src/ports/", "src/engine/", "src/boundary/"})},
      {"src/observe/recorder.cpp",
       core_and({"src/ports/", "src/boundary/", "src/observe/", "boost/asio/"})},
      {"src/observe/", core_and({"src/ports/", "src/boundary/", "src/observe/"})},
      {"src/workers/",
       core_and({"src/ports/", "src/engine/", "src/boundary/", "src/reconcile/", "src/workers/"})},
      {"src/operator/",
       core_and({"src/ports/", "src/engine/", "src/config/", "src/reconcile/", "src/operator/"})},
      {"src/adapters/memory/", core_and({"src/ports/", "src/adapters/memory/"})},
      {"src/adapters/os/",
       core_and({"src/ports/", "src/adapters/os/", "boost/asio/", "openssl/rand.h", "time.h"})},
      {"src/adapters/sealed/", core_and({"src/ports/", "src/adapters/sealed/", "openssl/evp.h",
                                         "openssl/hmac.h", "openssl/rand.h"})},
      {"src/adapters/sql/",
       core_and({"src/ports/", "src/adapters/sql/", "src/adapters/resume/", "boost/asio/"})},
      {"src/adapters/resume/", {"src/adapters/resume/", "boost/asio/"}},
      {"src/adapters/prometheus/",
       core_and({"src/ports/", "src/adapters/prometheus/", "prometheus/"})},
      {"src/adapters/sqlite/",
       core_and({"src/ports/", "src/adapters/sql/", "src/adapters/sqlite/", "src/adapters/resume/",
                 "boost/asio/", "boost/system/", "sqlite3.h"})},
      {"src/adapters/postgres/",
       core_and({"src/ports/", "src/adapters/sql/", "src/adapters/postgres/",
                 "src/adapters/resume/", "boost/asio/", "boost/system/", "libpq-fe.h"})},
      {"src/adapters/http/",
       core_and({"src/ports/", "src/adapters/http/", "boost/asio/", "boost/system/"})},
      {"src/verify/", core_and({"src/config/", "src/verify/"})},
      {"src/adapters/probe/", core_and({"src/config/", "src/verify/", "src/adapters/probe/",
                                        "src/adapters/http/", "openssl/"})},
      {"src/callers/",
       core_and({"src/ports/", "src/callers/", "src/config/", "src/jwt/", "src/adapters/http/"})},
      {"src/node/",
       core_and({"src/ports/", "src/workers/", "src/node/", "src/adapters/http/deadlines.hpp",
                 "src/adapters/os/", "src/adapters/sealed/", "src/adapters/sql/",
                 "src/adapters/sqlite/", "src/adapters/postgres/", "boost/asio/"})},
      {"include/pawl/async.hpp", {"pawl/", "boost/asio/"}},
      {"include/pawl/beast.hpp", {"pawl/", "boost/beast/"}},
      {"include/pawl/", {"pawl/"}},
      // No SQL and no database's library: those are behind ports, and src/node opens them.
      {"src/libpawl/", core_and({"pawl/", "src/libpawl/", "src/ports/", "src/engine/",
                                 "src/boundary/", "src/workers/", "src/reconcile/", "src/node/",
                                 "src/adapters/http/", "src/adapters/os/", "boost/asio/"})},
      {"src/gateway/",
       core_and({"src/ports/", "src/engine/", "src/boundary/", "src/workers/", "src/operator/",
                 "src/observe/", "src/node/", "src/gateway/", "src/config/", "src/reconcile/",
                 "src/callers/", "src/adapters/http/", "src/adapters/os/log_sink.hpp",
                 "src/adapters/os/random.hpp", "src/adapters/os/system_clock.hpp",
                 "src/adapters/prometheus/", "boost/asio/"})},
      {"cmd/", core_and({"cmd/", "src/", "CLI/", "boost/asio/"})},
      {"bench/", core_and({"bench/", "testing/", "tests/support/", "src/engine/", "src/ports/",
                           "src/adapters/", "CLI/", "boost/asio/", "libpq-fe.h", "sqlite3.h"})},
      // What anybody can build with what is installed.
      {"examples/common/", {"pawl/", "common/", "boost/", "openssl/"}},
      {"examples/provider/",
       {"pawl/", "common/", "provider/", "boost/", "sqlite3.h", "openssl/", "CLI/"}},
      {"examples/payments/", {"pawl/", "common/", "payments/", "boost/", "CLI/"}},
      // What is simulated is what a node is made of; what touches the world is simulated.
      {"tests/sim/", core_and({"src/ports/", "src/engine/", "src/boundary/", "src/workers/",
                               "src/reconcile/", "src/adapters/memory/", "testing/", "tests/sim/",
                               "tests/mutants/", "boost/asio/", "gtest/", "gmock/", "CLI/"})},
      {"testing/", core_and({"src/ports/", "testing/", "boost/asio/"})},
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
  const bool outside = path.starts_with("src/adapters/") || path.starts_with("testing/") ||
                       path.starts_with("cmd/") || path.starts_with("bench/") ||
                       path.starts_with("examples/") || path.starts_with("tests/sim/");
  return outside && header != "libpq-fe.h" && header != "sqlite3.h" &&
         std::regex_match(header, posix);
}

}  // namespace

namespace {

const std::regex& include_line() {
  static const std::regex line(R"(^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"])",
                               std::regex::multiline);
  return line;
}

template <class Visit>
void for_each_include(const std::string& text, Visit visit) {
  for (std::sregex_iterator line(text.begin(), text.end(), include_line()), end; line != end;
       ++line) {
    visit((*line)[1].str());
  }
}

template <class Visit>
void for_each_source(const std::filesystem::path& root, const std::vector<std::string>& folders,
                     Visit visit) {
  for (const std::string& folder : folders) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".hpp" && extension != ".cpp") continue;
      std::ifstream file(entry.path());
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      visit(std::filesystem::relative(entry.path(), root).generic_string(), text);
    }
  }
}

// The room that a path, or a header, belongs to; empty: none of ours.
std::string room_of(const std::string& path) {
  static const std::vector<std::pair<std::string, std::string>> rooms{
      {"include/pawl/types/", "core"},
      {"pawl/types/", "core"},
      {"include/pawl/", "libpawl"},
      {"pawl/", "libpawl"},
      {"cmd/", "cmd"}};
  for (const auto& [prefix, room] : rooms) {
    if (path.starts_with(prefix)) return room;
  }
  for (const std::string prefix : {"src/adapters/", "src/"}) {
    if (!path.starts_with(prefix)) continue;
    return path.substr(prefix.size(), path.find('/', prefix.size()) - prefix.size());
  }
  return {};
}

}  // namespace

Arrows arrows_in(const std::filesystem::path& root) {
  Arrows arrows;
  for_each_source(root, {"include", "src", "cmd"},
                  [&](const std::string& path, const std::string& text) {
                    if (is_test(path)) return;
                    const std::string from = room_of(path);
                    for_each_include(text, [&](const std::string& header) {
                      const std::string to = room_of(header);
                      if (!to.empty() && to != from) arrows.emplace(from, to);
                    });
                  });
  return arrows;
}

Arrows arrows_drawn(const std::string& document) {
  static const std::regex arrow(R"((\w+) --> (\w+))");
  Arrows arrows;
  for (std::sregex_iterator each(document.begin(), document.end(), arrow), end; each != end;
       ++each) {
    arrows.emplace((*each)[1], (*each)[2]);
  }
  return arrows;
}

bool leads_to(const Arrows& arrows, const std::string& from, const std::string& to) {
  std::set<std::string> reached{from};
  for (std::size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const auto& [tail, head] : arrows) {
      if (reached.contains(tail)) reached.insert(head);
    }
  }
  return reached.contains(to);
}

std::vector<std::string> violations_in(const std::string& path, const std::string& text) {
  if (is_test(path)) return {};
  const auto rule = std::ranges::find_if(
      rules(), [&](const Rule& candidate) { return path.starts_with(candidate.folder); });
  if (rule == rules().end()) return {};
  std::vector<std::string> found;
  for_each_include(text, [&](const std::string& header) {
    const bool allowed = is_standard(header) || is_posix_in_adapter(path, header) ||
                         std::ranges::any_of(rule->may_include, [&](const std::string& prefix) {
                           return header.starts_with(prefix);
                         });
    if (!allowed) found.push_back(path + " includes " + header + ": not from " + rule->folder);
  });
  return found;
}

Report check(const std::filesystem::path& root) {
  Report report;
  for_each_source(root, {"include", "src", "cmd", "bench", "examples", "testing", "tests/sim"},
                  [&](const std::string& path, const std::string& text) {
                    std::ranges::move(violations_in(path, text),
                                      std::back_inserter(report.violations));
                    ++report.files;
                  });
  return report;
}

}  // namespace pawl::layers
