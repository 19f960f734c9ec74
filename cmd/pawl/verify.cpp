// pawl verify: does this endpoint keep its promise? Ours or another's.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include "cmd/pawl/command.hpp"
#include "cmd/pawl/verify_options.hpp"
#include "src/adapters/probe/probe_world.hpp"
#include "src/verify/openapi.hpp"
#include "src/verify/render.hpp"

namespace pawl::cmd {
namespace {

struct VerifyCommand {
  VerifyOptions target;
  std::vector<std::string> only;
  std::vector<std::string> skip;
  std::string format = "table";
  std::string output;
  std::string ca_file;
  std::string openapi;
  bool list = false;
  bool dry_run = false;
  bool quiet = false;
};

int wrong_usage(const std::string& what) {
  std::cerr << "pawl verify: " << what << '\n';
  return exit_usage;
}

// "a,b" is two names.
std::vector<std::string> split_names(const std::vector<std::string>& given) {
  std::vector<std::string> names;
  for (const std::string& text : given) {
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t comma = std::min(text.find(',', at), text.size());
      names.push_back(text.substr(at, comma - at));
      at = comma + 1;
    }
  }
  return names;
}

void tell_progress(std::size_t number, std::size_t of, const verify::Outcome& outcome) {
  std::cerr << '[' << number << '/' << of << "] " << outcome.check->name << ": "
            << to_text(outcome.verdict.result) << '\n';
}

int exit_code_of(const verify::Report& report) {
  if (verify::count_of(report, verify::Result::failed) > 0) return exit_failed;
  return report.trouble.empty() ? exit_ok : exit_could_not_run;
}

int could_not_run(const std::string& what) {
  std::cerr << "pawl verify: " << what << '\n';
  return exit_could_not_run;
}

int write_report(const VerifyCommand& command, const std::string& text) {
  if (command.output.empty()) {
    std::cout << text << std::flush;
    return exit_ok;
  }
  std::ofstream file(command.output, std::ios::binary | std::ios::trunc);
  file << text << std::flush;
  return file ? exit_ok : could_not_run(command.output + " cannot be written");
}

int check_one(const VerifyCommand& command, const verify::Target& target,
              const std::vector<const verify::Check*>& chosen, verify::Format format) {
  if (command.dry_run) return write_report(command, verify::render_plans(target, chosen));
  std::signal(SIGPIPE, SIG_IGN);  // a TLS connection that the other side has closed
  probe::ProbeWorld world(command.ca_file, target.timeout);
  if (!world.trouble().empty()) return could_not_run("--ca-file " + world.trouble());
  const verify::Progress progress = [&](auto number, auto of, const verify::Outcome& outcome) {
    if (!command.quiet) tell_progress(number, of, outcome);
  };
  const verify::Report report = verify::verify(target, chosen, world, progress);
  if (!report.trouble.empty()) std::cerr << "pawl verify: " << report.trouble << '\n';
  const int written = write_report(command, verify::render(report, format));
  return written != exit_ok ? written : exit_code_of(report);
}

// "report.html" becomes "report-2.html".
std::string numbered(const std::string& output, std::size_t number) {
  if (output.empty()) return output;
  std::filesystem::path path(output);
  const std::string stem = path.stem().string() + "-" + std::to_string(number);
  return path.replace_filename(stem + path.extension().string()).string();
}

// One operation of the document after the other, each with a report of its own.
int check_operations(const VerifyCommand& command, const std::vector<const verify::Check*>& chosen,
                     verify::Format format) {
  const bool one_each = format == verify::Format::junit || format == verify::Format::html;
  if (one_each && command.output.empty()) {
    return wrong_usage("--openapi writes one such report for each operation: give --output");
  }
  std::ifstream file(command.openapi);
  if (!file) return wrong_usage("--openapi: " + command.openapi + " cannot be read");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto operations = verify::keyed_operations(text, command.target.key_header);
  if (!operations) return wrong_usage("--openapi " + command.openapi + ": " + operations.error());
  for (const std::string& why : operations->left_out) std::cerr << "left out: " << why << '\n';
  if (operations->found.empty()) {
    return could_not_run(command.openapi + " has no POST with a key that can be sent");
  }
  std::size_t number = 0;
  int worst = operations->left_out.empty() ? exit_ok : exit_could_not_run;
  for (const verify::Operation& operation : operations->found) {
    VerifyOptions options = command.target;
    while (options.url.ends_with('/')) options.url.pop_back();
    options.url += operation.path;
    if (options.body.empty()) options.body = operation.body;
    const Expected<verify::Target, std::string> target = make_target(options);
    if (!target) return wrong_usage(target.error());
    if (format == verify::Format::table) std::cout << "POST " << operation.path << '\n';
    VerifyCommand one = command;
    one.output = numbered(command.output, ++number);
    const int code = check_one(one, *target, chosen, format);
    if (code == exit_failed || worst == exit_ok) worst = code;
  }
  return worst;
}

int run_verify(const VerifyCommand& command) {
  const std::optional<verify::Format> format = from_text<verify::Format>(command.format);
  if (!format) return wrong_usage("--format is table, json, junit or html");
  if (command.list) {
    const bool json = *format == verify::Format::json;
    return write_report(command, json ? verify::list_checks_json() : verify::list_checks());
  }
  if (command.target.url.empty()) return wrong_usage("which URL? See pawl verify --help");
  const Expected<std::vector<const verify::Check*>, std::string> chosen =
      verify::select({split_names(command.only), split_names(command.skip)});
  if (!chosen) return wrong_usage(chosen.error());
  if (!command.openapi.empty()) return check_operations(command, *chosen, *format);
  const Expected<verify::Target, std::string> target = make_target(command.target);
  if (!target) return wrong_usage(target.error());
  return check_one(command, *target, *chosen, *format);
}

constexpr const char* verify_footer =
    "Requests have effects: run it against a test system. --dry-run lists them.\n"
    "A body is TEXT, or @FILE for what is in a file. A header is 'NAME: VALUE'.\n"
    "Example: pawl verify http://127.0.0.1:8080/v1/payments \\\n"
    "  -H 'Authorization: Bearer shop' --body '{\"amount\":1200,\"currency\":\"EUR\"}' \\\n"
    "  --count 'GET /v1/payments' --count-pointer /data\n"
    "Exit codes: 0 all passed, 1 something failed, 2 could not run, 64 wrong usage.";

void add_request_options(Command& command, VerifyOptions& options) {
  command.add_option("--method", options.method, "POST or PATCH")->show_default();
  command.add_option("-H,--header", options.headers, "A header of the caller")->one_at_a_time();
  command.add_option("--body", options.body, "What the endpoint accepts");
  command.add_option("--content-type", options.content_type, "Of the body")->show_default();
  command.add_option("--other-body", options.other_body,
                     "A different body, or a JSON\npointer to what is changed");
  command.add_option("--invalid-body", options.invalid_body, "What it refuses")->show_default();
  command.add_option("--large-body", options.large_body, "What it answers at length");
  command.add_option("--form", options.form, "NAME=VALUE of a multipart form")->one_at_a_time();
  command.add_option("--other-path", options.other_path, "Another path that takes keys");
  command.add_option("--key-header", options.key_header, "Its name")->show_default();
  command.add_flag("--quoted", options.quoted, "Send keys in quotes, as the draft does");
  command.add_flag("--key-optional", options.key_optional, "A key is not required");
  command
      .add_option("--second-caller-header", options.second_caller, "What makes it another caller")
      ->one_at_a_time();
  command.add_option("--origin", options.origin, "Of a browser, for CORS");
}

void add_provoking_options(Command& command, VerifyOptions& options) {
  command.add_option("--count", options.count, "'GET /path' of an effects counter");
  command.add_option("--count-pointer", options.count_pointer, "Where the number or list is in it");
  command.add_option("--kill", options.kill, "A command like kill -9 of the service");
  command.add_option("--restart", options.restart, "A command that starts it again");
  command.add_option("--fail-header", options.fail_header, "Provokes a 5xx after the effect");
  command.add_option("--fail-command", options.fail_command, "The same, for the next request");
  command.add_option("--refuse-header", options.refuse_header,
                     "Provokes 503 with Retry-After\nbefore the effect");
  command.add_option("--refuse-command", options.refuse_command, "The same, for the next request");
  command.add_option("--slow-header", options.slow_header, "Makes the handler slow");
  command.add_option("--slow-command", options.slow_command, "The same, for the next request");
  command.add_option("--rate-limit", options.rate_limit, "So many new keys and it answers 429");
}

void add_run_options(Command& command, VerifyCommand& options) {
  command.add_option("--profile", options.target.profile, "ietf, stripe or auto")->show_default();
  command.add_option("--concurrency", options.target.concurrency, "Duplicates at the same time")
      ->positive()
      ->show_default();
  command.add_option("--openapi", options.openapi,
                     "A JSON document: each POST that\ndeclares the key; URL is its base");
  command.add_option("--only", options.only, "Checks, or the beginning of names")->one_at_a_time();
  command.add_option("--skip", options.skip, "The same, left out")->one_at_a_time();
  command.add_option("--format", options.format, "table, json, junit or html")->show_default();
  command.add_option("--output", options.output, "A file for the report");
  command.add_option("--seed", options.target.seed, "Keys are made from it; default: chance");
  command.add_option("--timeout", options.target.timeout_s, "Seconds for one answer")
      ->positive()
      ->show_default();
  command.add_option("--ca-file", options.ca_file, "Whom to trust with https");
  command.add_flag("--dry-run", options.dry_run, "List what would be sent");
  command.add_flag("--list", options.list, "List the checks");
  command.add_flag("--quiet", options.quiet, "No progress on standard error");
}

}  // namespace

void add_verify(Command& app, int& exit_code) {
  auto options = std::make_shared<VerifyCommand>();
  Command* command = app.add_subcommand("verify", "Test whether an endpoint is safe to retry");
  command->footer(verify_footer);
  command->add_option("URL", options->target.url, "The endpoint");
  add_request_options(*command, options->target);
  add_provoking_options(*command, options->target);
  add_run_options(*command, *options);
  command->callback([options, &exit_code] { exit_code = run_verify(*options); });
}

}  // namespace pawl::cmd
