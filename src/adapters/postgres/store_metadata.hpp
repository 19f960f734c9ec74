// Facts that the store keeps about itself. Blocks: for the start of a program.
#pragma once

#include <string>

#include "pawl/types/expected.hpp"

namespace pawl::postgres {

// What is recorded under `name`; if nothing is, `proposed`, which is recorded then.
Expected<std::string, std::string> recorded_fact(const std::string& url, const std::string& name,
                                                 const std::string& proposed);
Expected<Done, std::string> record_fact(const std::string& url, const std::string& name,
                                        const std::string& value);

}  // namespace pawl::postgres
