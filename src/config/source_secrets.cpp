#include <algorithm>

#include "src/config/files.hpp"
#include "src/config/secrets.hpp"
#include "src/config/sources.hpp"

namespace pawl::config {
namespace {

void load_header(const Header& header, const std::string& setting, Source& source,
                 Troubles& troubles) {
  const std::string words = " ([[source]] \"" + source.name + "\" " + header.name + ")";
  const auto refuse = [&](const std::string& what) {
    troubles.push_back({{}, 0, 0, what + words, setting + ".headers." + header.name});
  };
  Expected<std::string, std::string> value = expand(header.value);
  if (!value) return refuse(value.error());
  const bool one_line =
      std::ranges::none_of(*value, [](char c) { return c == '\n' || c == '\r' || c == '\0'; });
  if (!one_line) return refuse(header.value + " must hold one line, to stand in a header");
  source.sent_headers.push_back({header.name, std::move(*value)});
}

}  // namespace

void load_source(Source& source, const std::string& setting, Troubles& troubles) {
  source.sent_headers.clear();
  for (const Header& header : source.headers) load_header(header, setting, source, troubles);
  if (!source.webhook) return;
  std::vector<std::string>& secrets = source.webhook->secrets;
  secrets.clear();
  for (std::size_t i = 0; i < source.webhook->secret_files.size(); ++i) {
    load_secret(
        source.webhook->secret_files[i], setting + ".webhook.secret_files." + std::to_string(i),
        "[[source]] \"" + source.name + "\" secret_files", secrets.emplace_back(), troubles);
  }
}

}  // namespace pawl::config
