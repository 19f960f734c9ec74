#include "src/operator/key_document.hpp"

#include <gtest/gtest.h>

#include "pawl/types/json.hpp"

namespace pawl {
namespace {

// What stands at that place of the document.
std::string text_at(const StoredResponse& response, std::string_view pointer) {
  const auto document = json::read(stored_response(response));
  EXPECT_TRUE(document.has_value()) << stored_response(response);
  const json::Value* const found =
      document ? json::resolve(*document, *json::parse_pointer(pointer)) : nullptr;
  return found == nullptr ? "nothing" : found->text;
}

TEST(KeyDocument, IsJsonWhateverTheUpstreamHasSent) {
  const StoredResponse latin{200, {{"X-Name", "Ren\xE9\xFF"}}, "\xFF"};
  EXPECT_EQ(text_at(latin, "/headers/0/1"), "Ren\xC3\xA9\xC3\xBF");
  EXPECT_EQ(text_at(latin, "/body_base64"), "/w==");
  const StoredResponse text{200, {{"X-Name", "Ren\xC3\xA9"}}, "\xC3\xA9"};
  EXPECT_EQ(text_at(text, "/headers/0/1"), "Ren\xC3\xA9");
  EXPECT_EQ(text_at(text, "/body"), "\xC3\xA9");
}

}  // namespace
}  // namespace pawl
