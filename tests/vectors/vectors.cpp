#include "tests/vectors/vectors.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace pawl::vectors {

std::optional<std::filesystem::path> folder() {
  const char* chosen = std::getenv("PAWL_VECTORS");
  const std::filesystem::path path =
      chosen != nullptr ? std::filesystem::path(chosen)
                        : std::filesystem::path(PAWL_SOURCE_DIR) / ".." / "shared" / "vectors";
  if (!std::filesystem::is_directory(path)) return std::nullopt;
  return path;
}

std::string read_bytes(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + file.string());
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace pawl::vectors
