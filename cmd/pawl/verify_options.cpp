#include "cmd/pawl/verify_options.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>

#include "src/adapters/os/random.hpp"
#include "src/core/encoding.hpp"
#include "src/verify/spelling.hpp"

namespace pawl::cmd {
namespace {

constexpr int concurrency_max = 1000;
constexpr int rate_limit_max = 10'000;

using Trouble = std::optional<std::string>;  // nothing: all is well

// "@FILE" is what is in the file, as with curl.
Expected<std::string, std::string> text_or_file(const std::string& flag, const std::string& given) {
  if (!given.starts_with('@')) return given;
  std::ifstream file(given.substr(1));
  if (!file) return Unexpected{flag + ": " + given.substr(1) + " cannot be read"};
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

Expected<Header, std::string> parse_header(const std::string& flag, const std::string& given) {
  const std::size_t colon = given.find(':');
  const bool bad =
      colon == 0 || colon == std::string::npos || given.find_first_of("\r\n") != std::string::npos;
  if (bad) return Unexpected{flag + " '" + given + "' must be 'NAME: VALUE'"};
  const std::size_t value = std::min(given.find_first_not_of(' ', colon + 1), given.size());
  return Header{given.substr(0, colon), given.substr(value)};
}

Trouble add_headers(const std::string& flag, const std::vector<std::string>& given, Headers& into) {
  for (const std::string& each : given) {
    Expected<Header, std::string> header = parse_header(flag, each);
    if (!header) return header.error();
    into.push_back(std::move(*header));
  }
  return {};
}

Trouble set_provocation(const std::string& name, const std::string& header,
                        const std::string& command, verify::Provocation& into) {
  into.command = command;
  if (header.empty()) return {};
  Expected<Header, std::string> parsed = parse_header("--" + name + "-header", header);
  if (!parsed) return parsed.error();
  into.header = std::move(*parsed);
  return {};
}

// "GET /path", "/path", or either with a whole URL.
Trouble set_counter(const VerifyOptions& options, verify::Target& target) {
  if (options.count.empty()) {
    if (options.count_pointer.empty()) return {};
    return "--count-pointer needs --count";
  }
  verify::Counter counter;
  const std::size_t blank = options.count.find(' ');
  std::string where = options.count;
  if (blank != std::string::npos) {
    counter.method = where.substr(0, blank);
    where.erase(0, blank + 1);
  }
  counter.at = target.at;
  if (where.starts_with('/')) {
    counter.at.target = where;
  } else {
    Expected<config::Endpoint, std::string> parsed = config::parse_endpoint(where);
    if (!parsed) return "--count '" + options.count + "' must be 'GET /path' or 'GET URL'";
    counter.at = std::move(*parsed);
  }
  Expected<json::Pointer, json::Error> pointer = json::parse_pointer(options.count_pointer);
  if (!pointer) return "--count-pointer '" + options.count_pointer + "' is no JSON pointer";
  counter.pointer = std::move(*pointer);
  target.counter = std::move(counter);
  return {};
}

// A body, or a pointer to what is changed in --body; without either, the first number or text is.
Trouble set_other_body(const VerifyOptions& options, verify::Target& target) {
  const Expected<json::Value, json::Error> document = json::read(target.body);
  if (options.other_body.empty()) {
    if (document) target.other_body = verify::changed_somewhere(*document).value_or("");
    return {};
  }
  if (!options.other_body.starts_with('/')) {
    Expected<std::string, std::string> text = text_or_file("--other-body", options.other_body);
    if (!text) return text.error();
    target.other_body = std::move(*text);
    return {};
  }
  const Expected<json::Pointer, json::Error> pointer = json::parse_pointer(options.other_body);
  std::optional<std::string> changed;
  if (document && pointer) changed = verify::changed_at(*document, *pointer);
  if (!changed) return "--other-body: nothing at '" + options.other_body + "' can be changed";
  target.other_body = std::move(*changed);
  return {};
}

Trouble set_bodies(const VerifyOptions& options, verify::Target& target) {
  for (const auto& [flag, given, into] :
       {std::tuple{"--body", &options.body, &target.body},
        std::tuple{"--invalid-body", &options.invalid_body, &target.invalid_body},
        std::tuple{"--large-body", &options.large_body, &target.large_body}}) {
    Expected<std::string, std::string> text = text_or_file(flag, *given);
    if (!text) return text.error();
    *into = std::move(*text);
  }
  for (const std::string& field : options.form) {
    const std::size_t sign = field.find('=');
    if (sign == 0 || sign == std::string::npos) return "--form '" + field + "' must be NAME=VALUE";
    target.form.emplace_back(field.substr(0, sign), field.substr(sign + 1));
  }
  return set_other_body(options, target);
}

Trouble set_provocations(const VerifyOptions& options, verify::Target& target) {
  if (const Trouble wrong =
          set_provocation("fail", options.fail_header, options.fail_command, target.fail)) {
    return wrong;
  }
  if (const Trouble wrong =
          set_provocation("refuse", options.refuse_header, options.refuse_command, target.refuse)) {
    return wrong;
  }
  return set_provocation("slow", options.slow_header, options.slow_command, target.slow);
}

Trouble check_numbers(const VerifyOptions& options) {
  if (options.concurrency > concurrency_max) return "--concurrency is 1000 at most";
  if (options.rate_limit > rate_limit_max) return "--rate-limit is 10000 at most";
  if (!options.other_path.empty() && !options.other_path.starts_with('/')) {
    return "--other-path must begin with '/'";
  }
  if (options.kill.empty() != options.restart.empty()) {
    return "--kill and --restart are given together";
  }
  return {};
}

std::string random_seed() {
  os::SystemEntropy entropy;
  std::string text;
  for (int i = 0; i < 8; ++i) text += hex_digit(static_cast<unsigned>(entropy.below(16)));
  return text;
}

}  // namespace

Expected<verify::Target, std::string> make_target(const VerifyOptions& options) {
  verify::Target target;
  Expected<config::Endpoint, std::string> at = config::parse_endpoint(options.url);
  if (!at) return Unexpected{"'" + options.url + "': " + at.error()};
  target.at = std::move(*at);
  target.url = options.url;
  target.method = options.method;
  target.content_type = options.content_type;
  target.key_header = options.key_header;
  target.quoted = options.quoted;
  target.key_optional = options.key_optional;
  target.other_path = options.other_path;
  target.kill = options.kill;
  target.restart = options.restart;
  target.rate_limit = options.rate_limit;
  target.origin = options.origin;
  target.concurrency = options.concurrency;
  target.timeout = std::chrono::seconds(options.timeout_s);
  target.seed = options.seed.empty() ? random_seed() : options.seed;
  const std::optional<verify::Profile> profile = from_text<verify::Profile>(options.profile);
  if (!profile) return Unexpected{std::string("--profile is ietf, stripe or auto")};
  target.profile = *profile;
  for (const Trouble& wrong :
       {check_numbers(options), add_headers("-H", options.headers, target.headers),
        add_headers("--second-caller-header", options.second_caller, target.second_caller),
        set_bodies(options, target), set_provocations(options, target),
        set_counter(options, target)}) {
    if (wrong) return Unexpected{*wrong};
  }
  return target;
}

}  // namespace pawl::cmd
