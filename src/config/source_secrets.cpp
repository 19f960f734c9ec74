#include <algorithm>

#include "src/config/files.hpp"
#include "src/config/sources.hpp"

namespace pawl::config {
namespace {

constexpr std::string_view file_opening = "{file:";

// A secret, without the line's end that editors leave.
std::optional<std::string> secret_in(const std::string& path, const std::string& setting,
                                     Troubles& troubles) {
  const Expected<std::string, std::string> text = read_file(path);
  if (!text) {
    troubles.push_back({path, 0, 0, text.error() + " (" + setting + ")"});
    return std::nullopt;
  }
  std::string secret = *text;
  if (secret.ends_with('\n')) secret.pop_back();
  if (secret.ends_with('\r')) secret.pop_back();
  return secret;
}

void load_header(const Header& header, Source& source, Troubles& troubles) {
  const std::string setting = "[[source]] \"" + source.name + "\" " + header.name;
  std::string value = header.value;
  const std::size_t at = value.find(file_opening);
  const std::size_t end = at == std::string::npos ? at : value.find('}', at);
  if (end != std::string::npos) {
    const std::size_t begin = at + file_opening.size();
    const auto secret = secret_in(value.substr(begin, end - begin), setting, troubles);
    if (!secret) return;
    const bool one_line =
        std::ranges::none_of(*secret, [](char c) { return c == '\n' || c == '\r' || c == '\0'; });
    if (!one_line) {
      troubles.push_back({value.substr(begin, end - begin), 0, 0,
                          "must hold one line, to stand in a header (" + setting + ")"});
      return;
    }
    value = value.substr(0, at) + *secret + value.substr(end + 1);
  }
  source.sent_headers.push_back({header.name, std::move(value)});
}

}  // namespace

void load_source(Source& source, Troubles& troubles) {
  source.sent_headers.clear();
  for (const Header& header : source.headers) load_header(header, source, troubles);
  if (!source.webhook) return;
  source.webhook->secrets.clear();
  for (const std::string& file : source.webhook->secret_files) {
    const std::string setting = "[[source]] \"" + source.name + "\" secret_files";
    std::optional<std::string> secret = secret_in(file, setting, troubles);
    if (!secret) continue;
    if (secret->size() < secret_bytes_min) {
      troubles.push_back({file, 0, 0,
                          "holds " + std::to_string(secret->size()) +
                              " bytes; a signing secret must have " +
                              std::to_string(secret_bytes_min) + " or more (" + setting + ")"});
    }
    source.webhook->secrets.push_back(std::move(*secret));
  }
}

}  // namespace pawl::config
