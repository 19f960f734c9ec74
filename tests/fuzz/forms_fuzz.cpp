// Forms, as fields (application/x-www-form-urlencoded) and as parts (multipart): however a form is
// spelt it has one fingerprint, and two different forms never have the same.
//
// Input: "u", then two bodies with a line feed between them; or "m", the parameters of a content
// type, a line feed and a body.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/check.hpp"
#include "pawl/types/fingerprint.hpp"
#include "src/core/form.hpp"
#include "src/core/multipart.hpp"

namespace pawl {
namespace {

constexpr std::string_view form_type = "application/x-www-form-urlencoded";

std::string fingerprint_of(std::string_view type, std::string_view body) {
  const RequestContent content{
      .method = "POST", .path = "/", .query = {}, .content_type = type, .body = body};
  const auto made = fingerprint(content, {}, {});
  PAWL_CHECK(made.has_value());
  PAWL_CHECK(matches(made->fingerprint, content, {}, {}));
  return made->fingerprint.text;
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> pieces{""};
  for (const char c : text) {
    if (c == at) {
      pieces.emplace_back();
    } else {
      pieces.back() += c;
    }
  }
  return pieces;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// URL Standard, section 5.1, once more and in other words.
std::string decoded(std::string text) {
  std::ranges::replace(text, '+', ' ');
  std::string out;
  while (!text.empty()) {
    const bool escape =
        text[0] == '%' && text.size() > 2 && digit(text[1]) >= 0 && digit(text[2]) >= 0;
    out += escape ? static_cast<char>(digit(text[1]) * 16 + digit(text[2])) : text[0];
    text.erase(0, escape ? 3 : 1);
  }
  return out;
}

FormPairs pairs_of(std::string_view body) {
  FormPairs pairs;
  for (const std::string& piece : split(body, '&')) {
    if (piece.empty()) continue;
    const std::size_t equals = piece.find('=');
    const bool has_value = equals != std::string::npos;
    pairs.emplace_back(decoded(piece.substr(0, equals)),
                       decoded(has_value ? piece.substr(equals + 1) : ""));
  }
  return pairs;
}

// The order among pairs of one name counts, and no other.
FormPairs meaning_of(std::string_view body) {
  FormPairs pairs = pairs_of(body);
  std::ranges::stable_sort(pairs, {}, &FormPairs::value_type::first);
  return pairs;
}

std::string all_escaped(std::string_view text) {
  constexpr std::string_view lower = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    out += '%';
    out += lower[static_cast<unsigned char>(c) >> 4U];
    out += lower[static_cast<unsigned char>(c) & 15U];
  }
  return out;
}

// Servers disagree about where its pairs end, or what they say.
bool is_doubtful(std::string_view body) {
  for (std::size_t i = 0; i < body.size(); ++i) {
    const bool escape =
        body[i] == '%' && i + 2 < body.size() && digit(body[i + 1]) >= 0 && digit(body[i + 2]) >= 0;
    if (body[i] == ';' || (body[i] == '%' && !escape)) return true;
  }
  return false;
}

// A pair as servers see it, and what it may belong to.
struct Field {
  std::string root;
  std::string name;
  std::string value;
  bool has_value = false;
  friend bool operator==(const Field&, const Field&) = default;
};

// The order among fields of one root counts, and no other.
std::vector<Field> fields_of(std::string_view body) {
  std::vector<Field> fields;
  for (const std::string& piece : split(body, '&')) {
    if (piece.empty()) continue;
    const std::vector<std::string> sides = split(piece, '=');
    Field field;
    field.name = decoded(sides.front());
    field.has_value = sides.size() > 1;
    if (field.has_value) field.value = decoded(piece.substr(sides.front().size() + 1));
    const std::string root = field.name.substr(0, field.name.find('['));
    for (const char c : root) {
      const bool upper = c >= 'A' && c <= 'Z';
      field.root += upper ? static_cast<char>(c + 32) : c == '.' || c == ' ' ? '_' : c;
    }
    fields.push_back(std::move(field));
  }
  std::ranges::stable_sort(fields, {}, &Field::root);
  return fields;
}

// The same form in another spelling: roots backwards, everything escaped, empty pieces.
std::string respelt(std::string_view body) {
  std::vector<Field> fields = fields_of(body);
  std::ranges::stable_sort(fields, std::ranges::greater{}, &Field::root);
  std::string out = "&";
  for (const Field& field : fields) {
    out += all_escaped(field.name);
    if (field.has_value) out += "=" + all_escaped(field.value);
    out += "&&";
  }
  return out;
}

void check_form(std::string_view one, std::string_view other) {
  PAWL_CHECK(decode_form(one) == pairs_of(one));
  const std::string canonical = canonical_form(one);
  PAWL_CHECK(decode_form(canonical) == meaning_of(one));
  PAWL_CHECK(canonical_form(canonical) == canonical);
  const std::string fingerprint = fingerprint_of(form_type, one);
  PAWL_CHECK(ordered_form(one).has_value() == !is_doubtful(one));
  if (!is_doubtful(one)) {
    PAWL_CHECK(fingerprint_of("Application/X-WWW-Form-URLencoded ;charset=utf-8", respelt(one)) ==
               fingerprint);
  }
  const bool doubtful = is_doubtful(one) || is_doubtful(other);
  const bool same = doubtful ? one == other : fields_of(one) == fields_of(other);
  PAWL_CHECK((fingerprint_of(form_type, other) == fingerprint) == same);
}

// What a canonical text says, read back: whatever can be read back was not confused with another.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  std::size_t number(std::string_view unit) {
    std::size_t value = 0;
    PAWL_CHECK(!rest_.empty() && digit(rest_.front()) >= 0 && digit(rest_.front()) <= 9);
    for (; !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; rest_.remove_prefix(1)) {
      value = value * 10 + static_cast<std::size_t>(rest_.front() - '0');
    }
    take(unit);
    return value;
  }
  std::string counted() {
    const std::size_t size = number(":");
    PAWL_CHECK(size <= rest_.size());
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    take("\n");
    return text;
  }
  [[nodiscard]] bool done() const { return rest_.empty(); }

 private:
  void take(std::string_view wanted) {
    PAWL_CHECK(rest_.starts_with(wanted));
    rest_.remove_prefix(wanted.size());
  }
  std::string_view rest_;
};

void check_tells_apart(const std::vector<Part>& parts) {
  const std::string text = canonical_multipart(parts);
  Reader reader(text);
  PAWL_CHECK(reader.number(" parts\n") == parts.size());
  for (const Part& part : parts) {
    PAWL_CHECK(reader.number(" fields\n") == part.fields.size());
    for (const auto& [name, value] : part.fields) {
      PAWL_CHECK(reader.counted() == name && reader.counted() == value);
    }
    PAWL_CHECK(reader.counted() == part.content);
  }
  PAWL_CHECK(reader.done());
}

// As servers do it that take whatever comes: a boundary is wherever its text is, lines end with LF.
void check_read_alike(const std::vector<Part>& parts, std::string_view boundary,
                      std::string_view body) {
  const std::string mark = "--" + std::string(boundary);
  std::vector<std::string> between;
  for (std::size_t at = body.find(mark); at != body.npos;) {
    const std::size_t next = body.find(mark, at + mark.size());
    between.emplace_back(body.substr(at + mark.size(), next - (at + mark.size())));
    at = next;
  }
  PAWL_CHECK(between.size() == parts.size() + 1 && between.back().starts_with("--"));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string& part = between[i];
    const bool bare = part.starts_with("\r\n\r\n");
    const std::size_t head_end = bare ? 0 : part.find("\r\n\r\n", 2);
    PAWL_CHECK(part.starts_with("\r\n") && part.ends_with("\r\n") && head_end != part.npos);
    const auto lines = bare ? 0 : std::ranges::count(part.substr(2, head_end - 2), '\n') + 1;
    PAWL_CHECK(static_cast<std::size_t>(lines) == parts[i].fields.size());
    const std::string rest = part.substr(head_end + 4);
    PAWL_CHECK(rest.substr(0, rest.size() - 2) == parts[i].content);
  }
}

// The same parts, with the boundary that a client has made anew: names in capitals, blanks, fields
// of different names in another order.
std::string rewritten(const std::vector<Part>& parts, const std::string& boundary) {
  std::string out;
  for (const Part& part : parts) {
    auto fields = part.fields;
    std::ranges::stable_sort(fields, std::ranges::greater{}, [](const auto& f) { return f.first; });
    out += "--" + boundary + "\r\n";
    for (const auto& [name, value] : fields) {
      std::string upper = name;
      std::ranges::transform(upper, upper.begin(), [](char c) {
        return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
      });
      out += upper + ": \t" + std::string(value) + " \r\n";
    }
    out.append("\r\n").append(part.content).append("\r\n");
  }
  return out + "--" + boundary + "--\r\n";
}

void check_parts(const std::string& type, std::string_view body) {
  const auto parts = read_multipart(type, body);
  const std::string fingerprint = fingerprint_of(type, body);
  PAWL_CHECK(fingerprint.starts_with(parts ? "2." : body.empty() ? "1." : "3."));
  if (!parts && !body.empty()) PAWL_CHECK(fingerprint_of(type + "x", body) != fingerprint);
  if (!parts) return;
  check_tells_apart(*parts);
  std::string_view boundary = body.substr(2);
  boundary = boundary.substr(0, boundary.find(parts->empty() ? "--" : "\r\n"));
  if (!parts->empty()) check_read_alike(*parts, boundary, body);

  const std::string anew = "made-anew";
  if (body.find(anew) != body.npos) return;
  const std::string other_type = "Multipart/Form-Data;boundary=\"" + anew + "\"";
  const std::string again = rewritten(*parts, anew);
  PAWL_CHECK(fingerprint_of(other_type, again) == fingerprint);
  for (std::size_t i = 0; i < parts->size(); ++i) {
    std::vector<Part> changed = *parts;
    std::string content(changed[i].content);
    content += 'x';
    changed[i].content = content;
    PAWL_CHECK(fingerprint_of(other_type, rewritten(changed, anew)) != fingerprint);
  }
  // A body that happens to look like what is hashed of another is another.
  PAWL_CHECK(fingerprint_of(type, canonical_multipart(*parts)) != fingerprint);
}

}  // namespace
}  // namespace pawl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(data, data + size);
  const std::size_t line = bytes.find('\n');
  if (bytes.empty() || line == std::string::npos || line == 0) return 0;
  const std::string first = bytes.substr(1, line - 1);
  const std::string rest = bytes.substr(line + 1);
  if (bytes[0] == 'u') pawl::check_form(first, rest);
  if (bytes[0] == 'm') pawl::check_parts("multipart/form-data;" + first, rest);
  return 0;
}
