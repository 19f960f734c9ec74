// From a line of the log to the record, and what an operator is told about it: true, safe to read,
// safe to paste.
#include <fstream>
#include <regex>
#include <set>

#include "pawl/types/json.hpp"
#include "src/core/sha256.hpp"
#include "tests/e2e/gateway_fixture.hpp"
#include "tests/support/process.hpp"

namespace pawl::e2e {
namespace {

using ::testing::AllOf;
using testing::Finished;
using ::testing::HasSubstr;
using ::testing::Not;

std::string callers() {
  const auto entry = [](const std::string& scope) {
    return "[[caller.api_key]]\nscope = \"" + scope + "\"\nsha256 = \"" + hex(sha256(scope)) +
           "\"\n";
  };
  return "[caller]\nfrom = \"api-key\"\n" + entry("acme") + entry("globex");
}

class Explain : public OnEveryStore {
 protected:
  ServeProcess& start_logging(const std::string& policy = "") {
    return start({.policy = policy, .top = "log = \"json\"", .rest = callers()});
  }

  Post payment_of(const std::string& caller) const {
    Post one = payment;
    one.headers = {{"Content-Type", "application/json"}, {"Authorization", "Bearer " + caller}};
    return one;
  }

  // The lines of the log, once there are that many of this member's value.
  static std::vector<std::string> lines_with(const ServeProcess& gateway, const std::string& name,
                                             const std::string& value, std::size_t count = 1) {
    std::vector<std::string> found;
    until([&] {
      found.clear();
      std::istringstream log(gateway.err());
      for (std::string line; std::getline(log, line);) {
        if (line.ends_with("}") && member_of(line, name) == value) found.push_back(line);
      }
      return found.size() >= count;
    });
    return found;
  }

  Finished explain(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {PAWL_BINARY, "explain"});
    arguments.insert(arguments.end(), {"--store", store_url()});
    return testing::run_program(arguments);
  }

  // As an operator does who pastes it, with `pawl` in the PATH.
  Finished paste(const std::string& command) const {
    const std::string path = std::filesystem::path(PAWL_BINARY).parent_path().string();
    return testing::run_program({"/bin/bash", "-c",
                                 "cd '" + folder().string() + "'\nPATH='" + path +
                                     "':$PATH\nWHY='found in the books'\n" + "STORE='" +
                                     store_url() + "'\n" + command});
  }

  static std::string after(const std::string& text, const std::string& label) {
    const std::size_t at = text.find(label);
    if (at == std::string::npos) return "";
    const std::size_t start = text.find("pawl ", at);
    return text.substr(start, text.find('\n', start) - start);
  }
};

TEST_P(Explain, ALogLineLeadsToTheRecord) {
  ServeProcess& gateway = start_logging();
  upstream.behave(Behaviour::reset());
  const HttpAnswer lost = post(gateway.port(), payment_of("acme"));
  EXPECT_EQ(lost.status, 502);
  const auto lines = lines_with(gateway, "status", "502");
  ASSERT_EQ(lines.size(), 1U) << gateway.err();
  EXPECT_EQ(member_of(lines[0], "scope"), "caller:acme");
  const std::string about = "Key " + payment.key + " of caller:acme";
  const Finished by_hash = explain({"--hash", member_of(lines[0], "key_hash")});
  EXPECT_EQ(by_hash.exit_code, 0) << by_hash.out << by_hash.err;
  EXPECT_THAT(by_hash.out, AllOf(HasSubstr(about), HasSubstr("the outcome is unknown")));
  const Finished by_id = explain({"--request-id", member_of(lines[0], "request_id")});
  EXPECT_EQ(by_id.exit_code, 0) << by_id.out << by_id.err;
  EXPECT_THAT(by_id.out, HasSubstr(about));
  // As somebody does who takes the hash for the key.
  for (const std::string& taken :
       {member_of(lines[0], "key_hash"), lost.value("Pawl-Request-Id")}) {
    const Finished mistaken = explain({taken, "--scope", "caller:acme"});
    EXPECT_EQ(mistaken.exit_code, 0) << mistaken.out;
    EXPECT_THAT(mistaken.out, HasSubstr(about));
  }
}

TEST_P(Explain, AKeyOfAnotherScopeIsNamedAndNeverCalledNew) {
  ServeProcess& gateway = start_logging();
  EXPECT_EQ(post(gateway.port(), payment_of("acme")).status, 201);
  const Finished wrong = explain({payment.key, "--scope", "caller:globex"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.out, HasSubstr("This key exists in scope caller:acme"));
  EXPECT_THAT(wrong.out, Not(HasSubstr(" new")));
  const Finished pasted = paste(after(wrong.out, "This key exists"));
  EXPECT_EQ(pasted.exit_code, 0) << pasted.err;
  EXPECT_THAT(pasted.out, HasSubstr("It is completed: the answer 201"));
  // Without a scope: whoever's it is.
  EXPECT_THAT(explain({payment.key}).out, HasSubstr("of caller:acme"));
  EXPECT_EQ(post(gateway.port(), payment_of("globex")).status, 201);
  const Finished both = explain({payment.key});
  EXPECT_EQ(both.exit_code, 1);
  EXPECT_THAT(both.out, AllOf(HasSubstr("exists in scope caller:acme"),
                              HasSubstr("exists in scope caller:globex")));
}

TEST_P(Explain, WhatIsNotFoundIsNeverCalledNew) {
  ServeProcess& gateway = start_logging();
  EXPECT_EQ(post(gateway.port(), payment_of("acme")).status, 201);
  const std::vector<std::vector<std::string>> searches{
      {"no-such-key-0123456789", "--scope", "caller:acme"},
      {"0123456789ab", "--scope", "caller:acme"},
      {"0123456789ab0123456789ab01234567"},
      {"--hash", "0123456789ab"},
      {"--request-id", "0123456789ab0123456789ab01234567"},
      {"--request-id", "req_0123456789ab0123456789ab"}};
  for (const auto& arguments : searches) {
    const Finished none = explain(arguments);
    EXPECT_EQ(none.exit_code, 1) << none.out;
    EXPECT_THAT(none.out, AllOf(Not(HasSubstr(" new")), Not(HasSubstr("never used\n"))));
    EXPECT_GT(none.out.size(), 40U);
  }
}

TEST_P(Explain, EveryRequestHasAnIdAndAReplayNamesItsExecution) {
  ServeProcess& gateway = start_logging();
  Post mine = payment_of("acme");
  mine.headers.emplace_back("Pawl-Request-Id", "chosen-by-a-client");
  const HttpAnswer first = post(gateway.port(), mine);
  const std::string execution = first.value("Pawl-Request-Id");
  ASSERT_EQ(upstream.count(), 1U);
  EXPECT_EQ(upstream.requests()[0].header("Pawl-Request-Id"), execution);
  EXPECT_EQ(lines_with(gateway, "request_id", execution).size(), 1U);

  EXPECT_EQ(post(gateway.port(), mine).value("Pawl-Request-Id"), execution);
  EXPECT_EQ(post(start_logging().port(), mine).value("Pawl-Request-Id"), execution);
  const auto replays = lines_with(gateway, "execution", execution);
  ASSERT_EQ(replays.size(), 1U) << gateway.err();
  EXPECT_EQ(member_of(replays[0], "decision"), "replay");
  EXPECT_NE(member_of(replays[0], "request_id"), execution);

  Post misuse = mine;
  misuse.body = "{}";
  const HttpAnswer refused = post(gateway.port(), misuse);
  const auto refusal = lines_with(gateway, "request_id", refused.value("Pawl-Request-Id"));
  ASSERT_EQ(refusal.size(), 1U);
  EXPECT_EQ(member_of(refusal[0], "execution"), execution);

  get(gateway.port(), "/reports/1", mine.headers);
  const std::string passed = upstream.requests().back().header("Pawl-Request-Id").value_or("");
  EXPECT_THAT(passed, AllOf(Not(""), Not("chosen-by-a-client")));
  EXPECT_EQ(lines_with(gateway, "request_id", passed).size(), 1U);
  get(gateway.port(), "/_pawl/v1/policy");
  get(gateway.port(), "/_pawl/v1/keys/" + payment.key, mine.headers);
  Post no_key = mine;
  no_key.key = "";
  post(gateway.port(), no_key);
  EXPECT_EQ(gateway.terminate(), 0);
  std::set<std::string> ids;
  std::size_t lines = 0;
  std::istringstream log(gateway.err());
  for (std::string line; std::getline(log, line);) {
    if (member_of(line, "status") == "(none)") continue;
    ++lines;
    ids.insert(member_of(line, "request_id"));
  }
  EXPECT_EQ(lines, 7U) << gateway.err();
  EXPECT_EQ(ids.size(), lines) << gateway.err();
  EXPECT_FALSE(ids.contains("(none)"));
}

TEST_P(Explain, AnEarlierExecutionIsFoundByItsId) {
  ServeProcess& gateway = start_logging("on_server_error = \"retry\"");
  upstream.behave(Behaviour::answer(500));
  const std::string first = post(gateway.port(), payment_of("acme")).value("Pawl-Request-Id");
  upstream.behave(Behaviour::answer(201));
  const std::string second = post(gateway.port(), payment_of("acme")).value("Pawl-Request-Id");
  EXPECT_NE(first, second);
  EXPECT_THAT(explain({"--request-id", first}).out, HasSubstr("It was attempt 1 at this key"));
  EXPECT_THAT(explain({"--request-id", second}).out, Not(HasSubstr("It was attempt")));
}

TEST_P(Explain, ItsCommandsCanBePastedWhateverTheKeyIs) {
  ServeProcess& gateway = start_logging();
  upstream.behave(Behaviour::reset());
  const std::string key = "it's $(touch pwned) `x` \"k\" !; &";
  Post odd = payment_of("acme");
  odd.key = "\"it's $(touch pwned) `x` \\\"k\\\" !; &\"";
  EXPECT_EQ(post(gateway.port(), odd).status, 502);
  const Finished told = explain({key, "--scope", "caller:acme"});
  EXPECT_EQ(told.exit_code, 0) << told.out;
  const std::string command = after(told.out, "it did:");
  std::ofstream(folder() / "answer.json") << R"({"paid":true})";
  const Finished pasted = paste(command);
  EXPECT_EQ(pasted.exit_code, 0) << command << "\n" << pasted.err;
  EXPECT_FALSE(std::filesystem::exists(folder() / "pwned"));
  const HttpAnswer replay = post(gateway.port(), odd);
  EXPECT_EQ(replay.status, 201);
  EXPECT_EQ(replay.body, R"({"paid":true})");
}

TEST_P(Explain, WhatCameFromOutsideDrivesNoTerminal) {
  ServeProcess& gateway = start_logging();
  upstream.behave(Behaviour::reset());
  EXPECT_EQ(post(gateway.port(), payment_of("acme")).status, 502);
  const std::string hostile =
      "\x1b]0;owned\x07\nforged line \xe2\x80\xae txt \xc2\x9b"
      "2J";
  std::ofstream(folder() / "answer.json") << "{}";
  const Finished resolved = testing::run_program(
      {PAWL_BINARY, "keys", "resolve", payment.key, "--scope", "caller:acme", "--completed",
       "--status", "201", "--body", (folder() / "answer.json").string(), "--reason", hostile,
       "--store", store_url()});
  ASSERT_EQ(resolved.exit_code, 0) << resolved.err;
  for (const bool as_json : {false, true}) {
    std::vector<std::string> arguments{payment.key, "--scope", "caller:acme"};
    if (as_json) arguments.emplace_back("--json");
    const std::string out = explain(arguments).out;
    EXPECT_THAT(out, HasSubstr("owned"));
    for (const char* raw : {"\x1b", "\x07", "\nforged", "\xe2\x80\xae", "\xc2\x9b"}) {
      EXPECT_THAT(out, Not(HasSubstr(raw)));
    }
    EXPECT_THAT(out, HasSubstr(as_json ? "\\u202e" : "\\u{202e}"));
  }
}

PAWL_ON_EVERY_STORE(Explain);

}  // namespace
}  // namespace pawl::e2e
