// Finds the public conformance vectors. They are not part of the repository: a test whose vectors
// are absent skips itself and says so.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace pawl::vectors {

// $PAWL_VECTORS if it is set, else ../shared/vectors beside the source tree; nothing if that is no
// folder.
std::optional<std::filesystem::path> folder();

// The file's bytes. An unreadable file is an exception: a vector must not be lost silently.
std::string read_bytes(const std::filesystem::path& file);

// What a test says when it skips itself.
inline constexpr const char* absent =
    "no conformance vectors: set PAWL_VECTORS to the folder that holds jcs/, json-parsing/ and "
    "structured-fields/";

}  // namespace pawl::vectors
