// What a reconciler is told about sources: which one a record has, and whom it may speak for.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "pawl/types/outcome.hpp"
#include "pawl/types/policy.hpp"
#include "src/ports/source.hpp"
#include "src/reconcile/schedule.hpp"

namespace pawl::workers {

struct SourceSettings {
  std::string name;          // no blank in it
  std::string name_in_case;  // with the key it is asked by: "bank", "bank by derived key"
  Duration timeout = std::chrono::seconds(10);
  reconcile::Patience patience;
  Source* source = nullptr;                 // none: it is not asked, its webhook tells
  std::optional<ForwardKey> asked_by = {};  // none: by neither, or by both
};

// Kept by whatever asks it: a directory may have others by the time it answers.
using SharedSource = std::shared_ptr<const SourceSettings>;
// Of one that outlives all that ask it.
inline SharedSource lasting(const SourceSettings& source) {
  return {std::shared_ptr<const void>(), &source};
}

class SourceDirectory {
 public:
  virtual ~SourceDirectory() = default;

  // By today's configuration: a source that was wrong when the request came can be put right. But
  // never a source of another route: it has not seen the request, and would say so. Null: none.
  [[nodiscard]] virtual SharedSource source_of(const Record& record) const = 0;
  // Whether there is a source of that name that may tell of records of this scope.
  [[nodiscard]] virtual bool speaks_for(const std::string& source, const Scope& scope) const = 0;
  // What may be stored of an answer about the record.
  [[nodiscard]] virtual SettleOptions settle_options(const Record& record) const = 0;
};

}  // namespace pawl::workers
