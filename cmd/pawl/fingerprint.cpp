// pawl fingerprint: what a body means, and the hash of it. The same code the gateway runs, so that
// "why is this a 422?" can be answered at a shell.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>

#include "cmd/pawl/command.hpp"
#include "pawl/types/fingerprint.hpp"
#include "src/core/canonical.hpp"
#include "src/core/json_writer.hpp"

namespace pawl::cmd {
namespace {

struct Options {
  std::string method = "POST";
  std::string path = "/";
  std::string query;
  std::string content_type = "application/json";
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  bool json = false;
  bool plain_jcs = false;
};

int bad_input(const std::string& what) {
  std::cerr << "pawl fingerprint: " << what << '\n';
  return exit_bad_data;
}

std::string at_byte(const json::Error& error) {
  return error.what + " at byte " + std::to_string(error.at_byte);
}

// Empty on success, else what is wrong.
std::string parse_pointers(const std::vector<std::string>& texts,
                           std::vector<json::Pointer>& into) {
  for (const std::string& text : texts) {
    Expected<json::Pointer, json::Error> pointer = json::parse_pointer(text);
    if (!pointer) return "JSON pointer '" + text + "': " + at_byte(pointer.error());
    into.push_back(std::move(*pointer));
  }
  return {};
}

std::string version_of(const Fingerprint& fingerprint) {
  return fingerprint.text.substr(0, fingerprint.text.find('.'));
}

int print_plain_jcs(const std::string& body) {
  const Expected<json::Value, json::Error> document = json::read(body);
  if (!document) return bad_input("the body is not JSON: " + at_byte(document.error()));
  std::cout << json::canonical(*document, json::Numbers::rfc8785);
  return exit_ok;
}

int run(const Options& options) {
  const std::string body{std::istreambuf_iterator<char>(std::cin), {}};
  if (options.plain_jcs) return print_plain_jcs(body);

  FingerprintRules rules;
  for (const std::string& trouble : {parse_pointers(options.include, rules.include),
                                     parse_pointers(options.exclude, rules.exclude)}) {
    if (!trouble.empty()) return bad_input(trouble);
  }
  const RequestContent content{.method = options.method,
                               .path = options.path,
                               .query = options.query,
                               .content_type = options.content_type,
                               .body = body};
  const Expected<Fingerprinted, json::Error> made = fingerprint(content, rules, {});
  if (!made) return bad_input("the body is not JSON: " + at_byte(made.error()));
  if (options.json) {
    JsonObject out;
    out.raw("version", version_of(made->fingerprint)).text("canonical", made->canonical);
    std::cout << out.text("fingerprint", made->fingerprint.text).done() << '\n';
  } else {
    std::cout << "canonical    " << made->canonical << '\n'
              << "fingerprint  " << made->fingerprint.text << '\n';
  }
  return exit_ok;
}

}  // namespace

void add_fingerprint(Command& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  Command* command =
      app.add_subcommand("fingerprint", "Print a body's canonical form and its fingerprint");
  command->footer(
      "The body is read from standard input.\n"
      "Example: pawl fingerprint --path /v1/payments < body.json\n"
      "Exit codes: 0 printed, 64 wrong usage, 65 the body or a pointer is not valid.");
  command->add_option("--method", options->method, "Request method")->show_default();
  command->add_option("--path", options->path, "Request path, without the query")->show_default();
  command->add_option("--query", options->query, "Query as sent, without '?'");
  command->add_option("--content-type", options->content_type, "Media type of the body")
      ->show_default();
  command->add_option("--include", options->include, "Count only this JSON pointer (repeatable)");
  command->add_option("--exclude", options->exclude, "Leave this JSON pointer out (repeatable)");
  Option* json = command->add_flag("--json", options->json, "Print one JSON object");
  command->add_flag("--plain-jcs", options->plain_jcs, "Print RFC 8785 output only, no newline")
      ->excludes(json);
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace pawl::cmd
