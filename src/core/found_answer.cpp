#include "src/core/found_answer.hpp"

#include "src/core/escape.hpp"

namespace pawl {
namespace {

constexpr std::string_view call_name = "~as=";

std::optional<std::string> marked_call(std::string_view recovery_point) {
  const std::size_t at = recovery_point.find(call_name);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = recovery_point.substr(at + call_name.size());
  return unescaped(rest.substr(0, rest.find('&')));
}

}  // namespace

std::optional<std::string> with_answer(const std::string& recovery_point,
                                       const StoredResponse& answer) {
  const std::optional<std::string> call = marked_call(recovery_point);
  if (!call || !answer.body) return std::nullopt;
  std::string text = recovery_point;
  text.append("&~status=").append(std::to_string(answer.status));
  for (const Header& header : answer.headers) {
    if (same_field_name(header.name, "Idempotency-Key")) {
      if (header.value != *call) return std::nullopt;
      continue;
    }
    std::string field = header.name;
    field.append(":").append(header.value);
    text.append("&~field=");
    append_escaped(text, field);
  }
  text.append("&~body=");
  append_escaped(text, *answer.body);
  return text;
}

}  // namespace pawl
