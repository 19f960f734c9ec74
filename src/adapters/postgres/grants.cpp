#include "src/adapters/postgres/grants.hpp"

#include <memory>

#include "src/adapters/postgres/ask.hpp"
#include "src/adapters/postgres/connection_string.hpp"
#include "src/adapters/postgres/operator_session.hpp"
#include "src/adapters/postgres/options.hpp"

namespace pawl::postgres {
namespace {

// What is written once and then only read or reaped, and what only a migration writes.
const std::string no_updates = "('audit', 'evidence')";
const std::string no_writes = "('schema_migrations')";

const std::string tables =
    " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE n.nspname = 'pawl' AND c.relkind IN ('r', 'p')";

const std::string public_functions =
    "SELECT string_agg(p.oid::regprocedure::text, ', ' ORDER BY p.proname) FROM pg_proc p"
    " JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'pawl' AND p.proname IN"
    " ('complete', 'advance', 'release', 'enqueue', 'lookup', 'reserve')";

std::string listed(const std::string& condition) {
  return "SELECT string_agg(c.oid::regclass::text, ', ' ORDER BY c.relname)" + tables + " AND " +
         condition;
}

// As an identifier; throws away nothing of an odd name.
Expected<std::string, std::string> quoted(const OperatorSession& session, const std::string& role) {
  const std::unique_ptr<char, decltype(&PQfreemem)> text(
      PQescapeIdentifier(session.handle(), role.data(), role.size()), PQfreemem);
  if (!text) return Unexpected{session.error()};
  return std::string(text.get());
}

class Collector {
 public:
  explicit Collector(OperatorSession& session) : session_(session) {}

  Expected<std::vector<std::string>, std::string> collect(const Roles& roles) {
    if (roles.gateway && roles.gateway == roles.service) {
      return Unexpected{std::string("the gateway and the service must be two roles")};
    }
    functions_ = one(public_functions);
    if (functions_.empty() && trouble_.empty()) {
      return Unexpected{
          std::string("the database has no schema pawl yet: run `pawl migrate --store URL` first")};
    }
    if (roles.gateway) gateway(*roles.gateway);
    if (roles.service) service(*roles.service);
    if (!trouble_.empty()) return Unexpected{trouble_};
    return statements_;
  }

 private:
  std::string one(const std::string& sql) {
    const std::optional<std::vector<std::string>> values = session_.list(sql);
    if (!values && trouble_.empty()) trouble_ = session_.error();
    return values && !values->empty() ? values->front() : std::string();
  }
  std::string role_of(const std::string& name) {
    const Expected<std::string, std::string> role = quoted(session_, name);
    if (!role && trouble_.empty()) trouble_ = role.error();
    return role ? *role : std::string();
  }
  void say(const std::string& statement) { statements_.push_back(statement); }

  void gateway(const std::string& name) {
    const std::string role = role_of(name);
    const std::string special = "c.relname NOT IN " + no_updates + " AND c.relname NOT IN ";
    say("GRANT USAGE ON SCHEMA pawl TO " + role);
    say("GRANT SELECT, INSERT, UPDATE, DELETE ON " + one(listed(special + no_writes)) + " TO " +
        role);
    say("GRANT SELECT, INSERT, DELETE ON " + one(listed("c.relname IN " + no_updates)) + " TO " +
        role);
    say("GRANT SELECT ON " + one(listed("c.relname IN " + no_writes)) + " TO " + role);
    say("GRANT EXECUTE ON FUNCTION " + functions_ + " TO " + role);
  }

  void service(const std::string& name) {
    const std::string role = role_of(name);
    say("REVOKE ALL ON ALL TABLES IN SCHEMA pawl FROM " + role);
    say("REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pawl FROM " + role);
    say("REVOKE CREATE ON SCHEMA pawl FROM " + role);
    say("GRANT USAGE ON SCHEMA pawl TO " + role);
    say("GRANT EXECUTE ON FUNCTION " + functions_ + " TO " + role);
  }

  OperatorSession& session_;
  std::string functions_;
  std::vector<std::string> statements_;
  std::string trouble_;
};

Expected<std::vector<std::string>, std::string> collect_in(OperatorSession& session,
                                                           const std::string& url,
                                                           const Roles& roles) {
  if (!session.connected()) return Unexpected{without_password(url, session.error())};
  if (!session.begin()) return Unexpected{session.error()};
  return Collector(session).collect(roles);
}

std::string literal(const OperatorSession& session, const std::string& text) {
  const std::unique_ptr<char, decltype(&PQfreemem)> quoted(
      PQescapeLiteral(session.handle(), text.data(), text.size()), PQfreemem);
  return quoted ? quoted.get() : "''";
}

// A GRANT by somebody who may not grant is only warned about.
Expected<Done, std::string> expect_right(OperatorSession& session, const std::string& role,
                                         const std::string& right) {
  const auto has = session.list("SELECT " + right);
  if (!has) return Unexpected{session.error()};
  if (has->front() == "t") return Done{};
  return Unexpected{"nothing was granted to " + role +
                    ": only the owner of the schema pawl and of its tables can do that"};
}

// Rights that no REVOKE takes away: its own, and those of every role that it may become with SET
// ROLE, whether it inherits from it or not.
Expected<Done, std::string> expect_no_tables(OperatorSession& session, const std::string& role) {
  const auto left = session.list(
      "SELECT c.oid::regclass::text || ' as ' || r.rolname FROM pg_class c JOIN pg_namespace n ON"
      " n.oid = c.relnamespace CROSS JOIN pg_roles r WHERE n.nspname = 'pawl' AND c.relkind IN"
      " ('r', 'p') AND pg_has_role(" +
      literal(session, role) +
      ", r.oid, 'MEMBER') AND (has_table_privilege(r.oid, c.oid,"
      " 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER') OR has_any_column_privilege(r.oid,"
      " c.oid, 'SELECT, INSERT, UPDATE')) ORDER BY r.rolname = " +
      literal(session, role) + " DESC, c.relname LIMIT 1");
  if (!left) return Unexpected{session.error()};
  if (left->empty()) return Done{};
  return Unexpected{"nothing was granted: " + role + " could still use " + left->front() +
                    ". It is a superuser, owns the schema, or is a member of a role that may "
                    "(PUBLIC counts, and so does one that it inherits nothing from): a service "
                    "needs a role of its own"};
}

const std::string lacking =
    "SELECT pg_catalog.set_config('search_path', '" + std::string(search_path) +
    "', true);"
    "SELECT coalesce(string_agg(l.privilege || ' on pawl.' || l.relname, ', '), '') FROM"
    " (SELECT c.relname, p.privilege FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p(privilege)"
    " WHERE n.nspname = 'pawl' AND c.relkind IN ('r', 'p')"
    " AND NOT (p.privilege = 'UPDATE' AND c.relname IN " +
    no_updates + ") AND NOT (p.privilege <> 'SELECT' AND c.relname IN " + no_writes +
    ") AND NOT has_table_privilege(c.oid, p.privilege) ORDER BY c.relname, p.privilege LIMIT 3) l";

}  // namespace

Expected<std::vector<std::string>, std::string> grants_for(const std::string& url,
                                                           const Roles& roles) {
  OperatorSession session(url);
  return collect_in(session, url, roles);  // the transaction ends with the session
}

Expected<std::vector<std::string>, std::string> apply_grants(const std::string& url,
                                                             const Roles& roles) {
  OperatorSession session(url);
  Expected<std::vector<std::string>, std::string> statements = collect_in(session, url, roles);
  if (!statements) return statements;
  for (const std::string& statement : *statements) {
    if (!session.run(statement)) return Unexpected{statement + ": " + session.error()};
  }
  Expected<Done, std::string> given = Done{};
  if (roles.gateway) {
    given = expect_right(
        session, *roles.gateway,
        "has_table_privilege(" + literal(session, *roles.gateway) + ", 'pawl.keys', 'UPDATE')");
  }
  if (given && roles.service) {
    given = expect_right(session, *roles.service,
                         "has_function_privilege(" + literal(session, *roles.service) +
                             ", 'pawl.lookup(text, text)', 'EXECUTE')");
    if (given) given = expect_no_tables(session, *roles.service);
  }
  if (!given) return Unexpected{given.error()};
  if (!session.run("COMMIT")) return Unexpected{session.error()};
  return statements;
}

std::optional<std::string> missing_grants(PGconn* connection, Until until) {
  const Result result = ask(connection, lacking.c_str(), until);
  if (!result) return silence(connection, until);
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) return refusal(connection, result.get());
  const std::string_view what = PQgetvalue(result.get(), 0, 0);
  if (what.empty()) return std::nullopt;
  const char* role = PQuser(connection);
  const std::string name = role == nullptr ? "ROLE" : role;
  return "the role " + name + " may not " + std::string(what) +
         ": run `pawl migrate --store URL --grants gateway=" + name +
         " --apply` as the schema's owner";
}

}  // namespace pawl::postgres
