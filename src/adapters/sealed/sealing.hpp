// AES-256-GCM through OpenSSL: what seals a body, and what wraps the key that does.
//
// Every row and column has a key of its own, derived from the scope's data key and from where the
// ciphertext belongs (`place`): a ciphertext that was put elsewhere does not open. The nonce is
// derived from the clear text. So a nonce meets the same key again only with the same clear text,
// which gives the same bytes: nothing is learned from it, and a store that is told the same thing
// twice recognises it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "pawl/types/http.hpp"
#include "src/core/key_ring.hpp"

namespace pawl::sealed {

// 256 bits, of one generation of one scope's data keys.
struct DataKey {
  int generation = 1;
  std::string bytes;
};

// Where a ciphertext belongs, without ambiguity: column, scope, key, fence, ...
std::string place_of(std::initializer_list<std::string_view> parts);

// "PS", a version, the generation, the nonce, the ciphertext, the tag.
std::string seal(const DataKey& key, std::string_view place, std::string_view clear);
// Which generation of the scope's data keys it needs; nothing where it is no such envelope.
std::optional<int> generation_of(std::string_view envelope);
// Nothing where it is not what `seal` made with this key for this place.
std::optional<std::string> unseal(const DataKey& key, std::string_view place,
                                  std::string_view envelope);

// 256 bits from OpenSSL's generator for private values.
std::string random_key();
// A data key under a key of the file. The nonces are random: a key of the file wraps a few per
// scope, far fewer than the 2^32 up to which that is safe.
std::string wrap(const EncryptionKey& with, std::string_view place, std::string_view key);
std::optional<std::string> unwrap(const EncryptionKey& with, std::string_view place,
                                  std::string_view wrapped);

// A request or an answer, as it is before it is sealed.
struct Message {
  std::string target;
  Headers headers;
  std::optional<std::string> body;
};
std::string encode_message(const Message& message);
std::optional<Message> decode_message(std::string_view bytes);

}  // namespace pawl::sealed
