#include "src/verify/target.hpp"

#include <algorithm>

#include "src/core/sha256.hpp"

namespace pawl::verify {

std::string key_of(const Target& target, const std::string& use) {
  std::string digits = hex(sha256(target.seed + "/" + use)).substr(0, 32);
  digits[12] = '4';  // the version, and the variant below
  digits[16] = 'a';
  for (const std::size_t at : {8U, 13U, 18U, 23U}) digits.insert(at, "-");
  return digits;
}

Request without_key(const Target& target, const std::string& label) {
  Request request;
  request.label = label;
  request.method = target.method;
  request.to = target.at;
  request.headers = target.headers;
  request.body = target.body;
  if (!target.content_type.empty()) set_header(request, {"Content-Type", target.content_type});
  return request;
}

Request with_key(const Target& target, const std::string& label, const std::string& key) {
  Request request = without_key(target, label);
  set_header(request, {target.key_header, target.quoted ? '"' + key + '"' : key});
  return request;
}

Request with_body(Request request, std::string body) {
  request.body = std::move(body);
  return request;
}

Request from_second_caller(const Target& target, Request request) {
  for (const Header& header : target.second_caller) set_header(request, header);
  return request;
}

void set_header(Request& request, const Header& header) {
  std::erase_if(request.headers,
                [&](const Header& each) { return same_field_name(each.name, header.name); });
  request.headers.push_back(header);
}

}  // namespace pawl::verify
