# Tests of the sources themselves: tests/structure/<name>.sh SOURCE_DIR BUILD_DIR. Exit 77 = the tool it needs is absent.
function(afore_structure_test name)
  add_test(NAME structure:${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/structure/${name}.sh ${CMAKE_SOURCE_DIR}
                                          ${CMAKE_BINARY_DIR})
  set_tests_properties(structure:${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600 LABELS ${ARGV1})
endfunction()

afore_structure_test(format format)
afore_structure_test(tidy tidy)
afore_structure_test(lines structure)
afore_structure_test(words structure)
afore_structure_test(floors_catch structure)
afore_structure_test(scripts structure)
afore_structure_test(completions completions)
afore_structure_test(man structure)
afore_structure_test(docs structure)
afore_structure_test(links structure)
# Every compiled source through clang-tidy: minutes, and more of them on a machine that has other work.
set_tests_properties(structure:tidy PROPERTIES PROCESSORS 2 TIMEOUT 1800)

if(AFORE_HAVE_CUDA)
  add_subdirectory(cuda)
endif()
