// A template and a value of any bytes: what is filled in stays where the template put it. Three
// lines: the template, the value, and how often somebody on the way decodes the URL.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/check.hpp"
#include "src/reconcile/template.hpp"

namespace pawl::reconcile {
namespace {

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// As a careless proxy does it.
std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape =
        text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;
    out += escape ? static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])) : text[i];
    if (escape) i += 2;
  }
  return out;
}

std::string path_of(std::string_view url) { return std::string(url.substr(0, url.find('?'))); }

std::vector<std::string> segments(std::string_view path) {
  std::vector<std::string> all{""};
  for (const char c : path) {
    if (c == '/' || c == '\\') {
      all.emplace_back();
    } else {
      all.back() += c;
    }
  }
  return all;
}

bool is_step(std::string_view segment) {
  const std::string_view name = segment.substr(0, segment.find(';'));
  return name == "." || name == "..";
}

// What separates the pieces of a URL, in order: a value brings none of it, in the query neither.
std::string separators(std::string_view url) {
  std::string out;
  for (const char c : url) {
    if (std::string_view(":/?#[]@!$&'()*+,;=\\ ").find(c) != std::string_view::npos) out += c;
  }
  return out;
}

// The URL that the template means, with a harmless value, against the one that came out.
void check_url(const Template& text, const std::string& url, int times) {
  const Subject harmless{"x", "x", "x", "x"};
  const auto meant = fill_url(text, harmless);
  if (!meant) return;  // it leads nowhere with any value
  PAWL_CHECK(separators(url) == separators(*meant));
  std::string plain = path_of(*meant);
  std::string filled = path_of(url);
  for (int i = 0; i < times; ++i) {
    plain = decoded(plain);
    filled = decoded(filled);
  }
  const std::vector<std::string> wanted = segments(path_of(plain));
  const std::vector<std::string> got = segments(path_of(filled));
  PAWL_CHECK(wanted.size() == got.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    PAWL_CHECK(is_step(got[i]) == is_step(wanted[i]));
    PAWL_CHECK(got[i].empty() == wanted[i].empty());
  }
}

void check(std::string_view text, const std::string& value, int times) {
  const auto parsed = parse_template(text, false);
  if (!parsed) return;
  const Subject subject{value, value, value, value};
  const auto url = fill_url(*parsed, subject);
  bool in_path = false;
  for (const char* name : {"key", "scope", "resource_id", "derived_key"}) {
    in_path = in_path || mentions_in_path(*parsed, name);
  }
  PAWL_CHECK(url.has_value() || in_path);  // a query takes anything
  if (!url) return;
  // Nothing but what a request line may hold comes from a value.
  const std::string literal = parsed->source;
  for (const char c : *url) {
    PAWL_CHECK((c > ' ' && c <= '~') || literal.find(c) != std::string::npos);
  }
  check_url(*parsed, *url, times);
}

}  // namespace
}  // namespace pawl::reconcile

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(data, data + size);
  const std::size_t first = bytes.find('\n');
  if (first == std::string::npos) return 0;
  const std::size_t second = bytes.find('\n', first + 1);
  const std::string value =
      bytes.substr(first + 1, second == std::string::npos ? second : second - first - 1);
  const int times = second == std::string::npos ? 0 : static_cast<int>((bytes.size() - second) % 4);
  pawl::reconcile::check(std::string_view(bytes).substr(0, first), value, times);
  return 0;
}
