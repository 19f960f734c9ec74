// What `pawl verify` was told on the command line, and the target that it means.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/verify/target.hpp"

namespace pawl::cmd {

struct VerifyOptions {
  std::string url;
  std::string method = "POST";
  std::vector<std::string> headers;
  std::string body;
  std::string content_type = "application/json";
  std::string other_body;
  std::string invalid_body = "{}";
  std::string large_body;
  std::vector<std::string> form;
  std::string other_path;
  std::string key_header = "Idempotency-Key";
  bool quoted = false;
  bool key_optional = false;
  std::vector<std::string> second_caller;
  std::string profile = "auto";
  std::string count;
  std::string count_pointer;
  std::string kill;
  std::string restart;
  std::string fail_header;
  std::string fail_command;
  std::string refuse_header;
  std::string refuse_command;
  std::string slow_header;
  std::string slow_command;
  int rate_limit = 0;
  std::string origin;
  int concurrency = 50;
  std::string seed;
  int timeout_s = 30;
};

// The error says what is wrong with which option.
Expected<verify::Target, std::string> make_target(const VerifyOptions& options);

}  // namespace pawl::cmd
