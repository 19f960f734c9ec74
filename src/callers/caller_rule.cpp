#include "src/callers/caller_rule.hpp"

#include <chrono>

#include "pawl/types/check.hpp"
#include "src/adapters/http/syntax.hpp"

namespace pawl::callers {

Task<Identified> CallerRule::ask(ClientView /*client*/, Endpoints& /*endpoints*/) {
  PAWL_CHECK(false);  // `identify` knows everything
  co_return unauthenticated("");
}

bool may_be_name(std::string_view text) { return !text.empty() && text.size() <= name_bytes_max; }

Expected<std::optional<std::string_view>, ProblemDetails> credential_in(
    const http::RequestHead& head, std::string_view header) {
  if (http::is_doubtful(head, header)) {
    return Unexpected{
        ProblemDetails{Problem::bad_request, "The caller's credential is ambiguous.", {}, {}}};
  }
  return http::find(head.fields, header);
}

std::optional<std::string_view> bearer_in(std::string_view credential) {
  constexpr std::string_view scheme = "Bearer ";
  if (!http::starts_with_word(credential, scheme)) return std::nullopt;
  return http::trimmed(credential.substr(scheme.size()));
}

Identified unauthenticated(std::string challenge, std::string detail) {
  ProblemDetails problem{Problem::unauthenticated, std::move(detail), {}, {}};
  problem.challenge = std::move(challenge);
  return Unexpected{std::move(problem)};
}

Identified not_known_now(std::string detail) {
  return Unexpected{
      ProblemDetails{Problem::auth_unavailable, std::move(detail), {}, std::chrono::seconds(1)}};
}

}  // namespace pawl::callers
