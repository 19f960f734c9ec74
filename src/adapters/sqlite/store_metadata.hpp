// Facts that the store keeps about itself. Blocks: for the start of a program.
#pragma once

#include <optional>
#include <string>

#include "pawl/types/expected.hpp"

namespace pawl::sqlite {

// What is recorded under `name`, if anything is.
Expected<std::optional<std::string>, std::string> find_fact(const std::string& path,
                                                            const std::string& name);
// What is recorded under `name`; if nothing is, `proposed`, which is recorded then.
Expected<std::string, std::string> recorded_fact(const std::string& path, const std::string& name,
                                                 const std::string& proposed);
Expected<Done, std::string> record_fact(const std::string& path, const std::string& name,
                                        const std::string& value);

}  // namespace pawl::sqlite
