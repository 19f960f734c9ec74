// from = "subrequest": an endpoint of the operator's decides.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "src/callers/caller_rule.hpp"
#include "src/config/config.hpp"
#include "src/core/sha256.hpp"
#include "src/ports/log.hpp"

namespace pawl::callers {

// What it allowed, by a digest of the headers it was sent. What it refused is asked again.
class AllowedCallers {
 public:
  explicit AllowedCallers(Duration keep_for) : keep_for_(keep_for) {}
  std::optional<std::string> find(const Digest& credentials, BootTime now);
  void keep(const Digest& credentials, std::string name, BootTime now);

 private:
  static constexpr std::size_t entries_max = 10'000;
  struct Entry {
    std::string name;
    BootTime until;
  };
  const Duration keep_for_;
  std::mutex mutex_;
  std::map<Digest, Entry> entries_;
  std::deque<std::pair<BootTime, Digest>> order_;  // as they were kept
};

// 2xx with one `scope_header` is that caller, 401 and 403 are passed on. Anything else, silence and
// slowness are 503: what cannot be known is not served.
class AuthEndpoint final : public CallerRule {
 public:
  AuthEndpoint(const config::Caller& config, std::shared_ptr<AllowedCallers> allowed, Log& log);
  std::optional<Identified> identify(const ClientView& client, BootTime now) override;
  Task<Identified> ask(ClientView client, Endpoints& endpoints) override;
  [[nodiscard]] std::vector<std::string> headers() const override { return sent_; }

 private:
  // What is sent of a request; a problem where the upstream may see something else.
  [[nodiscard]] Expected<Headers, ProblemDetails> credentials_in(
      const http::RequestHead& head) const;
  [[nodiscard]] Identified judge(const Response& answer) const;
  // One question at a time about the same credentials: the others wait for its answer.
  struct Question {
    std::optional<Identified> answer;  // under mutex_
  };
  class Turn;  // that of the one that asks
  Task<Identified> ask_endpoint(Headers sent, Digest digest, Endpoints& endpoints);
  Task<Identified> wait_for(std::shared_ptr<Question> question, Clock& clock);
  void say(const std::string& trouble);

  const std::string url_;
  const config::Endpoint endpoint_;
  const std::string scope_header_;
  const std::vector<std::string> sent_;
  const Duration timeout_;
  Log& log_;
  const std::shared_ptr<AllowedCallers> allowed_;
  std::mutex mutex_;
  std::map<Digest, std::shared_ptr<Question>> under_way_;
  std::string trouble_;  // as it was last said; empty: it answers
};

}  // namespace pawl::callers
