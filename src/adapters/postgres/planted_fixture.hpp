// For tests: functions that fit better than the server's own and note as whom they ran.
#pragma once

#include <string>

#include "tests/support/postgres_server.hpp"

namespace pawl::postgres {

inline void plant(testing::PostgresServer& server, const std::string& database) {
  const auto note = [](const std::string& signature, const std::string& result,
                       const std::string& value) {
    return "CREATE FUNCTION public." + signature + " RETURNS " + result +
           " LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.caught VALUES (current_user); " +
           value + " END $$";
  };
  for (const std::string& sql :
       {std::string("CREATE TABLE public.caught (who text)"),
        std::string("GRANT INSERT ON public.caught TO PUBLIC"),
        note("noting(text[], text)", "text[]", "RETURN pg_catalog.array_append($1, $2);"),
        std::string("CREATE AGGREGATE public.array_agg(text) (SFUNC = public.noting, STYPE = "
                    "text[], INITCOND = '{}')"),
        note("unnest(text[])", "SETOF text", "RETURN QUERY SELECT pg_catalog.unnest($1);"),
        note("clock_timestamp()", "timestamptz", "RETURN pg_catalog.clock_timestamp();"),
        note("length(text)", "integer", "RETURN pg_catalog.length($1);"),
        note("jsonb_typeof(jsonb)", "text", "RETURN pg_catalog.jsonb_typeof($1);"),
        note("set_config(text, text, boolean)", "text",
             "RETURN pg_catalog.set_config($1, $2, $3);")}) {
    server.query(sql, database);
  }
}

inline std::string caught_in(testing::PostgresServer& server, const std::string& database) {
  return server.query("SELECT pg_catalog.string_agg(DISTINCT who, ' ') FROM public.caught",
                      database);
}

}  // namespace pawl::postgres
