// The examples of a page under docs/, to be run as they stand there.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "tests/support/upstream_server.hpp"

namespace pawl::e2e {

// "callers.md".
inline std::string docs_page(const std::string& name) {
  std::ifstream file(std::filesystem::path(PAWL_SOURCE_DIR) / "docs" / name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The n-th block of that language under a heading.
inline std::string block_in(const std::string& page, const std::string& heading,
                            const std::string& language, int nth = 0) {
  const std::string opening = "```" + language + "\n";
  std::size_t at = page.find("\n## " + heading + "\n");
  for (int i = 0; i <= nth && at != std::string::npos; ++i) at = page.find(opening, at + 1);
  if (at == std::string::npos) throw std::runtime_error("no such example: " + heading);
  at += opening.size();
  return page.substr(at, page.find("```", at) - at);
}

inline void replace(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error("the example has no " + from);
  text.replace(at, from.size(), to);
}

inline std::uint16_t free_port() {
  const testing::UpstreamServer somewhere;  // a port that is free again afterwards
  return somewhere.port();
}

// What stands around an example in an nginx of one's own, with all its files in that folder.
inline std::string nginx_with(const std::string& http, const std::filesystem::path& folder) {
  const auto file = [&](const std::string& name) { return (folder / name).string(); };
  return "daemon off; master_process off; pid " + file("pid") + "; error_log " + file("errors") +
         ";\nevents {}\nhttp { access_log off; client_body_temp_path " + file("b") +
         "; proxy_temp_path " + file("p") + "; fastcgi_temp_path " + file("f") +
         "; uwsgi_temp_path " + file("u") + "; scgi_temp_path " + file("s") + ";\n" + http + "}\n";
}

}  // namespace pawl::e2e
