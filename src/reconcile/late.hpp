// Answers that came after their owner had lost the record: which of them settles it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pawl/types/outcome.hpp"
#include "pawl/types/record.hpp"

namespace pawl::reconcile {

// As much of a late answer as the choice needs.
struct LateAnswer {
  Fence fence;
  Fingerprint fingerprint;
  StoredResponse response;
};

// The place in the list of the answer that says what became of an unknown record, or nothing.
//
// It must be about the same request (fingerprint) in the same life of the key. Of the owner that is
// doubted any answer counts that its policy would have stored. Of an earlier owner only a success
// does: it proves that the effect is there, while its refusal says nothing about what the later
// owner did.
std::optional<std::size_t> settling(const std::vector<LateAnswer>& answers, const Record& unknown);

}  // namespace pawl::reconcile
