// The README's five minutes and docs/key-api.md, followed word for word by a shell: every command
// is run as it stands there, and every line that is shown behind a '#' must come out.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/support/process.hpp"

namespace pawl {
namespace {

struct Block {
  std::string commands;
  std::vector<std::string> shown;
};

// The blocks of a page between two comments.
std::vector<Block> blocks_of(const std::string& page, const std::string& begin,
                             const std::string& end) {
  std::ifstream text(PAWL_SOURCE_DIR "/" + page);
  std::vector<Block> blocks;
  bool inside = false;
  bool in_code = false;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("<!-- " + begin)) inside = true;
    if (line.starts_with("<!-- " + end)) inside = false;
    if (!inside) continue;
    if (line == "```sh") {
      in_code = true;
      blocks.emplace_back();
    } else if (line == "```") {
      in_code = false;
    } else if (in_code && line.starts_with("# ")) {
      blocks.back().shown.push_back(line.substr(2));
    } else if (in_code) {
      blocks.back().commands += line + "\n";
    }
  }
  return blocks;
}

constexpr const char* mark = "==== end of block ====";

// In a network of its own, so that the ports the page names are free; started from a folder in
// which build/pawl is the binary under test. Nobody types before it listens.
std::string script(const std::vector<Block>& blocks) {
  std::ostringstream text;
  text << "set -m\nip link set lo up\nfolder=$(mktemp -d)\ncd $folder\nmkdir build\n"
       << "ln -s " << PAWL_BINARY << " build/pawl\n";
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    text << blocks[i].commands;
    if (i == 0) {
      text << "until curl -s -o /dev/null http://127.0.0.1:9090/readyz; do sleep 0.05; done\n";
    }
    text << "echo\necho '" << mark << "'\n";
  }
  text << "wait\ncd /\nrm -r $folder\n";
  return text.str();
}

void follow(const std::vector<Block>& blocks) {
  const testing::Finished done = testing::run_program(
      {"/usr/bin/unshare", "--net", "--map-root-user", "/bin/bash", "-c", script(blocks)});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  std::size_t from = 0;
  for (const Block& block : blocks) {
    const std::size_t end = done.out.find(mark, from);
    ASSERT_NE(end, std::string::npos) << done.out;
    const std::string said = done.out.substr(from, end - from);
    for (const std::string& line : block.shown) {
      EXPECT_NE(said.find(line), std::string::npos)
          << "not shown: " << line << "\nafter: " << block.commands << "but:\n"
          << said;
    }
    from = end + std::string(mark).size();
  }
}

TEST(Readme, TheFiveMinutesAreAsTheyAreTold) {
  const std::vector<Block> blocks =
      blocks_of("README.md", "five minutes", "end of the five minutes");
  ASSERT_GE(blocks.size(), 5U) << "the README has lost its five minutes";
  follow(blocks);
}

TEST(Readme, TheKeyApiIsAsItsPageTells) {
  const std::vector<Block> blocks =
      blocks_of("docs/key-api.md", "a test follows", "end of the blocks");
  ASSERT_GE(blocks.size(), 6U) << "the page has lost its blocks";
  follow(blocks);
}

// A service as many are: it commits its row, trips over something and answers 500.
constexpr const char* stumbling_service = R"(
import http.server, sqlite3
class Service(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers['Content-Length']))
        with sqlite3.connect('books.db') as books:
            books.execute('CREATE TABLE IF NOT EXISTS payments (amount)')
            books.execute('INSERT INTO payments VALUES (1000)')
        self.send_response(500)
        self.send_header('Content-Length', '5')
        self.end_headers()
        self.wfile.write(b'oops\n')
    def log_message(self, *rest): pass
http.server.ThreadingHTTPServer(('127.0.0.1', 3000), Service).serve_forever()
)";

// The line that the README gives for an API of one's own.
std::string serve_line() {
  std::ifstream text(PAWL_SOURCE_DIR "/README.md");
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("build/pawl serve --upstream")) return line;
  }
  return "";
}

std::string part_of(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t start = text.find(from);
  if (start == std::string::npos) return "";
  return text.substr(start, text.find(to, start) - start);
}

// What is said on the way is true: the row is there, nobody is asking anybody, and a person
// decides.
TEST(Readme, AServiceThatInsertsAndAnswers500HasOneRowAndEveryTextIsTrue) {
  ASSERT_EQ(serve_line(), "build/pawl serve --upstream http://127.0.0.1:3000");
  std::ostringstream text;
  text << "set -m\nip link set lo up\nfolder=$(mktemp -d)\ncd $folder\nmkdir build\n"
       << "ln -s " << PAWL_BINARY << " build/pawl\n"
       << "cat > service.py <<'END'" << stumbling_service << "END\npython3 service.py &\n"
       << serve_line() << " 2>log &\n"
       << "until curl -s -o /dev/null http://127.0.0.1:9090/readyz; do sleep 0.05; done\n"
       << "until curl -s -o /dev/null http://127.0.0.1:3000/; do sleep 0.05; done\n"
       << "pay() { curl -s -i http://127.0.0.1:8080/v1/payments -H 'Idempotency-Key: "
          "my-first-payment-0001' -H 'Content-Type: application/json' -d '{\"amount\":1000}'; }\n"
       << "echo '== first'; pay; echo; echo '== second'; pay; echo; echo '== third'; pay; echo\n"
       << "echo '== rows'; sqlite3 books.db 'SELECT count(*) FROM payments'\n"
       << "echo '== explain'; build/pawl explain my-first-payment-0001 --store sqlite:pawl.db\n"
       << "echo '== policy'; curl -s http://127.0.0.1:8080/_pawl/v1/policy\n"
       << "echo '== end'; kill %2 %1; wait\ncd /\nrm -r $folder\n";
  const testing::Finished done = testing::run_program(
      {"/usr/bin/unshare", "--net", "--map-root-user", "/bin/bash", "-c", text.str()});
  const auto has = [](const std::string& where, const std::string& what) {
    EXPECT_NE(where.find(what), std::string::npos) << "not there: " << what << "\nin: " << where;
  };
  const auto has_not = [](const std::string& where, const std::string& what) {
    EXPECT_EQ(where.find(what), std::string::npos) << "there: " << what << "\nin: " << where;
  };
  EXPECT_EQ(part_of(done.out, "== rows\n", "== explain"), "== rows\n1\n") << done.out << done.err;
  const std::string first = part_of(done.out, "== first", "== second");
  has(first, "HTTP/1.1 500");
  has(first, "oops");
  for (const std::string& retry :
       {part_of(done.out, "== second", "== third"), part_of(done.out, "== third", "== rows")}) {
    has(retry, "HTTP/1.1 409");
    has(retry, "urn:pawl:problem:outcome-unknown");
    has(retry, "may have happened");
    has(retry, "Pawl-Should-Retry: false");
    has_not(retry, "Retry-After");
    has_not(retry, "looked into");
  }
  const std::string explained = part_of(done.out, "== explain", "== policy");
  has(explained, "It may have happened, or not: the outcome is unknown.");
  has(explained, "The service answered 500");
  has(explained, "an operator must decide");
  has(explained, "pawl keys resolve my-first-payment-0001");
  has_not(explained, "othing happened");
  has_not(explained, "goes on by itself");
  const std::string policy = part_of(done.out, "== policy", "== end");
  has(policy, R"("on_server_error":"hold")");
  has(policy, "Pawl-Outcome");
}

}  // namespace
}  // namespace pawl
