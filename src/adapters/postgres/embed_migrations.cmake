# Writes schema/postgres/*.sql into one C++ file, so that the program needs no files at run time.
#   cmake -DSCHEMA=folder -DOUTPUT=file -P embed_migrations.cmake
file(GLOB files ${SCHEMA}/*.sql)
list(SORT files)
set(entries "")
set(expected 1)
foreach(file ${files})
  get_filename_component(name ${file} NAME_WE)
  string(SUBSTRING ${name} 0 4 digits)
  math(EXPR version "${digits}")  # decimal: leading zeros are fine
  if(NOT version EQUAL expected)
    message(FATAL_ERROR "${file}: expected number ${expected}")
  endif()
  math(EXPR expected "${expected} + 1")
  file(READ ${file} sql)
  string(APPEND entries "    {${version}, \"${name}\", R\"pawl_sql(${sql})pawl_sql\"},\n")
endforeach()
file(WRITE ${OUTPUT}.new "#include \"src/adapters/postgres/migrate.hpp\"

namespace pawl::postgres {

std::span<const Migration> migrations() {
  static constexpr Migration all[] = {
${entries}  };
  return all;
}

}  // namespace pawl::postgres
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
