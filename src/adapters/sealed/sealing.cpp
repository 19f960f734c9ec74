#include "src/adapters/sealed/sealing.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>
#include <memory>

#include "pawl/types/check.hpp"
#include "src/core/sha256.hpp"

namespace pawl::sealed {
namespace {

constexpr std::string_view magic = "PS\x01";
constexpr std::size_t generation_bytes = 4;
constexpr std::size_t nonce_bytes = 12;
constexpr std::size_t tag_bytes = 16;
constexpr std::size_t opening_bytes = magic.size() + generation_bytes;

using Context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

const unsigned char* data_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* data_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }
int size_of(std::string_view text) { return static_cast<int>(text.size()); }

// The largest that OpenSSL takes in one call; bodies are bounded far below.
constexpr std::size_t clear_bytes_max = std::size_t{1} << 30;

// Ciphertext and tag. What fails here fails for want of memory: our own bug, or the end.
std::string gcm_sealed(std::string_view key, std::string_view nonce, std::string_view bound_to,
                       std::string_view clear) {
  PAWL_CHECK(clear.size() <= clear_bytes_max);
  const Context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  std::string out(clear.size() + tag_bytes, '\0');
  int written = 0;
  int last = 0;
  PAWL_CHECK(context != nullptr);
  PAWL_CHECK(EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, data_of(key),
                                data_of(nonce)) == 1);
  PAWL_CHECK(EVP_EncryptUpdate(context.get(), nullptr, &written, data_of(bound_to),
                               size_of(bound_to)) == 1);
  PAWL_CHECK(EVP_EncryptUpdate(context.get(), data_of(out), &written, data_of(clear),
                               size_of(clear)) == 1);
  PAWL_CHECK(EVP_EncryptFinal_ex(context.get(), data_of(out) + written, &last) == 1);
  PAWL_CHECK(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, tag_bytes,
                                 data_of(out) + clear.size()) == 1);
  return out;
}

std::optional<std::string> gcm_opened(std::string_view key, std::string_view nonce,
                                      std::string_view bound_to, std::string_view sealed) {
  if (sealed.size() < tag_bytes || sealed.size() > clear_bytes_max) return std::nullopt;
  const std::string_view text = sealed.substr(0, sealed.size() - tag_bytes);
  std::string tag(sealed.substr(text.size()));
  const Context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  std::string out(text.size(), '\0');
  int written = 0;
  PAWL_CHECK(context != nullptr);
  const bool opened =
      EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, data_of(key), data_of(nonce)) ==
          1 &&
      EVP_DecryptUpdate(context.get(), nullptr, &written, data_of(bound_to), size_of(bound_to)) ==
          1 &&
      EVP_DecryptUpdate(context.get(), data_of(out), &written, data_of(text), size_of(text)) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, tag_bytes, data_of(tag)) == 1 &&
      EVP_DecryptFinal_ex(context.get(), data_of(out) + written, &written) == 1;
  if (!opened) return std::nullopt;
  return out;
}

// What one place is sealed with: a key for the cipher, and one that makes nonces.
struct PlaceKeys {
  std::string cipher;
  std::string nonces;
};

PlaceKeys keys_for(const DataKey& key, std::string_view place) {
  std::array<unsigned char, 64> both{};
  unsigned int size = 0;
  PAWL_CHECK(HMAC(EVP_sha512(), key.bytes.data(), size_of(key.bytes), data_of(place), place.size(),
                  both.data(), &size) != nullptr);
  PAWL_CHECK(size == both.size());
  const char* const bytes = reinterpret_cast<const char*>(both.data());
  return {std::string(bytes, 32), std::string(bytes + 32, 32)};
}

void append_number(std::string& out, std::uint32_t number) {
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>((number >> shift) & 0xFFU);
}

void append_text(std::string& out, std::string_view text) {
  append_number(out, static_cast<std::uint32_t>(text.size()));
  out += text;
}

// Takes parts off the front of some bytes, and remembers whether one was missing.
class Parts {
 public:
  explicit Parts(std::string_view bytes) : rest_(bytes) {}

  std::uint32_t number() {
    std::uint32_t value = 0;
    for (const char c : take(4)) value = value << 8U | static_cast<unsigned char>(c);
    return value;
  }
  std::string text() { return std::string(take(number())); }
  std::string_view take(std::size_t size) {
    if (size > rest_.size()) {
      whole_ = false;
      return {};
    }
    const std::string_view part = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return part;
  }
  [[nodiscard]] std::string_view rest() const { return rest_; }
  [[nodiscard]] bool whole() const { return whole_; }

 private:
  std::string_view rest_;
  bool whole_ = true;
};

std::string opening_for(int generation) {
  std::string opening(magic);
  append_number(opening, static_cast<std::uint32_t>(generation));
  return opening;
}

}  // namespace

std::string place_of(std::initializer_list<std::string_view> parts) {
  std::string place;
  for (const std::string_view part : parts) append_text(place, part);
  return place;
}

std::string seal(const DataKey& key, std::string_view place, std::string_view clear) {
  const PlaceKeys keys = keys_for(key, place);
  const Digest digest = hmac_sha256(keys.nonces, clear);
  const std::string nonce(reinterpret_cast<const char*>(digest.data()), nonce_bytes);
  const std::string opening = opening_for(key.generation);
  return opening + nonce + gcm_sealed(keys.cipher, nonce, opening + std::string(place), clear);
}

std::optional<int> generation_of(std::string_view envelope) {
  if (!envelope.starts_with(magic) || envelope.size() < opening_bytes + nonce_bytes + tag_bytes) {
    return std::nullopt;
  }
  Parts parts(envelope.substr(magic.size()));
  const std::uint32_t generation = parts.number();
  if (generation == 0 || generation > 0x7FFFFFFFU) return std::nullopt;
  return static_cast<int>(generation);
}

std::optional<std::string> unseal(const DataKey& key, std::string_view place,
                                  std::string_view envelope) {
  if (generation_of(envelope) != key.generation) return std::nullopt;
  const PlaceKeys keys = keys_for(key, place);
  const std::string_view opening = envelope.substr(0, opening_bytes);
  return gcm_opened(keys.cipher, envelope.substr(opening_bytes, nonce_bytes),
                    std::string(opening).append(place),
                    envelope.substr(opening_bytes + nonce_bytes));
}

std::string random_key() {
  std::string key(encryption_key_bytes, '\0');
  PAWL_CHECK(RAND_priv_bytes(data_of(key), size_of(key)) == 1);
  return key;
}

std::string wrap(const EncryptionKey& with, std::string_view place, std::string_view key) {
  std::string nonce(nonce_bytes, '\0');
  PAWL_CHECK(RAND_bytes(data_of(nonce), size_of(nonce)) == 1);
  return nonce + gcm_sealed(with.bytes, nonce, place, key);
}

std::optional<std::string> unwrap(const EncryptionKey& with, std::string_view place,
                                  std::string_view wrapped) {
  if (wrapped.size() != nonce_bytes + encryption_key_bytes + tag_bytes) return std::nullopt;
  return gcm_opened(with.bytes, wrapped.substr(0, nonce_bytes), place, wrapped.substr(nonce_bytes));
}

std::string encode_message(const Message& message) {
  std::string out(1, message.body ? '\1' : '\0');
  append_text(out, message.target);
  append_number(out, static_cast<std::uint32_t>(message.headers.size()));
  for (const Header& header : message.headers) {
    append_text(out, header.name);
    append_text(out, header.value);
  }
  return message.body ? out + *message.body : out;
}

std::optional<Message> decode_message(std::string_view bytes) {
  Parts parts(bytes);
  const bool has_body = parts.take(1) == std::string_view("\1", 1);
  Message message;
  message.target = parts.text();
  const std::uint32_t count = parts.number();
  for (std::uint32_t i = 0; i < count && parts.whole(); ++i) {
    Header header;
    header.name = parts.text();
    header.value = parts.text();
    message.headers.push_back(std::move(header));
  }
  if (!parts.whole()) return std::nullopt;
  if (has_body) message.body = std::string(parts.rest());
  return message;
}

}  // namespace pawl::sealed
