// A payment's flow in this process, and a provider that does what it is told.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "pawl/flow.hpp"
#include "tests/libpawl/node_fixture.hpp"

namespace pawl::testing {

inline void note(Transaction& tx, const std::string& name, const std::string& value) {
  tx.execute("INSERT INTO facts (name, value) VALUES ($1, $2)", {name, value});
}

class FlowsTest : public NodeTest {
 protected:
  // create (local), charge (foreign, at `provider`), finish (local).
  void declare(Flow& flow, Destination provider) {
    flow.local("create", [this](Transaction& tx, const pawl::Run& run) {
      if (std::exchange(create_fails, false)) throw std::runtime_error("create is broken");
      note(tx, "created", run.request.body);
      return advance("charge").with("payment", run.id("payment"));
    });
    flow.foreign(
        "charge", std::move(provider),
        [](const pawl::Run& run) {
          return Outbound{.path = "/charges", .body = run.get("payment")};
        },
        [](Transaction& tx, const pawl::Run& run, const Response& answer) {
          note(tx, "charged", run.get("payment"));
          if (answer.status == 402) return respond({402, {}, "declined"});
          return advance("finish").with("charge", answer.body);
        });
    flow.local("finish", [this](Transaction& tx, const pawl::Run& run) {
      note(tx, "finished", run.get("charge"));
      if (std::exchange(finish_fails, false)) throw std::runtime_error("finish is broken");
      return respond({201, {{"Location", "/v1/payments/1"}}, run.get("payment")});
    });
  }

  std::string count(const std::string& fact) {
    return ask("SELECT count(*) FROM facts WHERE name = '" + fact + "'");
  }

  // What the provider does, call by call; the last one for good.
  Destination scripted(std::vector<Outcome> script) {
    Destination provider;
    provider.send = [this, script = std::move(script)](const Call& call) {
      sent.push_back(call.key);
      return script[std::min(sent.size(), script.size()) - 1];
    };
    return provider;
  }

  // As if the store were away for those who write `unknown`, and for nobody else.
  void refuse_unknown() {
    node.transact([this](Database& database) {
      if (!on_postgres()) {
        database.execute(
            "CREATE TRIGGER not_now BEFORE UPDATE ON keys WHEN NEW.status = 'unknown' "
            "BEGIN SELECT RAISE(ABORT, 'not now'); END");
        return;
      }
      database.execute(
          "CREATE FUNCTION not_now() RETURNS trigger LANGUAGE plpgsql AS "
          "'BEGIN RAISE EXCEPTION ''not now''; END'");
      database.execute(
          "CREATE TRIGGER not_now BEFORE UPDATE ON pawl.keys FOR EACH ROW "
          "WHEN (NEW.status = 'unknown') EXECUTE FUNCTION not_now()");
    });
  }

  static Outcome answer(int status, Headers headers = {}) {
    return Answered{Response{status, std::move(headers), "ch_1"}};
  }

  bool create_fails = false;
  bool finish_fails = false;
  std::vector<std::string> sent;  // the key of each call
};

}  // namespace pawl::testing
