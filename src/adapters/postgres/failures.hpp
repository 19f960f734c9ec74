// What a server's error means for the rows it was about.
#pragma once

#include <string_view>

#include "src/ports/store.hpp"

namespace pawl::postgres {

enum class Remedy {
  split,    // one row may be to blame: try the halves
  give_up,  // nothing was written and another try would end the same way
};

Remedy remedy_for(std::string_view sqlstate);

// For a row that fails by itself.
StoreError error_of_one_row(std::string_view sqlstate);

}  // namespace pawl::postgres
