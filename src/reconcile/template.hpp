// A text with gaps: a URL to ask at, or an answer to store.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/expected.hpp"
#include "pawl/types/json.hpp"

namespace pawl::reconcile {

// What the record gives to a template.
struct Subject {
  std::string key;
  std::string scope;
  std::string resource_id;
  std::string derived_key;
};

// `{key}`, `{scope}`, `{resource_id}`, `{derived_key}`; in an answer also `{/pointer}`, a value of
// the document it is made from. Any other brace is a brace, so that JSON can be written as it is.
struct Template {
  struct Piece {
    std::string literal;  // before the gap
    std::string name;     // of the gap; empty at the end, and where it is a pointer
    json::Pointer at;
    bool is_pointer = false;
  };
  std::vector<Piece> pieces;
  std::string source;  // as it was written
};

// `pointers`: whether `{/pointer}` is one. The error is a phrase that names the gap.
Expected<Template, std::string> parse_template(std::string_view text, bool pointers);

bool mentions(const Template& text, std::string_view name);

// The same, of the part before the first `?`: what is put there can lead to another place.
bool mentions_in_path(const Template& text, std::string_view name);

// For a URL: every value percent-encoded. In the path only what stays within its segment, however
// often somebody on the way decodes it: not nothing, no dot segment, none of / \ % ? # and ;. The
// error says which value does not fit and why; then nobody may be asked with it.
Expected<std::string, std::string> fill_url(const Template& text, const Subject& subject);

// A value as it stands in a URL.
std::string escaped(std::string_view text);

// For a JSON body: every value as JSON, texts with their quotes. The error says what is missing.
Expected<std::string, std::string> fill_json(const Template& text, const Subject& subject,
                                             const json::Value& document);

// A value as JSON: members in their order, numbers as they were written.
std::string to_json(const json::Value& value);

}  // namespace pawl::reconcile
