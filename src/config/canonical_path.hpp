// The one path that several spellings of it mean, as upstreams read them.
//
// A router, a proxy and a framework each drop some differences between paths: doubled slashes,
// escapes, parameters after ';', a slash at the end. What any of them drops is dropped here, so
// that no spelling of a path is another path for Pawl and the same one for the upstream.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::config {

// Takes the next segment off `rest`, which starts with '/'; the slash goes with it.
std::string_view next_segment(std::string_view& rest);

// "/v1%2Fpay//x;a=1/" is "/v1/pay/x": escapes are undone once (a backslash counts as a slash),
// parameters and empty segments dropped, dot segments (those that parameters had hidden) resolved.
// "/" for the root; starts with '/' always.
std::string canonical_path(std::string_view path);

// The path as it may be read by whoever is behind us: they differ in whether a backslash is a
// slash, in whether they keep parameters or drop them, before or after they undo escapes, in how
// often they undo them, and in whether a '?', '#' or blank that was escaped ends the path.
// "/v1/pay;a=%2Fb" is
// "/v1/pay" for some, "/v1/pay/b" and "/v1/pay;a=/b" for others. The first one is `canonical_path`;
// where all read it alike it is the only one. Nothing: escaped so often that nobody honest did it.
std::optional<std::vector<std::string>> readings_of(std::string_view path);

// Under this prefix, in any reading?
bool may_be_under(std::string_view path, std::string_view prefix);

// True where `canonical_path` would change nothing; may be false there too.
bool is_plainly_canonical(std::string_view path);

// A route's path in its canonical form.
struct PathPattern {
  std::vector<std::optional<std::string>> segments;  // nothing: "{name}", any one segment
  bool any_rest = false;                             // ends in "*"
};
PathPattern canonical_pattern(std::string_view route_path);
// The same for readings that keep parameters and backslashes: the route has them as it is written.
PathPattern literal_pattern(std::string_view route_path);

// `reading`: what canonical_path or readings_of gave.
bool fits(const PathPattern& pattern, std::string_view reading);

// "{name}"
bool is_variable(std::string_view segment);

}  // namespace pawl::config
